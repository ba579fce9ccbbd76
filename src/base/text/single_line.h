/*
 * single_line.h: reduces a text to one line, for titles, hooks and descriptions.
 *
 * Collapsed means trimmed, with each run of white space and control characters replaced by one
 * space.
 */
#ifndef ETHOS_BASE_TEXT_SINGLE_LINE_H
#define ETHOS_BASE_TEXT_SINGLE_LINE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define LINE_ELLIPSIS "\xE2\x80\xA6"

/* The text without leading white space. */
struct ethos_view line_begin(struct ethos_view text);

/* Whether nothing else is left. */
bool line_blank(struct ethos_view text);

/* Reads the next byte of such a text and advances, a run of spaces as one ' '. -1 at the end. */
int line_next(struct ethos_view *rest);

/* Appends the text collapsed. Returns str_code. */
int line_collapse(struct ethos_view text, struct str *out);

/* The same, cut to that many CH on a grapheme boundary, with an ellipsis if cut. */
int line_cut(struct ethos_view text, uint64_t units, struct str *out);

/* Bytes of the longest start of at most `units` CH that ends on a grapheme boundary. */
size_t line_fitting(struct ethos_view v, uint64_t units);

/*
 * Whether two texts are equal once collapsed; the second function ignores letter case, for titles.
 */
bool line_same(struct ethos_view a, struct ethos_view b);
bool line_same_nocase(struct ethos_view a, struct ethos_view b);

/* The first line that is not blank, trimmed; empty if there is none. */
struct ethos_view line_first(struct ethos_view text);

/* The line end of the last complete line before `at`: LF or CR LF; LF if there is none. */
struct ethos_view line_end(struct ethos_view text, size_t at);

#endif
