/*
 * near_duplicates.h: which of many texts say the same, or nearly.
 *
 * Two texts are compared by the words they have in threes, folded to lower case and without marks;
 * scripts without blanks count by characters. Candidates come from an index of the rarest threes,
 * so the work grows with the number of texts, not with its square: 10,000 notes are well under a
 * second. What is found depends on the texts alone, not on their order.
 */
#ifndef ETHOS_CORE_SEARCH_NEAR_DUPLICATES_H
#define ETHOS_CORE_SEARCH_NEAR_DUPLICATES_H

#include <ethos/types.h>

#define ALIKE_NEAR 80 /* percent of what both say together */
#define ALIKE_MOST 8  /* a text among many that are nearly the same is named with so many of them */

/* a < b: places in the array; percent 100: the same words. */
typedef void similar_pair_fn(void *arg, size_t a, size_t b, unsigned percent);

/*
 * Reports pairs at or above ALIKE_NEAR, by a then b. Texts of fewer than four words are reported
 * only when they are the same, texts without words never. Of many equal texts each is reported with
 * the first, and only the first with others. ETHOS_NOMEM.
 */
int similar_pairs(const struct ethos_view *texts, size_t count, similar_pair_fn *each, void *arg);

#endif
