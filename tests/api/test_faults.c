/*
 * test_faults.c: every call of the interface with the first, second, ... system call failing, cut
 * short, or never returning because the process was killed.
 *
 * Memory has the old bytes or, once they were published, the new ones, never a third state; a
 * failure is told; nothing is left behind; the next attempt works; a prefetch shows what it can.
 */
#include "actions.h"

#include <spawn.h>
#include <sys/wait.h>

/* ---- failing -------------------------------------------------------------------------------- */

/* Calls whose failure means that nothing may be called done. */
static bool is_vital(const char *call)
{
    static const char *const calls[] = {"write",  "fsync",    "fdatasync", "renameat",
                                        "linkat", "exchange", "flock"};
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (strcmp(call, calls[i]) == 0)
            return true;
    }
    return false;
}

/*
 * After a success in spite of the failed call: it was no vital one, or one that came when the change
 * was certain already; and all is as it should be.
 */
static void assert_success(struct world *world, enum action action, const struct nth *nth,
                           unsigned long certain, const struct shown *shown)
{
    /* The id of a person is derived: noting it comes last and may fail. */
    if (action_writes(action) && action != NEW_PERSON && nth->errnum != EINTR &&
        nth->number <= certain && is_vital(nth->failed))
        fail_msg("%s succeeded although %s failed", action_names[action], nth->failed);
    assert_done(world, action, shown);
}

static void assert_failure(struct world *world, enum action action, int code)
{
    struct shown shown;

    assert_true(code == ETHOS_IO || code == ETHOS_BUSY || code == ETHOS_DENIED ||
                code == ETHOS_NOTFOUND);
    assert_error(&world->error, code, code);
    if (action_writes(action) && action_is_new(world, action))
        return; // published before the failure; an add is not repeated
    assert_ok(world, action_run(world, action, &shown));
    assert_int_equal(shown.code, ETHOS_OK);
    assert_done(world, action, &shown);
}

/* A prefetch that could not read one file shows the other. */
static void assert_partly(const struct shown *shown)
{
    assert_true(strcmp(shown->text, "## About You\n\na person") == 0 ||
                strcmp(shown->text, "## Memory\n\nold fact") == 0 || shown->text[0] == 0 ||
                strcmp(shown->text, BLOCK) == 0);
}

/* One run with call n failing; false when there is no such call. */
static bool run_with_fault(struct world *world, enum action action, unsigned long n, int errnum,
                           unsigned long certain)
{
    struct nth nth = {.number = n, .errnum = errnum};
    struct shown shown;

    action_begin(world, action);
    os_hook(nth_fails, &nth);
    int code = action_run(world, action, &shown);
    os_hook(NULL, NULL);
    shown.unsearchable = errnum == EACCES;
    if (code != ETHOS_OK)
        assert_failure(world, action, code);
    else if (shown.code != ETHOS_OK)
        assert_partly(&shown);
    else
        assert_success(world, action, &nth, certain, &shown);
    if (code == ETHOS_OK && action_writes(action)) // what a certain change left goes with the next
        assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"next\"},"
                                           "{\"action\":\"add\",\"store\":\"user\","
                                           "\"content\":\"next\"}]"));
    assert_no_litter(world);
    return nth.failed[0] != 0;
}

/* The number of the call after which the change is certain. */
static unsigned long find_certain(struct world *world, enum action action)
{
    struct nth nth = {0};
    struct shown shown;

    action_begin(world, action);
    os_hook(nth_fails, &nth);
    int code = action_run(world, action, &shown);
    os_hook(NULL, NULL);
    assert_ok(world, code);
    return nth.certain;
}

static void try_all(struct world *world, enum action action)
{
    static const int errnums[] = {EIO, ENOSPC, EACCES, EINTR};
    unsigned long n = 1, certain = find_certain(world, action);

    for (size_t i = 0; i < COUNT(errnums); i++) {
        for (n = 1; run_with_fault(world, action, n, errnums[i], certain);)
            n++;
    }
    print_message("# %s: %lu calls\n", action_names[action], n - 1);
}

static void test_open_and_turn(void **state)
{
    try_all(*state, OPEN);
    try_all(*state, TURN);
}

static void test_prefetch_with_and_without_receipt(void **state)
{
    try_all(*state, PREFETCH);
    try_all(*state, RECEIPT);
}

static void test_read_and_write(void **state)
{
    try_all(*state, READ);
    try_all(*state, WRITE);
}

static void test_sync(void **state)
{
    try_all(*state, ADD);
    try_all(*state, REPLACE);
    try_all(*state, REMOVE);
    try_all(*state, DELETE);
}

static void test_sync_with_an_operation_id(void **state)
{
    try_all(*state, ONCE);
}

static void test_sync_past_the_ceiling(void **state)
{
    try_all(*state, OVERFLOW);
}

static void test_sync_of_profiles(void **state)
{
    try_all(*state, NEW_PERSON);
    try_all(*state, OLD_PROFILE);
}

static void test_sync_of_two_scopes(void **state)
{
    struct world *world = *state;
    struct nth nth = {.errnum = EIO};

    do {
        struct shown shown;
        action_begin(world, TWO_SCOPES);
        nth.number++;
        nth.calls = 0;
        nth.failed[0] = 0;
        os_hook(nth_fails, &nth);
        int code = action_run(world, TWO_SCOPES, &shown);
        os_hook(NULL, NULL);
        bool is_new = two_scopes_are_new(world); // each old or new
        if (code == ETHOS_OK)
            assert_true(is_new);
        else
            assert_no_litter(world);
    } while (nth.failed[0]);
    assert_true(nth.number > 30);
}

static void make_old(struct world *world, const char *path)
{
    static const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(world->temp.fd, path, times, 0), 0);
}

/* One file fails in every way, the other is still shown and the code tells. */
static void test_a_prefetch_shows_the_file_that_can_be_read(void **state)
{
    static const char *const calls[] = {"openat2", "fstat", "pread"};
    struct world *world = *state;
    int partly = 0;

    for (size_t i = 0; i < COUNT(calls); i++) {
        for (unsigned long n = 1; n <= 2; n++) {
            struct nth nth = {.number = n, .name = calls[i], .errnum = EIO};
            struct shown shown;
            action_begin(world, PREFETCH);
            make_old(world, MEMORY); // a young one is looked at twice
            make_old(world, PROFILE);
            assert_ok(world, action_run(world, PREFETCH, &shown)); // the root is open by now
            os_hook(nth_fails, &nth);
            assert_ok(world, action_run(world, PREFETCH, &shown));
            os_hook(NULL, NULL);
            assert_int_equal(shown.code, ETHOS_IO);
            assert_partly(&shown);
            partly += shown.text[0] != 0;
        }
    }
    assert_int_equal(partly, 6);
}

/* ---- short transfers and kills: a process of its own for each ------------------------------- */

static int child_main(const char *home, const char *what)
{
    const struct ethos_options options = {.home = home};
    struct ethos *ethos = NULL;
    struct ethos_turn *turn = NULL;
    struct ethos_block *block = NULL;
    struct ethos_error error = {0};
    int code = ethos_open(&options, &ethos, &error);

    if (code == ETHOS_OK)
        code = ethos_turn_new(ethos, NULL, &turn, &error);
    if (code == ETHOS_OK && strcmp(what, "sync") == 0)
        code = ethos_sync_json(turn,
                               VIEW("[{\"action\":\"add\",\"content\":\"new\"},"
                                    "{\"action\":\"add\",\"store\":\"user\",\"content\":\"new\"}]"),
                               NULL, &error);
    else if (code == ETHOS_OK)
        code = ethos_prefetch(turn, NULL, &block, &error);
    if (block && block->code != ETHOS_OK)
        code = block->code;
    if (block && strcmp(block->text, "## About You\n\nolder\n\n## Memory\n\nold fact") != 0)
        code = ETHOS_INTERNAL;
    ethos_block_free(block);
    ethos_turn_free(turn);
    ethos_close(ethos);
    return -code;
}

/* Runs this program again as a child with a fault; its exit status. */
static int spawn_child(struct world *world, const char *what, const char *fault)
{
    char variable[64], home[128];
    char *const arguments[] = {(char *)"child", world->home, (char *)(uintptr_t)what, NULL};
    char *const environment[] = {variable, home, NULL};
    pid_t child;
    int status = -1;

    snprintf(variable, sizeof variable, "ETHOS_FAULT=%s", fault);
    snprintf(home, sizeof home, "HOME=%s", world->temp.path);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environment), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_short_transfers_change_nothing(void **state)
{
    static const char *const calls[] = {"read", "pread", "write"};
    struct world *world = *state;

    for (size_t i = 0; i < COUNT(calls); i++) {
        for (int n = 1; n <= 4; n++) {
            char fault[64];
            action_home(world);
            snprintf(fault, sizeof fault, "%s:%d:short=1", calls[i], n);
            assert_int_equal(spawn_child(world, "prefetch", fault), 0);
            assert_int_equal(spawn_child(world, "sync", fault), 0);
            assert_file(world, MEMORY, "old fact\n\nnew\n");
            assert_file(world, "home/users/me/USER.md", "older\n\nnew\n");
            assert_no_litter(world);
        }
    }
}

/* The memory of a process that was killed: old or new, and the next one finds it in order. */
static void assert_after_kill(struct world *world, const char *fault)
{
    char *memory = temp_read(&world->temp, MEMORY, NULL);
    char *user = temp_read(&world->temp, "home/users/me/USER.md", NULL);
    bool memory_new = memory && strcmp(memory, "old fact\n\nnew\n") == 0;

    if (!memory_new && (!memory || strcmp(memory, "old fact\n") != 0))
        fail_msg("%s: MEMORY.md is torn", fault);
    if (user && strcmp(user, "older\n\nnew\n") != 0)
        fail_msg("%s: USER.md is torn", fault);
    assert_true(memory_new || !user); // in the order given
    free(memory);
    free(user);
    world_close(world);
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"next\"},"
                                       "{\"action\":\"add\",\"store\":\"user\","
                                       "\"content\":\"next\"}]"));
    assert_no_litter(world);
}

/* Between these calls nothing changes on the disk. */
static void test_a_writer_killed_before_any_change_leaves_old_or_new_bytes(void **state)
{
    static const char *const calls[] = {"mkdirat",  "flock",    "write",     "fchmod", "exchange",
                                        "renameat", "unlinkat", "fdatasync", "fsync",  "linkat"};
    struct world *world = *state;
    int kills = 0;

    for (size_t i = 0; i < COUNT(calls); i++) {
        int status = -1;
        for (int n = 1; status != 0; n++) {
            char fault[64];
            action_home(world);
            snprintf(fault, sizeof fault, "%s:%d:kill-before", calls[i], n);
            status = spawn_child(world, "sync", fault);
            assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
            assert_after_kill(world, fault);
            kills += status != 0;
        }
    }
    print_message("# %d kills\n", kills);
    assert_true(kills > 15);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_open_and_turn),
        WORLD_LOOP(test_prefetch_with_and_without_receipt),
        WORLD_LOOP(test_read_and_write),
        WORLD_LOOP(test_sync),
        WORLD_LOOP(test_sync_with_an_operation_id),
        WORLD_LOOP(test_sync_past_the_ceiling),
        WORLD_LOOP(test_sync_of_profiles),
        WORLD_LOOP(test_sync_of_two_scopes),
        WORLD_LOOP(test_a_prefetch_shows_the_file_that_can_be_read),
        WORLD_LOOP(test_short_transfers_change_nothing),
        WORLD_LOOP(test_a_writer_killed_before_any_change_leaves_old_or_new_bytes),
    };

    if (argc == 3 && strcmp(argv[0], "child") == 0)
        return child_main(argv[1], argv[2]);
    return cmocka_run_group_tests_name("api/faults", tests, NULL, NULL);
}
