/*
 * test_find.c: a folder finds its memory after being moved, copied, deleted, cloned and
 * forged; nobody else finds it.
 *
 * Folders live below <temp>; those with a .git directory count as git repositories. Everything goes
 * through the public interface, as a program would.
 */
#include <sys/wait.h>

#include "../world.h"
#include "base/hash.h"
#include "memory/handle.h"
#include "memory/workspace/workspace.h"

#define ALIASES "home/workspaces/aliases.json"
#define INDEX "home/workspaces/.mem/index"

/* ---- through the interface ------------------------------------------------------------------ */

/* A turn about a folder. */
static int try_open(struct world *world, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world->temp.path, folder);
    const struct ethos_request request = {.workspace = path};
    return world_try_turn(world, &request);
}

static const struct workspace_found *found(struct world *world, const char *folder)
{
    assert_ok(world, try_open(world, folder));
    return &service_workspace(world->turn)->found;
}

static void remember(struct world *world, const char *folder, const char *line)
{
    char json[512];
    assert_ok(world, try_open(world, folder));
    snprintf(json, sizeof json,
             "{\"action\":\"add\",\"scope\":\"workspace\",\"key\":\"MEMORY.md\","
             "\"content\":\"%s\"}",
             line);
    assert_ok(world, world_sync(world, json));
    assert_int_equal(world->warnings, 0);
}

/* What the folder's MEMORY.md says (NULL: nothing), and how it was found. */
static void assert_memory(struct world *world, const char *folder, const char *expected,
                          enum workspace_how how)
{
    const struct ethos_target target = {NULL, "workspace", "MEMORY.md"};
    struct ethos_file *file;
    assert_int_equal(found(world, folder)->how, how);
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    if (expected)
        assert_non_null(file->text);
    else
        assert_null(file->text);
    if (expected)
        assert_string_equal(file->text, expected);
    ethos_file_free(file);
}

/* The id of a folder, as a part of <temp>/home/workspaces. */
static const char *id_of(struct world *world, const char *folder)
{
    return workspace_id(found(world, folder));
}

static char *doc_path(struct world *world, const char *folder, char out[256])
{
    snprintf(out, 256, "home/workspaces/%s/workspace.json", id_of(world, folder));
    return out;
}

static json_t *read_json(struct world *world, const char *path)
{
    json_error_t error;
    char *text = temp_read(&world->temp, path, NULL);
    if (!text)
        fail_msg("%s: not there", path);
    json_t *value = json_loads(text, 0, &error);
    if (!value)
        fail_msg("%s: %s: %s", path, error.text, text);
    free(text);
    return value;
}

/* The recorded paths are these, relative to <temp>, ended by NULL. */
static void assert_paths(struct world *world, const char *folder, const char *const *expected)
{
    char path[256], full[512];
    json_t *doc = read_json(world, doc_path(world, folder, path));
    json_t *paths = json_object_get(doc, "paths");
    size_t count = 0;
    for (; expected[count]; count++) {
        json_t *entry = json_array_get(paths, count);
        snprintf(full, sizeof full, "%s/%s", world->temp.path, expected[count]);
        assert_string_equal(json_string_value(json_object_get(entry, "path")), full);
        assert_string_equal(json_string_value(json_object_get(entry, "lastSeen")), "2025-11-15");
    }
    assert_int_equal(json_array_size(paths), count);
    json_decref(doc);
}

/* A command of the system in <temp>. */
static void run(struct world *world, const char *command)
{
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && %s", world->temp.path, command);
    if (system(line) != 0)
        fail_msg("failed: %s", command);
}

/* ---- recording ------------------------------------------------------------------------------ */

static void test_looking_makes_nothing_and_the_first_write_records(void **state)
{
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "git/.git");
    assert_memory(world, "git", NULL, WORKSPACE_NEW);
    assert_false(world_exists(world, "home"));
    assert_false(world_exists(world, "git/.git/ethos-workspace"));
    remember(world, "git", "one");
    assert_memory(world, "git", "one\n", WORKSPACE_MARKER);
    assert_paths(world, "git", (const char *const[]){"git", NULL});
    json_t *doc = read_json(world, doc_path(world, "git", path));
    assert_int_equal(json_integer_value(json_object_get(doc, "version")), 1);
    assert_string_equal(json_string_value(json_object_get(doc, "id")), id_of(world, "git"));
    const char *token = json_string_value(json_object_get(doc, "token"));
    assert_int_equal(strspn(token, "0123456789abcdef"), 32);
    char line[256];
    snprintf(line, sizeof line, "%s %s\n", id_of(world, "git"), token);
    assert_file(world, "git/.git/ethos-workspace", line);
    assert_mode(world, "git/.git/ethos-workspace", 0600);
    assert_mode(world, path, 0600);
    assert_false(world_exists(world, ALIASES)); // its name says enough
    assert_no_litter(world);
    json_decref(doc);
}

static void test_a_second_write_of_the_day_records_nothing(void **state)
{
    struct world *world = *state;
    char path[256];
    struct stat before, after;

    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    doc_path(world, "git", path);
    fstatat(world->temp.fd, path, &before, 0);
    remember(world, "git", "two");
    fstatat(world->temp.fd, path, &after, 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void test_a_git_directory_made_later_gets_its_marker_with_the_next_write(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    world_mkdir(world, "plain/.git");
    remember(world, "plain", "two");
    assert_memory(world, "plain", "one\n\ntwo\n", WORKSPACE_MARKER);
}

static int64_t tomorrow(void *arg)
{
    (void)arg;
    return NOW_MS + 86400000;
}

static void test_last_seen_is_the_date_of_the_last_write(void **state)
{
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    world->host.now_ms = tomorrow;
    world_open(world);
    remember(world, "plain", "two");
    json_t *doc = read_json(world, doc_path(world, "plain", path));
    json_t *entry = json_array_get(json_object_get(doc, "paths"), 0);
    assert_string_equal(json_string_value(json_object_get(entry, "firstSeen")), "2025-11-15");
    assert_string_equal(json_string_value(json_object_get(entry, "lastSeen")), "2025-11-16");
    json_decref(doc);
}

static void test_what_writes_nothing_records_nothing(void **state)
{
    struct world *world = *state;
    struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};

    world_mkdir(world, "plain");
    assert_ok(world, try_open(world, "plain"));
    assert_ok(world, world_sync(world, "{\"action\":\"remove\",\"scope\":\"workspace\",\"key\":"
                                       "\"MEMORY.md\",\"substringMatch\":\"x\"}"));
    assert_ok(world, ethos_sync_json(world->turn,
                                     VIEW("{\"action\":\"add\",\"scope\":\"workspace\",\"key\":"
                                          "\"MEMORY.md\",\"content\":\"x\"}"),
                                     &dry, &world->error));
    assert_ok(world, world_sync(world, "{\"action\":\"add\",\"content\":\"elsewhere\"}"));
    assert_false(world_exists(world, "home/workspaces"));
}

static void test_without_the_marker_nothing_is_left_in_git(void **state)
{
    struct world *world = *state;

    world_put(world, "home/config.yaml", "workspace.marker: off\n");
    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    assert_false(world_exists(world, "git/.git/ethos-workspace"));
    assert_memory(world, "git", "one\n", WORKSPACE_PATH);
    world_rename(world, "git", "moved");
    assert_memory(world, "moved", "one\n", WORKSPACE_MOVED);
}

static void test_a_git_directory_that_cannot_be_written_to_is_no_failure(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "git/.git/ethos-workspace"); // in the way, for root too
    remember(world, "git", "one");
    assert_memory(world, "git", "one\n", WORKSPACE_PATH);
    world_rename(world, "git", "moved");
    assert_memory(world, "moved", "one\n", WORKSPACE_MOVED);
}

/* ---- moving --------------------------------------------------------------------------------- */

static void test_a_moved_folder_finds_its_memory(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    world_mkdir(world, "deep");
    world_rename(world, "plain", "deep/moved");
    assert_memory(world, "deep/moved", "one\n", WORKSPACE_MOVED);
    remember(world, "deep/moved", "two");
    assert_memory(world, "deep/moved", "one\n\ntwo\n", WORKSPACE_ALIAS);
    assert_paths(world, "deep/moved", (const char *const[]){"deep/moved", NULL});
    world_rename(world, "deep/moved", "plain"); // and back
    assert_memory(world, "plain", "one\n\ntwo\n", WORKSPACE_MOVED);
    remember(world, "plain", "three");
    assert_memory(world, "plain", "one\n\ntwo\n\nthree\n", WORKSPACE_PATH);
}

static void test_a_moved_repository_finds_its_memory_even_from_another_disk(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    run(world, "cp -r git moved && rm -r git"); // what mv does then: another directory
    assert_memory(world, "moved", "one\n", WORKSPACE_MARKER);
    remember(world, "moved", "two");
    assert_paths(world, "moved", (const char *const[]){"moved", NULL});
    world_unlink(world, "moved/.git/ethos-workspace"); // the alias is recorded too
    assert_memory(world, "moved", "one\n\ntwo\n", WORKSPACE_ALIAS);
}

static void take_the_place(struct world *world, const char *folder, const char *first,
                           const char *second)
{
    char id[ETHOS_MAX_ID + 1];
    remember(world, folder, "first");
    snprintf(id, sizeof id, "%s", id_of(world, folder));
    world_rename(world, folder, first);
    remember(world, first, "moved");
    world_mkdir(world, folder);
    assert_memory(world, folder, NULL, WORKSPACE_NEW);
    assert_string_not_equal(id, id_of(world, folder));
    remember(world, folder, "second");
    assert_memory(world, folder, "second\n", WORKSPACE_ALIAS);
    world_rename(world, folder, second); // and so on
    remember(world, second, "moved");
    world_mkdir(world, folder);
    assert_memory(world, folder, NULL, WORKSPACE_NEW);
    remember(world, folder, "third");
    assert_memory(world, folder, "third\n", WORKSPACE_ALIAS);
    assert_memory(world, second, "second\n\nmoved\n", WORKSPACE_ALIAS);
    assert_string_equal(id, id_of(world, first));
}

static void test_whatever_takes_the_place_of_a_moved_folder_is_another(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "plain");
    world_mkdir(world, "git/.git");
    take_the_place(world, "plain", "plain1", "plain2");
    take_the_place(world, "git", "git1", "git2");
}

static void test_deleted_and_made_again_at_the_same_path_it_is_the_same(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    world_remove(world, "git");
    world_mkdir(world, "git/.git"); // a clone carries no marker
    assert_memory(world, "git", "one\n", WORKSPACE_PATH);
    remember(world, "git", "two");
    assert_memory(world, "git", "one\n\ntwo\n", WORKSPACE_MARKER);
    world_rename(world, "git", "moved"); // by the new identity
    world_unlink(world, "moved/.git/ethos-workspace");
    assert_memory(world, "moved", "one\n\ntwo\n", WORKSPACE_MOVED);
    remember(world, "moved", "three");
    world_remove(world, "moved");
    world_mkdir(world, "moved");
    assert_memory(world, "moved", "one\n\ntwo\n\nthree\n", WORKSPACE_ALIAS);
}

/* ---- another in its place ------------------------------------------------------------------- */

/* The shape of a folder: plain, or with a git directory. */
static void make(struct world *world, const char *folder, bool git)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s", folder, git ? "/.git" : "");
    world_mkdir(world, path);
}

static void empty(struct world *world)
{
    run(world, "rm -rf a b c t home");
    world_close(world);
}

/*
 * a was moved to b, and another folder at a wrote before b was seen: until then it may have been a
 * deleted and made again, from then on it is not.
 */
static void take_back(struct world *world, bool git, bool squatter_git)
{
    enum workspace_how how = git ? WORKSPACE_MARKER : WORKSPACE_MOVED;
    char id[ETHOS_MAX_ID + 1];

    make(world, "a", git);
    remember(world, "a", "one");
    snprintf(id, sizeof id, "%s", id_of(world, "a"));
    world_rename(world, "a", "b");
    make(world, "a", squatter_git);
    remember(world, "a", "two");
    assert_memory(world, "b", "one\n\ntwo\n", how);
    assert_string_equal(id_of(world, "b"), id);
    remember(world, "b", "three");
    assert_memory(world, "b", "one\n\ntwo\n\nthree\n", git ? WORKSPACE_MARKER : WORKSPACE_ALIAS);
    assert_paths(world, "b", (const char *const[]){"b", NULL});
    assert_memory(world, "a", NULL, WORKSPACE_NEW);
    remember(world, "a", "mine");
    assert_memory(world, "a", "mine\n", squatter_git ? WORKSPACE_MARKER : WORKSPACE_ALIAS);
    world_rename(world, "a", "c"); // both may go on moving
    world_rename(world, "b", "a");
    assert_memory(world, "c", "mine\n", squatter_git ? WORKSPACE_MARKER : WORKSPACE_MOVED);
    assert_memory(world, "a", "one\n\ntwo\n\nthree\n", how);
}

static void test_a_moved_folder_gets_its_memory_back_from_whoever_wrote_in_its_place(void **state)
{
    struct world *world = *state;

    for (int i = 0; i < 4; i++) {
        take_back(world, i & 1, i & 2);
        empty(world);
    }
}

static void test_the_one_in_its_place_may_itself_move_before_the_first_is_seen(void **state)
{
    struct world *world = *state;

    for (int git = 0; git < 2; git++) {
        enum workspace_how how = git ? WORKSPACE_MARKER : WORKSPACE_MOVED;
        make(world, "a", git);
        remember(world, "a", "one");
        world_rename(world, "a", "b");
        make(world, "a", git);
        remember(world, "a", "two");
        world_rename(world, "a", "c");
        remember(world, "c", "three"); // takes the place along, and what is known of the first
        assert_memory(world, "b", "one\n\ntwo\n\nthree\n", how);
        remember(world, "b", "four");
        assert_memory(world, "c", NULL, WORKSPACE_NEW);
        assert_paths(world, "b", (const char *const[]){"b", NULL});
        empty(world);
    }
}

static void test_back_in_its_place_the_first_stays_the_first(void **state)
{
    struct world *world = *state;

    for (int git = 0; git < 2; git++) {
        make(world, "a", git);
        remember(world, "a", "one");
        world_rename(world, "a", "b");
        make(world, "a", git);
        remember(world, "a", "two");
        world_rename(world, "a", "c");
        world_rename(world, "b", "a");
        remember(world, "a", "three");
        assert_memory(world, "c", NULL, WORKSPACE_NEW);
        assert_paths(world, "a", (const char *const[]){"a", NULL});
        empty(world);
    }
}

static void test_a_copy_of_a_folder_made_again_is_a_copy(void **state)
{
    struct world *world = *state;

    make(world, "a", true);
    remember(world, "a", "one");
    world_remove(world, "a");
    usleep(20000); // the clock of directories is coarse
    make(world, "a", true);
    remember(world, "a", "two");
    run(world, "cp -a a b");
    assert_memory(world, "b", NULL, WORKSPACE_NEW);
    remember(world, "b", "mine");
    assert_memory(world, "a", "one\n\ntwo\n", WORKSPACE_MARKER);
    assert_memory(world, "b", "mine\n", WORKSPACE_MARKER);
}

static void test_from_another_disk_it_leaves_its_place_to_whoever_is_there_now(void **state)
{
    struct world *world = *state;

    make(world, "a", true);
    remember(world, "a", "one");
    run(world, "cp -r a b && rm -r a");
    usleep(20000);
    make(world, "a", true); // and did not write yet
    assert_memory(world, "b", "one\n", WORKSPACE_MARKER);
    remember(world, "b", "two");
    assert_paths(world, "b", (const char *const[]){"b", NULL});
    assert_memory(world, "a", NULL, WORKSPACE_NEW);
}

/* One that wrote and has no marker of it is no original either; one that has may be. */
static void test_from_another_disk_only_a_marker_in_its_place_makes_it_a_copy(void **state)
{
    struct world *world = *state;

    for (int git = 0; git < 2; git++) {
        make(world, "a", true);
        remember(world, "a", "one");
        run(world, "cp -r a b && rm -r a");
        usleep(20000);
        make(world, "a", git);
        remember(world, "a", "two");
        assert_memory(world, "b", git ? NULL : "one\n\ntwo\n",
                      git ? WORKSPACE_NEW : WORKSPACE_MARKER);
        remember(world, "b", "three");
        assert_paths(world, "b", (const char *const[]){"b", NULL});
        assert_memory(world, "a", git ? "one\n\ntwo\n" : NULL,
                      git ? WORKSPACE_MARKER : WORKSPACE_NEW);
        empty(world);
    }
}

static void test_folders_that_changed_places_keep_their_memory(void **state)
{
    struct world *world = *state;

    for (int git = 0; git < 2; git++) {
        enum workspace_how how = git ? WORKSPACE_MARKER : WORKSPACE_ALIAS;
        make(world, "a", git);
        make(world, "b", git);
        remember(world, "a", "of a");
        remember(world, "b", "of b");
        run(world, "mv a t && mv b a && mv t b");
        assert_memory(world, "a", "of b\n", git ? WORKSPACE_MARKER : WORKSPACE_MOVED);
        assert_memory(world, "b", "of a\n", git ? WORKSPACE_MARKER : WORKSPACE_MOVED);
        remember(world, "a", "x");
        assert_memory(world, "b", "of a\n", git ? WORKSPACE_MARKER : WORKSPACE_MOVED);
        remember(world, "b", "y");
        assert_memory(world, "a", "of b\n\nx\n", how);
        assert_memory(world, "b", "of a\n\ny\n", how);
        assert_paths(world, "a", (const char *const[]){"a", NULL});
        assert_paths(world, "b", (const char *const[]){"b", NULL});
        empty(world);
    }
}

static void test_what_stood_at_a_path_before_is_kept_within_bounds(void **state)
{
    struct world *world = *state;
    char path[256];

    for (int i = 0; i < 20; i++) {
        usleep(10000);
        make(world, "a", false);
        remember(world, "a", "again");
        world_remove(world, "a");
    }
    make(world, "a", false);
    json_t *doc = read_json(world, doc_path(world, "a", path));
    json_t *entry = json_array_get(json_object_get(doc, "paths"), 0);
    assert_int_equal(json_array_size(json_object_get(entry, "was")), 8);
    json_decref(doc);
}

static void test_a_link_left_at_the_old_path_makes_no_difference(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "plain");
    world_mkdir(world, "git/.git");
    remember(world, "plain", "one");
    remember(world, "git", "two");
    world_rename(world, "plain", "plain2");
    world_link(world, "plain2", "plain");
    run(world, "cp -r git git2 && rm -r git && ln -s git2 git");
    assert_memory(world, "plain", "one\n", WORKSPACE_MOVED);
    assert_memory(world, "git", "two\n", WORKSPACE_MARKER);
    remember(world, "git", "three");
    assert_memory(world, "git2", "two\n\nthree\n", WORKSPACE_MARKER);
}

static void test_a_folder_with_the_number_of_a_deleted_one_is_another(void **state)
{
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    usleep(20000); // the clock of directories is coarse
    world_mkdir(world, "later");
    json_t *doc = read_json(world, doc_path(world, "plain", path));
    json_t *entry = json_array_get(json_object_get(doc, "paths"), 0);
    struct os_identity later;
    char full[512];
    snprintf(full, sizeof full, "%s/later", world->temp.path);
    assert_int_equal(os_identify(full, &later), 0);
    json_object_set_new(entry, "ino", json_integer((json_int_t)later.inode));
    char *text = json_dumps(doc, 0);
    world_put(world, path, text);
    world_unlink(world, INDEX);
    world_remove(world, "plain");
    assert_memory(world, "later", NULL, WORKSPACE_NEW); // born at another time
    free(text);
    json_decref(doc);
}

/* ---- copies --------------------------------------------------------------------------------- */

static void test_a_copy_starts_its_own_and_gets_a_marker_of_its_own(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    char *marker = temp_read(&world->temp, "git/.git/ethos-workspace", NULL);
    run(world, "cp -a git copy");
    assert_memory(world, "copy", NULL, WORKSPACE_NEW);
    assert_file(world, "copy/.git/ethos-workspace", marker); // looking changes nothing
    remember(world, "copy", "mine");
    assert_memory(world, "copy", "mine\n", WORKSPACE_MARKER);
    assert_memory(world, "git", "one\n", WORKSPACE_MARKER);
    assert_file(world, "git/.git/ethos-workspace", marker);
    world_rename(world, "copy", "copy2"); // from now on both may move
    world_rename(world, "git", "git2");
    assert_memory(world, "copy2", "mine\n", WORKSPACE_MARKER);
    assert_memory(world, "git2", "one\n", WORKSPACE_MARKER);
    free(marker);
}

static void test_two_folders_of_one_name_do_not_share(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "a/same/.git");
    world_mkdir(world, "b/same/.git");
    remember(world, "a/same", "a");
    assert_memory(world, "b/same", NULL, WORKSPACE_NEW);
    remember(world, "b/same", "b");
    assert_memory(world, "a/same", "a\n", WORKSPACE_MARKER);
    assert_memory(world, "b/same", "b\n", WORKSPACE_MARKER);
}

/* ---- real git ------------------------------------------------------------------------------- */

static void test_real_git_worktrees_clones_and_bare_repositories(void **state)
{
    struct world *world = *state;

    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    run(world, "git init -q main && cd main && git -c user.email=a@b -c user.name=a commit -q "
               "--allow-empty -m one && git worktree add -q ../side 2>/dev/null");
    remember(world, "side", "from the side");
    assert_memory(world, "main", "from the side\n", WORKSPACE_MARKER);
    assert_true(world_exists(world, "main/.git/ethos-workspace"));
    run(world, "git clone -q main clone");
    assert_memory(world, "clone", NULL, WORKSPACE_NEW);
    run(world, "git clone -q --bare main bare.git && cd bare.git && git worktree add -q "
               "../tree 2>/dev/null");
    remember(world, "tree", "of the bare one");
    assert_true(world_exists(world, "bare.git/ethos-workspace"));
    assert_memory(world, "tree", "of the bare one\n", WORKSPACE_MARKER);
    run(world, "mv bare.git moved.git && git -C moved.git worktree repair ../tree 2>/dev/null");
    assert_memory(world, "tree", "of the bare one\n", WORKSPACE_MARKER);
    run(world, "mv main main2 && git -C main2 worktree repair ../side 2>/dev/null");
    assert_memory(world, "side", "from the side\n", WORKSPACE_MARKER);
    world_rename(world, "side", "side2"); // git does not know yet
    assert_memory(world, "side2", "from the side\n", WORKSPACE_MARKER);
    run(world, "mkdir -p side side3 && cp side2/.git side && cp side2/.git side3");
    assert_memory(world, "side3", NULL, WORKSPACE_NEW); // the one git knows stands again
    assert_memory(world, "side", "from the side\n", WORKSPACE_MARKER);
}

/* ---- hostile and damaged files -------------------------------------------------------------- */

static void test_a_marker_that_is_not_ours_is_none(void **state)
{
    struct world *world = *state;
    char line[512], big[4096];

    world_mkdir(world, "victim/.git");
    world_mkdir(world, "evil/.git");
    remember(world, "victim", "secret");
    const char *victim = id_of(world, "victim");
    char *marker = temp_read(&world->temp, "victim/.git/ethos-workspace", NULL);
    char id[ETHOS_MAX_ID + 1];
    snprintf(id, sizeof id, "%s", victim);
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    const char *const token = strchr(marker, ' ') + 1;
    const char *const lines[][2] = {
        {id, " 00000000000000000000000000000000\n"}, // guessed
        {id, "\n"},
        {id, ""},
        {id, " "},
        {"../workspaces/", marker},
        {"../../victim ", token},
        {"", ""},
        {"\n", marker},
        {" ", marker},
        {"\x01\xff\xfe", "\n"},
        {big, "\n"},
        {"nobody-000000000000 ", token},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        snprintf(line, sizeof line, "%s%s", lines[i][0], lines[i][1]);
        world_put(world, "evil/.git/ethos-workspace", line);
        assert_memory(world, "evil", NULL, WORKSPACE_NEW);
    }
    world_put(world, "evil/.git/ethos-workspace", marker); // stolen whole: a copy
    assert_memory(world, "evil", NULL, WORKSPACE_NEW);
    free(marker);
}

static void test_a_marker_that_is_no_plain_file_is_none(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "victim/.git");
    world_mkdir(world, "evil/.git");
    remember(world, "victim", "secret");
    assert_int_equal(mkfifoat(world->temp.fd, "evil/.git/ethos-workspace", 0600), 0);
    assert_memory(world, "evil", NULL, WORKSPACE_NEW); // and nobody waits
    world_unlink(world, "evil/.git/ethos-workspace");
    world_link(world, "../../victim/.git/ethos-workspace", "evil/.git/ethos-workspace");
    assert_memory(world, "evil", NULL, WORKSPACE_NEW);
    remember(world, "evil", "own"); // nothing is written through the link
    assert_memory(world, "victim", "secret\n", WORKSPACE_MARKER);
    assert_memory(world, "evil", "own\n", WORKSPACE_PATH);
}

static int no_note(void *arg, const struct ethos_note *note)
{
    (void)arg;
    fail_msg("%s", note->key);
    return 0;
}

/* The workspace says what is wrong, in whatever way it is used; all other memory is as ever. */
static void assert_broken(struct world *world, const char *folder, int code, const char *file)
{
    const struct ethos_target target = {NULL, "workspace", "MEMORY.md"};
    struct ethos_file *text;
    struct ethos_block *block;
    assert_ok(world, try_open(world, folder));
    assert_error(&world->error, ethos_read(world->turn, &target, &text, &world->error), code);
    assert_non_null(strstr(world->error.text, file));
    assert_string_equal(world->error.hint, code == ETHOS_CORRUPT
                                               ? "repair it by hand, or run: ethos doctor --fix"
                                               : "repair or remove it");
    assert_error(&world->error,
                 world_sync(world, "{\"action\":\"add\",\"scope\":\"workspace\",\"content\":\"x\","
                                   "\"key\":\"MEMORY.md\"}"),
                 code);
    assert_error(&world->error, ethos_notes(world->turn, NULL, no_note, NULL, &world->error), code);
    assert_ok(world, world_sync(world, "{\"action\":\"replace\",\"content\":\"global\"}"));
    assert_ok(world, ethos_prefetch(world->turn, NULL, &block, &world->error));
    assert_int_equal(block->code, code);
    assert_non_null(strstr(block->error.text, file));
    assert_string_equal(block->text, "## Memory\n\nglobal");
    ethos_block_free(block);
}

static void test_a_damaged_document_is_one_clear_error(void **state)
{
    static const char *const texts[] = {
        "", "{", "[]", "null", "{\"paths\":1}", "\x01\xff", "{\"token\":\"x\"}"};
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "git/.git");
    world_mkdir(world, "plain");
    remember(world, "git", "one");
    remember(world, "plain", "one");
    for (int git = 0; git < 2; git++) {
        const char *folder = git ? "git" : "plain";
        doc_path(world, folder, path);
        for (size_t i = 0; i < COUNT(texts); i++) {
            world_put(world, path, texts[i]);
            assert_broken(world, folder, ETHOS_CORRUPT, "workspace.json");
        }
        world_unlink(world, path);
        assert_int_equal(mkfifoat(world->temp.fd, path, 0600), 0);
        assert_broken(world, folder, ETHOS_IO, "workspace.json");
        world_unlink(world, path); // as the hint says
        assert_memory(world, folder, "one\n", WORKSPACE_PATH);
        remember(world, folder, "two");
        assert_memory(world, folder, "one\n\ntwo\n", git ? WORKSPACE_MARKER : WORKSPACE_PATH);
    }
}

static void test_damaged_aliases_are_one_clear_error(void **state)
{
    static const char *const texts[] = {"", "{bad", "[]"};
    struct world *world = *state;

    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    for (size_t i = 0; i < COUNT(texts); i++) {
        world_put(world, ALIASES, texts[i]);
        assert_broken(world, "plain", ETHOS_CORRUPT, "aliases.json");
    }
}

static void test_members_of_the_wrong_kind_tie_nothing(void **state)
{
    static const char *const texts[] = {
        "{\"paths\":[]}",
        "{\"paths\":[1,null,{},[],{\"path\":1,\"dev\":\"x\"},{\"path\":\"\\u0000\"}]}",
        "{\"token\":7,\"paths\":[]}",
        "{\"token\":\"\",\"paths\":[{\"path\":\"relative\",\"dev\":0,\"ino\":0,\"btime\":0}]}",
    };
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "git/.git");
    remember(world, "git", "one");
    doc_path(world, "git", path);
    for (size_t i = 0; i < COUNT(texts); i++) {
        world_put(world, path, texts[i]);
        world_unlink(world, "git/.git/ethos-workspace");
        remember(world, "git", "more"); // mends what it needs
        found(world, "git");
        assert_int_equal(found(world, "git")->how, WORKSPACE_MARKER);
        world_mkdir(world, "other");
        assert_memory(world, "other", NULL, WORKSPACE_NEW);
    }
}

static void test_an_index_that_is_missing_wrong_or_hostile_changes_nothing(void **state)
{
    struct world *world = *state;
    char id[ETHOS_MAX_ID + 1], lies[1024];

    world_mkdir(world, "victim");
    world_mkdir(world, "plain");
    world_mkdir(world, "other");
    remember(world, "victim", "secret");
    remember(world, "plain", "one");
    snprintf(id, sizeof id, "%s", id_of(world, "victim"));
    world_rename(world, "plain", "moved");
    struct os_identity self;
    char full[512];
    snprintf(full, sizeof full, "%s/other", world->temp.path);
    assert_int_equal(os_identify(full, &self), 0);
    snprintf(lies, sizeof lies, "ethos-workspaces 1 1\n@%llx-%llx-%llx %s\n",
             (unsigned long long)self.device, (unsigned long long)self.inode,
             (unsigned long long)self.birth_ns, id);
    const char *const texts[] = {"", "rubbish", "ethos-workspaces 1 ", "\xff\x01\n", NULL};
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (texts[i])
            world_put(world, INDEX, texts[i]);
        else
            world_unlink(world, INDEX);
        assert_memory(world, "moved", "one\n", WORKSPACE_MOVED);
        assert_memory(world, "other", NULL, WORKSPACE_NEW);
    }
    world_put(world, INDEX, lies);
    assert_memory(world, "other", NULL, WORKSPACE_NEW);
    world_unlink(world, INDEX);
    remember(world, "other", "x"); // makes it anew, with all of them
    assert_memory(world, "moved", "one\n", WORKSPACE_MOVED);
}

static void test_an_alias_may_lead_nowhere_but_not_astray(void **state)
{
    struct world *world = *state;
    char hex[HASH_HEX_SIZE], text[512], path[256];

    world_mkdir(world, "plain");
    snprintf(path, sizeof path, "%s/plain", world->temp.path);
    hash_hex(view_str(path), hex);
    remember(world, "plain", "one");
    static const char *const values[] = {"\"../../x\"", "\"\"",    "null",
                                         "[]",          "\"a/b\"", "\"x\\u0000y\""};
    for (size_t i = 0; i < COUNT(values); i++) {
        snprintf(text, sizeof text, "{\"%.12s\": %s}", hex, values[i]);
        world_put(world, ALIASES, text);
        assert_memory(world, "plain", "one\n", WORKSPACE_PATH);
    }
}

/* ---- cost ----------------------------------------------------------------------------------- */

struct opens {
    unsigned long opens, others;
};

static int count_calls(void *arg, const char *call, unsigned long number)
{
    struct opens *opens = arg;
    (void)number;
    if (strncmp(call, "openat", 6) == 0)
        opens->opens++;
    else
        opens->others++;
    return 0;
}

static unsigned long calls_of(struct world *world, const char *folder)
{
    struct opens opens = {0};
    os_hook(count_calls, &opens);
    int code = try_open(world, folder);
    os_hook(NULL, NULL);
    assert_ok(world, code);
    return opens.opens + opens.others;
}

static void test_a_miss_costs_the_same_whatever_the_number_of_workspaces(void **state)
{
    struct world *world = *state;
    char path[128];

    world_mkdir(world, "none");
    world_mkdir(world, "plain");
    remember(world, "plain", "one");
    unsigned long few = calls_of(world, "none");
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "home/workspaces/w%d-%012d/memory", i, i);
        world_mkdir(world, path);
    }
    world_mkdir(world, "git/.git");
    remember(world, "git", "two"); // any write notes the names
    assert_true(calls_of(world, "none") <= few + 1);
}

/* ---- concurrency ---------------------------------------------------------------------------- */

static void test_eight_first_writes_at_once_make_one_token(void **state)
{
    struct world *world = *state;
    char path[256];

    world_mkdir(world, "git/.git");
    world_close(world);
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            char line[16];
            struct world own = *world;
            snprintf(line, sizeof line, "line %d", i);
            own.host.arg = &own;
            remember(&own, "git", line);
            _exit(0);
        }
    for (int i = 0; i < 8; i++) {
        int status;
        wait(&status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    json_t *doc = read_json(world, doc_path(world, "git", path));
    char line[256];
    snprintf(line, sizeof line, "%s %s\n", id_of(world, "git"),
             json_string_value(json_object_get(doc, "token")));
    assert_file(world, "git/.git/ethos-workspace", line);
    assert_paths(world, "git", (const char *const[]){"git", NULL});
    char *text = temp_read(&world->temp, "home/workspaces/.mem/index", NULL);
    assert_non_null(text);
    free(text);
    json_decref(doc);
    assert_no_litter(world);
}

/* ---- failures ------------------------------------------------------------------------------- */

static int record(struct world *world)
{
    const struct workspace *own = service_workspace(world->turn);
    int dir;
    int code = service_open_root(world->ethos, true, &dir, &world->error);
    if (code != ETHOS_OK)
        return code;
    code = workspace_record(dir, &own->place, &own->found, true, NOW_MS, &world->error);
    close(dir);
    return code;
}

static void assert_moved_shows(struct world *world)
{
    const struct ethos_target target = {NULL, "workspace", "MEMORY.md"};
    struct ethos_file *file;
    assert_ok(world, try_open(world, "moved"));
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    assert_string_equal(file->text, "one\n");
    ethos_file_free(file);
}

static void set_back(struct world *world)
{
    run(world, "rm -rf a moved home && cp -a saved/* . && mv a moved");
}

/* Every call of recording fails in turn: the folder finds its memory all the same. */
static void test_a_failing_call_leaves_a_folder_that_finds_its_memory(void **state)
{
    struct world *world = *state;
    struct nth nth = {.number = 1, .errnum = EIO};

    world_mkdir(world, "a/.git");
    remember(world, "a", "one");
    run(world, "mkdir saved && cp -a a home saved");
    do {
        set_back(world);
        assert_moved_shows(world);
        nth.calls = 0;
        nth.failed[0] = 0;
        os_hook(nth_fails, &nth);
        int code = record(world);
        os_hook(NULL, NULL);
        if (!nth.failed[0])
            assert_ok(world, code);
        assert_moved_shows(world);
        world_mkdir(world, "a"); // which the memory may or may not have left already
        assert_ok(world, try_open(world, "a"));
        nth.number++;
    } while (nth.failed[0]);
    assert_true(nth.number > 20);
}

/* Every call of looking fails in turn: its own memory or none, never another. */
static void test_a_failing_call_never_gives_a_moved_folder_another_memory(void **state)
{
    struct world *world = *state;

    for (int git = 0; git < 2; git++) {
        struct nth nth = {.number = 1, .errnum = EIO};
        make(world, "a", git);
        remember(world, "a", "one");
        run(world, git ? "cp -r a moved && rm -r a && mkdir a" : "mv a moved && mkdir a");
        remember(world, "moved", "two");
        assert_ok(world, try_open(world, "moved"));
        char id[ETHOS_MAX_ID + 1];
        snprintf(id, sizeof id, "%s", id_of(world, "moved"));
        run(world,
            git ? "cp -r moved b && rm -r moved && mkdir moved" : "mv moved b && mkdir moved");
        do {
            nth.calls = 0;
            nth.failed[0] = 0;
            os_hook(nth_fails, &nth);
            int code = try_open(world, "b");
            os_hook(NULL, NULL);
            if (code == ETHOS_OK && service_workspace(world->turn) &&
                strcmp(workspace_id(&service_workspace(world->turn)->found), id) != 0)
                fail_msg("another memory when %s fails, call %lu", nth.failed, nth.number);
            nth.number++;
        } while (nth.failed[0]);
        run(world, "rm -rf a b moved home");
        world_close(world);
    }
}

static void test_without_memory_recording_fails_and_leaves_all_as_it_was(void **state)
{
    struct world *world = *state;
    int code = -1;

    world_mkdir(world, "a/.git");
    remember(world, "a", "one");
    run(world, "mkdir saved && cp -a a home saved");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        alloc_fail_at(0);
        set_back(world);
        assert_moved_shows(world);
        alloc_fail_at(n);
        code = record(world);
        alloc_fail_at(0);
        if (code != ETHOS_OK)
            assert_error(&world->error, code, ETHOS_NOMEM);
        assert_moved_shows(world);
    }
}

/* ---- others --------------------------------------------------------------------------------- */

static void test_ephemeral_memory_ties_nothing_and_finds_nothing(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "git/.git");
    world_mkdir(world, "fresh/.git");
    remember(world, "git", "real");
    char *before = world_tree(world, ".", TREE_ALL);
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    assert_memory(world, "git", NULL, WORKSPACE_NEW);
    remember(world, "git", "thought");
    remember(world, "fresh", "thought");
    assert_memory(world, "git", "thought\n", WORKSPACE_PATH);
    world_close(world);
    char *after = world_tree(world, ".", TREE_ALL);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_a_path_that_is_not_utf8_is_known_by_its_hash(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "caf\xe9/.git");
    remember(world, "caf\xe9", "one");
    assert_memory(world, "caf\xe9", "one\n", WORKSPACE_PATH);
    assert_false(world_exists(world, "caf\xe9/.git/ethos-workspace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_looking_makes_nothing_and_the_first_write_records),
        WORLD_TEST(test_a_second_write_of_the_day_records_nothing),
        WORLD_TEST(test_a_git_directory_made_later_gets_its_marker_with_the_next_write),
        WORLD_TEST(test_last_seen_is_the_date_of_the_last_write),
        WORLD_TEST(test_what_writes_nothing_records_nothing),
        WORLD_TEST(test_without_the_marker_nothing_is_left_in_git),
        WORLD_TEST(test_a_git_directory_that_cannot_be_written_to_is_no_failure),
        WORLD_TEST(test_a_moved_folder_finds_its_memory),
        WORLD_TEST(test_a_moved_repository_finds_its_memory_even_from_another_disk),
        WORLD_TEST(test_whatever_takes_the_place_of_a_moved_folder_is_another),
        WORLD_TEST(test_deleted_and_made_again_at_the_same_path_it_is_the_same),
        WORLD_TEST(test_a_moved_folder_gets_its_memory_back_from_whoever_wrote_in_its_place),
        WORLD_TEST(test_the_one_in_its_place_may_itself_move_before_the_first_is_seen),
        WORLD_TEST(test_back_in_its_place_the_first_stays_the_first),
        WORLD_TEST(test_a_copy_of_a_folder_made_again_is_a_copy),
        WORLD_TEST(test_from_another_disk_it_leaves_its_place_to_whoever_is_there_now),
        WORLD_TEST(test_from_another_disk_only_a_marker_in_its_place_makes_it_a_copy),
        WORLD_TEST(test_folders_that_changed_places_keep_their_memory),
        WORLD_TEST(test_what_stood_at_a_path_before_is_kept_within_bounds),
        WORLD_TEST(test_a_link_left_at_the_old_path_makes_no_difference),
        WORLD_TEST(test_a_folder_with_the_number_of_a_deleted_one_is_another),
        WORLD_TEST(test_a_copy_starts_its_own_and_gets_a_marker_of_its_own),
        WORLD_TEST(test_two_folders_of_one_name_do_not_share),
        WORLD_TEST(test_real_git_worktrees_clones_and_bare_repositories),
        WORLD_TEST(test_a_marker_that_is_not_ours_is_none),
        WORLD_TEST(test_a_marker_that_is_no_plain_file_is_none),
        WORLD_TEST(test_a_damaged_document_is_one_clear_error),
        WORLD_TEST(test_damaged_aliases_are_one_clear_error),
        WORLD_TEST(test_members_of_the_wrong_kind_tie_nothing),
        WORLD_TEST(test_an_index_that_is_missing_wrong_or_hostile_changes_nothing),
        WORLD_TEST(test_an_alias_may_lead_nowhere_but_not_astray),
        WORLD_TEST(test_a_miss_costs_the_same_whatever_the_number_of_workspaces),
        WORLD_TEST(test_eight_first_writes_at_once_make_one_token),
        WORLD_LOOP(test_a_failing_call_leaves_a_folder_that_finds_its_memory),
        WORLD_LOOP(test_a_failing_call_never_gives_a_moved_folder_another_memory),
        WORLD_LOOP(test_without_memory_recording_fails_and_leaves_all_as_it_was),
        WORLD_TEST(test_ephemeral_memory_ties_nothing_and_finds_nothing),
        WORLD_TEST(test_a_path_that_is_not_utf8_is_known_by_its_hash),
    };

    return cmocka_run_group_tests_name("memory/workspace_find", tests, NULL, NULL);
}
