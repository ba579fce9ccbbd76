/*
 * updates.h: the memory updates of a turn: queued while the model works, applied together at its end.
 *
 * All of them are one sync with the turn's id as operation id. A replace carries the revision that the model was
 * shown; if the file has moved meanwhile, the new text is merged over the one that was shown, what overlaps becomes
 * a conflict copy (`ethos conflicts`), and the other updates are applied nonetheless.
 */
#ifndef ETHOS_AGENT_UPDATES_H
#define ETHOS_AGENT_UPDATES_H

#include <ethos/ethos.h>

#include "base/json.h"
#include "base/str.h"

#define UPDATES_MAX_PROBLEMS 2048 /* bytes of what could not be applied */

struct updates {
    struct ethos_turn *turn;
    json_t *rows;    /* the queue, in order */
    json_t *changes; /* what changed: [{"store", "scope", "key", "added", "removed"}] */
    struct str
        problems; /* a sentence for each update that was not applied, or not as it was asked */
};

int updates_init(struct updates *self, struct ethos_turn *turn, struct ethos_error *error);
void updates_release(struct updates *self);

/*
 * Queues {"store"|"scope", "key", "content"|"substringMatch", "ifMatch"}; the members are checked already. A text
 * that is replaced is read now, for a merge if it moves until the end of the turn: no history has a version that
 * an editor has overwritten.
 */
int updates_add(struct updates *self, const char *action, const json_t *args,
                struct ethos_error *error);

/* Notes that a tool has changed a file by itself. */
int updates_note_change(struct updates *self, const char *scope, const char *key);

/* Applies the queue and empties it. Problems of single updates are no failure of the call. */
int updates_apply(struct updates *self, const struct ethos_origin *origin,
                  struct ethos_error *error);

#endif
