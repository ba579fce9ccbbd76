/*
 * profile_merge.h: merges two profiles of one person.
 */
#ifndef ETHOS_CORE_MEMORY_PROFILE_MERGE_H
#define ETHOS_CORE_MEMORY_PROFILE_MERGE_H

#include <ethos/types.h>

struct str;

/*
 * Appends the lines of `from` that `into` does not have, in order and without duplicates or blank
 * lines. Spaces at the end of a line are ignored. *out_count: the number of lines. ETHOS_NOMEM.
 */
int profile_missing(struct ethos_view from, struct ethos_view into, struct str *out,
                    size_t *out_count);

#endif
