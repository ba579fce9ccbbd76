/*
 * by_hand.c: the floors.
 */
#include "by_hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "MEMORY.md"
#define LOCK ".mem/lock"
#define DRAFT ".mem/tmp/MEMORY.md.draft"

static int same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int hand_read(const char *path, char *buffer, size_t size)
{
    struct stat before, after;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int ok = fstat(fd, &before) == 0 && (size_t)before.st_size <= size &&
             read(fd, buffer, (size_t)before.st_size) == before.st_size && fstat(fd, &after) == 0 &&
             same(&before, &after);
    close(fd);
    return ok ? 0 : -1;
}

int hand_tail(const char *path, char *buffer, size_t most)
{
    struct stat before, after;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int ok = fstat(fd, &before) == 0 && (size_t)before.st_size >= most &&
             pread(fd, buffer, most, before.st_size - (off_t)most) == (ssize_t)most &&
             fstat(fd, &after) == 0 && same(&before, &after);
    close(fd);
    return ok ? 0 : -1;
}

/* The old text and the paragraph behind it. Returns the size, or -1. */
static ssize_t compose(int dir, const char *text, char *buffer, size_t size, struct stat *seen)
{
    struct stat after;
    int fd = openat(dir, KEY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int ok = fstat(fd, seen) == 0 && (size_t)seen->st_size + strlen(text) + 2 <= size &&
             read(fd, buffer, (size_t)seen->st_size) == seen->st_size && fstat(fd, &after) == 0 &&
             same(seen, &after);
    close(fd);
    if (!ok)
        return -1;
    return seen->st_size +
           snprintf(buffer + seen->st_size, size - (size_t)seen->st_size, "\n%s\n", text);
}

static int write_draft(int dir, const char *data, size_t size)
{
    int fd = openat(dir, DRAFT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int ok = write(fd, data, size) == (ssize_t)size && fdatasync(fd) == 0;
    return close(fd) == 0 && ok ? 0 : -1;
}

static int replace(int dir, const struct stat *seen)
{
    struct stat now;
    if (fstatat(dir, KEY, &now, AT_SYMLINK_NOFOLLOW) != 0 || !same(seen, &now))
        return -1;
    return renameat(dir, DRAFT, dir, KEY) == 0 && fsync(dir) == 0 ? 0 : -1;
}

int hand_add(const char *path, const char *text, char *buffer, size_t size)
{
    struct stat seen;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock = dir < 0 ? -1 : openat(dir, LOCK, O_RDWR | O_CLOEXEC);
    ssize_t made = lock < 0 || flock(lock, LOCK_EX) != 0 ? -1
                                                         : compose(dir, text, buffer, size, &seen);
    int result = made < 0 || write_draft(dir, buffer, (size_t)made) != 0 ? -1 : replace(dir, &seen);
    if (lock >= 0)
        close(lock);
    if (dir >= 0)
        close(dir);
    return result;
}
