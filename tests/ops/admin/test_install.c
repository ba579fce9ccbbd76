/*
 * test_install.c: installing into an agent and taking it back, with the first, second, ... allocation
 * or system call failing: all files or none, and the next attempt works.
 */
#include "../../memory/world.h"

#include <sys/wait.h>

#include "ops/op.h"

#define AGENT "{\"agent\":\"cursor\"}"
#define WAS "{\"mcpServers\":{\"a\":{\"command\":\"b\"}}}"

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

/* attempt NULL: nothing fails. The code of the whole, refusals included. */
static int run(struct world *world, struct attempt *attempt, const char *name)
{
    static const struct ethos_request nothing;
    struct op_result result;
    json_t *json = json_loads(AGENT, 0, NULL);
    struct op_call call = {.request = &nothing, .args = json, .want_json = true, .via = "test"};

    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    if (attempt)
        arm(attempt);
    int code = op_run(op_find(name), &call, &result, &world->error);
    if (attempt)
        disarm(attempt);
    if (code == ETHOS_OK && result.code != ETHOS_OK) {
        code = result.code;
        world->error = result.error;
    }
    json_decref(json);
    op_result_release(&result);
    if (code != ETHOS_OK)
        assert_error(&world->error, code, code);
    return code;
}

/* So that "ethos" is this very program. */
static void set_path(struct world *world)
{
    char self[1024], path[256];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(size > 0);
    self[size] = 0;
    world_mkdir(world, "bin");
    world_link(world, self, "bin/ethos");
    snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", world->temp.path);
    setenv("PATH", path, 1);
}

/* before and with: how the agent's folder looks. */
static void try_each(struct world *world, const char *name, bool calls, const char *before,
                     const char *with)
{
    struct attempt attempt = {.calls = calls, .failed = true, .nth = {.errnum = EIO}};
    bool install = strcmp(name, "admin.install") == 0;

    while (attempt.failed) {
        assert_ok(world, run(world, NULL, install ? "admin.uninstall" : "admin.install"));
        char *start = world_tree(world, ".cursor", TREE_ALL);
        assert_string_equal(start, install ? before : with);
        int code = run(world, &attempt, name);
        char *now = world_tree(world, ".cursor", TREE_ALL);
        bool done = strcmp(now, install ? with : before) == 0;

        assert_true(done || strcmp(now, start) == 0);
        assert_true(code != ETHOS_OK || done);
        assert_no_litter(world);
        free(start);
        free(now);
    }
    assert_in_range(attempt.nth.number, 10, 3000);
    assert_ok(world, run(world, NULL, "admin.uninstall"));
    char *after = world_tree(world, ".cursor", TREE_ALL);
    assert_string_equal(after, before);
    free(after);
}

static void try_install(struct world *world, const char *name, bool calls)
{
    set_path(world);
    world_put(world, ".cursor/mcp.json", WAS);
    char *before = world_tree(world, ".cursor", TREE_ALL);
    assert_ok(world, run(world, NULL, "admin.install"));
    char *with = world_tree(world, ".cursor", TREE_ALL);
    try_each(world, name, calls, before, with);
    free(before);
    free(with);
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

/* A folder that was made for the files goes with them, also when they cannot be written. */
static void test_folders_with_a_failing_call(void **state)
{
    struct world *world = *state;
    struct attempt attempt = {.calls = true, .failed = true, .nth = {.errnum = ENOSPC}};

    set_path(world);
    while (attempt.failed) {
        int code = run(world, &attempt, "admin.install");
        assert_true(code == ETHOS_OK || !world_exists(world, ".cursor/mcp.json"));
        assert_true(code == ETHOS_OK || !world_exists(world, ".cursor/hooks.json"));
        assert_ok(world, run(world, NULL, "admin.install"));
        assert_ok(world, run(world, NULL, "admin.uninstall"));
        assert_false(world_exists(world, ".cursor"));
    }
}

/* Taken back as a whole or not at all, the folder included. */
static void test_folders_of_an_uninstall_with_a_failing_call(void **state)
{
    struct world *world = *state;
    struct attempt attempt = {.calls = true, .failed = true, .nth = {.errnum = EIO}};

    set_path(world);
    while (attempt.failed) {
        assert_ok(world, run(world, NULL, "admin.install"));
        char *with = world_tree(world, ".cursor", TREE_ALL);
        int code = run(world, &attempt, "admin.uninstall");
        if (code != ETHOS_OK && world_exists(world, ".cursor")) {
            char *now = world_tree(world, ".cursor", TREE_ALL);
            assert_string_equal(now, with);
            free(now);
        }
        free(with);
        assert_ok(world, run(world, NULL, "admin.uninstall"));
        assert_false(world_exists(world, ".cursor"));
    }
}

/* Killed at any moment: what the record says lets uninstall find the way back. */
static int die(void *arg, const char *call, unsigned long number)
{
    (void)call;
    if (number == *(unsigned long *)arg)
        _exit(9);
    return 0;
}

static void test_an_install_that_is_killed_can_be_taken_back(void **state)
{
    struct world *world = *state;
    set_path(world);
    world_put(world, ".cursor/mcp.json", WAS);
    char *before = world_tree(world, ".cursor", TREE_ALL);
    int status = 9 << 8;
    for (unsigned long number = 1; status == 9 << 8; number++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            os_hook(die, &number);
            _exit(run(world, NULL, "admin.install") == ETHOS_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_ok(world, run(world, NULL, "admin.uninstall"));
        world_remove(world, ".cursor/.mcp.json.draft");
        world_remove(world, ".cursor/.hooks.json.draft");
        char *after = world_tree(world, ".cursor", TREE_ALL);
        assert_string_equal(after, before);
        free(after);
    }
    assert_int_equal(status, 0);
    free(before);
}

/* Killed at any moment, with nothing there before: the next attempt leaves nothing, either. */
static void try_killed(struct world *world, const char *name)
{
    int status = 9 << 8;
    bool install = strcmp(name, "admin.install") == 0;
    set_path(world);
    for (unsigned long number = 1; status == 9 << 8; number++) {
        if (!install)
            assert_ok(world, run(world, NULL, "admin.install"));
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            os_hook(die, &number);
            _exit(run(world, NULL, name) == ETHOS_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (number % 2 == 1 || install)
            assert_ok(world, run(world, NULL, "admin.install"));
        assert_ok(world, run(world, NULL, "admin.uninstall"));
        assert_false(world_exists(world, ".cursor"));
    }
    assert_int_equal(status, 0);
}

static void test_a_killed_install_leaves_no_folder(void **state)
{
    try_killed(*state, "admin.install");
}

static void test_a_killed_uninstall_leaves_no_folder(void **state)
{
    try_killed(*state, "admin.uninstall");
}

#define HAND "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"/x/ethos hook cursor stop\"}]}}"

/* What the copy from before says is known until the record is gone. */
static void test_a_killed_uninstall_of_an_edited_file_keeps_what_was_written_by_hand(void **state)
{
    struct world *world = *state;
    int status = 9 << 8;
    set_path(world);
    for (unsigned long number = 1; status == 9 << 8; number++) {
        world_put(world, ".cursor/hooks.json", HAND);
        assert_ok(world, run(world, NULL, "admin.install"));
        char *with = temp_read(&world->temp, ".cursor/hooks.json", NULL);
        struct str edited;
        str_init(&edited, SIZE_MAX);
        str_printf(&edited, "%s\n", with);
        world_put(world, ".cursor/hooks.json", edited.data);
        free(with);
        str_release(&edited);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            os_hook(die, &number);
            _exit(run(world, NULL, "admin.uninstall") == ETHOS_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0)
            assert_ok(world, run(world, NULL, "admin.install"));
        if (status != 0)
            assert_ok(world, run(world, NULL, "admin.uninstall"));
        assert_file(world, ".cursor/hooks.json", HAND "\n");
    }
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_install_without_memory),
        WORLD_LOOP(test_install_with_a_failing_call),
        WORLD_LOOP(test_uninstall_without_memory),
        WORLD_LOOP(test_uninstall_with_a_failing_call),
        WORLD_LOOP(test_folders_with_a_failing_call),
        WORLD_LOOP(test_folders_of_an_uninstall_with_a_failing_call),
        WORLD_LOOP(test_an_install_that_is_killed_can_be_taken_back),
        WORLD_LOOP(test_a_killed_install_leaves_no_folder),
        WORLD_LOOP(test_a_killed_uninstall_leaves_no_folder),
        WORLD_LOOP(test_a_killed_uninstall_of_an_edited_file_keeps_what_was_written_by_hand),
    };

    return cmocka_run_group_tests_name("ops/install", tests, NULL, NULL);
}
