/*
 * near_duplicates.h: finds texts that are equal or nearly equal.
 *
 * Compares groups of three consecutive words, folded to lower case and without accents; scripts
 * without spaces count by characters. Candidates come from an index of the rarest groups, so the
 * work grows with the number of texts, not with its square: 10,000 notes take well under a second.
 * The result does not depend on the order of the texts.
 */
#ifndef ETHOS_CORE_SEARCH_NEAR_DUPLICATES_H
#define ETHOS_CORE_SEARCH_NEAR_DUPLICATES_H

#include <ethos/types.h>

#define ALIKE_NEAR 80 /* percent of the groups of both */
#define ALIKE_MOST 8  /* reported pairs per text, if many are nearly equal */

/* a < b: indexes in the array; percent 100: the same words. */
typedef void similar_pair_fn(void *arg, size_t a, size_t b, unsigned percent);

/*
 * Reports pairs at or above ALIKE_NEAR, ordered by a, then b. Texts of fewer than four words are
 * reported only if they are equal, texts without words never. Of many equal texts, each is reported
 * with the first, and only the first with others. ETHOS_NOMEM.
 */
int similar_pairs(const struct ethos_view *texts, size_t count, similar_pair_fn *each, void *arg);

#endif
