/*
 * found_chunks.h: in the mode vector, the entries of MEMORY.md and its archive that fit the question of a turn.
 *
 *     ## Memory
 *
 *     [Home > Kitchen]
 *     - The oven is hot.
 *
 *     - We deploy on Fridays
 *
 *     [...truncated: 81920 earlier bytes of MEMORY.md]
 *
 *     - what was said last
 *
 * They are chosen by rank and shown newest first, each under its headings; none that the newest entries of the section
 * have already. Where a block must begin as it did for the question before, they stand in the section Recalled instead.
 */
#ifndef ETHOS_MEMORY_PREFETCH_FOUND_CHUNKS_H
#define ETHOS_MEMORY_PREFETCH_FOUND_CHUNKS_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/memory/render.h"

struct recall_hit;

struct found_chunk {
    struct ethos_view text; /* as it is shown, headings included */
    bool archived;
    uint64_t line;
};

/* Room that is left. */
struct chunk_room {
    unsigned count;
    uint64_t chars; /* CH */
    uint64_t bytes; /* UINT64_MAX: any */
};

/* Release always. */
struct found_chunks {
    struct arena arena;
    struct chunk_room room;
    struct found_chunk *rows;
    size_t count, capacity;
    uint64_t left_out; /* that fitted the question, and not the room */
    struct heading_list *headings;
};

/* How much of it the block with this text has room for. */
void found_chunks_init(struct found_chunks *self, struct chunk_room room);
void found_chunks_release(struct found_chunks *self);

/* Whether a hit is such an entry. */
bool found_chunks_has(const struct ethos_turn *turn, const struct recall_hit *hit);

/* Takes a hit while there is room; *out_taken says whether. ETHOS_OK or ETHOS_NOMEM. */
int found_chunks_add(struct found_chunks *self, const struct recall_hit *hit, bool *out_taken);

/* Puts them into the section of a block; *out_size: how many bytes longer it is. ETHOS_OK or ETHOS_NOMEM. */
int found_chunks_place(struct found_chunks *self, struct str *text, struct render_result *result,
                       size_t *out_size);

#endif
