/*
 * disguises.h: ways in which words are hidden from those who look for them. Private to src/core/scan.
 */
#ifndef ETHOS_CORE_SCAN_DISGUISES_H
#define ETHOS_CORE_SCAN_DISGUISES_H

#include <stdbool.h>

#include "core/scan/normalize.h"

#define DISGUISES 9

/* Whether nobody wears it by chance: letters with blanks between them, turned words, encodings. */
static inline bool disguise_is_deliberate(unsigned which)
{
    return which == 1 || which >= 4;
}

/*
 * Takes one disguise off. text is as it stands, normal the same normalised; *out is normalised, too. False when the
 * text does not wear it.
 */
bool disguise_reveal(unsigned which, struct ethos_view text, const struct normal_text *normal,
                     struct normal_text *out);

/* Whether it is worth trying any: most texts wear none, and that is quickly known. */
bool disguise_is_worth_trying(struct ethos_view text, const struct normal_text *normal);

/* Whether a line may wear one that the filter would not see. */
bool disguise_is_possible(struct ethos_view line);

#endif
