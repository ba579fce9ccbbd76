/*
 * alloc.h: failing the nth allocation, and measuring how much memory is in use at once.
 *
 * Test programs are linked with --wrap for malloc, calloc, realloc, strdup and free, so that allocations
 * of our code and of the statically linked libraries are counted; others inside libc are not.
 *
 *     ALLOC_EACH(n, code == ETHOS_OK) {
 *         code = thing(...);
 *         assert(code == ETHOS_OK || code == ETHOS_NOMEM);
 *     }
 */
#ifndef TESTS_ALLOC_H
#define TESTS_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* The nth allocation from now on returns NULL, every later one succeeds; 0 means none. */
void alloc_fail_at(unsigned long n);

/* Allocations since the last alloc_fail_at. */
unsigned long alloc_count(void);

/* From now on the peak is measured, from 0. */
void alloc_peak_reset(void);

/* The most bytes that were in use at once since then, without those that were in use before. */
size_t alloc_peak(void);

/* Bytes in use now, without those that were in use before. */
long alloc_used(void);

/* Runs the body with the first, second, ... allocation failing, until `done` holds after a run. */
#define ALLOC_EACH(n, done)                                                                        \
    for (unsigned long n = (alloc_fail_at(1), 1), ended_ = 0; !ended_;                             \
         ended_ = (done) ? 1 : 0, n++, alloc_fail_at(ended_ ? 0 : n))

#endif
