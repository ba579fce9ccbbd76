/*
 * shown_lines.h: lines that the owner allows to be shown although the scan finds something in them.
 *
 * A line is identified by the SHA-256 of its bytes without the line end ("\n" or "\r\n"), so it is
 * hidden again when its text changes. A decision covers only what was found in the line when it was
 * made: a line shown despite the guard is still redacted where it has a secret.
 */
#ifndef ETHOS_CORE_MEMORY_SHOWN_LINES_H
#define ETHOS_CORE_MEMORY_SHOWN_LINES_H

#include <stddef.h>

#include <ethos/types.h>

#include "base/hash.h"

struct shown_line {
    char hash[HASH_HEX_SIZE];
    unsigned what; /* SCAN_GUARD, SCAN_REDACT */
};

/* The decisions about one scope. */
struct shown_lines {
    const struct shown_line *rows;
    size_t count;
};

/* The hash of a line, with or without its line end. */
void shown_line_hash(struct ethos_view line, char out[HASH_HEX_SIZE]);

/* What a line is shown despite of; 0: there is no decision. Hashes only when the set has rows. */
unsigned shown_lines_find(const struct shown_lines *self, struct ethos_view line);

#endif
