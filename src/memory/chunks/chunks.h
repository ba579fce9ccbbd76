/*
 * chunks.h: the entries of MEMORY.md and USER.md, addressed by ids (core/formats/chunks.h).
 *
 * An id names a text: "^name" is a block id; any other id is a hash of scope, file and text,
 * numbered if entries are equal. So changing an entry that no longer exists is a conflict and never
 * changes another one. Entries in memory-archive.md can be read and found, but not changed.
 */
#ifndef ETHOS_MEMORY_CHUNKS_CHUNKS_H
#define ETHOS_MEMORY_CHUNKS_CHUNKS_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/arena.h"

#define CHUNKS_ID_SIZE 96

enum chunk_store { CHUNK_MEMORY, CHUNK_USER };

struct memory_chunk {
    char id[CHUNKS_ID_SIZE];
    enum chunk_store store;
    const char *scope, *key;
    struct ethos_view content;
    struct ethos_view *path; /* headings, outermost first */
    size_t depth;
    size_t line;
    bool archived;
    char revision[ETHOS_REVISION_SIZE]; /* of its text */
    const char *source;                 /* of the change that wrote it; NULL: unknown */
    int64_t created_ms;                 /* or -1 */
    double score, similarity;           /* of a search; a negative similarity is unknown */
};

/* Release always. Strings are in the arena. */
struct memory_chunks {
    struct arena arena;
    struct memory_chunk *rows;
    size_t count, capacity;
    int code; /* why a search was incomplete, or ETHOS_OK */
    struct ethos_error error;
};

void memory_chunks_init(struct memory_chunks *self);
void memory_chunks_release(struct memory_chunks *self);

/* All entries of a store in file order; with `archived` those of the archive come first. */
int memory_chunks_list(struct ethos_turn *turn, enum chunk_store store, bool archived,
                       struct memory_chunks *out, struct ethos_error *error);

/* Fills in source and created_ms of rows from the history; returns why it cannot be read. */
int memory_chunks_blame(struct ethos_turn *turn, struct memory_chunks *chunks, size_t first,
                        size_t count, struct ethos_error *error);

/* Adds the entry with this id. ETHOS_NOTFOUND. */
int memory_chunks_get(struct ethos_turn *turn, const char *id, struct memory_chunks *out,
                      struct ethos_error *error);

/* The best entries for a question, best first, at most `most`. */
struct memory_chunks_ask {
    struct ethos_view query;
    enum chunk_store store;
    bool archived;
    unsigned most;
};
int memory_chunks_search(struct ethos_turn *turn, const struct memory_chunks_ask *ask,
                         struct memory_chunks *out, struct ethos_error *error);

/* ---- changing -------------------------------------------------------------------------------- */

/* A change of one entry. */
struct memory_chunk_change {
    const char *id;            /* of the entry; NULL: add one */
    struct ethos_view content; /* absent: delete the entry */
    enum chunk_store store;    /* of an added one */
    struct ethos_view under;   /* likewise: a heading */
    struct ethos_view block;   /* likewise: a block id */
    const char *if_revision;   /* of the entry; required with a block id */
};

/*
 * *out has the entry after the change, none if it was deleted. ETHOS_CONFLICT if the entry that a
 * hash names does not exist or has another revision: *out then has the nearest entry, if any.
 * ETHOS_NOTFOUND if a block id does not exist, ETHOS_INVALID if the content cannot be an entry.
 */
int memory_chunk_apply(struct ethos_turn *turn, const struct memory_chunk_change *change,
                       const struct ethos_sync_how *how, struct memory_chunks *out,
                       struct ethos_error *error);

#endif
