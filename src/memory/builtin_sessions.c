/*
 * builtin_sessions.c: programs that keep conversations in SQLite.
 *
 * A program that defines the names itself, as NULL, is linked without the database: see main.c.
 */
#include "session/database_copy.h"
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = &sessions_sqlite;
const struct session_copier *const session_copier_builtin = &session_sqlite_copier;
