/*
 * builtin_sessions.c: the session backends that are linked into a program: SQLite.
 *
 * A program that defines these names itself, as NULL, is linked without the database: see main.c.
 */
#include "session/database_copy.h"
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = &sessions_sqlite;
const struct session_copier *const session_copier_builtin = &session_sqlite_copier;
