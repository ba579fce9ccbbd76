/*
 * test_history.c: the operations that look back, over a store in memory.
 */
#include "../../memory/history/fixture.h"

#include "base/json.h"
#include "base/str.h"
#include "ops/op.h"

/* Runs an operation; its JSON as text, or its error. free() it. */
static char *run(struct world *world, const char *name, const char *args, const char *session)
{
    const struct ethos_request request = {
        .personality = "tester", .user = "me", .session = session};
    struct op_result result;
    json_t *object = json_loads(args, 0, NULL);
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = object,
                           .want_json = true,
                           .via = "test"};
    char *text = NULL;
    assert_non_null(object);
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    int code = op_run(op_find(name), &call, &result, &world->error);
    if (code == ETHOS_OK)
        text = json_dumps(result.json, JSON_COMPACT | JSON_ENCODE_ANY);
    else if (asprintf(&text, "%s: %s", ethos_code_name(code), world->error.text) < 0)
        text = NULL;
    op_result_release(&result);
    json_decref(object);
    assert_non_null(text);
    return text;
}

static void assert_run(struct world *world, const char *name, const char *args,
                       const char *expected)
{
    char *text = run(world, name, args, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_holds(struct world *world, const char *name, const char *args, const char *part)
{
    char *text = run(world, name, args, NULL);
    if (!strstr(text, part))
        fail_msg("%s: no %s in %s", name, part, text);
    free(text);
}

static void test_a_write_is_recorded_with_the_session_of_the_request(void **state)
{
    struct world *world = *state;
    past_open(world);
    free(run(world, "memory.add", "{\"content\":\"one\"}", "s-1"));
    free(run(world, "memory.add", "{\"content\":\"two\"}", NULL));
    assert_holds(world, "memory.history", "{\"session\":\"s-1\"}",
                 "\"via\":\"test\",\"actor\":\"owner\",\"session\":\"s-1\"");
    assert_run(world, "memory.history", "{\"session\":\"s-2\"}",
               "{\"items\":[],\"nextCursor\":null}");
    assert_holds(world, "memory.undo", "{\"session\":\"s-1\"}", "\"undone\":[1]");
    assert_memory(world, "two\n");
}

static void test_a_save_tells_which_way_it_came(void **state)
{
    struct world *world = *state;
    past_open(world);
    free(run(world, "memory.save", "{\"content\":\"one\",\"base\":\"\"}", NULL));
    assert_holds(world, "memory.history", "{}", "\"via\":\"test\"");
}

static void test_times_are_checked_and_a_date_holds_its_whole_day(void **state)
{
    struct world *world = *state;
    past_open(world);
    free(run(world, "memory.add", "{\"content\":\"one\"}", NULL));
    assert_run(world, "memory.history", "{\"since\":\"soon\"}",
               "invalid: since: 'soon' is not a valid time");
    assert_run(world, "memory.history", "{\"since\":7}", "invalid: since: must be a time");
    assert_holds(world, "memory.history", "{\"since\":\"2025-11-15\",\"until\":\"2025-11-15\"}",
                 "\"number\":1");
    assert_run(world, "memory.history", "{\"until\":\"2025-11-14\"}",
               "{\"items\":[],\"nextCursor\":null}");
    assert_holds(world, "memory.history", "{\"since\":\"1h\"}", "\"number\":1");
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* The member of a JSON text; a copy. */
static json_t *member_of(char *text, const char *name)
{
    json_t *json = json_loads(text, 0, NULL), *value = json_incref(json_object_get(json, name));
    if (!json)
        fail_msg("%s", text);
    free(text);
    json_decref(json);
    return value;
}

static void test_history_is_told_by_pages_that_join(void **state)
{
    struct world *world = *state;
    char args[128] = "{}";
    size_t seen = 0, pages = 0;
    json_int_t below = 1000;
    past_open(world);
    for (int i = 0; i < 120; i++)
        past_add(world, "ann", i % 2 ? "odd" : "even");
    for (bool more = true; more; pages++) {
        char *text = run(world, "memory.history", args, NULL), *same = strdup(text);
        json_t *items = member_of(text, "items"), *next = member_of(same, "nextCursor"), *row;
        size_t i;
        assert_in_range(json_array_size(items), 1, 50);
        json_array_foreach (items, i, row) {
            json_int_t number = json_integer_value(json_object_get(row, "number"));
            assert_true(number < below);
            below = number;
        }
        seen += json_array_size(items);
        more = json_is_string(next);
        if (more)
            snprintf(args, sizeof args, "{\"cursor\":\"%s\"}", json_string_value(next));
        if (pages == 0)
            past_add(world, "ann", "between the pages");
        json_decref(items);
        json_decref(next);
    }
    assert_int_equal(seen, 120);
    assert_int_equal(pages, 3);
    assert_holds(world, "memory.history", "{\"cursor\":\"x\"}", "cursor: not one of this list");
    assert_holds(world, "memory.history", "{\"cursor\":\"999.0\"}", "cursor: not one of this list");
    assert_holds(world, "memory.history", "{\"limit\":1001}", "limit: must be from 1 to 1000");
}

static void test_blame_is_told_by_pages(void **state)
{
    struct world *world = *state;
    struct str text;
    past_open(world);
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < 1500; i++)
        str_printf(&text, "line %d\n", i);
    past_write(world, str_view(&text));
    json_t *lines = member_of(run(world, "memory.blame", "{}", NULL), "lines");
    assert_int_equal(json_array_size(lines), 1000);
    json_decref(lines);
    assert_holds(world, "memory.blame", "{}", "\"nextCursor\":\"1001\"");
    assert_holds(world, "memory.blame", "{\"cursor\":\"1001\"}", "\"line\":1500");
    assert_holds(world, "memory.blame", "{\"cursor\":\"1001\"}", "\"nextCursor\":null");
    str_release(&text);
}

/* What all lines replaced is what was there, once: the answer grows with the text, not with its square. */
static void test_blame_of_a_text_whose_every_line_changed_is_not_quadratic(void **state)
{
    struct world *world = *state;
    struct str old, new;
    past_open(world);
    str_init(&old, SIZE_MAX);
    str_init(&new, SIZE_MAX);
    for (int i = 0; i < 4000; i++) {
        str_printf(&old, "a line of memory with the number %d\n", i);
        str_printf(&new, "- a line of memory with the number %d\n", i);
    }
    past_write(world, str_view(&old));
    past_write(world, str_view(&new));
    char *text = run(world, "memory.blame", "{\"limit\":10000}", NULL);
    assert_true(strlen(text) < 4000 * 1000 + 4 * new.size);
    free(text);
    str_release(&old);
    str_release(&new);
}

/* ---- diffs that are shown as they come ------------------------------------------------------- */

static void count_rows(void *arg, const json_t *event)
{
    size_t index, *count = arg;
    json_t *row;
    json_array_foreach (json_object_get(event, "items"), index, row) {
        assert_true(json_string_length(json_object_get(row, "diff")) > 0);
        ++*count;
    }
}

static void test_long_diffs_of_a_history_are_not_held_together(void **state)
{
    enum { TEXTS = 26, LINES = 100000 };
    struct world *world = *state;
    const struct ethos_request request = {.personality = "tester", .user = "me"};
    json_t *args = json_pack("{s:b}", "diff", 1);
    struct op_result result;
    struct str text;
    size_t rows = 0;
    past_open(world);
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < TEXTS; i++) {
        str_clear(&text);
        for (int line = 0; line < LINES; line++)
            str_printf(&text, "%c\n", 'a' + i);
        past_write(world, str_view(&text));
    }
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = args,
                           .tell = count_rows,
                           .progress_arg = &rows,
                           .via = "test"};
    op_result_init(&result);
    alloc_peak_reset();
    assert_int_equal(op_run(op_find("memory.history"), &call, &result, &world->error), ETHOS_OK);
    count_rows(&rows, result.json);
    assert_int_equal(rows, TEXTS);
    assert_in_range(alloc_peak(), 0, 40 * text.size);
    op_result_release(&result);
    json_decref(args);
    str_release(&text);
}

/* Allocations of a page of blame. */
static unsigned long cost_of_blame(struct world *world)
{
    alloc_fail_at(0);
    free(run(world, "memory.blame", "{}", NULL));
    return alloc_count();
}

static void test_lines_of_two_changes_in_turn_cost_what_lines_of_one_do(void **state)
{
    struct world *world = *state;
    struct str old, new;
    past_open(world);
    str_init(&old, SIZE_MAX);
    str_init(&new, SIZE_MAX);
    for (int i = 0; i < 1000; i++) {
        str_printf(&old, "line %d\n", i);
        str_printf(&new, "line %d%s\n", i, i % 2 ? " of later" : "");
    }
    past_write(world, str_view(&old));
    unsigned long one = cost_of_blame(world);
    past_write(world, str_view(&new));
    assert_in_range(cost_of_blame(world), one, 2 * one);
    str_release(&old);
    str_release(&new);
}

static void test_forgetting_reaches_every_scope_unless_one_is_named(void **state)
{
    struct world *world = *state;
    past_open(world);
    for (int i = 0; i < 2; i++) {
        free(run(world, "memory.add", "{\"content\":\"secret\"}", NULL));
        free(run(world, "memory.add", "{\"content\":\"secret\",\"store\":\"user\"}", NULL));
        if (i == 0)
            assert_holds(world, "memory.forget", "{\"text\":\"secret\",\"store\":\"user\"}",
                         "\"scopes\":[{\"scope\":\"user:me\",\"name\":\"profile of user me\","
                         "\"lines\":1,\"versions\":1,\"blobs\":0,\"conflicts\":0,\"names\":0}]");
    }
    assert_holds(world, "memory.forget", "{\"text\":\"secret\"}", "\"lines\":3");
    assert_run(world, "memory.forget", "{\"text\":\"secret\"}",
               "notfound: nothing contains this text");
}

static void test_purging_is_for_the_owner_alone(void **state)
{
    const struct op *forget = op_find("memory.forget");
    (void)state;
    assert_non_null(forget);
    assert_false(op_allowed(forget, OP_RIGHT(OP_OWNER) - 1));
    assert_false(op_allowed(forget, OP_RIGHTS_AGENT));
    assert_true(op_allowed(forget, OP_RIGHT(OP_OWNER)));
    assert_null(op_find("store.purge"));
}

static void test_a_conflict_is_found_in_whichever_scope_it_is(void **state)
{
    struct world *world = *state;
    past_open(world);
    free(run(world, "memory.write", "{\"content\":\"theirs\",\"store\":\"user\"}", NULL));
    assert_holds(world, "memory.save",
                 "{\"content\":\"mine\",\"base\":\"base\",\"store\":\"user\"}",
                 "\"hint\":\"your text is saved: ethos conflicts show 2-USER.md\"");
    assert_holds(world, "conflicts.list", "{}", "\"id\":\"2-USER.md\",\"scope\":\"user:me\"");
    assert_holds(world, "conflicts.show", "{\"id\":\"2-USER.md\"}", "\"content\":\"mine\"");
    assert_holds(world, "conflicts.show", "{\"id\":\"2-USER.md\"}", "\"revision\":\"");
    assert_run(world, "conflicts.resolve", "{\"id\":\"2-USER.md\"}",
               "invalid: choose exactly one of keep, take and both");
    assert_holds(world, "conflicts.resolve", "{\"id\":\"2-USER.md\",\"take\":true}",
                 "\"resolved\":\"2-USER.md\"");
    assert_run(world, "conflicts.list", "{}",
               "{\"conflicts\":[],\"events\":[],\"nextCursor\":null}");
}

/* ---- events --------------------------------------------------------------------------------- */

static struct ethos_store_ops telling_ops;
static int64_t event_ms;

static int tell_event(struct ethos_store *self, const char *scope, const char *key,
                      ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    const struct ethos_change change = {.number = 5,
                                        .time_ms = event_ms,
                                        .key = "plan.md",
                                        .actions = "external",
                                        .source = "web-editor",
                                        .actor = "external",
                                        .event = "dropped",
                                        .before = "sha256:1",
                                        .after = "absent"};
    (void)self, (void)key, (void)error;
    return strcmp(scope, "personality:tester") == 0 ? each(arg, &change) : ETHOS_OK;
}

static void test_events_of_the_last_thirty_days_come_with_the_command_that_undoes_them(void **state)
{
    struct world *world = *state;
    const struct ethos_setup setup = {.host = &world->host};
    struct ethos_store *store;
    assert_ok(world, store_ram.open(&setup, &store, &world->error));
    telling_ops = store_ram;
    telling_ops.history = tell_event;
    store->ops = &telling_ops;
    world_open_with(world, (struct ethos_options){.store = store});
    event_ms = NOW_MS;
    assert_holds(world, "conflicts.list", "{}",
                 "\"undo\":\"ethos memory undo -p tester --key plan.md --actor external "
                 "--since " NOW_ISO " --until " NOW_ISO "\"");
    event_ms = NOW_MS - INT64_C(31) * 86400000;
    assert_run(world, "conflicts.list", "{}",
               "{\"conflicts\":[],\"events\":[],\"nextCursor\":null}");
    assert_holds(world, "conflicts.list", "{\"all\":true}", "\"event\":\"dropped\"");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_write_is_recorded_with_the_session_of_the_request),
        WORLD_TEST(test_a_save_tells_which_way_it_came),
        WORLD_TEST(test_times_are_checked_and_a_date_holds_its_whole_day),
        WORLD_TEST(test_history_is_told_by_pages_that_join),
        WORLD_TEST(test_blame_is_told_by_pages),
        WORLD_TEST(test_blame_of_a_text_whose_every_line_changed_is_not_quadratic),
        WORLD_TEST(test_long_diffs_of_a_history_are_not_held_together),
        WORLD_TEST(test_lines_of_two_changes_in_turn_cost_what_lines_of_one_do),
        WORLD_TEST(test_forgetting_reaches_every_scope_unless_one_is_named),
        WORLD_TEST(test_purging_is_for_the_owner_alone),
        WORLD_TEST(test_a_conflict_is_found_in_whichever_scope_it_is),
        WORLD_TEST(test_events_of_the_last_thirty_days_come_with_the_command_that_undoes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
