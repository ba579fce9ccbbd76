/*
 * by_hand.c: the floors.
 */
#include "by_hand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "MEMORY.md"
#define GATE ".mem/gate"
#define LOCK ".mem/lock"
#define INDEX ".mem/index"
#define HISTORY "memory-history.jsonl"
#define DRAFT "MEMORY.md.000000000000.draft"
#define NEW "MEMORY.md.000000000000.new"
#define LINE_BYTES 900   /* of a usual line of history */
#define TAIL_BYTES 16384 /* of history that a usual write reads */

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

/* ---- one durable paragraph ------------------------------------------------------------------- */

/* What one write holds open. */
struct hand {
    int dir, lock, tmp, history;
    struct stat seen;
};

static int has_writer(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) != 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0 ||
           fcntl(fd, F_SETLEASE, F_UNLCK) != 0;
}

static int take_locks(struct hand *hand)
{
    struct stat st;
    int gate = openat(hand->dir, GATE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (gate < 0)
        return -1;
    hand->lock = openat(hand->dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int ok = hand->lock >= 0 && flock(gate, LOCK_EX | LOCK_NB) == 0 && fstat(gate, &st) == 0 &&
             flock(hand->lock, LOCK_EX | LOCK_NB) == 0 && fstat(hand->lock, &st) == 0;
    close(gate);
    return ok ? 0 : -1;
}

/* The index, the end of the history, and whatever a dead writer left. */
static int read_state(struct hand *hand, char *buffer, size_t size)
{
    struct stat st;
    int index = openat(hand->dir, INDEX, O_RDONLY | O_CLOEXEC);
    if (index >= 0) {
        if (read(index, buffer, size) < 0 || read(index, buffer, 1) < 0)
            return -1;
        close(index);
    }
    hand->history = openat(hand->dir, HISTORY, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (hand->history < 0 || fstat(hand->history, &st) != 0)
        return -1;
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    if (pread(hand->history, buffer, TAIL_BYTES, from) < 0)
        return -1;
    hand->tmp = openat(hand->dir, ".mem/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return hand->tmp >= 0 && lseek(hand->tmp, 0, SEEK_SET) == 0 &&
                   getdents64(hand->tmp, buffer, 8192) >= 0 &&
                   getdents64(hand->tmp, buffer, 8192) == 0
               ? 0
               : -1;
}

/* The text of a name, when nobody is writing it. Returns the size, or -1. */
static ssize_t read_text(int dir, const char *name, char *buffer, size_t size, struct stat *seen)
{
    struct stat after;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int ok = !has_writer(fd) && fstat(fd, seen) == 0 && (size_t)seen->st_size <= size &&
             read(fd, buffer, (size_t)seen->st_size) == seen->st_size && fstat(fd, &after) == 0 &&
             same(seen, &after);
    close(fd);
    return ok ? (ssize_t)seen->st_size : -1;
}

static int write_draft(struct hand *hand, const char *data, size_t size)
{
    struct stat st;
    int fd = openat(hand->tmp, DRAFT, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int ok = fstat(fd, &st) == 0 && write(fd, data, size) == (ssize_t)size && fdatasync(fd) == 0;
    return close(fd) == 0 && ok ? 0 : -1;
}

static int unchanged(const struct hand *hand)
{
    struct stat now;
    return fstat(hand->lock, &now) == 0 &&
           fstatat(hand->dir, KEY, &now, AT_SYMLINK_NOFOLLOW) == 0 && same(&hand->seen, &now);
}

static int write_line(const struct hand *hand)
{
    struct stat st;
    static char line[LINE_BYTES];
    memset(line, '.', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    return write(hand->history, line, sizeof line) == (ssize_t)sizeof line &&
                   fdatasync(hand->history) == 0 && fstat(hand->history, &st) == 0 &&
                   fstatat(hand->dir, HISTORY, &st, 0) == 0 &&
                   renameat(hand->tmp, DRAFT, hand->tmp, NEW) == 0
               ? 0
               : -1;
}

/* Swaps, looks at what was displaced, syncs. */
static int publish(const struct hand *hand, char *buffer, size_t size)
{
    struct stat st;
    return renameat2(hand->tmp, NEW, hand->dir, KEY, RENAME_EXCHANGE) == 0 &&
                   read_text(hand->tmp, NEW, buffer, size, &st) >= 0 && fsync(hand->dir) == 0 &&
                   unlinkat(hand->tmp, NEW, 0) == 0
               ? 0
               : -1;
}

static int add(struct hand *hand, const char *text, char *buffer, size_t size)
{
    if (take_locks(hand) != 0 || read_state(hand, buffer, size) != 0)
        return -1;
    ssize_t old = read_text(hand->dir, KEY, buffer, size / 2, &hand->seen);
    if (old < 0)
        return -1;
    size_t made = (size_t)old + (size_t)snprintf(buffer + old, size - (size_t)old, "\n%s\n", text);
    return write_draft(hand, buffer, made) == 0 && unchanged(hand) && write_line(hand) == 0 &&
                   unchanged(hand)
               ? publish(hand, buffer, size)
               : -1;
}

int hand_add(const char *path, const char *text, char *buffer, size_t size)
{
    struct hand hand = {open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1, -1, -1, {0}};
    int result = hand.dir < 0 ? -1 : add(&hand, text, buffer, size);
    int *fds[] = {&hand.lock, &hand.tmp, &hand.history, &hand.dir};
    for (size_t i = 0; i < 4; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
    }
    return result;
}
