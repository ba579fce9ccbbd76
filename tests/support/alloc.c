/*
 * alloc.c: failing the nth allocation.
 */
#include "alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__real_strdup(const char *string);
char *__wrap_strdup(const char *string);

static atomic_ulong seen, failing; // threads allocate, too

void alloc_fail_at(unsigned long n)
{
    seen = 0;
    failing = n;
}

unsigned long alloc_count(void)
{
    return seen;
}

static bool fails(void)
{
    if (atomic_fetch_add(&seen, 1) + 1 != atomic_load(&failing))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

char *__wrap_strdup(const char *string)
{
    return fails() ? NULL : __real_strdup(string);
}
