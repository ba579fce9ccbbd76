/*
 * rewording.h: whether a line was rewritten in other lines, by wrapping it or changing the
 * sentence.
 *
 * Compares pairs of neighbouring words, folded as for searching: unrelated texts rarely share such
 * pairs.
 */
#ifndef ETHOS_CORE_HISTORY_REWORDING_H
#define ETHOS_CORE_HISTORY_REWORDING_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

struct arena;
struct line_index;

#define WORDING_PAIRS 3 /* lines with fewer pairs are not judged */

/* Pairs of neighbouring words of a text, as sorted hashes. */
struct wording {
    uint64_t *pairs;
    size_t count;
};

/*
 * The pairs of those lines of a text that another text does not have. In the arena. ETHOS_OK,
 * ETHOS_NOMEM.
 */
int wording_make(struct ethos_view text, const struct line_index *except, struct arena *arena,
                 struct wording *out);

/* Whether it contains two thirds of the pairs of a line. */
bool wording_has(const struct wording *wording, struct ethos_view line);

#endif
