/*
 * lines.h: the lines of a text without their line ends, in order and sorted.
 *
 * Sorted once, so that asking for many of them stays cheap.
 */
#ifndef ETHOS_CORE_LINES_H
#define ETHOS_CORE_LINES_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;

struct lines {
    const struct ethos_view *at, **sorted;
    size_t count;
};

/* The line without LF or CRLF at its end. */
struct ethos_view line_without_end(struct ethos_view line);

/* Both make out->sorted, in the arena; the second for lines that are there. ETHOS_OK, ETHOS_NOMEM. */
int lines_split(struct ethos_view text, struct arena *arena, struct lines *out);
int lines_sort(struct lines *lines, struct arena *arena);

/* Index of the first sorted line that is not before this one. */
size_t lines_find(const struct lines *lines, const struct ethos_view *line);
/* How often a text has a line. */
size_t lines_count(const struct lines *lines, const struct ethos_view *line);
bool lines_have(const struct lines *lines, const struct ethos_view *line);

#endif
