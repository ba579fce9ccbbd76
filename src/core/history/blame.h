/*
 * blame.h: which change put each line of a text there.
 *
 *     blame_init(&blame, &arena, text, 1, SIZE_MAX);
 *     for each change from the newest back, while blame.open > 0:
 *         blame_step(&blame, diff, index);
 *     for each line: blame.lines[i], its text by view_line(&blame.rest, ...)
 *     blame_release(&blame);
 *
 * A line that no step settles was there before the oldest change.
 */
#ifndef ETHOS_CORE_HISTORY_BLAME_H
#define ETHOS_CORE_HISTORY_BLAME_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/str.h"

struct arena;

#define BLAME_NOBODY UINT32_MAX
#define BLAME_REPLACED_BYTES 4096 /* of what a line replaced: more of it is cut off */

/* Private: lines that are not settled and stand together, also in the text before the last step. */
struct blame_run {
    uint32_t index, count; /* in lines */
    uint32_t at;           /* number of the first one in that text */
};

/* Small: a text of one-letter lines has half as many lines as bytes. */
struct blame_line {
    uint32_t change;        /* index given to blame_step, or BLAME_NOBODY */
    uint32_t replaced_at;   /* private: in blame.replaced */
    uint32_t replaced_size; /* bytes */
};

struct blame {
    struct arena *arena;
    struct blame_line *lines; /* those that are wanted */
    size_t count;
    size_t first;           /* number of lines[0], from 1 */
    size_t total;           /* lines of the text */
    size_t open;            /* lines that are not settled yet */
    struct blame_run *runs; /* private: those lines, in order */
    size_t run_count;
    struct ethos_view rest; /* the text from lines[0] on */
    struct str replaced;    /* what stood in the place of lines, one after the other */
};

/* Of the lines from `first` on, at most `most`. ETHOS_NOMEM. The text must outlive it; release it always. */
int blame_init(struct blame *blame, struct arena *arena, struct ethos_view text, size_t first,
               size_t most);
void blame_release(struct blame *blame);

/* What a line replaced; absent when it replaced nothing. */
struct ethos_view blame_replaced(const struct blame *blame, const struct blame_line *line);

/*
 * Goes back by one change: diff leads to the text that the lines stand in now. ETHOS_INVALID when
 * it is no whole diff; then the lines that were met are settled and blame is of no further use.
 *
 * The first line that a change added at a place replaced the first that it removed there, and so on; the
 * last one also replaced what is left of them. So what all lines replaced is never more than was removed.
 */
int blame_step(struct blame *blame, struct ethos_view diff, uint32_t change);

/* The same, given the two texts. ETHOS_OK or ETHOS_NOMEM. */
int blame_step_texts(struct blame *blame, struct ethos_view before, struct ethos_view after,
                     uint32_t change);

#endif
