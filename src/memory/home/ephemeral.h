/*
 * ephemeral.h: a private directory for memory that is thrown away.
 */
#ifndef ETHOS_MEMORY_HOME_EPHEMERAL_H
#define ETHOS_MEMORY_HOME_EPHEMERAL_H

#include <ethos/types.h>

/* Makes $TMPDIR/ethos-ephemeral-XXXXXX (or /tmp), mode 0700. Free the path with free(). */
int ephemeral_make(char **out_path, struct ethos_error *error);

/* Removes the directory and everything in it; never follows a symbolic link. */
void ephemeral_remove(const char *path);

#endif
