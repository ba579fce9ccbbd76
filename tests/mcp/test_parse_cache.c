/*
 * test_parse_cache.c: a line that is written like an earlier one gives the tree that the parser gives, whatever
 * else stands in it; any other line gives none.
 */
#include "client.h"

#include "mcp/internal.h"

#define CALL(id, tool, arguments)                                                                  \
    "{'jsonrpc':'2.0','id':" id ",'method':'tools/call','params':{'name':'" tool                   \
    "','arguments':" arguments "}}"
#define READ(id, word) CALL(id, "note_read", "{'name':" word "}")

static json_t *parse(const char *text)
{
    json_t *json = NULL;
    assert_int_equal(json_parse(view_str(text), "line", &json, NULL), ETHOS_OK);
    return json;
}

/* Lines have ' for ". */
static void learn(struct mcp_forms *forms, const char *line)
{
    char *text = quoted(line);
    json_t *message = parse(text);
    mcp_forms_learn(forms, view_str(text), message);
    json_decref(message);
    free(text);
}

/* Whether a line is like one that was learned; then it gives its own tree, and no other. */
static bool is_alike(struct mcp_forms *forms, const char *line)
{
    char *text = quoted(line);
    const struct mcp_known_form *alike = mcp_forms_fill(forms, view_str(text));
    if (alike) {
        json_t *message = parse(text);
        assert_true(json_equal(alike->message, message));
        assert_ptr_equal(alike->params, json_object_get(alike->message, "params"));
        assert_string_equal(alike->method, "tools/call");
        json_decref(message);
    }
    free(text);
    return alike != NULL;
}

static bool is_learned(const char *first, const char *second)
{
    struct mcp_forms *forms = mcp_forms_new();
    learn(forms, first);
    bool alike = is_alike(forms, second);
    is_alike(forms, first); // the same tree, filled again
    assert_int_equal(is_alike(forms, second), alike);
    mcp_forms_free(forms);
    return alike;
}

static void test_id_and_word_may_differ(void **state)
{
    (void)state;
    assert_true(is_learned(READ("1", "'tea'"), READ("2", "'coffee'")));
    assert_true(is_learned(READ("1", "'tea'"), READ("'a b'", "''")));
    assert_true(is_learned(READ("'x'", "''"), READ("-123456789012345678", "'?'")));
    assert_true(is_learned("{'id':1,'params':{'arguments':{'n':null,'word':'a','k':5}}"
                           ",'method':'tools/call','jsonrpc':'2.0'}",
                           "{'id':2,'params':{'arguments':{'n':null,'word':'b','k':5}}"
                           ",'method':'tools/call','jsonrpc':'2.0'}"));
    assert_true(is_learned("{'method':'tools/call','params':{'arguments':{'name':'a'}},'id':1}",
                           "{'method':'tools/call','params':{'arguments':{'name':'b'}},'id':2}"));
}

static void test_word_that_stands_elsewhere_too_is_told_apart(void **state)
{
    (void)state;
    assert_true(is_learned(CALL("1", "tea", "{'name':'tea'}"), CALL("1", "tea", "{'name':'cup'}")));
    assert_true(is_learned(READ("'tea'", "'tea'"), READ("'tea'", "'cup'")));
    assert_true(is_learned(READ("'tea'", "'tea'"), READ("'cup'", "'tea'")));
    assert_true(is_learned("{'id':1,'method':'tools/call','params':{"
                           "'_meta':{'arguments':{'name':'tea'}},'arguments':{'name':'tea'}}}",
                           "{'id':1,'method':'tools/call','params':{"
                           "'_meta':{'arguments':{'name':'tea'}},'arguments':{'name':'cup'}}}"));
    assert_false(is_learned("{'id':1,'method':'tools/call','params':{"
                            "'_meta':{'arguments':{'name':'tea'}},'arguments':{'name':'tea'}}}",
                            "{'id':1,'method':'tools/call','params':{"
                            "'_meta':{'arguments':{'name':'cup'}},'arguments':{'name':'tea'}}}"));
    assert_false(is_learned(CALL("1", "tea", "{'tea':'tea'}"), CALL("1", "tea", "{'cup':'tea'}")));
}

static void test_what_is_written_otherwise_is_not_alike(void **state)
{
    (void)state;
    const char *const others[] = {
        CALL("1", "note_list", "{'name':'tea'}"),
        CALL("1", "note_read", "{'title':'tea'}"),
        CALL("1", "note_read", "{'name': 'tea'}"),
        CALL("1", "note_read", "{'name':'tea','scope':null}"),
        READ("1", "'\\u0074ea'"),
        READ("1", "'t\\\\ea'"),
        READ("1", "'t\xC3\xA9'"),
        READ("1", "5"),
        READ("1", "null"),
        READ("1", "['tea']"),
        READ("'\\u0031'", "'tea'"),
        READ("null", "'tea'"),
        READ("1.5", "'tea'"),
        READ("1", "'tea'") " ",
        "{'jsonrpc':'2.0','id':1,'method':'tools/list'}",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(is_learned(READ("1", "'tea'"), others[i]));
}

static void test_a_line_without_one_word_is_not_learned(void **state)
{
    (void)state;
    const char *const lines[] = {
        READ("1", "5"),
        READ("1", "'?'"),
        READ("1", "'\\u0074ea'"),
        CALL("1", "note_read", "{}"),
        CALL("1", "remember", "{'content':'a','title':'b'}"),
        "{'jsonrpc':'2.0','id':1,'method':'tools/call'}",
        "{'jsonrpc':'2.0','method':'tools/call','params':{'arguments':{'name':'tea'}}}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_false(is_learned(lines[i], lines[i]));
}

static void number(char line[256], int i)
{
    snprintf(line, 256,
             "{'id':1,'method':'tools/call','params':{'n':%d,'arguments':{'name':'tea'}}}", i);
}

/* Every message is another one: only some are learned from, but one that repeats is found in the end. */
static void test_a_client_without_forms_is_looked_at_less(void **state)
{
    (void)state;
    char line[256];
    int tries = 0;
    struct mcp_forms *forms = mcp_forms_new();
    for (int i = 0; i < 100; i++) {
        number(line, i);
        learn(forms, line);
    }
    number(line, 98);
    assert_false(is_alike(forms, line));
    for (; !is_alike(forms, line) && tries < 100; tries++)
        learn(forms, line);
    assert_in_range(tries, 1, 8);
    mcp_forms_free(forms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_and_word_may_differ),
        cmocka_unit_test(test_word_that_stands_elsewhere_too_is_told_apart),
        cmocka_unit_test(test_what_is_written_otherwise_is_not_alike),
        cmocka_unit_test(test_a_line_without_one_word_is_not_learned),
        cmocka_unit_test(test_a_client_without_forms_is_looked_at_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
