/*
 * by_hand.c: the floors.
 */
#include "by_hand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
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
#define LINE_BYTES 900   /* of a usual line of history */
#define MOST_LINES 2     /* of history in one write */
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

/* ---- durable writes --------------------------------------------------------------------------- */

/* What one write holds open. */
struct hand {
    int dir, lock, tmp, history;
    char *buffer;
    size_t size;
};

/* One file of a write: as it was, and its two names on the way to the new text. */
struct target {
    const char *name, *draft, *fresh;
    bool exists;
    struct stat seen;
};

#define INDEX_TARGET                                                                               \
    {                                                                                              \
        KEY, "MEMORY.md.000000000000.draft", "MEMORY.md.000000000000.new", true,                   \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define NOTE_TARGET(name)                                                                          \
    {                                                                                              \
        name, "note.md.000000000000.draft", "note.md.000000000000.new", false,                     \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

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
static int read_state(struct hand *hand)
{
    struct stat st;
    char *buffer = hand->buffer;
    int index = openat(hand->dir, INDEX, O_RDONLY | O_CLOEXEC);
    if (index >= 0) {
        if (read(index, buffer, hand->size) < 0 || read(index, buffer, 1) < 0)
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

static int begin(struct hand *hand, const char *dir, char *buffer, size_t size)
{
    *hand = (struct hand){open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1, -1, -1, buffer, size};
    return hand->dir >= 0 && take_locks(hand) == 0 && read_state(hand) == 0 ? 0 : -1;
}

static int end(struct hand *hand, bool ok)
{
    int fds[] = {hand->lock, hand->tmp, hand->history, hand->dir};
    for (size_t i = 0; i < 4; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return ok ? 0 : -1;
}

/* The text of a name, when nobody is writing it. Returns the size, or -1. */
static ssize_t read_text(const struct hand *hand, int dir, const char *name, struct stat *seen)
{
    struct stat after;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int ok = !has_writer(fd) && fstat(fd, seen) == 0 && (size_t)seen->st_size <= hand->size / 2 &&
             read(fd, hand->buffer, (size_t)seen->st_size) == seen->st_size &&
             fstat(fd, &after) == 0 && same(seen, &after);
    close(fd);
    return ok ? (ssize_t)seen->st_size : -1;
}

/* Reads the index and appends to it, in the buffer. Returns the size, or -1. */
static ssize_t add_to_index(const struct hand *hand, struct target *index, const char *text)
{
    ssize_t old = read_text(hand, hand->dir, index->name, &index->seen);
    if (old < 0)
        return -1;
    return old + snprintf(hand->buffer + old, hand->size - (size_t)old, "\n%s\n", text);
}

static bool draft(const struct hand *hand, const struct target *target, const char *data,
                  ssize_t size)
{
    struct stat st;
    if (size < 0)
        return false;
    int fd = openat(hand->tmp, target->draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0)
        return false;
    bool ok = fstat(fd, &st) == 0 && write(fd, data, (size_t)size) == size && fdatasync(fd) == 0;
    return close(fd) == 0 && ok;
}

static bool unchanged(const struct hand *hand, const struct target *target)
{
    struct stat now;
    if (fstat(hand->lock, &now) != 0)
        return false;
    bool exists = fstatat(hand->dir, target->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    return exists == target->exists && (!exists || same(&target->seen, &now));
}

static bool write_lines(const struct hand *hand, size_t count)
{
    struct stat st;
    static char lines[MOST_LINES * LINE_BYTES];
    memset(lines, '.', sizeof lines);
    for (size_t i = 0; i < count; i++)
        lines[(i + 1) * LINE_BYTES - 1] = '\n';
    return write(hand->history, lines, count * LINE_BYTES) == (ssize_t)(count * LINE_BYTES) &&
           fdatasync(hand->history) == 0 && fstat(hand->history, &st) == 0 &&
           fstatat(hand->dir, HISTORY, &st, 0) == 0;
}

static bool name_new(const struct hand *hand, const struct target *target)
{
    return renameat(hand->tmp, target->draft, hand->tmp, target->fresh) == 0;
}

/* A second name, or an exchange after which what was displaced is looked at. */
static bool swap(const struct hand *hand, const struct target *target)
{
    struct stat st;
    if (!target->exists)
        return linkat(hand->tmp, target->fresh, hand->dir, target->name, 0) == 0;
    return renameat2(hand->tmp, target->fresh, hand->dir, target->name, RENAME_EXCHANGE) == 0 &&
           read_text(hand, hand->tmp, target->fresh, &st) >= 0;
}

/* All that comes after a draft of one file. */
static bool publish(const struct hand *hand, const struct target *target)
{
    return unchanged(hand, target) && write_lines(hand, 1) && name_new(hand, target) &&
           unchanged(hand, target) && swap(hand, target) && fsync(hand->dir) == 0 &&
           unlinkat(hand->tmp, target->fresh, 0) == 0;
}

int hand_add(const char *dir, const char *text, char *buffer, size_t size)
{
    struct hand hand;
    struct target index = INDEX_TARGET;
    bool ok = begin(&hand, dir, buffer, size) == 0 &&
              draft(&hand, &index, buffer, add_to_index(&hand, &index, text)) &&
              publish(&hand, &index);
    return end(&hand, ok);
}

int hand_create(const char *dir, const char *name, const char *text, char *buffer, size_t size)
{
    struct hand hand;
    const struct target note = NOTE_TARGET(name);
    bool ok = begin(&hand, dir, buffer, size) == 0 &&
              draft(&hand, &note, text, (ssize_t)strlen(text)) && publish(&hand, &note);
    return end(&hand, ok);
}

/* Both files in one write: two lines of history, one sync of the directory. */
static bool publish_both(const struct hand *hand, const struct target *note,
                         const struct target *index)
{
    return unchanged(hand, note) && unchanged(hand, index) && write_lines(hand, 2) &&
           name_new(hand, note) && name_new(hand, index) && unchanged(hand, note) &&
           unchanged(hand, index) && swap(hand, note) && swap(hand, index) &&
           fsync(hand->dir) == 0 && unlinkat(hand->tmp, note->fresh, 0) == 0 &&
           unlinkat(hand->tmp, index->fresh, 0) == 0;
}

int hand_keep(const char *dir, const char *name, const char *text, const char *line, char *buffer,
              size_t size)
{
    struct hand hand;
    const struct target note = NOTE_TARGET(name);
    struct target index = INDEX_TARGET;
    bool ok = begin(&hand, dir, buffer, size) == 0 &&
              draft(&hand, &note, text, (ssize_t)strlen(text)) &&
              draft(&hand, &index, buffer, add_to_index(&hand, &index, line)) &&
              publish_both(&hand, &note, &index);
    return end(&hand, ok);
}
