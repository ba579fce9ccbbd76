/*
 * test_words.c: the words of a text, in many scripts.
 */
#include "core/search/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/*
 * ---- words as text: a pair that is joined has a + before it, a tail a ~, a sign a ! ----------
 */

static int write_word(void *arg, const struct word *word)
{
    struct str *out = arg;
    if (out->size > 0)
        str_addc(out, ' ');
    str_adds(out, word->joined ? "+" : word->tail ? "~" : word->aside ? "!" : "");
    str_add(out, word->folded);
    assert_true(word->folded.size > 0 && word->folded.size <= WORDS_MAX);
    assert_true(word->start < word->end);
    return 0;
}

static void assert_view(struct ethos_view text, const char *expected)
{
    struct str out;
    str_init(&out, (size_t)1 << 20);
    assert_int_equal(words_each(text, write_word, &out), ETHOS_OK);
    assert_int_equal(str_code(&out), ETHOS_OK);
    if (strcmp(out.data, expected) != 0)
        fail_msg("'%.*s' gave '%s' expected '%s'", VIEW_ARG(text), out.data, expected);
    str_release(&out);
}

static void assert_words(const char *text, const char *expected)
{
    assert_view(view_str(text), expected);
}

/* ---- ASCII ----------------------------------------------------------------------------------- */

static void test_words_of_ascii_are_runs_of_letters_and_digits(void **state)
{
    (void)state;
    assert_words("", "");
    assert_words(" \t\n.,;", "");
    assert_words("Running the Deployment", "running the deployment");
    assert_words("foo-bar baz", "foo bar baz");
    assert_words("he said \"hi\"", "he said hi");
    assert_words("x", "x");
    assert_words("a:b ^c* -d NEAR/2 (AND", "a b c d near 2 and");
}

static void test_identifiers_versions_addresses_and_paths_fall_into_their_parts(void **state)
{
    (void)state;
    assert_words("snake_case camelCase SCREAMING_CASE", "snake case camelcase screaming case");
    assert_words("v1.2.3-rc1", "v1 2 3 rc1");
    assert_words("Somebody@example.com", "somebody example com");
    assert_words("/usr/share/doc/x.txt C:\\Temp", "usr share doc x txt c temp");
    assert_words("don't", "don t");
}

static void test_nul_and_controls_separate(void **state)
{
    (void)state;
    assert_view(VIEW("a\0b\x01"
                     "c\x7f"
                     "d"),
                "a b c d");
}

static void test_invalid_utf8_separates_and_is_no_word(void **state)
{
    (void)state;
    assert_words("a\xff"
                 "b\xc3",
                 "a b");
    assert_words("\xed\xa0\x80", "");
    assert_words("\xf0\x9f", "");
    assert_words("a\xef\xbf\xbd"
                 "b",
                 "a b");
}

/* ---- folding --------------------------------------------------------------------------------- */

static void test_accents_are_taken_away_composed_or_not(void **state)
{
    (void)state;
    assert_words("Café", "cafe");
    assert_words("Cafe\xcc\x81", "cafe");
    assert_words("Đà Nẵng, Tiếng Việt", "da nang tieng viet");
    assert_words("Łódź Øre Ærø Œuvre", "lodz ore aero oeuvre");
    assert_words("Ёлка й", "елка и");
    assert_words("Άθήνα Σίσυφος", "αθηνα σισυφοσ");
}

static void test_turkish_i_is_i_with_and_without_dot(void **state)
{
    (void)state;
    assert_words("İstanbul ISTANBUL istanbul", "istanbul istanbul istanbul");
    assert_words("DIYARBAKIR diyarbakır", "diyarbakir diyarbakir");
}

static void test_sharp_s_ligatures_and_full_width_are_plain_letters(void **state)
{
    (void)state;
    assert_words("Straße STRASSE ẞ", "strasse strasse ss");
    assert_words("ﬁle oﬃce", "file office");
    assert_words("Ｈｅｌｌｏ　１２３", "hello 123");
    assert_words("x² ①", "x2 1");
    assert_words("℡", "tel");
}

static void test_arabic_and_hebrew_lose_points_and_tatweel(void **state)
{
    (void)state;
    assert_words("مُحَمَّد", "محمد");
    assert_words("مـــحمد", "محمد");
    assert_words("أحمد إلى آن", "احمد الى ان");
    assert_words("שָׁלוֹם", "שלום");
}

static void test_vowel_signs_of_indic_scripts_stay(void **state)
{
    (void)state;
    assert_words("हिन्दी की", "हिन्दी की");
    assert_words("தமிழ்", "தமிழ்");
}

static void test_what_shows_nothing_does_not_separate(void **state)
{
    (void)state;
    assert_words("soft\xc2\xadhyphen", "softhyphen");
    assert_words("zero\xe2\x80\x8bwidth", "zerowidth");
    assert_words("\xef\xbb\xbf"
                 "bom",
                 "!\xef\xbb\xbf bom");
}

static void test_signs_are_given_aside(void **state)
{
    (void)state;
    assert_words("a — b", "a !— b");
    assert_words("a…b", "a !… b");
    assert_words("a - b\u00A0c\u3000d", "a b c d");
    assert_words("\u0301 a\u0301", "!\u0301 a");
}

/* ---- scripts without blanks ------------------------------------------------------------------ */

static void test_unspaced_scripts_give_pairs_and_the_last_character(void **state)
{
    (void)state;
    assert_words("日本語", "日本 +本語 ~語");
    assert_words("語", "語");
    assert_words("日本", "日本 ~本");
    assert_words("日本語テキスト", "日本 +本語 +語テ +テキ +キス +スト ~ト");
    assert_words("日本 語", "日本 ~本 語");
    assert_words("日本、語学", "日本 ~本 !、 語学 ~学");
    assert_words("𠀀𠀁", "𠀀𠀁 ~𠀁");
}

static void test_hangul_is_made_of_syllables_composed_or_not(void **state)
{
    (void)state;
    assert_words("한국어 말", "한국 +국어 ~어 말");
    assert_words("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xae\xe1\x86\xa8", // 한국
                 "한국 ~국");
}

static void test_kana_is_the_same_in_every_width_and_form(void **state)
{
    (void)state;
    assert_words("ガギ", "ガギ ~ギ");
    assert_words("ｶﾞｷﾞ", "ガギ ~ギ");
    assert_words("カ\xe3\x82\x99キ\xe3\x82\x99", "ガギ ~ギ");
    assert_words("がか", "がか ~か");
    assert_words("ラーメン・カレー", "ラー +ーメ +メン ~ン !・ カレ +レー ~ー");
}

static void test_thai_lao_khmer_and_burmese_are_unspaced(void **state)
{
    (void)state;
    assert_words("ไทย", "ไท +ทย ~ย");
    assert_words("ລາວ", "ລາ +າວ ~ວ");
    assert_words("ខ្មែរ", "ខ្ +្ម +មែ +ែរ ~រ");
    assert_words("မြန်", "မြ +ြန +န် ~်");
}

static void test_scripts_that_touch_are_different_words(void **state)
{
    (void)state;
    assert_words("foo日本bar", "foo 日本 ~本 bar");
    assert_words("iPhone用", "iphone 用");
    assert_words("株式会社㍿", "株式 +式会 +会社 +社株 +株式 +式会 +会社 ~社");
}

/* ---- symbols --------------------------------------------------------------------------------- */

static void test_a_symbol_is_a_word_and_drawings_are_not(void **state)
{
    (void)state;
    assert_words("done🎉🎉", "done 🎉 🎉");
    assert_words("👍🏽 ❤️ 👩‍💻", "👍 !🏽 ❤ !\uFE0F 👩 !\u200D 💻");
    assert_words("a → b 5€", "a → b 5 €");
    assert_words("┌──┐ █ ⠋ ●", "!┌ !─ !─ !┐ !█ !⠋ !●");
    assert_words("“quoted” — dash…", "!“ quoted !” !— dash !…");
}

/* ---- places, limits -------------------------------------------------------------------------- */

struct place {
    size_t number, start, end;
};

static int find_place(void *arg, const struct word *word)
{
    struct place *place = arg;
    place->start = word->start;
    place->end = word->end;
    return place->number-- == 0;
}

static void assert_place(const char *text, size_t number, size_t start, size_t end)
{
    struct place place = {.number = number};
    assert_int_equal(words_each(view_str(text), find_place, &place), 1);
    assert_int_equal(place.start, start);
    assert_int_equal(place.end, end);
}

static void test_places_are_bytes_of_the_text_with_its_marks(void **state)
{
    (void)state;
    assert_place("a Café b", 1, 2, 7);
    assert_place("Cafe\xcc\x81 b", 0, 0, 6);
    assert_place("日本語", 1, 3, 9);
    assert_place("日本語", 2, 6, 9);
    assert_place("ｶﾞｷﾞ", 0, 0, 12);
    assert_place("x 👍🏽", 1, 2, 6);
    assert_place("مــ", 0, 0, 6);
}

static void test_a_long_word_is_cut_on_a_character(void **state)
{
    char text[3 * WORDS_MAX + 1], expected[WORDS_MAX + 8];
    (void)state;
    memset(text, 'A', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memset(expected, 'a', WORDS_MAX);
    memcpy(expected + WORDS_MAX, " b", 3);
    memcpy(text + sizeof(text) - 3, " b", 3);
    assert_words(text, expected);
    memcpy(text + WORDS_MAX - 1, "я", 2); // has no room: and what follows does not take it
    expected[WORDS_MAX - 1] = ' ';
    memcpy(expected + WORDS_MAX, "b", 2);
    assert_words(text, expected);
    memcpy(text + WORDS_MAX + 1, "ı", 2); // folds to one byte, which would
    assert_words(text, expected);
}

static void test_the_end_of_a_cut_word_is_that_of_the_text(void **state)
{
    char text[200];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_place(text, 0, 0, sizeof(text) - 1);
}

static int stop_at_third(void *arg, const struct word *word)
{
    int *left = arg;
    (void)word;
    return --*left == 0 ? 42 : 0;
}

static void test_a_walk_ends_where_it_is_stopped(void **state)
{
    static const char *const texts[] = {"a b c d", "日本語学", "a日b本", "a🎉b", "日本a"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int left = 3;
        assert_int_equal(words_each(view_str(texts[i]), stop_at_third, &left), 42);
        assert_int_equal(left, 0);
    }
}

static void test_no_memory_is_needed(void **state)
{
    int left = 1000;
    (void)state;
    alloc_fail_at(1);
    assert_int_equal(
        words_each(view_str("Café 日本語 ｶﾞ 한국 🎉 plain words"), stop_at_third, &left), ETHOS_OK);
    assert_int_equal(alloc_count(), 0);
    alloc_fail_at(0);
}

/* Every character there is, alone and between letters: whole UTF-8, in order, inside the text. */
struct order {
    size_t size, start;
};

static int check_order(void *arg, const struct word *word)
{
    struct order *order = arg;
    assert_true(utf8_valid(word->folded));
    assert_true(word->start >= order->start && word->start < word->end && word->end <= order->size);
    order->start = word->start;
    return 0;
}

static void test_every_character_gives_whole_words(void **state)
{
    (void)state;
    for (uint32_t cp = 1; cp <= 0x10FFFF; cp++) {
        char text[8] = {'a'};
        if (cp >= 0xD800 && cp <= 0xDFFF)
            continue;
        size_t size = 1 + utf8_put(cp, text + 1);
        text[size++] = 'b';
        struct order order = {.size = size};
        assert_int_equal(words_each(view_of(text, size), check_order, &order), ETHOS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_ascii_are_runs_of_letters_and_digits),
        cmocka_unit_test(test_identifiers_versions_addresses_and_paths_fall_into_their_parts),
        cmocka_unit_test(test_nul_and_controls_separate),
        cmocka_unit_test(test_invalid_utf8_separates_and_is_no_word),
        cmocka_unit_test(test_accents_are_taken_away_composed_or_not),
        cmocka_unit_test(test_turkish_i_is_i_with_and_without_dot),
        cmocka_unit_test(test_sharp_s_ligatures_and_full_width_are_plain_letters),
        cmocka_unit_test(test_arabic_and_hebrew_lose_points_and_tatweel),
        cmocka_unit_test(test_vowel_signs_of_indic_scripts_stay),
        cmocka_unit_test(test_what_shows_nothing_does_not_separate),
        cmocka_unit_test(test_signs_are_given_aside),
        cmocka_unit_test(test_unspaced_scripts_give_pairs_and_the_last_character),
        cmocka_unit_test(test_hangul_is_made_of_syllables_composed_or_not),
        cmocka_unit_test(test_kana_is_the_same_in_every_width_and_form),
        cmocka_unit_test(test_thai_lao_khmer_and_burmese_are_unspaced),
        cmocka_unit_test(test_scripts_that_touch_are_different_words),
        cmocka_unit_test(test_a_symbol_is_a_word_and_drawings_are_not),
        cmocka_unit_test(test_places_are_bytes_of_the_text_with_its_marks),
        cmocka_unit_test(test_a_long_word_is_cut_on_a_character),
        cmocka_unit_test(test_the_end_of_a_cut_word_is_that_of_the_text),
        cmocka_unit_test(test_a_walk_ends_where_it_is_stopped),
        cmocka_unit_test(test_no_memory_is_needed),
        cmocka_unit_test(test_every_character_gives_whole_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
