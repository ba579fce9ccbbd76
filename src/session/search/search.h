/*
 * search.h: which messages fit a query. Private to src/session.
 *
 * The answer is always that of core/search/query over the messages as they are: an index beside the
 * database proposes, and every message is read and asked before it is shown. Above SEARCH_RANKED
 * hits the newest of them are ranked.
 */
#ifndef ETHOS_SESSION_SEARCH_SEARCH_H
#define ETHOS_SESSION_SEARCH_SEARCH_H

#include <stdbool.h>

#include <ethos/session.h>

#include "core/sessions/search_hits.h"

struct db;

/* As the search of struct ethos_sessions_ops. Without a database nothing fits. */
int search_run(struct db *self, const struct ethos_search *search, ethos_hit_fn *each, void *arg,
               struct ethos_error *error);

/*
 * Compares the whole index with the messages, as after an import or a repair; makes it when
 * missing. ETHOS_NOTFOUND without a database.
 */
int search_catch_up(struct db *self, struct ethos_error *error);

/*
 * Adds what is new to the index, and compares no more than a search would: a few lookups when there
 * is nothing. Where no file can be written, nothing is done. ETHOS_NOTFOUND without a database.
 */
int search_settle(struct db *self, struct ethos_error *error);

/* What search_check found: all zero when the index is right, or not there. */
struct search_state {
    bool damaged;
    uint64_t edited; /* messages that read otherwise than when they were indexed */
};

/*
 * Compares the whole index with the messages and writes nothing, unless to fix what it found. That it
 * lags behind is not wrong: the next search catches up.
 */
int search_check(struct db *self, bool fix, struct search_state *out, struct ethos_error *error);

/* Takes the index away, with all its words; the next search rebuilds it. */
int search_discard(struct db *self, struct ethos_error *error);

/* Gives back self->search, when there is one. The connection is still open. */
void search_close(struct db *self);

#endif
