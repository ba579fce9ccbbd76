/*
 * read_cache.c: caches texts that are read again while their files do not change.
 *
 * Every read still opens its file and stats it; if it is as it was when the text was read, the
 * cached text is returned. This rests on the time of an inode's last change (ctime), which nobody
 * can set. A text is cached only if
 *
 *   - nobody had the file open for writing when it was read: a later mapping changes the ctime with
 *     the first byte that is written through it, an existing mapping need not;
 *   - its ctime was older than the grain of the clock, so that no later change gets the same ctime;
 *   - the file system is one of those known to behave like this.
 *
 * A text that is checked very often is watched instead: nobody had the file open for writing when
 * the watch began, and opening or changing the file raises an event. Then it is checked again as
 * before, until nobody has touched it for a while.
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

struct files_cached_text {
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

uint32_t files_cache_hash(const char *path)
{
    uint64_t hash = hash_mix(0, view_str(path));
    uint32_t mark = (uint32_t)(hash ^ hash >> 32);
    return mark ? mark : 1;
}

static void close_cached_dir(struct files *self, struct files_cached_text *kept)
{
    if (kept->dir < 0)
        return;
    os_close(kept->dir);
    kept->dir = -1;
    self->cache.dirs--;
}

/*
 * ---- watching ---------------------------------------------------------------------------------
 */

/* A forked process must neither take nor trust the events of its parent. */
static bool is_own_watch(const struct files *self)
{
    return self->cache.mine && *self->cache.mine;
}

/* Forgets a watch; -1 forgets all of them. */
static void forget_watch(struct files *self, int watch)
{
    for (size_t i = 0; i < FILES_CACHE_TEXTS; i++) {
        struct files_cached_text *kept = self->cache.texts[i];
        if (kept && (kept->watch == watch || watch < 0))
            kept->watch = -1;
    }
}

static void stop_watching(struct files *self)
{
    forget_watch(self, -1);
    if (self->cache.stirs >= 0)
        os_close(self->cache.stirs);
    self->cache.stirs = -1;
    os_mine_free(self->cache.mine);
    self->cache.mine = NULL;
}

static bool start_watching(struct files *self)
{
    if (is_own_watch(self))
        return true;
    stop_watching(self);
    self->cache.mine = os_mine();
    self->cache.stirs = os_watch();
    if (!is_own_watch(self) || self->cache.stirs < 0)
        stop_watching(self);
    return is_own_watch(self);
}

/*
 * Whether a watch shows that the file was not touched; after any event each file is checked once.
 */
static bool is_undisturbed(struct files *self, struct files_cached_text *kept)
{
    struct pollfd stirs = {.fd = self->cache.stirs, .events = POLLIN};
    if (kept->watch < 0 || !is_own_watch(self))
        return false;
    kept->asked = true;
    if (os_poll(&stirs, 1, 0) == 0)
        return true;
    _Alignas(struct inotify_event) char events[EVENT_BYTES];
    ssize_t size;
    while ((size = os_read(self->cache.stirs, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            forget_watch(self, event->wd); // -1 when events were lost
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    if (size == 0 || errno != EAGAIN)
        forget_watch(self, -1);
    return false;
}

static void close_watched_file(struct files *self, struct files_cached_text *kept)
{
    if (kept->fd < 0)
        return;
    if (kept->watch >= 0 && is_own_watch(self))
        os_watch_remove(self->cache.stirs, kept->watch);
    kept->watch = -1;
    os_close(kept->fd);
    kept->fd = -1;
    self->cache.files--;
}

/* Whether the name in its directory still leads to the file that was read. */
static bool is_name_unchanged(const struct files_cached_text *kept, int dir, const char *name)
{
    struct stat now;
    return os_fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           files_is_same_state(&now, &kept->seen);
}

/*
 * Opens a file to watch it. It stays open: opening it again for the next watch would raise an
 * event for all others who watch it, and theirs would end this watch.
 */
static bool open_watched_file(struct files *self, struct files_cached_text *kept, int dir,
                              const char *name)
{
    struct stat now;
    if (kept->fd < 0 && self->cache.files == MOST_FILES) {
        for (size_t i = 0; i < FILES_CACHE_TEXTS; i++) {
            struct files_cached_text *other = self->cache.texts[i];
            if (other && !other->asked)
                close_watched_file(self, other);
            else if (other)
                other->asked = false;
        }
    }
    if (kept->fd >= 0 || self->cache.files == MOST_FILES)
        return kept->fd >= 0;
    kept->fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (kept->fd < 0)
        return false;
    self->cache.files++;
    if (os_fstat(kept->fd, &now) == 0 && files_is_same_state(&now, &kept->seen))
        return true;
    close_watched_file(self, kept);
    return false;
}

/*
 * Sets the watch first, then checks that nobody writes to the file and that its name still leads
 * to it: an exchange need not change the file's times.
 */
static void watch_text(struct files *self, struct files_cached_text *kept, int dir,
                       const char *name)
{
    char path[32];
    if (!start_watching(self) || !open_watched_file(self, kept, dir, name))
        return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", kept->fd);
    int watch = os_watch_add(self->cache.stirs, path, STIR);
    if (watch < 0)
        return;
    if (os_has_writer(kept->fd) == 0 && is_name_unchanged(kept, dir, name))
        kept->watch = watch;
    else
        os_watch_remove(self->cache.stirs, watch);
}

/*
 * ---- letting go -------------------------------------------------------------------------------
 */

static void drop_slot(struct files *self, size_t slot)
{
    struct files_cached_text *kept = self->cache.texts[slot];
    if (!kept)
        return;
    close_cached_dir(self, kept);
    close_watched_file(self, kept);
    self->cache.bytes -= kept->text.size;
    self->cache.texts[slot] = NULL;
    self->host->resize(self->host->arg, kept, 0);
}

void files_cache_free(struct files *self)
{
    stop_watching(self);
    for (size_t i = 0; i < FILES_CACHE_TEXTS; i++)
        drop_slot(self, i);
}

/*
 * ---- giving -----------------------------------------------------------------------------------
 */

/* Opens the path as the read did, without following any link. */
static bool is_path_unchanged(struct files *self, struct files_cached_text *kept)
{
    struct stat now;
    close_cached_dir(self, kept);
    int fd = os_open_beneath(self->root, kept->path, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    bool same = os_fstat(fd, &now) == 0 && files_is_same_state(&now, &kept->seen);
    os_close(fd);
    return same;
}

/* Opens the directory of a text, unless too many are open. */
static void open_cached_dir(struct files *self, struct files_cached_text *kept)
{
    char path[FILES_PATH_SIZE];
    size_t size = (size_t)(kept->name - kept->path);
    if (size == 0 || self->cache.dirs == MOST_DIRS)
        return;
    memcpy(path, kept->path, size - 1);
    path[size - 1] = 0;
    kept->dir = os_open_beneath(self->root, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    self->cache.dirs += kept->dir >= 0;
}

/* The caller has watched the directories of the path since it was read. */
bool files_cache_is_current(struct files *self, uint64_t stamp)
{
    struct files_cached_text *kept = self->cache.texts[stamp % FILES_CACHE_TEXTS];
    if (!kept || kept->text.stamp != stamp)
        return false;
    if (is_undisturbed(self, kept))
        return true;
    if (kept->dir < 0)
        open_cached_dir(self, kept);
    const char *name = kept->dir >= 0 ? kept->name : kept->path;
    int dir = kept->dir >= 0 ? kept->dir : self->root;
    if (!is_name_unchanged(kept, dir, name)) {
        drop_slot(self, stamp % FILES_CACHE_TEXTS);
        return false;
    }
    if (++kept->looks % OFTEN == 0)
        watch_text(self, kept, dir, name);
    return true;
}

static bool copy_cached_text(const struct files *self, struct ethos_text *kept,
                             const struct ethos_read_how *how, struct ethos_text *out)
{
    if (edit_reserve_text(self->host, out, kept->size, NULL) != ETHOS_OK)
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

bool files_cache_read(struct files *self, const char *path, uint32_t mark,
                      const struct ethos_read_how *how, struct ethos_text *out_text)
{
    size_t slot = mark % FILES_CACHE_TEXTS;
    struct files_cached_text *kept = self->cache.texts[slot];
    if (!kept || strcmp(kept->path, path) != 0)
        return false;
    if (is_path_unchanged(self, kept))
        return copy_cached_text(self, &kept->text, how, out_text);
    drop_slot(self, slot);
    return false;
}

/*
 * ---- keeping ----------------------------------------------------------------------------------
 */

static bool is_trusted_file_system(int fd)
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

bool files_cache_wants(struct files *self, uint32_t mark, int fd)
{
    uint32_t *before = &self->cache.marks[mark % FILES_CACHE_TEXTS];
    bool again = *before == mark;
    *before = 0;
    return again && is_trusted_file_system(fd) && os_has_writer(fd) == 0;
}

/* A time of whole seconds may come from an inode without room for more. */
static bool is_old_enough(const struct timespec *changed)
{
    int64_t ms = (int64_t)changed->tv_sec * 1000 + changed->tv_nsec / 1000000;
    return changed->tv_nsec != 0 && os_now_ms() - ms > GRAIN_MS;
}

void files_cache_store(struct files *self, const char *path, uint32_t mark, const struct stat *seen,
                       const struct ethos_text *text, bool wanted)
{
    size_t slot = mark % FILES_CACHE_TEXTS, name = strlen(path) + 1;
    if (text->size != text->total || text->size > TEXT_BYTES || !is_old_enough(&seen->st_ctim))
        return;
    if (!wanted) {
        self->cache.marks[slot] = mark;
        return;
    }
    drop_slot(self, slot);
    if (self->cache.bytes + text->size > ALL_BYTES)
        return;
    struct files_cached_text *kept = self->host->resize(self->host->arg, NULL,
                                                        sizeof *kept + name + text->size + 1);
    if (!kept)
        return;
    memcpy(kept->path, path, name);
    const char *slash = strrchr(kept->path, '/');
    kept->name = slash ? slash + 1 : kept->path;
    kept->seen = *seen;
    kept->text = *text;
    kept->text.data = memcpy(kept->path + name, text->data, text->size + 1);
    kept->text.stamp = ++self->cache.count * FILES_CACHE_TEXTS + slot;
    kept->dir = -1;
    kept->looks = 0;
    kept->fd = kept->watch = -1;
    kept->asked = false;
    self->cache.texts[slot] = kept;
    self->cache.bytes += text->size;
}
