/*
 * blame.h: which changes wrote some lines of a file. For all lines or one, use ethos_blame.
 */
#ifndef ETHOS_MEMORY_HISTORY_BLAME_H
#define ETHOS_MEMORY_HISTORY_BLAME_H

#include <ethos/ethos.h>

/*
 * Passes at most `most` lines from line `first` on (counted from 1); 0: only that line, which must
 * exist. *out_total, unless NULL, is the number of lines. ETHOS_NOTFOUND if `first` is past the
 * end, except for a page of an empty file.
 */
int blame_lines(struct ethos_turn *turn, const struct ethos_target *target, size_t first,
                size_t most, ethos_blame_fn *each, void *arg, size_t *out_total,
                struct ethos_error *error);

#endif
