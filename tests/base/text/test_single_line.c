/*
 * test_single_line.c: a text as one line.
 */
#include "base/text/single_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

static void test_runs_of_white_space_become_one_blank(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 64);
    str_adds(&out, "x:");
    assert_int_equal(line_collapse(VIEW(" \ta\r\n\n b\u3000\u00a0c\xff\u2028"), &out), ETHOS_OK);
    assert_string_equal(out.data, "x:a b c\xff");
    str_release(&out);
}

static void test_cuts_fall_on_graphemes_and_show(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 64);
    line_cut(VIEW("abcd"), 4, &out);
    line_cut(VIEW(" abcde"), 4, &out);
    line_cut(VIEW("abce\u0301"), 4, &out);
    line_cut(VIEW("abc\U0001f600"), 4, &out);
    line_cut(VIEW("ab\xff\xff"), 3, &out);
    assert_string_equal(out.data, "abcd"
                                  "abcd\u2026"
                                  "abc\u2026"
                                  "abc\u2026"
                                  "ab\xff\u2026");
    str_release(&out);
    str_init(&out, 4);
    assert_int_equal(line_cut(VIEW("abcdef"), 2, &out), ETHOS_LIMIT);
    str_release(&out);
}

static void test_texts_are_the_same_once_collapsed(void **state)
{
    (void)state;
    assert_true(line_same(VIEW(" a\n b "), VIEW("a b")));
    assert_true(line_same(VIEW(" \n"), view_str(NULL)));
    assert_false(line_same(VIEW("a b"), VIEW("ab")));
    assert_false(line_same(VIEW("a"), VIEW("a b")));
    assert_false(line_same(VIEW("a"), VIEW("A")));
}

static void test_the_first_line_is_the_first_that_says_something(void **state)
{
    (void)state;
    assert_true(view_eq(line_first(VIEW("\n \r\n a \r\nb")), VIEW("a")));
    assert_int_equal(line_first(VIEW("\n\n")).size, 0);
    assert_int_equal(line_first(view_str(NULL)).size, 0);
}

static void test_line_ends_follow_the_line_before(void **state)
{
    const struct ethos_view text = VIEW("a\r\nb\nc\r\nd");

    (void)state;
    assert_int_equal(line_end(text, 0).size, 1);
    assert_int_equal(line_end(text, 3).size, 2);
    assert_int_equal(line_end(text, 5).size, 1);
    assert_int_equal(line_end(text, text.size).size, 2);
    assert_int_equal(line_end(VIEW("\n"), 1).size, 1);
    assert_int_equal(line_end(view_str(NULL), 0).size, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_white_space_become_one_blank),
        cmocka_unit_test(test_cuts_fall_on_graphemes_and_show),
        cmocka_unit_test(test_texts_are_the_same_once_collapsed),
        cmocka_unit_test(test_the_first_line_is_the_first_that_says_something),
        cmocka_unit_test(test_line_ends_follow_the_line_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
