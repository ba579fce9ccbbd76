/*
 * chunks_internal.h: reading the entries of a file. Private to src/memory/chunks.
 */
#ifndef ETHOS_MEMORY_CHUNKS_CHUNKS_INTERNAL_H
#define ETHOS_MEMORY_CHUNKS_CHUNKS_INTERNAL_H

#include "core/formats/chunks.h"
#include "memory/chunks/chunks.h"

/* A file of entries; scope and key live as long as the turn. */
struct chunk_place {
    enum chunk_store store;
    const char *scope, *key;
    bool archived;
};

struct chunk_place chunk_place_of(const struct ethos_turn *turn, enum chunk_store store,
                                  bool archived);

/* A parsed id. */
struct chunk_id {
    char hash[CHUNK_ID_SIZE]; /* "": it names a block */
    struct ethos_view block;
    size_t number; /* number among equal ones, from 1 */
};

/* ETHOS_NOTFOUND if no entry can have this id. */
int chunk_id_parse(const char *id, struct chunk_id *out, struct ethos_error *error);

/* Adds every entry of a text. ETHOS_OK or ETHOS_NOMEM. */
int chunks_add_text(struct memory_chunks *self, const struct chunk_place *place,
                    struct ethos_view text);

/* Finds the entry with an id in a text, as a row and as a chunk; *out_found false: not found. */
int chunks_find_text(struct memory_chunks *self, const struct chunk_place *place,
                     struct ethos_view text, const struct chunk_id *id, struct chunk *out,
                     bool *out_found);

/* Adds the entry at an offset. */
int chunks_add_at(struct memory_chunks *self, const struct chunk_place *place,
                  struct ethos_view text, size_t offset);

/*
 * Adds the entry of a text that is most similar to `content`; line breaks ties. Adds none without a
 * common word.
 */
int chunks_add_nearest(struct memory_chunks *self, const struct chunk_place *place,
                       struct ethos_view text, struct ethos_view content, size_t line);

/* The text of a file, in the arena; data NULL: it does not exist. */
int chunks_read(struct ethos_turn *turn, const struct chunk_place *place, struct arena *arena,
                struct ethos_view *out, struct ethos_error *error);

#endif
