/*
 * add.h: messages into the index. Private to src/session/search/.
 *
 *     adder_begin(&adder, index, error);
 *     adder_message(&adder, ...); ...
 *     adder_end(&adder, code, error);
 *
 * All within one write of the index. Words are gathered in memory and written when a shard is full,
 * when there are many of them, and at the end: then each is looked up once for all messages that
 * have it.
 */
#ifndef ETHOS_SESSION_SEARCH_ADD_H
#define ETHOS_SESSION_SEARCH_ADD_H

#include "base/arena.h"
#include "session/search/index.h"

struct adder_term;

struct adder {
    struct search_index *index;
    struct index_shard shard;
    struct index_block block; /* the last of the shard */
    bool dirty;               /* and not written as it is */
    struct arena arena;
    struct adder_term **slots; /* by hash, a power of two of them */
    size_t slot_count, term_count;
    size_t bytes;    /* of texts that were taken since the last writing */
    uint32_t doc;    /* the message that is being taken, within its shard */
    uint32_t places; /* words of it so far */
};

/* What the index wants to know of a message. */
struct adder_message {
    int64_t row;
    const char *id, *session, *role, *timestamp;
    struct ethos_view content;
    int64_t size; /* words, as FTS5 counts them */
};

int adder_begin(struct adder *self, struct search_index *index, struct ethos_error *error);
int adder_message(struct adder *self, const struct adder_message *message,
                  struct ethos_error *error);
int adder_end(struct adder *self, int code, struct ethos_error *error);

/* The columns of ASK_NEWER and ASK_MESSAGE; the size is left alone. */
void adder_row(sqlite3_stmt *statement, struct adder_message *out);

/* What tells an edited message from the one that was indexed: of all that the index knows of it. */
int64_t adder_sum(const struct adder_message *message);

#endif
