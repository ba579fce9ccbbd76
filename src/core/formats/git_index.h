/*
 * git_index.h: reads the file names in a git index (.git/index), versions 2 to 4. Pure.
 */
#ifndef ETHOS_CORE_FORMATS_GIT_INDEX_H
#define ETHOS_CORE_FORMATS_GIT_INDEX_H

#include <ethos/types.h>

#define GIT_MAX_NAME 4096 /* bytes of a name, with its terminator */

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int git_index_fn(void *arg, const char *name);

/* Reads every name in order, except those that are too long. ETHOS_CORRUPT if it is not an index. */
int git_index_names(struct ethos_view index, git_index_fn *each, void *arg);

#endif
