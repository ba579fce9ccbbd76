/*
 * scopes.h: the scopes that have a directory below a root.
 */
#ifndef ETHOS_MEMORY_SCOPES_H
#define ETHOS_MEMORY_SCOPES_H

#include <ethos/types.h>

/* dir: below the root, "." is the root itself. Return 0 to go on; other values end the walk. */
typedef int scopes_fn(void *arg, const char *scope, const char *dir);

/*
 * "global", then every personality, user, team and workspace, each as the directory lists them; trees of
 * the memory tool are not told. The walk's code, ETHOS_OK at its end; dir -1: there is nothing.
 */
int scopes_each(int root, scopes_fn *each, void *arg, struct ethos_error *error);

#endif
