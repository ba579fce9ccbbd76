/*
 * test_nomem.c: every call of the interface with the first, second, ... allocation failing.
 *
 * It says so, memory keeps its bytes, nothing is leaked (the sanitizer looks), and the next attempt
 * on the same handle works. A call may succeed all the same when the allocation was not needed.
 */
#include "actions.h"

/* After a failure: the right code, the old bytes, and then it works. */
static void assert_failed(struct world *world, enum action action, int code, const char *before)
{
    struct shown shown;

    assert_error(&world->error, code, ETHOS_NOMEM);
    char *after = world_tree(world, "home", TREE_MEMORY);
    assert_string_equal(before, after);
    free(after);
    assert_no_litter(world);
    assert_ok(world, action_run(world, action, &shown));
    assert_int_equal(shown.code, ETHOS_OK);
    assert_done(world, action, &shown);
}

/* One run with allocation n failing; false when there is no such allocation. */
static bool run_without(struct world *world, enum action action, unsigned long n)
{
    struct shown shown;

    action_begin(world, action);
    char *before = world_tree(world, "home", TREE_MEMORY);
    alloc_fail_at(n);
    int code = action_run(world, action, &shown);
    bool hit = alloc_count() >= n;
    alloc_fail_at(0);
    if (code != ETHOS_OK) {
        assert_failed(world, action, code, before);
    } else {
        assert_int_equal(shown.code, ETHOS_OK);
        assert_done(world, action, &shown);
    }
    free(before);
    return hit;
}

static void try_all(struct world *world, enum action action)
{
    unsigned long n = 1;
    while (run_without(world, action, n))
        n++;
    print_message("# %s: %lu allocations\n", action_names[action], n - 1);
    assert_true(n > 1);
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

static void test_sync(void **state)
{
    try_all(*state, ADD);
    try_all(*state, REPLACE);
    try_all(*state, REMOVE);
    try_all(*state, DELETE);
    try_all(*state, ONCE);
    try_all(*state, OVERFLOW);
}

static void test_sync_of_profiles(void **state)
{
    try_all(*state, NEW_PERSON);
    try_all(*state, OLD_PROFILE);
}

static void test_read_and_write(void **state)
{
    try_all(*state, READ);
    try_all(*state, WRITE);
}

/* Scopes commit one by one: the first may be new when the second failed. */
static void test_sync_of_two_scopes(void **state)
{
    struct world *world = *state;
    bool hit = true;

    for (unsigned long n = 1; hit; n++) {
        struct shown shown;
        action_begin(world, TWO_SCOPES);
        alloc_fail_at(n);
        int code = action_run(world, TWO_SCOPES, &shown);
        hit = alloc_count() >= n;
        alloc_fail_at(0);
        bool is_new = two_scopes_are_new(world); // each old or new
        assert_int_equal(code == ETHOS_OK, is_new);
        if (code != ETHOS_OK)
            assert_error(&world->error, code, ETHOS_NOMEM);
        assert_no_litter(world);
    }
}

static void test_ephemeral_memory_leaves_no_directory(void **state)
{
    struct world *world = *state;
    const struct ethos_options options = {
        .home = world->home, .host = &world->host, .ephemeral = 1};
    char *before = world_tree(world, ".", TREE_ALL);
    int code = -1;

    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct ethos *ethos = NULL;
        code = ethos_open(&options, &ethos, &world->error);
        if (code != ETHOS_OK)
            assert_error(&world->error, code, ETHOS_NOMEM);
        ethos_close(ethos);
        char *after = world_tree(world, ".", TREE_ALL);
        assert_string_equal(before, after);
        free(after);
    }
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_LOOP(test_open_and_turn),
        WORLD_LOOP(test_prefetch_with_and_without_receipt),
        WORLD_LOOP(test_sync),
        WORLD_LOOP(test_sync_of_profiles),
        WORLD_LOOP(test_read_and_write),
        WORLD_LOOP(test_sync_of_two_scopes),
        WORLD_LOOP(test_ephemeral_memory_leaves_no_directory),
    };

    return cmocka_run_group_tests_name("api/nomem", tests, NULL, NULL);
}
