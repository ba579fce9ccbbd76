/*
 * profile_merge.h: two profiles of one person become one.
 */
#ifndef ETHOS_CORE_MEMORY_PROFILE_MERGE_H
#define ETHOS_CORE_MEMORY_PROFILE_MERGE_H

#include <ethos/types.h>

struct str;

/*
 * Appends the lines of one text that the other lacks, in order, each once; blank lines are left out.
 * Space at the end of a line does not count. *out_count: how many. ETHOS_NOMEM.
 */
int profile_missing(struct ethos_view from, struct ethos_view into, struct str *out,
                    size_t *out_count);

#endif
