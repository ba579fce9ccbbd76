/*
 * internal.h: the texts that a queued write would produce.
 */
#ifndef ETHOS_MEMORY_REVIEW_INTERNAL_H
#define ETHOS_MEMORY_REVIEW_INTERNAL_H

#include "memory/review/review.h"

struct update_effect;

#define REVIEW_INDEX "MEMORY.md"

/* The file after the write. Returns str_code. */
int review_apply(const struct pending *pending, struct ethos_view before, struct str *out,
                 struct update_effect *out_effect);

/* The index after the line that goes with the file. Returns str_code. */
int review_apply_line(const struct pending *pending, struct ethos_view index, struct str *out);

#endif
