/*
 * installed.h: the folders of the installation that this program or library belongs to.
 *
 * For a program <prefix>/bin/x or <prefix>/libexec/x that is <prefix>; for a library, the folder it
 * is in and those above it.
 */
#ifndef ETHOS_BASE_SYSTEM_INSTALLED_H
#define ETHOS_BASE_SYSTEM_INSTALLED_H

#include <limits.h>

#include <ethos/types.h>

/* <prefix>/lib/<name>, or <name> next to the library. */
int installed_lib(const char *name, char out[PATH_MAX], struct ethos_error *error);

/* <prefix>/share/<name>, an existing file or folder. ETHOS_NOTFOUND otherwise. */
int installed_share(const char *name, char out[PATH_MAX], struct ethos_error *error);

#endif
