/*
 * snowball.h: whether two words are forms of one, by the stems of languages (libstemmer).
 *
 * Words are folded: lower case, without accents. Languages are those of libstemmer, by their English names.
 */
#ifndef ETHOS_BASE_TEXT_SNOWBALL_H
#define ETHOS_BASE_TEXT_SNOWBALL_H

#include <stdbool.h>

#include <ethos/types.h>

#define SNOWBALL_MAX 8 /* languages at once */

struct snowball;

/*
 * languages: names, separated by commas or blanks; further ones than SNOWBALL_MAX are left out. *out is NULL where
 * none is named. ETHOS_INVALID for a name that is no language.
 */
int snowball_open(struct ethos_view languages, struct snowball **out, struct ethos_error *error);
void snowball_close(struct snowball *self);

/* Whether some of the languages has one stem for both. */
bool snowball_same(struct snowball *self, struct ethos_view a, struct ethos_view b);

#endif
