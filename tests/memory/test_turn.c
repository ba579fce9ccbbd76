/*
 * test_turn.c: from what a caller knows to who and where.
 */
#include "base/hash.h"
#include "memory/handle.h"
#include "memory/home/identity.h"
#include "world.h"

#define CONFIG "home/config.yaml"
#define OWN_CONFIG "home/personalities/p/config.yaml"

/* The id the person at this machine has without any map. */
static const char *derived_local(char out[ETHOS_MAX_ID + 1])
{
    char login[ETHOS_MAX_ID + 1], pair[ETHOS_MAX_ID + 8], hex[HASH_HEX_SIZE];
    identity_login(login, sizeof login);
    int size = snprintf(pair, sizeof pair, "cli%c%s", 0, login);
    hash_hex(view_of(pair, (size_t)size), hex);
    snprintf(out, ETHOS_MAX_ID + 1, "%.12s", hex);
    return out;
}

/* ---- personality ---------------------------------------------------------------------------- */

static void test_personality_from_call_then_environment_then_file_then_default(void **state)
{
    struct world *world = *state;

    assert_string_equal(world_turn(world, NULL)->personality, "default");
    assert_false(world_exists(world, "home")); // resolving makes nothing
    world_put(world, CONFIG, "personality: from-file\n");
    assert_string_equal(world_turn(world, NULL)->personality, "from-file");
    setenv("ETHOS_PERSONALITY", "from-env", 1);
    assert_string_equal(world_turn(world, NULL)->personality, "from-env");
    assert_string_equal(world_personality(world, "from-call")->personality, "from-call");
    setenv("ETHOS_PERSONALITY", "", 1);
    assert_string_equal(world_turn(world, NULL)->personality, "from-file");
}

static void assert_refused(struct world *world, const struct ethos_request *request,
                           const char *text)
{
    int code = world_try_turn(world, request);
    assert_error(&world->error, code, ETHOS_DENIED);
    assert_string_equal(world->error.text, text);
    assert_null(world->turn);
}

static void test_bad_ids_are_refused_wherever_they_come_from(void **state)
{
    struct world *world = *state;
    struct ethos_request request = {.personality = "../x"};
    char longest[301];

    assert_refused(world, &request, "unrecognised memory scope: personality:../x");
    request.personality = "";
    assert_refused(world, &request, "unrecognised memory scope: personality:");
    request.personality = "a\n";
    assert_refused(world, &request, "unrecognised memory scope: personality:a\n");
    memset(longest, 'x', 300);
    longest[300] = 0;
    request.personality = longest;
    assert_int_equal(world_try_turn(world, &request), ETHOS_DENIED);
    request = (struct ethos_request){.user = "a/b"};
    assert_refused(world, &request, "unrecognised memory scope: user:a/b");
    request.user = "";
    assert_refused(world, &request, "unrecognised memory scope: user:");
    setenv("ETHOS_PERSONALITY", "..", 1);
    assert_refused(world, NULL, "unrecognised memory scope: personality:..");
    unsetenv("ETHOS_PERSONALITY");
    setenv("ETHOS_USER", "a b", 1);
    assert_refused(world, NULL, "unrecognised memory scope: user:a b");
    unsetenv("ETHOS_USER");
    assert_false(world_exists(world, "home"));
    world_put(world, CONFIG, "personality: a.b\n");
    assert_refused(world, NULL, "unrecognised memory scope: personality:a.b");
    world_put(world, CONFIG, "user.id: ../x\n");
    assert_refused(world, NULL, "unrecognised memory scope: user:../x");
}

/* ---- user ----------------------------------------------------------------------------------- */

static void test_user_from_call_then_environment_then_file_then_map_then_derived(void **state)
{
    struct world *world = *state;
    const struct ethos_request given = {.user = "from-call"};
    char local[ETHOS_MAX_ID + 1], login[ETHOS_MAX_ID + 1], text[512];

    assert_string_equal(world_turn(world, NULL)->user, derived_local(local));
    identity_login(login, sizeof login);
    snprintf(text, sizeof text,
             "[{\"platform\":\"cli\",\"platformUserId\":\"%s\",\"userId\":\"from-map\"}]", login);
    world_put(world, "home/users/identity-map.json", text);
    assert_string_equal(world_turn(world, NULL)->user, "from-map");
    world_put(world, CONFIG, "user:\n  id: from-file\n");
    assert_string_equal(world_turn(world, NULL)->user, "from-file");
    setenv("ETHOS_USER", "from-env", 1);
    assert_string_equal(world_turn(world, NULL)->user, "from-env");
    assert_string_equal(world_turn(world, &given)->user, "from-call");
}

static void test_someone_on_a_platform_is_looked_up(void **state)
{
    struct world *world = *state;
    const struct ethos_request known = {.platform = "telegram", .platform_user = "4711"};
    const struct ethos_request fresh = {.platform = "slack", .platform_user = "U1"};
    const struct ethos_request told = {.platform = "slack", .platform_user = "U1", .user = "u"};
    char hex[HASH_HEX_SIZE];

    world_put(world, "home/users/identity-map.json",
              "[{\"platform\":\"telegram\",\"platformUserId\":\"4711\",\"userId\":\"them\"}]");
    assert_string_equal(world_turn(world, &known)->user, "them");
    assert_string_equal(world_turn(world, &known)->platform, "telegram");
    assert_string_equal(world_turn(world, &known)->user_scope, "user:them");
    hash_hex(VIEW("slack\0"
                  "U1"),
             hex);
    hex[12] = 0;
    assert_string_equal(world_turn(world, &fresh)->user, hex);
    assert_string_equal(world_turn(world, &told)->user, "u");
    setenv("ETHOS_USER", "me", 1); // speaks of who is at this machine, not of who writes in
    assert_string_equal(world_turn(world, &known)->user, "them");
}

static void test_a_platform_without_a_person_means_the_local_one(void **state)
{
    const struct ethos_request request = {.platform = "web"};
    const struct ethos_context *context = world_turn(*state, &request);
    char local[ETHOS_MAX_ID + 1];

    assert_string_equal(context->user, derived_local(local));
    assert_string_equal(context->platform, "web");
    assert_string_equal(world_turn(*state, NULL)->platform, "cli");
}

static void test_a_person_without_a_platform_is_refused(void **state)
{
    struct world *world = *state;
    struct ethos_request request = {.platform_user = "4711"};

    assert_error(&world->error, world_try_turn(world, &request), ETHOS_INVALID);
    request.platform = "tele gram";
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_DENIED);
    request.platform = "telegram";
    request.platform_user = "";
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_DENIED);
}

static void test_a_change_of_the_map_is_seen_by_the_next_turn(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.platform = "telegram", .platform_user = "4711"};

    world_put(world, "home/users/identity-map.json",
              "[{\"platform\":\"telegram\",\"platformUserId\":\"4711\",\"userId\":\"one\"}]");
    assert_string_equal(world_turn(world, &request)->user, "one");
    world_put(world, "home/users/identity-map.json",
              "[{\"platform\":\"telegram\",\"platformUserId\":\"4711\",\"userId\":\"two\"}]");
    assert_string_equal(world_turn(world, &request)->user, "two");
}

/* ---- scopes --------------------------------------------------------------------------------- */

struct scope_row {
    const char *home, *own; /* config files */
    const char *memory;     /* expected scope of MEMORY.md */
    const char *mine;       /* of USER.md for the local person; NULL: user:me */
    const char *theirs;     /* for someone else; NULL: user:them */
    bool legacy;            /* the local person may fall back to older profiles */
};

static const struct scope_row scope_rows[] = {
    {"", "", "personality:p", NULL, NULL, true},
    {"memoryScope: per-personality", "", "personality:p", NULL, NULL, true},
    {"memoryScope: global", "", "global", NULL, NULL, true},
    {"", "memoryScope: global", "global", NULL, NULL, true},
    {"memoryScope: global", "memoryScope: per-personality", "personality:p", NULL, NULL, true},
    {"userScope: user", "", "personality:p", NULL, NULL, true},
    {"userScope: global", "", "personality:p", "global", NULL, false},
    {"userScope: personality", "", "personality:p", "personality:p", "personality:p", false},
    {"userScope: global", "userScope: user", "personality:p", NULL, NULL, true},
    {"", "userScope: personality", "personality:p", "personality:p", "personality:p", false},
    {"memoryScope: global\nuserScope: user", "", "global", NULL, NULL, true},
    {"memoryScope: global\nuserScope: global", "", "global", "global", NULL, false},
    {"memoryScope: global\nuserScope: personality", "", "global", "personality:p", "personality:p",
     false},
    {"memoryScope: global", "userScope: user", "global", NULL, NULL, true},
};

static void assert_scopes(struct world *world, const struct scope_row *row)
{
    const struct ethos_request me = {.personality = "p"};
    const struct ethos_request them = {.personality = "p", .user = "them"};
    char text[256];

    snprintf(text, sizeof text, "user.id: me\n%s\n", row->home);
    world_put(world, CONFIG, text);
    world_put(world, OWN_CONFIG, row->own);
    const struct ethos_context *context = world_turn(world, &me);
    assert_string_equal(context->memory_scope, row->memory);
    assert_string_equal(context->user_scope, row->mine ? row->mine : "user:me");
    assert_int_equal(context->profile_fallback[0] != NULL, row->legacy);
    if (row->legacy) {
        assert_string_equal(context->profile_fallback[0], "personality:p");
        assert_string_equal(context->profile_fallback[1], "global");
    }
    context = world_turn(world, &them);
    assert_string_equal(context->memory_scope, row->memory);
    assert_string_equal(context->user_scope, row->theirs ? row->theirs : "user:them");
    assert_null(context->profile_fallback[0]); // nobody reads another person's old profile
    assert_null(context->profile_fallback[1]);
}

static void test_memory_scope_and_user_scope(void **state)
{
    for (size_t i = 0; i < COUNT(scope_rows); i++)
        assert_scopes(*state, &scope_rows[i]);
}

static void test_naming_oneself_is_being_local(void **state)
{
    struct world *world = *state;
    const struct ethos_request request = {.user = "me"};

    world_put(world, CONFIG, "user.id: me\nuserScope: global\n");
    assert_string_equal(world_turn(world, &request)->user_scope, "global");
    setenv("ETHOS_USER", "me", 1);
    assert_string_equal(world_turn(world, NULL)->user_scope, "global");
}

/* ---- settings ------------------------------------------------------------------------------- */

static void test_a_turn_keeps_the_settings_of_its_moment(void **state)
{
    struct world *world = *state;

    world_put(world, CONFIG, "prefetch: {maxChars: 3000, truncate: tail, guard: off}\n");
    world_turn(world, NULL);
    struct service_settings settings = *service_settings(world->turn);
    assert_int_equal(settings.max_chars, 3000);
    assert_true(settings.tail);
    assert_false(settings.guard);
    struct ethos_turn *first = world->turn;
    world->turn = NULL;
    world_put(world, CONFIG, "memoryScope: global\n");
    assert_string_equal(world_turn(world, NULL)->memory_scope, "global");
    settings = *service_settings(world->turn);
    assert_int_equal(settings.max_chars, 20000);
    assert_false(settings.tail);
    assert_true(settings.guard);
    assert_int_equal(service_settings(first)->max_chars, 3000);
    assert_string_equal(ethos_turn_context(first)->memory_scope, "personality:default");
    ethos_turn_free(first);
}

static void test_strings_of_the_context_are_its_own(void **state)
{
    struct world *world = *state;
    char id[8] = "p", query[8] = "why?", session[8] = "s1", user[8] = "u", platform[8] = "web";
    const struct ethos_request request = {
        .personality = id, .user = user, .session = session, .platform = platform, .query = query};

    const struct ethos_context *context = world_turn(world, &request);
    memset(id, 'x', 7);
    memset(query, 'x', 7);
    memset(session, 'x', 7);
    memset(user, 'x', 7);
    memset(platform, 'x', 7);
    assert_string_equal(context->personality, "p");
    assert_string_equal(context->user, "u");
    assert_string_equal(context->session, "s1");
    assert_string_equal(context->query, "why?");
    assert_string_equal(context->platform, "web");
    assert_string_equal(context->workspace, world->work);
}

static void test_a_broken_file_of_settings_is_one_clear_error(void **state)
{
    struct world *world = *state;

    world_put(world, CONFIG, "memoryScope: nowhere\n");
    assert_error(&world->error, world_try_turn(world, NULL), ETHOS_INVALID);
    assert_string_equal(world->error.text, "config.yaml:1: memoryScope: 'nowhere' is not a choice");
    world_put(world, CONFIG, "");
    world_put(world, OWN_CONFIG, "userScope: \"a\\nb\"\n");
    const struct ethos_request request = {.personality = "p"};
    assert_error(&world->error, world_try_turn(world, &request), ETHOS_INVALID);
    assert_int_equal(strncmp(world->error.text, "personalities/p/config.yaml:1: userScope: ", 42),
                     0);
    assert_ok(world, world_try_turn(world, NULL)); // another personality is not concerned
}

/* ---- workspace ------------------------------------------------------------------------------ */

static void test_workspace_from_call_then_environment_then_the_current_directory(void **state)
{
    struct world *world = *state;
    char one[128], two[128];
    const struct ethos_request request = {.workspace = one};

    world_mkdir(world, "one");
    world_mkdir(world, "two");
    snprintf(one, sizeof one, "%s/one", world->temp.path);
    snprintf(two, sizeof two, "%s/two", world->temp.path);
    assert_string_equal(world_turn(world, NULL)->workspace, world->work);
    assert_int_equal(strncmp(world_turn(world, NULL)->workspace_scope, "workspace:work-", 15), 0);
    setenv("ETHOS_WORKSPACE", two, 1);
    assert_string_equal(world_turn(world, NULL)->workspace, two);
    assert_string_equal(world_turn(world, &request)->workspace, one);
    setenv("ETHOS_WORKSPACE", "/nowhere/at/all", 1);
    assert_int_equal(world_try_turn(world, NULL), ETHOS_NOTFOUND);
}

static void test_the_index_is_shown_unless_switched_off(void **state)
{
    struct world *world = *state;

    assert_true(world_turn(world, NULL)->workspace_shown);
    world_put(world, CONFIG, "workspaceMemory: on\n");
    assert_true(world_turn(world, NULL)->workspace_shown);
    world_put(world, CONFIG, "workspaceMemory: off\n");
    assert_false(world_turn(world, NULL)->workspace_shown);
    assert_non_null(world_turn(world, NULL)->workspace_scope); // still to be written to
}

static void test_without_a_current_directory_there_is_memory_but_no_workspace(void **state)
{
    struct world *world = *state;

    world_open(world);
    world_mkdir(world, "gone");
    assert_int_equal(fchdir(world->temp.fd), 0);
    assert_int_equal(chdir("gone"), 0);
    assert_int_equal(unlinkat(world->temp.fd, "gone", AT_REMOVEDIR), 0);
    const struct ethos_context *context = world_turn(world, NULL);
    assert_null(context->workspace_scope);
    assert_null(context->workspace);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"x\"}"));
    assert_prefetch(world, "## Memory\n\nx");
    int code = world_sync(world,
                          "{\"action\":\"add\",\"scope\":\"workspace\",\"key\":\"MEMORY.md\","
                          "\"content\":\"x\"}");
    assert_error(&world->error, code, ETHOS_INVALID);
}

static void test_no_workspace_may_be_meant_whatever_the_current_directory_is(void **state)
{
    struct world *world = *state;
    const struct ethos_request none = {.workspace = ""};

    world_open(world);
    setenv("ETHOS_WORKSPACE", world->work, 1);
    const struct ethos_context *context = world_turn(world, &none);
    assert_null(context->workspace);
    assert_null(context->workspace_scope);
    assert_null(context->workspace_error);
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"x\"}"));
    int code = world_sync(world,
                          "{\"action\":\"add\",\"scope\":\"workspace\",\"key\":\"MEMORY.md\","
                          "\"content\":\"x\"}");
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_false(world_exists(world, "home/workspaces"));
}

#define IN_WORKSPACE                                                                               \
    "{\"action\":\"add\",\"scope\":\"workspace\",\"key\":\"MEMORY.md\",\"content\":\"x\"}"

static void test_a_workspace_is_named_by_its_id(void **state)
{
    struct world *world = *state;
    struct ethos_request named = {.workspace = NULL};
    char scope[ETHOS_MAX_SCOPE];

    world_open(world);
    snprintf(scope, sizeof scope, "%s", world_turn(world, NULL)->workspace_scope);
    assert_ok(world, world_sync(world, IN_WORKSPACE));
    assert_int_equal(chdir("/"), 0);
    named.workspace = scope;
    const struct ethos_context *context = world_turn(world, &named);
    assert_string_equal(context->workspace_scope, scope);
    assert_string_equal(context->workspace, world->work);
    assert_prefetch(world, "## Workspace Memory\n\nx");
}

static void test_a_named_workspace_outlives_its_folder_and_takes_no_other(void **state)
{
    struct world *world = *state;
    struct ethos_request named = {.workspace = NULL};
    char scope[ETHOS_MAX_SCOPE], path[ETHOS_MAX_SCOPE + 64];

    world_open(world);
    snprintf(scope, sizeof scope, "%s", world_turn(world, NULL)->workspace_scope);
    assert_ok(world, world_sync(world, IN_WORKSPACE));
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(world->work), 0);
    named.workspace = scope;
    const struct ethos_context *context = world_turn(world, &named);
    assert_string_equal(context->workspace_scope, scope);
    assert_null(context->workspace);
    assert_ok(world, world_sync(world, IN_WORKSPACE));
    assert_int_equal(world->warnings, 0);
    snprintf(path, sizeof path, "home/workspaces/%s/workspace.json", scope + strlen("workspace:"));
    world_put(world, path, "{");
    assert_string_equal(world_turn(world, &named)->workspace_scope, scope);
}

static void test_a_workspace_that_is_not_known_is_not_made(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"workspace:nowhere-8d1f0c2ab3e4",
                                        "workspace:", "workspace:../users"};

    world_open(world);
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct ethos_request named = {.workspace = names[i]};
        assert_error(&world->error, world_try_turn(world, &named), ETHOS_NOTFOUND);
        world_mkdir(world, "home/users");
    }
}

/* ---- homes ---------------------------------------------------------------------------------- */

static void test_a_home_that_others_may_write_to_is_refused(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "home");
    assert_int_equal(chmod(world->home, 0777), 0);
    assert_error(&world->error, world_try_turn(world, NULL), ETHOS_DENIED);
}

static void test_ephemeral_memory_has_the_settings_of_the_home_and_leaves_nothing(void **state)
{
    struct world *world = *state;

    world_put(world, CONFIG, "personality: p\n");
    world_put(world, "home/personalities/p/MEMORY.md", "real\n");
    char *before = world_tree(world, ".", TREE_ALL);
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    assert_string_equal(world_turn(world, NULL)->personality, "p");
    assert_prefetch(world, NULL);
    assert_ok(world,
              world_sync(world, "[{\"action\":\"add\",\"content\":\"thought\"},"
                                "{\"action\":\"add\",\"store\":\"user\",\"content\":\"me\"}]"));
    assert_prefetch(world, "## About You\n\nme\n\n## Memory\n\nthought");
    assert_string_not_equal(service_root(world->ethos), world->home);
    struct stat st;
    assert_int_equal(stat(service_root(world->ethos), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    world_close(world);
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_removing_ephemeral_memory_follows_no_link(void **state)
{
    struct world *world = *state;
    char path[512];

    world_put(world, "precious/file", "kept");
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    snprintf(path, sizeof path, "%s/link", service_root(world->ethos));
    assert_int_equal(symlink("../precious", path), 0);
    world_close(world);
    assert_file(world, "precious/file", "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_personality_from_call_then_environment_then_file_then_default),
        WORLD_TEST(test_bad_ids_are_refused_wherever_they_come_from),
        WORLD_TEST(test_user_from_call_then_environment_then_file_then_map_then_derived),
        WORLD_TEST(test_someone_on_a_platform_is_looked_up),
        WORLD_TEST(test_a_platform_without_a_person_means_the_local_one),
        WORLD_TEST(test_a_person_without_a_platform_is_refused),
        WORLD_TEST(test_a_change_of_the_map_is_seen_by_the_next_turn),
        WORLD_TEST(test_memory_scope_and_user_scope),
        WORLD_TEST(test_naming_oneself_is_being_local),
        WORLD_TEST(test_a_turn_keeps_the_settings_of_its_moment),
        WORLD_TEST(test_strings_of_the_context_are_its_own),
        WORLD_TEST(test_a_broken_file_of_settings_is_one_clear_error),
        WORLD_TEST(test_workspace_from_call_then_environment_then_the_current_directory),
        WORLD_TEST(test_the_index_is_shown_unless_switched_off),
        WORLD_TEST(test_without_a_current_directory_there_is_memory_but_no_workspace),
        WORLD_TEST(test_no_workspace_may_be_meant_whatever_the_current_directory_is),
        WORLD_TEST(test_a_workspace_is_named_by_its_id),
        WORLD_TEST(test_a_named_workspace_outlives_its_folder_and_takes_no_other),
        WORLD_TEST(test_a_workspace_that_is_not_known_is_not_made),
        WORLD_TEST(test_a_home_that_others_may_write_to_is_refused),
        WORLD_TEST(test_ephemeral_memory_has_the_settings_of_the_home_and_leaves_nothing),
        WORLD_TEST(test_removing_ephemeral_memory_follows_no_link),
    };

    return cmocka_run_group_tests_name("memory/turn", tests, NULL, NULL);
}
