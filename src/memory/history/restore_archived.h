/*
 * restore_archived.h: restores entries that were removed by name and archived in memory-archive.md.
 */
#ifndef ETHOS_MEMORY_HISTORY_RESTORE_ARCHIVED_H
#define ETHOS_MEMORY_HISTORY_RESTORE_ARCHIVED_H

#include <ethos/ethos.h>

/*
 * Adds the newest block with a slug to the file it came from, as a section with that name, and
 * removes it from the archive, both or neither. scope as in struct ethos_update; NULL: that of
 * MEMORY.md. ETHOS_NOTFOUND if there is none.
 */
int archived_restore(struct ethos_turn *turn, const char *scope, const char *slug,
                     const struct ethos_sync_how *how, struct ethos_error *error);

#endif
