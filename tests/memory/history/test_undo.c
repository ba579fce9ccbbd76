/*
 * test_undo.c: taking changes back, the newest and those in the middle.
 *
 * ETHOS_UNDO_EDITS is how many random edits are undone (100 unless set).
 */
#include "base/str.h"
#include "fixture.h"
#include "memory/history/undo.h"

static int undo(struct world *world, const struct ethos_filter *filter)
{
    const struct ethos_origin origin = past_origin("owner");
    const struct ethos_sync_how how = {.origin = &origin};
    memset(&world->error, 0, sizeof world->error);
    return ethos_undo(world->turn, NULL, filter, &how, &world->error);
}

static int undo_actor(struct world *world, const char *actor)
{
    const struct ethos_filter filter = {.actor = actor};
    return undo(world, &filter);
}

/* ---- the newest ----------------------------------------------------------------------------- */

static void test_undo_takes_back_the_newest_change_and_says_which(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "bob", "two");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, "one\n");
    assert_history(world, NULL, "owner undo restore undoes 2\nbob test add\nann test add\n");
}

static void test_undo_twice_walks_back_two_changes_and_ends_with_nothing_to_undo(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "ann", "two");
    past_add(world, "ann", "three");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, "one\n\ntwo\n");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, "one\n");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, NULL);
    int code = undo(world, NULL);
    assert_error(&world->error, code, ETHOS_NOTFOUND);
    assert_string_equal(world->error.text, "MEMORY.md: nothing to undo");
}

static void test_a_change_after_an_undo_is_undone_first(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "ann", "two");
    assert_ok(world, undo(world, NULL));
    past_add(world, "ann", "three");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, "one\n");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, NULL);
}

static void test_what_was_undone_comes_back_with_restore_which_can_be_undone(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "ann", "two");
    assert_ok(world, undo(world, NULL));
    assert_ok(world, ethos_restore(world->turn, NULL, "#2", NULL, &world->error));
    assert_memory(world, "one\n\ntwo\n");
    assert_ok(world, undo(world, NULL));
    assert_memory(world, "one\n");
}

static void test_a_deletion_is_undone(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_write(world, VIEW("odd\r\n\n"));
    past_update(world, "ann", ETHOS_ACTION_DELETE, "");
    assert_ok(world, undo(world, NULL));
    assert_memory_bytes(world, VIEW("odd\r\n\n"));
}

/* ---- in the middle -------------------------------------------------------------------------- */

static void test_one_actor_s_changes_are_taken_out_of_what_others_wrote(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_add(world, "ann", "from ann");
    past_add(world, "bot", "from bot");
    past_add(world, "ann", "more from ann");
    past_add(world, "bot", "more from bot");
    past_add(world, "ann", "the last of ann");
    assert_ok(world, undo_actor(world, "bot"));
    assert_memory(world, "from ann\n\nmore from ann\n\nthe last of ann\n");
    assert_int_equal(undo_actor(world, "bot"), ETHOS_NOTFOUND);
    assert_int_equal(undo_actor(world, "nobody"), ETHOS_NOTFOUND);
    assert_ok(world, undo_actor(world, "ann"));
    assert_memory(world, NULL);
}

static void test_a_removal_in_the_middle_is_undone(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_write(world, VIEW("a\nb\nc\nd\ne\nf\ng\n"));
    past_update(world, "bot", ETHOS_ACTION_REMOVE, "b");
    past_add(world, "ann", "h");
    assert_ok(world, undo_actor(world, "bot"));
    assert_memory(world, "a\nb\nc\nd\ne\nf\ng\n\nh\n");
}

static void test_later_changes_in_the_same_lines_are_a_conflict_and_nothing_is_written(void **state)
{
    struct world *world = *state;
    past_open(world);
    past_write(world, VIEW("a\nb\nc\n"));
    past_update(world, "bot", ETHOS_ACTION_REPLACE, "a\nB of the bot\nc");
    past_update(world, "ann", ETHOS_ACTION_REPLACE, "a\nB of ann\nc");
    int code = undo_actor(world, "bot");
    assert_error(&world->error, code, ETHOS_CONFLICT);
    assert_string_equal(world->error.text,
                        "MEMORY.md: later changes stand in the same lines as change #2");
    assert_memory(world, "a\nB of ann\nc\n");
    assert_history(world, NULL, "ann test replace\nbot test replace\n- - replace\n");
}

static int64_t newest_ms;

static int note_newest(void *arg, const struct ethos_change *change)
{
    (void)arg;
    newest_ms = change->time_ms;
    return 1;
}

static void test_undo_by_time_and_session(void **state)
{
    struct world *world = *state;
    struct ethos_filter filter = {0};
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "ann", "two");
    ethos_history(world->turn, NULL, NULL, note_newest, NULL, NULL);
    past_add(world, "ann", "three");
    filter.since_ms = filter.until_ms = newest_ms;
    assert_ok(world, undo(world, &filter));
    assert_memory(world, "one\n\nthree\n");
    filter = (struct ethos_filter){.session = "s", .limit = 1};
    assert_ok(world, undo(world, &filter));
    assert_memory(world, "one\n");
    filter.limit = 0;
    assert_ok(world, undo(world, &filter));
    assert_memory(world, NULL);
}

/* ---- against a moving file ------------------------------------------------------------------ */

/* A store in front of the ram whose text changes once behind the back of whoever writes. */
static struct ethos_store_ops moving_ops;
static int moves, moved;

static int moving_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                         size_t count, ethos_edit_fn *edit, void *arg,
                         const struct ethos_origin *origin, struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_text text = {0};
    const struct ethos_read_how whole = {0, 0};
    if (origin && origin->undoes && moves-- > 0) {
        const struct ethos_origin other = {.actor = "other"};
        struct str more;
        store_ram.read(self, scope, "MEMORY.md", &whole, &text, NULL);
        str_init(&more, SIZE_MAX);
        str_printf(&more, "meanwhile %d\n\n%s", ++moved, text.data ? text.data : "");
        store_ram.write(self, scope, "MEMORY.md", NULL, str_view(&more), &other, revision, NULL);
        str_release(&more);
        free(text.data);
    }
    return store_ram.update(self, scope, edits, count, edit, arg, origin, error);
}

static void open_moving(struct world *world)
{
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    moving_ops = store_ram;
    moving_ops.update = moving_update;
    store->ops = &moving_ops;
    world->host.now_ms = past_now;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
    moved = 0;
}

static void test_undo_holds_only_for_the_text_it_was_made_from(void **state)
{
    struct world *world = *state;
    open_moving(world);
    past_add(world, "ann", "one");
    past_add(world, "bot", "two");
    past_add(world, "ann", "three");
    moves = 1;
    assert_ok(world, undo_actor(world, "bot"));
    assert_memory(world, "meanwhile 1\n\none\n\nthree\n");
    moves = 1;
    assert_ok(world, undo(world, NULL)); // the newest when it was called, not when it is done
    assert_memory(world, "meanwhile 2\n\none\n\nthree\n");
}

static void test_what_is_written_while_it_goes_on_stays(void **state)
{
    struct world *world = *state;
    const struct ethos_filter all = {.since_ms = 1};
    open_moving(world);
    past_add(world, "ann", "one");
    past_add(world, "bot", "two");
    past_add(world, "ann", "three");
    moves = 3;
    assert_ok(world, undo(world, &all));
    assert_memory(world, "meanwhile 3\n\nmeanwhile 2\n\nmeanwhile 1\n");
}

/* ---- at size -------------------------------------------------------------------------------- */

/* A store in front of the ram that counts what is asked of it. */
static struct ethos_store_ops counting_ops;
static size_t versions, walks;

static int counting_version(struct ethos_store *self, const char *scope, const char *key,
                            const char *revision, struct ethos_text *out_text,
                            struct ethos_error *error)
{
    versions++;
    return store_ram.version(self, scope, key, revision, out_text, error);
}

static int counting_history(struct ethos_store *self, const char *scope, const char *key,
                            ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    walks++;
    return store_ram.history(self, scope, key, each, arg, error);
}

static void open_counting(struct world *world)
{
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    world->host.now_ms = past_now;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    counting_ops = store_ram;
    counting_ops.version = counting_version;
    counting_ops.history = counting_history;
    store->ops = &counting_ops;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "tester");
}

static void add_entries(struct world *world, const char *actor, size_t from, size_t count)
{
    char text[32];
    for (size_t i = from; i < from + count; i++) {
        snprintf(text, sizeof text, "entry %zu", i);
        past_add(world, actor, text);
    }
}

static void test_many_changes_need_one_walk_and_one_version(void **state)
{
    struct world *world = *state;
    const struct ethos_filter filter = {.actor = "bot"};
    open_counting(world);
    past_add(world, "ann", "one");
    add_entries(world, "bot", 0, 200);
    versions = walks = 0;
    assert_ok(world, undo(world, &filter));
    assert_memory(world, "one\n");
    assert_int_equal(walks, 1);
    assert_in_range(versions, 0, 1);
}

static void test_changes_among_those_of_others_need_no_more_versions(void **state)
{
    struct world *world = *state;
    struct str expected;
    open_counting(world);
    str_init(&expected, SIZE_MAX);
    for (size_t i = 0; i < 60; i++) {
        add_entries(world, "ann", 2 * i, 1);
        add_entries(world, "bot", 2 * i + 1, 1);
        str_printf(&expected, "%sentry %zu\n", i ? "\n" : "", 2 * i);
    }
    versions = walks = 0;
    assert_ok(world, undo_actor(world, "bot"));
    assert_memory(world, expected.data);
    assert_int_equal(walks, 1);
    assert_in_range(versions, 0, 2);
    str_release(&expected);
}

static void test_many_files_need_no_walk_each(void **state)
{
    struct world *world = *state;
    const struct ethos_filter filter = {.since_ms = 1};
    const struct ethos_sync_how how = {0};
    char key[32];
    open_counting(world);
    for (size_t i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "n%zu.md", i);
        const struct ethos_target target = {NULL, "personality", key};
        assert_ok(world, ethos_write(world->turn, &target, NULL, VIEW("a\n"), NULL, &world->error));
        assert_ok(world, ethos_write(world->turn, &target, NULL, VIEW("b\n"), NULL, &world->error));
    }
    versions = walks = 0;
    assert_ok(world, undo_all(world->turn, "personality:tester", &filter, &how, &world->error));
    assert_in_range(walks, 1, 3);
    assert_in_range(versions, 0, 80);
    const struct ethos_target last = {NULL, "personality", "n39.md"};
    struct ethos_file *file = NULL;
    assert_ok(world, ethos_read(world->turn, &last, &file, &world->error));
    assert_string_equal(file->revision, "absent");
    ethos_file_free(file);
}

/* ---- many ----------------------------------------------------------------------------------- */

static unsigned long long seed = 20251115;

static size_t pick(size_t below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(seed >> 33) % below;
}

/* A random edit of the kinds people and agents make; now and then byte soup. */
static void edit_at_random(struct world *world, size_t number)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_printf(&text, "entry %zu word%zu", number, pick(20));
    switch (pick(8)) {
    case 0:
        past_update(world, "ann", ETHOS_ACTION_REMOVE, strchr(text.data, 'w'));
        break;
    case 1:
        past_update(world, "bob", ETHOS_ACTION_REPLACE, text.data);
        break;
    case 2:
        past_update(world, "bob", ETHOS_ACTION_DELETE, "");
        break;
    case 3:
        str_clear(&text);
        for (size_t size = pick(200); size > 0; size--)
            str_addc(&text, pick(9) ? (char)(pick(255) + 1) : '\n');
        past_write(world, str_view(&text));
        break;
    default:
        past_add(world, "ann", text.data);
    }
    str_release(&text);
}

static void test_random_edits_each_undone_give_back_every_earlier_text(void **state)
{
    struct world *world = *state;
    const char *wanted = getenv("ETHOS_UNDO_EDITS");
    size_t edits = wanted ? strtoul(wanted, NULL, 10) : 100, kept = 0;
    struct ethos_file **texts = calloc(edits + 1, sizeof *texts);
    assert_non_null(texts);
    past_open(world);
    assert_ok(world, ethos_read(world->turn, NULL, &texts[kept++], &world->error));
    for (size_t i = 0; kept <= edits; i++) {
        struct ethos_file *file = NULL;
        edit_at_random(world, i);
        assert_ok(world, ethos_read(world->turn, NULL, &file, &world->error));
        if (strcmp(file->revision, texts[kept - 1]->revision) != 0)
            texts[kept++] = file;
        else
            ethos_file_free(file); // nothing changed: no version
    }
    while (--kept > 0) {
        const struct ethos_file *before = texts[kept - 1];
        assert_ok(world, undo(world, NULL));
        assert_memory_bytes(world, view_of(before->text, before->size));
    }
    print_message("# undone: %zu edits, every text byte for byte\n", edits);
    assert_int_equal(undo(world, NULL), ETHOS_NOTFOUND);
    for (size_t i = 0; i <= edits; i++)
        ethos_file_free(texts[i]);
    free(texts);
}

static void test_undo_without_memory_changes_nothing(void **state)
{
    struct world *world = *state;
    int code = ETHOS_OK;
    past_open(world);
    past_add(world, "ann", "one");
    past_add(world, "bot", "two");
    past_add(world, "ann", "three");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = undo_actor(world, "bot");
        alloc_fail_at(0);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_memory(world, code == ETHOS_OK ? "one\n\nthree\n" : "one\n\ntwo\n\nthree\n");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_undo_takes_back_the_newest_change_and_says_which),
        WORLD_TEST(test_undo_twice_walks_back_two_changes_and_ends_with_nothing_to_undo),
        WORLD_TEST(test_a_change_after_an_undo_is_undone_first),
        WORLD_TEST(test_what_was_undone_comes_back_with_restore_which_can_be_undone),
        WORLD_TEST(test_a_deletion_is_undone),
        WORLD_TEST(test_one_actor_s_changes_are_taken_out_of_what_others_wrote),
        WORLD_TEST(test_a_removal_in_the_middle_is_undone),
        WORLD_TEST(test_later_changes_in_the_same_lines_are_a_conflict_and_nothing_is_written),
        WORLD_TEST(test_undo_by_time_and_session),
        WORLD_TEST(test_undo_holds_only_for_the_text_it_was_made_from),
        WORLD_TEST(test_what_is_written_while_it_goes_on_stays),
        WORLD_TEST(test_many_changes_need_one_walk_and_one_version),
        WORLD_TEST(test_changes_among_those_of_others_need_no_more_versions),
        WORLD_TEST(test_many_files_need_no_walk_each),
        WORLD_TEST(test_random_edits_each_undone_give_back_every_earlier_text),
        WORLD_TEST(test_undo_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
