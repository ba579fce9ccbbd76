/*
 * undo.h: reverts changes in every file of a scope. For one file, use ethos_undo.
 */
#ifndef ETHOS_MEMORY_HISTORY_UNDO_H
#define ETHOS_MEMORY_HISTORY_UNDO_H

#include <ethos/ethos.h>

/*
 * Does what ethos_undo does for each key that ever changed in the scope (an id), including deleted
 * ones. The filter must not be empty, else ETHOS_INVALID. Each key is written separately.
 * ETHOS_CONFLICT if later changes overlap in some of them, ETHOS_CORRUPT if the history does not
 * lead back, ETHOS_DENIED if a note was moved to or from another scope: the others are undone,
 * unless storage fails. Keys that stay are reported to how->each. The archive stays.
 * ETHOS_NOTFOUND: nothing to undo.
 */
int undo_all(struct ethos_turn *turn, const char *scope, const struct ethos_filter *filter,
             const struct ethos_sync_how *how, struct ethos_error *error);

/* The file of a change, by its number. ETHOS_NOTFOUND. */
int undo_find_number(struct ethos_turn *turn, const char *scope, uint64_t number,
                     char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* The newest change of a scope that is neither undone nor an undo, of any file. ETHOS_NOTFOUND. */
int undo_newest(struct ethos_turn *turn, const char *scope, char out_key[ETHOS_MAX_KEY + 1],
                uint64_t *out_number, struct ethos_error *error);

#endif
