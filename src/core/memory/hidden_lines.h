/*
 * hidden_lines.h: which lines of a text the scan hides or redacts, and why.
 */
#ifndef ETHOS_CORE_MEMORY_HIDDEN_LINES_H
#define ETHOS_CORE_MEMORY_HIDDEN_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include <ethos/types.h>

#include "base/arena.h"
#include "base/hash.h"

struct shown_lines;

#define HIDDEN_TAG_SIZE 64 /* bytes of a secret's kind */

struct hidden_line {
    size_t number;             /* from 1 */
    struct ethos_view text;    /* of the line, without its line end; borrowed */
    unsigned found;            /* SCAN_GUARD, SCAN_REDACT: what was found in it */
    unsigned shown;            /* which of those the owner allows to be shown */
    bool block;                /* first line of a private key, which cannot be allowed */
    char tag[HIDDEN_TAG_SIZE]; /* kind of the first secret, or "" */
    char hash[HASH_HEX_SIZE];
};

struct hidden_lines {
    struct hidden_line *rows; /* in order, one for each line */
    size_t count, room;
};

/* Finds them; rows live in the arena. ETHOS_OK or ETHOS_NOMEM. */
int hidden_lines_find(struct ethos_view text, const struct shown_lines *shown, struct arena *arena,
                      struct hidden_lines *out);

/* Whether part of the line is hidden. */
static inline bool hidden_line_is_hidden(const struct hidden_line *line)
{
    return (line->found & ~line->shown) != 0;
}

#endif
