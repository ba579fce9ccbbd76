/*
 * golden.c: the vectors of tests/golden.
 */
#include "golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define GOLDEN_FILE "tests/golden/updates.json"

json_t *golden_load(const char *member)
{
    json_error_t why;
    json_t *root = json_load_file(GOLDEN_FILE, JSON_ALLOW_NUL, &why);

    if (!root)
        fail_msg("%s:%d: %s", GOLDEN_FILE, why.line, why.text);
    json_t *vectors = json_incref(json_object_get(root, member));
    json_decref(root);
    if (json_array_size(vectors) == 0)
        fail_msg("%s: no vectors under '%s'", GOLDEN_FILE, member);
    return vectors;
}

const char *golden_string(const json_t *vector, const char *name)
{
    return json_string_value(json_object_get(vector, name));
}
