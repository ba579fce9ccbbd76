/*
 * conflict_name.h: the name of a conflict copy.
 */
#ifndef ETHOS_CORE_MEMORY_CONFLICT_NAME_H
#define ETHOS_CORE_MEMORY_CONFLICT_NAME_H

#include <ethos/limits.h>
#include <ethos/types.h>

#define CONFLICT_FOLDER ".mem/conflicts"        /* in the folder of the file */
#define CONFLICT_NAME_SIZE (ETHOS_MAX_KEY + 32) /* bytes with terminator */

/*
 * "<key>.<UTC>.<sha8>.md", with slashes replaced, such as MEMORY.md.20261115T080000Z.1a2b3c4d.md.
 */
void conflict_name(const char *key, int64_t time_ms, struct ethos_view text,
                   char out[CONFLICT_NAME_SIZE]);

#endif
