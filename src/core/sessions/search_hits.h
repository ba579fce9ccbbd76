/*
 * search_hits.h: what is the same of every search in conversations, wherever they are kept: what is
 * asked, what fits, and what is shown of it.
 */
#ifndef ETHOS_CORE_SESSIONS_SEARCH_HITS_H
#define ETHOS_CORE_SESSIONS_SEARCH_HITS_H

#include <ethos/session.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/search/query.h"

#define SEARCH_RANKED 2000 /* hits, the newest; and the most that one search shows */
#define SEARCH_LIMIT 20    /* when none is given */

/* One search: what is asked, understood; and what was shown so far. */
struct search_show {
    const struct ethos_search *search;
    struct query query;
    int64_t since, until; /* ms, inclusive */
    size_t limit;         /* 1 to SEARCH_RANKED */
    struct arena arena;   /* for whatever the search needs until its end */
    ethos_hit_fn *each;
    void *arg;
    int stopped;     /* what the callback returned */
    struct str safe; /* of the message at hand, when guarded */
    char **shown;    /* ids */
    size_t shown_count, shown_capacity;
};

/* ETHOS_INVALID for a time that is none. To be ended in any case. */
int search_show_begin(struct search_show *self, const struct ethos_search *search, int64_t now_ms,
                      ethos_hit_fn *each, void *arg, struct ethos_error *error);

/* What the search returns, which came so far with this code. */
int search_show_end(struct search_show *self, int code);

/* Enough was shown, or the callback has stopped it. */
bool search_show_full(const struct search_show *self);

/*
 * Shows a message, unless it was, or does not fit the words. Of a guarded search it becomes what a
 * model may read of it.
 */
int search_show(struct search_show *self, struct ethos_message *message,
                const struct ethos_session *session, struct ethos_error *error);

#endif
