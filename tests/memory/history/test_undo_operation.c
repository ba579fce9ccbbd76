/*
 * test_undo_operation.c: an operation that changed several files is taken back in all of them.
 */
#include "fixture.h"
#include "memory/notes/list.h"

#define SCOPE "personality"
#define INDEX "MEMORY.md"

static int remember(struct world *world, const char *actor, const char *title, const char *text)
{
    const struct ethos_origin origin = past_origin(actor);
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_fact fact = {
        .title = view_str(title), .text = view_str(text), .scope = SCOPE};
    return ethos_remember(world->turn, &fact, &how, NULL, &world->error);
}

static int undo(struct world *world, const char *key, const struct ethos_filter *filter)
{
    const struct ethos_origin origin = past_origin("owner");
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_target target = {NULL, SCOPE, key};
    memset(&world->error, 0, sizeof world->error);
    return ethos_undo(world->turn, &target, filter, &how, &world->error);
}

static bool exists(struct world *world, const char *key)
{
    struct ethos_file *file = NULL;
    const struct ethos_target target = {NULL, SCOPE, key};
    assert_ok(world, ethos_read(world->turn, &target, &file, &world->error));
    bool there = file->text != NULL;
    ethos_file_free(file);
    return there;
}

/* Each note has a line, each line a note. */
static void count_mend(void *arg, const char *problem, const char *key, uint64_t line)
{
    (void)problem, (void)key, (void)line;
    ++*(int *)arg;
}

static void assert_consistent(struct world *world)
{
    int mends = 0;
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};
    assert_ok(world,
              ethos_notes_reindex(world->turn, SCOPE, &dry, count_mend, &mends, &world->error));
    assert_int_equal(mends, 0);
}

static int remove_note(struct world *world, const char *name)
{
    return ethos_note_remove(world->turn, SCOPE, name, NULL, &world->error);
}

/* ---- the store that tells groups, and one that does not ---------------------------------------- */

static struct ethos_store_ops silent_ops;

struct hiding {
    ethos_change_fn *each;
    void *arg;
};

static int hide_group(void *arg, const struct ethos_change *change)
{
    const struct hiding *hiding = arg;
    struct ethos_change told = *change;
    told.group = told.group_size = 0;
    return hiding->each(hiding->arg, &told);
}

static int silent_history(struct ethos_store *self, const char *scope, const char *key,
                          ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct hiding hiding = {each, arg};
    return store_ram.history(self, scope, key, hide_group, &hiding, error);
}

static int64_t coarse_now(void *arg)
{
    (void)arg;
    return NOW_MS; // everything happens at once
}

/* Databases number changes in a row and record no groups. */
static void open_silent(struct world *world)
{
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    world->host.now_ms = coarse_now;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    silent_ops = store_ram;
    silent_ops.history = silent_history;
    store->ops = &silent_ops;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
}

/* ---- rules ------------------------------------------------------------------------------------- */

static void check_removal(struct world *world)
{
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, remember(world, "ann", "Two", "2"));
    assert_ok(world, remove_note(world, "one"));
    assert_ok(world, remember(world, "bob", "Three", "3"));
    assert_ok(world, undo(world, "one.md", NULL));
    assert_true(exists(world, "one.md"));
    assert_true(exists(world, "three.md"));
    assert_consistent(world);
    assert_memory(world, "- [One](one.md) — 1\n- [Two](two.md) — 2\n- [Three](three.md) — 3\n");
}

static void test_a_removed_note_comes_back_with_its_line_beside_later_lines(void **state)
{
    struct world *world = *state;
    past_open(world);
    check_removal(world);
}

static void test_the_same_where_the_store_records_no_groups(void **state)
{
    struct world *world = *state;
    open_silent(world);
    check_removal(world);
}

static void test_undoing_the_line_of_the_index_takes_the_note_with_it(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, remember(world, "ann", "Two", "2"));
    assert_ok(world, undo(world, INDEX, NULL));
    assert_false(exists(world, "two.md"));
    assert_true(exists(world, "one.md"));
    assert_consistent(world);
    assert_memory(world, "- [One](one.md) — 1\n");
}

static void test_in_a_silent_store_only_one_of_two_operations_at_once_goes(void **state)
{
    struct world *world = *state;
    open_silent(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, remember(world, "ann", "Two", "2"));
    assert_ok(world, undo(world, "two.md", NULL));
    assert_false(exists(world, "two.md"));
    assert_true(exists(world, "one.md"));
    assert_consistent(world);
}

static void test_a_move_is_taken_back_with_the_links_to_it(void **state)
{
    struct world *world = *state;
    char key[ETHOS_MAX_KEY + 1];
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, remember(world, "ann", "Two", "see [[one]]"));
    assert_ok(world, ethos_note_move(world->turn, SCOPE, "one", "Uno", NULL, key, &world->error));
    assert_ok(world, undo(world, "two.md", NULL)); // any of its files
    assert_true(exists(world, "one.md"));
    assert_false(exists(world, "uno.md"));
    assert_consistent(world);
}

static void test_later_changes_in_one_of_the_files_refuse_all_of_it(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "- [One](one.md) — rewritten by bob");
    int code = undo(world, "one.md", NULL);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    assert_string_equal(world->error.text,
                        "MEMORY.md: later changes stand in the same lines as change #2");
    assert_true(exists(world, "one.md"));
    assert_memory(world, "- [One](one.md) — rewritten by bob\n");
}

static void test_an_undo_is_undone_by_its_number_and_then_again(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, undo(world, "one.md", NULL)); // changes 3 and 4
    assert_false(exists(world, "one.md"));
    assert_ok(world, undo(world, "one.md", &(struct ethos_filter){.number = 3}));
    assert_true(exists(world, "one.md"));
    assert_consistent(world);
    assert_ok(world, undo(world, INDEX, NULL)); // what stands again can be undone again
    assert_false(exists(world, "one.md"));
    assert_int_equal(undo(world, INDEX, NULL), ETHOS_NOTFOUND);
}

static void test_what_was_taken_back_before_is_not_taken_twice(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, undo(world, "one.md", NULL));
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_int_equal(undo(world, INDEX, &(struct ethos_filter){.number = 2}), ETHOS_NOTFOUND);
    assert_true(exists(world, "one.md"));
    assert_consistent(world);
}

static void test_without_memory_both_files_change_or_none(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, remember(world, "ann", "One", "1"));
    assert_ok(world, remember(world, "ann", "Two", "2"));
    assert_ok(world, remove_note(world, "one"));
    int code = ETHOS_NOMEM;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = undo(world, "one.md", NULL);
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(exists(world, "one.md"), code == ETHOS_OK);
        assert_consistent(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_removed_note_comes_back_with_its_line_beside_later_lines),
        WORLD_TEST(test_the_same_where_the_store_records_no_groups),
        WORLD_TEST(test_undoing_the_line_of_the_index_takes_the_note_with_it),
        WORLD_TEST(test_in_a_silent_store_only_one_of_two_operations_at_once_goes),
        WORLD_TEST(test_a_move_is_taken_back_with_the_links_to_it),
        WORLD_TEST(test_later_changes_in_one_of_the_files_refuse_all_of_it),
        WORLD_TEST(test_an_undo_is_undone_by_its_number_and_then_again),
        WORLD_TEST(test_what_was_taken_back_before_is_not_taken_twice),
        WORLD_TEST(test_without_memory_both_files_change_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
