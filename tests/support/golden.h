/*
 * golden.h: the vectors of tests/golden.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "base/json.h"

/*
 * One member of updates.json as an array that is not empty; a test without vectors fails. Owned by
 * the caller (json_decref). Tests run from the root of the tree.
 */
json_t *golden_load(const char *member);

/* The string under name; NULL for null or missing. Borrowed. */
const char *golden_string(const json_t *vector, const char *name);

#endif
