/*
 * removal.h: whether a change removes a large part of a file: lines of more than a quarter of its
 * bytes.
 *
 * A corrected line does not count: one for which another line of the same hunk has the same
 * beginning and end, over half of its length.
 */
#ifndef ETHOS_CORE_APPROVAL_REMOVAL_H
#define ETHOS_CORE_APPROVAL_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

/* Bytes of the lines that a unified diff removes; *out_whole is false if it was cut. */
uint64_t removal_bytes(struct ethos_view diff, bool *out_whole);

/* For a recorded change: by its diff, if complete, otherwise by its sizes. */
bool removal_is_large(const struct ethos_change *change);

#endif
