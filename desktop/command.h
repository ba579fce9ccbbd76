/*
 * command.h: the program ethos: beside this one, else in the PATH.
 */
#ifndef DESKTOP_COMMAND_H
#define DESKTOP_COMMAND_H

#include <gio/gio.h>

/* Runs it for a home (NULL: the usual one); words end with NULL. NULL and an error. */
GSubprocess *command_start(const char *home, GSubprocessFlags flags, const char *const words[],
                           GError **error);

#endif
