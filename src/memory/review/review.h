/*
 * review.h: lets a person decide about queued writes.
 *
 *     approve  executes the write, once, by its operation id "pending:<id>", with the origin that
 *              it was proposed with
 *     reject   drops it
 *     never    drops it, and refuses to queue it again
 *     edit     replaces its text; it keeps waiting
 *
 * A decision names the hash of what was shown (core/approval/pending.h): if the line has changed
 * since, or the text it changes or removes was changed meanwhile, the code is ETHOS_CONFLICT and
 * nothing happens. Without a hash (NULL) the line is taken as stored, and must still match its own
 * hash.
 *
 * An id that the history knows was applied by a process that was killed before it closed the line:
 * any decision then only closes it, as approved, and reports that (ETHOS_EXISTS).
 */
#ifndef ETHOS_MEMORY_REVIEW_REVIEW_H
#define ETHOS_MEMORY_REVIEW_REVIEW_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"
#include "base/str.h"
#include "core/approval/pending.h"

#define REVIEW_OP_ID "pending:"

/*
 * Queued lines, oldest first: of one scope, or with NULL of all below the root. actor: only those
 * of this actor, or NULL. *out is an array of rows as stored.
 */
int review_list(struct ethos *ethos, const char *scope, const char *actor, json_t **out,
                struct ethos_error *error);

/* The number of queued writes in all scopes. */
int review_count(struct ethos *ethos, size_t *out, struct ethos_error *error);

/*
 * The line with an id in a scope (NULL: any), owned. An id may be abbreviated if its start is
 * unique. ETHOS_NOTFOUND.
 */
int review_find(struct ethos *ethos, const char *scope, struct ethos_view id, json_t **out,
                struct ethos_error *error);

/* What an approval would do now. */
struct review_effect {
    char hash[HASH_HEX_SIZE]; /* pass this to approve exactly this */
    bool moved;               /* the file has changed since the proposal */
    struct str diff;
};

/* Release in any case. The turn must reach the scope of the line. */
int review_preview(struct ethos_turn *turn, const struct pending *pending,
                   struct review_effect *out, struct ethos_error *error);
void review_effect_release(struct review_effect *effect);

/* Who decides. */
struct review_decision {
    const char *scope; /* of the line */
    const char *id;    /* whole */
    const char *hash;  /* of what was shown, or NULL */
    const char *by;
};

/* Reports what happened to how->each; its origin is not used. */
int review_approve(struct ethos_turn *turn, const struct review_decision *decision,
                   const struct ethos_sync_how *how, struct ethos_error *error);
int review_reject(struct ethos_turn *turn, const struct review_decision *decision, bool never,
                  struct ethos_error *error);

/* Adds a rule to approval.yaml, so that writes of this kind need no approval. */
int review_allow(struct ethos *ethos, const char *rule, struct ethos_error *error);

/* *out is the new line, owned. */
int review_edit(struct ethos_turn *turn, const struct review_decision *decision,
                struct ethos_view text, json_t **out, struct ethos_error *error);

#endif
