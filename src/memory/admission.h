/*
 * admission.h: whether a write may happen now, or waits for a person.
 *
 * Every write of memory passes here, on its way to the backend: updates one by one, other changes by the texts that
 * they lead to, judged under the store's lock. The owner's pass unread; all others are judged by the policy of the
 * home (core/approval/policy.h), and what somebody said never to about is refused. What waits becomes lines of the
 * queue (memory/approval/pending_queue.h) and the code ETHOS_PENDING: nothing of it was written.
 *
 * Approval of an import or of a waiting write has happened already: its origin names who approved.
 */
#ifndef ETHOS_MEMORY_ADMISSION_H
#define ETHOS_MEMORY_ADMISSION_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "base/arena.h"
#include "core/approval/policy.h"

#define ADMISSION_DAY_WRITES 30   /* of what is not trusted, in a scope */
#define ADMISSION_DAY_BYTES 65536 /* the same */
#define ADMISSION_ID_SIZE 40

struct pending_limits;

/* One call that writes. */
struct admission {
    struct ethos_turn *turn;
    const struct ethos_origin *origin;
    bool passes; /* the owner's, or approved: nothing is judged */
    enum trust trust;
    struct arena arena;
    struct policy policy;
    struct waiting *waiting;    /* what is to wait, newest first */
    bool rehearses;             /* a dry run: nothing is queued */
    char id[ADMISSION_ID_SIZE]; /* of the first line that was queued; "" of a dry run */
};

/* The origin is resolved (handle_origin) and outlives it. Release in any case. */
int admission_begin(struct ethos_turn *turn, const struct ethos_origin *origin, bool rehearses,
                    struct admission *out, struct ethos_error *error);
void admission_release(struct admission *self);

/*
 * Judges one update, whose target is resolved. *out_why is 0 where it may happen. ETHOS_DENIED where it is
 * refused.
 */
int admission_check_update(struct admission *self, const struct ethos_update *update,
                           unsigned *out_why, struct ethos_error *error);

/* Notes one that is to wait. */
int admission_note_update(struct admission *self, const struct ethos_update *update, unsigned why,
                          struct ethos_error *error);

/* Judges the verdicts of a callback; any of them waits, and all do. ETHOS_PENDING, ETHOS_DENIED. */
int admission_check_edits(struct admission *self, const char *scope, const struct ethos_edit *edits,
                          size_t count, struct ethos_error *error);

/* Forgets what was noted: the callback will be asked again. */
void admission_forget(struct admission *self);

/*
 * Queues what was noted and tells each to how->each. ETHOS_PENDING, or why it cannot be queued. Without anything
 * noted ETHOS_OK.
 */
int admission_queue(struct admission *self, const struct ethos_sync_how *how,
                    struct ethos_error *error);

/* The settings of queues. */
int admission_limits(struct ethos *ethos, struct pending_limits *out, enum approval_mode *out_mode,
                     struct ethos_error *error);

#endif
