/*
 * test_json_edit.c: members and elements come and go, and nothing else moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents/json_edit.h"

#define PATH(...) ((const char *const[]){__VA_ARGS__, NULL})

static enum json_edit_form form = JSON_EDIT_STRICT;

static void assert_put(const char *text, const char *const path[], const char *value,
                       const char *expected)
{
    struct str out;
    struct ethos_error error = {0};
    json_t *json = json_loads(value, JSON_DECODE_ANY, NULL);
    str_init(&out, SIZE_MAX);
    assert_non_null(json);
    assert_int_equal(json_edit_put(view_str(text), form, "file", path, json, &out, &error),
                     ETHOS_OK);
    assert_string_equal(out.data, expected);
    json_decref(json);
    str_release(&out);
}

static void assert_drop(const char *text, const char *const path[], const char *expected)
{
    struct str out;
    struct ethos_error error = {0};
    str_init(&out, SIZE_MAX);
    assert_int_equal(json_edit_drop(view_str(text), form, "file", path, &out, &error), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

/* There and back: the bytes of before. */
static void assert_both(const char *text, const char *const path[], const char *const back[],
                        const char *value, const char *expected)
{
    assert_put(text, path, value, expected);
    assert_drop(expected, back, text);
}

static void assert_refused(const char *text, const char *const path[], const char *message)
{
    struct str out;
    struct ethos_error error = {0};
    json_t *json = json_integer(1);
    str_init(&out, SIZE_MAX);
    assert_int_equal(json_edit_put(view_str(text), form, "file", path, json, &out, &error),
                     ETHOS_INVALID);
    assert_string_equal(error.text, message);
    json_decref(json);
    str_release(&out);
}

#define A PATH("a")
#define B PATH("b")
#define AB PATH("a", "b")

static void a_member_is_added_in_the_manner_of_the_document(void **state)
{
    (void)state;
    assert_both("{\"a\":1}", B, B, "2", "{\"a\":1,\"b\":2}");
    assert_both("{\"a\": 1}", B, B, "2", "{\"a\": 1, \"b\": 2}");
    assert_both("{ \"a\": 1 }", B, B, "[2, 3]", "{ \"a\": 1, \"b\": [2, 3] }");
    assert_both("{\n  \"a\": 1\n}\n", B, B, "2", "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    assert_both("{\n\t\"a\": 1\n}", B, B, "{\"c\":{\"d\":[1]}}",
                "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": {\n\t\t\t\"d\": [1]\n\t\t}\n\t}\n}");
    assert_both("{\r\n    \"a\":{}\r\n}\r\n", B, B, "{\"c\":1}",
                "{\r\n    \"a\":{},\r\n    \"b\":{\r\n        \"c\":1\r\n    }\r\n}\r\n");
    assert_both("{\n  \"x\": 1,\n\n  \"a\": 1\n}", B, B, "2",
                "{\n  \"x\": 1,\n\n  \"a\": 1,\n  \"b\": 2\n}");
    assert_both("\xef\xbb\xbf{\"a\": 1}", B, B, "2", "\xef\xbb\xbf{\"a\": 1, \"b\": 2}");
    assert_both("{\n\"a\": 1\n}", B, B, "{\"c\": 1}", "{\n\"a\": 1,\n\"b\": {\n  \"c\": 1\n}\n}");
}

static void an_empty_object_opens_and_closes(void **state)
{
    (void)state;
    assert_both("{}", A, A, "1", "{\n  \"a\": 1\n}");
    assert_both("{}\n", AB, A, "1", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    assert_both("{\"a\":{}}", AB, AB, "1", "{\"a\":{\"b\":1}}");
    assert_both("{\n\t\"a\": {}\n}", AB, AB, "1", "{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}");
    assert_put("{ \n }", A, "1", "{\n  \"a\": 1\n}");
    assert_put("", A, "1", "{\n  \"a\": 1\n}\n");
    assert_put(" \n", A, "1", "{\n  \"a\": 1\n}\n");
    assert_put("\xef\xbb\xbf", A, "1", "\xef\xbb\xbf{\n  \"a\": 1\n}\n");
}

static void an_element_is_added_behind_the_last(void **state)
{
    (void)state;
    assert_both("{\"a\":[1]}", PATH("a", "-"), PATH("a", "1"), "{\"b\":2}",
                "{\"a\":[1,{\"b\":2}]}");
    assert_both("{\"a\": [1, 2]}", PATH("a", "-"), PATH("a", "2"), "3", "{\"a\": [1, 2, 3]}");
    assert_both("{\n  \"a\": [\n    {}\n  ]\n}", PATH("a", "-"), PATH("a", "1"), "{\"b\": 2}",
                "{\n  \"a\": [\n    {},\n    {\n      \"b\": 2\n    }\n  ]\n}");
    assert_both("{\n  \"a\": []\n}", PATH("a", "-"), PATH("a", "0"), "{\"b\": 2}",
                "{\n  \"a\": [\n    {\n      \"b\": 2\n    }\n  ]\n}");
    assert_both("{\n  \"x\": 1\n}", PATH("a", "b", "-"), A, "1",
                "{\n  \"x\": 1,\n  \"a\": {\n    \"b\": [1]\n  }\n}");
}

static void a_value_is_replaced_where_it_stands(void **state)
{
    (void)state;
    assert_put("{\"a\" : 1.50, \"b\":2}", A, "3", "{\"a\" : 3, \"b\":2}");
    assert_put("{\n  \"a\": {\"x\": [1]},\n  \"b\": 1e5\n}", A, "{\"y\": \"\\u00e9/\"}",
               "{\n  \"a\": {\n    \"y\": \"é/\"\n  },\n  \"b\": 1e5\n}");
    assert_put("{\"a\": [1, \"]\", {\"c\": \"}\"}]}", PATH("a", "2", "c"), "true",
               "{\"a\": [1, \"]\", {\"c\": true}]}");
}

static void what_is_taken_out_takes_one_comma_with_it(void **state)
{
    (void)state;
    assert_drop("{\"a\":1,\"b\":2}", A, "{\"b\":2}");
    assert_drop("{\n  \"a\": 1,\n  \"b\": [2]\n}\n", A, "{\n  \"b\": [2]\n}\n");
    assert_drop("{\n  \"a\": 1\n  , \"b\": 2\n}", B, "{\n  \"a\": 1\n}");
    assert_drop("{ \"b\" : [ ] }", B, "{}");
    assert_drop("{\"a\":[1 , 2 , 3]}", PATH("a", "1"), "{\"a\":[1 , 3]}");
    assert_drop("{\"a\\\"\\\\\":1,\"b\":2,\"\\u0062c\":3}", PATH("bc"),
                "{\"a\\\"\\\\\":1,\"b\":2}");
}

static void a_name_is_what_it_means_and_not_how_it_is_written(void **state)
{
    (void)state;
    assert_put("{\"\\u0061\": 1}", A, "2", "{\"\\u0061\": 2}");
    assert_put("{\"b\": \"\\\"a\\\": 5\", \"a\": 1}", A, "2",
               "{\"b\": \"\\\"a\\\": 5\", \"a\": 2}");
}

#define OWNER "it has comments or trailing commas, so ethos does not edit it"

static void what_is_not_plain_json_is_refused(void **state)
{
    (void)state;
    assert_refused("{\"a\": 1,}", B,
                   "file: line 1, column 9: a key in double quotes is expected: " OWNER);
    assert_refused("{} // x", B, "file: line 1, column 4: unexpected text after the value: " OWNER);
    assert_refused("{a: 1}", B, "file: line 1, column 2: a key in double quotes is expected");
    assert_refused("{\"a\": 1}", AB, "file: a has an unexpected type");
    assert_refused("{\"a\": []}", AB, "file: a has an unexpected type");
    assert_refused("{\"a\": {}}", PATH("a", "-"), "file: a has an unexpected type");
    assert_refused("[]", A, "file: the whole has an unexpected type");
    assert_refused("7", A, "file: the whole has an unexpected type");
}

static void what_is_not_there_cannot_be_taken_out(void **state)
{
    struct str out;
    struct ethos_error error;
    (void)state;
    str_init(&out, SIZE_MAX);
    assert_int_equal(
        json_edit_drop(VIEW("{\"a\":[1]}"), JSON_EDIT_STRICT, "file", PATH("a", "1"), &out, &error),
        ETHOS_NOTFOUND);
    assert_int_equal(json_edit_drop(VIEW(""), JSON_EDIT_STRICT, "file", A, &out, &error),
                     ETHOS_NOTFOUND);
    assert_int_equal(
        json_edit_drop(VIEW("{\"a\":[1]}"), JSON_EDIT_STRICT, "file", PATH("a", "x"), &out, &error),
        ETHOS_NOTFOUND);
    str_release(&out);
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    int code = ETHOS_NOMEM;
    json_t *value = json_pack("{s:[i]}", "x", 1);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;
        struct ethos_error error;
        str_init(&out, SIZE_MAX);
        code = json_edit_put(VIEW("{\"y\":{}}"), JSON_EDIT_STRICT, "file", PATH("y", "a", "-"),
                             value, &out, &error);
        if (code == ETHOS_OK) {
            assert_string_equal(out.data, "{\"y\":{\"a\":[{\"x\":[1]}]}}");
            code = json_edit_drop(VIEW("{\"y\":1}"), JSON_EDIT_STRICT, "file", PATH("y"), &out,
                                  &error);
        }
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
    json_decref(value);
}

/* Comments and trailing commas stay where they are, and there and back is the same. */
static void remarks_stay(void **state)
{
    (void)state;
    form = JSON_EDIT_REMARKS;
    assert_both("{\n  // mine\n  \"a\": 1 // one\n}\n", B, B, "2",
                "{\n  // mine\n  \"a\": 1,\n  \"b\": 2 // one\n}\n");
    assert_both("{\n  \"a\": 1, /* x, */\n}\n", B, B, "2",
                "{\n  \"a\": 1,\n  \"b\": 2, /* x, */\n}\n");
    assert_both("{\"a\": [1,],}", PATH("a", "-"), PATH("a", "1"), "2", "{\"a\": [1, 2,],}");
    assert_both("{\n  // \"a\": 1\n  \"c\": {} // {\n}", PATH("c", "b"), PATH("c", "b"), "2",
                "{\n  // \"a\": 1\n  \"c\": {\n    \"b\": 2\n  } // {\n}");
    assert_put("{ // none\n}", A, "1", "{ // none\n  \"a\": 1\n}");
    assert_put("{\"x\": 1, \"c\": { // none\n}}", PATH("c", "a"), "1",
               "{\"x\": 1, \"c\": { // none\n  \"a\": 1\n}}");
    assert_put("{\"a\": \"// \\\" /*\", }", A, "1", "{\"a\": 1, }");
    assert_put("// all\n", A, "1", "// all\n{\n  \"a\": 1\n}\n");
    assert_drop("{\"a\": 1, \"b\": 2,}", A, "{\"b\": 2,}");
    assert_drop("{\"a\": 1,}", A, "{}");
    assert_drop("{\n  \"a\": 1, // one\n  \"b\": 2\n}", A, "{ // one\n  \"b\": 2\n}");
    assert_drop("{\n  \"a\": 1, // one\n  // two\n  \"b\": 2\n}", B,
                "{\n  \"a\": 1 // one\n  // two\n}");
    assert_drop("{\n  \"b\": 2, // two\n  // one\n  \"a\": 1,\n  \"c\": 3\n}", A,
                "{\n  \"b\": 2, // two\n  // one\n  \"c\": 3\n}");
    assert_drop("{\n  // one\n  \"a\": 1, // ours\n}", A, "{\n  // one\n // ours\n}");
    assert_refused("{\"a\": 1 /* open }", B, "file: line 1, column 9: ',' or '}' is expected");
    assert_drop("{\"b\": 1 // c\n, \"a\": 2}", A, "{\"b\": 1 // c\n}");
    form = JSON_EDIT_STRICT;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remarks_stay),
        cmocka_unit_test(a_member_is_added_in_the_manner_of_the_document),
        cmocka_unit_test(an_empty_object_opens_and_closes),
        cmocka_unit_test(an_element_is_added_behind_the_last),
        cmocka_unit_test(a_value_is_replaced_where_it_stands),
        cmocka_unit_test(what_is_taken_out_takes_one_comma_with_it),
        cmocka_unit_test(a_name_is_what_it_means_and_not_how_it_is_written),
        cmocka_unit_test(what_is_not_plain_json_is_refused),
        cmocka_unit_test(what_is_not_there_cannot_be_taken_out),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("core/json_edit", tests, NULL, NULL);
}
