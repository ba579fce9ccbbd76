/*
 * test_pending.c: lines of memory-pending.jsonl.
 */
#include "core/approval/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

#define ID "11111111-2222-4333-8444-555555555555"

static struct pending proposal(void)
{
    return (struct pending){.id = ID,
                            .scope = "personality:default",
                            .key = "MEMORY.md",
                            .source = "tool",
                            .action = ETHOS_ACTION_ADD,
                            .text = VIEW("We deploy on Fridays"),
                            .proposed_ms = 1700000000000,
                            .fact_hash = "f",
                            .session = "s",
                            .session_key = "cli:x",
                            .actor = "codex",
                            .via = "mcp",
                            .trust = "agent",
                            .base = "absent",
                            .op_id = "op-1",
                            .user = "u",
                            .has_note = true,
                            .title = "Deploys",
                            .hook = "when we deploy",
                            .edited_from = "e"};
}

static void assert_line(const json_t *row, const char *expected)
{
    struct str line;
    str_init(&line, SIZE_MAX);
    assert_int_equal(json_print(row, JSON_STYLE_LINE, &line), ETHOS_OK);
    assert_string_equal(line.data, expected);
    str_release(&line);
}

static json_t *parsed(const char *line)
{
    json_t *row = NULL;
    assert_int_equal(json_parse(view_str(line), "line", &row, NULL), ETHOS_OK);
    return row;
}

/* ---- the form ---------------------------------------------------------------------------------- */

static void test_members_come_in_the_order_of_the_format(void **state)
{
    (void)state;
    struct pending p = proposal();
    char hash[HASH_HEX_SIZE], expected[1024];
    assert_int_equal(pending_hash(&p, NULL, hash), ETHOS_OK);
    snprintf(expected, sizeof expected,
             "{\"id\":\"" ID "\",\"scopeId\":\"personality:default\",\"update\":{\"action\":"
             "\"add\",\"key\":\"MEMORY.md\",\"content\":\"We deploy on Fridays\"},\"source\":"
             "\"tool\",\"proposedAt\":1700000000000,\"factHash\":\"f\",\"sessionId\":\"s\","
             "\"sessionKey\":\"cli:x\",\"actor\":\"codex\",\"via\":\"mcp\",\"trust\":\"agent\","
             "\"why\":[],\"base\":\"absent\",\"hash\":\"%s\",\"opId\":\"op-1\",\"userId\":\"u\","
             "\"note\":{\"title\":\"Deploys\",\"hook\":\"when we deploy\"},\"editedFrom\":\"e\"}",
             hash);
    json_t *row = pending_make(&p);
    assert_line(row, expected);
    json_decref(row);
}

static void test_members_that_are_not_known_are_left_out(void **state)
{
    (void)state;
    struct pending p = {.id = ID,
                        .scope = "user:u",
                        .key = "USER.md",
                        .source = "capture",
                        .action = ETHOS_ACTION_DELETE,
                        .proposed_ms = 5};
    json_t *row = pending_make(&p);
    assert_null(json_object_get(row, "factHash"));
    assert_null(json_object_get(row, "sessionId"));
    assert_null(json_object_get(row, "note"));
    assert_int_equal(json_object_size(json_object_get(row, "update")), 2);
    json_decref(row);
}

static void test_what_was_made_is_read(void **state)
{
    (void)state;
    struct pending p = proposal(), got;
    json_t *row = pending_make(&p);
    assert_true(pending_read(row, &got));
    assert_string_equal(got.id, ID);
    assert_string_equal(got.scope, p.scope);
    assert_int_equal(got.action, ETHOS_ACTION_ADD);
    assert_true(view_eq(got.text, p.text));
    assert_int_equal(got.proposed_ms, p.proposed_ms);
    assert_string_equal(got.trust, "agent");
    assert_string_equal(got.title, "Deploys");
    assert_true(got.has_note);
    json_decref(row);
}

static void test_a_line_of_another_program_is_read(void **state)
{
    (void)state;
    struct pending got;
    json_t *row = parsed("{\"id\":\"a\",\"scopeId\":\"personality:p\",\"update\":{\"action\":"
                         "\"remove\",\"key\":\"MEMORY.md\",\"substringMatch\":\"x\"},\"source\":"
                         "\"dream\",\"proposedAt\":1.5e12,\"extra\":[1]}");
    assert_true(pending_read(row, &got));
    assert_int_equal(got.action, ETHOS_ACTION_REMOVE);
    assert_true(view_eq(got.text, VIEW("x")));
    assert_null(got.trust);
    assert_null(got.hash);
    json_decref(row);
}

static void test_other_lines_are_none(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{}",
        "[]",
        "{\"id\":\"a\",\"scopeId\":\"s\",\"update\":{\"action\":\"add\",\"key\":\"k\"},"
        "\"source\":\"tool\",\"proposedAt\":1}",
        "{\"id\":\"a\",\"scopeId\":\"s\",\"update\":{\"action\":\"fly\",\"key\":\"k\","
        "\"content\":\"c\"},\"source\":\"tool\",\"proposedAt\":1}",
        "{\"id\":1,\"scopeId\":\"s\",\"update\":{\"action\":\"delete\",\"key\":\"k\"},"
        "\"source\":\"tool\",\"proposedAt\":1}",
        "{\"id\":\"a\",\"scopeId\":\"s\",\"update\":{\"action\":\"delete\",\"key\":\"k\"},"
        "\"source\":\"tool\",\"proposedAt\":\"1\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct pending got;
        json_t *row = parsed(lines[i]);
        assert_false(pending_read(row, &got));
        json_decref(row);
    }
}

/* ---- hashes ------------------------------------------------------------------------------------ */

static void hash_of(const struct pending *p, const char *revision, char out[HASH_HEX_SIZE])
{
    assert_int_equal(pending_hash(p, revision, out), ETHOS_OK);
}

static void test_the_hash_is_of_all_that_is_shown(void **state)
{
    (void)state;
    char a[HASH_HEX_SIZE], b[HASH_HEX_SIZE];
    struct pending p = proposal();
    hash_of(&p, NULL, a);
    p.text = VIEW("We deploy on Mondays");
    hash_of(&p, NULL, b);
    assert_string_not_equal(a, b);
    p = proposal();
    p.hook = "always";
    hash_of(&p, NULL, b);
    assert_string_not_equal(a, b);
    p = proposal();
    p.scope = "global";
    hash_of(&p, NULL, b);
    assert_string_not_equal(a, b);
    p = proposal();
    p.actor = "somebody";
    hash_of(&p, NULL, b);
    assert_string_equal(a, b);
}

static void test_the_revision_counts_where_text_is_changed(void **state)
{
    (void)state;
    char a[HASH_HEX_SIZE], b[HASH_HEX_SIZE];
    struct pending p = proposal();
    hash_of(&p, "sha256:1", a);
    hash_of(&p, "sha256:2", b);
    assert_string_equal(a, b);
    p.action = ETHOS_ACTION_REPLACE;
    hash_of(&p, "sha256:1", a);
    hash_of(&p, "sha256:2", b);
    assert_string_not_equal(a, b);
    hash_of(&p, NULL, a);
    hash_of(&p, "absent", b);
    assert_string_equal(a, b);
}

static void fact_of(const char *text, char out[HASH_HEX_SIZE])
{
    assert_int_equal(fact_hash(view_str(text), out), ETHOS_OK);
}

static void test_a_fact_is_the_same_in_any_case_and_spacing(void **state)
{
    (void)state;
    char a[HASH_HEX_SIZE], b[HASH_HEX_SIZE];
    hash_hex(VIEW("we deploy on fridays"), a);
    fact_of("  We deploy\n\ton  FRIDAYS \n", b);
    assert_string_equal(a, b);
    hash_hex(VIEW("zürich überall"), a);
    fact_of("ZÜRICH\xC2\xA0Überall", b);
    assert_string_equal(a, b);
}

static void test_a_note_is_its_body_and_a_removal_no_addition(void **state)
{
    (void)state;
    char a[HASH_HEX_SIZE], b[HASH_HEX_SIZE];
    struct pending p = proposal();
    p.text = VIEW("---\nname: x\nmetadata:\n  created: 2026-01-01\n---\n\nThe fact\n");
    assert_int_equal(pending_fact_hash(&p, a), ETHOS_OK);
    fact_of("the fact", b);
    assert_string_equal(a, b);
    p.action = ETHOS_ACTION_REMOVE;
    p.text = VIEW("the fact");
    assert_int_equal(pending_fact_hash(&p, a), ETHOS_OK);
    assert_string_not_equal(a, b);
}

/* ---- editing ----------------------------------------------------------------------------------- */

static void test_an_edit_has_another_hash_and_keeps_the_first(void **state)
{
    (void)state;
    char first[HASH_HEX_SIZE];
    struct pending p = proposal(), got;
    p.edited_from = NULL;
    json_t *row = pending_make(&p);
    json_object_set_new(row, "theirs", json_true());
    snprintf(first, sizeof first, "%s", json_string_value(json_object_get(row, "hash")));
    assert_int_equal(pending_edit(row, VIEW("two")), ETHOS_OK);
    assert_int_equal(pending_edit(row, VIEW("three")), ETHOS_OK);
    assert_true(pending_read(row, &got));
    assert_true(view_eq(got.text, VIEW("three")));
    assert_string_equal(got.edited_from, first);
    assert_string_not_equal(got.hash, first);
    assert_string_not_equal(got.fact_hash, "f");
    assert_true(json_is_true(json_object_get(row, "theirs")));
    json_decref(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_come_in_the_order_of_the_format),
        cmocka_unit_test(test_members_that_are_not_known_are_left_out),
        cmocka_unit_test(test_what_was_made_is_read),
        cmocka_unit_test(test_a_line_of_another_program_is_read),
        cmocka_unit_test(test_other_lines_are_none),
        cmocka_unit_test(test_the_hash_is_of_all_that_is_shown),
        cmocka_unit_test(test_the_revision_counts_where_text_is_changed),
        cmocka_unit_test(test_a_fact_is_the_same_in_any_case_and_spacing),
        cmocka_unit_test(test_a_note_is_its_body_and_a_removal_no_addition),
        cmocka_unit_test(test_an_edit_has_another_hash_and_keeps_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
