/*
 * suggest.h: suggests the name that was probably meant.
 */
#ifndef ETHOS_BASE_TEXT_SUGGEST_H
#define ETHOS_BASE_TEXT_SUGGEST_H

#include <stdbool.h>

#include <ethos/types.h>

/*
 * The candidate nearest to name by edit distance, or NULL if none is near. The list ends with NULL.
 */
const char *nearest_name(const char *name, const char *const *candidates);

/*
 * Edit distance between two names, a swap of neighbours counting once, ignoring ASCII case; large
 * for long names.
 */
size_t nearest_edits(struct ethos_view a, struct ethos_view b);

/*
 * Whether a name is probably a mistyped candidate: a few edits away; not if it is only a prefix of
 * it.
 */
bool nearest_slip(struct ethos_view name, struct ethos_view candidate);

#endif
