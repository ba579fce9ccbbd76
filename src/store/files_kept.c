/*
 * files_kept.c: texts that are read again and again, kept while their files stay as they are.
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
 * began, and whoever opens it, for whatever, or changes it without opening, stirs. What stirs is never
 * read. Once it has something to say, nothing is watched any more and all are looked at again.
 */
#include "store/files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "base/os.h"
#include "base/view.h"
#include "store/edit.h"

#define TEXT_BYTES 32768  /* of one text */
#define ALL_BYTES 2097152 /* of all */
#define MOST_DIRS 8       /* directories that are kept open */
#define GRAIN_MS 100      /* more than a tick of the clock that files are stamped by */
#define MOST_WATCHED 64   /* texts */
#define OFTEN 64          /* looks, one of which is worth a watch */
#define STIR (IN_OPEN | IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define XFS_MAGIC 0x58465342

struct files_kept_text {
    struct stat seen;
    int dir;                /* its directory, for who watches that; or -1 */
    const char *name;       /* in there: the end of path */
    unsigned looks;         /* at the file, in vain */
    uint64_t watch;         /* it is watched by that of this number; or 0 */
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

static void drop(struct files *self, size_t slot)
{
    struct files_kept_text *kept = self->kept.texts[slot];
    if (!kept)
        return;
    close_dir(self, kept);
    self->kept.bytes -= kept->text.size;
    self->kept.texts[slot] = NULL;
    self->host->resize(self->host->arg, kept, 0);
}

static void stop_watching(struct files *self)
{
    if (self->kept.stirs >= 0)
        os_close(self->kept.stirs);
    self->kept.stirs = -1;
    self->kept.watched = 0;
}

void files_kept_release(struct files *self)
{
    for (size_t i = 0; i < FILES_KEPT; i++)
        drop(self, i);
    stop_watching(self);
}

/* ---- watching --------------------------------------------------------------------------------- */

static bool is_watched(struct files *self, const struct files_kept_text *kept)
{
    struct pollfd stirs = {.fd = self->kept.stirs, .events = POLLIN};
    if (self->kept.stirs < 0 || kept->watch != self->kept.watch)
        return false;
    if (os_poll(&stirs, 1, 0) == 0)
        return true;
    stop_watching(self);
    return false;
}

static bool start_watching(struct files *self)
{
    if (self->kept.stirs >= 0)
        return self->kept.watched < MOST_WATCHED;
    self->kept.stirs = os_watch();
    self->kept.watch++;
    return self->kept.stirs >= 0;
}

/* First the watch is set, then it is seen that the file is what it was and that nobody writes to it. */
static void watch_file(struct files *self, struct files_kept_text *kept, int fd)
{
    char path[32];
    struct stat now;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!start_watching(self) || os_watch_add(self->kept.stirs, path, STIR) < 0)
        return;
    self->kept.watched++;
    if (os_has_writer(fd) == 0 && os_fstat(fd, &now) == 0 && files_same(&now, &kept->seen))
        kept->watch = self->kept.watch;
}

static void watch_text(struct files *self, struct files_kept_text *kept, int dir, const char *name)
{
    int fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    watch_file(self, kept, fd);
    os_close(fd);
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
    struct stat now;
    struct files_kept_text *kept = self->kept.texts[stamp % FILES_KEPT];
    if (!kept || kept->text.stamp != stamp)
        return false;
    if (is_watched(self, kept))
        return true;
    if (kept->dir < 0)
        open_dir(self, kept);
    const char *name = kept->dir >= 0 ? kept->name : kept->path;
    int dir = kept->dir >= 0 ? kept->dir : self->root;
    if (os_fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || !files_same(&now, &kept->seen))
        return false;
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
    kept->watch = 0;
    self->kept.texts[slot] = kept;
    self->kept.bytes += text->size;
}
