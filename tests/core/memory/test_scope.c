/*
 * test_scope.c: which ids, scopes and keys exist, and where an update goes.
 */
#include "core/memory/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../support/golden.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A string of n times c; n below 300. */
static const char *repeat(char c, size_t n)
{
    static char text[300];

    memset(text, c, n);
    text[n] = 0;
    return text;
}

static const struct ethos_context here = {
    .personality = "ethos",
    .user = "u1",
    .platform = "cli",
    .memory_scope = "global",
    .user_scope = "user:u1",
    .workspace_scope = "workspace:repo-0123456789ab",
};

/* ---- ids and scopes ------------------------------------------------------------------------ */

static void test_id_is_1_to_128_word_characters(void **state)
{
    static const char *const good[] = {"a", "Z", "0", "_", "-", "ok_-9", "a-b_C9"};
    static const char *const bad[] = {"",    ".",           "a.b",      "a b",  "../x",
                                      "a/b", "a\n",         "\na",      "a\\b", "%2e",
                                      "a:b", "caf\xc3\xa9", "\xc0\xae", "a\x7f"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(scope_id_ok(view_str(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(scope_id_ok(view_str(bad[i])));
    assert_false(scope_id_ok(view_of("a\0b", 3)));
    assert_false(scope_id_ok(view_of("a\0", 2)));
    assert_true(scope_id_ok(view_str(repeat('a', ETHOS_MAX_ID))));
    assert_false(scope_id_ok(view_str(repeat('a', ETHOS_MAX_ID + 1))));
}

static void test_parse_splits_every_kind(void **state)
{
    static const struct {
        const char *scope;
        enum scope_kind kind;
        const char *id;
    } rows[] = {{"global", SCOPE_GLOBAL, ""},
                {"personality:ethos", SCOPE_PERSONALITY, "ethos"},
                {"user:u1", SCOPE_USER, "u1"},
                {"team:core", SCOPE_TEAM, "core"},
                {"workspace:repo-0123456789ab", SCOPE_WORKSPACE, "repo-0123456789ab"}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum scope_kind kind;
        const char *id;
        assert_int_equal(scope_parse(rows[i].scope, &kind, &id, NULL), ETHOS_OK);
        assert_int_equal(kind, rows[i].kind);
        assert_string_equal(id, rows[i].id);
    }
    assert_int_equal(scope_parse("team:core", NULL, NULL, NULL), ETHOS_OK);
}

static void test_parse_refuses_anything_else_and_leaves_outputs(void **state)
{
    static const char *const bad[] = {
        "",         ":",        "personality", "user",     "workspace", "team",
        "global:",  "global:x", "Global",      "USER:u1",  "user:",     "user::x",
        "users:u1", "user:a:b", "user:../x",   " user:u1", "user:u1\n", "person:ethos"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        enum scope_kind kind = SCOPE_TEAM;
        const char *id = "kept";
        assert_int_equal(scope_parse(bad[i], &kind, &id, NULL), ETHOS_DENIED);
        assert_int_equal(kind, SCOPE_TEAM);
        assert_string_equal(id, "kept");
    }
    assert_int_equal(scope_parse(NULL, NULL, NULL, NULL), ETHOS_DENIED);
}

static void test_golden_scopes(void **state)
{
    json_t *vectors = golden_load("scopes");
    json_t *vector;
    size_t i;

    (void)state;
    json_array_foreach (vectors, i, vector) {
        struct ethos_error error = {0};
        const char *expected = golden_string(vector, "error");
        int code = scope_parse(golden_string(vector, "scope"), NULL, NULL, &error);
        assert_int_equal(code, expected ? ETHOS_DENIED : ETHOS_OK);
        assert_string_equal(error.text, expected ? expected : "");
    }
    json_decref(vectors);
}

static void test_make_joins_kind_and_id_or_refuses(void **state)
{
    char scope[ETHOS_MAX_SCOPE] = "kept";
    struct ethos_error error;

    (void)state;
    assert_int_equal(scope_make(SCOPE_USER, "a/b", scope, &error), ETHOS_DENIED);
    assert_string_equal(error.text, "unrecognised memory scope: user:a/b");
    assert_int_equal(scope_make(SCOPE_TEAM, NULL, scope, &error), ETHOS_DENIED);
    assert_string_equal(error.text, "unrecognised memory scope: team:");
    assert_int_equal(scope_make(SCOPE_TEAM, repeat('x', 299), scope, &error), ETHOS_DENIED);
    assert_string_equal(scope, "kept");
    assert_int_equal(scope_make(SCOPE_PERSONALITY, repeat('x', ETHOS_MAX_ID), scope, &error),
                     ETHOS_OK);
    assert_int_equal(scope_parse(scope, NULL, NULL, NULL), ETHOS_OK);
    assert_int_equal(scope_make(SCOPE_PERSONALITY, "ethos", scope, &error), ETHOS_OK);
    assert_string_equal(scope, "personality:ethos");
    assert_int_equal(scope_make(SCOPE_GLOBAL, NULL, scope, &error), ETHOS_OK);
    assert_string_equal(scope, "global");
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void test_unsafe_keys_are_refused_by_name(void **state)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      ".x.md",
                                      "-x.md",
                                      "../x.md",
                                      "a..b.md",
                                      "a/b.md",
                                      "a\\b.md",
                                      "a b.md",
                                      "%2e%2e.md",
                                      "a\x80.md",
                                      "\xc0\xae.md",
                                      "x.md/",
                                      "/etc/x.md",
                                      "caf\xc3\xa9.md",
                                      "#x#",
                                      "x~",
                                      "a:b.md"};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct ethos_error error;
        char expected[64];
        snprintf(expected, sizeof(expected), "unsafe memory key: %s", bad[i]);
        assert_int_equal(scope_key_safe(bad[i], &error), ETHOS_DENIED);
        assert_string_equal(error.text, expected);
        assert_int_equal(scope_key_writable(bad[i], &error), ETHOS_DENIED);
        assert_string_equal(error.text, expected);
        assert_false(scope_key_visible(bad[i]));
    }
    assert_int_equal(scope_key_safe(NULL, NULL), ETHOS_DENIED);
}

static void test_key_length_at_limit_above_and_far_above(void **state)
{
    char key[ETHOS_MAX_KEY * 100 + 1];
    struct ethos_error error;

    (void)state;
    memset(key, 'k', sizeof(key));
    memcpy(key + ETHOS_MAX_NAME - 3, ".md", 4);
    assert_int_equal(scope_key_writable(key, &error), ETHOS_OK);
    memset(key, 'k', sizeof(key));
    memcpy(key + ETHOS_MAX_NAME + 1 - 3, ".md", 4);
    assert_int_equal(scope_key_writable(key, &error), ETHOS_DENIED);
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = 0;
    assert_int_equal(scope_key_writable(key, &error), ETHOS_DENIED);
    assert_string_equal(error.text + strlen(error.text) - 3, "...");
}

static void test_safe_keys_that_are_not_memory_are_reserved(void **state)
{
    static const char *const reserved[] = {"config.yaml",
                                           "SOUL.md",
                                           "soul.md",
                                           "Soul.MD",
                                           "memory-archive.md",
                                           "Memory-Archive.md",
                                           "notes.txt",
                                           "x.MD",
                                           "md",
                                           "x.md.",
                                           "toolset.yaml",
                                           "memory-history.jsonl"};

    (void)state;
    for (size_t i = 0; i < COUNT(reserved); i++) {
        struct ethos_error error;
        char expected[64];
        snprintf(expected, sizeof(expected), "reserved memory key: %s", reserved[i]);
        assert_int_equal(scope_key_safe(reserved[i], &error), ETHOS_OK);
        assert_int_equal(scope_key_writable(reserved[i], &error), ETHOS_DENIED);
        assert_string_equal(error.text, expected);
        assert_false(scope_key_visible(reserved[i]));
    }
}

static void test_memory_keys_are_writable_and_visible(void **state)
{
    static const char *const good[] = {"MEMORY.md",  "USER.md",  "a.md",
                                       "co2-eos.md", "_x.md",    "note.v2.md",
                                       "0.md",       "SOUL2.md", "memory-archive.md.md"};

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(scope_key_writable(good[i], NULL), ETHOS_OK);
        assert_true(scope_key_visible(good[i]));
    }
}

static void test_litter_of_editors_and_sync_tools_is_not_visible(void **state)
{
    static const char *const litter[] = {"MEMORY.md~",
                                         ".MEMORY.md.swp",
                                         "#MEMORY.md#",
                                         "4913",
                                         "MEMORY.md.tmp",
                                         "x.tmp",
                                         "MEMORY.sync-conflict-20260101-120000-ABCDEFG.md",
                                         "MEMORY (conflicted copy).md"};

    (void)state;
    for (size_t i = 0; i < COUNT(litter); i++)
        assert_false(scope_key_visible(litter[i]));
}

static void test_messages_quote_to_the_byte(void **state)
{
    struct ethos_error error;

    (void)state;
    scope_key_safe("a\nb\r\t\x1b[31m\x7f.md", &error);
    assert_string_equal(error.text, "unsafe memory key: a\nb\r\t\x1b[31m\x7f.md");
    scope_parse("user:a\n", NULL, NULL, &error);
    assert_string_equal(error.text, "unrecognised memory scope: user:a\n");
    scope_refuse(view_of("user:a\0b", 8), &error);
    assert_string_equal(error.text, "unrecognised memory scope: user:a\\x00b");
    scope_key_refuse(view_of("\0.md", 4), &error);
    assert_string_equal(error.text, "unsafe memory key: \\x00.md");
}

/* ---- targets ------------------------------------------------------------------------------- */

struct target_row {
    const char *store, *scope, *key;
    const char *to_scope, *to_key;
};

static void test_target_of_every_form(void **state)
{
    static const struct target_row rows[] = {
        {NULL, NULL, NULL, "global", "MEMORY.md"},
        {"memory", NULL, NULL, "global", "MEMORY.md"},
        {"user", NULL, NULL, "user:u1", "USER.md"},
        {NULL, NULL, "MEMORY.md", "global", "MEMORY.md"},
        {NULL, NULL, "USER.md", "user:u1", "USER.md"},
        {NULL, NULL, "topic.md", "global", "topic.md"},
        {"memory", NULL, "topic.md", "global", "topic.md"},
        {"user", NULL, "USER.md", "user:u1", "USER.md"},
        {NULL, "personality", "MEMORY.md", "personality:ethos", "MEMORY.md"},
        {NULL, "user", "USER.md", "user:u1", "USER.md"},
        {NULL, "user", "x.md", "user:u1", "x.md"},
        {NULL, "global", "MEMORY.md", "global", "MEMORY.md"},
        {NULL, "workspace", "n.md", "workspace:repo-0123456789ab", "n.md"},
        {NULL, "personality:other", "USER.md", "personality:other", "USER.md"},
        {NULL, "team:core", "topic.md", "team:core", "topic.md"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct scope_target target;
        assert_int_equal(
            scope_target(&here, rows[i].store, rows[i].scope, rows[i].key, true, &target, NULL),
            ETHOS_OK);
        assert_string_equal(target.scope, rows[i].to_scope);
        assert_string_equal(target.key, rows[i].to_key);
    }
}

static void assert_refused(const struct ethos_context *context, struct target_row row, int code,
                           const char *text)
{
    struct scope_target target = {"kept", "kept"};
    struct ethos_error error;

    assert_int_equal(scope_target(context, row.store, row.scope, row.key, true, &target, &error),
                     code);
    assert_string_equal(error.text, text);
    assert_string_equal(target.scope, "kept");
    assert_string_equal(target.key, "kept");
}

static void test_target_refusals(void **state)
{
    static const struct {
        struct target_row row;
        int code;
        const char *text;
    } rows[] = {
        {{.store = "notes"}, ETHOS_INVALID, "unknown store 'notes'"},
        {{.store = "Memory"}, ETHOS_INVALID, "unknown store 'Memory'"},
        {{.store = ""}, ETHOS_INVALID, "unknown store ''"},
        {{.store = "a\nb"}, ETHOS_INVALID, "unknown store 'a\\nb'"},
        {{.store = "user", .key = "MEMORY.md"},
         ETHOS_INVALID,
         "store 'user' and key 'MEMORY.md' disagree"},
        {{.store = "memory", .key = "USER.md"},
         ETHOS_INVALID,
         "store 'memory' and key 'USER.md' disagree"},
        {{.scope = "global"}, ETHOS_INVALID, "a scope needs a key"},
        {{.scope = "team", .key = "a.md"}, ETHOS_DENIED, "unrecognised memory scope: team"},
        {{.scope = "", .key = "a.md"}, ETHOS_DENIED, "unrecognised memory scope: "},
        {{.scope = "user:../x", .key = "a.md"},
         ETHOS_DENIED,
         "unrecognised memory scope: user:../x"},
        {{.key = "../x.md"}, ETHOS_DENIED, "unsafe memory key: ../x.md"},
        {{.key = ""}, ETHOS_DENIED, "unsafe memory key: "},
        {{.key = "config.yaml"}, ETHOS_DENIED, "reserved memory key: config.yaml"},
        {{.scope = "personality:x", .key = "soul.md"},
         ETHOS_DENIED,
         "reserved memory key: soul.md"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_refused(&here, rows[i].row, rows[i].code, rows[i].text);
}

static void test_target_without_workspace_says_so(void **state)
{
    struct ethos_context context = here;

    (void)state;
    context.workspace_scope = NULL;
    assert_refused(&context, (struct target_row){.scope = "workspace", .key = "n.md"},
                   ETHOS_INVALID, "scope 'workspace': there is no workspace here");
}

static void test_target_checks_the_ids_of_the_context_too(void **state)
{
    struct ethos_context context = here;

    (void)state;
    context.memory_scope = "personality:../x";
    context.personality = "../x";
    assert_refused(&context, (struct target_row){.store = "memory"}, ETHOS_DENIED,
                   "unrecognised memory scope: personality:../x");
    assert_refused(&context, (struct target_row){.scope = "personality", .key = "a.md"},
                   ETHOS_DENIED, "unrecognised memory scope: personality:../x");
}

static void test_reading_needs_a_safe_key_only(void **state)
{
    struct scope_target target;

    (void)state;
    assert_int_equal(scope_target(&here, NULL, "personality", "SOUL.md", false, &target, NULL),
                     ETHOS_OK);
    assert_string_equal(target.key, "SOUL.md");
    assert_int_equal(scope_target(&here, NULL, "personality", "../x", false, &target, NULL),
                     ETHOS_DENIED);
}

/* ---- trees --------------------------------------------------------------------------------- */

static void test_a_tree_is_named_by_its_owner(void **state)
{
    static const char *const bad[] = {
        "memories",           "memories:",         "memories:memories:global", "memories:user",
        "memories:user:../x", "memories:global:x", "Memories:global"};
    enum scope_kind kind;
    const char *id;
    char tree[ETHOS_MAX_SCOPE], longest[ETHOS_MAX_SCOPE];

    (void)state;
    assert_int_equal(scope_parse("memories:user:u1", &kind, &id, NULL), ETHOS_OK);
    assert_int_equal(kind, SCOPE_USER);
    assert_string_equal(id, "u1");
    assert_int_equal(scope_parse("memories:global", &kind, &id, NULL), ETHOS_OK);
    assert_int_equal(kind, SCOPE_GLOBAL);
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(scope_parse(bad[i], NULL, NULL, NULL), ETHOS_DENIED);
    assert_true(scope_is_tree("memories:global"));
    assert_false(scope_is_tree("global"));
    assert_false(scope_is_tree(NULL));
    assert_string_equal(scope_owner("memories:team:t"), "team:t");
    assert_string_equal(scope_owner("team:t"), "team:t");
    assert_int_equal(scope_make(SCOPE_PERSONALITY, repeat('a', ETHOS_MAX_ID), longest, NULL),
                     ETHOS_OK);
    scope_tree(longest, tree);
    assert_string_equal(scope_owner(tree), longest);
    assert_int_equal(scope_parse(tree, NULL, NULL, NULL), ETHOS_OK);
}

static void test_the_keys_of_a_tree_are_paths(void **state)
{
    static const char *const good[] = {
        "a",       "a.txt",          "a/b/c", "a b/@c",
        "-x",      "x..y",           "a/b.",  "\xc3\xa9/\xd0\xb6.md",
        "%2e",     "a/%2e",          "c:d",   "a/memory-history.jsonl",
        "SOUL.md", "a/history-blobs"};
    static const char *const bad[] = {"",
                                      "/",
                                      "/a",
                                      "a/",
                                      "a//b",
                                      ".",
                                      "..",
                                      "./a",
                                      "a/../b",
                                      "a/.b",
                                      ".mem",
                                      "a\\b",
                                      "a\"b",
                                      "a\nb",
                                      "a\x01",
                                      "a\x7f",
                                      "\xff",
                                      "a/\xc3",
                                      "%2E%2e",
                                      "a%2e%2Eb",
                                      "memory-history.jsonl",
                                      "MEMORY-HISTORY-2026-01.jsonl",
                                      "history-blobs",
                                      "History-Blobs/x"};
    char key[ETHOS_MAX_KEY * 100 + 1];
    struct ethos_error error;

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        if (scope_key_check("memories:global", good[i], NULL) != ETHOS_OK ||
            !scope_key_shown("memories:global", good[i]))
            fail_msg("'%s' was refused", good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (scope_key_check("memories:global", bad[i], NULL) != ETHOS_DENIED ||
            scope_key_shown("memories:global", bad[i]))
            fail_msg("'%s' was taken", bad[i]);
    }
    memset(key, 'k', sizeof(key));
    for (size_t i = 1; i < sizeof(key); i += 2)
        key[i] = '/';
    key[ETHOS_MAX_KEY] = 0;
    key[ETHOS_MAX_KEY - 1] = 'k';
    assert_int_equal(scope_key_check("memories:global", key, &error), ETHOS_OK);
    key[ETHOS_MAX_KEY] = 'k';
    key[ETHOS_MAX_KEY + 1] = 0;
    assert_int_equal(scope_key_check("memories:global", key, &error), ETHOS_DENIED);
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = 0;
    assert_int_equal(scope_key_check("memories:global", key, &error), ETHOS_DENIED);
    assert_int_equal(scope_key_check("global", "a/b", &error), ETHOS_DENIED);
}

static void test_a_target_in_a_tree(void **state)
{
    static const struct {
        const char *scope, *expected;
    } rows[] = {{"memories", "memories:global"},
                {"memories:user", "memories:user:u1"},
                {"memories:personality", "memories:personality:ethos"},
                {"memories:workspace", "memories:workspace:repo-0123456789ab"},
                {"memories:team:t", "memories:team:t"}};
    struct scope_target target;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(scope_target(&here, NULL, rows[i].scope, "a/b.txt", true, &target, NULL),
                         ETHOS_OK);
        assert_string_equal(target.scope, rows[i].expected);
        assert_string_equal(target.key, "a/b.txt");
    }
    assert_int_equal(scope_target(&here, NULL, "memories:memories", "a", true, &target, NULL),
                     ETHOS_DENIED);
    assert_int_equal(
        scope_target(&here, NULL, "memories:memories:global", "a", true, &target, NULL),
        ETHOS_DENIED);
    assert_int_equal(scope_target(&here, NULL, "memories", "../a", true, &target, NULL),
                     ETHOS_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_is_1_to_128_word_characters),
        cmocka_unit_test(test_parse_splits_every_kind),
        cmocka_unit_test(test_parse_refuses_anything_else_and_leaves_outputs),
        cmocka_unit_test(test_golden_scopes),
        cmocka_unit_test(test_make_joins_kind_and_id_or_refuses),
        cmocka_unit_test(test_unsafe_keys_are_refused_by_name),
        cmocka_unit_test(test_key_length_at_limit_above_and_far_above),
        cmocka_unit_test(test_safe_keys_that_are_not_memory_are_reserved),
        cmocka_unit_test(test_memory_keys_are_writable_and_visible),
        cmocka_unit_test(test_litter_of_editors_and_sync_tools_is_not_visible),
        cmocka_unit_test(test_messages_quote_to_the_byte),
        cmocka_unit_test(test_target_of_every_form),
        cmocka_unit_test(test_target_refusals),
        cmocka_unit_test(test_target_without_workspace_says_so),
        cmocka_unit_test(test_target_checks_the_ids_of_the_context_too),
        cmocka_unit_test(test_reading_needs_a_safe_key_only),
        cmocka_unit_test(test_a_tree_is_named_by_its_owner),
        cmocka_unit_test(test_the_keys_of_a_tree_are_paths),
        cmocka_unit_test(test_a_target_in_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
