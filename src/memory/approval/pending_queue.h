/*
 * pending_queue.h: what waits in a scope: memory-pending.jsonl beside its texts, and two files that go with it.
 *
 *     memory-pending.jsonl         a line for each write that waits (core/approval/pending.h), oldest first
 *     memory-pending-closed.jsonl  the lines that were decided, with closedAt, reason and by
 *     memory-tombstones.jsonl      {factHash, ts, reason}: what is not to be proposed again
 *
 * The queue is changed under a lock of its own, `.mem/pending.lock` of the scope's directory, and replaced by a
 * synced temporary and a rename. A line is in the closed file before it leaves the queue: who is killed between the
 * two leaves it in both, and whoever decides about it again is told what became of it. Lines that are none stay as
 * they are.
 *
 * A line is older than the days of the limits: it expires. There are more than the cap: the oldest makes room.
 */
#ifndef ETHOS_MEMORY_APPROVAL_PENDING_QUEUE_H
#define ETHOS_MEMORY_APPROVAL_PENDING_QUEUE_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "core/approval/pending.h"

#define PENDING_FILE "memory-pending.jsonl"
#define PENDING_CLOSED_FILE "memory-pending-closed.jsonl"
#define PENDING_TOMBSTONES_FILE "memory-tombstones.jsonl"
#define PENDING_MAX_BYTES 67108864 /* of each of them */

#define DAY_MS ((int64_t)86400000)

/* Why a line was closed. */
#define CLOSED_APPROVED "approved"
#define CLOSED_REJECTED "rejected"
#define CLOSED_NEVER "never" /* also the reason of a tombstone */
#define CLOSED_EXPIRED "expired"
#define CLOSED_OVERFLOW "overflow"

struct pending_limits {
    size_t cap;   /* lines */
    int64_t days; /* how long a line may wait */
};

struct pending_line {
    struct ethos_view raw; /* as stored, without LF */
    json_t *row;           /* owned; NULL: not a line of ours */
    struct pending pending;
    bool changed;       /* row differs from raw */
    const char *reason; /* to be closed */
    const char *by;
};

struct pending_queue {
    char scope[ETHOS_MAX_SCOPE];
    int dir, lock; /* -1: not locked */
    int64_t now_ms;
    struct pending_limits limits;
    struct str text;
    struct arena arena;
    struct pending_line *lines;
    size_t count, capacity;
};

/*
 * Reads the queue without a lock, without expired lines. A missing queue is empty. Release in any
 * case.
 */
int pending_queue_read(int root, const char *scope, const struct pending_limits *limits,
                       int64_t now_ms, struct pending_queue *out, struct ethos_error *error);

/*
 * Locks and reads the queue to change and save it; creates the directory. Expired lines are marked
 * as closed. ETHOS_BUSY: cannot get the lock. Release in any case.
 */
int pending_queue_open(int root, const char *scope, const struct pending_limits *limits,
                       int64_t now_ms, struct pending_queue *out, struct ethos_error *error);
void pending_queue_release(struct pending_queue *self);

/* The line with this id unless it is marked as closed, or NULL. */
struct pending_line *pending_queue_find(struct pending_queue *self, struct ethos_view id);

/* Adds a line and owns the row. If there are more than the cap, the oldest are closed. */
int pending_queue_add(struct pending_queue *self, json_t *row, struct ethos_error *error);

/* The row of a line was changed in place. */
void pending_queue_note_edit(struct pending_line *line);

/* Marks a line as closed; both strings must outlive the queue. */
void pending_queue_close_line(struct pending_line *line, const char *reason, const char *by);

/*
 * Saves the queue durably: tombstones first, then closed lines, then the queue. Writes nothing if
 * nothing changed.
 */
int pending_queue_save(struct pending_queue *self, struct ethos_error *error);

/* How much others than the owner and their agents proposed within the last day, decided or not. */
struct pending_usage {
    uint64_t writes, bytes;
};
int pending_queue_measure(struct pending_queue *self, struct pending_usage *out,
                          struct ethos_error *error);

/*
 * Why something must not be proposed again: the reason of its tombstone, in the arena; NULL if it
 * may be.
 */
int pending_queue_find_tombstone(int root, const char *scope, const char *fact_hash,
                                 struct arena *arena, const char **out_reason,
                                 struct ethos_error *error);

/*
 * Calls each with every scope below the root that has a queue, ordered by the bytes of their
 * directories.
 */
typedef int pending_scope_fn(void *arg, const char *scope);
int pending_queue_each_scope(int root, pending_scope_fn *each, void *arg,
                             struct ethos_error *error);

#endif
