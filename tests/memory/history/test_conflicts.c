/*
 * test_conflicts.c: saving over a file that moved, and the copies of what could not be merged.
 */
#include "fixture.h"

static unsigned save(struct world *world, const char *base, const char *text)
{
    unsigned conflicts = 99;
    assert_ok(world, ethos_save(world->turn, NULL, view_str(base), view_str(text), NULL, &conflicts,
                                &world->error));
    return conflicts;
}

static char ids[4][160];

static int note_id(void *arg, const struct ethos_conflict *conflict)
{
    size_t *count = arg;
    snprintf(ids[*count], sizeof ids[0], "%s", conflict->id);
    assert_string_equal(conflict->key, "MEMORY.md");
    assert_string_equal(conflict->kind, "copy");
    assert_true(conflict->time_ms > 0);
    ++*count;
    return 0;
}

static size_t count_copies(struct world *world)
{
    size_t count = 0;
    assert_ok(world, ethos_conflicts(world->turn, NULL, note_id, &count, &world->error));
    return count;
}

static int resolve(struct world *world, const char *id, enum ethos_resolution how)
{
    memset(&world->error, 0, sizeof world->error);
    return ethos_conflict_resolve(world->turn, NULL, id, how, NULL, &world->error);
}

/* The file says "theirs", a copy "mine"; both came from "base". */
static void make_conflict(struct world *world)
{
    past_open(world);
    past_write(world, VIEW("a\ntheirs\nc\n"));
    assert_int_equal(save(world, "a\nbase\nc\n", "a\nmine\nc\n"), 1);
    assert_int_equal(count_copies(world), 1);
}

/* ---- saving --------------------------------------------------------------------------------- */

static void test_a_save_over_the_file_it_started_from_is_byte_exact(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_int_equal(save(world, "", " one\r\n\n\n"), 0);
    assert_memory(world, " one\r\n\n\n");
    assert_int_equal(save(world, " one\r\n\n\n", ""), 0);
    assert_memory(world, "");
    assert_int_equal(count_copies(world), 0);
}

static void test_a_file_that_moved_meanwhile_is_merged(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_write(world, VIEW("a\nb\nc\nd\ne\n"));
    past_add(world, "bot", "from the bot");
    assert_int_equal(save(world, "a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n"), 0);
    assert_memory(world, "a\nB\nc\nd\ne\n\nfrom the bot\n");
    assert_int_equal(count_copies(world), 0);
}

static void test_the_same_place_changed_twice_keeps_the_file_and_the_whole_copy(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    make_conflict(world);
    assert_memory(world, "a\ntheirs\nc\n");
    assert_ok(world, ethos_conflict_read(world->turn, NULL, ids[0], &file, &world->error));
    assert_string_equal(file->text, "a\nmine\nc\n");
    assert_string_equal(file->key, "MEMORY.md");
    assert_null(file->path);
    ethos_file_free(file);
}

static void test_a_dry_run_of_a_save_keeps_no_copy(void **state)
{
    struct world *world = *state;
    unsigned conflicts = 0;
    const struct ethos_sync_how how = {.flags = ETHOS_SYNC_DRY_RUN};
    past_open(world);
    past_write(world, VIEW("theirs\n"));
    assert_ok(world, ethos_save(world->turn, NULL, VIEW("base\n"), VIEW("mine\n"), &how, &conflicts,
                                &world->error));
    assert_true(conflicts > 0);
    assert_int_equal(count_copies(world), 0);
}

static void test_a_save_that_asks_for_another_revision_changes_and_keeps_nothing(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    struct ethos_sync_how how = {.if_match = "absent"};
    past_open(world);
    past_write(world, VIEW("theirs\n"));
    for (int i = 0; i < 2; i++) { // one that would be merged, and one that would not have to
        int code = ethos_save(world->turn, NULL, i ? VIEW("theirs\n") : VIEW("base\n"),
                              VIEW("mine\n"), &how, NULL, &world->error);
        assert_error(&world->error, code, ETHOS_CONFLICT);
    }
    assert_int_equal(count_copies(world), 0);
    assert_memory(world, "theirs\n");
    assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
    how.if_match = file->revision;
    assert_ok(world, ethos_save(world->turn, NULL, VIEW("theirs\n"), VIEW("mine\n"), &how, NULL,
                                &world->error));
    assert_memory(world, "mine\n");
    ethos_file_free(file);
}

static void test_a_store_that_keeps_no_copies_refuses_what_cannot_be_merged(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    static struct ethos_store_ops bare;
    struct ethos_store *store;
    unsigned conflicts = 77;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    bare = store_ram;
    bare.set_aside = NULL;
    bare.conflicts = NULL;
    store->ops = &bare;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    past_write(world, VIEW("theirs\n"));
    int code = ethos_save(world->turn, NULL, VIEW("base\n"), VIEW("mine\n"), NULL, &conflicts,
                          &world->error);
    assert_error(&world->error, code, ETHOS_CONFLICT);
    assert_int_equal(conflicts, 77);
    assert_memory(world, "theirs\n");
    assert_int_equal(ethos_conflicts(world->turn, NULL, note_id, NULL, &world->error),
                     ETHOS_UNSUPPORTED);
}

/* ---- resolving ------------------------------------------------------------------------------ */

static void test_keep_leaves_the_file_and_the_copy_in_history(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    make_conflict(world);
    assert_ok(world, resolve(world, ids[0], ETHOS_RESOLVE_KEEP));
    assert_int_equal(count_copies(world), 0);
    assert_memory(world, "a\ntheirs\nc\n");
    assert_history(world, NULL, "external seen external\n- - replace\n");
    // number 2 was the copy
    assert_ok(world, ethos_read_version(world->turn, NULL, "#3", &file, &world->error));
    assert_string_equal(file->text, "a\nmine\nc\n");
    ethos_file_free(file);
    assert_int_equal(resolve(world, ids[0], ETHOS_RESOLVE_KEEP), ETHOS_NOTFOUND);
}

static void test_what_was_only_seen_is_neither_undone_nor_blamed(void **state)
{
    struct world *world = *state;
    make_conflict(world);
    assert_ok(world, resolve(world, ids[0], ETHOS_RESOLVE_KEEP));
    assert_ok(world, ethos_undo(world->turn, NULL, NULL, NULL, &world->error));
    assert_memory(world, NULL);
}

static void test_take_makes_the_copy_the_file(void **state)
{
    struct world *world = *state;
    make_conflict(world);
    assert_ok(world, resolve(world, ids[0], ETHOS_RESOLVE_TAKE));
    assert_int_equal(count_copies(world), 0);
    assert_memory(world, "a\nmine\nc\n");
    assert_history(world, NULL, "- - replace\n- - replace\n");
}

static void test_both_adds_the_lines_that_the_file_lacks(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_write(world, VIEW("a\ntheirs\nc\n"));
    assert_int_equal(save(world, "a\nbase\nc\n", "a\nmine\n\nand mine\nc\n"), 1);
    assert_int_equal(count_copies(world), 1);
    assert_ok(world, resolve(world, ids[0], ETHOS_RESOLVE_BOTH));
    assert_int_equal(count_copies(world), 0);
    assert_memory(world, "a\ntheirs\nc\n\nmine\n\nand mine\n");
}

static void test_a_dry_run_of_resolving_changes_nothing(void **state)
{
    struct world *world = *state;
    const struct ethos_sync_how how = {.flags = ETHOS_SYNC_DRY_RUN};
    make_conflict(world);
    for (int i = ETHOS_RESOLVE_KEEP; i <= ETHOS_RESOLVE_BOTH; i++)
        assert_ok(world, ethos_conflict_resolve(world->turn, NULL, ids[0], (enum ethos_resolution)i,
                                                &how, &world->error));
    assert_int_equal(count_copies(world), 1);
    assert_memory(world, "a\ntheirs\nc\n");
}

static void test_resolving_a_file_of_another_revision_changes_nothing(void **state)
{
    struct world *world = *state;
    const struct ethos_sync_how how = {.if_match = "absent"};
    make_conflict(world);
    for (int i = ETHOS_RESOLVE_KEEP; i <= ETHOS_RESOLVE_BOTH; i++) {
        int code = ethos_conflict_resolve(world->turn, NULL, ids[0], (enum ethos_resolution)i, &how,
                                          &world->error);
        assert_error(&world->error, code, ETHOS_CONFLICT);
    }
    assert_int_equal(count_copies(world), 1);
    assert_memory(world, "a\ntheirs\nc\n");
}

static void test_an_unknown_copy_is_not_found(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    past_open(world);
    int code = ethos_conflict_read(world->turn, NULL, "../x", &file, &world->error);
    assert_error(&world->error, code, ETHOS_NOTFOUND);
    assert_string_equal(world->error.text, "no such conflict: ../x");
    assert_string_equal(world->error.hint, "ethos conflicts list shows them");
}

static void test_resolving_without_memory_keeps_the_copy(void **state)
{
    struct world *world = *state;
    int code = ETHOS_OK;
    make_conflict(world);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = resolve(world, ids[0], ETHOS_RESOLVE_BOTH);
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(count_copies(world), code == ETHOS_OK ? 0 : 1);
    }
    assert_memory(world, "a\ntheirs\nc\n\nmine\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_save_over_the_file_it_started_from_is_byte_exact),
        WORLD_TEST(test_a_file_that_moved_meanwhile_is_merged),
        WORLD_TEST(test_the_same_place_changed_twice_keeps_the_file_and_the_whole_copy),
        WORLD_TEST(test_a_dry_run_of_a_save_keeps_no_copy),
        WORLD_TEST(test_a_save_that_asks_for_another_revision_changes_and_keeps_nothing),
        WORLD_TEST(test_a_store_that_keeps_no_copies_refuses_what_cannot_be_merged),
        WORLD_TEST(test_keep_leaves_the_file_and_the_copy_in_history),
        WORLD_TEST(test_what_was_only_seen_is_neither_undone_nor_blamed),
        WORLD_TEST(test_take_makes_the_copy_the_file),
        WORLD_TEST(test_both_adds_the_lines_that_the_file_lacks),
        WORLD_TEST(test_a_dry_run_of_resolving_changes_nothing),
        WORLD_TEST(test_resolving_a_file_of_another_revision_changes_nothing),
        WORLD_TEST(test_an_unknown_copy_is_not_found),
        WORLD_TEST(test_resolving_without_memory_keeps_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
