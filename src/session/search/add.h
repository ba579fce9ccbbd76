/*
 * add.h: adds messages to the index. Private to src/session/search/.
 *
 *     adder_begin(&adder, index, error);
 *     adder_message(&adder, ...); ...
 *     adder_end(&adder, code, error);
 *
 * All within one write of the index. Words are collected in memory and written when a shard is
 * full, when there are many, and at the end, so that each is looked up once for all its messages.
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
    bool dirty;               /* changed since it was read */
    struct arena arena;
    struct adder_term **slots; /* hash table; its size is a power of two */
    size_t slot_count, term_count;
    size_t bytes;    /* of texts added since the last write */
    uint32_t doc;    /* number of the current message in its shard */
    uint32_t places; /* its words so far */
};

/* The indexed columns of a message. */
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

/* A checksum of everything that is indexed of a message, to detect edits. */
int64_t adder_sum(const struct adder_message *message);

#endif
