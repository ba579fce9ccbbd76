/*
 * test_unicode.c: graphemes, normal forms, width.
 */
#include "base/text/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- graphemes ----------------------------------------------------------------------------- */

/* A bar stands where a boundary is expected: "a|b". Every offset is asked for. */
static void assert_clusters(const char *barred)
{
    char text[200];
    bool boundary[200] = {true};
    size_t size = 0;

    for (const char *at = barred; *at; at++) {
        if (*at == '|')
            boundary[size] = true;
        else
            text[size++] = *at;
    }
    boundary[size] = true;
    for (size_t at = 0; at <= size; at++) {
        size_t expected = at;

        while (!boundary[expected])
            expected++;
        assert_int_equal(unicode_boundary(view_of(text, size), at), expected);
    }
}

static void test_clusters_stay_whole_from_every_offset(void **state)
{
    (void)state;
    assert_clusters("");
    assert_clusters("a|b|c");
    assert_clusters("a|\n|b");
    assert_clusters("a|\r\n|b|\n|\r");
    assert_clusters("\u4E2D|\u6587");
    assert_clusters("e\u0301|x");                                      // combining accent
    assert_clusters("a\u0301\u0302\u0303|b");                          // several
    assert_clusters("\U0001F600|\U0001F600");                          // two faces
    assert_clusters("\U0001F44D\U0001F3FD|x");                         // skin tone
    assert_clusters("a|\U0001F468\u200D\U0001F469\u200D\U0001F467|b"); // family
    assert_clusters("\u2764\uFE0F\u200D\U0001F525|!");                 // heart on fire
    assert_clusters("\U0001F1E9\U0001F1EA|\U0001F1EB\U0001F1F7|x");    // two flags
    assert_clusters("x|\U0001F1E9\U0001F1EA|\U0001F1EB");              // a flag and a half
    assert_clusters("\u1100\u1161\u11A8|\uAC00\u11A8|\u1100");         // Hangul
    assert_clusters("\u0E01\u0E33|\u0E02");                            // Thai
    assert_clusters("\u0928\u093F|\u0938");                            // Devanagari
    assert_clusters("a\u200D|b");                                      // joiner without picture
}

static void test_invalid_bytes_stand_alone(void **state)
{
    (void)state;
    assert_clusters("a|\x80|\x80|b");
    assert_clusters("a|\xE2\x82|b");
    assert_clusters("\xFF|\u0301|b"); // no mark joins an invalid byte
    assert_clusters("\xF0\x9F\x98|\u0301");
    assert_clusters("\u200D|\xC3|\U0001F469");
}

static void test_a_line_feed_is_always_a_boundary(void **state)
{
    (void)state;
    assert_clusters("\n|\u0301|\n|\u200D|\n");
}

static const char *const pieces[] = {
    "a",          "\n",         "\r",         "e\u0301", "\u0301",     "\u200D", "\U0001F469",
    "\U0001F3FD", "\U0001F1E9", "\U0001F1EA", "\u4E2D",  "\uFE0F",     "\u0928", "\u093F",
    "\u094D",     "\u1100",     "\u1161",     "\u0600",  "\U0001F600", "\u0E33",
};

/* Boundaries by one pass from the start, as the library documents it. */
static size_t first_boundary(struct ethos_view v, size_t at)
{
    utf8proc_int32_t state = 0;
    uint32_t left, right;

    for (size_t i = utf8_decode(v.data, v.size, &left, NULL); i < v.size; left = right) {
        size_t size = utf8_decode(v.data + i, v.size - i, &right, NULL);
        bool here = utf8proc_grapheme_break_stateful((utf8proc_int32_t)left,
                                                     (utf8proc_int32_t)right, &state);

        if (here && i >= at)
            return i;
        i += size;
    }
    return v.size;
}

static void test_starting_in_the_middle_agrees_with_one_pass_from_the_start(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct str text;

        str_init(&text, 1000);
        for (int j = 0; j < 16; j++) {
            seed = seed * 1664525 + 1013904223;
            str_adds(&text, pieces[(seed >> 8) % COUNT(pieces)]);
        }
        for (size_t at = 1; at <= text.size; at++)
            assert_int_equal(unicode_boundary(str_view(&text), at),
                             first_boundary(str_view(&text), at));
        str_release(&text);
    }
}

static void test_offsets_beyond_the_end_give_the_end(void **state)
{
    (void)state;
    assert_int_equal(unicode_boundary(VIEW("abc"), 99), 3);
    assert_int_equal(unicode_boundary((struct ethos_view){NULL, 0}, 0), 0);
}

/* ---- normal forms -------------------------------------------------------------------------- */

typedef int form_fn(struct ethos_view v, struct str *out);

static void assert_form(form_fn *form, struct ethos_view v, const char *expected)
{
    struct str out;

    str_init(&out, 1000);
    str_addc(&out, '>');
    assert_int_equal(form(v, &out), ETHOS_OK);
    assert_string_equal(out.data + 1, expected);
    str_release(&out);
}

static void test_nfc_composes(void **state)
{
    (void)state;
    assert_form(unicode_nfc, VIEW("plain"), "plain");
    assert_form(unicode_nfc, VIEW(""), "");
    assert_form(unicode_nfc, VIEW("e\u0301"), "\u00E9");
    assert_form(unicode_nfc, VIEW("a\u0327\u0301"), "\u00E1\u0327");
    assert_form(unicode_nfc, VIEW("\u1100\u1161"), "\uAC00");
    assert_form(unicode_nfc, VIEW("\uFB01"), "\uFB01");
    assert_form(unicode_nfc, VIEW("\u212B"), "\u00C5");
}

static void test_nfkd_decomposes_and_folds_compatibility(void **state)
{
    (void)state;
    assert_form(unicode_nfkd, VIEW("\u00E9"), "e\u0301");
    assert_form(unicode_nfkd, VIEW("\uFB01 \u2460 \u00BD"), "fi 1 1\u20442");
    assert_form(unicode_nfkd, VIEW("\uAC00"), "\u1100\u1161");
}

static void test_invalid_sequences_become_the_replacement(void **state)
{
    (void)state;
    assert_form(unicode_nfc, VIEW("e\u0301\xFF"), "\u00E9\uFFFD");
    assert_form(unicode_nfkd, VIEW("\xE2\x82x"), "\uFFFDx");
}

static void test_a_full_buffer_is_a_limit(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 2);
    assert_int_equal(unicode_nfkd(VIEW("\u00E9"), &out), ETHOS_LIMIT);
    assert_string_equal(out.data, "");
    str_release(&out);
}

static void test_every_failing_allocation_is_nomem(void **state)
{
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;

        str_init(&out, 1000);
        code = unicode_nfc(VIEW("e\u0301\xFF and more, so that memory is needed"), &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
}

/* ---- single characters --------------------------------------------------------------------- */

static void test_lower_case_is_by_character(void **state)
{
    (void)state;
    assert_int_equal(unicode_lower('A'), 'a');
    assert_int_equal(unicode_lower(0x00C4), 0x00E4);
    assert_int_equal(unicode_lower(0x0130), 'i');
    assert_int_equal(unicode_lower(0x4E2D), 0x4E2D);
}

static void test_marks_letters_and_digits(void **state)
{
    (void)state;
    assert_true(unicode_is_mark(0x0301));
    assert_true(unicode_is_mark(0x093F));
    assert_true(unicode_is_mark(0x20DD));
    assert_false(unicode_is_mark('a'));
    assert_true(unicode_is_letter_or_digit('a'));
    assert_true(unicode_is_letter_or_digit('7'));
    assert_true(unicode_is_letter_or_digit(0x4E2D));
    assert_true(unicode_is_letter_or_digit(0x0663));
    assert_true(unicode_is_letter_or_digit(0x2460));
    assert_false(unicode_is_letter_or_digit('-'));
    assert_false(unicode_is_letter_or_digit(0x0301));
    assert_false(unicode_is_letter_or_digit(0x1F600));
}

static void test_kinds_tell_accents_from_vowels_and_symbols_from_drawings(void **state)
{
    (void)state;
    assert_int_equal(unicode_kind('a'), UNICODE_LETTER);
    assert_int_equal(unicode_kind(0x0664), UNICODE_LETTER); // a digit
    assert_int_equal(unicode_kind(' '), UNICODE_OTHER);
    assert_int_equal(unicode_kind(0x2014), UNICODE_OTHER);
    assert_int_equal(unicode_kind(0x0301), UNICODE_ACCENT);
    assert_int_equal(unicode_kind(0x064E), UNICODE_ACCENT); // an Arabic vowel point
    assert_int_equal(unicode_kind(0x0640), UNICODE_ACCENT); // tatweel
    assert_int_equal(unicode_kind(0x0940), UNICODE_MARK);   // a Devanagari vowel
    assert_int_equal(unicode_kind(0x0E35), UNICODE_MARK);   // a Thai vowel
    assert_int_equal(unicode_kind(0x3099), UNICODE_MARK);
    assert_int_equal(unicode_kind(0x1F389), UNICODE_SYMBOL);
    assert_int_equal(unicode_kind(0x1FAFF), UNICODE_SYMBOL); // younger than the tables
    assert_int_equal(unicode_kind(0x2500), UNICODE_OTHER);
    assert_int_equal(unicode_kind(0xFFFD), UNICODE_OTHER);
}

static void test_folding_gives_what_a_character_stands_for(void **state)
{
    uint32_t out[UNICODE_FOLD_MAX];
    (void)state;
    assert_int_equal(unicode_fold(0x00C9, out), 2); // É
    assert_int_equal(out[0], 'e');
    assert_int_equal(out[1], 0x0301);
    assert_int_equal(unicode_fold(0xFB03, out), 3); // ffi
    assert_int_equal(out[2], 'i');
    assert_int_equal(unicode_fold(0x200D, out), 0);
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++)
        assert_true(unicode_fold(cp, out) <= UNICODE_FOLD_MAX);
    assert_int_equal(unicode_fold(0xFDFA, out), 18); // the longest
}

static void test_two_characters_make_one(void **state)
{
    (void)state;
    assert_int_equal(unicode_compose('e', 0x0301), 0x00E9);
    assert_int_equal(unicode_compose(0x304B, 0x3099), 0x304C);
    assert_int_equal(unicode_compose(0x1112, 0x1161), 0xD558);
    assert_int_equal(unicode_compose(0xD558, 0x11AB), 0xD55C);
    assert_int_equal(unicode_compose('a', 'b'), 0);
}

static void test_width_counts_columns(void **state)
{
    (void)state;
    assert_int_equal(unicode_width('a'), 1);
    assert_int_equal(unicode_width(0x4E2D), 2);
    assert_int_equal(unicode_width(0x1F600), 2);
    assert_int_equal(unicode_width(0x0301), 0);
    assert_int_equal(unicode_width(0x200B), 0);
    assert_int_equal(unicode_width(0x1B), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters_stay_whole_from_every_offset),
        cmocka_unit_test(test_invalid_bytes_stand_alone),
        cmocka_unit_test(test_a_line_feed_is_always_a_boundary),
        cmocka_unit_test(test_starting_in_the_middle_agrees_with_one_pass_from_the_start),
        cmocka_unit_test(test_offsets_beyond_the_end_give_the_end),
        cmocka_unit_test(test_nfc_composes),
        cmocka_unit_test(test_nfkd_decomposes_and_folds_compatibility),
        cmocka_unit_test(test_invalid_sequences_become_the_replacement),
        cmocka_unit_test(test_a_full_buffer_is_a_limit),
        cmocka_unit_test(test_every_failing_allocation_is_nomem),
        cmocka_unit_test(test_lower_case_is_by_character),
        cmocka_unit_test(test_marks_letters_and_digits),
        cmocka_unit_test(test_kinds_tell_accents_from_vowels_and_symbols_from_drawings),
        cmocka_unit_test(test_folding_gives_what_a_character_stands_for),
        cmocka_unit_test(test_two_characters_make_one),
        cmocka_unit_test(test_width_counts_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
