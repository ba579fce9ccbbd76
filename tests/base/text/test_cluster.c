/*
 * test_cluster.c: clusters and their columns.
 */
#include "base/text/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"

#define FAMILY "\U0001F468\u200D\U0001F469\u200D\U0001F467"
#define HEART "\u2764\uFE0F"
#define TONED "\U0001F44D\U0001F3FD"

static void test_clusters_end_where_a_person_sees_an_end(void **state)
{
    static const struct {
        const char *text;
        size_t first;
    } cases[] = {{"ab", 1},
                 {"e\u0301x", 3},
                 {FAMILY "x", 18},
                 {HEART "x", 6},
                 {TONED "x", 8},
                 {"\u4E2Dx", 3},
                 {"\r\nx", 2},
                 {"a\u0301\u0302", 5},
                 {"\xFF"
                  "a",
                  1},
                 {"\u0E01\u0E33", 6}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cluster_end(view_str(cases[i].text), 0), cases[i].first);
}

static void test_columns_are_those_of_most_terminals(void **state)
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {{"abc", 3},           {"\u4E2D\u6587", 4},
                 {"e\u0301", 1},       {"\u0915\u094D\u0937", 2}, // Devanagari: as tmux counts
                 {"\u0E01\u0E33", 2},  {"\u1112\u1161\u11AB", 2},
                 {"\uFF76", 1},        {HEART, 2},
                 {"1\uFE0F\u20E3", 2}, {TONED, 2},
                 {FAMILY, 2},          {"\U0001F1E9\U0001F1EA", 2}};
    struct cluster_widths widths;
    (void)state;
    cluster_widths_init(&widths);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(cluster_text_width(&widths, view_str(cases[i].text)), cases[i].width);
    cluster_widths_release(&widths);
}

static void test_emoji_take_what_the_terminal_says(void **state)
{
    struct cluster_widths widths;
    (void)state;
    cluster_widths_init(&widths);
    widths.emoji_is_two = widths.tone_is_none = widths.joined_is_two = false;
    assert_int_equal(cluster_text_width(&widths, view_str(HEART)), 1);
    assert_int_equal(cluster_text_width(&widths, view_str(TONED)), 4);
    assert_int_equal(cluster_text_width(&widths, view_str(FAMILY)), 6);
    cluster_widths_release(&widths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters_end_where_a_person_sees_an_end),
        cmocka_unit_test(test_columns_are_those_of_most_terminals),
        cmocka_unit_test(test_emoji_take_what_the_terminal_says)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
