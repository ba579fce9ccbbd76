/*
 * arena.h: memory that is freed all at once, at the end of a request.
 *
 * NULL means out of memory; callers check. Blocks are aligned for any type and zeroed.
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

/* CLEANUP_ARENA struct arena a: released at the end of its block. */
#define CLEANUP_ARENA __attribute__((cleanup(arena_release)))

void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size); /* also NULL on overflow */

/*
 * Room for one more element: returns the array, moved to twice the room if count has reached
 * *capacity (0: none yet). The old array stays until the end. NULL if out of memory, with nothing
 * changed.
 */
void *arena_grow(struct arena *a, void *array, size_t count, size_t *capacity, size_t size);

char *arena_copy(struct arena *a, struct ethos_view v); /* terminated */
char *arena_str(struct arena *a, const char *string);   /* NULL gives NULL */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
