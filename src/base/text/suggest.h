/*
 * suggest.h: the name somebody probably meant.
 */
#ifndef ETHOS_BASE_TEXT_SUGGEST_H
#define ETHOS_BASE_TEXT_SUGGEST_H

#include <stdbool.h>

#include <ethos/types.h>

/* The candidate nearest to name by edit distance, or NULL when none is near. List ends with NULL. */
const char *nearest_name(const char *name, const char *const *candidates);

/* Edits between two names, a swap of neighbours being one, ASCII case ignored; long names are far. */
size_t nearest_edits(struct ethos_view a, struct ethos_view b);

/* Whether a name is probably another one mistyped: a few edits away; a mere beginning is none. */
bool nearest_slip(struct ethos_view name, struct ethos_view candidate);

#endif
