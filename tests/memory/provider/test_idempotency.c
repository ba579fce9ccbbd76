/*
 * test_idempotency.c: an operation id: a repeat does nothing and gives the first report.
 */
#include "memory/provider/idempotency.h"

#include "../world.h"
#include "core/memory/update.h"
#include "store/store.h"

#define MEMORY "home/personalities/default/MEMORY.md"

/* ---- digest and receipt --------------------------------------------------------------------- */

static void digest(const struct ethos_update *updates, size_t count, char out[HASH_HEX_SIZE])
{
    assert_int_equal(once_digest(updates, count, "global", out), ETHOS_OK);
}

#define UPDATE(action, key, text, if_match)                                                        \
    {                                                                                              \
        ETHOS_ACTION_##action, NULL, "global", key, text, if_match                                 \
    }

static void test_no_two_lists_of_updates_have_the_same_digest(void **state)
{
    static const struct ethos_update lists[][2] = {
        {UPDATE(ADD, "a.md", VIEW("text"), NULL)},
        {UPDATE(REPLACE, "a.md", VIEW("text"), NULL)},
        {UPDATE(REMOVE, "a.md", VIEW("text"), NULL)},
        {UPDATE(ADD, "b.md", VIEW("text"), NULL)},
        {UPDATE(ADD, "a.mdt", VIEW("ext"), NULL)},
        {UPDATE(ADD, "a.md", VIEW("text"), "absent")},
        {UPDATE(ADD, "a.md", VIEW("text"), "")},
        {UPDATE(ADD, "a.md", VIEW("text6:absent"), NULL)},
        {UPDATE(ADD, "a.md", VIEW(""), NULL)},
        {UPDATE(DELETE, "a.md", {0}, NULL)},
        {UPDATE(DELETE, "a.md", VIEW(""), NULL)},
        {UPDATE(ADD, "a.md", VIEW("te"), NULL), UPDATE(ADD, "a.md", VIEW("xt"), NULL)},
        {UPDATE(ADD, "a.md", VIEW("xt"), NULL), UPDATE(ADD, "a.md", VIEW("te"), NULL)},
        {UPDATE(ADD, "a.md", VIEW("text"), NULL), UPDATE(ADD, "a.md", VIEW("text"), NULL)},
    };
    char digests[COUNT(lists)][HASH_HEX_SIZE];
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        digest(lists[i], lists[i][1].scope ? 2 : 1, digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
    }
}

static void test_the_digest_is_that_of_one_scope(void **state)
{
    struct ethos_update updates[] = {UPDATE(ADD, "a.md", VIEW("1"), NULL),
                                     UPDATE(ADD, "a.md", VIEW("2"), NULL),
                                     UPDATE(ADD, "a.md", VIEW("3"), NULL)};
    const struct ethos_update own[] = {updates[0], updates[2]};
    char first[HASH_HEX_SIZE], second[HASH_HEX_SIZE];
    (void)state;
    updates[1].scope = "user:u";
    digest(updates, 3, first);
    digest(own, 2, second);
    assert_string_equal(first, second);
    updates[1].text = VIEW("other");
    digest(updates, 3, second);
    assert_string_equal(first, second);
}

static void test_a_receipt_gives_back_what_was_reported(void **state)
{
    static const struct update_effect effects[] = {
        {.changed = true, .applied = 3, .removals = 2, .matched = 1},
        {.changed = false, .applied = 0, .removals = 1, .matched = 0},
        {.changed = true, .applied = UINT64_MAX, .removals = UINT64_MAX, .matched = UINT64_MAX},
    };
    static const uint64_t chars[] = {12, 0, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < COUNT(effects); i++) {
        char receipt[ETHOS_RECEIPT_SIZE];
        struct ethos_outcome outcome = {.warning = "of another time", .diff = "x", .key = "a.md"};
        once_receipt(&effects[i], chars[i], receipt);
        once_recall(receipt, &outcome);
        assert_int_equal(outcome.kind,
                         effects[i].changed ? ETHOS_OUTCOME_WRITTEN : ETHOS_OUTCOME_UNCHANGED);
        assert_true(outcome.chars == chars[i] && outcome.applied == effects[i].applied &&
                    outcome.removals == effects[i].removals &&
                    outcome.matched == effects[i].matched);
        assert_true(!outcome.warning && !outcome.diff);
        assert_string_equal(outcome.key, "a.md");
    }
}

static void test_a_damaged_receipt_counts_as_a_write_of_nothing(void **state)
{
    static const char *const receipts[] = {"", "w", "x y z", "\xff", "w w w w w"};
    (void)state;
    for (size_t i = 0; i < COUNT(receipts); i++) {
        struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_FAILED, .chars = 7};
        once_recall(receipts[i], &outcome);
        assert_int_equal(outcome.kind, ETHOS_OUTCOME_WRITTEN);
        assert_true(outcome.chars == 0 && outcome.applied == 0 && outcome.matched == 0);
    }
}

/* ---- syncs ---------------------------------------------------------------------------------- */

/* Everything a report is made of, in lines. */
struct report {
    char text[4096];
    size_t warnings;
};

static void collect(void *arg, const struct ethos_outcome *outcome)
{
    static const char *const kinds[] = {"written", "unchanged", "conflict", "failed"};
    struct report *report = arg;
    size_t used = strlen(report->text);
    snprintf(report->text + used, sizeof report->text - used, "%s %s %s %s %d %d %d %d%s\n",
             kinds[outcome->kind], outcome->scope, outcome->key, outcome->revision,
             (int)outcome->chars, (int)outcome->applied, (int)outcome->removals,
             (int)outcome->matched, outcome->diff ? " with diff" : "");
    report->warnings += outcome->warning != NULL;
}

static int sync_how(struct world *world, const char *id, const char *json, unsigned flags,
                    struct report *report)
{
    const struct ethos_origin origin = {.via = "test", .op_id = id};
    const struct ethos_sync_how how = {
        .origin = &origin, .flags = flags, .each = collect, .arg = report};
    *report = (struct report){0};
    memset(&world->error, 0, sizeof world->error);
    return ethos_sync_json(world->turn, view_str(json), &how, &world->error);
}

static int sync_as(struct world *world, const char *id, const char *json, struct report *report)
{
    return sync_how(world, id, json, 0, report);
}

static void add(struct world *world, const char *text)
{
    char json[256];
    snprintf(json, sizeof json, "{\"action\":\"add\",\"content\":\"%s\"}", text);
    assert_ok(world, world_sync(world, json));
}

static const char several[] =
    "[{\"action\":\"add\",\"content\":\"one\"},"
    "{\"action\":\"add\",\"content\":\"two\"},"
    "{\"action\":\"remove\",\"key\":\"note.md\",\"content\":\"line\"},"
    "{\"action\":\"remove\",\"key\":\"same.md\",\"content\":\"nowhere\"},"
    "{\"action\":\"delete\",\"key\":\"gone.md\"},"
    "{\"action\":\"delete\",\"key\":\"never.md\"},"
    "{\"action\":\"replace\",\"store\":\"user\",\"content\":\"caf\xc3\xa9\"}]";

static void assert_first_report_again(struct world *world)
{
    struct report first, again;
    world_personality(world, "default");
    assert_ok(world, world_sync(world, "[{\"action\":\"replace\",\"key\":\"note.md\",\"content\":"
                                       "\"a line\\nkept\\nanother line\"},"
                                       "{\"action\":\"replace\",\"key\":\"same.md\","
                                       "\"content\":\"same\"},"
                                       "{\"action\":\"replace\",\"key\":\"gone.md\","
                                       "\"content\":\"here\"}]"));
    assert_ok(world, sync_as(world, "op", several, &first));
    assert_non_null(strstr(first.text, "written personality:default note.md sha256:"));
    assert_non_null(strstr(first.text, " 5 1 1 2\n"));
    assert_non_null(strstr(first.text, "written personality:default gone.md absent 0 1 0 0\n"));
    assert_non_null(strstr(first.text, "unchanged personality:default never.md absent 0 0 0 0\n"));
    assert_ok(world, sync_as(world, "op", several, &again));
    assert_string_equal(again.text, first.text);
    assert_prefetch(world, "## About You\n\ncaf\xc3\xa9\n\n## Memory\n\none\n\ntwo");

    add(world, "since then");
    assert_ok(world, world_sync(world, "{\"action\":\"delete\",\"key\":\"same.md\"}"));
    assert_ok(world, sync_as(world, "op", several, &again));
    assert_string_equal(again.text, first.text);
    assert_ok(world, sync_how(world, "op", several, ETHOS_SYNC_DIFF, &again));
    assert_string_equal(again.text, first.text);
    assert_int_equal(again.warnings, 0);
    assert_prefetch(world, "## About You\n\ncaf\xc3\xa9\n\n## Memory\n\none\n\ntwo\n\nsince then");
}

static void test_a_repeat_does_nothing_and_gives_the_first_report(void **state)
{
    assert_first_report_again(*state);
}

static struct ethos_store *open_ram(struct world *world)
{
    struct ethos_store *store;
    const struct ethos_setup setup = {.host = &world->host};
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    return store;
}

static void test_a_repeat_is_the_same_over_any_store(void **state)
{
    struct world *world = *state;
    world_open_with(world, (struct ethos_options){.store = open_ram(world)});
    assert_first_report_again(world);
}

static void test_another_process_knows_the_operation_too(void **state)
{
    struct world *world = *state;
    struct report first, again;
    world_personality(world, "default");
    assert_ok(world, sync_as(world, "op", several, &first));
    world_open(world);
    world_personality(world, "default");
    assert_ok(world, sync_as(world, "op", several, &again));
    assert_string_equal(again.text, first.text);
}

static void test_other_updates_under_the_same_id_are_refused(void **state)
{
    static const char *const others[] = {
        "{\"action\":\"add\",\"content\":\"two\"}",
        "{\"action\":\"replace\",\"content\":\"one\"}",
        "{\"action\":\"add\",\"key\":\"note.md\",\"content\":\"one\"}",
        "{\"action\":\"add\",\"content\":\"one\",\"if_match\":\"absent\"}",
        "[{\"action\":\"add\",\"content\":\"one\"},{\"action\":\"add\",\"content\":\"two\"}]",
    };
    struct world *world = *state;
    struct report report;
    world_personality(world, "default");
    assert_ok(world, sync_as(world, "op", "{\"action\":\"add\",\"content\":\"one\"}", &report));
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_error(&world->error, sync_as(world, "op", others[i], &report), ETHOS_DENIED);
        assert_string_equal(world->error.text, "operation id used for other updates: op");
        assert_true(strncmp(report.text, "failed ", 7) == 0);
    }
    assert_file(world, MEMORY, "one\n");
    // the same, said in another way
    assert_ok(world, sync_as(world, "op",
                             "[{\"content\":\"one\",\"action\":\"add\",\"scope\":\"personality\","
                             "\"key\":\"MEMORY.md\"}]",
                             &report));
    assert_file(world, MEMORY, "one\n");
}

static void test_a_conflict_does_not_use_the_id_up(void **state)
{
    static const char json[] = "{\"action\":\"add\",\"content\":\"one\",\"if_match\":\"absent\"}";
    struct world *world = *state;
    struct report first, again;
    world_personality(world, "default");
    add(world, "in the way");
    assert_error(&world->error, sync_as(world, "op", json, &first), ETHOS_CONFLICT);
    world_unlink(world, MEMORY);
    assert_ok(world, sync_as(world, "op", json, &first));
    assert_file(world, MEMORY, "one\n");
    assert_ok(world, sync_as(world, "op", json, &again)); // though the revision moved, by ourselves
    assert_string_equal(again.text, first.text);
    assert_file(world, MEMORY, "one\n");
}

static void test_scopes_that_failed_are_tried_again_and_the_others_are_not(void **state)
{
    static const char json[] =
        "[{\"action\":\"add\",\"content\":\"one\"},"
        "{\"action\":\"add\",\"scope\":\"global\",\"key\":\"MEMORY.md\",\"content\":\"two\","
        "\"if_match\":\"absent\"}]";
    struct world *world = *state;
    struct report first, again;
    world_personality(world, "default");
    world_put(world, "home/MEMORY.md", "in the way\n");
    assert_error(&world->error, sync_as(world, "op", json, &first), ETHOS_CONFLICT);
    assert_non_null(strstr(first.text, "written personality:default "));
    assert_non_null(strstr(first.text, "conflict global "));
    world_unlink(world, "home/MEMORY.md");
    assert_ok(world, sync_as(world, "op", json, &again));
    *strchr(first.text, '\n') = 0;
    assert_true(strncmp(again.text, first.text, strlen(first.text)) == 0);
    assert_non_null(strstr(again.text, "written global "));
    assert_file(world, MEMORY, "one\n");
    assert_file(world, "home/MEMORY.md", "two\n");
}

static void test_a_dry_run_neither_knows_nor_remembers_operations(void **state)
{
    struct world *world = *state;
    struct report report;
    world_personality(world, "default");
    assert_ok(world, sync_how(world, "op", "{\"action\":\"add\",\"content\":\"other\"}",
                              ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF, &report));
    assert_false(world_exists(world, "home"));
    assert_ok(world, sync_as(world, "op", "{\"action\":\"add\",\"content\":\"one\"}", &report));
    assert_ok(world, sync_how(world, "op", "{\"action\":\"add\",\"content\":\"other\"}",
                              ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF, &report));
    assert_non_null(strstr(report.text, " 1 0 0 with diff\n"));
    assert_file(world, MEMORY, "one\n");
}

static void test_what_the_ceiling_drops_is_archived_once(void **state)
{
    struct world *world = *state;
    struct report first, again;
    enum { LINES = 8192 };
    char *big = malloc(64 * LINES + 1);
    assert_non_null(big);
    for (int i = 0; i < LINES; i++)
        snprintf(big + 64 * i, 65, "%063d\n", i);
    world_put(world, MEMORY, big);
    free(big);
    world_personality(world, "default");
    assert_ok(world, sync_as(world, "op", "{\"action\":\"add\",\"content\":\"one\"}", &first));
    char *archive = temp_read(&world->temp, "home/personalities/default/memory-archive.md", NULL);
    char *text = temp_read(&world->temp, MEMORY, NULL);
    assert_non_null(archive);
    assert_ok(world, sync_as(world, "op", "{\"action\":\"add\",\"content\":\"one\"}", &again));
    assert_string_equal(again.text, first.text);
    assert_file(world, "home/personalities/default/memory-archive.md", archive);
    assert_file(world, MEMORY, text);
    free(archive);
    free(text);
}

/* ---- the id --------------------------------------------------------------------------------- */

static void test_the_id_may_stand_in_the_json_or_come_with_the_call(void **state)
{
    static const char in_json[] = "{\"updates\":[{\"action\":\"add\",\"content\":\"one\"}],"
                                  "\"opId\":\"op\"}";
    struct world *world = *state;
    struct report first, again;
    world_personality(world, "default");
    assert_ok(world, sync_as(world, NULL, in_json, &first));
    assert_ok(world, sync_as(world, "op", in_json, &again));
    assert_string_equal(again.text, first.text);
    assert_ok(world, sync_as(world, "op", "{\"action\":\"add\",\"content\":\"one\"}", &again));
    assert_string_equal(again.text, first.text);
    assert_ok(world, sync_as(world, NULL,
                             "{\"action\":\"add\",\"content\":\"one\",\"op_id\":\"op\"}", &again));
    assert_string_equal(again.text, first.text);
    assert_file(world, MEMORY, "one\n");
    assert_error(&world->error, sync_as(world, "other", in_json, &again), ETHOS_INVALID);
    assert_string_equal(again.text, "");
    assert_ok(world, ethos_sync_json(world->turn, view_str(in_json), NULL, &world->error));
    assert_file(world, MEMORY, "one\n");
}

static void test_a_malformed_id_is_refused_by_every_kind_of_sync(void **state)
{
    static const char update[] = "{\"action\":\"add\",\"content\":\"one\"}";
    char longest[ETHOS_MAX_OPID + 2];
    const char *const ids[] = {"", "a b", "a/b", "a\n", "\xc3\xa9", "a\"", longest};
    struct world *world = *state;
    struct report report;
    memset(longest, 'x', sizeof longest);
    longest[ETHOS_MAX_OPID + 1] = 0;
    world_personality(world, "default");
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_error(&world->error, sync_as(world, ids[i], update, &report), ETHOS_INVALID);
        assert_error(&world->error, sync_as(world, ids[i], "[]", &report), ETHOS_INVALID);
        assert_error(&world->error, sync_how(world, ids[i], update, ETHOS_SYNC_DRY_RUN, &report),
                     ETHOS_INVALID);
    }
    assert_false(world_exists(world, "home"));
    longest[ETHOS_MAX_OPID] = 0;
    assert_ok(world, sync_as(world, longest, update, &report));
    assert_ok(world, sync_as(world, longest, update, &report));
    assert_ok(world, sync_as(world, "Az09_.:-", update, &report));
    assert_file(world, MEMORY, "one\n\none\n");
}

static void test_a_byte_exact_write_takes_no_id(void **state)
{
    struct world *world = *state;
    const struct ethos_origin origin = {.op_id = "op"};
    const struct ethos_sync_how how = {.origin = &origin};
    world_personality(world, "default");
    int code = ethos_write(world->turn, NULL, NULL, VIEW("text"), &how, &world->error);
    assert_error(&world->error, code, ETHOS_UNSUPPORTED);
    assert_false(world_exists(world, "home"));
}

/* ---- backends that cannot ------------------------------------------------------------------- */

static void test_a_store_that_keeps_no_ids_refuses_before_anything_is_touched(void **state)
{
    struct world *world = *state;
    struct report report;
    struct ethos_store *store = open_ram(world);
    store->capabilities &= ~(uint32_t)ETHOS_STORE_ONCE;
    world_open_with(world, (struct ethos_options){.store = store});
    world_personality(world, "default");
    assert_error(&world->error, sync_as(world, "op", several, &report), ETHOS_UNSUPPORTED);
    assert_prefetch(world, NULL);
    assert_ok(world, sync_as(world, NULL, several, &report));
}

static int never_prefetch(struct ethos_provider *self, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections,
                          size_t count, struct ethos_error *error)
{
    (void)self, (void)context, (void)how, (void)sections, (void)count, (void)error;
    return ETHOS_OK;
}

static int never_sync(struct ethos_provider *self, const struct ethos_context *context,
                      const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    (void)self, (void)context, (void)updates, (void)count, (void)error;
    return how->origin && how->origin->op_id ? ETHOS_INTERNAL : ETHOS_OK;
}

static void never_close(struct ethos_provider *self)
{
    (void)self;
}

static void test_a_provider_that_keeps_no_ids_is_not_given_any(void **state)
{
    static const struct ethos_provider_ops ops = {.abi = ETHOS_ABI,
                                                  .name = "plain",
                                                  .close = never_close,
                                                  .prefetch = never_prefetch,
                                                  .sync = never_sync};
    struct world *world = *state;
    struct report report;
    struct ethos_provider provider = {.ops = &ops, .capabilities = ETHOS_PROVIDER_DRY_RUN};
    world_open_with(world, (struct ethos_options){.provider = &provider});
    world_personality(world, "default");
    assert_error(&world->error, sync_as(world, "op", several, &report), ETHOS_UNSUPPORTED);
    assert_ok(world, sync_as(world, NULL, several, &report));
    assert_ok(world, sync_how(world, "op", several, ETHOS_SYNC_DRY_RUN, &report));
    world_close(world);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void test_running_out_of_memory_at_any_point_never_does_it_twice(void **state)
{
    static const char json[] = "{\"action\":\"add\",\"content\":\"one\"}";
    struct world *world = *state;
    struct report report;
    int code = ETHOS_OK;
    world_personality(world, "default");
    add(world, "zero");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = sync_as(world, "op", json, &report);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = sync_as(world, "op", json, &report);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_file(world, MEMORY, "zero\n\none\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_two_lists_of_updates_have_the_same_digest),
        cmocka_unit_test(test_the_digest_is_that_of_one_scope),
        cmocka_unit_test(test_a_receipt_gives_back_what_was_reported),
        cmocka_unit_test(test_a_damaged_receipt_counts_as_a_write_of_nothing),
        WORLD_TEST(test_a_repeat_does_nothing_and_gives_the_first_report),
        WORLD_TEST(test_a_repeat_is_the_same_over_any_store),
        WORLD_TEST(test_another_process_knows_the_operation_too),
        WORLD_TEST(test_other_updates_under_the_same_id_are_refused),
        WORLD_TEST(test_a_conflict_does_not_use_the_id_up),
        WORLD_TEST(test_scopes_that_failed_are_tried_again_and_the_others_are_not),
        WORLD_TEST(test_a_dry_run_neither_knows_nor_remembers_operations),
        WORLD_TEST(test_what_the_ceiling_drops_is_archived_once),
        WORLD_TEST(test_the_id_may_stand_in_the_json_or_come_with_the_call),
        WORLD_TEST(test_a_malformed_id_is_refused_by_every_kind_of_sync),
        WORLD_TEST(test_a_byte_exact_write_takes_no_id),
        WORLD_TEST(test_a_store_that_keeps_no_ids_refuses_before_anything_is_touched),
        WORLD_TEST(test_a_provider_that_keeps_no_ids_is_not_given_any),
        WORLD_TEST(test_running_out_of_memory_at_any_point_never_does_it_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
