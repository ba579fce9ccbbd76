/*
 * restore_archived.h: bringing back what was taken out of a file by name and kept in memory-archive.md.
 */
#ifndef ETHOS_MEMORY_HISTORY_RESTORE_ARCHIVED_H
#define ETHOS_MEMORY_HISTORY_RESTORE_ARCHIVED_H

#include <ethos/ethos.h>

/*
 * Adds the newest block of a slug to the file it came from, as a section of that name, and takes it out of
 * the archive, both or neither. scope as in struct ethos_update; NULL: that of MEMORY.md. ETHOS_NOTFOUND.
 */
int archived_restore(struct ethos_turn *turn, const char *scope, const char *slug,
                     const struct ethos_sync_how *how, struct ethos_error *error);

#endif
