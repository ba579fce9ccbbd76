/*
 * test_query.c: what was typed, and the texts that it finds.
 */
#include "core/search/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"

/* ---- helpers --------------------------------------------------------------------------------- */

static bool finds_view(struct ethos_view typed, struct ethos_view text, size_t *start, size_t *end)
{
    struct arena arena;
    struct query query;
    arena_init(&arena);
    assert_int_equal(query_parse(typed, &arena, &query), ETHOS_OK);
    bool found = query_matches(&query, text, start, end);
    arena_release(&arena);
    return found;
}

static bool finds(const char *typed, const char *text)
{
    return finds_view(view_str(typed), view_str(text), NULL, NULL);
}

static void assert_finds(const char *typed, const char *text)
{
    if (!finds(typed, text))
        fail_msg("'%s' does not find '%s'", typed, text);
}

static void assert_misses(const char *typed, const char *text)
{
    if (finds(typed, text))
        fail_msg("'%s' finds '%s'", typed, text);
}

/* Terms as text: words joined by + within a run, by _ within a phrase; phrases in quotes. */
static void assert_terms(const char *typed, const char *expected)
{
    struct arena arena;
    struct query query;
    struct str out;
    arena_init(&arena);
    str_init(&out, 65536);
    assert_int_equal(query_parse(view_str(typed), &arena, &query), ETHOS_OK);
    for (size_t i = 0; i < query.count; i++) {
        const struct query_term *term = &query.terms[i];
        str_printf(&out, "%s%s", i > 0 ? " " : "", term->phrase ? "\"" : "");
        for (size_t j = 0; j < term->count; j++) {
            str_adds(&out, j == 0 ? "" : term->words[j].joined ? "+" : "_");
            str_add(&out, term->words[j].folded);
        }
        str_adds(&out, term->phrase ? "\"" : "");
    }
    if (strcmp(out.data, expected) != 0)
        fail_msg("'%s' gave '%s' expected '%s'", typed, out.data, expected);
    str_release(&out);
    arena_release(&arena);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static void test_words_are_terms_and_quotes_make_phrases(void **state)
{
    (void)state;
    assert_terms("", "");
    assert_terms("foo bar", "foo bar");
    assert_terms("foo-bar", "foo bar");
    assert_terms("say \"Hello, world\" twice", "say \"hello_world\" twice");
    assert_terms("\"a\"\"b c\"", "\"a\" \"b_c\"");
    assert_terms("日本語 テスト", "日本+本語 テス+スト");
    assert_terms("\"日本語 foo\"", "\"日本+本語_foo\"");
    assert_terms("語", "語");
}

static void test_everything_else_is_literal(void **state)
{
    (void)state;
    assert_terms("\"AND (", "and");
    assert_terms("NEAR/", "near");
    assert_terms("\"", "");
    assert_terms("\"\"", "");
    assert_terms("\"(\"", "");
    assert_terms("*", "");
    assert_terms("-x", "x");
    assert_terms("a:b", "a b");
    assert_terms("^", "");
    assert_terms("NOT foo OR bar*", "not foo or bar");
    assert_terms("\"a b\" \"c", "\"a_b\" c");
    assert_terms("{col}: +x ~y 'z' \\ ; --", "col x y z");
}

static void test_any_bytes_are_a_query(void **state)
{
    (void)state;
    assert_true(finds_view(VIEW("a\0b"), VIEW("b a"), NULL, NULL));
    assert_true(finds_view(VIEW("x\0\"y"), VIEW("x y"), NULL, NULL));
    assert_finds("\xff\xfe foo \xc3", "a foo");
    assert_false(finds_view(VIEW("\0\0"), VIEW("\0"), NULL, NULL));
    assert_false(finds_view((struct ethos_view){0}, VIEW("x"), NULL, NULL));
}

static void test_signs_are_looked_for_when_there_is_nothing_else(void **state)
{
    (void)state;
    assert_terms("— foo", "foo");
    assert_terms("— …", "— …");
    assert_terms("\"—\"", "—");
    assert_terms("\u3000", "");
    assert_finds("—", "a — b");
    assert_finds("…", "wait …");
    assert_finds("\u200b", "a \u200b b");
    assert_finds("\ufeff", "\ufeff b");
    assert_misses("—", "a - b");
    assert_finds("\"a b\"", "a — b");
    assert_misses("— …", "a — b");
}

static void test_further_terms_and_words_are_dropped(void **state)
{
    struct arena arena;
    struct query query;
    struct str typed;
    (void)state;
    str_init(&typed, 65536);
    for (int i = 0; i < 300; i++)
        str_printf(&typed, "w%d ", i);
    arena_init(&arena);
    assert_int_equal(query_parse(str_view(&typed), &arena, &query), ETHOS_OK);
    assert_int_equal(query.count, QUERY_MAX_TERMS);
    assert_true(view_eq_str(query.terms[QUERY_MAX_TERMS - 1].words[0].folded, "w255"));
    str_clear(&typed);
    str_addc(&typed, '"');
    for (int i = 0; i < 100; i++)
        str_printf(&typed, "w%d ", i);
    str_adds(&typed, "\" last");
    assert_int_equal(query_parse(str_view(&typed), &arena, &query), ETHOS_OK);
    assert_int_equal(query.count, 2);
    assert_int_equal(query.terms[0].count, QUERY_MAX_WORDS);
    assert_true(view_eq_str(query.terms[1].words[0].folded, "last"));
    assert_true(query_matches(&query, str_view(&typed), NULL, NULL));
    str_clear(&typed);
    for (int i = 0; i < 200; i++)
        str_adds(&typed, i % 2 ? "日" : "本");
    assert_int_equal(query_parse(str_view(&typed), &arena, &query), ETHOS_OK);
    assert_int_equal(query.count, 1);
    assert_int_equal(query.terms[0].count, QUERY_MAX_WORDS);
    assert_true(query_matches(&query, str_view(&typed), NULL, NULL));
    arena_release(&arena);
    str_release(&typed);
}

static void test_a_query_without_memory_is_an_error(void **state)
{
    struct query query;
    int code;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct arena arena;
        arena_init(&arena);
        code = query_parse(view_str("one \"two three\" 日本語"), &arena, &query);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        arena_release(&arena);
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

static void test_words_fit_by_themselves_by_stem_and_as_a_beginning(void **state)
{
    (void)state;
    assert_finds("deploy", "the deployment");
    assert_finds("deploy", "deployed yesterday");
    assert_finds("run", "Running");
    assert_finds("running", "we run it");
    assert_finds("connections", "connected");
    assert_finds("dep", "deploy");
    assert_misses("ploy", "deploy");
    assert_misses("deployx", "deploy");
}

static void test_all_terms_in_any_order(void **state)
{
    (void)state;
    assert_finds("foo bar", "foo-bar baz");
    assert_finds("bar foo", "foo, and then bar");
    assert_misses("foo bar qux", "foo-bar baz");
    assert_finds("foo foo", "foo");
}

static void test_a_phrase_is_in_order_and_no_start(void **state)
{
    (void)state;
    assert_finds("\"foo bar\"", "a Foo-Bar b");
    assert_misses("\"foo bar\"", "bar foo");
    assert_misses("\"foo bar\"", "foo x bar");
    assert_finds("\"run home\"", "running home");
    assert_misses("\"run\"", "runway");
    assert_misses("\"foo bar\"", "foo barn");
    assert_finds("\"a a b\"", "a a a b");
    assert_finds("\"a b a c\"", "a b a b a c");
    assert_finds("\"foo bar\" baz", "baz foo bar");
    assert_finds("\"hi\"", "he said \"hi\"");
}

static void test_accents_do_not_matter_either_way(void **state)
{
    (void)state;
    assert_finds("cafe", "Running the deployment of café");
    assert_finds("café", "the CAFE");
    assert_finds("cafe\xcc\x81", "café");
    assert_finds("\"café\"", "cafe");
    assert_finds("strasse", "Straße");
    assert_finds("Straße", "STRASSE");
    assert_finds("istanbul", "İSTANBUL");
    assert_finds("file", "ﬁle");
    assert_finds("da nang", "Đà Nẵng");
    assert_finds("محمد", "مُحَمَّـــد");
    assert_finds("ｆｕｌｌ", "full");
}

static void test_scripts_without_blanks_are_found_in_the_middle(void **state)
{
    (void)state;
    assert_finds("日本", "日本語テキスト");
    assert_finds("本語", "日本語テキスト");
    assert_finds("日本語テキスト", "日本語テキスト");
    assert_finds("テキスト", "これは日本語テキストです");
    assert_misses("日語", "日本語");
    assert_misses("日本語", "日本 本語");
    assert_misses("日本語", "日本と本語");
    assert_finds("日本 テキ", "テキスト、日本");
    assert_finds("국어", "한국어를");
    assert_finds("ไทย", "ประเทศไทย");
    assert_finds("ガ", "ｶﾞｷﾞ");
    assert_misses("いか", "いが");
}

static void test_one_character_is_found_wherever_it_stands(void **state)
{
    (void)state;
    assert_finds("日", "日本語");
    assert_finds("本", "日本語");
    assert_finds("語", "日本語");
    assert_finds("語", "語");
    assert_finds("\"語\"", "日本語");
    assert_finds("\"foo 語\"", "foo 語学");
    assert_finds("\"語 foo\"", "日本語 foo");
    assert_misses("学", "日本語");
}

static void test_a_phrase_passes_from_one_script_to_the_next(void **state)
{
    (void)state;
    assert_finds("\"日本 foo\"", "大日本foo bar");
    assert_finds("\"iPhone用\"", "新しいiPhone用");
    assert_misses("\"日本 foo\"", "日本語 foo");
}

static void test_symbols_are_found(void **state)
{
    (void)state;
    assert_finds("🎉", "done🎉");
    assert_finds("👍", "👍🏽");
    assert_finds("👍🏽", "ok 👍");
    assert_misses("🎉", "🎊");
    assert_finds("→", "a → b");
}

static void test_nothing_finds_nothing(void **state)
{
    (void)state;
    assert_misses("", "text");
    assert_misses("\"", "\"");
    assert_misses("...", "...");
    assert_misses("x", "");
}

/* ---- the place ------------------------------------------------------------------------------- */

static void assert_place(const char *typed, const char *text, const char *expected)
{
    size_t start = 0, end = 0;
    assert_true(finds_view(view_str(typed), view_str(text), &start, &end));
    if (!view_eq_str(view_of(text + start, end - start), expected))
        fail_msg("'%s' in '%s' is '%.*s'", typed, text, (int)(end - start), text + start);
}

static void test_the_place_is_the_first_of_any_term(void **state)
{
    (void)state;
    assert_place("deploy", "x deployment deploy", "deployment");
    assert_place("baz bar", "foo bar baz", "bar");
    assert_place("\"b c\"", "a b. C d", "b. C");
    assert_place("cafe", "le Café", "Café");
    assert_place("本語", "日本語テ", "本語");
    assert_place("日本語", "大日本語テ", "日本語");
    assert_place("本", "日本語", "本");
    assert_place("日", "日本語", "日");
    assert_place("語", "日本語", "語");
    assert_place("c \"a b\"", "a c a b", "c");
}

static void test_a_place_of_a_long_phrase_is_remembered(void **state)
{
    struct str typed;
    size_t start = 0, end = 0;
    (void)state;
    str_init(&typed, 65536);
    for (int i = 0; i < QUERY_MAX_WORDS; i++)
        str_printf(&typed, "w%d ", i);
    struct ethos_view phrase = str_view(&typed);
    struct str text;
    str_init(&text, 65536);
    str_printf(&text, "%s w0 w1 %s end", "w7 w8", phrase.data);
    char quoted[4096];
    snprintf(quoted, sizeof(quoted), "\"%s\"", phrase.data);
    assert_true(finds_view(view_str(quoted), str_view(&text), &start, &end));
    assert_int_equal(start, strlen("w7 w8 w0 w1 "));
    assert_int_equal(end, start + phrase.size - 1);
    str_release(&typed);
    str_release(&text);
}

/* ---- as one phrase --------------------------------------------------------------------------- */

static bool is_phrase(const char *typed, const char *text)
{
    struct arena arena;
    struct query query;
    arena_init(&arena);
    assert_int_equal(query_parse(view_str(typed), &arena, &query), ETHOS_OK);
    bool found = query_is_phrase_in(&query, view_str(text));
    arena_release(&arena);
    return found;
}

static void test_typed_words_that_stand_together_are_a_phrase(void **state)
{
    (void)state;
    assert_true(is_phrase("foo bar", "a foo-bar b"));
    assert_true(is_phrase("run deploy", "running deployment"));
    assert_true(is_phrase("1.2.3", "version 1.2.3"));
    assert_true(is_phrase("日本 foo", "日本 foo"));
    assert_false(is_phrase("bar foo", "foo bar"));
    assert_false(is_phrase("foo bar", "foo x bar"));
    assert_false(is_phrase("", "foo"));
}

/* ---- the reference --------------------------------------------------------------------------- */

static json_t *load_superset(void)
{
    json_error_t error;
    json_t *all = json_load_file("tests/golden/updates.json", JSON_ALLOW_NUL, &error);
    json_t *superset = json_incref(json_object_get(all, "search_superset"));
    assert_non_null(superset);
    json_decref(all);
    return superset;
}

static void test_everything_that_the_reference_finds_is_found(void **state)
{
    json_t *superset = load_superset(), *queries = json_object_get(superset, "queries"), *vector;
    size_t index, checked = 0;
    (void)state;
    json_array_foreach (queries, index, vector) {
        json_t *text;
        size_t i;
        json_array_foreach (json_object_get(vector, "must_include"), i, text) {
            assert_finds(json_string_value(json_object_get(vector, "query")),
                         json_string_value(text));
            checked++;
        }
    }
    assert_true(checked > 0);
    json_decref(superset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_terms_and_quotes_make_phrases),
        cmocka_unit_test(test_everything_else_is_literal),
        cmocka_unit_test(test_any_bytes_are_a_query),
        cmocka_unit_test(test_signs_are_looked_for_when_there_is_nothing_else),
        cmocka_unit_test(test_further_terms_and_words_are_dropped),
        cmocka_unit_test(test_a_query_without_memory_is_an_error),
        cmocka_unit_test(test_words_fit_by_themselves_by_stem_and_as_a_beginning),
        cmocka_unit_test(test_all_terms_in_any_order),
        cmocka_unit_test(test_a_phrase_is_in_order_and_no_start),
        cmocka_unit_test(test_accents_do_not_matter_either_way),
        cmocka_unit_test(test_scripts_without_blanks_are_found_in_the_middle),
        cmocka_unit_test(test_one_character_is_found_wherever_it_stands),
        cmocka_unit_test(test_a_phrase_passes_from_one_script_to_the_next),
        cmocka_unit_test(test_symbols_are_found),
        cmocka_unit_test(test_nothing_finds_nothing),
        cmocka_unit_test(test_the_place_is_the_first_of_any_term),
        cmocka_unit_test(test_a_place_of_a_long_phrase_is_remembered),
        cmocka_unit_test(test_typed_words_that_stand_together_are_a_phrase),
        cmocka_unit_test(test_everything_that_the_reference_finds_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
