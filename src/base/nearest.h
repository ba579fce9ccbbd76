/*
 * nearest.h: the name somebody probably meant.
 */
#ifndef ETHOS_BASE_NEAREST_H
#define ETHOS_BASE_NEAREST_H

/* The candidate nearest to name by edit distance, or NULL when none is near. List ends with NULL. */
const char *nearest_name(const char *name, const char *const *candidates);

#endif
