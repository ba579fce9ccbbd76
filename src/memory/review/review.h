/*
 * review.h: a person decides about what waits.
 *
 *     approve  the write happens, once, by its operation id "pending:<id>", with the origin that it was proposed with
 *     reject   it does not
 *     never    it does not, and is not to be proposed again
 *     edit     it waits on with another text
 *
 * A decision names the hash of what was shown (core/approval/pending.h): if the line says something else by now, or
 * what it changes or removes was changed meanwhile, the code is ETHOS_CONFLICT and nothing happens. Without a hash
 * (NULL) the line is taken as it stands, and must still say what it was hashed for.
 *
 * An id that history knows was applied by somebody who died before the line was closed: any decision then only
 * closes it, as approved, and says so (ETHOS_EXISTS).
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
 * Lines that wait, oldest first: of one scope, or with NULL of all below the root. actor: only those of somebody,
 * or NULL. *out is an array of rows as they stand.
 */
int review_list(struct ethos *ethos, const char *scope, const char *actor, json_t **out,
                struct ethos_error *error);

/* How many wait in all scopes. */
int review_count(struct ethos *ethos, size_t *out, struct ethos_error *error);

/* The line of an id in a scope (NULL: any), owned. An id may be cut where its start is unique. ETHOS_NOTFOUND. */
int review_find(struct ethos *ethos, const char *scope, struct ethos_view id, json_t **out,
                struct ethos_error *error);

/* What an approval would do now. */
struct review_effect {
    char hash[HASH_HEX_SIZE]; /* to approve exactly this */
    bool moved;               /* the file was changed since it was proposed */
    struct str diff;
};

/* Release in any case. The turn is one that reaches the scope of the line. */
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

/* What happened is told to how->each; of its origin nothing is used. */
int review_approve(struct ethos_turn *turn, const struct review_decision *decision,
                   const struct ethos_sync_how *how, struct ethos_error *error);
int review_reject(struct ethos_turn *turn, const struct review_decision *decision, bool never,
                  struct ethos_error *error);

/* Adds a rule to approval.yaml, so that nobody is asked about its kind again. */
int review_allow(struct ethos *ethos, const char *rule, struct ethos_error *error);

/* *out is the new line, owned. */
int review_edit(struct ethos_turn *turn, const struct review_decision *decision,
                struct ethos_view text, json_t **out, struct ethos_error *error);

#endif
