/*
 * installed.h: where the files lie that were installed together with this program or library.
 *
 * For a program <prefix>/bin/x or <prefix>/libexec/x that is <prefix>; for a library, the folder it is in and those
 * above it.
 */
#ifndef ETHOS_BASE_SYSTEM_INSTALLED_H
#define ETHOS_BASE_SYSTEM_INSTALLED_H

#include <limits.h>

#include <ethos/types.h>

/* <prefix>/lib/<name>, or <name> beside the library. */
int installed_lib(const char *name, char out[PATH_MAX], struct ethos_error *error);

/* <prefix>/share/<name>, a file or folder that is there. ETHOS_NOTFOUND when it is not. */
int installed_share(const char *name, char out[PATH_MAX], struct ethos_error *error);

#endif
