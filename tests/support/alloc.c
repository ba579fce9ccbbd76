/*
 * alloc.c: failing the nth allocation, and measuring how much memory is in use at once.
 */
#include "alloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__real_strdup(const char *string);
char *__wrap_strdup(const char *string);
void __real_free(void *block);
void __wrap_free(void *block);

static atomic_ulong seen, failing; // threads allocate, too
static atomic_long used, peak;     // bytes

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

void alloc_peak_reset(void)
{
    used = 0;
    peak = 0;
}

size_t alloc_peak(void)
{
    return (size_t)peak;
}

long alloc_used(void)
{
    return used;
}

/* What libc itself allocates and we free makes the count smaller than it is; nothing of ours does. */
static void *count(void *block, long before)
{
    long now = block ? (long)malloc_usable_size(block) - before : 0;

    now += atomic_fetch_add(&used, now);
    for (long most = peak; now > most && !atomic_compare_exchange_weak(&peak, &most, now);)
        continue;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : count(__real_malloc(size), 0);
}

void *__wrap_calloc(size_t number, size_t size)
{
    return fails() ? NULL : count(__real_calloc(number, size), 0);
}

void *__wrap_realloc(void *block, size_t size)
{
    long before = (long)malloc_usable_size(block);

    return fails() ? NULL : count(__real_realloc(block, size), before);
}

char *__wrap_strdup(const char *string)
{
    return fails() ? NULL : count(__real_strdup(string), 0);
}

void __wrap_free(void *block)
{
    atomic_fetch_sub(&used, (long)malloc_usable_size(block));
    __real_free(block);
}
