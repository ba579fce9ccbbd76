/*
 * test_forget_text.c: where a text that is to be forgotten stands, and what is left without it.
 */
#include "core/memory/forget_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define IN_WORDS ETHOS_MATCH_SUBSTRING
#define ANY_CASE ETHOS_MATCH_ANY_CASE

static bool holds(const char *needle, unsigned flags, const char *text)
{
    struct forget forget;
    const struct ethos_match match = {.text = view_str(needle), .flags = flags};
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    return forget_holds(&forget, view_str(text));
}

/* ---- words ---------------------------------------------------------------------------------- */

static void test_whole_words_unless_asked_otherwise(void **state)
{
    static const struct {
        const char *needle, *text;
        bool word, within;
    } rows[] = {
        {"tea", "the team drinks", false, true},
        {"tea", "green tea, please", true, true},
        {"tea", "tea", true, true},
        {"tea", "tea2", false, true},
        {"tea", "_tea_", true, true},
        {"tea", "**tea**", true, true},
        {"tea", "steam tea", true, true},
        {"hunter2", "password:hunter2;", true, true},
        {"hunter2", "hunter22", false, true},
        {"=abc", "key=abc", true, true},
        {"abc=", "abc=def", true, true},
        {"cafe", "cafe\xCC\x81", false, true},
        {"\xC3\xBC", "m\xC3\xBCller", false, true},
        {"\xE5\xAF\x86\xE7\xA0\x81", "\xE6\x88\x91\xE7\x9A\x84\xE5\xAF\x86\xE7\xA0\x81\xE6\x98\xAF",
         true, true},
        {"aa", "aaa aa", true, true},
        {"a b", "a b", true, true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (holds(rows[i].needle, 0, rows[i].text) != rows[i].word ||
            holds(rows[i].needle, IN_WORDS, rows[i].text) != rows[i].within)
            fail_msg("'%s' in '%s'", rows[i].needle, rows[i].text);
    }
}

static bool holds_or(const char *needle, const char *also, unsigned flags, const char *text)
{
    struct forget forget;
    const struct ethos_match match = {
        .text = view_str(needle), .also = view_str(also), .flags = flags};
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    return forget_holds(&forget, view_str(text));
}

static void test_another_form_counts_like_the_text(void **state)
{
    (void)state;
    assert_true(holds_or("red tea", "red-tea", 0, "see [[red-tea]]"));
    assert_true(holds_or("red tea", "red-tea", 0, "a\n\nthe red tea"));
    assert_false(holds_or("red tea", "red-tea", 0, "red-teas and red teas"));
    assert_true(holds_or("Red tea", "red-tea", ANY_CASE, "a\nRED-TEA\n"));
}

static void test_escapes_of_json_are_read(void **state)
{
    static const struct {
        const char *needle, *text;
        bool held;
    } rows[] = {
        {"say \"tea\"", "{\"a\":\"say \\\"tea\\\" now\"}", true},
        {"a\\b", "{\"a\":\"a\\\\b\"}", true},
        {"caf\xC3\xA9", "\"caf\\u00e9\"", true},
        {"tea", "\"one\\ntea\\ntwo\"", true},
        {"tea", "\"\\u0074ea\"", true},
        {"\xF0\x9F\x98\x80", "\"\\ud83d\\ude00\"", true},
        {"tea", "{\"a\":\"[{\\\"b\\\":\\\"x\\\\ntea\\\"}]\"}", true},
        {"tea", "\"\\ntea", true},
        {"tea", "\"\\tea\"", true}, // a tab and "ea" as JSON, but who knows
        {"ea", "\"\\tea\"", true},
        {"tea", "team \\", false},
        {"tea", "\\u007 tea", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct forget forget;
        const struct ethos_match match = {.text = view_str(rows[i].needle)};
        assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
        if (forget_holds_escaped(&forget, view_str(rows[i].text)) != rows[i].held)
            fail_msg("'%s' in '%s'", rows[i].needle, rows[i].text);
    }
}

static void test_letter_case_counts_unless_ignored_and_the_normal_form_never(void **state)
{
    (void)state;
    assert_true(holds("\xC3\x89tude", 0, "an E\xCC\x81tude")); // composed or not
    assert_true(holds("E\xCC\x81tude", 0, "an \xC3\x89tude"));
    assert_true(holds("na\xC3\xAFve caf\xC3\xA9", 0, "nai\xCC\x88ve caf\xC3\xA9"));
    assert_false(holds("\xC3\x89tude", 0, "\xC3\xA9tude"));
    assert_false(holds("\xC3\x89tude", 0, "Etude"));
    assert_false(
        holds("\xC3\xBC e", IN_WORDS, "\xC3\xBC \xC3\xA9")); // a letter is not part of another
    assert_true(holds("caf\xE9", 0, "a caf\xE9."));          // no UTF-8: bytes
    assert_false(holds("secret", 0, "SECRET"));
    assert_true(holds("secret", ANY_CASE, "SECRET"));
    assert_true(holds("SeCrEt", ANY_CASE, "a secret."));
    assert_false(holds("tea", ANY_CASE, "TEAM"));
    assert_true(holds("tea", ANY_CASE | IN_WORDS, "TEAM"));
    assert_true(holds("\xC3\x89tude", ANY_CASE, "e\xCC\x81tude")); // composed or not
    assert_true(holds("stra\xC3\x9F"
                      "e",
                      ANY_CASE, "STRASSE"));
}

static void test_what_is_no_text_is_refused(void **state)
{
    char longer[ETHOS_MAX_MATCH + 2];
    struct forget forget;
    struct ethos_match match = {.text = VIEW(" ")};
    (void)state;
    memset(longer, 'x', sizeof longer);
    assert_int_equal(forget_init(&forget, NULL, NULL), ETHOS_INVALID);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_INVALID);
    match.text = VIEW("a\nb");
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_INVALID);
    match.text = view_of("a\0b", 3);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_INVALID);
    match.text = view_of(longer, ETHOS_MAX_MATCH);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    match.text = view_of(longer, ETHOS_MAX_MATCH + 1);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_LIMIT);
}

/* Compared with looking at every place, over all short texts of few letters. */
static void test_it_finds_what_a_plain_search_finds(void **state)
{
    static const char letters[] = "ab .";
    char text[8] = "", needle[4] = "";
    (void)state;
    for (unsigned n = 0; n < 4 * 4 * 4; n++) {
        for (size_t i = 0, rest = n; i < 3; i++, rest /= 4)
            needle[i] = letters[rest % 4];
        if (view_blank(view_str(needle)))
            continue;
        for (unsigned t = 0; t < 1u << 14; t++) {
            for (size_t i = 0, rest = t; i < 7; i++, rest /= 4)
                text[i] = letters[rest % 4];
            if (holds(needle, IN_WORDS, text) != (strstr(text, needle) != NULL))
                fail_msg("'%s' in '%s'", needle, text);
        }
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void assert_lines(const char *text, const char *left, const char *marked, uint64_t count)
{
    struct forget forget;
    const struct ethos_match match = {.text = VIEW("tea")};
    struct str out;
    struct ethos_view got;
    uint64_t lines = 0;
    str_init(&out, 1024);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    assert_int_equal(forget_lines(&forget, view_str(text), &out, &got, &lines), ETHOS_OK);
    assert_true(view_eq_str(got, left));
    assert_int_equal(lines, count);
    assert_int_equal(forget_mark(&forget, view_str(text), &out, &got, NULL), ETHOS_OK);
    assert_true(view_eq_str(got, marked));
    str_release(&out);
}

static void test_lines_go_or_get_a_mark_and_nothing_else_changes(void **state)
{
    (void)state;
    assert_lines("team\nno\n\n", "team\nno\n\n", "team\nno\n\n", 0);
    assert_lines("a\ntea one\nteam\ntea tea\nb  \n", "a\nteam\nb  \n",
                 "a\n[forgotten]\nteam\n[forgotten]\nb  \n", 2);
    assert_lines("tea", "\n", "[forgotten]", 1);
    assert_lines("a\r\ntea\r\n", "a\r\n", "a\r\n[forgotten]\r\n", 1);
    assert_lines("a\n\ntea\n", "a\n", "a\n\n[forgotten]\n", 1);
    assert_lines("tea\n\na\n\n", "\na\n\n", "[forgotten]\n\na\n\n", 1);
    assert_lines("tea\na", "a", "[forgotten]\na", 1);
    assert_lines("a\ntea\n \n\n", "a\n", "a\n[forgotten]\n \n\n", 1);
}

static int note_number(void *arg, const struct ethos_purge_line *line)
{
    uint64_t *sum = arg;
    *sum = *sum * 10 + line->number;
    assert_string_equal(line->key, "MEMORY.md");
    assert_true(view_eq_str(line->text, "tea"));
    return 0;
}

static void test_lines_are_told_with_their_numbers(void **state)
{
    struct forget forget;
    uint64_t sum = 0;
    const struct ethos_match match = {.text = VIEW("tea"), .each = note_number, .arg = &sum};
    (void)state;
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    assert_int_equal(forget_tell(&forget, "MEMORY.md", VIEW("tea\nteam\n\ntea\ntea")), 0);
    assert_int_equal(sum, 145);
}

static void test_json_stays_json(void **state)
{
    struct forget forget;
    uint64_t count = 0;
    const struct ethos_match match = {.text = VIEW("the \"tea\"")};
    json_t *json = json_pack("{s:[s,i,{s:s}], s:s}", "a", "one\nthe \"tea\" is hot\ntwo", 3, "b",
                             "the \"tea\"", "the \"tea\"", "kept");
    (void)state;
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    assert_int_equal(forget_json(&forget, &json, &count), ETHOS_OK);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"[forgotten]\":\"kept\",\"a\":[\"one\\n[forgotten]\\ntwo\",3,"
                              "{\"b\":\"[forgotten]\"}]}");
    assert_int_equal(count, 3);
    free(text);
    json_decref(json);
}

static void test_the_mark_does_not_hold_what_it_stands_for(void **state)
{
    (void)state;
    struct forget forget;
    const struct ethos_match match = {.text = VIEW("forgotten")};
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    assert_false(forget_holds(&forget, view_str(forget.mark)));
}

/* ---- names ---------------------------------------------------------------------------------- */

static void assert_name(const char *needle, const char *key, bool held)
{
    struct forget forget;
    char renamed[ETHOS_MAX_KEY + 1];
    const struct ethos_match match = {.text = view_str(needle), .salt = 7};
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    if (forget_names(&forget, view_str(key)) != held)
        fail_msg("'%s' in the name %s", needle, key);
    if (!held)
        return;
    forget_rename(&forget, view_str(key), renamed);
    assert_false(forget_names(&forget, view_str(renamed)));
    assert_true(view_ends(view_str(renamed), VIEW(".md")));
}

static void test_names_of_files_hold_it_or_its_slug(void **state)
{
    (void)state;
    assert_name("Project Falcon", "project-falcon.md", true);
    assert_name("Project Falcon", "the-project-falcon-plan.md", true);
    assert_name("falcon", "project-falcon.md", true);
    assert_name("Falcon", "falcon.md", true);
    assert_name("falcon", "falcons.md", false);
    assert_name("md", "plan.md", false);
    assert_name("C++", "plan-c.md", false);
    assert_name("MEMORY", "MEMORY.md", false);
    assert_name("falcon", "a/falcon/b.md", true);
    assert_name("a/b", "a/b.md", true);
}

static void test_names_of_files_hold_it_without_its_accents(void **state)
{
    (void)state;
    assert_name("R\u00e9union caf\u00e9", "reunion-cafe.md", true);
    assert_name("Re\u0301union cafe\u0301", "la-reunion-cafe-2.md", true);
    assert_name("R\u00e9union caf\u00e9", "reunion.md", false);
    assert_name("Z\u00fcrich", "zurich.md", true);
    assert_name("\u5bc6\u7801", "note-a621ab60.md", true); // nothing but the hash is left
    assert_name("a title that is too long to be the whole of a name of a file",
                "a-title-that-is-too-long-to-be-the-whole-of-a-na-e10ff3b5.md", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_words_unless_asked_otherwise),
        cmocka_unit_test(test_another_form_counts_like_the_text),
        cmocka_unit_test(test_escapes_of_json_are_read),
        cmocka_unit_test(test_letter_case_counts_unless_ignored_and_the_normal_form_never),
        cmocka_unit_test(test_what_is_no_text_is_refused),
        cmocka_unit_test(test_it_finds_what_a_plain_search_finds),
        cmocka_unit_test(test_lines_go_or_get_a_mark_and_nothing_else_changes),
        cmocka_unit_test(test_lines_are_told_with_their_numbers),
        cmocka_unit_test(test_json_stays_json),
        cmocka_unit_test(test_the_mark_does_not_hold_what_it_stands_for),
        cmocka_unit_test(test_names_of_files_hold_it_or_its_slug),
        cmocka_unit_test(test_names_of_files_hold_it_without_its_accents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
