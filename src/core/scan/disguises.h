/*
 * disguises.h: undoes ways of hiding words from a search. Private to src/core/scan.
 */
#ifndef ETHOS_CORE_SCAN_DISGUISES_H
#define ETHOS_CORE_SCAN_DISGUISES_H

#include <stdbool.h>

#include "core/scan/normalize.h"

#define DISGUISES 9

/* Whether it cannot occur by chance: spaced letters, reversed words, encodings. */
static inline bool disguise_is_deliberate(unsigned which)
{
    return which == 1 || which >= 4;
}

/*
 * Undoes one disguise. text is the original, normal its normalized form; *out is normalized too.
 * False if the text does not have this disguise.
 */
bool disguise_reveal(unsigned which, struct ethos_view text, const struct normal_text *normal,
                     struct normal_text *out);

/* A quick check whether any disguise is worth trying; most texts have none. */
bool disguise_is_worth_trying(struct ethos_view text, const struct normal_text *normal);

/* Whether a line may have a disguise that the filter would miss. */
bool disguise_is_possible(struct ethos_view line);

#endif
