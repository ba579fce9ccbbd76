/*
 * merge_lines.h: internals of the merge: texts as lines, and joining what both sides added.
 */
#ifndef ETHOS_CORE_HISTORY_MERGE_LINES_H
#define ETHOS_CORE_HISTORY_MERGE_LINES_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

/* The kind of a markdown line; inside a code fence every line is plain. */
enum merge_kind { MERGE_PLAIN, MERGE_ITEM, MERGE_HEADING /* + level, from 1 */ };

/*
 * A line that is not blank. The last "line" of a text is its end, with only what precedes it. Kept
 * small, because a merge holds the lines of three texts. Lines are consecutive: each ends where the
 * next one begins.
 */
struct merge_line {
    unsigned raw_at : 27; /* in the text, with the blank lines before it and its line end */
    unsigned kind : 4;    /* enum merge_kind */
    unsigned apart : 1;   /* begins a paragraph: after blank lines, or first */
    uint32_t plain_at;    /* in plain: without blank lines and trailing white space, but with LF */
};

#define MERGE_MOST_BYTES ((size_t)1 << 26) /* of a text: raw_at must fit */

struct merge_text {
    struct ethos_view raw;   /* the text */
    struct ethos_view plain; /* all plain lines */
    struct merge_line *lines;
    size_t count; /* at least 1 */
};

struct merge_range {
    size_t from, to; /* lines */
};

/*
 * Sets everything except the lines; borrows the text. False: out of memory, or a text larger than
 * MERGE_MOST_BYTES.
 */
bool merge_strip(struct arena *arena, struct ethos_view text, struct merge_text *out);

/* Sets the lines. False: out of memory. */
bool merge_read_lines(struct arena *arena, struct merge_text *text);

/* A line as written, and its plain text. */
struct ethos_view merge_raw(const struct merge_text *text, size_t line);
struct ethos_view merge_line_plain(const struct merge_text *text, size_t line);

/* The plain text of a range. */
struct ethos_view merge_slice(const struct merge_text *text, struct merge_range range);

/*
 * Appends lines. A line that ended its text without a line end gets one before anything follows it;
 * one that began its text stays separated from what now precedes it.
 */
void merge_emit(struct str *out, const struct merge_text *text, struct merge_range range);

/*
 * Both sides added lines at the same place: writes ours, then theirs, separated by a blank line if
 * either side has one. Sections of the same heading become one; text before the first heading stays
 * before it. An entry (paragraph or list item) that both added is written once. False: out of
 * memory.
 */
bool merge_join(struct arena *arena, const struct merge_text *ours, struct merge_range o,
                const struct merge_text *theirs, struct merge_range t, struct str *out);

#endif
