/*
 * schema.h: the tables of sessions.db. Private to src/session.
 *
 * The schema belongs to the memory format; other programs open the same file. What is missing of it is
 * added, what is there besides stays, and the version is never raised.
 */
#ifndef ETHOS_SESSION_SCHEMA_H
#define ETHOS_SESSION_SCHEMA_H

#include <ethos/types.h>

struct db;

enum schema_state {
    SCHEMA_NONE,  /* there are no sessions or no messages */
    SCHEMA_PART,  /* other tables, indexes or triggers are missing */
    SCHEMA_OLD,   /* only columns are missing that came later */
    SCHEMA_WHOLE, /* nothing is missing */
};

/* ETHOS_UNSUPPORTED for a version that is not ours. */
int schema_look(struct db *self, enum schema_state *out, struct ethos_error *error);

/*
 * Lets statements that read find the columns that are missing, empty: by views of this connection in front
 * of the tables. Nothing is written; schema_make takes them away.
 */
int schema_stand_in(struct db *self, struct ethos_error *error);

/* Makes what is missing, in the transaction that the caller began. */
int schema_make(struct db *self, struct ethos_error *error);

#endif
