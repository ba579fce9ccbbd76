/*
 * test_utf8.c: UTF-8 as the memory format counts it.
 *
 * The fast functions are held against one written from the definition: every text is decoded by the
 * table of well-formed sequences in chapter 3 of the Unicode standard.
 */
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- the definition ------------------------------------------------------------------------ */

/* One row of table 3-7: the range of each byte, and how many there are. */
static const struct row {
    size_t size;
    unsigned char low[4], high[4];
} rows[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Bytes of the character: a whole row, else the longest beginning of any row, else one byte. */
static size_t defined_size(struct ethos_view v, bool *out_ok)
{
    size_t longest = 1;

    *out_ok = false;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t fits = 0;

        while (fits < rows[i].size && fits < v.size &&
               (unsigned char)v.data[fits] >= rows[i].low[fits] &&
               (unsigned char)v.data[fits] <= rows[i].high[fits])
            fits++;
        if (fits > longest)
            longest = fits;
        if (fits == rows[i].size)
            *out_ok = true;
    }
    return longest;
}

static uint64_t defined_units(struct ethos_view v, bool *out_valid)
{
    uint64_t units = 0;

    *out_valid = true;
    while (v.size > 0) {
        bool ok;
        size_t size = defined_size(v, &ok);

        units += ok && size == 4 ? 2 : 1;
        *out_valid = *out_valid && ok;
        v = view_from(v, size);
    }
    return units;
}

/* Drops characters from the front until the rest fits. */
static size_t defined_tail(struct ethos_view v, uint64_t units)
{
    bool ok;
    uint64_t left = defined_units(v, &ok);
    size_t at = 0;

    while (left > units) {
        size_t size = defined_size(view_from(v, at), &ok);

        left -= ok && size == 4 ? 2 : 1;
        at += size;
    }
    return at;
}

/* ---- texts --------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Pieces that meet in all the awkward ways when strung together at random. */
static const char *const pieces[] = {
    "a",
    "plain words, many of them, so that blocks are met",
    "\n",
    "\xC3\xA9",
    "\xE4\xB8\xAD",
    "\xF0\x9F\x98\x80",
    "\x80",
    "\xBF\xBF\xBF\xBF\xBF",
    "\xC0\xAF",
    "\xC1",
    "\xE0\x80\x80",
    "\xED\xA0\x80",
    "\xED\x9F",
    "\xF0\x8F\xBF\xBF",
    "\xF4\x90\x80\x80",
    "\xF5\x80",
    "\xF0\x9F\x98",
    "\xF4\x8F\xBF",
    "\xE2\x82",
    "\xEF\xBF\xBD",
    "\xFF",
    "\xEF\xBB\xBF",
};

static void random_text(uint32_t *seed, struct str *out)
{
    size_t count = next_random(seed) % 40;
    bool calm = next_random(seed) % 3 == 0; // mostly ASCII, so that the fast path is taken

    str_clear(out);
    for (size_t i = 0; i < count; i++) {
        size_t pick = next_random(seed) % COUNT(pieces);

        str_adds(out, pieces[calm && next_random(seed) % 8 ? 1 : pick]);
    }
    assert_int_equal(str_code(out), ETHOS_OK);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void test_every_scalar_value_survives_a_round_trip(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char bytes[4];
        uint32_t back;
        bool ok;

        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        size_t size = utf8_put(cp, bytes);
        assert_int_equal(size, cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_decode(bytes, size, &back, &ok), size);
        assert_int_equal(back, cp);
        assert_true(ok);
    }
}

static void test_decoding_agrees_with_the_table_for_all_beginnings(void **state)
{
    static const unsigned char edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90,
                                          0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    char bytes[4];

    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        for (size_t i = 0; i < 1000; i++) {
            bytes[0] = (char)first;
            bytes[1] = (char)edges[i % 10];
            bytes[2] = (char)edges[i / 10 % 10];
            bytes[3] = (char)edges[i / 100];
            for (size_t size = 1; size <= 4; size++) {
                bool ok, defined_ok;
                uint32_t cp;
                size_t expected = defined_size(view_of(bytes, size), &defined_ok);

                assert_int_equal(utf8_decode(bytes, size, &cp, &ok), expected);
                assert_int_equal(ok, defined_ok);
                if (!ok)
                    assert_int_equal(cp, UTF8_REPLACEMENT);
            }
        }
    }
}

static void test_a_real_replacement_character_is_told_from_an_invalid_one(void **state)
{
    uint32_t cp;
    bool ok;

    (void)state;
    assert_int_equal(utf8_decode("\xEF\xBF\xBD", 3, &cp, &ok), 3);
    assert_true(ok);
    assert_int_equal(cp, 0xFFFD);
    assert_int_equal(utf8_decode("\xEF\xBF", 2, &cp, &ok), 2);
    assert_false(ok);
    assert_int_equal(utf8_decode("x", 1, &cp, NULL), 1);
}

static void test_units_are_those_of_utf16(void **state)
{
    (void)state;
    assert_int_equal(utf8_units(VIEW("")), 0);
    assert_int_equal(utf8_units(VIEW("abc\n")), 4);
    assert_int_equal(utf8_units(VIEW("\u00E9\u4E2D")), 2);
    assert_int_equal(utf8_units(VIEW("\U0001F600")), 2);
    assert_int_equal(utf8_units(VIEW("\xF0\x9F\x98")), 1);
    assert_int_equal(utf8_units(VIEW("\xED\xA0\x80")), 3);
    assert_int_equal(utf8_units(VIEW("\xF4\x90\x80\x80")), 4);
    assert_int_equal(utf8_units(VIEW("\xC0\xAF")), 2);
}

static void test_units_validity_and_ascii_agree_with_the_definition(void **state)
{
    uint32_t seed = 1;
    struct str text;

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < 4000; i++) {
        bool valid, ascii = true;

        random_text(&seed, &text);
        struct ethos_view v = str_view(&text);
        for (size_t j = 0; j < v.size; j++)
            ascii = ascii && (unsigned char)v.data[j] < 0x80;
        assert_int_equal(utf8_units(v), defined_units(v, &valid));
        assert_int_equal(utf8_valid(v), valid);
        assert_int_equal(utf8_ascii(v), ascii);
    }
    str_release(&text);
}

/* Two pieces behind `before` letters and in front of `after`, in memory of exactly that size. */
static void check_pair(const char *one, const char *two, size_t before, size_t after)
{
    static const char letters[32] = "abcdefghijklmnopqrstuvwxyzabcdef";
    struct str text;
    uint64_t units = 0;
    bool valid, unseen;

    str_init(&text, 1000);
    str_add(&text, view_of(letters, before));
    str_adds(&text, one);
    str_adds(&text, two);
    str_add(&text, view_of(letters, after));
    char *exact = malloc(text.size + 1); // no byte may be read behind its end: ASan looks
    assert_non_null(exact);
    struct ethos_view v = view_of(memcpy(exact + 1, text.data, text.size), text.size);
    uint64_t defined = defined_units(v, &valid);
    assert_int_equal(utf8_measure(v, &units, &unseen), valid);
    if (valid)
        assert_int_equal(units, defined);
    assert_int_equal(utf8_units(v), defined);
    free(exact);
    str_release(&text);
}

static void test_a_character_is_judged_the_same_wherever_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pieces) * COUNT(pieces); i++) {
        for (size_t before = 0; before < 20; before++) {
            check_pair(pieces[i / COUNT(pieces)], pieces[i % COUNT(pieces)], before, 0);
            check_pair(pieces[i / COUNT(pieces)], pieces[i % COUNT(pieces)], before, 32);
        }
    }
}

static void test_one_high_byte_anywhere_is_not_ascii(void **state)
{
    char text[400];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_true(utf8_ascii(view_of(text, sizeof(text))));
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = '\x80';
        assert_false(utf8_ascii(view_of(text, sizeof(text))));
        assert_false(utf8_valid(view_of(text, sizeof(text))));
        assert_true(utf8_ascii(view_of(text, i)));
        text[i] = '\x7F';
    }
}

static void test_lengths_of_lines_add_up(void **state)
{
    uint32_t seed = 2;
    struct str text;

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < 500; i++) {
        uint64_t sum = 0;
        struct ethos_view line;

        random_text(&seed, &text);
        str_addc(&text, '\n');
        struct ethos_view rest = str_view(&text);
        while (view_line(&rest, &line))
            sum += utf8_units(line) + 1;
        assert_int_equal(sum, utf8_units(str_view(&text)));
    }
    str_release(&text);
}

static void test_going_back_meets_the_same_characters(void **state)
{
    uint32_t seed = 3;
    struct str text;
    static size_t starts[100000];

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < 1000; i++) {
        size_t count = 0;
        bool ok;

        random_text(&seed, &text);
        struct ethos_view v = str_view(&text);
        for (size_t at = 0; at < v.size; at += defined_size(view_from(v, at), &ok))
            starts[count++] = at;
        for (size_t at = v.size; at > 0; at = starts[count])
            assert_int_equal(utf8_before(v, at), starts[--count]);
        assert_int_equal(count, 0);
    }
    str_release(&text);
}

static void test_tail_is_the_longest_that_fits(void **state)
{
    uint32_t seed = 4;
    struct str text;

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < 150; i++) {
        bool ok;

        random_text(&seed, &text);
        struct ethos_view v = str_view(&text);
        uint64_t all = defined_units(v, &ok);
        for (uint64_t units = 0; units <= all + 1; units += 1 + all / 50)
            assert_int_equal(utf8_tail(v, units), defined_tail(v, units));
    }
    str_release(&text);
}

static void test_tail_does_not_split_a_surrogate_pair(void **state)
{
    (void)state;
    assert_int_equal(utf8_tail(VIEW("a\U0001F600"), 0), 5);
    assert_int_equal(utf8_tail(VIEW("a\U0001F600"), 1), 5);
    assert_int_equal(utf8_tail(VIEW("a\U0001F600"), 2), 1);
    assert_int_equal(utf8_tail(VIEW("a\U0001F600"), 3), 0);
    assert_int_equal(utf8_tail(VIEW(""), 5), 0);
    assert_int_equal(utf8_head(VIEW("\U0001F600a"), 1), 0);
    assert_int_equal(utf8_head(VIEW("\U0001F600a"), 2), 4);
    assert_int_equal(utf8_head(VIEW("\U0001F600a"), 9), 5);
    assert_int_equal(utf8_head(VIEW("\xff\xffx"), 2), 2);
    assert_int_equal(utf8_head(VIEW(""), 5), 0);
}

static void test_tail_finds_the_one_character_among_stray_bytes(void **state)
{
    char text[1200];
    const uint64_t size = sizeof(text);

    (void)state;
    for (uint64_t lead = 600; lead < 960; lead += 5) {
        uint64_t after = size - lead - 4; // stray bytes behind the character, one unit each

        memset(text, '\x80', sizeof(text));
        text[lead] = '\xF1';
        for (uint64_t units = 200; units < 800; units += 3) {
            uint64_t expected = units <= after       ? size - units
                                : units == after + 1 ? lead + 4
                                                     : lead - (units - after - 2);

            assert_int_equal(utf8_tail(view_of(text, sizeof(text)), units), expected);
        }
    }
}

static void assert_sanitized(struct ethos_view v, const char *expected)
{
    struct str out;

    str_init(&out, 1000);
    assert_int_equal(utf8_sanitize(v, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_each_maximal_subpart_becomes_one_replacement(void **state)
{
    (void)state;
    assert_sanitized(VIEW("plain"), "plain");
    assert_sanitized(VIEW(""), "");
    assert_sanitized(VIEW("a\x80z"), "a\uFFFDz");
    /* The examples of section 3.9 of the standard. */
    assert_sanitized(VIEW("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
                     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
    assert_sanitized(VIEW("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
                     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
    assert_sanitized(VIEW("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
                     "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB");
    assert_sanitized(VIEW("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFDA");
}

static void test_sanitized_text_is_valid_and_as_long_as_it_counted(void **state)
{
    uint32_t seed = 5;
    struct str text, clean;

    (void)state;
    str_init(&text, 100000);
    str_init(&clean, 300000);
    for (int i = 0; i < 1000; i++) {
        random_text(&seed, &text);
        str_clear(&clean);
        assert_int_equal(utf8_sanitize(str_view(&text), &clean), ETHOS_OK);
        assert_true(utf8_valid(str_view(&clean)));
        assert_int_equal(utf8_units(str_view(&clean)), utf8_units(str_view(&text)));
    }
    str_release(&text);
    str_release(&clean);
}

static void test_sanitize_reports_a_full_buffer(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 4);
    assert_int_equal(utf8_sanitize(VIEW("ab\xFF"), &out), ETHOS_LIMIT);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_scalar_value_survives_a_round_trip),
        cmocka_unit_test(test_decoding_agrees_with_the_table_for_all_beginnings),
        cmocka_unit_test(test_a_real_replacement_character_is_told_from_an_invalid_one),
        cmocka_unit_test(test_units_are_those_of_utf16),
        cmocka_unit_test(test_units_validity_and_ascii_agree_with_the_definition),
        cmocka_unit_test(test_a_character_is_judged_the_same_wherever_it_stands),
        cmocka_unit_test(test_one_high_byte_anywhere_is_not_ascii),
        cmocka_unit_test(test_lengths_of_lines_add_up),
        cmocka_unit_test(test_going_back_meets_the_same_characters),
        cmocka_unit_test(test_tail_is_the_longest_that_fits),
        cmocka_unit_test(test_tail_does_not_split_a_surrogate_pair),
        cmocka_unit_test(test_tail_finds_the_one_character_among_stray_bytes),
        cmocka_unit_test(test_each_maximal_subpart_becomes_one_replacement),
        cmocka_unit_test(test_sanitized_text_is_valid_and_as_long_as_it_counted),
        cmocka_unit_test(test_sanitize_reports_a_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
