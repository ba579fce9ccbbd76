/*
 * chunks.h: the entries of MEMORY.md and USER.md as things of their own (core/formats/chunks.h), with ids.
 *
 * An id says which text was meant: "^name" of a block id, else a hash of scope, file and text; equal entries are
 * numbered. So a change of an entry that is not there any more is a conflict, and never a change of another. Entries that
 * went to memory-archive.md can be read and found, and are not changed.
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
    struct ethos_view *path; /* headings from the top */
    size_t depth;
    size_t line;
    bool archived;
    char revision[ETHOS_REVISION_SIZE]; /* of its text */
    const char *source;                 /* of the change that wrote it; NULL: unknown */
    int64_t created_ms;                 /* or -1 */
    double score, similarity;           /* of a search; similarity below 0: unknown */
};

/* Release always. Strings are in the arena. */
struct memory_chunks {
    struct arena arena;
    struct memory_chunk *rows;
    size_t count, capacity;
    int code; /* why a search could not read everything, or ETHOS_OK */
    struct ethos_error error;
};

void memory_chunks_init(struct memory_chunks *self);
void memory_chunks_release(struct memory_chunks *self);

/* All entries of a store in the order of the file, with `archived` those of the archive before them. */
int memory_chunks_list(struct ethos_turn *turn, enum chunk_store store, bool archived,
                       struct memory_chunks *out, struct ethos_error *error);

/* Fills in source and created_ms of rows, as far as the history tells; why it cannot be read. */
int memory_chunks_blame(struct ethos_turn *turn, struct memory_chunks *chunks, size_t first,
                        size_t count, struct ethos_error *error);

/* Adds the entry with this id. ETHOS_NOTFOUND. */
int memory_chunks_get(struct ethos_turn *turn, const char *id, struct memory_chunks *out,
                      struct ethos_error *error);

/* The entries that answer a question, best first, at most `most`. */
struct memory_chunks_ask {
    struct ethos_view query;
    enum chunk_store store;
    bool archived;
    unsigned most;
};
int memory_chunks_search(struct ethos_turn *turn, const struct memory_chunks_ask *ask,
                         struct memory_chunks *out, struct ethos_error *error);

/* ---- changing -------------------------------------------------------------------------------- */

/* What is to be done with one entry. */
struct memory_chunk_change {
    const char *id;            /* of the entry; NULL: a new one */
    struct ethos_view content; /* absent: it is deleted */
    enum chunk_store store;    /* of a new one */
    struct ethos_view under;   /* the same: a heading */
    struct ethos_view block;   /* the same: a block id */
    const char *if_revision;   /* of the entry; with a block id it must be given */
};

/*
 * *out has the entry as it is then, none when it was deleted. ETHOS_CONFLICT when the entry that a hash names is not
 * there, or has another revision: *out then has the nearest entry, if any. ETHOS_NOTFOUND for a block id that is not
 * there, ETHOS_INVALID for what cannot be an entry.
 */
int memory_chunk_apply(struct ethos_turn *turn, const struct memory_chunk_change *change,
                       const struct ethos_sync_how *how, struct memory_chunks *out,
                       struct ethos_error *error);

#endif
