/*
 * blame.h: finds the change that wrote each line of a text.
 *
 *     blame_init(&blame, &arena, text, 1, SIZE_MAX);
 *     for each change, newest first, while blame.open > 0:
 *         blame_step(&blame, diff, index);
 *     for each line: blame.lines[i], its text by view_line(&blame.rest, ...)
 *     blame_release(&blame);
 *
 * A line that no step attributes is older than the oldest change.
 */
#ifndef ETHOS_CORE_HISTORY_BLAME_H
#define ETHOS_CORE_HISTORY_BLAME_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/str.h"

struct arena;

#define BLAME_NOBODY UINT32_MAX
#define BLAME_REPLACED_BYTES 4096 /* of a replaced line; more is cut off */

/* Private: consecutive lines that are not attributed yet, also in the text before the last step. */
struct blame_run {
    uint32_t index, count; /* in lines */
    uint32_t at;           /* number of the first line in that text */
};

/* Kept small: a text of one-letter lines has half as many lines as bytes. */
struct blame_line {
    uint32_t change;        /* index given to blame_step, or BLAME_NOBODY */
    uint32_t replaced_at;   /* private: in blame.replaced */
    uint32_t replaced_size; /* bytes */
};

struct blame {
    struct arena *arena;
    struct blame_line *lines; /* the requested lines */
    size_t count;
    size_t first;           /* number of lines[0], from 1 */
    size_t total;           /* lines of the text */
    size_t open;            /* lines that are not attributed yet */
    struct blame_run *runs; /* private: those lines, in order */
    size_t run_count;
    struct ethos_view rest; /* the text from lines[0] on */
    struct str replaced;    /* the replaced lines, one after the other */
};

/*
 * For at most `most` lines from `first` on. ETHOS_NOMEM. The text must outlive it; always call
 * blame_release.
 */
int blame_init(struct blame *blame, struct arena *arena, struct ethos_view text, size_t first,
               size_t most);
void blame_release(struct blame *blame);

/* The line that this line replaced; absent if it replaced none. */
struct ethos_view blame_replaced(const struct blame *blame, const struct blame_line *line);

/*
 * Goes back by one change: diff leads to the current text of the lines. ETHOS_INVALID for an
 * incomplete diff; then the lines it covers are attributed and blame cannot be used further.
 *
 * The first line added at a place replaced the first line removed there, and so on; the last one
 * also replaced all that remain. So no removed line is attributed twice.
 */
int blame_step(struct blame *blame, struct ethos_view diff, uint32_t change);

/* The same, given the two texts. ETHOS_OK or ETHOS_NOMEM. */
int blame_step_texts(struct blame *blame, struct ethos_view before, struct ethos_view after,
                     uint32_t change);

#endif
