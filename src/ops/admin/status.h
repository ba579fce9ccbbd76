/*
 * status.h: what the command line asks before it shows the status by itself.
 */
#ifndef ETHOS_OPS_ADMIN_STATUS_H
#define ETHOS_OPS_ADMIN_STATUS_H

#include <stdbool.h>

/* Whether there is a home (NULL: by the environment). */
bool op_home_exists(const char *home);

#endif
