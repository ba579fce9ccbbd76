/*
 * undo.h: taking changes back in every file of a scope. Of one file it is ethos_undo.
 */
#ifndef ETHOS_MEMORY_HISTORY_UNDO_H
#define ETHOS_MEMORY_HISTORY_UNDO_H

#include <ethos/ethos.h>

/*
 * What ethos_undo does, for each key that ever changed in the scope (an id), deleted ones included. The
 * filter must name something, else ETHOS_INVALID. Each key is a write of its own. ETHOS_CONFLICT when
 * later changes stand in the way in some of them, ETHOS_CORRUPT when the history does not lead back, ETHOS_DENIED
 * when a note was moved to or from another scope: the others are done, unless storage fails. how->each is told of
 * those that stay. The archive stays. ETHOS_NOTFOUND: nothing to undo.
 */
int undo_all(struct ethos_turn *turn, const char *scope, const struct ethos_filter *filter,
             const struct ethos_sync_how *how, struct ethos_error *error);

/* The file of a change, by its number. ETHOS_NOTFOUND. */
int undo_find_number(struct ethos_turn *turn, const char *scope, uint64_t number,
                     char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* The newest change of a scope that stands and is no undo, whatever its file. ETHOS_NOTFOUND. */
int undo_newest(struct ethos_turn *turn, const char *scope, char out_key[ETHOS_MAX_KEY + 1],
                uint64_t *out_number, struct ethos_error *error);

#endif
