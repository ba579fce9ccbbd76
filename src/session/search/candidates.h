/*
 * candidates.h: finds the messages that may match a query. Private to src/session/search/.
 *
 * Proposes every message that core/search/query would match, and few others. Reads shards from the
 * newest on, and only as many as are needed for the newest SEARCH_RANKED messages.
 */
#ifndef ETHOS_SESSION_SEARCH_CANDIDATES_H
#define ETHOS_SESSION_SEARCH_CANDIDATES_H

#include "base/arena.h"
#include "core/search/query.h"
#include "session/owners.h"
#include "session/search/index.h"

#define FIND_WORDS (INDEX_SHARD / 64)

/* Messages of a shard. */
struct find_set {
    uint64_t bits[FIND_WORDS];
};

/* Positions of a word in a shard: number of the message << 32 | position in it. */
struct find_places {
    uint64_t *at;
    size_t count, capacity;
    bool unsorted;
};

/* How well a message matches the query. */
#define FIND_WHOLE 1 /* contains all words or their stems adjacent, in the order of the query */
#define FIND_EXACT 2 /* contains the quoted text exactly */
#define FIND_BEST (FIND_WHOLE | FIND_EXACT)

/* A message that may match. */
struct candidate_message {
    int64_t doc, time;
    double score;
    uint32_t words;
    unsigned rank;         /* FIND_* */
    const uint8_t *counts; /* counts of its terms, up to 255 */
};

struct candidate_search {
    struct search_index *index;
    struct arena *arena;
    const struct query *query;
    const char *session, *role;
    const char **folder; /* ids of sessions, sorted, or NULL: any */
    size_t folder_count;
    const struct people_set *people; /* whose sessions */
    int64_t since, until;            /* ms */
    bool best;                       /* only those of FIND_BEST, where that is cheap to determine */

    struct candidate_message *found; /* newest first, then by score */
    size_t found_count, found_capacity;
    size_t best_count; /* of FIND_BEST */
    bool more;         /* there are older ones */

    /* Over the shards that were read, for scores. */
    uint64_t asked[QUERY_MAX_TERMS], having[QUERY_MAX_TERMS], docs, words;

    /* Scratch space for one shard. */
    struct index_shard *shards; /* newest first */
    size_t shard_count, shard_capacity;
    int64_t shard;
    struct find_set set, part, other, whole, exact;
    unsigned rows_sought; /* shards in which neighbours were looked for, when best */
    uint8_t (*counts)[INDEX_SHARD], *again, *counting;
    struct index_block block;
    struct find_places places[2];
};

/* Reads the list of shards. The members up to best are set by the caller. */
int find_begin(struct candidate_search *self, struct ethos_error *error);

/* A second search for the best alone; shares what find_begin read. */
void find_best_of(const struct candidate_search *self, struct candidate_search *out);

/* The newest SEARCH_RANKED messages older than (time, doc), scored; newest first. */
int find_next(struct candidate_search *self, int64_t time, int64_t doc, struct ethos_error *error);

#endif
