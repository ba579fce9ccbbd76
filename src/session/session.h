/*
 * session.h: the session store built into the program, behind struct ethos_sessions_ops.
 */
#ifndef ETHOS_SESSION_SESSION_H
#define ETHOS_SESSION_SESSION_H

#include <ethos/session.h>

/*
 * <root>/sessions.db. Uses root, deadline_ms and ETHOS_SETUP_FAST of its setup. Nothing is opened before
 * the first call; the first write makes root and database, a reader without one finds nothing.
 */
extern const struct ethos_sessions_ops sessions_sqlite;

/* The store of this program, or NULL: it was linked without one. */
extern const struct ethos_sessions_ops *const sessions_builtin;

#endif
