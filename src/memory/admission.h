/*
 * admission.h: checks whether a write is allowed, refused, or queued for a person's approval.
 *
 * Every write of memory passes here on its way to the backend: updates one by one, other changes by
 * the texts they lead to, checked under the store's lock. The owner's writes pass unread; all
 * others are checked against the policy of the home (core/approval/policy.h), and proposals that
 * were rejected for good are refused. A write that needs approval becomes a line of the queue
 * (memory/approval/pending_queue.h) and returns ETHOS_PENDING: none of it was written.
 *
 * An import, or a queued write that was approved, is not checked again: its origin names who
 * approved it.
 */
#ifndef ETHOS_MEMORY_ADMISSION_H
#define ETHOS_MEMORY_ADMISSION_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "base/arena.h"
#include "core/approval/policy.h"

#define ADMISSION_DAY_WRITES 30   /* from untrusted sources, per scope */
#define ADMISSION_DAY_BYTES 65536 /* likewise */
#define ADMISSION_ID_SIZE 40

struct pending_limits;

/* One call that writes. */
struct admission {
    struct ethos_turn *turn;
    const struct ethos_origin *origin;
    bool passes; /* the owner's, or approved: nothing is checked */
    enum trust trust;
    struct arena arena;
    struct policy policy;
    struct waiting *waiting;    /* writes that need approval, newest first */
    bool rehearses;             /* dry run: nothing is queued */
    char id[ADMISSION_ID_SIZE]; /* of the first queued line; "" in a dry run */
};

/* The origin is resolved (handle_origin) and outlives it. Release in any case. */
int admission_begin(struct ethos_turn *turn, const struct ethos_origin *origin, bool rehearses,
                    struct admission *out, struct ethos_error *error);
void admission_release(struct admission *self);

/*
 * Checks one update, whose target is resolved. *out_why is 0 if it is allowed. Returns ETHOS_DENIED
 * if it is refused.
 */
int admission_check_update(struct admission *self, const struct ethos_update *update,
                           unsigned *out_why, struct ethos_error *error);

/* Records an update that needs approval. */
int admission_note_update(struct admission *self, const struct ethos_update *update, unsigned why,
                          struct ethos_error *error);

/*
 * Checks the verdicts of a callback. If one of them needs approval, all wait. ETHOS_PENDING or
 * ETHOS_DENIED.
 */
int admission_check_edits(struct admission *self, const char *scope, const struct ethos_edit *edits,
                          size_t count, struct ethos_error *error);

/* Drops the recorded writes: the callback will be called again. */
void admission_forget(struct admission *self);

/*
 * Queues the recorded writes and reports each to how->each. Returns ETHOS_PENDING, or why they
 * cannot be queued; ETHOS_OK if there are none.
 */
int admission_queue(struct admission *self, const struct ethos_sync_how *how,
                    struct ethos_error *error);

/* The settings of queues. */
int admission_limits(struct ethos *ethos, struct pending_limits *out, enum approval_mode *out_mode,
                     struct ethos_error *error);

#endif
