/*
 * snowball.h: whether two words are forms of the same word, by the stemmers of libstemmer.
 *
 * Words are folded: lower case, without accents. Languages have their English names, as in
 * libstemmer.
 */
#ifndef ETHOS_BASE_TEXT_SNOWBALL_H
#define ETHOS_BASE_TEXT_SNOWBALL_H

#include <stdbool.h>

#include <ethos/types.h>

#define SNOWBALL_MAX 8 /* languages at once */

struct snowball;

/*
 * languages: names separated by commas or spaces; those beyond SNOWBALL_MAX are ignored. *out is
 * NULL if there are none. ETHOS_INVALID for an unknown language.
 */
int snowball_open(struct ethos_view languages, struct snowball **out, struct ethos_error *error);
void snowball_close(struct snowball *self);

/* Whether any of the languages has the same stem for both. */
bool snowball_same(struct snowball *self, struct ethos_view a, struct ethos_view b);

#endif
