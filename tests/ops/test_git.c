/*
 * test_git.c: the operations that need no home (merge driver, install, uninstall), with the first,
 * second, ... allocation or system call failing.
 *
 * A file is the old one or the new one, theirs is safe before ours changes, no litter is left, and
 * the next attempt works.
 */
#include "../memory/world.h"

#include "ops/op.h"

/* One attempt after the other, each with a later allocation or call that fails, until none does. */
struct attempt {
    struct nth nth;
    bool calls; /* fail calls, not allocations */
    bool failed;
};

static void arm(struct attempt *attempt)
{
    attempt->nth.number++;
    attempt->nth.calls = 0;
    attempt->nth.failed[0] = 0;
    if (attempt->calls)
        os_hook(nth_fails, &attempt->nth);
    else
        alloc_fail_at(attempt->nth.number);
}

static void disarm(struct attempt *attempt)
{
    attempt->failed = attempt->calls ? attempt->nth.failed[0] != 0
                                     : alloc_count() >= attempt->nth.number;
    alloc_fail_at(0);
    os_hook(NULL, NULL);
}

/* attempt NULL: nothing fails. */
static int run(struct world *world, struct attempt *attempt, const char *name, const char *args,
               struct op_result *result)
{
    static const struct ethos_request nothing;
    json_t *json = json_loads(args, 0, NULL);
    struct op_call call = {.request = &nothing, .args = json, .want_json = true, .via = "test"};

    op_result_init(result);
    memset(&world->error, 0, sizeof world->error);
    if (attempt)
        arm(attempt);
    int code = op_run(op_find(name), &call, result, &world->error);
    if (attempt)
        disarm(attempt);
    json_decref(json);
    if (code != ETHOS_OK)
        assert_error(&world->error, code, code);
    return code;
}

static void run_well(struct world *world, const char *name, const char *args)
{
    struct op_result result;
    assert_ok(world, run(world, NULL, name, args, &result));
    op_result_release(&result);
}

/* ---- the merge driver ------------------------------------------------------------------------ */

#define BASE "The port is 80\n\nUse tabs\n"
#define OURS "The port is 4711\n\nUse tabs\n"
#define THEIRS "The port is 8080\n\nUse tabs\n\nBackups run at two\n"
#define MERGED "The port is 4711\n\nUse tabs\n\nBackups run at two\n"
#define ARGS "{\"base\":\"base\",\"ours\":\"ours\",\"theirs\":\"theirs\",\"path\":\"MEMORY.md\"}"

static void put_sides(struct world *world)
{
    world_remove(world, "work/.mem");
    world_put(world, "work/base", BASE);
    world_put(world, "work/ours", OURS);
    world_put(world, "work/theirs", THEIRS);
}

static bool has_copy(struct world *world)
{
    char *tree = world_tree(world, "work/.mem", TREE_ALL);
    bool has = strstr(tree, "MEMORY.md.") && strstr(tree, THEIRS);
    free(tree);
    return has;
}

static void try_merge(struct world *world, bool calls)
{
    struct attempt attempt = {.calls = calls, .failed = true, .nth = {.errnum = EIO}};
    struct op_result result;

    while (attempt.failed) {
        put_sides(world);
        int code = run(world, &attempt, "admin.mergeDriver", ARGS, &result);
        char *ours = temp_read(&world->temp, "work/ours", NULL);
        bool new_text = strcmp(ours, MERGED) == 0;

        assert_true(new_text || strcmp(ours, OURS) == 0);
        assert_true(!new_text || has_copy(world));
        assert_true(code != ETHOS_OK || new_text);
        assert_true(code != ETHOS_OK || result.code == ETHOS_CONFLICT);
        assert_no_litter(world);
        free(ours);
        op_result_release(&result);
        put_sides(world);
        run_well(world, "admin.mergeDriver", ARGS);
        assert_file(world, "work/ours", MERGED);
    }
    assert_in_range(attempt.nth.number, 10, 1000);
}

static void test_a_merge_without_memory(void **state)
{
    try_merge(*state, false);
}

static void test_a_merge_with_a_failing_call(void **state)
{
    try_merge(*state, true);
}

/* ---- install and uninstall ------------------------------------------------------------------- */

#define GIT "{\"agent\":\"git\"}"
#define WAS "*.c text"

static void put_repository(struct world *world)
{
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    world_remove(world, "work/.git");
    assert_int_equal(system("git init -q"), 0);
    world_put(world, "work/.gitattributes", WAS);
}

static void try_install(struct world *world, const char *name, bool calls)
{
    struct attempt attempt = {.calls = calls, .failed = true, .nth = {.errnum = EIO}};
    struct op_result result;

    put_repository(world);
    char *before = world_tree(world, "work/.git", TREE_ALL);
    run_well(world, "admin.install", GIT);
    char *installed = temp_read(&world->temp, "work/.gitattributes", NULL);
    while (attempt.failed) {
        bool install = strcmp(name, "admin.install") == 0;

        run_well(world, install ? "admin.uninstall" : "admin.install", GIT);
        int code = run(world, &attempt, name, GIT, &result);
        char *now = temp_read(&world->temp, "work/.gitattributes", NULL);
        bool with = strcmp(now, installed) == 0;

        assert_true(with || strcmp(now, WAS) == 0);
        assert_true(code != ETHOS_OK || with == install);
        assert_no_litter(world);
        free(now);
        op_result_release(&result);
    }
    run_well(world, "admin.uninstall", GIT);
    char *after = world_tree(world, "work/.git", TREE_ALL);
    assert_string_equal(after, before);
    assert_file(world, "work/.gitattributes", WAS);
    assert_in_range(attempt.nth.number, 5, 1000);
    free(installed);
    free(before);
    free(after);
}

static void test_install_without_memory(void **state)
{
    try_install(*state, "admin.install", false);
}

static void test_install_with_a_failing_call(void **state)
{
    try_install(*state, "admin.install", true);
}

static void test_uninstall_without_memory(void **state)
{
    try_install(*state, "admin.uninstall", false);
}

static void test_uninstall_with_a_failing_call(void **state)
{
    try_install(*state, "admin.uninstall", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_a_merge_without_memory),   WORLD_LOOP(test_a_merge_with_a_failing_call),
        WORLD_LOOP(test_install_without_memory),   WORLD_LOOP(test_install_with_a_failing_call),
        WORLD_LOOP(test_uninstall_without_memory), WORLD_LOOP(test_uninstall_with_a_failing_call),
    };

    return cmocka_run_group_tests_name("ops/git", tests, NULL, NULL);
}
