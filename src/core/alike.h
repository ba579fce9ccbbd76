/*
 * alike.h: which of many texts say the same, or nearly.
 *
 * Two texts are compared by the words they have in threes, folded to lower case and without marks;
 * scripts without blanks count by characters. Candidates come from signatures, so the work grows with
 * the number of texts, not with its square: 10,000 notes are well under a second.
 */
#ifndef ETHOS_CORE_ALIKE_H
#define ETHOS_CORE_ALIKE_H

#include <ethos/types.h>

#define ALIKE_NEAR 80 /* percent of what both say together */

/* a < b: places in the array; percent 100: the same words. */
typedef void alike_fn(void *arg, size_t a, size_t b, unsigned percent);

/*
 * Reports pairs at or above ALIKE_NEAR, by a then b. Texts of fewer than four words are reported only
 * when they are the same. Of many equal texts each is reported with the first only. ETHOS_NOMEM.
 */
int alike_pairs(const struct ethos_view *texts, size_t count, alike_fn *each, void *arg);

#endif
