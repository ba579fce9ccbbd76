/*
 * hooks.h: what surfaces need to know about hooks before they run the operation hooks.run.
 */
#ifndef ETHOS_OPS_SESSIONS_HOOKS_H
#define ETHOS_OPS_SESSIONS_HOOKS_H

#include <stdbool.h>

/* Whether an event of an agent is recorded, which needs the session store. */
bool op_hook_is_recorded(const char *agent, const char *event);

/* Whether a home (NULL: by the environment) has queued events for sessions.drain. Usually one system call. */
bool op_has_queued_hooks(const char *home);

#endif
