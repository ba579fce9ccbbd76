/*
 * test_similar_entries.c: which entries of an index are about the same.
 */
#include "core/notes/similar_entries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "core/search/words.h"

static const char text[] = "# Index\n"
                           "- [Staging host](staging-host.md) \u2014 Staging is one.example.com\n"
                           "- [Running the tests](tests.md) \u2014 make check\n"
                           "- [Where staging is hosted](old.md) \u2014 example.com hosts staging\n"
                           "- [The](the.md)\n"
                           "- [Staging](new.md) \u2014 the host of staging is two.example.com\n"
                           "- [Check](check.md) \u2014 tests\n";

static void test_the_best_come_first_and_joining_words_do_not_count(void **state)
{
    struct ethos_view out[SIMILAR_MOST];

    (void)state;
    assert_int_equal(similar_entries(view_str(text), VIEW("new.md"), out), 2);
    assert_true(view_eq_str(out[0], "old.md")); // all of its words
    assert_true(view_eq_str(out[1], "staging-host.md"));
    assert_int_equal(similar_entries(view_str(text), VIEW("check.md"), out), 1);
    assert_true(view_eq_str(out[0], "tests.md"));
    assert_int_equal(similar_entries(view_str(text), VIEW("the.md"), out), 0);
    assert_int_equal(similar_entries(view_str(text), VIEW("none.md"), out), 0);
    assert_int_equal(similar_entries(view_str(NULL), VIEW("none.md"), out), 0);
}

static void test_no_more_than_three_are_reported(void **state)
{
    static const char many[] = "- [a b c d](1.md)\n- [a b c d](2.md)\n- [a b c d](3.md)\n"
                               "- [a b c d](4.md)\n- [a b c d](5.md)\n";
    struct ethos_view out[SIMILAR_MOST];

    (void)state;
    assert_int_equal(similar_entries(view_str(many), VIEW("3.md"), out), 3);
    assert_true(view_eq_str(out[2], "4.md"));
}

static void test_words_that_join_others_are_known(void **state)
{
    static const char *const words[] = {"a", "about", "is", "please", "should", "the", "your"};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_true(words_is_common(view_str(words[i])));
    assert_false(words_is_common(VIEW("oven")));
    assert_false(words_is_common(VIEW("")));
    assert_false(words_is_common(VIEW("thereabouts")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_best_come_first_and_joining_words_do_not_count),
        cmocka_unit_test(test_no_more_than_three_are_reported),
        cmocka_unit_test(test_words_that_join_others_are_known),
    };

    return cmocka_run_group_tests_name("core/similar", tests, NULL, NULL);
}
