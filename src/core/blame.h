/*
 * blame.h: which change put each line of a text there.
 *
 *     blame_init(&blame, &arena, text);
 *     for each change from the newest back, while blame.open > 0:
 *         blame_step(&blame, diff, index);
 *
 * A line that no step settles was there before the oldest change.
 */
#ifndef ETHOS_CORE_BLAME_H
#define ETHOS_CORE_BLAME_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;

#define BLAME_NOBODY ((size_t)-1)

struct blame_line {
    struct ethos_view text;     /* without its line end */
    size_t change;              /* index given to blame_step, or BLAME_NOBODY */
    struct ethos_view replaced; /* lines the change took out at that place, or absent */
    size_t at;                  /* private: its number in the text before the last step */
};

struct blame {
    struct arena *arena;
    struct blame_line *lines;
    size_t count;
    size_t open; /* lines that are not settled yet */
};

/* ETHOS_NOMEM. Lines point into text. */
int blame_init(struct blame *blame, struct arena *arena, struct ethos_view text);

/*
 * Goes back by one change: diff leads to the text that the lines stand in now. ETHOS_INVALID when
 * it is no whole diff; then the lines that were met are settled and blame is of no further use.
 */
int blame_step(struct blame *blame, struct ethos_view diff, size_t change);

#endif
