/*
 * blame.h: a part of the lines of a file and the changes that put them there. All or one: ethos_blame.
 */
#ifndef ETHOS_MEMORY_HISTORY_BLAME_H
#define ETHOS_MEMORY_HISTORY_BLAME_H

#include <ethos/ethos.h>

/*
 * Of the lines from `first` (from 1) on, at most `most`; 0: that line only, which must be there.
 * *out_total, unless NULL, is how many the file has. ETHOS_NOTFOUND when `first` is past the end, but for a
 * page of an empty file.
 */
int blame_lines(struct ethos_turn *turn, const struct ethos_target *target, size_t first,
                size_t most, ethos_blame_fn *each, void *arg, size_t *out_total,
                struct ethos_error *error);

#endif
