/*
 * read_cache.c: texts that are read again and again, kept while their files stay as they are.
 *
 * Every read goes the whole way to its file and looks at it; if it is what it was when the text was
 * read, that text is given. That this cannot be wrong rests on the time of an inode's last change
 * (ctime), which nobody can set. A text is kept only if
 *
 *   - nobody had the file open for writing when its reading began: who maps it later to write there
 *     gives it another ctime with the first byte, which one who has it mapped already need not;
 *   - its ctime was older by then than the grain of the clock, so that no later change has the same;
 *   - the file system is one of those that are known to do all of this.
 *
 * One that is looked at very often is watched instead: nobody had it open for writing when the watch
 * began, and whoever opens it, for whatever, or changes it without opening, stirs. Then it is looked at
 * again, until nobody has been at it for a while.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

#define TEXT_BYTES 32768  /* of one text */
#define ALL_BYTES 2097152 /* of all */
#define MOST_DIRS 8       /* directories that are kept open */
#define GRAIN_MS 100      /* more than a tick of the clock that files are stamped by */
#define MOST_FILES 8      /* files that are kept open, to be watched */
#define OFTEN 64          /* looks, one of which is worth a watch */
#define STIR (IN_OPEN | IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONESHOT)
#define EVENT_BYTES 512 /* of what stirred, read at once */
#define XFS_MAGIC 0x58465342

struct files_kept_text {
    struct stat seen;
    int dir;                /* its directory, for who watches that; or -1 */
    const char *name;       /* in there: the end of path */
    unsigned looks;         /* at the file, in vain */
    int fd;                 /* the file, if it was worth a watch; or -1 */
    int watch;              /* of fd; or -1 */
    bool asked;             /* while it was watched, since somebody else wanted its place */
    struct ethos_text text; /* its data are bytes, after the terminator of path */
    char path[];
};

uint32_t files_kept_mark(const char *path)
{
    uint64_t hash = hash_mix(0, view_str(path));
    uint32_t mark = (uint32_t)(hash ^ hash >> 32);
    return mark ? mark : 1;
}

static void close_dir(struct files *self, struct files_kept_text *kept)
{
    if (kept->dir < 0)
        return;
    os_close(kept->dir);
    kept->dir = -1;
    self->kept.dirs--;
}

/* ---- watching --------------------------------------------------------------------------------- */

/* A process that was forked off must not take the events of the one that watches, nor trust them. */
static bool is_mine(const struct files *self)
{
    return self->kept.mine && *self->kept.mine;
}

/* Nothing is known of what is watched so; watch -1: of anything. */
static void distrust(struct files *self, int watch)
{
    for (size_t i = 0; i < FILES_KEPT; i++) {
        struct files_kept_text *kept = self->kept.texts[i];
        if (kept && (kept->watch == watch || watch < 0))
            kept->watch = -1;
    }
}

static void stop_watching(struct files *self)
{
    distrust(self, -1);
    if (self->kept.stirs >= 0)
        os_close(self->kept.stirs);
    self->kept.stirs = -1;
    os_mine_free(self->kept.mine);
    self->kept.mine = NULL;
}

static bool start_watching(struct files *self)
{
    if (is_mine(self))
        return true;
    stop_watching(self);
    self->kept.mine = os_mine();
    self->kept.stirs = os_watch();
    if (!is_mine(self) || self->kept.stirs < 0)
        stop_watching(self);
    return is_mine(self);
}

/*
 * Whoever stirred is not watched any more, by IN_ONESHOT; so there are two events of each at most. All
 * this goes without closing what stirs, for which the kernel waits until nobody looks at any watch:
 * tens of milliseconds.
 */
static void hear(struct files *self)
{
    _Alignas(struct inotify_event) char events[EVENT_BYTES];
    ssize_t size;
    while ((size = os_read(self->kept.stirs, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            distrust(self, event->wd); // -1 when some were lost
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    if (size == 0 || errno != EAGAIN)
        distrust(self, -1);
}

/* After somebody stirred, each is looked at once. */
static bool is_watched(struct files *self, struct files_kept_text *kept)
{
    struct pollfd stirs = {.fd = self->kept.stirs, .events = POLLIN};
    if (kept->watch < 0 || !is_mine(self))
        return false;
    kept->asked = true;
    if (os_poll(&stirs, 1, 0) == 0)
        return true;
    hear(self);
    return false;
}

static void unwatch(struct files *self, struct files_kept_text *kept)
{
    if (kept->fd < 0)
        return;
    if (kept->watch >= 0 && is_mine(self))
        os_watch_remove(self->kept.stirs, kept->watch);
    kept->watch = -1;
    os_close(kept->fd);
    kept->fd = -1;
    self->kept.files--;
}

/* Takes their places from those that nobody has asked for since this was last done. */
static void make_room(struct files *self)
{
    for (size_t i = 0; i < FILES_KEPT; i++) {
        struct files_kept_text *kept = self->kept.texts[i];
        if (kept && !kept->asked)
            unwatch(self, kept);
        else if (kept)
            kept->asked = false;
    }
}

/* Its name in its directory. */
static bool is_as_seen(const struct files_kept_text *kept, int dir, const char *name)
{
    struct stat now;
    return os_fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && files_same(&now, &kept->seen);
}

/*
 * The file stays open: opening it again for the next watch would stir all others who watch it, and they
 * in turn this one.
 */
static bool open_file(struct files *self, struct files_kept_text *kept, int dir, const char *name)
{
    struct stat now;
    if (kept->fd < 0 && self->kept.files == MOST_FILES)
        make_room(self);
    if (kept->fd >= 0 || self->kept.files == MOST_FILES)
        return kept->fd >= 0;
    kept->fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (kept->fd < 0)
        return false;
    self->kept.files++;
    if (os_fstat(kept->fd, &now) == 0 && files_same(&now, &kept->seen))
        return true;
    unwatch(self, kept);
    return false;
}

/*
 * First the watch is set, then it is seen that nobody writes to the file and that it is what it was. By
 * its name: an exchange need not change the file's times.
 */
static void watch_text(struct files *self, struct files_kept_text *kept, int dir, const char *name)
{
    char path[32];
    if (!start_watching(self) || !open_file(self, kept, dir, name))
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", kept->fd);
    int watch = os_watch_add(self->kept.stirs, path, STIR);
    if (watch < 0)
        return;
    if (os_has_writer(kept->fd) == 0 && is_as_seen(kept, dir, name))
        kept->watch = watch;
    else
        os_watch_remove(self->kept.stirs, watch);
}

/* ---- letting go ------------------------------------------------------------------------------- */

static void drop(struct files *self, size_t slot)
{
    struct files_kept_text *kept = self->kept.texts[slot];
    if (!kept)
        return;
    close_dir(self, kept);
    unwatch(self, kept);
    self->kept.bytes -= kept->text.size;
    self->kept.texts[slot] = NULL;
    self->host->resize(self->host->arg, kept, 0);
}

void files_kept_release(struct files *self)
{
    stop_watching(self);
    for (size_t i = 0; i < FILES_KEPT; i++)
        drop(self, i);
}

/* ---- giving ----------------------------------------------------------------------------------- */

/* Goes the way that the read went, without following any link. */
static bool is_unchanged(struct files *self, struct files_kept_text *kept)
{
    struct stat now;
    close_dir(self, kept);
    int fd = os_open_beneath(self->root, kept->path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    bool same = os_fstat(fd, &now) == 0 && files_same(&now, &kept->seen);
    os_close(fd);
    return same;
}

/* The directory of a text, unless there are too many of them. */
static void open_dir(struct files *self, struct files_kept_text *kept)
{
    char path[FILES_PATH_SIZE];
    size_t size = (size_t)(kept->name - kept->path);
    if (size == 0 || self->kept.dirs == MOST_DIRS)
        return;
    memcpy(path, kept->path, size - 1);
    path[size - 1] = 0;
    kept->dir = os_open_beneath(self->root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    self->kept.dirs += kept->dir >= 0;
}

/* The way has been watched since somebody went it. */
bool files_kept_holds(struct files *self, uint64_t stamp)
{
    struct files_kept_text *kept = self->kept.texts[stamp % FILES_KEPT];
    if (!kept || kept->text.stamp != stamp)
        return false;
    if (is_watched(self, kept))
        return true;
    if (kept->dir < 0)
        open_dir(self, kept);
    const char *name = kept->dir >= 0 ? kept->name : kept->path;
    int dir = kept->dir >= 0 ? kept->dir : self->root;
    if (!is_as_seen(kept, dir, name)) {
        drop(self, stamp % FILES_KEPT);
        return false;
    }
    if (++kept->looks % OFTEN == 0)
        watch_text(self, kept, dir, name);
    return true;
}

static bool copy_text(const struct files *self, struct ethos_text *kept,
                      const struct ethos_read_how *how, struct ethos_text *out)
{
    if (edit_reserve(self->host, out, kept->size, NULL) != ETHOS_OK)
        return false;
    if ((how->flags & ETHOS_READ_REVISION) && !*kept->revision)
        hash_revision(view_of(kept->data, kept->size), kept->revision);
    char *data = memcpy(out->data, kept->data, kept->size + 1);
    size_t capacity = out->capacity;
    *out = *kept;
    out->data = data;
    out->capacity = capacity;
    if (!(how->flags & ETHOS_READ_REVISION))
        out->revision[0] = 0;
    return true;
}

bool files_kept_give(struct files *self, const char *path, uint32_t mark,
                     const struct ethos_read_how *how, struct ethos_text *out_text)
{
    size_t slot = mark % FILES_KEPT;
    struct files_kept_text *kept = self->kept.texts[slot];
    if (!kept || strcmp(kept->path, path) != 0)
        return false;
    if (is_unchanged(self, kept))
        return copy_text(self, &kept->text, how, out_text);
    drop(self, slot);
    return false;
}

/* ---- keeping ---------------------------------------------------------------------------------- */

static bool is_trusted(int fd)
{
    static const uint32_t kinds[] = {EXT4_SUPER_MAGIC, XFS_MAGIC, BTRFS_SUPER_MAGIC,
                                     F2FS_SUPER_MAGIC};
    uint64_t type;
    if (os_fstatfs(fd, &type) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] == type)
            return true;
    return false;
}

bool files_kept_wants(struct files *self, uint32_t mark, int fd)
{
    uint32_t *before = &self->kept.marks[mark % FILES_KEPT];
    bool again = *before == mark;
    *before = 0;
    return again && is_trusted(fd) && os_has_writer(fd) == 0;
}

/* A time of whole seconds may be that of an inode that has no room for more. */
static bool is_settled(const struct timespec *changed)
{
    int64_t ms = (int64_t)changed->tv_sec * 1000 + changed->tv_nsec / 1000000;
    return changed->tv_nsec != 0 && os_now_ms() - ms > GRAIN_MS;
}

void files_kept_put(struct files *self, const char *path, uint32_t mark, const struct stat *seen,
                    const struct ethos_text *text, bool wanted)
{
    size_t slot = mark % FILES_KEPT, name = strlen(path) + 1;
    if (text->size != text->total || text->size > TEXT_BYTES || !is_settled(&seen->st_ctim))
        return;
    if (!wanted) {
        self->kept.marks[slot] = mark;
        return;
    }
    drop(self, slot);
    if (self->kept.bytes + text->size > ALL_BYTES)
        return;
    struct files_kept_text *kept = self->host->resize(self->host->arg, NULL,
                                                      sizeof *kept + name + text->size + 1);
    if (!kept)
        return;
    memcpy(kept->path, path, name);
    const char *slash = strrchr(kept->path, '/');
    kept->name = slash ? slash + 1 : kept->path;
    kept->seen = *seen;
    kept->text = *text;
    kept->text.data = memcpy(kept->path + name, text->data, text->size + 1);
    kept->text.stamp = ++self->kept.count * FILES_KEPT + slot;
    kept->dir = -1;
    kept->looks = 0;
    kept->fd = kept->watch = -1;
    kept->asked = false;
    self->kept.texts[slot] = kept;
    self->kept.bytes += text->size;
}
