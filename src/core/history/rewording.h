/*
 * rewording.h: whether a line was written anew in other lines, wrapped or put in another sentence.
 *
 * Neighbouring words are compared, as searching folds them: words that texts have in common by chance
 * seldom stand side by side.
 */
#ifndef ETHOS_CORE_HISTORY_REWORDING_H
#define ETHOS_CORE_HISTORY_REWORDING_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

struct arena;
struct line_index;

#define WORDING_PAIRS 3 /* a line has so many neighbours at least, or nothing is said of it */

/* Neighbours of the words of a text, as sorted hashes. */
struct wording {
    uint64_t *pairs;
    size_t count;
};

/* Of the lines of a text that another one does not have, as one text. In the arena. ETHOS_OK, ETHOS_NOMEM. */
int wording_make(struct ethos_view text, const struct line_index *except, struct arena *arena,
                 struct wording *out);

/* Whether it has two thirds of the neighbours of a line. */
bool wording_has(const struct wording *wording, struct ethos_view line);

#endif
