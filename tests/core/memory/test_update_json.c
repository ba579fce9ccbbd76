/*
 * test_update_json.c: every JSON form of an update, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <ethos/limits.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct fixture {
    struct arena arena;
    struct update_batch batch;
    struct ethos_error error;
};

static int setup(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){0};
    arena_init(&fixture.arena);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_release(&f->arena);
    return 0;
}

static const struct ethos_update *parse(struct fixture *f, const char *json)
{
    int code = update_parse(view_str(json), &f->arena, &f->batch, &f->error);

    if (code)
        fail_msg("%s: %s", json, f->error.text);
    return f->batch.updates;
}

static void assert_text(struct ethos_view actual, const char *expected)
{
    assert_int_equal(actual.data != NULL, expected != NULL);
    assert_true(view_eq_str(actual, expected));
}

static void assert_name(const char *actual, const char *expected)
{
    if (expected)
        assert_string_equal(actual, expected);
    else
        assert_null(actual);
}

/* ---- accepted ------------------------------------------------------------------------------ */

static void test_every_single_form(void **state)
{
    static const struct {
        const char *json;
        struct ethos_update want; /* text as a view of a literal */
    } rows[] = {
        {"{\"action\":\"add\",\"content\":\"x\"}", {.action = ETHOS_ACTION_ADD, .text = VIEW("x")}},
        {"{\"action\":\"replace\",\"store\":\"user\",\"content\":\"\"}",
         {.action = ETHOS_ACTION_REPLACE, .store = "user", .text = VIEW("")}},
        {"{\"action\":\"remove\",\"store\":\"memory\",\"substringMatch\":\"s\"}",
         {.action = ETHOS_ACTION_REMOVE, .store = "memory", .text = VIEW("s")}},
        {"{\"action\":\"remove\",\"substring_match\":\"s\"}",
         {.action = ETHOS_ACTION_REMOVE, .text = VIEW("s")}},
        {"{\"action\":\"remove\",\"content\":\"s\"}",
         {.action = ETHOS_ACTION_REMOVE, .text = VIEW("s")}},
        {"{\"action\":\"remove\",\"content\":\"c\",\"substringMatch\":\"\"}",
         {.action = ETHOS_ACTION_REMOVE, .text = VIEW("")}},
        {"{\"action\":\"delete\",\"key\":\"a.md\"}",
         {.action = ETHOS_ACTION_DELETE, .key = "a.md"}},
        {"{\"action\":\"delete\",\"content\":\"x\",\"substringMatch\":\"y\"}",
         {.action = ETHOS_ACTION_DELETE}},
        {"{\"action\":\"add\",\"scope\":\"team:x\",\"key\":\"a.md\",\"content\":\"x\"}",
         {.action = ETHOS_ACTION_ADD, .scope = "team:x", .key = "a.md", .text = VIEW("x")}},
        {"{\"action\":\"add\",\"content\":\"x\",\"if_match\":\"absent\"}",
         {.action = ETHOS_ACTION_ADD, .text = VIEW("x"), .if_match = "absent"}},
        {"{\"action\":\"add\",\"content\":\"x\",\"ifMatch\":\"sha256:0\"}",
         {.action = ETHOS_ACTION_ADD, .text = VIEW("x"), .if_match = "sha256:0"}},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct ethos_update *got = parse(*state, rows[i].json);
        assert_int_equal(((struct fixture *)*state)->batch.count, 1);
        assert_int_equal(got->action, rows[i].want.action);
        assert_name(got->store, rows[i].want.store);
        assert_name(got->scope, rows[i].want.scope);
        assert_name(got->key, rows[i].want.key);
        assert_name(got->if_match, rows[i].want.if_match);
        assert_text(got->text, rows[i].want.text.data);
    }
}

static void test_array_keeps_order_and_may_be_empty(void **state)
{
    struct fixture *f = *state;
    const struct ethos_update *updates = parse(
        f, " [{\"action\":\"delete\"}, {\"action\":\"add\",\"content\":\"b\"}]\n");

    assert_int_equal(f->batch.count, 2);
    assert_int_equal(updates[0].action, ETHOS_ACTION_DELETE);
    assert_text(updates[1].text, "b");
    assert_null(f->batch.op_id);
    parse(f, "[]");
    assert_int_equal(f->batch.count, 0);
}

static void test_envelope_with_operation_id(void **state)
{
    struct fixture *f = *state;

    parse(f, "{\"updates\":[{\"action\":\"delete\"}],\"opId\":\"A.z_9:-\"}");
    assert_int_equal(f->batch.count, 1);
    assert_string_equal(f->batch.op_id, "A.z_9:-");
    parse(f, "{\"op_id\":\"x\",\"updates\":[]}");
    assert_int_equal(f->batch.count, 0);
    assert_string_equal(f->batch.op_id, "x");
    parse(f, "{\"opId\":null,\"updates\":[],\"more\":{}}");
    assert_null(f->batch.op_id);
    parse(f, "{\"opId\":\"x\",\"action\":\"delete\"}");
    assert_string_equal(f->batch.op_id, "x");
}

static void test_null_is_absent_and_unknown_members_are_ignored(void **state)
{
    const struct ethos_update *got = parse(
        *state, "{\"action\":\"remove\",\"store\":null,\"scope\":null,\"key\":null,"
                "\"if_match\":null,\"substringMatch\":null,\"content\":\"c\","
                "\"reason\":{\"deep\":[1,2]},\"priority\":7}");

    assert_name(got->store, NULL);
    assert_name(got->scope, NULL);
    assert_name(got->key, NULL);
    assert_name(got->if_match, NULL);
    assert_text(got->text, "c");
}

static void test_both_spellings_with_one_value_agree(void **state)
{
    struct fixture *f = *state;
    const struct ethos_update *got = parse(
        f, "{\"updates\":[{\"action\":\"remove\",\"substringMatch\":\"s\","
           "\"substring_match\":\"s\",\"ifMatch\":\"absent\",\"if_match\":\"absent\"}],"
           "\"opId\":\"x\",\"op_id\":\"x\"}");

    assert_text(got->text, "s");
    assert_string_equal(got->if_match, "absent");
    assert_string_equal(f->batch.op_id, "x");
}

static void test_lone_surrogate_becomes_the_replacement_character(void **state)
{
    const struct ethos_update *got = parse(
        *state, "{\"action\":\"add\",\"content\":\"a\\ud800b \\ud83d\\ude00\"}");

    assert_text(got->text, "a\ufffdb \U0001f600");
}

/* Strings live in the arena: the text they came from may go. */
static void test_result_does_not_borrow_from_the_input(void **state)
{
    struct fixture *f = *state;
    char json[] = "{\"action\":\"add\",\"key\":\"a.md\",\"content\":\"text\"}";
    const struct ethos_update *got = parse(f, json);

    memset(json, '#', sizeof(json));
    assert_text(got->text, "text");
    assert_string_equal(got->key, "a.md");
}

/* ---- refused ------------------------------------------------------------------------------- */

static void assert_refused(struct fixture *f, struct ethos_view json, int code, const char *text,
                           const char *hint)
{
    struct update_batch batch = {.count = 77};

    f->error = (struct ethos_error){0};
    assert_int_equal(update_parse(json, &f->arena, &batch, &f->error), code);
    assert_string_equal(f->error.text, text);
    assert_string_equal(f->error.hint, hint);
    assert_int_equal(f->error.code, code);
    assert_int_equal(batch.count, 77);
    assert_int_equal(update_parse(json, &f->arena, &batch, NULL), code);
}

static void test_refusals_name_the_update_and_the_member(void **state)
{
    static const char verbs[] = "use add, replace, remove or delete";
    static const char stores[] = "use memory or user";
    static const char ids[] = "use 1 to 128 of A-Z a-z 0-9 _ . : -";
    static const struct {
        const char *json, *text, *hint;
    } rows[] = {
        {"{}", "'action' is missing", ""},
        {"{\"action\":null}", "'action' is missing", ""},
        {"{\"action\":1}", "'action' must be a string", ""},
        {"{\"action\":\"append\"}", "unknown action 'append'", verbs},
        {"{\"action\":\"Add\",\"content\":\"x\"}", "unknown action 'Add'", verbs},
        {"{\"action\":\"\"}", "unknown action ''", verbs},
        {"{\"action\":\"a\\n\\u001b\"}", "unknown action 'a\\n\\x1b'", verbs},
        {"{\"action\":\"add\"}", "'content' is missing", ""},
        {"{\"action\":\"add\",\"content\":null}", "'content' is missing", ""},
        {"{\"action\":\"add\",\"substringMatch\":\"x\"}", "'content' is missing", ""},
        {"{\"action\":\"replace\"}", "'content' is missing", ""},
        {"{\"action\":\"remove\"}", "'substringMatch' is missing", ""},
        {"{\"action\":\"add\",\"content\":[]}", "'content' must be a string", ""},
        {"{\"action\":\"delete\",\"content\":1}", "'content' must be a string", ""},
        {"{\"action\":\"delete\",\"store\":\"notes\"}", "unknown store 'notes'", stores},
        {"{\"action\":\"delete\",\"store\":false}", "'store' must be a string", ""},
        {"{\"action\":\"delete\",\"key\":{}}", "'key' must be a string", ""},
        {"{\"action\":\"delete\",\"scope\":\"global\"}", "'scope' needs 'key'", ""},
        {"{\"action\":\"delete\",\"scope\":\"global\",\"store\":\"memory\"}", "'scope' needs 'key'",
         ""},
        {"{\"action\":\"delete\",\"ifMatch\":1}", "'ifMatch' must be a string", ""},
        {"{\"action\":\"delete\",\"if_match\":\"a\",\"ifMatch\":\"b\"}",
         "'if_match' and 'ifMatch' differ", ""},
        {"{\"action\":\"remove\",\"substringMatch\":\"a\",\"substring_match\":\"b\"}",
         "'substringMatch' and 'substring_match' differ", ""},
        {"[{\"action\":\"append\"}]", "unknown action 'append'", verbs},
        {"[{\"action\":\"delete\"},{\"action\":\"append\"}]", "updates[2]: unknown action 'append'",
         verbs},
        {"{\"updates\":[{\"action\":\"add\"},{\"action\":\"delete\"}]}",
         "updates[1]: 'content' is missing", ""},
        {"[{\"action\":\"delete\"},7,{}]", "updates[2]: an update must be an object", ""},
        {"[[]]", "an update must be an object", ""},
        {"7", "updates: neither an object nor an array", ""},
        {"\"add\"", "updates: neither an object nor an array", ""},
        {"null", "updates: neither an object nor an array", ""},
        {"{\"updates\":{}}", "'updates' must be an array", ""},
        {"{\"updates\":null,\"action\":\"delete\"}", "'updates' must be an array", ""},
        {"{\"updates\":[],\"opId\":\"\"}", "'opId' is not valid", ids},
        {"{\"updates\":[],\"op_id\":\"a b\"}", "'opId' is not valid", ids},
        {"{\"updates\":[],\"op_id\":\"a\\u0000\"}", "'opId' is not valid", ids},
        {"{\"updates\":[],\"op_id\":7}", "'op_id' must be a string", ""},
        {"{\"updates\":[],\"op_id\":\"a\",\"opId\":\"b\"}", "'opId' and 'op_id' differ", ""},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_refused(*state, view_str(rows[i].json), ETHOS_INVALID, rows[i].text, rows[i].hint);
}

static void test_nul_is_refused_everywhere(void **state)
{
    static const struct {
        const char *json;
        int code;
        const char *text, *hint;
    } rows[] = {
        {"{\"action\":\"add\",\"content\":\"a\\u0000b\"}", ETHOS_INVALID, "'content' contains NUL",
         ""},
        {"{\"action\":\"remove\",\"substring_match\":\"\\u0000\"}", ETHOS_INVALID,
         "'substringMatch' contains NUL", ""},
        {"{\"action\":\"add\\u0000\",\"content\":\"x\"}", ETHOS_INVALID, "'action' contains NUL",
         ""},
        {"{\"action\":\"delete\",\"store\":\"user\\u0000\"}", ETHOS_INVALID, "'store' contains NUL",
         ""},
        {"{\"action\":\"delete\",\"if_match\":\"absent\\u0000\"}", ETHOS_INVALID,
         "'if_match' contains NUL", ""},
        {"{\"action\":\"delete\",\"key\":\"a.md\\u0000.txt\"}", ETHOS_DENIED,
         "unsafe memory key: a.md\\x00.txt", "use letters, digits, . _ or -, such as plan.md"},
        {"[{\"action\":\"delete\"},{\"action\":\"delete\",\"scope\":\"user:a\\u0000\","
         "\"key\":\"a.md\"}]",
         ETHOS_DENIED, "unrecognised memory scope: user:a\\x00",
         "an id has 1 to 128 letters, digits, _ or -"},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        assert_refused(*state, view_str(rows[i].json), rows[i].code, rows[i].text, rows[i].hint);
}

static void test_what_is_no_json_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[{\"action\":\"delete\"},]",
        "{\"action\":\"delete\",\"action\":\"add\"}",
        "{\"action\":\"delete\"} x",
        "{\"action\":\"add\",\"content\":\"\xff\"}",
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(update_parse(view_str(bad[i]), &f->arena, &f->batch, &f->error),
                         ETHOS_INVALID);
        assert_true(view_starts(view_str(f->error.text), VIEW("updates: ")));
    }
}

static void test_overlong_word_in_a_message_is_marked_as_cut(void **state)
{
    struct fixture *f = *state;
    struct str json;

    str_init(&json, 100000);
    str_adds(&json, "{\"action\":\"");
    for (int i = 0; i < 5000; i++)
        str_addc(&json, 'x');
    str_adds(&json, "\"}");
    assert_int_equal(update_parse(str_view(&json), &f->arena, &f->batch, &f->error), ETHOS_INVALID);
    assert_true(view_ends(view_str(f->error.text), VIEW("xxx...")));
    str_release(&json);
}

static void test_check_holds_for_updates_that_were_never_json(void **state)
{
    static const struct {
        struct ethos_update update;
        const char *text;
    } rows[] = {
        {{.action = 0, .text = VIEW("x")}, "unknown action 0"},
        {{.action = ETHOS_ACTION_DELETE + 1, .text = VIEW("x")}, "unknown action 5"},
        {{.action = ETHOS_ACTION_ADD}, "'content' is missing"},
        {{.action = ETHOS_ACTION_REPLACE}, "'content' is missing"},
        {{.action = ETHOS_ACTION_REMOVE}, "'substringMatch' is missing"},
        {{.action = ETHOS_ACTION_ADD, .text = VIEW("a\0b")}, "'content' contains NUL"},
        {{.action = ETHOS_ACTION_DELETE, .store = "notes"}, "unknown store 'notes'"},
        {{.action = ETHOS_ACTION_DELETE, .scope = "global"}, "'scope' needs 'key'"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(update_check(&rows[i].update, 1, &f->error), ETHOS_INVALID);
        assert_string_equal(f->error.text, rows[i].text);
    }
    const struct ethos_update batch[] = {{.action = ETHOS_ACTION_DELETE},
                                         {.action = ETHOS_ACTION_ADD}};
    assert_int_equal(update_check(batch, 2, &f->error), ETHOS_INVALID);
    assert_string_equal(f->error.text, "updates[2]: 'content' is missing");
    assert_int_equal(update_check(batch, 1, &f->error), ETHOS_OK);
    assert_int_equal(update_check(NULL, 0, &f->error), ETHOS_OK);
    assert_int_equal(update_check(NULL, ETHOS_MAX_BATCH + 1, &f->error), ETHOS_LIMIT);
}

/* ---- limits -------------------------------------------------------------------------------- */

static int parse_many(struct fixture *f, size_t count)
{
    struct str json;

    str_init(&json, ETHOS_MAX_INPUT_BYTES);
    for (size_t i = 0; i < count; i++)
        str_printf(&json, "%c{\"action\":\"delete\"}", i ? ',' : '[');
    assert_int_equal(str_addc(&json, ']'), ETHOS_OK);
    int code = update_parse(str_view(&json), &f->arena, &f->batch, &f->error);
    str_release(&json);
    return code;
}

static void test_batch_size_at_limit_above_and_far_above(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse_many(f, ETHOS_MAX_BATCH), ETHOS_OK);
    assert_int_equal(f->batch.count, ETHOS_MAX_BATCH);
    assert_int_equal(parse_many(f, ETHOS_MAX_BATCH + 1), ETHOS_LIMIT);
    assert_string_equal(f->error.text, "1025 updates in one call; at most 1024");
    assert_int_equal(parse_many(f, ETHOS_MAX_BATCH * 100), ETHOS_LIMIT);
}

static int parse_op_id(struct fixture *f, int length)
{
    struct str json;

    str_init(&json, 100000);
    str_printf(&json, "{\"updates\":[],\"opId\":\"%0*d\"}", length, 0);
    int code = update_parse(str_view(&json), &f->arena, &f->batch, &f->error);
    str_release(&json);
    return code;
}

static void test_op_id_length_at_limit_above_and_far_above(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(parse_op_id(f, ETHOS_MAX_OPID), ETHOS_OK);
    assert_int_equal(strlen(f->batch.op_id), ETHOS_MAX_OPID);
    assert_int_equal(parse_op_id(f, ETHOS_MAX_OPID + 1), ETHOS_INVALID);
    assert_int_equal(parse_op_id(f, ETHOS_MAX_OPID * 100), ETHOS_INVALID);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void test_parse_survives_every_failing_allocation(void **state)
{
    static const char json[] = "{\"updates\":[{\"action\":\"add\",\"scope\":\"user\",\"key\":\"a."
                               "md\",\"content\":\"\\u00e9\"},"
                               "{\"action\":\"remove\",\"store\":\"user\",\"substring_match\":"
                               "\"s\",\"ifMatch\":\"absent\"}],"
                               "\"op_id\":\"x\"}";
    int code;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct fixture f = {.batch.count = 77};
        arena_init(&f.arena);
        code = update_parse(view_str(json), &f.arena, &f.batch, &f.error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(f.error.code, code);
        assert_int_equal(f.batch.count, code ? 77 : 2);
        if (!code) {
            assert_string_equal(f.batch.op_id, "x");
            assert_string_equal(f.batch.updates[0].scope, "user");
            assert_string_equal(f.batch.updates[0].key, "a.md");
            assert_text(f.batch.updates[0].text, "\u00e9");
            assert_string_equal(f.batch.updates[1].store, "user");
            assert_string_equal(f.batch.updates[1].if_match, "absent");
            assert_text(f.batch.updates[1].text, "s");
        }
        arena_release(&f.arena);
    }
}

/* A content too large for a shared block has an allocation of its own. */
static void test_parse_of_a_large_content_survives_every_failing_allocation(void **state)
{
    struct str json;
    int code;

    (void)state;
    str_init(&json, 100000);
    str_printf(&json, "[{\"action\":\"add\",\"content\":\"%05000d\"}]", 0);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct fixture f = {.batch.count = 77};
        arena_init(&f.arena);
        code = update_parse(str_view(&json), &f.arena, &f.batch, &f.error);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && f.batch.count == 77));
        if (!code)
            assert_int_equal(strlen(f.batch.updates->text.data), 5000);
        arena_release(&f.arena);
    }
    str_release(&json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_single_form),
        TEST(test_array_keeps_order_and_may_be_empty),
        TEST(test_envelope_with_operation_id),
        TEST(test_null_is_absent_and_unknown_members_are_ignored),
        TEST(test_both_spellings_with_one_value_agree),
        TEST(test_lone_surrogate_becomes_the_replacement_character),
        TEST(test_result_does_not_borrow_from_the_input),
        TEST(test_refusals_name_the_update_and_the_member),
        TEST(test_nul_is_refused_everywhere),
        TEST(test_what_is_no_json_is_refused),
        TEST(test_overlong_word_in_a_message_is_marked_as_cut),
        TEST(test_check_holds_for_updates_that_were_never_json),
        TEST(test_batch_size_at_limit_above_and_far_above),
        TEST(test_parse_survives_every_failing_allocation),
        TEST(test_parse_of_a_large_content_survives_every_failing_allocation),
        TEST(test_op_id_length_at_limit_above_and_far_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
