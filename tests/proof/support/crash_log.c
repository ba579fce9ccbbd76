/*
 * crash_log.c: the wrapped calls. Each does what it is asked and then notes what came of it.
 */
#include "crash_log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct crash_log *crash_log;
struct face crash_faces[MOST_FACES];
unsigned crash_face_count;

ssize_t __real_write(int fd, const void *data, size_t size);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_ftruncate(int fd, off_t size);
int __real_openat(int dir, const char *path, int flags, ...);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __real_unlinkat(int dir, const char *path, int flags);
int __real_mkdirat(int dir, const char *path, mode_t mode);
long __real_syscall(long number, ...);
int __real_fstat(int fd, struct stat *out);
int __real_fstatat(int dir, const char *path, struct stat *out, int flags);

ssize_t __wrap_write(int fd, const void *data, size_t size);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
long __wrap_syscall(long number, ...);
int __wrap_fstat(int fd, struct stat *out);
int __wrap_fstatat(int dir, const char *path, struct stat *out, int flags);

/* ---- notes ---------------------------------------------------------------------------------- */

static bool is_on(void)
{
    return crash_log && crash_log->on;
}

static struct event *note(enum event_kind kind)
{
    static struct event nowhere;
    if (crash_log->count == MOST_EVENTS) {
        crash_log->full = true;
        return &nowhere;
    }
    struct event *event = &crash_log->events[crash_log->count++];
    *event = (struct event){.kind = kind};
    return event;
}

void crash_log_answer(void)
{
    note(EVENT_ANSWER);
}

/* The path below the root, or false. */
static bool below(int dir, const char *path, char out[NAME_SIZE])
{
    char link[32], whole[PATH_MAX];
    size_t root = strlen(crash_log->root);
    ssize_t size = 0;
    if (*path != '/') {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        size = readlink(link, whole, sizeof whole - 1);
        if (size < 0)
            return false;
    }
    snprintf(whole + size, sizeof whole - (size_t)size, "%s%s", size && *path ? "/" : "", path);
    if (strncmp(whole, crash_log->root, root) != 0 || (whole[root] != '/' && whole[root] != 0))
        return false;
    snprintf(out, NAME_SIZE, "%.150s", whole + root + (whole[root] == '/'));
    return true;
}

/* Inode behind a descriptor or name; 0 when there is none. */
static ino_t inode_at(int dir, const char *path)
{
    struct stat st;
    int saved = errno;
    int failed = __real_fstatat(dir, path, &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    errno = saved;
    return failed ? 0 : st.st_ino;
}

static bool is_ours(int fd, struct stat *st)
{
    char name[NAME_SIZE];
    return is_on() && __real_fstat(fd, st) == 0 && below(fd, "", name);
}

static void note_names(int dir, const char *path, ino_t inode, int second_dir, const char *second,
                       ino_t second_inode)
{
    char names[2][NAME_SIZE] = {"", ""};
    if (!below(dir, path, names[0]) || (second && !below(second_dir, second, names[1])))
        return;
    struct event *event = note(EVENT_NAMES);
    memcpy(event->name, names, sizeof names);
    event->meaning[0] = inode;
    event->meaning[1] = second_inode;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    struct stat st;
    ssize_t done = __real_write(fd, data, size);
    if (done <= 0 || !is_ours(fd, &st) || !S_ISREG(st.st_mode))
        return done;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (crash_log->used + (size_t)done > LOG_BYTES) {
        crash_log->full = true;
        return done;
    }
    struct event *event = note(EVENT_WRITE);
    event->inode = st.st_ino;
    event->changed = st.st_mtim;
    event->offset = (size_t)(end - done);
    event->size = (size_t)done;
    event->data = crash_log->used;
    memcpy(crash_log->bytes + crash_log->used, data, (size_t)done);
    crash_log->used += (size_t)done;
    return done;
}

int __wrap_ftruncate(int fd, off_t size)
{
    struct stat st;
    int failed = __real_ftruncate(fd, size);
    if (!failed && is_ours(fd, &st)) {
        struct event *event = note(EVENT_TRUNCATE);
        event->inode = st.st_ino;
        event->changed = st.st_mtim;
        event->offset = (size_t)size;
    }
    return failed;
}

static void note_sync(int fd)
{
    struct stat st;
    if (!is_ours(fd, &st))
        return;
    struct event *event = note(S_ISDIR(st.st_mode) ? EVENT_SYNC_DIR : EVENT_SYNC);
    event->inode = st.st_ino;
    below(fd, "", event->name[0]);
}

int __wrap_fsync(int fd)
{
    int failed = __real_fsync(fd);
    if (!failed)
        note_sync(fd);
    return failed;
}

int __wrap_fdatasync(int fd)
{
    int failed = __real_fdatasync(fd);
    if (!failed)
        note_sync(fd);
    return failed;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A name that was not there before an open is new; a file that was cut by it is empty. */
static void note_open(int fd, int dir, const char *path, int flags, ino_t before)
{
    if (fd < 0 || !is_on() || !(flags & (O_CREAT | O_TRUNC)) || (flags & O_DIRECTORY))
        return;
    ino_t inode = inode_at(fd, "");
    if (before == 0)
        note_names(dir, path, inode, 0, NULL, 0);
    else if (flags & O_TRUNC) {
        struct event *event = note(EVENT_TRUNCATE);
        event->inode = inode;
        clock_gettime(CLOCK_REALTIME_COARSE, &event->changed);
    }
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    ino_t before = is_on() ? inode_at(dir, path) : 0;
    int fd = __real_openat(dir, path, flags, mode);
    note_open(fd, dir, path, flags, before);
    return fd;
}

long __wrap_syscall(long number, ...)
{
    va_list args;
    long given[6];
    va_start(args, number);
    for (size_t i = 0; i < 6; i++)
        given[i] = va_arg(args, long);
    va_end(args);
    bool opens = number == SYS_openat2 && is_on();
    ino_t before = opens ? inode_at((int)given[0], (const char *)given[1]) : 0;
    long result = __real_syscall(number, given[0], given[1], given[2], given[3], given[4],
                                 given[5]);
    if (opens)
        note_open((int)result, (int)given[0], (const char *)given[1],
                  (int)((const struct open_how *)given[2])->flags, before);
    return result;
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    int failed = __real_renameat2(from_dir, from, to_dir, to, flags);
    if (!failed && is_on())
        note_names(from_dir, from, inode_at(from_dir, from), to_dir, to, inode_at(to_dir, to));
    return failed;
}

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    int failed = __real_linkat(from_dir, from, to_dir, to, flags);
    if (!failed && is_on())
        note_names(to_dir, to, inode_at(to_dir, to), 0, NULL, 0);
    return failed;
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    int failed = __real_unlinkat(dir, path, flags);
    if (!failed && is_on())
        note_names(dir, path, 0, 0, NULL, 0);
    return failed;
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    char name[NAME_SIZE];
    int failed = __real_mkdirat(dir, path, mode);
    if (!failed && is_on() && below(dir, path, name))
        snprintf(note(EVENT_MKDIR)->name[0], NAME_SIZE, "%s", name);
    return failed;
}

/* ---- faces ---------------------------------------------------------------------------------- */

static void put_face_on(struct stat *st)
{
    for (unsigned i = 0; i < crash_face_count; i++) {
        const struct face *face = &crash_faces[i];
        if (face->real != st->st_ino)
            continue;
        st->st_ino = face->shown;
        if (st->st_mtim.tv_sec == face->real_changed.tv_sec &&
            st->st_mtim.tv_nsec == face->real_changed.tv_nsec)
            st->st_mtim = st->st_ctim = face->shown_changed;
        return;
    }
}

int __wrap_fstat(int fd, struct stat *out)
{
    int failed = __real_fstat(fd, out);
    if (!failed)
        put_face_on(out);
    return failed;
}

int __wrap_fstatat(int dir, const char *path, struct stat *out, int flags)
{
    int failed = __real_fstatat(dir, path, out, flags);
    if (!failed)
        put_face_on(out);
    return failed;
}
