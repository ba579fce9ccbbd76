/*
 * test_toolset_yaml.c: toolset.yaml and mcp.yaml are read, and edited without touching anything else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/formats/toolset_yaml.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void assert_json(json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

typedef int edit_fn(struct ethos_view text, const json_t *value, struct str *out,
                    struct ethos_error *error);

static void assert_edit(edit_fn *edit, const char *before, const char *value, const char *after)
{
    struct ethos_error error = {0};
    struct str out;
    json_t *json = json_loads(value, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    str_init(&out, 65536);
    int code = edit(view_str(before), json, &out, &error);
    if (after) {
        assert_int_equal(code, ETHOS_OK);
        assert_string_equal(out.size ? out.data : "", after);
    } else {
        assert_int_equal(code, ETHOS_INVALID);
    }
    str_release(&out);
    json_decref(json);
}

/* ---- toolset.yaml ---------------------------------------------------------------------------- */

static void test_a_toolset_is_read(void **state)
{
    static const char *const rows[][2] = {
        {"", "[]"},
        {"- read_file\n- write_file\n", "[\"read_file\",\"write_file\"]"},
        {"# tools\n\n- a # why\n  - 'b'\n-\t\"c\"\r\n# - d\n-e\n- \n", "[\"a\",\"b\",\"c\"]"},
        {"toolset:\n  - a", "[\"a\"]"},
        {"[a, 'b', \"c\"] # all\n", "[\"a\",\"b\",\"c\"]"},
        {"toolset: [a,\n  b, # why\n  - c]\n", "[\"a\",\"b\",\"- c\"]"},
        {"[]\n", "[]"},
        {"[a#b, c:d, [e], {f: g}, h] \n", "[\"a#b\",\"c:d\",\"h\"]"},
        {"[a, b\n", "[]"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_json(toolset_read(view_str(rows[i][0])), rows[i][1]);
}

static void test_a_toolset_keeps_what_an_edit_is_not_about(void **state)
{
    static const char *const rows[][3] = {
        {"# mine\n- a # why\n# off: - x\n- b\n", "[\"a\",\"b\"]",
         "# mine\n- a # why\n# off: - x\n- b\n"},
        {"# mine\n- a # why\n- b\n\n- c\n", "[\"a\",\"c\",\"d\"]",
         "# mine\n- a # why\n\n- c\n- d\n"},
        {"- a\n- a\n- b", "[\"a\",\"b\",\"c\"]", "- a\n- b\n- c\n"},
        {"# mine\n- a\n- b\n", "[\"b\",\"a\"]", "# mine\n- b\n- a\n"},
        {"# mine\n- a\n", "[]", "# mine\n"},
        {"", "[\"a\"]", "- a\n"},
        {"toolset:\n  - a\n", "[\"a\",\"b\"]", "toolset:\n  - a\n  - b\n"},
        {"[a, b]\n", "[\"a\",\"b\"]", "[a, b]\n"},
        {"- \"*\"\n", "[\"*\",\"a\"]", "- \"*\"\n- a\n"},
        {"- *a\n", "[\"a\"]", NULL},
        {"[a, b]\n", "[\"a\"]", NULL},
        {"[]\n", "[\"a\"]", NULL},
        {"tools: [a]\n", "[\"a\",\"b\"]", NULL},
        {"tools: a\n", "[\"b\"]", NULL},
        {"- a\n- b\n  more\n", "[\"a\"]", NULL},
        {"- a\n  - b\n", "[\"a\"]", NULL},
        {"- [a, b]\n", "[\"a\"]", NULL},
    };
    static const char *const wrong[] = {"\"a\"",       "[1]",       "[\"\"]", "[\"a b\"]",
                                        "[\"a\\nb\"]", "[\"a#b\"]", "null"};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_edit(toolset_edit, rows[i][0], rows[i][1], rows[i][2]);
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_edit(toolset_edit, "- a\n", wrong[i], NULL);
}

/* ---- mcp.yaml -------------------------------------------------------------------------------- */

#define POLICY                                                                                     \
    "# who may what\nservers:\n  linear:\n    enabled: false\n    # read only\n    tools:\n"       \
    "      - list_issues\n      # - save_issue\n      - get_issue\n    reject_args:\n"             \
    "      save_issue:\n        status:\n          - Done\n          - Cancelled\n"                \
    "    scopes:\n      - read\n  slack:\n    tools:\n      - search\nother: 1\n"

static void test_a_policy_is_read(void **state)
{
    (void)state;
    assert_json(mcp_policy_read(view_str("")), "{}");
    assert_json(mcp_policy_read(view_str("# nothing\n")), "{}");
    assert_json(mcp_policy_read(view_str("servers:\n")), "{\"servers\":{}}");
    assert_json(mcp_policy_read(view_str("servers:\n  - linear\n  slack:\n    tools:\n      - x")),
                "{\"servers\":{\"slack\":{\"tools\":[\"x\"]}}}");
    assert_json(mcp_policy_read(view_str(POLICY)),
                "{\"servers\":{\"linear\":{\"enabled\":false,\"reject_args\":{\"save_issue\":{"
                "\"status\":[\"Done\",\"Cancelled\"]}},\"tools\":[\"list_issues\",\"get_issue\"]},"
                "\"slack\":{\"tools\":[\"search\"]}}}");
    assert_json(mcp_policy_read(view_str("servers:\n    a:\n        tools:\n        - x\n")),
                "{\"servers\":{\"a\":{\"tools\":[\"x\"]}}}");
}

static void test_a_policy_keeps_what_an_edit_is_not_about(void **state)
{
    (void)state;
    assert_edit(mcp_policy_edit, POLICY, "{}", POLICY);
    assert_edit(mcp_policy_edit, POLICY, "{\"linear\":[\"list_issues\",\"get_issue\"]}", POLICY);
    assert_edit(mcp_policy_edit, POLICY, "{\"linear\":[\"get_issue\",\"new_one\"]}",
                "# who may what\nservers:\n  linear:\n    enabled: false\n    # read only\n"
                "    tools:\n      # - save_issue\n      - get_issue\n      - new_one\n"
                "    reject_args:\n      save_issue:\n        status:\n          - Done\n"
                "          - Cancelled\n    scopes:\n      - read\n  slack:\n    tools:\n"
                "      - search\nother: 1\n");
    assert_edit(mcp_policy_edit, POLICY, "{\"linear\":null,\"github\":[\"x\"]}",
                "# who may what\nservers:\n  linear:\n    enabled: false\n    # read only\n"
                "    reject_args:\n      save_issue:\n        status:\n          - Done\n"
                "          - Cancelled\n    scopes:\n      - read\n  slack:\n    tools:\n"
                "      - search\n  github:\n    tools:\n      - x\nother: 1\n");
    assert_edit(mcp_policy_edit, "servers:\n  a:\n    enabled: true\n  b:\n    enabled: true",
                "{\"a\":[\"x\"],\"b\":[\"y\"]}",
                "servers:\n  a:\n    enabled: true\n    tools:\n      - x\n  b:\n"
                "    enabled: true\n    tools:\n      - \"y\"\n");
    assert_edit(mcp_policy_edit, "# none yet\n", "{\"a\":[\"x\"],\"b\":null}",
                "# none yet\nservers:\n  a:\n    tools:\n      - x\n");
    assert_edit(mcp_policy_edit, POLICY, "[]", NULL);
    assert_edit(mcp_policy_edit, POLICY, "{\"a b\":[]}", NULL);
    assert_edit(mcp_policy_edit, POLICY, "{\"a\":\"x\"}", NULL);
}

static void test_lists_in_brackets_are_read_and_left_alone(void **state)
{
    static const char *const same[] = {
        "servers:\n  s1:\n    tools: [x, 'z']\n    enabled: false\n",
        "servers:\n  s1: {tools: [x, z], enabled: false}\n",
        "servers: {s1: {tools: [x, \"z\"], enabled: false}}\n",
        "servers:\n  s1:\n    tools: [\n      x, # why\n      z,\n    ]\n    enabled: false\n",
        "servers:\n  s1:\n    tools:\n      [x, z]\n    enabled: false\n",
        "servers:\n  s1:\n    {tools: [x, z], enabled: false}\n",
        "servers:\n  s1: {\n    tools: [x, z],\n    enabled: false }\n",
    };
    static const char *const others[] = {"{\"s1\":[\"x\"]}", "{\"s1\":[]}", "{\"s1\":null}",
                                         "{\"s1\":[\"x\",\"y\",\"z\"]}"};
    (void)state;
    for (size_t i = 0; i < COUNT(same); i++) {
        assert_json(mcp_policy_read(view_str(same[i])),
                    "{\"servers\":{\"s1\":{\"enabled\":false,\"tools\":[\"x\",\"z\"]}}}");
        assert_edit(mcp_policy_edit, same[i], "{\"s1\":[\"x\",\"z\"]}", same[i]);
        for (size_t k = 0; k < COUNT(others); k++)
            assert_edit(mcp_policy_edit, same[i], others[k], NULL);
    }
    assert_json(mcp_policy_read(view_str("servers:\n  a:\n    tools: x\n")),
                "{\"servers\":{\"a\":{\"tools\":[\"x\"]}}}");
    assert_edit(mcp_policy_edit, "servers:\n  a:\n    tools: x\n", "{\"a\":[\"y\"]}", NULL);
    assert_edit(mcp_policy_edit, "servers: {}\n", "{\"a\":[\"y\"]}", NULL);
    assert_json(mcp_policy_read(view_str("servers:\n  a:\n    reject_args:\n      t:\n"
                                         "        s: [Done, No]\n      u: {v: [w]}\n")),
                "{\"servers\":{\"a\":{\"reject_args\":{\"t\":{\"s\":[\"Done\",\"No\"]},"
                "\"u\":{\"v\":[\"w\"]}}}}}");
    assert_edit(mcp_policy_edit, "servers:\n  a: {tools: [x]}\n  b:\n    tools:\n      - y\n",
                "{\"b\":[\"*\"]}",
                "servers:\n  a: {tools: [x]}\n  b:\n    tools:\n      - \"*\"\n");
}

/* Whatever is set is read back, and nothing else changes. */
static void test_what_is_written_is_read(void **state)
{
    static const char *const lists[] = {"null", "[]", "[\"search\"]", "[\"b\",\"a\"]"};
    static const char *const servers[] = {"linear", "slack", "github"};
    (void)state;
    for (size_t s = 0; s < COUNT(servers); s++) {
        for (size_t i = 0; i < COUNT(lists); i++) {
            struct str out;
            struct ethos_error error = {0};
            json_t *list = json_loads(lists[i], JSON_DECODE_ANY, NULL);
            json_t *tools = json_pack("{s:O}", servers[s], list);
            str_init(&out, 65536);
            assert_int_equal(mcp_policy_edit(view_str(POLICY), tools, &out, &error), ETHOS_OK);
            json_t *before = mcp_policy_read(view_str(POLICY));
            json_t *after = mcp_policy_read(str_view(&out));
            json_t *all = json_object_get(before, "servers");
            json_t *one = json_object_get(all, servers[s]);
            if (json_is_null(list) && one)
                json_object_del(one, "tools");
            else if (json_is_array(list) && one)
                json_object_set(one, "tools", list);
            else if (json_is_array(list))
                json_object_set_new(all, servers[s], json_pack("{s:O}", "tools", list));
            assert_true(json_equal(before, after));
            json_decref(before);
            json_decref(after);
            json_decref(tools);
            json_decref(list);
            str_release(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_toolset_is_read),
        cmocka_unit_test(test_a_toolset_keeps_what_an_edit_is_not_about),
        cmocka_unit_test(test_a_policy_is_read),
        cmocka_unit_test(test_a_policy_keeps_what_an_edit_is_not_about),
        cmocka_unit_test(test_lists_in_brackets_are_read_and_left_alone),
        cmocka_unit_test(test_what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
