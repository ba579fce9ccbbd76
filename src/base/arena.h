/*
 * arena.h: memory that lives as long as one request.
 *
 * Nothing is freed alone. NULL means no memory; callers check, as everywhere. Blocks are aligned
 * for any type and zeroed.
 */
#ifndef ETHOS_BASE_ARENA_H
#define ETHOS_BASE_ARENA_H

#include <ethos/types.h>

struct arena_block;

struct arena {
    struct arena_block *head;
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);

/* CLEANUP_ARENA struct arena a: released when its block is left. */
#define CLEANUP_ARENA __attribute__((cleanup(arena_release)))

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size); /* NULL on overflow too */

/*
 * Room for one more: the array, moved to twice the room when its count has reached *capacity (0: none
 * yet). What was outgrown stays until the end. NULL without memory, all as it was.
 */
void *arena_grow(struct arena *a, void *array, size_t count, size_t *capacity, size_t size);

char *arena_copy(struct arena *a, struct ethos_view v); /* terminated */
char *arena_str(struct arena *a, const char *string);   /* NULL gives NULL */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
