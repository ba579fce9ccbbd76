/*
 * test_op.c: checking arguments, and what operations answer.
 */
#include "../memory/world.h"

#include "memory/home/identity.h"
#include "ops/op.h"

/* ---- calling -------------------------------------------------------------------------------- */

struct run {
    int code;
    struct op_result result;
    bool json, dry;
};

/* Runs an operation with arguments in JSON; run_end() releases. */
static void run(struct world *world, const char *name, const char *args, struct run *run)
{
    static const struct ethos_request nothing;
    json_t *object = json_loads(args, JSON_ALLOW_NUL, NULL);
    const struct op *op = op_find(name);

    assert_non_null(op);
    assert_non_null(object);
    if (!world->ethos)
        world_open(world);
    memset(&world->error, 0, sizeof world->error);
    op_result_init(&run->result);
    struct op_call call = {.ethos = world->ethos,
                           .request = &nothing,
                           .args = object,
                           .want_json = run->json,
                           .dry_run = run->dry,
                           .via = "test"};
    run->code = op_run(op, &call, &run->result, &world->error);
    json_decref(object);
}

static void run_end(struct run *run)
{
    op_result_release(&run->result);
}

static void assert_refused(struct world *world, const char *name, const char *args,
                           const char *text)
{
    struct run refused = {.json = true};
    run(world, name, args, &refused);
    assert_error(&world->error, refused.code, ETHOS_INVALID);
    assert_string_equal(world->error.text, text);
    run_end(&refused);
}

/* The answer as compact JSON equals this. */
static void assert_answer(struct world *world, const char *name, const char *args,
                          const char *expected)
{
    struct run answer = {.json = true};
    run(world, name, args, &answer);
    assert_ok(world, answer.code);
    char *text = json_dumps(answer.result.json, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    run_end(&answer);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void test_bad_arguments_are_named(void **state)
{
    struct world *world = *state;

    assert_refused(world, "memory.add", "{}", "memory.add: missing content");
    assert_refused(world, "memory.add", "{\"content\":null}", "memory.add: missing content");
    assert_refused(world, "memory.add", "{\"content\":7}", "content: must be a string");
    assert_refused(world, "memory.add", "{\"content\":\"x\",\"store\":\"both\"}",
                   "store: unknown value 'both'");
    assert_refused(world, "memory.add", "{\"content\":\"x\",\"store\":true}",
                   "store: must be a string");
    assert_refused(world, "memory.prefetch", "{\"maxChars\":\"2000\"}",
                   "maxChars: must be a whole number");
    assert_refused(world, "memory.prefetch", "{\"maxChars\":999}",
                   "maxChars: must be from 1000 to 200000");
    assert_refused(world, "memory.prefetch", "{\"maxChars\":0}",
                   "maxChars: must be from 1000 to 200000");
    assert_refused(world, "admin.doctor", "{\"fix\":1}", "fix: must be true or false");
    assert_false(world_exists(world, "home"));
}

static void test_unknown_arguments_are_refused(void **state)
{
    assert_refused(*state, "memory.add", "{\"content\":\"x\",\"ifmatch\":\"absent\"}",
                   "memory.add: unknown argument ifmatch");
    assert_refused(*state, "memory.paths", "{\"all\":true}", "memory.paths: unknown argument all");
}

static void test_names_must_not_hide_a_nul(void **state)
{
    struct world *world = *state;

    assert_refused(world, "memory.get", "{\"key\":\"MEMORY.md\\u0000x\"}",
                   "key: must not contain NUL");
    assert_refused(world, "memory.add", "{\"content\":\"x\",\"scope\":\"global\\u0000\"}",
                   "scope: must not contain NUL");
    assert_refused(world, "users.resolve",
                   "{\"platform\":\"cli\",\"platformUserId\":\"a\\u0000b\"}",
                   "platformUserId: must not contain NUL");
    struct run content = {.json = true};
    run(world, "memory.add", "{\"content\":\"a\\u0000b\"}", &content); // refused by what it means
    assert_error(&world->error, content.code, ETHOS_INVALID);
    run_end(&content);
    assert_false(world_exists(world, "home"));
}

static void test_null_is_leaving_out(void **state)
{
    assert_answer(*state, "memory.prefetch", "{\"maxChars\":null,\"query\":null}", "null");
}

/* ---- building ------------------------------------------------------------------------------- */

static void test_a_result_is_whole_or_not_at_all(void **state)
{
    json_t *rows = json_array(), *object = json_object();

    (void)state;
    op_json_push(&rows, json_integer(2));
    op_json_insert(&rows, 0, json_integer(1));
    op_json_put(&object, "a", json_true());
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(json_integer_value(json_array_get(rows, 0)), 1);
    op_json_push(&rows, NULL);
    assert_null(rows);
    op_json_push(&rows, json_integer(3)); // which is not leaked
    op_json_insert(&rows, 0, json_integer(3));
    assert_null(rows);
    op_json_put(&object, "b", NULL);
    assert_null(object);
    op_json_put(&object, "c", json_integer(3));
    assert_null(object);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void test_sync_answers_with_what_became_of_each_key(void **state)
{
    struct world *world = *state;
    struct run sync = {.json = true};

    run(world, "memory.sync",
        "{\"updates\":\"[{\\\"action\\\":\\\"add\\\",\\\"content\\\":\\\"a\\\\nb\\\"},"
        "{\\\"action\\\":\\\"remove\\\",\\\"substringMatch\\\":\\\"b\\\"},"
        "{\\\"action\\\":\\\"delete\\\",\\\"key\\\":\\\"note.md\\\"}]\"}",
        &sync);
    assert_ok(world, sync.code);
    json_t *written = json_object_get(sync.result.json, "written");
    assert_int_equal(json_array_size(written), 1);
    json_t *row = json_array_get(written, 0);
    assert_string_equal(json_string_value(json_object_get(row, "key")), "MEMORY.md");
    assert_int_equal(json_integer_value(json_object_get(row, "matched")), 1);
    assert_int_equal(json_integer_value(json_object_get(row, "chars")), 2);
    row = json_array_get(json_object_get(sync.result.json, "unchanged"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "key")), "note.md");
    assert_true(json_is_null(json_object_get(row, "revision")));
    run_end(&sync);
    assert_file(world, "home/personalities/default/MEMORY.md", "a\n");
}

static void test_a_conflict_is_reported_beside_what_was_written(void **state)
{
    struct world *world = *state;
    struct run sync = {.json = true};

    run(world, "memory.sync",
        "{\"updates\":\"[{\\\"action\\\":\\\"add\\\",\\\"content\\\":\\\"a\\\"},"
        "{\\\"action\\\":\\\"add\\\",\\\"store\\\":\\\"user\\\",\\\"content\\\":\\\"u\\\","
        "\\\"if_match\\\":\\\"sha256:0\\\"}]\"}",
        &sync);
    assert_ok(world, sync.code);
    assert_int_equal(sync.result.code, ETHOS_CONFLICT);
    assert_int_equal(json_array_size(json_object_get(sync.result.json, "written")), 1);
    assert_int_equal(json_array_size(json_object_get(sync.result.json, "conflicts")), 1);
    run_end(&sync);
    assert_file(world, "home/personalities/default/MEMORY.md", "a\n");
}

static void test_a_dry_run_answers_the_diff_and_writes_nothing(void **state)
{
    static const struct {
        const char *name, *args, *line;
    } rows[] = {
        {"memory.add", "{\"content\":\"new\"}", "+new"},
        {"memory.write", "{\"content\":\"new\"}", "+new"},
        {"memory.save", "{\"content\":\"new\"}", "+new"},
        {"users.link", "{\"platform\":\"t\",\"platformUserId\":\"1\",\"userId\":\"u\"}",
         "+    \"userId\": \"u\""},
        {"config.set", "{\"key\":\"memoryScope\",\"value\":\"global\"}", "+memoryScope: global"},
        {"personalities.create", "{\"id\":\"p\"}", "+name: p"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct run text = {.dry = true}, json = {.dry = true, .json = true};
        run(world, rows[i].name, rows[i].args, &text);
        assert_ok(world, text.code);
        assert_true(text.result.has_text);
        assert_non_null(strstr(text.result.text.data, rows[i].line));
        run_end(&text);
        run(world, rows[i].name, rows[i].args, &json);
        assert_ok(world, json.code);
        assert_true(json_is_true(json_object_get(json.result.json, "dryRun")));
        run_end(&json);
        assert_false(world_exists(world, "home"));
    }
}

static void test_personalities_are_directories_in_order(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "home/personalities/zeta");
    world_mkdir(world, "home/personalities/alpha");
    world_mkdir(world, "home/personalities/mid");
    world_mkdir(world, "home/personalities/no id");
    world_put(world, "home/personalities/file", "x");
    struct run list = {.json = true};
    run(world, "personalities.list", "{}", &list);
    assert_ok(world, list.code);
    const json_t *items = json_object_get(list.result.json, "items");
    static const char *const ids[] = {"default", "alpha", "mid", "zeta"};
    assert_int_equal(json_array_size(items), COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(items, i), "id")),
                            ids[i]);
    run_end(&list);
}

static void test_users_are_those_with_a_usable_id(void **state)
{
    struct world *world = *state;
    struct run list = {.json = true};

    world_put(world, "home/users/identity-map.json",
              "[7,{\"platform\":\"t\",\"platformUserId\":\"1\",\"userId\":\"u\",\"color\":1},"
              "{\"platform\":\"t\",\"platformUserId\":\"2\",\"userId\":\"../x\"}]");
    run(world, "users.list", "{}", &list);
    assert_ok(world, list.code);
    char *text = json_dumps(json_object_get(list.result.json, "users"), JSON_COMPACT);
    assert_string_equal(text, "[{\"userId\":\"u\",\"platform\":\"t\",\"platformUserId\":\"1\","
                              "\"displayLabel\":null,\"firstSeenAt\":null,\"local\":false}]");
    free(text);
    run_end(&list);
}

static void test_linking_to_oneself_keeps_oneself(void **state)
{
    struct world *world = *state;
    struct run list = {.json = true}, link = {.json = true}, again = {.json = true};
    char args[256], id[ETHOS_MAX_ID + 1];

    run(world, "users.list", "{}", &list);
    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(list.result.json, "localUserId")));
    run_end(&list);
    snprintf(args, sizeof args,
             "{\"platform\":\"telegram\",\"platformUserId\":\"4711\",\"userId\":\"%s\"}", id);
    run(world, "users.link", args, &link);
    assert_ok(world, link.code);
    run_end(&link);
    run(world, "users.list", "{}", &again);
    assert_string_equal(json_string_value(json_object_get(again.result.json, "localUserId")), id);
    run_end(&again);
}

#define ONE "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
#define TWO "sha256:27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"
#define ROW                                                                                        \
    "{\"number\":1,\"timeMs\":1,\"key\":\"a.md\",\"actions\":\"add\",\"source\":\"tool\","         \
    "\"before\":\"absent\",\"after\":\"" ONE "\"}"
#define EDIT(key, revision) "{\"key\":\"" key "\",\"revision\":\"" revision "\"}"

/* Else a text would be there that no change led to, or half of it would be done. */
static void test_what_is_grafted_is_where_its_changes_lead(void **state)
{
    static const struct {
        const char *rows, *edits;
        int code;
    } cases[] = {
        {ROW, EDIT("a.md", ONE) "," EDIT("a.md", ONE), ETHOS_INVALID},
        {ROW, EDIT("a.md", ONE) "," EDIT("a.md", TWO), ETHOS_INVALID},
        {ROW, EDIT("a.md", TWO), ETHOS_INVALID},
        {ROW, EDIT("a.md", "absent"), ETHOS_INVALID},
        {ROW, EDIT("a.md", ONE) "," EDIT("b.md", TWO), ETHOS_INVALID},
        {ROW, "", ETHOS_INVALID},
        {"", EDIT("a.md", ONE), ETHOS_INVALID},
        {ROW, EDIT("a.md", ONE), ETHOS_OK},
    };
    struct world *world = *state;
    char args[2048];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run graft = {.json = true};
        snprintf(args, sizeof args,
                 "{\"scope\":\"personality:p\",\"commit\":{\"version\":0,\"copies\":[],"
                 "\"texts\":{\"" ONE "\":\"one\\n\",\"" TWO
                 "\":\"two\\n\"},\"rows\":[%s],\"edits\":[%s]}}",
                 cases[i].rows, cases[i].edits);
        run(world, "store.graft", args, &graft);
        assert_ok(world, graft.code);
        assert_int_equal(graft.result.code, cases[i].code);
        assert_int_equal(world_exists(world, "home/personalities/p/a.md"),
                         cases[i].code == ETHOS_OK);
        run_end(&graft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_bad_arguments_are_named),
        WORLD_TEST(test_unknown_arguments_are_refused),
        WORLD_TEST(test_names_must_not_hide_a_nul),
        WORLD_TEST(test_null_is_leaving_out),
        cmocka_unit_test(test_a_result_is_whole_or_not_at_all),
        WORLD_TEST(test_sync_answers_with_what_became_of_each_key),
        WORLD_TEST(test_a_conflict_is_reported_beside_what_was_written),
        WORLD_TEST(test_a_dry_run_answers_the_diff_and_writes_nothing),
        WORLD_TEST(test_personalities_are_directories_in_order),
        WORLD_TEST(test_users_are_those_with_a_usable_id),
        WORLD_TEST(test_linking_to_oneself_keeps_oneself),
        WORLD_TEST(test_what_is_grafted_is_where_its_changes_lead),
    };

    return cmocka_run_group_tests_name("ops/op", tests, NULL, NULL);
}
