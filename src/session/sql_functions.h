/*
 * sql_functions.h: functions of ours that statements call. Private to src/session.
 *
 *   new_id()            a UUID
 *   holds(text, part)   whether part is in text, case ignored; NULL holds nothing
 *   within(list, dir)   form_within
 *
 * And what no statement may call, nor the triggers of a foreign database: functions that reach outside it.
 */
#ifndef ETHOS_SESSION_SQL_FUNCTIONS_H
#define ETHOS_SESSION_SQL_FUNCTIONS_H

#include <sqlite3.h>

/* SQLITE_OK or an SQLite error. */
int functions_set(sqlite3 *connection);

#endif
