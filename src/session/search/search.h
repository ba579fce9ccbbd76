/*
 * search.h: searches messages. Private to src/session.
 *
 * The result is always that of core/search/query over the current messages: an index beside the
 * database proposes messages, and each is read and checked before it is shown. If there are more
 * than SEARCH_RANKED matches, the newest are ranked.
 */
#ifndef ETHOS_SESSION_SEARCH_SEARCH_H
#define ETHOS_SESSION_SEARCH_SEARCH_H

#include <stdbool.h>

#include <ethos/session.h>

#include "core/sessions/search_hits.h"

struct db;

/* As the search of struct ethos_sessions_ops. Without a database there are no matches. */
int search_run(struct db *self, const struct ethos_search *search, ethos_hit_fn *each, void *arg,
               struct ethos_error *error);

/*
 * Compares the whole index with the messages, as after an import or a repair; creates it if
 * missing. ETHOS_NOTFOUND without a database.
 */
int search_catch_up(struct db *self, struct ethos_error *error);

/*
 * Adds new messages to the index, and compares as much as a search would: a few lookups if nothing
 * is new. Does nothing if no file can be written. ETHOS_NOTFOUND without a database.
 */
int search_settle(struct db *self, struct ethos_error *error);

/* The result of search_check: all zero if the index is correct or does not exist. */
struct search_state {
    bool damaged;
    uint64_t edited; /* messages that have changed since they were indexed */
};

/*
 * Compares the whole index with the messages; writes only to fix what it found. An index that is
 * only behind is not wrong: the next search updates it.
 */
int search_check(struct db *self, bool fix, struct search_state *out, struct ethos_error *error);

/* Deletes the index with all its words; the next search rebuilds it. */
int search_discard(struct db *self, struct ethos_error *error);

/* Frees self->search, if there is one. The connection is still open. */
void search_close(struct db *self);

#endif
