/*
 * ephemeral.h: the temporary directory of ephemeral memory.
 */
#ifndef ETHOS_MEMORY_HOME_EPHEMERAL_H
#define ETHOS_MEMORY_HOME_EPHEMERAL_H

#include <ethos/types.h>

/* Creates $TMPDIR/ethos-ephemeral-XXXXXX (or /tmp), mode 0700. Free the path with free(). */
int ephemeral_make(char **out_path, struct ethos_error *error);

/* Removes the directory and its contents; never follows a symbolic link. */
void ephemeral_remove(const char *path);

#endif
