/*
 * removal.h: whether a change takes much of a file away: lines of more than a quarter of its bytes.
 *
 * A line that was corrected does not count: another one of the same hunk begins and ends like it, over half of its
 * length.
 */
#ifndef ETHOS_CORE_APPROVAL_REMOVAL_H
#define ETHOS_CORE_APPROVAL_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

/* Bytes of the lines that a unified diff takes away; *out_whole is false where it was cut. */
uint64_t removal_bytes(struct ethos_view diff, bool *out_whole);

/* What is told of a change: its diff, where that is whole, else its sizes alone. */
bool removal_is_large(const struct ethos_change *change);

#endif
