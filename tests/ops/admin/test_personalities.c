/*
 * test_personalities.c: what a personality says about itself, in its file and in JSON.
 */
#include "../../memory/world.h"

#include "base/json.h"
#include "base/str.h"
#include "ops/op.h"

static int run(struct world *world, const char *name, json_t *args, json_t **out)
{
    static const struct ethos_request request = {.workspace = ""};
    struct op_result result;
    struct op_call call = {
        .ethos = world->ethos, .request = &request, .args = args, .want_json = true, .via = "test"};
    if (!world->ethos) {
        world_open(world);
        call.ethos = world->ethos;
    }
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    int code = op_run(op_find(name), &call, &result, &world->error);
    *out = json_incref(result.json);
    op_result_release(&result);
    json_decref(args);
    return code;
}

/* create or update with these members. */
static int change(struct world *world, const char *name, const char *fields)
{
    json_t *answer;
    int code = run(world, name, json_pack("{s:s, s:s}", "id", "x", "fields", fields), &answer);
    json_decref(answer);
    return code;
}

static void assert_got(struct world *world, const char *member, const char *expected)
{
    json_t *answer;
    assert_ok(world, run(world, "personalities.get", json_pack("{s:s}", "id", "x"), &answer));
    const json_t *value = json_object_get(json_object_get(answer, "personality"), member);
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("missing");
    if (strcmp(text, expected) != 0)
        fail_msg("%s: %s instead of %s", member, text, expected);
    free(text);
    json_decref(answer);
}

#define CONFIG_OF_X "home/personalities/x/config.yaml"

static void test_every_member_comes_back_as_it_was(void **state)
{
    static const char *const members[][2] = {
        {"provider", "\"anthropic\""},
        {"model", "\"large\""},
        {"model", "{\"trivial\":\"a\",\"default\":\"b: c\",\"deep\":\"'q'\"}"},
        {"toolset", "[\"read\",\"write file\"]"},
        {"toolset", "[]"},
        {"capabilities", "[\"a\"]"},
        {"mcp_servers", "[\"s\"]"},
        {"plugins", "[\"p\"]"},
        {"streamingTimeoutMs", "30000"},
        {"fs_reach", "{\"read\":[\".\",\"/tmp\"],\"write\":[],\"workdir\":\"w\"}"},
        {"dreaming", "{\"enable\":true,\"idleMinutes\":0,\"maxPerDay\":3}"},
        {"evolution_approval_mode", "\"user\""},
        {"skill_evolution", "{\"enabled\":false,\"min_tool_calls\":5,\"scope\":\"shared\"}"},
        {"safety", "{\"approvalMode\":\"smart\"}"},
        {"memory", "{\"provider\":\"markdown\"}"},
        {"display", "{\"avatar_url\":\"https://a.org/x.png\"}"},
        {"nightly", "{\"enabled\":true,\"judge\":{\"enabled\":false,\"minInteractions\":2}}"},
        {"voice", "{\"tts_provider\":\"t\",\"languages\":{\"en\":\"x\",\"de-AT\":\"y\"}}"},
    };
    struct world *world = *state;
    struct str fields;
    str_init(&fields, 4096);
    for (size_t i = 0; i < COUNT(members); i++) {
        world_remove(world, "home");
        str_clear(&fields);
        str_printf(&fields, "{\"%s\":%s}", members[i][0], members[i][1]);
        assert_ok(world, change(world, "personalities.create", fields.data));
        assert_got(world, members[i][0], members[i][1]);
    }
    str_release(&fields);
}

static void test_members_that_are_not_said_stay(void **state)
{
    struct world *world = *state;
    world_put(
        world, CONFIG_OF_X,
        "name: x\nfs_reach:\n  read: /a\n  workdir: /w\nsafety:\n  approvalMode: manual\n"
        "  network: none\nvoice:\n  tts_voice: v\n  tier: realtime\n  languages:\n    en: x\n");
    assert_ok(world, change(world, "personalities.update",
                            "{\"fs_reach\":{\"read\":[\"/b\"],\"write\":[\"/c\"]},"
                            "\"safety\":{\"approvalMode\":\"smart\"},\"nightly\":{},"
                            "\"voice\":{\"tts_voice\":\"w\",\"tier\":\"\"}}"));
    assert_got(world, "fs_reach", "{\"read\":[\"/b\"],\"write\":[\"/c\"],\"workdir\":\"/w\"}");
    assert_got(world, "voice", "{\"tts_voice\":\"w\",\"languages\":{\"en\":\"x\"}}");
    assert_file(world, CONFIG_OF_X,
                "name: x\nfs_reach:\n  read: /b\n  workdir: /w\nsafety:\n  approvalMode: smart\n"
                "  network: none\nvoice:\n  tts_voice: w\n  languages:\n    en: x\n"
                "fs_reach.write: /c\n");
}

static void test_models_and_voices_are_replaced_whole_and_null_clears(void **state)
{
    struct world *world = *state;
    assert_ok(world,
              change(world, "personalities.create",
                     "{\"model\":{\"trivial\":\"t\"},\"toolset\":[\"a\"],"
                     "\"voice\":{\"model\":\"v\",\"languages\":{\"en\":\"x\",\"fr\":\"y\"}}}"));
    assert_ok(world,
              change(world, "personalities.update",
                     "{\"model\":{\"deep\":\"d\"},\"voice\":{\"languages\":{\"de\":\"z\"}}}"));
    assert_got(world, "model", "{\"deep\":\"d\"}");
    assert_got(world, "voice", "{\"model\":\"v\",\"languages\":{\"de\":\"z\"}}");
    assert_got(world, "toolset", "[\"a\"]");
    assert_ok(world,
              change(world, "personalities.update",
                     "{\"model\":\"again\",\"voice\":null,\"toolset\":null,\"provider\":\"\"}"));
    assert_got(world, "model", "\"again\"");
    assert_got(world, "voice", "missing");
    assert_got(world, "toolset", "null");
    assert_file(world, CONFIG_OF_X, "name: x\nmodel: again\n");
}

/* What is left of its settings may be a block without lines. */
static void test_one_whose_backend_is_cleared_can_be_read(void **state)
{
    struct world *world = *state;
    world_put(world, CONFIG_OF_X,
              "name: x\nmemory:\n  provider: markdown\n  options:\n    offline: cached\n");
    assert_ok(world, change(world, "personalities.update", "{\"memory\":null}"));
    assert_got(world, "memory", "missing");
    assert_file(world, CONFIG_OF_X, "name: x\nmemory:\n  options:\n");
    assert_ok(world, change(world, "personalities.update", "{\"description\":\"d\"}"));
}

static void test_a_file_that_others_wrote_is_understood_and_kept(void **state)
{
    struct world *world = *state;
    world_put(world, CONFIG_OF_X,
              "# mine\nname: X\ntoolset: [a, b]\nplugins:\n  - p\n  - q\nfs_reach:\n  read: [src]\n"
              "shoe: 42\nmodel:\n  default: large\ndreaming: {enable: true}\n");
    assert_got(world, "toolset", "[\"a\",\"b\"]");
    assert_got(world, "plugins", "[\"p\",\"q\"]");
    assert_got(world, "fs_reach", "{\"read\":[\"src\"]}");
    assert_got(world, "model", "{\"default\":\"large\"}");
    assert_got(world, "dreaming", "{\"enable\":true}");
    assert_ok(world, change(world, "personalities.update", "{\"provider\":\"openai\"}"));
    assert_file(
        world, CONFIG_OF_X,
        "# mine\nname: X\ntoolset: [a, b]\nplugins:\n  - p\n  - q\nfs_reach:\n  read: [src]\n"
        "shoe: 42\nmodel:\n  default: large\ndreaming: {enable: true}\nprovider: openai\n");
    assert_error(&world->error, change(world, "personalities.update", "{\"plugins\":[\"z\"]}"),
                 ETHOS_UNSUPPORTED);
}

static void test_what_does_not_fit_is_refused_and_nothing_is_made(void **state)
{
    static const char *const bad[] = {
        "[]",
        "{",
        "7",
        "{\"nothing\":1}",
        "{\"toolset\":\"a\"}",
        "{\"toolset\":[1]}",
        "{\"toolset\":[\"a,b\"]}",
        "{\"toolset\":[\"\"]}",
        "{\"toolset\":[\"a\\nb\"]}",
        "{\"provider\":\"a\\nname: evil\"}",
        "{\"model\":{\"huge\":\"x\"}}",
        "{\"model\":7}",
        "{\"fs_reach\":\"x\"}",
        "{\"dreaming\":{\"enable\":\"yes\"}}",
        "{\"streamingTimeoutMs\":-1}",
        "{\"streamingTimeoutMs\":1.5}",
        "{\"voice\":{\"languages\":{\"a.b\":\"x\"}}}",
        "{\"voice\":{\"languages\":{\"\":\"x\"}}}",
        "{\"voice\":{\"languages\":7}}",
    };
    struct world *world = *state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        int code = change(world, "personalities.create", bad[i]);
        if (code != ETHOS_INVALID)
            fail_msg("%s: %d %s", bad[i], code, world->error.text);
    }
    assert_false(world_exists(world, "home/personalities"));
}

/* A backend is loaded as code: nobody far away names its file. */
static void test_no_file_is_named_as_the_backend(void **state)
{
    struct world *world = *state;
    assert_error(&world->error,
                 change(world, "personalities.create", "{\"memory\":{\"provider\":\"/tmp/x.so\"}}"),
                 ETHOS_DENIED);
    assert_false(world_exists(world, "home/personalities"));
}

static void test_tools_of_servers_are_told_as_a_policy(void **state)
{
    struct world *world = *state;
    json_t *answer;
    assert_ok(world, change(world, "personalities.create", "{\"mcp_tools\":{\"git\":[\"log\"]}}"));
    assert_ok(world, run(world, "personalities.get", json_pack("{s:s}", "id", "x"), &answer));
    char *policy = json_dumps(json_object_get(answer, "mcpPolicy"), JSON_COMPACT);
    assert_string_equal(policy, "{\"servers\":{\"git\":{\"tools\":[\"log\"]}}}");
    free(policy);
    json_decref(answer);
}

static void test_a_deleted_one_keeps_its_memory_and_may_be_made_again(void **state)
{
    struct world *world = *state;
    json_t *answer;
    assert_ok(world, change(world, "personalities.create", "{}"));
    world_put(world, "home/personalities/x/MEMORY.md", "mine\n");
    assert_ok(world, run(world, "personalities.delete", json_pack("{s:s}", "id", "x"), &answer));
    json_decref(answer);
    assert_false(world_exists(world, "home/personalities/x"));
    assert_file(world, "home/removed/personality-x-20251115T094640Z/MEMORY.md", "mine\n");
    assert_ok(world, change(world, "personalities.create", "{}"));
    int code = run(world, "personalities.delete", json_pack("{s:s}", "id", "x"), &answer);
    json_decref(answer);
    assert_error(&world->error, code, ETHOS_EXISTS); // in the same second: nothing is overwritten
    assert_true(world_exists(world, "home/personalities/x"));
}

struct synced {
    bool moved;
    unsigned folders; /* since then */
};

static int note_sync(void *arg, const char *call, unsigned long number)
{
    struct synced *synced = arg;
    (void)number;
    synced->folders += synced->moved && strcmp(call, "fsync") == 0;
    synced->moved |= strcmp(call, "renameat") == 0;
    return 0;
}

/* Else a crash could bring it back, or leave it nowhere. */
static void test_where_a_deleted_one_was_and_is_are_both_synced(void **state)
{
    struct world *world = *state;
    struct synced synced = {0};
    json_t *answer;
    assert_ok(world, change(world, "personalities.create", "{}"));
    os_hook(note_sync, &synced);
    int code = run(world, "personalities.delete", json_pack("{s:s}", "id", "x"), &answer);
    os_hook(NULL, NULL);
    json_decref(answer);
    assert_ok(world, code);
    assert_true(synced.moved);
    assert_int_equal(synced.folders, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_member_comes_back_as_it_was),
        WORLD_TEST(test_members_that_are_not_said_stay),
        WORLD_TEST(test_models_and_voices_are_replaced_whole_and_null_clears),
        WORLD_TEST(test_one_whose_backend_is_cleared_can_be_read),
        WORLD_TEST(test_a_file_that_others_wrote_is_understood_and_kept),
        WORLD_TEST(test_what_does_not_fit_is_refused_and_nothing_is_made),
        WORLD_TEST(test_no_file_is_named_as_the_backend),
        WORLD_TEST(test_tools_of_servers_are_told_as_a_policy),
        WORLD_TEST(test_a_deleted_one_keeps_its_memory_and_may_be_made_again),
        WORLD_TEST(test_where_a_deleted_one_was_and_is_are_both_synced),
    };
    return cmocka_run_group_tests_name("ops/personalities", tests, NULL, NULL);
}
