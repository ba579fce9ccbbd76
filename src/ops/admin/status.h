/*
 * status.h: whether there is a home, for `ethos` without arguments.
 */
#ifndef ETHOS_OPS_ADMIN_STATUS_H
#define ETHOS_OPS_ADMIN_STATUS_H

#include <stdbool.h>

/* Whether the home (NULL: that of the environment) exists. */
bool op_home_exists(const char *home);

#endif
