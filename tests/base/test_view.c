/*
 * test_view.c: borrowed bytes.
 */
#include "base/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/utf8.h"

static void assert_view(struct ethos_view v, const char *expected)
{
    assert_int_equal(v.size, strlen(expected));
    assert_memory_equal(v.data, expected, v.size);
}

static void test_starts_ends_and_contains(void **state)
{
    struct ethos_view v = VIEW("memory.md");

    (void)state;
    assert_true(view_starts(v, VIEW("mem")));
    assert_false(view_starts(v, VIEW("memory.md5")));
    assert_true(view_ends(v, VIEW(".md")));
    assert_false(view_ends(v, VIEW(".MD")));
    assert_true(view_contains(v, VIEW("ory.")));
    assert_false(view_contains(v, VIEW("ory,")));
    assert_false(view_contains(VIEW("a"), VIEW("ab")));
}

static void test_the_empty_view_is_in_everything(void **state)
{
    struct ethos_view absent = {NULL, 0};

    (void)state;
    assert_true(view_starts(VIEW("x"), absent));
    assert_true(view_ends(VIEW("x"), absent));
    assert_true(view_contains(VIEW("x"), absent));
    assert_true(view_contains(absent, absent));
    assert_false(view_contains(absent, VIEW("x")));
    assert_true(view_blank(absent));
    assert_int_equal(view_trim(absent).size, 0);
    assert_true(view_eq_nocase(absent, VIEW("")));
}

static void test_contains_looks_at_bytes_and_finds_nul(void **state)
{
    (void)state;
    assert_true(view_contains(VIEW("a\0bc"), VIEW("\0b")));
    assert_false(view_contains(VIEW("a\0bc"), VIEW("\0c")));
}

static void test_lines_end_at_lf_and_keep_cr(void **state)
{
    struct ethos_view rest = VIEW("one\r\n\nthree"), line;

    (void)state;
    assert_true(view_line(&rest, &line));
    assert_view(line, "one\r");
    assert_true(view_line(&rest, &line));
    assert_view(line, "");
    assert_true(view_line(&rest, &line));
    assert_view(line, "three");
    assert_false(view_line(&rest, &line));
}

static void test_a_final_lf_starts_no_line(void **state)
{
    struct ethos_view rest = VIEW("a\n"), line;

    (void)state;
    assert_true(view_line(&rest, &line));
    assert_view(line, "a");
    assert_false(view_line(&rest, &line));
}

#define ALL_SPACE                                                                                  \
    "\t\n\v\f\r "                                                                                  \
    "\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028"         \
    "\u2029\u202F\u205F\u3000\uFEFF"

static void test_trim_takes_exactly_the_set_of_the_format(void **state)
{
    size_t count = 0;

    (void)state;
    assert_view(view_trim(VIEW(ALL_SPACE "a b" ALL_SPACE)), "a b");
    assert_true(view_blank(VIEW(ALL_SPACE)));
    assert_view(view_trim_start(VIEW(" a ")), "a ");
    assert_view(view_trim_end(VIEW(" a ")), " a");
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++)
        count += utf8_space(cp);
    assert_int_equal(count, 25);
}

static void test_trim_leaves_nel_zero_width_space_and_nul(void **state)
{
    (void)state;
    assert_view(view_trim(VIEW("\xC2\x85x\u200B")), "\xC2\x85x\u200B");
    assert_int_equal(view_trim(VIEW(" \0 ")).size, 1);
}

static void test_trim_does_not_tear_other_characters(void **state)
{
    (void)state;
    /* The last bytes look like U+00A0 and U+3000 only without their first byte. */
    assert_view(view_trim(VIEW("\u0420")), "\u0420");
    assert_view(view_trim(VIEW("\xE3\x81\x80\x80")), "\xE3\x81\x80\x80");
    assert_view(view_trim(VIEW("\xA0 ")), "\xA0");
    assert_view(view_trim(VIEW("\xE2\x80 ")), "\xE2\x80");
}

static void test_nocase_folds_ascii_only(void **state)
{
    (void)state;
    assert_true(view_eq_nocase(VIEW("SOUL.md"), VIEW("soul.MD")));
    assert_false(view_eq_nocase(VIEW("soul"), VIEW("souls")));
    assert_false(view_eq_nocase(VIEW("\u00C4"), VIEW("\u00E4")));
    assert_false(view_eq_nocase(VIEW("@["), VIEW("`{")));
}

static void test_lines_are_taken_from_the_end(void **state)
{
    struct ethos_view line, rest = VIEW("a\n\nb");
    (void)state;
    assert_true(view_last_line(&rest, &line) && view_eq(line, VIEW("b")));
    assert_true(view_last_line(&rest, &line) && line.size == 0);
    assert_true(view_last_line(&rest, &line) && view_eq(line, VIEW("a")));
    assert_false(view_last_line(&rest, &line));
    rest = VIEW("a\n"); // one line, as from the front
    assert_true(view_last_line(&rest, &line) && view_eq(line, VIEW("a")));
    assert_false(view_last_line(&rest, &line));
}

/* Against one line after the other, for every length and place of LFs that a word can have. */
static void test_many_lines_are_passed_like_one_after_the_other(void **state)
{
    char text[40];
    (void)state;
    for (unsigned bits = 0; bits < 1u << 12; bits++)
        for (size_t size = 0; size <= sizeof text; size += 1 + bits % 3) {
            for (size_t i = 0; i < size; i++)
                text[i] = bits >> (i * 7 % 12) & 1 ? '\n' : (char)(0x0B + 37 * i);
            struct ethos_view all = view_of(text, size), line, one = all;
            size_t lines = 0;
            for (; view_line(&one, &line); lines++) {
                struct ethos_view many = all;
                assert_true(view_skip_lines(&many, lines + 1));
                assert_ptr_equal(many.data, one.data);
            }
            assert_int_equal(view_lines(all), lines);
            struct ethos_view more = all;
            assert_false(view_skip_lines(&more, lines + 1));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_ends_and_contains),
        cmocka_unit_test(test_the_empty_view_is_in_everything),
        cmocka_unit_test(test_contains_looks_at_bytes_and_finds_nul),
        cmocka_unit_test(test_lines_end_at_lf_and_keep_cr),
        cmocka_unit_test(test_a_final_lf_starts_no_line),
        cmocka_unit_test(test_trim_takes_exactly_the_set_of_the_format),
        cmocka_unit_test(test_trim_leaves_nel_zero_width_space_and_nul),
        cmocka_unit_test(test_trim_does_not_tear_other_characters),
        cmocka_unit_test(test_nocase_folds_ascii_only),
        cmocka_unit_test(test_lines_are_taken_from_the_end),
        cmocka_unit_test(test_many_lines_are_passed_like_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
