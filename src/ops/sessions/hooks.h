/*
 * hooks.h: what surfaces must know about hooks before they run one; the rest is the operation hooks.run.
 */
#ifndef ETHOS_OPS_SESSIONS_HOOKS_H
#define ETHOS_OPS_SESSIONS_HOOKS_H

#include <stdbool.h>

/* Whether an event of an agent is to be recorded, for which the session store is needed. */
bool op_hook_is_recorded(const char *agent, const char *event);

/* Whether a home (NULL: by the environment) has something for sessions.drain: mostly one system call. */
bool op_has_queued_hooks(const char *home);

#endif
