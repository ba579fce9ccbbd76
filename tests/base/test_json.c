/*
 * test_json.c: strict JSON in, JSON out.
 */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ethos/limits.h>

#include "../support/alloc.h"
#include "base/str.h"
#include "base/view.h"

/* ---- helpers ------------------------------------------------------------------------------- */

static json_t *parse(struct ethos_view text)
{
    struct ethos_error error = {0};
    json_t *value = NULL;

    if (json_parse(text, "test", &value, &error))
        fail_msg("%.*s: %s", VIEW_ARG(text), error.text);
    return value;
}

/* The text reads as what jansson reads from `same`. */
static void assert_reads(struct ethos_view text, const char *same)
{
    json_t *value = parse(text);
    json_t *expected = json_loads(same, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    assert_non_null(expected);
    assert_true(json_equal(value, expected));
    json_decref(value);
    json_decref(expected);
}

static void assert_refused(struct ethos_view text, int code, const char *message)
{
    struct ethos_error error = {0};
    json_t *value = NULL;

    assert_int_equal(json_parse(text, "updates", &value, &error), code);
    assert_int_equal(error.code, code);
    assert_string_equal(error.text, message);
    assert_null(value);
    assert_int_equal(json_parse(text, "updates", &value, NULL), code);
}

static void assert_prints(const char *text, int style, const char *expected)
{
    struct str out;
    json_t *value = parse(view_str(text));

    str_init(&out, 10000);
    str_adds(&out, "> ");
    assert_int_equal(json_print(value, style, &out), ETHOS_OK);
    assert_string_equal(out.data + 2, expected);
    str_release(&out);
    json_decref(value);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void test_every_kind_of_value_is_read(void **state)
{
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "12",
        "-9223372036854775808",
        "9223372036854775807",
        "1.5",
        "-0.25e2",
        "1E3",
        "1e-7",
        "0.30000000000000004",
        "\"\"",
        "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\uD83D\\uDE00\"",
        "[]",
        "{}",
        " [ 1 , [ 2 , {} ] , \"x\" ]\n",
        "\t{ \"a\" : { \"b\" : [ null ] } , \"c\" : \"d\" }\r\n",
        "{\"\":0,\"\\u0061b\":1}",
        "\"\u4E2D\U0001F600\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_reads(view_str(texts[i]), texts[i]);
}

static void test_numbers_of_others_may_be_too_large(void **state)
{
    static const char text[] =
        "[9223372036854775807, 9223372036854775808, -1e999, 2.0, 2.5, \"2\"]";
    static const int64_t whole[] = {INT64_MAX, INT64_MAX, INT64_MIN, 2};
    struct ethos_error error;
    json_t *json;
    int64_t number;
    (void)state;
    assert_int_equal(json_parse(view_str(text), "x", &json, &error), ETHOS_INVALID);
    assert_int_equal(json_parse_wide(view_str(text), "x", &json, &error), ETHOS_OK);
    assert_true(json_is_integer(json_array_get(json, 0)));
    assert_true(json_is_real(json_array_get(json, 1)));
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(json_whole(json_array_get(json, i), &number), i < 4);
        assert_true(i >= 4 || number == whole[i]);
    }
    assert_false(json_whole(NULL, &number));
    json_decref(json);
}

static void test_key_order_is_kept(void **state)
{
    (void)state;
    assert_prints("{\"z\":1,\"a\":2,\"m\":3}", JSON_STYLE_LINE, "{\"z\":1,\"a\":2,\"m\":3}");
}

static void test_a_lone_surrogate_becomes_the_replacement(void **state)
{
    (void)state;
    assert_reads(VIEW("\"\\ud800\""), "\"\\ufffd\"");
    assert_reads(VIEW("\"\\uDC00x\""), "\"\\ufffdx\"");
    assert_reads(VIEW("\"\\ud800\\ud800\\udc00\""), "\"\\ufffd\\ud800\\udc00\"");
    assert_reads(VIEW("\"\\udc00\\ud800\""), "\"\\ufffd\\ufffd\"");
    assert_reads(VIEW("\"\\ud83d\\n\""), "\"\\ufffd\\n\"");
    assert_reads(VIEW("\"\\ud83d\\u0041\""), "\"\\ufffdA\"");
    assert_reads(VIEW("\"\\\\ud800\""), "\"\\\\ud800\""); // an escaped backslash, then text
}

static void test_nul_in_a_string_is_left_to_the_caller(void **state)
{
    json_t *value = parse(VIEW("{\"a\":\"x\\u0000y\"}"));
    struct ethos_view text = json_view(value, "a");

    (void)state;
    assert_int_equal(text.size, 3);
    assert_memory_equal(text.data, "x\0y", 3);
    json_decref(value);
}

static void test_errors_name_document_line_and_column(void **state)
{
    (void)state;
    assert_refused(VIEW("{\n\"a\": 1,\n  \"b\": 2, \"a\": 3}"), ETHOS_INVALID,
                   "updates: line 3, column 11: duplicate object key");
    assert_refused(VIEW("[\"\u00E9\u4E2D\", x]"), ETHOS_INVALID,
                   "updates: line 1, column 8: a value is expected");
    assert_refused(VIEW(""), ETHOS_INVALID, "updates: line 1, column 1: the text ends too early");
    assert_refused(VIEW("[1,\n"), ETHOS_INVALID,
                   "updates: line 2, column 1: the text ends too early");
    assert_refused(VIEW("[1] 2"), ETHOS_INVALID,
                   "updates: line 1, column 5: unexpected text after the value");
    assert_refused((struct ethos_view){NULL, 0}, ETHOS_INVALID,
                   "updates: line 1, column 1: the text ends too early");
}

static void test_duplicate_keys_are_found_behind_escapes(void **state)
{
    (void)state;
    assert_refused(VIEW("{\"a\":1,\"\\u0061\":2}"), ETHOS_INVALID,
                   "updates: line 1, column 8: duplicate object key");
}

static void test_what_json_is_not_is_refused(void **state)
{
    static const char *const texts[] = {
        "{",
        "[",
        "\"",
        "\"\\",
        "\"\\u12\"",
        "\"\\u12",
        "\"\\x\"",
        "\"a\nb\"",
        "\"\x01\"",
        "{a:1}",
        "{'a':1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "01",
        "-",
        "-a",
        "+1",
        ".5",
        "1.",
        "1.e3",
        "1e",
        "1e+",
        "0x10",
        "NaN",
        "Infinity",
        "nul",
        "tru",
        "True",
        "[1]]",
        "// x\n1",
        "1,",
        "\xEF\xBB\xBF{}",
        "{\"a\\u0000b\":1}",
        "]",
        "}",
        ":",
        "{1:2}",
        "[1}",
        "{\"a\":1]",
        "\u00A0 1",
        "1e999",
        "-1e999",
        "9223372036854775808",
        "-9223372036854775809",
        "[\"a\",\"b]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_t *value = NULL;
        struct ethos_error error;

        if (json_parse(view_str(texts[i]), "x", &value, &error) != ETHOS_INVALID)
            fail_msg("accepted: %s", texts[i]);
        assert_null(value);
        assert_true(view_starts(view_str(error.text), VIEW("x: line ")));
    }
    assert_refused(VIEW("1\0"), ETHOS_INVALID,
                   "updates: line 1, column 2: unexpected text after the value");
}

static void test_invalid_utf8_is_refused_where_it_stands(void **state)
{
    (void)state;
    assert_refused(VIEW("{\"a\":\n\"\u00E9\xC3\"}"), ETHOS_INVALID,
                   "updates: line 2, column 3: invalid UTF-8");
    assert_refused(VIEW("\"\xED\xA0\x80\""), ETHOS_INVALID,
                   "updates: line 1, column 2: invalid UTF-8");
    assert_refused(VIEW("\xFF"), ETHOS_INVALID, "updates: line 1, column 1: invalid UTF-8");
}

/* `depth` opening brackets, and as many closing ones unless the text shall end early. */
static void nest(struct str *out, size_t depth, bool closed)
{
    str_init(out, 10000000);
    for (size_t i = 0; i < depth; i++)
        str_addc(out, '[');
    for (size_t i = 0; closed && i < depth; i++)
        str_addc(out, ']');
    assert_int_equal(str_code(out), ETHOS_OK);
}

/* An array of so many values, itself among them. */
static void list(struct str *out, size_t count)
{
    str_init(out, 100000000);
    str_addc(out, '[');
    for (size_t i = 1; i < count; i++)
        str_adds(out, i > 1 ? ",{}" : "{}");
    str_addc(out, ']');
    assert_int_equal(str_code(out), ETHOS_OK);
}

/* What a value costs in memory is many times its text. */
static void test_the_number_of_values_is_bounded(void **state)
{
    struct str text;

    (void)state;
    list(&text, ETHOS_MAX_JSON_VALUES);
    json_decref(parse(str_view(&text)));
    str_release(&text);

    list(&text, ETHOS_MAX_JSON_VALUES + 1);
    assert_refused(str_view(&text), ETHOS_LIMIT,
                   "updates: line 1, column 786431: more than 262144 values");
    str_release(&text);
}

static void test_depth_is_bounded(void **state)
{
    struct str text;

    (void)state;
    nest(&text, ETHOS_MAX_JSON_DEPTH, true);
    json_decref(parse(str_view(&text)));
    str_release(&text);

    nest(&text, ETHOS_MAX_JSON_DEPTH + 1, true);
    assert_refused(str_view(&text), ETHOS_LIMIT, "updates: line 1, column 65: nested too deeply");
    str_release(&text);

    nest(&text, 1000000, false);
    assert_refused(str_view(&text), ETHOS_LIMIT, "updates: line 1, column 65: nested too deeply");
    str_release(&text);

    assert_reads(
        VIEW("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""),
        "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"");
}

static void test_size_is_bounded(void **state)
{
    size_t size = ETHOS_MAX_INPUT_BYTES;
    char *text = malloc(size + 1);

    (void)state;
    assert_non_null(text);
    memset(text, ' ', size + 1);
    text[0] = '7';
    json_decref(parse(view_of(text, size)));
    assert_refused(view_of(text, size + 1), ETHOS_LIMIT, "updates: larger than 16777216 bytes");
    free(text);
}

static void test_nothing_past_the_end_is_read(void **state)
{
    static const char *const texts[] = {"[1,\"ab\\u00e9\",{\"k\":true}]", "-12.5e3",
                                        "\"\\ud83d\\ude00\""};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t size = 0; size <= strlen(texts[i]); size++) {
            char *exact = malloc(size ? size : 1); // the sanitizer watches its end
            json_t *value = NULL;

            assert_non_null(exact);
            memcpy(exact, texts[i], size);
            int code = json_parse(view_of(exact, size), "x", &value, NULL);
            assert_int_equal(code == ETHOS_OK, value != NULL);
            json_decref(value);
            free(exact);
        }
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static void test_styles(void **state)
{
    (void)state;
    assert_prints("{\"a\":[1,{\"b\":null}],\"c\":\"\u00E9\\n\"}", JSON_STYLE_LINE,
                  "{\"a\":[1,{\"b\":null}],\"c\":\"\u00E9\\n\"}");
    assert_prints("{\"a\":[1],\"b\":{}}", JSON_STYLE_PRETTY,
                  "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
    assert_prints("\"x\"", JSON_STYLE_LINE, "\"x\"");
}

static void test_numbers_have_as_few_digits_as_tell_them(void **state)
{
    (void)state;
    assert_prints("[0.1,1.0,-2.5e-7]", JSON_STYLE_LINE, "[0.1,1.0,-2.5e-7]");
    assert_prints("{\"a\":{\"b\":[0.30000000000000004]}}", JSON_STYLE_LINE,
                  "{\"a\":{\"b\":[0.30000000000000004]}}");
    assert_prints("1.7976931348623157e308", JSON_STYLE_LINE, "1.7976931348623157e308");
}

static void test_a_full_buffer_stays_as_it_was(void **state)
{
    json_t *value = parse(VIEW("[1,2,3]"));
    struct str out;

    (void)state;
    str_init(&out, 6);
    str_adds(&out, "ab");
    assert_int_equal(json_print(value, JSON_STYLE_LINE, &out), ETHOS_LIMIT);
    assert_string_equal(out.data, "ab");
    assert_int_equal(str_code(&out), ETHOS_LIMIT);
    assert_int_equal(json_print(value, JSON_STYLE_LINE, &out), ETHOS_LIMIT);
    str_release(&out);
    json_decref(value);
}

static void test_view_of_a_member_is_absent_unless_it_is_a_string(void **state)
{
    json_t *value = parse(VIEW("{\"a\":\"\",\"n\":1}"));

    (void)state;
    assert_non_null(json_view(value, "a").data);
    assert_int_equal(json_view(value, "a").size, 0);
    assert_null(json_view(value, "n").data);
    assert_null(json_view(value, "missing").data);
    assert_null(json_view(NULL, "a").data);
    json_decref(value);
}

static void test_text_takes_any_bytes(void **state)
{
    json_t *text = json_text(VIEW("a\0\xFF\u00E9"));

    (void)state;
    assert_int_equal(json_string_length(text), 7);
    assert_memory_equal(json_string_value(text), "a\0\uFFFD\u00E9", 7);
    json_decref(text);
    text = json_text((struct ethos_view){NULL, 0});
    assert_string_equal(json_string_value(text), "");
    json_decref(text);
}

/* ---- memory -------------------------------------------------------------------------------- */

static const char rich[] =
    "{\"short\":1,\"a key long enough to need memory of its own \\u0061\":[1.25e3,null,true,"
    "\"a string with \\n escapes, longer than any small buffer could hold, "
    "and then some more \\ud83d\\ude00\",{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,"
    "\"h\":8,\"i\":9},[[1,2,3,4,5,6,7,8,9,10]]]}";

static void test_every_failing_allocation_of_a_parse_is_nomem(void **state)
{
    int code = ETHOS_NOMEM;
    json_t *expected = parse(view_str(rich));

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        json_t *value = NULL;
        struct ethos_error error = {0};

        code = json_parse(view_str(rich), "x", &value, &error);
        assert_int_equal(error.code, code);
        assert_true(code == ETHOS_OK ? json_equal(value, expected) : code == ETHOS_NOMEM && !value);
        json_decref(value);
    }
    json_decref(expected);
}

static void test_every_failing_allocation_of_a_print_is_nomem(void **state)
{
    int code = ETHOS_NOMEM;
    json_t *value = parse(view_str(rich));

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;

        str_init(&out, 100000);
        code = json_print(value, JSON_STYLE_PRETTY, &out);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && out.size == 0));
        str_release(&out);
    }
    json_decref(value);
}

static void test_every_failing_allocation_of_a_text_gives_null(void **state)
{
    json_t *text = NULL;

    (void)state;
    ALLOC_EACH(n, text)
    {
        text = json_text(VIEW("a\xFFz"));
    }
    assert_string_equal(json_string_value(text), "a\uFFFDz");
    json_decref(text);
}

/* ---- strings and members -------------------------------------------------------------------- */

static void assert_quoted(struct ethos_view v, const char *expected)
{
    struct str out;

    str_init(&out, 1000);
    str_adds(&out, "x");
    assert_int_equal(json_quote(v, &out), ETHOS_OK);
    assert_string_equal(out.data + 1, expected);
    str_release(&out);
}

static void test_strings_are_quoted_as_javascript_does(void **state)
{
    (void)state;
    assert_quoted(VIEW(""), "\"\"");
    assert_quoted(view_str(NULL), "\"\"");
    assert_quoted(VIEW("a/\"\\\b\f\n\r\t"), "\"a/\\\"\\\\\\b\\f\\n\\r\\t\"");
    assert_quoted(VIEW("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"");
    assert_quoted(VIEW("\u00e9\u2028\U0001F600"), "\"\u00e9\u2028\U0001F600\"");
    assert_quoted(VIEW("a\xFF\xE2\x82z\n"), "\"a\uFFFD\uFFFDz\\n\"");
}

static void test_every_failing_allocation_of_a_quote_leaves_the_buffer(void **state)
{
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;

        str_init(&out, 1000);
        code = json_quote(
            VIEW("a\n\xFF\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
                 "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"),
            &out);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && out.size == 0));
        str_release(&out);
    }
}

/* Writes "name=raw|text;" for each member; stops at the name "stop". */
static int list_member(void *arg, const struct json_member *member)
{
    struct str *out = arg;

    assert_int_equal(member->text.data == NULL, member->value != NULL);
    str_add(out, member->name);
    str_addc(out, '=');
    str_add(out, member->raw);
    str_addc(out, '|');
    str_add(out, member->text);
    str_addc(out, ';');
    return view_eq(member->name, VIEW("stop")) ? 7 : str_code(out);
}

static void assert_members(const char *text, int code, const char *expected)
{
    struct str out;

    str_init(&out, 1000);
    assert_int_equal(json_members(view_str(text), "test", list_member, &out, NULL), code);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_members_come_one_by_one(void **state)
{
    (void)state;
    assert_members(" {} ", ETHOS_OK, "");
    assert_members("{\"a\": \"x\", \"b\\n\" :[1, {\"c\":2}] ,\"a\":\"\\t\",\"e\":null}", ETHOS_OK,
                   "a=\"x\"|x;b\n=[1, {\"c\":2}]|;a=\"\\t\"|\t;e=null|;");
    assert_members("{\"a\":\"\",\"stop\":1,\"b\":2}", 7, "a=\"\"|;stop=1|;");
}

static void test_members_of_what_is_no_object_are_refused(void **state)
{
    (void)state;
    assert_members("", ETHOS_INVALID, "");
    assert_members("[]", ETHOS_INVALID, "");
    assert_members("{\"a\":1", ETHOS_INVALID, "a=1|;");
    assert_members("{\"a\":1,}", ETHOS_INVALID, "a=1|;");
    assert_members("{\"a\" 1}", ETHOS_INVALID, "");
    assert_members("{\"a\":1} x", ETHOS_INVALID, "a=1|;");
    assert_members("{\"a\":\"\xFF\"}", ETHOS_INVALID, "");
}

static void test_every_failing_allocation_of_members_is_nomem(void **state)
{
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;

        str_init(&out, 1000);
        code = json_members(VIEW("{\"a\\n\":\"\\n\",\"b\":[1,\"x\"]}"), "test", list_member, &out,
                            NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
}

/* jansson reads it back; and every byte that needs no escape stands for itself. */
static void test_any_byte_is_quoted_at_any_place(void **state)
{
    (void)state;
    for (size_t size = 1; size <= 20; size++) {
        for (size_t place = 0; place < size; place++) {
            for (int c = 0; c < 0x80; c++) {
                char text[20];
                struct str out;
                memset(text, 'x', size);
                text[place] = (char)c;
                text[size - 1 - place] = (char)c;
                str_init(&out, 200);
                assert_int_equal(json_quote(view_of(text, size), &out), ETHOS_OK);
                json_t *read = json_loadb(out.data, out.size, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                                          NULL);
                assert_non_null(read);
                assert_int_equal(json_string_length(read), size);
                assert_memory_equal(json_string_value(read), text, size);
                assert_int_equal(out.data[out.size], 0);
                if (c >= 0x20 && c != '"' && c != '\\')
                    assert_int_equal(out.size, size + 2);
                json_decref(read);
                str_release(&out);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_value_is_read),
        cmocka_unit_test(test_any_byte_is_quoted_at_any_place),
        cmocka_unit_test(test_numbers_of_others_may_be_too_large),
        cmocka_unit_test(test_key_order_is_kept),
        cmocka_unit_test(test_a_lone_surrogate_becomes_the_replacement),
        cmocka_unit_test(test_nul_in_a_string_is_left_to_the_caller),
        cmocka_unit_test(test_errors_name_document_line_and_column),
        cmocka_unit_test(test_duplicate_keys_are_found_behind_escapes),
        cmocka_unit_test(test_what_json_is_not_is_refused),
        cmocka_unit_test(test_invalid_utf8_is_refused_where_it_stands),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_the_number_of_values_is_bounded),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_nothing_past_the_end_is_read),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_numbers_have_as_few_digits_as_tell_them),
        cmocka_unit_test(test_a_full_buffer_stays_as_it_was),
        cmocka_unit_test(test_view_of_a_member_is_absent_unless_it_is_a_string),
        cmocka_unit_test(test_text_takes_any_bytes),
        cmocka_unit_test(test_every_failing_allocation_of_a_parse_is_nomem),
        cmocka_unit_test(test_every_failing_allocation_of_a_print_is_nomem),
        cmocka_unit_test(test_every_failing_allocation_of_a_text_gives_null),
        cmocka_unit_test(test_strings_are_quoted_as_javascript_does),
        cmocka_unit_test(test_every_failing_allocation_of_a_quote_leaves_the_buffer),
        cmocka_unit_test(test_members_come_one_by_one),
        cmocka_unit_test(test_members_of_what_is_no_object_are_refused),
        cmocka_unit_test(test_every_failing_allocation_of_members_is_nomem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
