/*
 * test_suggest.c: suggestions for mistyped names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/suggest.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct pair {
    const char *in, *out;
};

static void test_nearest_name(void **state)
{
    static const char *const names[] = {"prefetch", "sync",   "read", "write",
                                        "remember", "remove", "ls",   NULL};
    static const struct pair rows[] = {
        {"prefetch", "prefetch"},
        {"Sync", "sync"},
        {"snyc", "sync"},
        {"raed", "read"},
        {"prefech", "prefetch"},
        {"pre", "prefetch"},
        {"remov", "remove"},
        {"rem", "remember"},
        {"wriet", "write"},
        {"zzzz", NULL},
        {"", NULL},
        {"x", NULL},
        {"sl", "ls"},
        {"xy", NULL},
        {"delete", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *found = nearest_name(rows[i].in, names);
        if (rows[i].out)
            assert_string_equal(found, rows[i].out);
        else
            assert_null(found);
    }
    assert_null(nearest_name("x", names + COUNT(names) - 1));
    assert_null(nearest_name("x", (const char *const[]){"y", NULL}));
    assert_null(nearest_name("p", names));
}

static void test_a_slip_is_a_few_edits_and_no_mere_beginning(void **state)
{
    (void)state;
    assert_true(nearest_slip(VIEW("memry"), VIEW("memory")));
    assert_true(nearest_slip(VIEW("MEMROY"), VIEW("memory")));
    assert_true(nearest_slip(VIEW("memory.provdr"), VIEW("memory.provider")));
    assert_false(nearest_slip(VIEW("memo"), VIEW("memory")));
    assert_false(nearest_slip(VIEW("memory"), VIEW("memory.provider")));
    assert_false(nearest_slip(VIEW("memories"), VIEW("memory")));
    assert_false(nearest_slip(VIEW(""), VIEW("ls")));
}

static void test_nearest_gives_up_on_very_long_names(void **state)
{
    char name[4096];
    const char *const names[] = {"prefetch", NULL};

    (void)state;
    memset(name, 'p', sizeof(name));
    name[sizeof(name) - 1] = 0;
    assert_null(nearest_name(name, names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_a_slip_is_a_few_edits_and_no_mere_beginning),
        cmocka_unit_test(test_nearest_gives_up_on_very_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
