/*
 * schema.h: the tables of sessions.db. Private to src/session.
 *
 * The schema belongs to the memory format; other programs open the same file. Missing parts are
 * added, additional ones stay, and the version is never raised.
 */
#ifndef ETHOS_SESSION_SCHEMA_H
#define ETHOS_SESSION_SCHEMA_H

#include <ethos/types.h>

struct db;

enum schema_state {
    SCHEMA_NONE,  /* there are no sessions or no messages */
    SCHEMA_PART,  /* other tables, indexes or triggers are missing */
    SCHEMA_OLD,   /* only newer columns are missing */
    SCHEMA_WHOLE, /* nothing is missing */
};

/* ETHOS_UNSUPPORTED for a version that is not ours. */
int schema_look(struct db *self, enum schema_state *out, struct ethos_error *error);

/*
 * Lets reading statements find missing columns as empty: by temporary views of this connection.
 * Nothing is written; schema_make drops the views.
 */
int schema_stand_in(struct db *self, struct ethos_error *error);

/* Creates what is missing, in the caller's transaction. */
int schema_make(struct db *self, struct ethos_error *error);

#endif
