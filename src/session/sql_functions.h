/*
 * sql_functions.h: SQL functions for our statements. Private to src/session.
 *
 *   new_id()            a UUID
 *   holds(text, part)   whether text contains part, ignoring case; false for NULL
 *   within(list, dir)   form_within
 *
 * Also disables functions that reach outside the database, for statements and for triggers of a
 * foreign database.
 */
#ifndef ETHOS_SESSION_SQL_FUNCTIONS_H
#define ETHOS_SESSION_SQL_FUNCTIONS_H

#include <sqlite3.h>

/* SQLITE_OK or an SQLite error. */
int functions_set(sqlite3 *connection);

#endif
