/*
 * test_split.c: texts as the parts that a platform takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "base/view.h"
#include "gateway/split.h"

#define MOST (1u << 24)

/* The parts, each followed by "|"; every one fits. */
static char *parts_of(const char *text, unsigned limit)
{
    struct splitter splitter;
    struct str part, all;
    str_init(&part, MOST);
    str_init(&all, MOST);
    splitter_init(&splitter, view_str(text), limit);
    while (splitter_next(&splitter, &part)) {
        assert_true(utf8_units(str_view(&part)) <= limit);
        assert_true(utf8_valid(str_view(&part)));
        assert_false(view_blank(str_view(&part)));
        str_printf(&all, "%s|", part.data);
    }
    str_release(&part);
    return str_steal(&all, NULL);
}

static void assert_parts(const char *text, unsigned limit, const char *expected)
{
    char *parts = parts_of(text, limit);
    assert_string_equal(parts, expected);
    free(parts);
}

static void test_a_short_text_is_one_part(void **state)
{
    (void)state;
    assert_parts("Hello.", 100, "Hello.|");
    assert_parts("  Hello.\n\n", 100, "Hello.|");
    assert_parts(" \n", 100, "");
}

static void test_a_part_ends_where_people_would_end_it(void **state)
{
    (void)state;
    assert_parts("First paragraph here.\n\nSecond paragraph is here too.", 40,
                 "First paragraph here.|Second paragraph is here too.|");
    assert_parts("The first line goes here\nand the second line is here", 40,
                 "The first line goes here|and the second line is here|");
    assert_parts("One sentence and one more. Then another sentence follows.", 40,
                 "One sentence and one more.|Then another sentence follows.|");
    assert_parts("word word word word word word word word word", 30,
                 "word word word word|word word word word word|");
}

static void test_an_address_stays_whole(void **state)
{
    (void)state;
    assert_parts("See the page at https://example.com/a/long/path?q=1 for more.", 50,
                 "See the page at|https://example.com/a/long/path?q=1 for more.|");
}

static void test_units_are_those_of_utf16(void **state)
{
    /* 40 faces are 80 units; a pair is never cut, nor what people see as one character. */
    (void)state;
    char text[40 * 4 + 1] = "";
    for (int i = 0; i < 40; i++)
        memcpy(text + (size_t)i * 4, "\xF0\x9F\x98\x80", 4);
    text[sizeof text - 1] = '\0';
    char *parts = parts_of(text, 33);
    size_t faces = 0;
    for (const char *at = parts; *at; at++)
        faces += *at == '\xF0';
    assert_int_equal(faces, 40);
    free(parts);
    /* A family is five code points that are joined: 8 units. */
    char family[19 * 12 + 1] = "";
    for (int i = 0; i < 12; i++)
        memcpy(family + (size_t)i * 18,
               "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7", 18);
    parts = parts_of(family, 45);
    assert_null(strstr(parts, "\xE2\x80\x8D|"));
    assert_null(strstr(parts, "|\xE2\x80\x8D"));
    free(parts);
}

static void test_code_that_is_cut_is_closed_and_opened(void **state)
{
    struct str text;
    (void)state;
    str_init(&text, MOST);
    str_adds(&text, "Look:\n\n```python\n");
    for (int i = 0; i < 60; i++)
        str_printf(&text, "line_%02d = %d\n", i, i);
    str_adds(&text, "```\n\nThat is all.");
    struct splitter splitter;
    struct str part;
    size_t count = 0, lines = 0;
    str_init(&part, MOST);
    splitter_init(&splitter, str_view(&text), 300);
    while (splitter_next(&splitter, &part)) {
        size_t fences = 0;
        for (const char *at = part.data; (at = strstr(at, "```")); at += 3)
            fences++;
        assert_int_equal(fences % 2, 0);
        assert_true(utf8_units(str_view(&part)) <= 300);
        if (count > 0 && strstr(part.data, "line_"))
            assert_int_equal(strncmp(part.data, "```python\n", 10), 0);
        for (const char *at = part.data; (at = strstr(at, "line_")); at++)
            lines++;
        count++;
    }
    assert_true(count >= 3);
    assert_int_equal(lines, 60);
    str_release(&part);
    str_release(&text);
}

static void test_nothing_is_lost_whatever_the_text(void **state)
{
    /* Everything but blanks and fences comes out again, in order. */
    (void)state;
    srand(7);
    for (int round = 0; round < 400; round++) {
        static const char *const pieces[] = {"word",     " ",
                                             "\n",       "\n\n",
                                             ". ",       "\xF0\x9F\x98\x80",
                                             "\xC3\xBC", "https://x.example/abc",
                                             "\n```c\n", "\n```\n"};
        struct str text;
        size_t given = 0, found = 0;
        str_init(&text, MOST);
        for (int i = 0, n = rand() % 300; i < n; i++)
            str_adds(&text, pieces[(size_t)rand() % (sizeof pieces / sizeof *pieces)]);
        char *parts = parts_of(text.data, 200u + (unsigned)(rand() % 100));
        for (const char *at = text.data; (at = strstr(at, "word")); at++)
            given++;
        for (const char *at = parts; (at = strstr(at, "word")); at++)
            found++;
        assert_int_equal(given, found);
        free(parts);
        str_release(&text);
    }
}

static void test_a_text_without_a_place_to_cut_is_linear(void **state)
{
    struct str text;
    (void)state;
    str_init(&text, MOST);
    for (int i = 0; i < 1000000; i++)
        str_addc(&text, 'a');
    char *parts = parts_of(text.data, 4096);
    assert_int_equal(strlen(parts), 1000000 + (1000000 + 3680) / 3681);
    free(parts);
    str_release(&text);
}

static void test_a_preview_is_cut_with_an_ellipsis(void **state)
{
    struct str out;
    (void)state;
    str_init(&out, MOST);
    split_preview(VIEW("I am think"), 100, &out);
    assert_string_equal(out.data, "I am think \xE2\x80\xA6");
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_short_text_is_one_part),
        cmocka_unit_test(test_a_part_ends_where_people_would_end_it),
        cmocka_unit_test(test_an_address_stays_whole),
        cmocka_unit_test(test_units_are_those_of_utf16),
        cmocka_unit_test(test_code_that_is_cut_is_closed_and_opened),
        cmocka_unit_test(test_nothing_is_lost_whatever_the_text),
        cmocka_unit_test(test_a_text_without_a_place_to_cut_is_linear),
        cmocka_unit_test(test_a_preview_is_cut_with_an_ellipsis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
