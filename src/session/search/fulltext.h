/*
 * fulltext.h: the full-text index of the schema, which other programs search. Private to
 * src/session.
 */
#ifndef ETHOS_SESSION_SEARCH_FULLTEXT_H
#define ETHOS_SESSION_SEARCH_FULLTEXT_H

#include <stdbool.h>

#include <ethos/types.h>

struct db;

/*
 * Whether the index contains exactly the words of all messages at their positions. Only reads, so
 * it blocks no writer and works where nothing can be written. False for a damaged index.
 */
int fulltext_agrees(struct db *self, bool *out, struct ethos_error *error);

/* Rebuilds it from the messages. */
int fulltext_rebuild(struct db *self, struct ethos_error *error);

#endif
