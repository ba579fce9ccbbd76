/*
 * schema.h: the tables of sessions.db. Private to src/session.
 *
 * The schema belongs to the memory format; other programs open the same file. What is missing of it is
 * added, what is there besides stays, and the version is never raised.
 */
#ifndef ETHOS_SESSION_SCHEMA_H
#define ETHOS_SESSION_SCHEMA_H

#include <stdbool.h>

#include <ethos/types.h>

struct db;

/* ETHOS_UNSUPPORTED for a newer version; *out_whole: nothing is missing. */
int schema_look(struct db *self, bool *out_whole, struct ethos_error *error);

/* Makes what is missing, in the transaction that the caller began. */
int schema_make(struct db *self, struct ethos_error *error);

#endif
