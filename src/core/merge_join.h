/*
 * merge_join.h: the inner side of the merge: texts as lines, and joining what two sides added.
 */
#ifndef ETHOS_CORE_MERGE_JOIN_H
#define ETHOS_CORE_MERGE_JOIN_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

/* What a line is in markdown; inside a code fence every line is plain. */
enum merge_kind { MERGE_PLAIN, MERGE_ITEM, MERGE_HEADING /* + level, from 1 */ };

/* A line that is not blank. The last "line" of a text is its end: nothing but what is before it. */
struct merge_line {
    struct ethos_view raw;   /* as it stands, blank lines before it and its line end included */
    size_t gap;              /* bytes of those blank lines */
    struct ethos_view plain; /* without them and the white space at its end, but with LF */
    unsigned kind;
    bool apart; /* begins a paragraph: after blank lines, or first */
};

struct merge_text {
    struct ethos_view plain; /* all plain lines */
    struct merge_line *lines;
    size_t count; /* at least 1 */
};

struct merge_range {
    size_t from, to; /* lines */
};

/* False: no memory. The lines point into text and arena. */
bool merge_read(struct arena *arena, struct ethos_view text, struct merge_text *out);

/* The plain text of a range. */
struct ethos_view merge_slice(const struct merge_text *text, struct merge_range range);

/*
 * Appends lines. One that ended its text gets a line end before anything follows it; one that began
 * its text stays apart from what comes before it now.
 */
void merge_emit(struct str *out, const struct merge_text *text, struct merge_range range);

/*
 * Both sides added lines at the same place: ours, then theirs, with a blank line between where either
 * side has one. Sections of the same heading become one; text before the first heading stays before
 * it. An entry (paragraph or list item) that both added is written once. False: no memory.
 */
bool merge_join(struct arena *arena, const struct merge_text *ours, struct merge_range o,
                const struct merge_text *theirs, struct merge_range t, struct str *out);

#endif
