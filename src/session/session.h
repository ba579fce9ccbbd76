/*
 * session.h: the session store built into the program, behind struct ethos_sessions_ops.
 */
#ifndef ETHOS_SESSION_SESSION_H
#define ETHOS_SESSION_SESSION_H

#include <ethos/session.h>

/*
 * <root>/sessions.db. Uses root, deadline_ms and ETHOS_SETUP_FAST of its setup. Opens nothing
 * before the first call; the first write creates root and database, and without one a reader finds
 * nothing.
 */
extern const struct ethos_sessions_ops sessions_sqlite;

/* NULL in a program linked without the store. */
extern const struct ethos_sessions_ops *const sessions_builtin;

#endif
