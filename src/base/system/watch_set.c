/*
 * watch_set.c: paths, and inotify(7) on them.
 *
 * A path is walked from the root on, so that the way is watched before what it leads to: whatever
 * moves while the walk goes on, either the walk meets it or an event tells of it.
 */
#include "base/system/watch_set.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

#include "base/system/os.h"
#include "base/view.h"

#define PATHS_LIMIT 65536 /* bytes of all paths together */
#define MOST_NAMES 64     /* that are waited for */
#define MOST_WATCHES 256

#define XFS_MAGIC 0x58465342
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e

/* Bits of what is ready. */
#define EVENTS 1u
#define MOUNTS 2u

#define OF_PLACE (IN_DELETE_SELF | IN_MOVE_SELF)
#define OF_ITSELF (OF_PLACE | IN_ATTRIB)
#define OF_CONTENT (IN_MODIFY | IN_CLOSE_WRITE)
#define OF_NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

/* ---- paths ----------------------------------------------------------------------------------- */

void looks_init(struct looks *self)
{
    str_init(&self->paths, PATHS_LIMIT);
    self->beyond = false;
}

void looks_release(struct looks *self)
{
    str_release(&self->paths);
}

void looks_clear(struct looks *self)
{
    str_clear(&self->paths);
    self->beyond = false;
}

void looks_add(struct looks *self, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    if (!self)
        return;
    va_start(args, format);
    int size = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    if (size < 0 || size >= PATH_MAX ||
        str_add(&self->paths, view_of(path, (size_t)size + 1)) != ETHOS_OK)
        self->beyond = true;
}

void looks_beyond(struct looks *self)
{
    if (self)
        self->beyond = true;
}

/* ---- the watch ------------------------------------------------------------------------------- */

/* Somebody waits for this name to appear in a directory; "": whatever happens to the names in it. */
struct awaited {
    int watch;
    char name[NAME_MAX + 1];
};

struct looks_watch {
    const char *mine; /* of the process that opened the three; another must not take its events */
    int events;       /* inotify */
    int mounts;       /* tells when something is mounted */
    int both;         /* which of them has something to tell */
    struct str paths;
    bool quiet;      /* all of them are watched, and nothing has happened */
    uint64_t device; /* of a file system that tells of every change */
    bool has_device;
    char way[PATH_MAX]; /* as far as the last path led, all of it watched */
    size_t watch_count, awaited_count;
    int watches[MOST_WATCHES];
    struct awaited awaited[MOST_NAMES];
};

struct looks_watch *looks_watch_new(void)
{
    struct looks_watch *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    str_init(&self->paths, PATHS_LIMIT);
    self->events = self->mounts = self->both = -1;
    return self;
}

static void close_all(struct looks_watch *self)
{
    int *fds[] = {&self->both, &self->events, &self->mounts};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            os_close(*fds[i]);
        *fds[i] = -1;
    }
    os_mine_free(self->mine);
    self->mine = NULL;
    self->watch_count = 0;
}

static bool is_own_watch(const struct looks_watch *self)
{
    return self->mine && *self->mine;
}

/* A process that was forked off has descriptors of its own. */
static bool open_all(struct looks_watch *self)
{
    if (is_own_watch(self))
        return true;
    close_all(self);
    self->mine = os_mine();
    self->events = os_watch();
    self->mounts = os_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0);
    self->both = os_ready();
    bool done = self->mine && self->both >= 0 && self->events >= 0 && self->mounts >= 0 &&
                os_ready_add(self->both, self->events, EPOLLIN, EVENTS) == 0 &&
                os_ready_add(self->both, self->mounts, EPOLLPRI, MOUNTS) == 0;
    if (!done)
        close_all(self);
    return done;
}

void looks_watch_free(struct looks_watch *self)
{
    if (!self)
        return;
    close_all(self);
    str_release(&self->paths);
    free(self);
}

/* ---- what has happened ----------------------------------------------------------------------- */

/* A name that nobody waits for is no change; everything else is one. */
static bool matters(const struct looks_watch *self, const struct inotify_event *event)
{
    if (event->len == 0 || (event->mask & IN_Q_OVERFLOW))
        return true;
    for (size_t i = 0; i < self->awaited_count; i++) {
        const struct awaited *awaited = &self->awaited[i];
        if (awaited->watch == event->wd &&
            (!*awaited->name || strcmp(awaited->name, event->name) == 0))
            return true;
    }
    return false;
}

/* Reads all events; false: one of them matters, or they cannot be read. */
static bool read_events(const struct looks_watch *self)
{
    _Alignas(struct inotify_event) char events[4096];
    bool quiet = true;
    ssize_t size;
    while ((size = os_read(self->events, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            quiet = quiet && !matters(self, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return quiet && size < 0 && errno == EAGAIN;
}

bool looks_watch_quiet(struct looks_watch *self)
{
    uint32_t ready;
    self->quiet = self->quiet && is_own_watch(self) && os_ready_now(self->both, &ready) == 0 &&
                  !(ready & MOUNTS) && (!(ready & EVENTS) || read_events(self));
    return self->quiet;
}

/* ---- setting --------------------------------------------------------------------------------- */

bool looks_tells(const char *path)
{
    static const uint32_t kinds[] = {EXT4_SUPER_MAGIC, XFS_MAGIC,        BTRFS_SUPER_MAGIC,
                                     TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                     RAMFS_MAGIC,      ZFS_MAGIC,        BCACHEFS_MAGIC};
    uint64_t type = 0;
    int fd = os_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
    bool known = fd >= 0 && os_fstatfs(fd, &type) == 0;
    if (fd >= 0)
        os_close(fd);
    for (size_t i = 0; known && i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i] == type)
            return true;
    }
    return false;
}

/* The same; remembers the last file system of which it is true. */
static bool is_local(struct looks_watch *self, const char *path, const struct stat *info)
{
    if (self->has_device && self->device == info->st_dev)
        return true;
    if (!looks_tells(path))
        return false;
    self->device = info->st_dev;
    self->has_device = true;
    return true;
}

/* What is watched, or -1. */
static int add_watch(struct looks_watch *self, const char *path, uint32_t mask)
{
    int watch = os_watch_add(self->events, path, mask | IN_DONT_FOLLOW | IN_MASK_ADD);
    for (size_t i = 0; i < self->watch_count; i++)
        if (self->watches[i] == watch)
            return watch;
    if (watch >= 0 && self->watch_count == MOST_WATCHES) {
        os_watch_remove(self->events, watch);
        return -1;
    }
    if (watch >= 0)
        self->watches[self->watch_count++] = watch;
    return watch;
}

static bool await(struct looks_watch *self, const char *dir, const char *name)
{
    int watch = add_watch(self, dir, OF_NAMES);
    if (watch < 0 || self->awaited_count == MOST_NAMES || strlen(name) > NAME_MAX)
        return false;
    struct awaited *awaited = &self->awaited[self->awaited_count++];
    awaited->watch = watch;
    snprintf(awaited->name, sizeof awaited->name, "%s", name);
    return true;
}

/*
 * One step of the way, to what path names; of: what of a directory is watched. 1: there; 0: nothing is
 * there, and that is watched; or -1.
 */
static int watch_step(struct looks_watch *self, const char *dir, const char *name, const char *path,
                      uint32_t of)
{
    struct stat info;
    if (os_fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(info.st_mode) || !is_local(self, path, &info))
            return -1;
        uint32_t mask = S_ISDIR(info.st_mode) ? of : OF_ITSELF | OF_CONTENT;
        return add_watch(self, path, mask) < 0 ? -1 : 1;
    }
    if (errno != ENOENT || !await(self, dir, name))
        return -1;
    // It may have come before the watch did.
    return os_fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT ? 0 : -1;
}

/* Whether the way to the first so many bytes of a path was walked with the last one. */
static bool is_walked(const struct looks_watch *self, const char *path, size_t size)
{
    return size > 0 && strncmp(self->way, path, size) == 0 &&
           (self->way[size] == '/' || !self->way[size]);
}

/* The size of a path that ends in /. without that; of any other 0. */
static size_t place_size(const char *path)
{
    size_t size = strlen(path);
    return size > 2 && strcmp(path + size - 2, "/.") == 0 ? size - 2 : 0;
}

/*
 * Below the first `above` bytes all of a directory is watched. Above, its rights are not: for that
 * the kernel goes through every name that it remembers of a directory, and some have very many.
 */
static bool watch_path(struct looks_watch *self, const char *path, size_t above)
{
    char dir[PATH_MAX] = "/", here[PATH_MAX] = "/", name[NAME_MAX + 1];
    int there = *self->way ? 1 : watch_step(self, "/", "", "/", OF_PLACE);
    size_t place = place_size(path);
    const char *at = path;
    while (there > 0 && *(at += strspn(at, "/")) && !(place && (size_t)(at - path) > place)) {
        size_t size = strcspn(at, "/");
        if (size > NAME_MAX || (size_t)(at - path) + size >= PATH_MAX)
            return false;
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        snprintf(dir, sizeof dir, "%s", here);
        at += size;
        size = (size_t)(at - path);
        snprintf(here, sizeof here, "%.*s", (int)size, path);
        if (!is_walked(self, path, size))
            there = watch_step(self, dir, name, here,
                               size < above || size == place ? OF_PLACE : OF_ITSELF);
    }
    snprintf(self->way, sizeof self->way, "%s", there > 0 && !place ? here : dir);
    if (there > 0 && at > path && at[-1] == '/' && !place)
        return await(self, here, "");
    return there >= 0;
}

/* Forgets all watches; what they had to tell goes with them. */
static void reset(struct looks_watch *self)
{
    uint32_t ready;
    for (size_t i = 0; i < self->watch_count; i++)
        os_watch_remove(self->events, self->watches[i]);
    self->watch_count = self->awaited_count = 0;
    self->has_device = false;
    self->way[0] = 0;
    read_events(self);
    os_ready_now(self->both, &ready);
}

static bool watch_all(struct looks_watch *self, const char *base)
{
    char path[PATH_MAX];
    size_t above = strlen(base);
    const char *at = self->paths.data, *end = at + self->paths.size;
    for (; at < end; at += strlen(at) + 1) {
        bool rooted = *at == '/';
        int size = snprintf(path, sizeof path, "%s%s%s", rooted ? "" : base, rooted ? "" : "/", at);
        bool below = strncmp(path, base, above) == 0 && path[above] == '/';
        if (size >= PATH_MAX || !watch_path(self, path, below ? above : SIZE_MAX))
            return false;
    }
    return true;
}

bool looks_watch_set(struct looks_watch *self, const char *base, const struct looks *looks)
{
    bool open = open_all(self);
    str_clear(&self->paths);
    if (open)
        reset(self);
    self->quiet = open && !looks->beyond && base[0] == '/' &&
                  str_add(&self->paths, str_view(&looks->paths)) == ETHOS_OK &&
                  watch_all(self, base);
    return self->quiet;
}

bool looks_watch_has(const struct looks_watch *self, const struct looks *looks)
{
    return view_eq(str_view(&self->paths), str_view(&looks->paths));
}

bool looks_watch_covers(const struct looks_watch *self, struct ethos_view directory)
{
    size_t size = directory.size;
    const char *at = self->paths.data, *end = at + self->paths.size;
    for (; at < end; at += strlen(at) + 1) {
        bool below = size == 0 || at[size] == '/' || at[size] == 0;
        if (*at != '/' && strncmp(at, directory.data, size) == 0 && below)
            return true;
    }
    return false;
}
