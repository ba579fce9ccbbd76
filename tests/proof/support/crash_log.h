/*
 * crash_log.h: what a process does to a tree, call by call, with names, places and bytes.
 *
 * The calls of libc that change files are wrapped by the linker (PROOF_WRAP in the Makefile), so the
 * log needs nothing of the code under test. It lies in shared memory and goes on from child to child.
 */
#ifndef TESTS_PROOF_SUPPORT_CRASH_LOG_H
#define TESTS_PROOF_SUPPORT_CRASH_LOG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#define MOST_EVENTS 1024
#define LOG_BYTES (8u << 20)
#define NAME_SIZE 160 /* of a path below the tree */

enum event_kind {
    EVENT_WRITE,    /* bytes of an inode */
    EVENT_TRUNCATE, /* an inode to `offset` bytes */
    EVENT_SYNC,     /* an inode's bytes are safe */
    EVENT_SYNC_DIR, /* the names in directory `name` are safe */
    EVENT_NAMES,    /* one or two names now mean another inode, or none (0) */
    EVENT_MKDIR,    /* directory `name` */
    EVENT_ANSWER,   /* an operation was acknowledged */
};

struct event {
    enum event_kind kind;
    ino_t inode;
    size_t offset, size, data; /* data: place in the log's bytes */
    char name[2][NAME_SIZE];   /* EVENT_NAMES: the second may be "" */
    ino_t meaning[2];
    struct timespec changed; /* EVENT_WRITE, EVENT_TRUNCATE: the inode's time of change */
};

/*
 * A file that was made anew for a trial shows itself as the one of the log that it stands for: by its
 * number, and until it is written to by its time of change. A disk after a power cut does the same.
 */
struct face {
    ino_t real, shown;
    struct timespec real_changed, shown_changed;
};
#define MOST_FACES 256

struct crash_log {
    bool on, full;
    char root[PATH_MAX / 4]; /* only what happens below it counts */
    unsigned count;
    size_t used;
    struct event events[MOST_EVENTS];
    char bytes[LOG_BYTES];
};

/* The faces of this process and its children. */
extern struct face crash_faces[MOST_FACES];
extern unsigned crash_face_count;

/* The log that the wrapped calls write to; NULL at first. */
extern struct crash_log *crash_log;

void crash_log_answer(void);

#endif
