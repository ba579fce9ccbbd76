/*
 * search_hits.h: searching conversations in any store: the query, the messages that match, and what
 * is shown of them.
 */
#ifndef ETHOS_CORE_SESSIONS_SEARCH_HITS_H
#define ETHOS_CORE_SESSIONS_SEARCH_HITS_H

#include <ethos/session.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/search/query.h"

#define SEARCH_RANKED 2000 /* newest matches; also the most that one search shows */
#define SEARCH_LIMIT 20    /* when none is given */

/* One search: the parsed query, and what was shown so far. */
struct search_show {
    const struct ethos_search *search;
    struct query query;
    int64_t since, until; /* ms, inclusive */
    size_t limit;         /* 1 to SEARCH_RANKED */
    struct arena arena;   /* for anything the search needs until its end */
    ethos_hit_fn *each;
    void *arg;
    int stopped;     /* what the callback returned */
    struct str safe; /* of the current message, if guarded */
    char **shown;    /* ids */
    size_t shown_count, shown_capacity;
};

/* ETHOS_INVALID for an invalid time. search_show_end must be called in any case. */
int search_show_begin(struct search_show *self, const struct ethos_search *search, int64_t now_ms,
                      ethos_hit_fn *each, void *arg, struct ethos_error *error);

/* Ends the search, which stopped with this code; returns the search's result. */
int search_show_end(struct search_show *self, int code);

/* Whether enough was shown or the callback stopped it. */
bool search_show_full(const struct search_show *self);

/*
 * Shows a message, unless it was shown already or does not match. In a guarded search it is reduced
 * to what a model may read.
 */
int search_show(struct search_show *self, struct ethos_message *message,
                const struct ethos_session *session, struct ethos_error *error);

#endif
