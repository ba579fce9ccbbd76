/*
 * by_hand.h: the same work as plain system calls, the way a careful user would write it. These are
 * the floors: no checks of names, no links, no budget, no rendering.
 *
 * All return 0, or -1 and errno.
 */
#ifndef ETHOS_BENCH_BY_HAND_H
#define ETHOS_BENCH_BY_HAND_H

#include <stddef.h>

/* The whole file, or its last `most` bytes, with the proof that it did not change meanwhile. */
int hand_read(const char *path, char *buffer, size_t size);
int hand_tail(const char *path, char *buffer, size_t most);

/*
 * Appends a paragraph to dir/MEMORY.md with the calls of the write protocol: locked, a line of history
 * first, exchanged into place, what was displaced looked at, synced. The line says nothing.
 */
int hand_add(const char *dir, const char *text, char *buffer, size_t size);

/* Makes the new file dir/name in the same way. */
int hand_create(const char *dir, const char *name, const char *text, char *buffer, size_t size);

/*
 * Both in one write, with as few syncs as can be: of the two drafts, of two lines of history in one,
 * of the directory after both swaps. A power cut between those could show one without the other.
 */
int hand_keep(const char *dir, const char *name, const char *text, const char *line, char *buffer,
              size_t size);

#endif
