/*
 * fulltext.h: the full-text index of the schema, which others search. Private to src/session.
 */
#ifndef ETHOS_SESSION_SEARCH_FULLTEXT_H
#define ETHOS_SESSION_SEARCH_FULLTEXT_H

#include <stdbool.h>

#include <ethos/types.h>

struct db;

/*
 * Whether the index has every word of every message at its place, and no other. Only reads, so that it
 * keeps nobody from writing and works where nothing can be written. A damaged index does not agree.
 */
int fulltext_agrees(struct db *self, bool *out, struct ethos_error *error);

/* Makes it anew from the messages. */
int fulltext_rebuild(struct db *self, struct ethos_error *error);

#endif
