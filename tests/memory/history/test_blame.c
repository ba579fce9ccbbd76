/*
 * test_blame.c: which change put a line there, and what it replaced.
 */
#include "fixture.h"

static char told[4096];

static int note(void *arg, const struct ethos_blame *blame)
{
    size_t used = strlen(told);
    (void)arg;
    snprintf(told + used, sizeof told - used, "%d %s %.*s", (int)blame->line,
             !blame->change         ? "-"
             : blame->change->actor ? blame->change->actor
                                    : "?",
             VIEW_ARG(blame->text));
    used = strlen(told);
    for (size_t i = 0; i < blame->replaced.size; i++, used++)
        snprintf(told + used, sizeof told - used, "%c",
                 blame->replaced.data[i] == '\n' ? '|' : blame->replaced.data[i]);
    snprintf(told + used, sizeof told - used, "\n");
    return 0;
}

static void assert_blame(struct world *world, uint64_t line, const char *expected)
{
    told[0] = 0;
    assert_ok(world, ethos_blame(world->turn, NULL, line, note, NULL, &world->error));
    assert_string_equal(told, expected);
}

static void test_each_line_is_told_with_the_change_that_put_it_there(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_blame(world, 0, "");
    past_add(world, "ann", "one");
    past_add(world, "bob", "two");
    past_add(world, "eve", "three");
    assert_blame(world, 0, "1 ann one\n2 bob \n3 bob two\n4 eve \n5 eve three\n");
    past_update(world, "ann", ETHOS_ACTION_REMOVE, "two");
    assert_blame(world, 0, "1 ann one\n2 bob \n3 eve \n4 eve three\n");
    assert_blame(world, 4, "4 eve three\n");
}

static void test_a_line_past_the_end_is_not_found(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    assert_int_equal(ethos_blame(world->turn, NULL, 2, note, NULL, &world->error), ETHOS_NOTFOUND);
    assert_string_equal(world->error.text, "MEMORY.md: has no line 2");
}

static void test_what_a_change_replaced_is_told(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_update(world, "ann", ETHOS_ACTION_REPLACE, "a\nb\nc\nd");
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "a\nB1\nB2\nd");
    assert_blame(world, 0, "1 ann a\n2 bob B1b|\n3 bob B2c|\n4 ann d\n");
}

static void test_lines_keep_their_change_when_others_come_and_go_before_them(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_update(world, "ann", ETHOS_ACTION_REPLACE, "x\ny\nz");
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "1\n2\n3\n4\n5\n6\n7\n8\n9\nx\ny\nz");
    past_update(world, "eve", ETHOS_ACTION_REPLACE, "1\n9\nx\nq\ny\nz");
    past_update(world, "eve", ETHOS_ACTION_REPLACE, "9\nx\nq\ny\nz");
    assert_blame(world, 0, "1 bob 9\n2 ann x\n3 eve q\n4 ann y\n5 ann z\n");
}

static void test_a_deletion_ends_what_was_known(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    past_update(world, "bob", ETHOS_ACTION_DELETE, "");
    past_add(world, "eve", "one");
    assert_blame(world, 0, "1 eve one\n");
}

/* ---- diffs that were cut -------------------------------------------------------------------- */

static struct ethos_store_ops cutting_ops;

struct cutting {
    ethos_change_fn *each;
    void *arg;
};

static int cut(void *arg, const struct ethos_change *change)
{
    const struct cutting *cutting = arg;
    struct ethos_change shorter = *change;
    shorter.diff.size = shorter.diff.size / 2;
    shorter.diff_whole = 0;
    return cutting->each(cutting->arg, &shorter);
}

static int cutting_history(struct ethos_store *self, const char *scope, const char *key,
                           ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct cutting cutting = {each, arg};
    return store_ram.history(self, scope, key, cut, &cutting, error);
}

static void test_a_diff_that_was_cut_is_made_again_from_the_versions(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    cutting_ops = store_ram;
    cutting_ops.history = cutting_history;
    store->ops = &cutting_ops;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    past_add(world, "ann", "one");
    past_add(world, "bob", "two");
    assert_blame(world, 0, "1 ann one\n2 bob \n3 bob two\n");
}

static int stop(void *arg, const struct ethos_blame *blame)
{
    (void)arg;
    return blame->line == 2 ? 42 : 0;
}

static void test_the_walk_stops_when_told_to(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_update(world, "ann", ETHOS_ACTION_REPLACE, "a\nb\nc");
    assert_int_equal(ethos_blame(world->turn, NULL, 0, stop, NULL, &world->error), 42);
}

static void test_blame_without_memory_says_so(void **state)
{
    struct world *world = *state;
    int code = ETHOS_OK;
    past_open(world);
    past_update(world, "ann", ETHOS_ACTION_REPLACE, "a\nb");
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "a\nc");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        told[0] = 0;
        code = ethos_blame(world->turn, NULL, 0, note, NULL, &world->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_string_equal(told, "1 ann a\n2 bob cb|\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_each_line_is_told_with_the_change_that_put_it_there),
        WORLD_TEST(test_a_line_past_the_end_is_not_found),
        WORLD_TEST(test_what_a_change_replaced_is_told),
        WORLD_TEST(test_lines_keep_their_change_when_others_come_and_go_before_them),
        WORLD_TEST(test_a_deletion_ends_what_was_known),
        WORLD_TEST(test_a_diff_that_was_cut_is_made_again_from_the_versions),
        WORLD_TEST(test_the_walk_stops_when_told_to),
        WORLD_TEST(test_blame_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
