/*
 * sessions_builtin.c: programs that keep conversations in SQLite.
 *
 * A program that defines the name itself, as NULL, is linked without the database: see main.c.
 */
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = &sessions_sqlite;
