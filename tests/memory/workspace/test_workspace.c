/*
 * test_workspace.c: which project folder this is, and the scope of its memory.
 */
#include "memory/workspace/workspace.h"

#include "../world.h"
#include "base/hash.h"
#include "base/str.h"

/* ---- the root ------------------------------------------------------------------------------- */

static int locate(struct world *world, const char *given, struct workspace_place *out)
{
    workspace_place_init(out);
    memset(&world->error, 0, sizeof world->error);
    return given ? workspace_locate(given, out, &world->error)
                 : workspace_around(world->temp.fd, NULL, out, &world->error);
}

static int try_root(struct world *world, const char *given)
{
    struct workspace_place place;
    int code = locate(world, given, &place);
    workspace_place_release(&place);
    return code;
}

/* Root and git common directory (NULL: none), relative to <temp>. */
static void assert_place(struct world *world, const char *given, const char *root,
                         const char *common)
{
    struct workspace_place place;
    char path[512];
    assert_ok(world, locate(world, given, &place));
    snprintf(path, sizeof path, "%s/%s", world->temp.path, root);
    assert_string_equal(place.root.data, path);
    snprintf(path, sizeof path, "%s/%s", world->temp.path, common ? common : "");
    assert_string_equal(place.common.data, common ? path : "");
    workspace_place_release(&place);
}

/* Any common directory will do. */
static void assert_root(struct world *world, const char *given, const char *expected)
{
    struct workspace_place place;
    char path[512];
    assert_ok(world, locate(world, given, &place));
    snprintf(path, sizeof path, "%s/%s", world->temp.path, expected);
    assert_string_equal(place.root.data, path);
    workspace_place_release(&place);
}

static void go(struct world *world, const char *path)
{
    world_mkdir(world, path);
    assert_int_equal(fchdir(world->temp.fd), 0);
    assert_int_equal(chdir(path), 0);
}

static void test_without_git_it_is_the_current_directory(void **state)
{
    struct world *world = *state;

    assert_root(world, NULL, "work");
    go(world, "work/deep/er");
    assert_root(world, NULL, "work/deep/er");
}

static void test_with_git_it_is_the_top_level(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "work/.git");
    go(world, "work/deep/er");
    assert_root(world, NULL, "work");
    world_mkdir(world, "work/deep/.git"); // the nearest one
    assert_root(world, NULL, "work/deep");
}

static void test_a_given_directory_is_taken_as_it_is(void **state)
{
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "work/.git");
    world_mkdir(world, "work/deep/er");
    assert_root(world, "deep/er", "work/deep/er");
    assert_root(world, "deep/../deep/./er/", "work/deep/er");
    snprintf(path, sizeof path, "%s/deep", world->work);
    assert_root(world, path, "work/deep");
}

static void test_links_are_resolved(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "real/deep");
    world_link(world, "../real", "work/link");
    assert_root(world, "link", "real");
    assert_root(world, "link/deep", "real/deep");
    go(world, "work/link/deep");
    assert_root(world, NULL, "real/deep");
}

static void test_what_is_no_directory_is_an_error(void **state)
{
    struct world *world = *state;

    world_put(world, "work/file", "x");
    assert_error(&world->error, try_root(world, "file"), ETHOS_INVALID);
    assert_error(&world->error, try_root(world, "missing"), ETHOS_NOTFOUND);
    assert_int_not_equal(try_root(world, "file/x"), ETHOS_OK);
    assert_int_not_equal(try_root(world, ""), ETHOS_OK);
}

static void test_the_git_directory_of_a_folder_is_its_own_or_none(void **state)
{
    struct world *world = *state;

    assert_place(world, NULL, "work", NULL);
    world_mkdir(world, "work/.git");
    assert_place(world, NULL, "work", "work/.git");
    world_mkdir(world, "other/.git");
    world_mkdir(world, "evil");
    world_link(world, "../other/.git", "evil/.git"); // whose it is cannot be told
    assert_place(world, "../evil", "evil", NULL);
    world_put(world, "claims/.git", "gitdir: ../other/.git\n");
    assert_place(world, "../claims", "claims", NULL);
}

/* ---- worktrees and submodules --------------------------------------------------------------- */

/* main/ with .git, and side/ as its linked worktree. */
static void make_worktree(struct world *world)
{
    char text[512];
    world_put(world, "main/.git/worktrees/side/commondir", "../..\n");
    snprintf(text, sizeof text, "gitdir: %s/main/.git/worktrees/side\n", world->temp.path);
    world_put(world, "side/.git", text);
    snprintf(text, sizeof text, "%s/side/.git\n", world->temp.path);
    world_put(world, "main/.git/worktrees/side/gitdir", text);
}

static void test_a_linked_worktree_shares_the_memory_of_the_main_one(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    assert_place(world, "../side", "main", "main/.git");
    go(world, "side/deep");
    assert_root(world, NULL, "main");
    world_put(world, "side/.git", "gitdir:../main/.git/worktrees/side");
    world_put(world, "main/.git/worktrees/side/commondir", "../..");
    assert_root(world, "../../side", "main");
}

static void test_the_worktree_of_a_bare_repository_shares_that_one(void **state)
{
    struct world *world = *state;

    world_put(world, "bare.git/worktrees/side/commondir", "../..\n");
    world_put(world, "side/.git", "gitdir: ../bare.git/worktrees/side\n");
    world_put(world, "bare.git/worktrees/side/gitdir", "../../../side/.git\n");
    assert_place(world, "../side", "bare.git", "bare.git");
}

static void test_a_folder_that_only_claims_to_be_a_worktree_is_on_its_own(void **state)
{
    struct world *world = *state;

    make_worktree(world);
    world_put(world, "evil/.git", "gitdir: ../main/.git/worktrees/side\n"); // points back to side
    assert_root(world, "../evil", "evil");
    world_put(world, "evil/.git", "gitdir: g\n"); // outside of the repository
    world_put(world, "evil/g/commondir", "../../main/.git\n");
    world_put(world, "evil/g/gitdir", "../.git\n");
    assert_root(world, "../evil", "evil");
}

static void test_a_submodule_keeps_its_own(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "main/.git/modules/sub");
    world_put(world, "main/sub/.git", "gitdir: ../.git/modules/sub\n");
    assert_place(world, "../main/sub", "main/sub", NULL);
    go(world, "main/sub/deep");
    assert_root(world, NULL, "main/sub");
}

static void test_a_git_file_that_leads_nowhere_is_a_root_of_its_own(void **state)
{
    static const char *const texts[] = {"", "gitdir: /nowhere/at/all\n", "words\n", "gitdir:\n"};
    struct world *world = *state;

    for (size_t i = 0; i < COUNT(texts); i++) {
        world_put(world, "work/.git", texts[i]);
        assert_root(world, ".", "work");
        assert_root(world, NULL, "work");
    }
}

static void test_a_git_file_that_cannot_be_read_gives_no_other_root(void **state)
{
    static const char *const calls[] = {"openat", "read"};
    struct world *world = *state;

    make_worktree(world);
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct nth nth = {.number = 1, .name = calls[i], .errnum = EIO};
        do {
            struct workspace_place place;
            nth.calls = 0;
            nth.failed[0] = 0;
            os_hook(nth_fails, &nth);
            int code = locate(world, "../side", &place);
            os_hook(NULL, NULL);
            if (nth.failed[0])
                assert_error(&world->error, code, ETHOS_IO);
            else
                assert_true(view_ends(str_view(&place.root), VIEW("/main")));
            workspace_place_release(&place);
            nth.number++;
        } while (nth.failed[0]);
    }
}

/* ---- the scope ------------------------------------------------------------------------------ */

/* Of a place without git; a root that does not exist will do where nothing was moved. */
static int try_scope(struct world *world, int dir, const char *root, char out[ETHOS_MAX_SCOPE])
{
    struct workspace_place place;
    struct workspace_found found;
    memset(&world->error, 0, sizeof world->error);
    workspace_place_init(&place);
    int code = str_adds(&place.root, root);
    if (code == ETHOS_OK)
        code = workspace_find(dir, &place, &found, &world->error);
    else
        world->error = (struct ethos_error){.code = code, .text = "out of memory"};
    if (code == ETHOS_OK)
        snprintf(out, ETHOS_MAX_SCOPE, "%s", found.scope);
    workspace_place_release(&place);
    return code;
}

static void assert_scope(struct world *world, const char *root, const char *expected)
{
    char scope[ETHOS_MAX_SCOPE];
    assert_ok(world, try_scope(world, world->temp.fd, root, scope));
    assert_string_equal(scope, expected);
}

static void test_the_id_is_the_slug_of_the_name_and_the_hash_of_the_path(void **state)
{
    struct world *world = *state;
    char hex[HASH_HEX_SIZE], expected[128];

    hash_hex(VIEW("/src/My Project"), hex);
    snprintf(expected, sizeof expected, "workspace:my-project-%.12s", hex);
    assert_scope(world, "/src/My Project", expected);
    /* printf /src/My\ Project | sha256sum */
    assert_scope(world, "/src/My Project", "workspace:my-project-a48d5f4b5e37");
    assert_false(world_exists(world, "workspaces")); // asking makes nothing
}

static void test_the_slug_has_at_most_32_bytes_and_never_is_empty(void **state)
{
    struct world *world = *state;
    char scope[ETHOS_MAX_SCOPE];

    assert_ok(world, try_scope(world, -1,
                               "/x/abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz", scope));
    /* workspace: slug - hash8 of what was cut - hash12 */
    assert_true(strlen(scope) <= strlen("workspace:") + 32 + 9 + 13);
    assert_int_equal(strncmp(scope, "workspace:abcdefghijklmnopqrstuvwxyz", 36), 0);
    assert_ok(world, try_scope(world, -1, "/", scope));
    assert_int_equal(strncmp(scope, "workspace:note-", 15), 0);
    assert_ok(world, try_scope(world, -1, "/x/日本語", scope));
    assert_int_equal(strncmp(scope, "workspace:note-", 15), 0);
}

static void test_an_alias_comes_first(void **state)
{
    struct world *world = *state;
    char hex[HASH_HEX_SIZE], text[256], path[128];

    hash_hex(VIEW("/src/p"), hex);
    snprintf(path, sizeof path, "workspaces/p-%.12s", hex);
    world_mkdir(world, path);
    snprintf(text, sizeof text, "{\"%.12s\": \"older-123\", \"other\": \"x\"}", hex);
    world_put(world, "workspaces/aliases.json", text);
    assert_scope(world, "/src/p", "workspace:older-123");
    snprintf(text, sizeof text, "{\"%.12s\": \"../x\"}", hex); // no id: not followed
    world_put(world, "workspaces/aliases.json", text);
    snprintf(path, sizeof path, "workspace:p-%.12s", hex);
    assert_scope(world, "/src/p", path);
}

static void test_a_directory_with_the_hash_is_found_under_any_name(void **state)
{
    struct world *world = *state;
    char hex[HASH_HEX_SIZE], path[128], expected[128];

    hash_hex(VIEW("/src/p"), hex);
    snprintf(path, sizeof path, "workspaces/renamed-by-hand-%.12s", hex);
    world_mkdir(world, path);
    world_mkdir(world, "workspaces/unrelated-000000000000");
    snprintf(expected, sizeof expected, "workspace:renamed-by-hand-%.12s", hex);
    assert_scope(world, "/src/p", expected);
    snprintf(path, sizeof path, "workspaces/p-%.12s", hex); // the usual name is preferred
    world_mkdir(world, path);
    snprintf(expected, sizeof expected, "workspace:p-%.12s", hex);
    assert_scope(world, "/src/p", expected);
}

static void test_aliases_that_do_not_parse_are_an_error_not_another_memory(void **state)
{
    struct world *world = *state;
    char scope[ETHOS_MAX_SCOPE] = "untouched";

    static const char *const broken[] = {"{\"torn", "[]", "null"};
    for (size_t i = 0; i < 3; i++) {
        world_put(world, "workspaces/aliases.json", broken[i]);
        int code = try_scope(world, world->temp.fd, "/src/p", scope);
        assert_error(&world->error, code, ETHOS_CORRUPT);
        assert_non_null(strstr(world->error.text, "workspaces/aliases.json"));
        assert_string_equal(scope, "untouched");
    }
}

/* ---- failures ------------------------------------------------------------------------------- */

static void make_alias(struct world *world)
{
    char hex[HASH_HEX_SIZE], text[256];
    hash_hex(VIEW("/src/p"), hex);
    snprintf(text, sizeof text, "{\"%.12s\": \"older\"}", hex);
    world_put(world, "workspaces/aliases.json", text);
}

static void test_without_memory_no_other_scope_is_named(void **state)
{
    struct world *world = *state;
    int code = -1;

    make_alias(world);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        char scope[ETHOS_MAX_SCOPE];
        code = try_scope(world, world->temp.fd, "/src/p", scope);
        if (code == ETHOS_OK)
            assert_string_equal(scope, "workspace:older");
        else
            assert_error(&world->error, code, ETHOS_NOMEM);
    }
    code = -1;
    ALLOC_EACH(m, code == ETHOS_OK)
    {
        struct workspace_place place;
        code = locate(world, NULL, &place);
        if (code == ETHOS_OK)
            assert_string_equal(place.root.data, world->work);
        else
            assert_error(&world->error, code, ETHOS_NOMEM);
        workspace_place_release(&place);
    }
}

static void test_a_failing_call_names_no_other_scope(void **state)
{
    struct world *world = *state;
    struct nth nth = {.number = 1, .errnum = EIO};

    make_alias(world);
    do {
        char scope[ETHOS_MAX_SCOPE];
        nth.calls = 0;
        nth.failed[0] = 0;
        os_hook(nth_fails, &nth);
        int code = try_scope(world, world->temp.fd, "/src/p", scope);
        os_hook(NULL, NULL);
        if (code == ETHOS_OK)
            assert_string_equal(scope, "workspace:older");
        else
            assert_error(&world->error, code, ETHOS_IO);
        nth.number++;
    } while (nth.failed[0]);
    assert_true(nth.number > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_without_git_it_is_the_current_directory),
        WORLD_TEST(test_with_git_it_is_the_top_level),
        WORLD_TEST(test_a_given_directory_is_taken_as_it_is),
        WORLD_TEST(test_links_are_resolved),
        WORLD_TEST(test_what_is_no_directory_is_an_error),
        WORLD_TEST(test_the_git_directory_of_a_folder_is_its_own_or_none),
        WORLD_TEST(test_a_linked_worktree_shares_the_memory_of_the_main_one),
        WORLD_TEST(test_the_worktree_of_a_bare_repository_shares_that_one),
        WORLD_TEST(test_a_folder_that_only_claims_to_be_a_worktree_is_on_its_own),
        WORLD_TEST(test_a_submodule_keeps_its_own),
        WORLD_TEST(test_a_git_file_that_leads_nowhere_is_a_root_of_its_own),
        WORLD_TEST(test_a_git_file_that_cannot_be_read_gives_no_other_root),
        WORLD_TEST(test_the_id_is_the_slug_of_the_name_and_the_hash_of_the_path),
        WORLD_TEST(test_the_slug_has_at_most_32_bytes_and_never_is_empty),
        WORLD_TEST(test_an_alias_comes_first),
        WORLD_TEST(test_a_directory_with_the_hash_is_found_under_any_name),
        WORLD_TEST(test_aliases_that_do_not_parse_are_an_error_not_another_memory),
        WORLD_TEST(test_without_memory_no_other_scope_is_named),
        WORLD_TEST(test_a_failing_call_names_no_other_scope),
    };

    return cmocka_run_group_tests_name("memory/workspace", tests, NULL, NULL);
}
