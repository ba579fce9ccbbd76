/*
 * test_history.c: what history tells, versions by name, restoring, forgetting.
 */
#include "base/hash.h"
#include "base/str.h"
#include "fixture.h"

static const struct ethos_target memory = {"memory", NULL, NULL};

/* ---- history -------------------------------------------------------------------------------- */

static void test_every_change_is_told_newest_first(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_history(world, NULL, "");
    past_add(world, "ann", "one");
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "two");
    past_update(world, "bob", ETHOS_ACTION_REPLACE, "two");
    past_update(world, "ann", ETHOS_ACTION_REMOVE, "two");
    past_update(world, "ann", ETHOS_ACTION_DELETE, "");
    assert_history(world, NULL,
                   "ann test delete\nann test remove\nbob test replace\nann test add\n");
}

static int check_first(void *arg, const struct ethos_change *change)
{
    char revision[ETHOS_REVISION_SIZE];
    (void)arg;
    assert_string_equal(change->key, "MEMORY.md");
    assert_string_equal(change->before, "absent");
    hash_revision(VIEW("one\n"), revision);
    assert_string_equal(change->after, revision);
    assert_int_equal(change->bytes_before, 0);
    assert_int_equal(change->bytes_after, 4);
    assert_string_equal(change->source, "tool");
    assert_string_equal(change->session, "s");
    assert_null(change->op_id);
    assert_true(change->diff_whole);
    assert_true(view_contains(change->diff, VIEW("\n+one\n")));
    assert_true(change->number > 0);
    return 7;
}

static void test_a_change_says_who_what_and_from_which_text_to_which(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    assert_int_equal(ethos_history(world->turn, &memory, NULL, check_first, NULL, &world->error),
                     7);
}

static void test_all_updates_of_a_call_are_one_change_and_are_named_in_order(void **state)
{
    struct world *world = *state;
    past_open(world);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"a\"},"
                                       "{\"action\":\"add\",\"content\":\"b\"},"
                                       "{\"action\":\"remove\",\"content\":\"a\"}]"));
    assert_history(world, NULL, "- - add,add,remove\n");
}

static int64_t times[8];
static size_t time_count;

static int note_time(void *arg, const struct ethos_change *change)
{
    (void)arg;
    times[time_count++] = change->time_ms;
    return 0;
}

static void test_a_filter_picks_by_actor_session_source_time_and_number(void **state)
{
    struct world *world = *state;
    struct ethos_filter filter = {0};
    past_open(world);
    past_add(world, "ann", "1");
    past_add(world, "bob", "2");
    past_add(world, "ann", "3");
    time_count = 0;
    assert_ok(world, ethos_history(world->turn, NULL, NULL, note_time, NULL, &world->error));
    assert_int_equal(time_count, 3);
    filter.actor = "ann";
    assert_history(world, &filter, "ann test add\nann test add\n");
    filter.limit = 1;
    assert_history(world, &filter, "ann test add\n");
    filter = (struct ethos_filter){.session = "s"};
    assert_history(world, &filter, "ann test add\nbob test add\nann test add\n");
    filter.session = "t";
    assert_history(world, &filter, "");
    filter = (struct ethos_filter){.source = "test"};
    assert_history(world, &filter, "ann test add\nbob test add\nann test add\n");
    filter.source = "tool";
    assert_history(world, &filter, "ann test add\nbob test add\nann test add\n");
    filter.source = "restore";
    assert_history(world, &filter, "");
    filter = (struct ethos_filter){.since_ms = times[1]};
    assert_history(world, &filter, "ann test add\nbob test add\n");
    filter.until_ms = times[1];
    assert_history(world, &filter, "bob test add\n");
    filter.since_ms = 0;
    assert_history(world, &filter, "bob test add\nann test add\n");
}

static void test_the_first_write_of_a_profile_from_before_is_a_migration(void **state)
{
    struct world *world = *state;
    const struct ethos_target old = {NULL, "global", "USER.md"}, user = {"user", NULL, NULL};
    struct log log = {0};
    past_open(world);
    assert_ok(world, ethos_write(world->turn, &old, NULL, VIEW("old\n"), NULL, &world->error));
    assert_ok(world,
              world_sync(world, "{\"action\":\"add\",\"store\":\"user\",\"content\":\"new\"}"));
    assert_ok(world, ethos_history(world->turn, &user, NULL, past_log, &log, &world->error));
    assert_string_equal(log.text, "- migrate add\n");
}

/* ---- versions ------------------------------------------------------------------------------- */

static void assert_version(struct world *world, const char *name, const char *expected)
{
    struct ethos_file *file = NULL;
    assert_ok(world, ethos_read_version(world->turn, NULL, name, &file, &world->error));
    if (expected)
        assert_string_equal(file->text, expected);
    else
        assert_null(file->text);
    ethos_file_free(file);
}

/* The nth newest change. */
static char named[3][96];

static int note_names(void *arg, const struct ethos_change *change)
{
    size_t *count = arg;
    if (++*count == 1) {
        snprintf(named[0], sizeof named[0], "%llu", (unsigned long long)change->number);
        snprintf(named[1], sizeof named[1], "%s", change->before);
        snprintf(named[2], sizeof named[2], "%s", change->after);
    }
    return 0;
}

static void test_a_version_is_named_by_number_revision_or_its_first_digits(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    char name[128];
    size_t count = 0;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "ann", "two");
    past_update(world, "ann", ETHOS_ACTION_DELETE, "");
    past_add(world, "ann", "three");
    assert_ok(world, ethos_history(world->turn, NULL, NULL, note_names, &count, &world->error));
    assert_version(world, named[0], "three\n");
    snprintf(name, sizeof name, "#%s", named[0]);
    assert_version(world, name, "three\n");
    snprintf(name, sizeof name, "#%d", (int)strtol(named[0], NULL, 10) - 1);
    assert_version(world, name, NULL);
    snprintf(name, sizeof name, "%d", (int)strtol(named[0], NULL, 10) - 2);
    assert_version(world, name, "one\n\ntwo\n");
    assert_version(world, named[2], "three\n");
    snprintf(name, sizeof name, "%.6s", named[2] + 7);
    assert_version(world, name, "three\n");
    snprintf(name, sizeof name, "%.13s", named[2]);
    assert_version(world, name, "three\n");
    for (size_t i = 0; i < 7; i++) {
        static const char *const unknown[] = {"0", "#9999", "zzzzzz", "", "#", "sha256:", "absent"};
        int code = ethos_read_version(world->turn, NULL, unknown[i], &file, &world->error);
        assert_error(&world->error, code, ETHOS_NOTFOUND);
        assert_string_equal(world->error.hint, "ethos memory history lists them");
    }
    snprintf(name, sizeof name, "%.5s", named[2] + 7);
    assert_int_equal(ethos_read_version(world->turn, NULL, name, &file, &world->error),
                     ETHOS_NOTFOUND);
    assert_null(file);
}

static void test_restore_brings_a_version_back_byte_for_byte_as_a_new_one(void **state)
{
    struct world *world = *state;
    const struct ethos_origin origin = past_origin("ann");
    const struct ethos_sync_how how = {.origin = &origin};
    past_open(world);
    past_write(world, VIEW("  odd \r\n\xff\n\n\n"));
    past_write(world, VIEW(""));
    past_update(world, "bob", ETHOS_ACTION_DELETE, "");
    past_write(world, VIEW("new"));
    assert_ok(world, ethos_restore(world->turn, NULL, "#1", &how, &world->error));
    assert_memory_bytes(world, VIEW("  odd \r\n\xff\n\n\n"));
    assert_ok(world, ethos_restore(world->turn, NULL, "#2", NULL, &world->error));
    assert_memory_bytes(world, VIEW(""));
    assert_ok(world, ethos_restore(world->turn, NULL, "#3", &how, &world->error));
    assert_memory(world, NULL);
    assert_ok(world, ethos_restore(world->turn, NULL, "#3", &how, &world->error));
    assert_history(world, NULL,
                   "ann restore restore\n- restore restore\nann restore restore\n"
                   "- - replace\nbob test delete\n- - replace\n- - replace\n");
    assert_int_equal(ethos_restore(world->turn, NULL, "#99", NULL, &world->error), ETHOS_NOTFOUND);
}

static void keep_outcome(void *arg, const struct ethos_outcome *outcome)
{
    char *out = arg;
    size_t used = strlen(out);
    snprintf(out + used, 512 - used, "%d %s|", (int)outcome->kind,
             outcome->diff ? strrchr(outcome->diff, '@') + 2 : "");
}

static void test_a_dry_run_shows_the_difference_and_writes_nothing(void **state)
{
    struct world *world = *state;
    char told[512] = "";
    const struct ethos_sync_how how = {
        .flags = ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF, .each = keep_outcome, .arg = told};
    past_open(world);
    past_write(world, VIEW("a\n"));
    past_write(world, VIEW("b\n"));
    assert_ok(world, ethos_restore(world->turn, NULL, "#1", &how, &world->error));
    assert_ok(world, ethos_undo(world->turn, NULL, NULL, &how, &world->error));
    assert_string_equal(told, "0 -b\n+a\n|0 -b\n+a\n|");
    assert_memory(world, "b\n");
    assert_history(world, NULL, "- - replace\n- - replace\n");
}

/* Only a person's editor can have put it there. */
static void test_a_text_above_the_ceiling_that_stood_before_may_come_back(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    struct str big;
    char revision[ETHOS_REVISION_SIZE];
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    str_init(&big, SIZE_MAX);
    for (int i = 0; i < 60000; i++)
        str_printf(&big, "line %d\n", i);
    assert_int_equal(ethos_write(world->turn, NULL, NULL, str_view(&big), NULL, &world->error),
                     ETHOS_LIMIT);
    assert_ok(world, store->ops->write(store, "personality:tester", "MEMORY.md", NULL,
                                       str_view(&big), NULL, revision, &world->error));
    past_write(world, VIEW("short\n"));
    assert_ok(world, ethos_undo(world->turn, NULL, NULL, NULL, &world->error));
    assert_memory_bytes(world, str_view(&big));
    str_release(&big);
}

/* ---- forgetting ----------------------------------------------------------------------------- */

static int look_for_secret(void *arg, const struct ethos_change *change)
{
    (void)arg;
    assert_false(view_contains(change->diff, VIEW("secret")));
    return 0;
}

static void test_forget_takes_the_text_out_of_file_history_and_copies(void **state)
{
    struct world *world = *state;
    const struct ethos_target note = {NULL, NULL, "note.md"};
    struct ethos_purge purge = {0};
    unsigned conflicts = 0;
    past_open(world);
    past_write(world, VIEW("keep\nthe secret is 42\n"));
    past_write(world, VIEW("keep\n"));
    assert_ok(world,
              ethos_write(world->turn, &note, NULL, VIEW("secret\nplan\n"), NULL, &world->error));
    assert_ok(world, ethos_save(world->turn, NULL, VIEW("kept\n"), VIEW("a secret\n"), NULL,
                                &conflicts, &world->error));
    assert_true(conflicts > 0);
    const struct ethos_sync_how dry = {.flags = ETHOS_SYNC_DRY_RUN};
    for (int i = 0; i < 2; i++) {
        assert_ok(world, ethos_forget(world->turn, NULL,
                                      &(struct ethos_match){.text = VIEW("secret"),
                                                            .flags = ETHOS_MATCH_SUBSTRING},
                                      i == 0 ? &dry : NULL, &purge, &world->error));
        assert_int_equal(purge.lines, 1);
        assert_int_equal(purge.versions, 3);
        assert_int_equal(purge.conflicts, 1);
    }
    assert_int_equal(
        ethos_forget(world->turn, NULL,
                     &(struct ethos_match){.text = VIEW("secret"), .flags = ETHOS_MATCH_SUBSTRING},
                     NULL, &purge, &world->error),
        ETHOS_NOTFOUND);
    assert_ok(world, ethos_history(world->turn, NULL, NULL, look_for_secret, NULL, &world->error));
    assert_version(world, "#1", "keep\n");
    assert_memory(world, "keep\n");
}

static void test_what_is_forgotten_is_one_line_that_is_not_blank(void **state)
{
    struct world *world = *state;
    static const struct ethos_view bad[] = {{"", 0}, {NULL, 0}, {" \t", 2}, {"a\nb", 3}};
    struct ethos_purge purge;
    past_open(world);
    for (size_t i = 0; i < COUNT(bad); i++) {
        int code = ethos_forget(
            world->turn, NULL,
            &(struct ethos_match){.text = bad[i], .flags = ETHOS_MATCH_SUBSTRING}, NULL, &purge,
            &world->error);
        assert_error(&world->error, code, ETHOS_INVALID);
    }
}

/* ---- without history ------------------------------------------------------------------------ */

static int no_change(void *arg, const struct ethos_change *change)
{
    (void)arg, (void)change;
    return 0;
}

static void test_a_provider_without_history_says_so(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    static struct ethos_store_ops bare;
    struct ethos_store *store;
    struct ethos_file *file = NULL;
    struct ethos_purge purge;
    struct ethos_error *error = &world->error;
    assert_ok(world, store_ram.open(&setup, &store, error));
    bare = store_ram;
    bare.history = NULL;
    bare.purge = NULL;
    store->ops = &bare;
    store->capabilities &= ~(uint32_t)ETHOS_STORE_HISTORY;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    assert_int_equal(ethos_history(world->turn, NULL, NULL, no_change, NULL, error),
                     ETHOS_UNSUPPORTED);
    assert_int_equal(ethos_read_version(world->turn, NULL, "1", &file, error), ETHOS_UNSUPPORTED);
    assert_int_equal(ethos_restore(world->turn, NULL, "1", NULL, error), ETHOS_UNSUPPORTED);
    assert_int_equal(ethos_undo(world->turn, NULL, NULL, NULL, error), ETHOS_UNSUPPORTED);
    assert_int_equal(
        ethos_forget(world->turn, NULL,
                     &(struct ethos_match){.text = VIEW("x"), .flags = ETHOS_MATCH_SUBSTRING}, NULL,
                     &purge, error),
        ETHOS_UNSUPPORTED);
    assert_string_equal(error->text, "this backend (ram) cannot purge a text");
}

/* ---- at size -------------------------------------------------------------------------------- */

static struct ethos_store_ops counting_ops;
static size_t walks;

static int counting_history(struct ethos_store *self, const char *scope, const char *key,
                            ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    walks++;
    return store_ram.history(self, scope, key, each, arg, error);
}

/* Fifty diffs of a page must not walk the history a hundred times. */
static void test_a_version_named_by_its_whole_revision_needs_no_walk(void **state)
{
    struct world *world = *state;
    struct ethos_file *file = NULL;
    struct ethos_store *store;
    const struct ethos_setup setup = {.host = &world->host};
    char revision[ETHOS_REVISION_SIZE];
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    counting_ops = store_ram;
    counting_ops.history = counting_history;
    store->ops = &counting_ops;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    past_write(world, VIEW("one\n"));
    past_write(world, VIEW("two\n"));
    hash_revision(VIEW("one\n"), revision);
    walks = 0;
    assert_version(world, revision, "one\n");
    assert_int_equal(walks, 0);
    revision[20] = 0;
    assert_version(world, revision, "one\n");
    assert_int_equal(walks, 1);
    hash_revision(VIEW("three\n"), revision);
    assert_int_equal(ethos_read_version(world->turn, NULL, revision, &file, &world->error),
                     ETHOS_NOTFOUND);
    assert_true(strstr(world->error.text, "no such version"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_change_is_told_newest_first),
        WORLD_TEST(test_a_change_says_who_what_and_from_which_text_to_which),
        WORLD_TEST(test_all_updates_of_a_call_are_one_change_and_are_named_in_order),
        WORLD_TEST(test_a_filter_picks_by_actor_session_source_time_and_number),
        WORLD_TEST(test_the_first_write_of_a_profile_from_before_is_a_migration),
        WORLD_TEST(test_a_version_is_named_by_number_revision_or_its_first_digits),
        WORLD_TEST(test_restore_brings_a_version_back_byte_for_byte_as_a_new_one),
        WORLD_TEST(test_a_dry_run_shows_the_difference_and_writes_nothing),
        WORLD_TEST(test_a_text_above_the_ceiling_that_stood_before_may_come_back),
        WORLD_TEST(test_forget_takes_the_text_out_of_file_history_and_copies),
        WORLD_TEST(test_what_is_forgotten_is_one_line_that_is_not_blank),
        WORLD_TEST(test_a_provider_without_history_says_so),
        WORLD_TEST(test_a_version_named_by_its_whole_revision_needs_no_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
