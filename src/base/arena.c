/*
 * arena.c: blocks in a list, the one in use at the head.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"

#define BLOCK_BYTES 4064                  /* usable bytes of an ordinary block */
#define OWN_BLOCK_BYTES (BLOCK_BYTES / 4) /* requests above this get a block of their own */

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    _Alignas(max_align_t) char data[];
};

void arena_init(struct arena *a)
{
    a->head = NULL;
}

void arena_release(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;

        free(a->head);
        a->head = next;
    }
}

/* Links a zeroed block in: at the head, or behind it when `own` fills it at once. */
static struct arena_block *add_arena_block(struct arena *a, size_t size, bool own)
{
    struct arena_block *block = calloc(1, sizeof(*block) + size);

    if (!block)
        return NULL;
    block->size = size;
    struct arena_block **at = own && a->head ? &a->head->next : &a->head;
    block->next = *at;
    *at = block;
    return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = _Alignof(max_align_t);

    if (size > SIZE_MAX / 2)
        return NULL;
    size = size == 0 ? align : (size + align - 1) / align * align;
    struct arena_block *block = a->head;
    if (size > OWN_BLOCK_BYTES)
        block = add_arena_block(a, size, true);
    else if (!block || block->size - block->used < size)
        block = add_arena_block(a, BLOCK_BYTES, false);
    if (!block)
        return NULL;
    void *out = block->data + block->used;
    block->used += size;
    return out;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;

    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(a, total);
}

void *arena_grow(struct arena *a, void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *grown = arena_array(a, more, size);
    if (!grown)
        return NULL;
    if (count > 0)
        memcpy(grown, array, count * size);
    *capacity = more;
    return grown;
}

char *arena_copy(struct arena *a, struct ethos_view v)
{
    char *out = v.size < SIZE_MAX ? arena_alloc(a, v.size + 1) : NULL;

    if (out && v.size > 0)
        memcpy(out, v.data, v.size);
    return out;
}

char *arena_str(struct arena *a, const char *string)
{
    return string ? arena_copy(a, view_str(string)) : NULL;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *out = length >= 0 ? arena_alloc(a, (size_t)length + 1) : NULL;
    if (!out)
        return NULL;
    va_start(args, format);
    vsnprintf(out, (size_t)length + 1, format, args);
    va_end(args);
    return out;
}
