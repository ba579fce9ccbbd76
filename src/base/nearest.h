/*
 * nearest.h: the name somebody probably meant.
 */
#ifndef ETHOS_BASE_NEAREST_H
#define ETHOS_BASE_NEAREST_H

#include <stdbool.h>

#include <ethos/types.h>

/* The candidate nearest to name by edit distance, or NULL when none is near. List ends with NULL. */
const char *nearest_name(const char *name, const char *const *candidates);

/* Whether a name is probably another one mistyped: a few edits away; a mere beginning is none. */
bool nearest_slip(struct ethos_view name, struct ethos_view candidate);

#endif
