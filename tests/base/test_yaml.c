/*
 * test_yaml.c: config files as a flat table.
 */
#include "base/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ethos/limits.h>

#include "../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* ---- helpers ------------------------------------------------------------------------------- */

static struct arena arena;
static struct yaml_table table;

static void load(struct ethos_view text)
{
    struct ethos_error error = {0};

    arena_release(&arena);
    if (yaml_parse(text, "config.yaml", &arena, &table, &error))
        fail_msg("%.*s: %s", VIEW_ARG(text), error.text);
}

static void assert_value(const char *key, const char *value)
{
    const char *found = yaml_get(&table, key);

    if (!found)
        fail_msg("%s is missing", key);
    assert_string_equal(found, value);
}

static void assert_refused(struct ethos_view text, int code, const char *message)
{
    struct arena scratch;
    struct yaml_table out = {.count = 77};
    struct ethos_error error = {0};

    arena_init(&scratch);
    int got = yaml_parse(text, "config.yaml", &scratch, &out, &error);
    arena_release(&scratch);
    assert_string_equal(error.text, message);
    assert_int_equal(got, code);
    assert_int_equal(error.code, code);
    assert_int_equal(out.count, 77);
}

static int teardown(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

static void test_flat_and_nested_keys_mean_the_same(void **state)
{
    (void)state;
    load(VIEW("prefetch.maxChars: 20000\nmemory:\n  provider: markdown\n  options:\n    a.b: c\n"));
    assert_int_equal(table.count, 3);
    assert_value("prefetch.maxChars", "20000");
    assert_value("memory.provider", "markdown");
    assert_value("memory.options.a.b", "c");
    assert_null(yaml_get(&table, "memory"));
    assert_null(yaml_get(&table, "memory.options"));
}

static void test_pairs_come_in_file_order(void **state)
{
    (void)state;
    load(VIEW("z: 1\na:\n  y: 2\n  b: 3\nm: 4\n"));
    assert_string_equal(table.pairs[0].key, "z");
    assert_string_equal(table.pairs[1].key, "a.y");
    assert_string_equal(table.pairs[2].key, "a.b");
    assert_string_equal(table.pairs[3].key, "m");
}

static void test_documents_without_keys_are_empty(void **state)
{
    static const char *const texts[] = {
        "", "\n", "# only a remark\n", "---\n", "--- # x\n...\n", "{}", "\xEF\xBB\xBF", "a: {}\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        load(view_str(texts[i]));
        assert_int_equal(table.count, 0);
    }
    load((struct ethos_view){NULL, 0});
    assert_int_equal(table.count, 0);
}

static void test_scalars_are_strings_and_no_types(void **state)
{
    (void)state;
    load(VIEW(
        "a: 007\nb: yes\nc: ~\nd: null\ne:\nf: ''\ng: \"x\\ty\"\nh: 'it''s'\ni: |\n  one\n  two\n"
        "j: 2026-11-15\nk: http://x:80/#y\nl: a b # remark\n"));
    assert_value("a", "007");
    assert_value("b", "yes");
    assert_value("c", "~");
    assert_value("d", "null");
    assert_value("e", "");
    assert_value("f", "");
    assert_value("g", "x\ty");
    assert_value("h", "it's");
    assert_value("i", "one\ntwo\n");
    assert_value("j", "2026-11-15");
    assert_value("k", "http://x:80/#y");
    assert_value("l", "a b");
}

static void test_lists_are_joined_with_commas(void **state)
{
    (void)state;
    load(VIEW("paths.allow:\n  - /a\n  - \"/b c\"\nflow: [x, y]\nempty: []\none:\n- z\n"));
    assert_value("paths.allow", "/a,/b c");
    assert_value("flow", "x,y");
    assert_value("empty", "");
    assert_value("one", "z");
}

/* ---- places -------------------------------------------------------------------------------- */

static void assert_place(struct ethos_view text, const char *key, unsigned line, bool plain,
                         const char *bytes)
{
    const struct yaml_pair *pair = yaml_find(&table, key);

    assert_non_null(pair);
    assert_int_equal(pair->line, line);
    assert_int_equal(pair->plain, plain);
    assert_true(pair->start <= pair->end && pair->end <= text.size);
    assert_int_equal(pair->end - pair->start, strlen(bytes));
    assert_memory_equal(text.data + pair->start, bytes, strlen(bytes));
}

static void test_places_are_bytes_of_the_value(void **state)
{
    struct ethos_view text = VIEW("# \u00E9\u4E2D\U0001F600\n"
                                  "k\u00E9y: v\u00E4lue  # remark\r\n"
                                  "q: \"x y\"\n"
                                  "nest:\n"
                                  "  deep:   'z'\n"
                                  "list:\n"
                                  "  - a\n"
                                  "  - b\n"
                                  "flow: [1, \u4E2D]\n"
                                  "map: {in: side}\n"
                                  "text: |\n"
                                  "  one\n"
                                  "two: a\n"
                                  "  b\n"
                                  "last: end");

    (void)state;
    load(text);
    assert_place(text, "k\u00E9y", 2, true, "v\u00E4lue");
    assert_place(text, "q", 3, true, "\"x y\"");
    assert_place(text, "nest.deep", 5, true, "'z'");
    assert_place(text, "flow", 9, false, "[1, \u4E2D]");
    assert_place(text, "map.in", 10, false, "side");
    assert_place(text, "two", 13, false, "a\n  b");
    assert_place(text, "last", 15, true, "end");
    assert_false(yaml_find(&table, "text")->plain);
    assert_false(yaml_find(&table, "list")->plain);
    assert_true(view_starts(view_from(text, yaml_find(&table, "list")->start), VIEW("- a\n  - b")));
}

static void test_an_empty_value_stands_right_after_its_colon(void **state)
{
    struct ethos_view text = VIEW("\u00E9: x\na:\nb: # remark\nc:");
    static const char *const keys[] = {"a", "b", "c"};

    (void)state;
    load(text);
    for (size_t i = 0; i < 3; i++) {
        const struct yaml_pair *pair = yaml_find(&table, keys[i]);

        assert_int_equal(pair->start, pair->end);
        assert_int_equal(text.data[pair->start - 1], ':');
        assert_int_equal(text.data[pair->start - 2], *keys[i]);
        assert_true(pair->plain);
    }
}

static void test_values_whose_quotes_matter_to_what_follows_stay(void **state)
{
    (void)state;
    load(VIEW("a: 'x'#y\n? b\nc: x\n \t\nd: y\t# z\ne:"));
    assert_false(yaml_find(&table, "a")->plain); // x#y would be one value
    assert_false(yaml_find(&table, "b")->plain); // there is no colon
    assert_false(yaml_find(&table, "c")->plain); // after quotes, the tab would be an error
    assert_true(yaml_find(&table, "d")->plain);
    assert_true(yaml_find(&table, "e")->plain);
}

static void test_a_byte_order_mark_shifts_nothing(void **state)
{
    struct ethos_view text = VIEW("\xEF\xBB\xBF"
                                  "a: b\n");

    (void)state;
    load(text);
    assert_place(text, "a", 1, true, "b");
}

static void test_lines_are_counted_by_lf(void **state)
{
    struct ethos_view text = VIEW("a: \"\u2028 \xC2\x85 x\"\nb: y\n");

    (void)state;
    load(text);
    assert_place(text, "b", 2, true, "y");
    assert_false(yaml_find(&table, "a")->plain);
}

/* ---- the same key twice -------------------------------------------------------------------- */

static void test_flat_and_nested_with_the_same_value_agree_and_the_first_wins(void **state)
{
    (void)state;
    load(VIEW("x: 0\na.b: 1\na:\n  b: 1\n"));
    assert_int_equal(table.count, 2);
    assert_value("a.b", "1");
    assert_int_equal(yaml_find(&table, "a.b")->line, 2);
}

static void test_flat_and_nested_with_different_values_name_both_lines(void **state)
{
    (void)state;
    assert_refused(VIEW("a:\n  b: 1\nc: 0\na.b: 2\n"), ETHOS_INVALID,
                   "config.yaml:4: another value for the key a.b, first on line 2");
    assert_refused(VIEW("a.b: 1\na:\n  b: 1\na.b.c: 1\na: \n"), ETHOS_INVALID,
                   "config.yaml:5: duplicate key a, first on line 2");
}

static void test_duplicate_keys_are_refused_even_with_the_same_value(void **state)
{
    (void)state;
    assert_refused(VIEW("a: 1\nb: 2\na: 1\n"), ETHOS_INVALID,
                   "config.yaml:3: duplicate key a, first on line 1");
    assert_refused(VIEW("a:\n  x: 1\nb: 0\na:\n  y: 2\n"), ETHOS_INVALID,
                   "config.yaml:4: duplicate key a, first on line 1");
    assert_refused(VIEW("a: 1\n\"a\":\n  y: 2\n"), ETHOS_INVALID,
                   "config.yaml:2: duplicate key a, first on line 1");
    assert_refused(VIEW("m: {a: 1, a: 1}\n"), ETHOS_INVALID,
                   "config.yaml:1: duplicate key m.a, first on line 1");
}

static void test_a_value_beside_a_mapping_is_no_conflict(void **state)
{
    (void)state;
    load(VIEW("a.b: 1\na:\n  b:\n    c: 2\n"));
    assert_value("a.b", "1");
    assert_value("a.b.c", "2");
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void test_everything_outside_the_subset_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused(VIEW("a: &x 1\n"), ETHOS_INVALID, "config.yaml:1: anchors are not allowed");
    assert_refused(VIEW("a: &x [1]\n"), ETHOS_INVALID, "config.yaml:1: anchors are not allowed");
    assert_refused(VIEW("a: &x\n  b: 1\n"), ETHOS_INVALID,
                   "config.yaml:1: anchors are not allowed");
    assert_refused(VIEW("&x a: 1\n"), ETHOS_INVALID, "config.yaml:1: anchors are not allowed");
    assert_refused(VIEW("a: 1\nb: *x\n"), ETHOS_INVALID, "config.yaml:2: aliases are not allowed");
    assert_refused(VIEW("a: !!str 1\n"), ETHOS_INVALID, "config.yaml:1: tags are not allowed");
    assert_refused(VIEW("a: ! 1\n"), ETHOS_INVALID, "config.yaml:1: tags are not allowed");
    assert_refused(VIEW("a: !x [1]\n"), ETHOS_INVALID, "config.yaml:1: tags are not allowed");
    assert_refused(VIEW("%TAG ! tag:x,2026:\n---\na: 1\n"), ETHOS_INVALID,
                   "config.yaml:1: tags are not allowed");
    assert_refused(VIEW("\n<<: {a: 1}\n"), ETHOS_INVALID,
                   "config.yaml:2: merge keys are not allowed");
    assert_refused(VIEW("a: 1\n---\nb: 2\n"), ETHOS_INVALID,
                   "config.yaml:2: only one document is allowed");
    assert_refused(VIEW("a: 1\n---\n"), ETHOS_INVALID,
                   "config.yaml:2: only one document is allowed");
    assert_refused(VIEW("a:\n  - b: 1\n"), ETHOS_INVALID,
                   "config.yaml:2: a list may hold single values only");
    assert_refused(VIEW("a: [[1]]\n"), ETHOS_INVALID,
                   "config.yaml:1: a list may hold single values only");
    assert_refused(VIEW("? [a]\n: 1\n"), ETHOS_INVALID,
                   "config.yaml:1: a key must be a single value");
    assert_refused(VIEW("{a: 1}: 2\n"), ETHOS_INVALID,
                   "config.yaml:1: a key must be a single value");
    assert_refused(VIEW("a: 1\n\"\": 2\n"), ETHOS_INVALID, "config.yaml:2: empty key");
    assert_refused(VIEW("?\n: 1\n"), ETHOS_INVALID, "config.yaml:1: empty key");
    assert_refused(VIEW("just words\n"), ETHOS_INVALID,
                   "config.yaml:1: keys and values are expected");
    assert_refused(VIEW("- a\n"), ETHOS_INVALID, "config.yaml:1: keys and values are expected");
}

static void test_broken_yaml_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused(VIEW("# \u4E2D\na: 1\nb: [1\nc: 2\n"), ETHOS_INVALID,
                   "config.yaml:4: did not find expected ',' or ']'");
    assert_refused(VIEW("a: \"x\n"), ETHOS_INVALID,
                   "config.yaml:2: found unexpected end of stream");
    assert_refused(VIEW("a: 1\n\tb: 2\n"), ETHOS_INVALID,
                   "config.yaml:2: found a tab character that violates indentation");
}

static void test_bytes_that_are_no_text_are_refused_with_their_line(void **state)
{
    (void)state;
    assert_refused(VIEW("a: 1\nb: \0\n"), ETHOS_INVALID, "config.yaml:2: NUL is not allowed");
    assert_refused(VIEW("a: 1\nb: \"\\0\"\n"), ETHOS_INVALID, "config.yaml:2: NUL is not allowed");
    assert_refused(VIEW("\"\\0\": 1\n"), ETHOS_INVALID, "config.yaml:1: NUL is not allowed");
    assert_refused(VIEW("a: 1\n\nb: \xC3\n"), ETHOS_INVALID, "config.yaml:3: invalid UTF-8");
    assert_refused(VIEW("a: \u4E2D\nb: \x07\n"), ETHOS_INVALID,
                   "config.yaml:2: control characters are not allowed");
    assert_refused(VIEW("\xFF\xFE"
                        "a\0"),
                   ETHOS_INVALID, "config.yaml:1: invalid UTF-8");
}

static void test_depth_is_bounded(void **state)
{
    struct str text;

    (void)state;
    str_init(&text, 100000);
    for (int i = 0; i < ETHOS_MAX_YAML_DEPTH; i++)
        str_printf(&text, "%*sk:\n", i, "");
    str_truncate(&text, text.size - 1);
    str_adds(&text, " v\n");
    load(str_view(&text));
    assert_int_equal(table.count, 1);

    str_clear(&text);
    for (int i = 0; i <= ETHOS_MAX_YAML_DEPTH; i++)
        str_printf(&text, "%*sk:\n", i, "");
    assert_refused(str_view(&text), ETHOS_LIMIT, "config.yaml:17: nested too deeply");

    str_clear(&text);
    for (int i = 0; i < 30000; i++)
        str_adds(&text, "{");
    struct yaml_table out;
    arena_release(&arena);
    assert_int_not_equal(yaml_parse(str_view(&text), "x", &arena, &out, NULL), ETHOS_OK);
    str_release(&text);
}

static void test_size_is_bounded(void **state)
{
    char *text = malloc(ETHOS_MAX_YAML_BYTES + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '\n', ETHOS_MAX_YAML_BYTES + 1);
    memcpy(text, "a: b", 4);
    load(view_of(text, ETHOS_MAX_YAML_BYTES));
    assert_value("a", "b");
    assert_refused(view_of(text, ETHOS_MAX_YAML_BYTES + 1), ETHOS_LIMIT,
                   "config.yaml: larger than 65536 bytes");
    free(text);
}

/* ---- quoting ------------------------------------------------------------------------------- */

static void assert_quoted(const char *value, const char *expected)
{
    struct str out;

    str_init(&out, 1000);
    assert_int_equal(yaml_quote(value, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_plain_where_plain_reads_the_same(void **state)
{
    static const char *const values[] = {
        "markdown",       "20000", "-1",         "true",   "/path/to/x.so", "a b", "a, b",
        "http://x:80/#y", "it's",  "2026-11-15", "\u4E2D", "x\"y",          "a[0]"};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_quoted(values[i], values[i]);
}

static void test_quoted_where_it_would_read_as_something_else(void **state)
{
    (void)state;
    assert_quoted("", "\"\"");
    assert_quoted("~", "\"~\"");
    assert_quoted("Null", "\"Null\"");
    assert_quoted(" a", "\" a\"");
    assert_quoted("a ", "\"a \"");
    assert_quoted("a: b", "\"a: b\"");
    assert_quoted("a:", "\"a:\"");
    assert_quoted("a #b", "\"a #b\"");
    assert_quoted("- a", "\"- a\"");
    assert_quoted("[x]", "\"[x]\"");
    assert_quoted("\"x\"", "\"\\\"x\\\"\"");
    assert_quoted("*a\\b", "\"*a\\\\b\"");
    assert_quoted("a\nb\tc\rd\x1B", "\"a\\nb\\tc\\rd\\u001B\"");
    assert_quoted("a\u2028\xC2\x85\uFEFF", "\"a\\u2028\\u0085\\uFEFF\"");
}

/* What yaml_quote wrote, as the value of a key, reads back as the same string. */
static void assert_round_trip(const char *value)
{
    struct str text;

    str_init(&text, 10000);
    str_adds(&text, "before: x\nkey: ");
    yaml_quote(value, &text);
    str_adds(&text, "\nafter: y\n");
    assert_int_equal(str_code(&text), ETHOS_OK);
    load(str_view(&text));
    assert_int_equal(table.count, 3);
    assert_value("key", value);
    assert_value("after", "y");
    str_release(&text);
}

static void test_every_quoted_value_reads_back(void **state)
{
    static const char *const pieces[] = {
        "a",          " ",    ":", "#", "-",   "\n", "'",        "\"",     "\\",
        "\t",         ",",    "[", "]", "{",   "}",  "&",        "*",      "!",
        "|",          ">",    "%", "@", "`",   "?",  "~",        "\u00E9", "\u2028",
        "\U0001F600", "\x7F", "=", ".", "---", "<<", "\xC2\xA0", "\u3000", "\r"};
    const size_t count = sizeof(pieces) / sizeof(pieces[0]);
    uint32_t seed = 11;
    char value[200];

    (void)state;
    for (size_t i = 0; i < count * count + 3000; i++) {
        size_t length = i < count * count ? 2 : 5;

        value[0] = '\0';
        for (size_t j = 0; j < length; j++) {
            seed = seed * 1664525 + 1013904223;
            size_t pick = i < count * count ? (j ? i % count : i / count) : (seed >> 8) % count;
            size_t used = strlen(value);

            memcpy(value + used, pieces[pick], strlen(pieces[pick]) + 1);
        }
        assert_round_trip(value);
    }
}

static void test_invalid_bytes_are_quoted_as_replacements(void **state)
{
    (void)state;
    assert_quoted("a\xFF", "\"a\uFFFD\"");
}

/* ---- memory -------------------------------------------------------------------------------- */

static void test_every_failing_allocation_is_nomem_without_a_leak(void **state)
{
    struct ethos_view text = VIEW(
        "a: 1\nb:\n  c: \"x\\ny\"\n  d: [one, two, 'three']\n  e:\n    - f\n    - g\n"
        "h: |\n  block\n  text\ni: {j: k, l: m}\n? n\n: o\nb.c: \"x\\ny\"\n");
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct arena scratch;
        struct yaml_table out = {0};
        struct ethos_error error = {0};

        arena_init(&scratch);
        code = yaml_parse(text, "x", &scratch, &out, &error);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("allocation %lu: %s", n, error.text);
        assert_int_equal(out.count, code == ETHOS_OK ? 8 : 0);
        arena_release(&scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat_and_nested_keys_mean_the_same),
        cmocka_unit_test(test_pairs_come_in_file_order),
        cmocka_unit_test(test_documents_without_keys_are_empty),
        cmocka_unit_test(test_scalars_are_strings_and_no_types),
        cmocka_unit_test(test_lists_are_joined_with_commas),
        cmocka_unit_test(test_places_are_bytes_of_the_value),
        cmocka_unit_test(test_an_empty_value_stands_right_after_its_colon),
        cmocka_unit_test(test_values_whose_quotes_matter_to_what_follows_stay),
        cmocka_unit_test(test_a_byte_order_mark_shifts_nothing),
        cmocka_unit_test(test_lines_are_counted_by_lf),
        cmocka_unit_test(test_flat_and_nested_with_the_same_value_agree_and_the_first_wins),
        cmocka_unit_test(test_flat_and_nested_with_different_values_name_both_lines),
        cmocka_unit_test(test_duplicate_keys_are_refused_even_with_the_same_value),
        cmocka_unit_test(test_a_value_beside_a_mapping_is_no_conflict),
        cmocka_unit_test(test_everything_outside_the_subset_is_refused_with_its_line),
        cmocka_unit_test(test_broken_yaml_is_refused_with_its_line),
        cmocka_unit_test(test_bytes_that_are_no_text_are_refused_with_their_line),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_plain_where_plain_reads_the_same),
        cmocka_unit_test(test_quoted_where_it_would_read_as_something_else),
        cmocka_unit_test(test_every_quoted_value_reads_back),
        cmocka_unit_test(test_invalid_bytes_are_quoted_as_replacements),
        cmocka_unit_test(test_every_failing_allocation_is_nomem_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
