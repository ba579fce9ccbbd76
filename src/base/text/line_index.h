/*
 * line_index.h: the lines of a text in sorted order, to look up lines by their content.
 *
 * Line ends (LF or CR LF) are ignored. Uses four bytes per line: twice the size of a text of
 * one-letter lines.
 */
#ifndef ETHOS_BASE_TEXT_LINE_INDEX_H
#define ETHOS_BASE_TEXT_LINE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

struct arena;

struct line_index {
    struct ethos_view text;
    uint32_t *sorted; /* start of each line; equal lines in the order of the text */
    size_t count;
};

/* Borrows the text. ETHOS_OK or ETHOS_NOMEM. */
int line_index_make(struct ethos_view text, struct arena *arena, struct line_index *out);

/* The equal lines, as the range [*out_first, *out_end) of the sorted ones. */
void line_index_find(const struct line_index *index, struct ethos_view line, size_t *out_first,
                     size_t *out_end);

/* How often the text has a line. */
size_t line_index_count(const struct line_index *index, struct ethos_view line);
bool line_index_has(const struct line_index *index, struct ethos_view line);

/* Reads the next line, without its end. False at the end of the text. */
bool line_index_next(struct ethos_view *rest, struct ethos_view *out_line);

/* A line without LF or CR LF at its end. */
struct ethos_view line_index_plain(struct ethos_view line);

#endif
