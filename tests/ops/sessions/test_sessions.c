/*
 * test_sessions.c: sessions.* where the command line cannot ask: null, other surfaces, many sessions.
 */
#include "sessions.h"

static int set_up(void **state)
{
    int code = world_set_up(state);
    if (code == 0)
        make_sessions(*state);
    return code;
}

/* The JSON of an answer; free() it. */
static char *answer(struct world *world, const char *name, const char *args)
{
    struct op_result result;
    json_t *object = parse_args(args);
    world_open(world);
    assert_ok(world, call_op(world, name, object, false, &result));
    json_decref(object);
    char *text = json_dumps(result.json, JSON_COMPACT);
    assert_non_null(text);
    op_result_release(&result);
    return text;
}

static void assert_answer(struct world *world, const char *name, const char *args,
                          const char *expected)
{
    char *text = answer(world, name, args);
    if (!strstr(text, expected))
        fail_msg("%s %s: no %s in %s", name, args, expected, text);
    free(text);
}

static void assert_refused(struct world *world, const char *name, const char *args, int code)
{
    struct op_result result;
    json_t *object = parse_args(args);
    char *before = dump_sessions(world);
    world_open(world);
    int got = call_op(world, name, object, false, &result);
    json_decref(object);
    op_result_release(&result);
    assert_error(&world->error, got, code);
    char *after = dump_sessions(world);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_a_title_is_taken_away_by_null_and_by_nothing_but_what_is_said(void **state)
{
    struct world *world = *state;
    assert_answer(world, "sessions.update", "{\"id\":\"other\",\"title\":\"New\"}",
                  "\"title\":\"New\"");
    assert_refused(world, "sessions.update", "{\"id\":\"other\"}", ETHOS_INVALID);
    assert_refused(world, "sessions.update", "{\"id\":\"other\",\"title\":7}", ETHOS_INVALID);
    assert_answer(world, "sessions.get", "{\"id\":\"other\"}", "\"displayTitle\":\"New\"");
    assert_answer(world, "sessions.update", "{\"id\":\"other\",\"title\":null}", "\"title\":null");
    assert_answer(world, "sessions.get", "{\"id\":\"other\"}",
                  "\"displayTitle\":\"deploy redis deploy\"");
}

static void test_a_title_is_measured_in_utf16_units(void **state)
{
    struct world *world = *state;
    char args[1200] = "{\"id\":\"other\",\"title\":\"";
    for (int i = 0; i < 100; i++)
        strncat(args, "😀", sizeof args - strlen(args) - 1);
    size_t size = strlen(args);
    snprintf(args + size, sizeof args - size, "\"}");
    assert_answer(world, "sessions.update", args, "😀");
    snprintf(args + size, sizeof args - size, "x\"}");
    assert_refused(world, "sessions.update", args, ETHOS_LIMIT);
}

static void test_the_start_of_two_ids_names_none(void **state)
{
    struct world *world = *state;
    assert_refused(world, "sessions.delete", "{\"id\":\"1\"}", ETHOS_INVALID);
    assert_non_null(strstr(world->error.hint, FIRST));
    assert_refused(world, "sessions.delete", "{\"id\":\"2\"}", ETHOS_NOTFOUND);
    assert_answer(world, "sessions.delete", "{\"id\":\"11\"}", "\"messages\":4");
    assert_refused(world, "sessions.get", "{\"id\":\"11\"}", ETHOS_NOTFOUND);
}

static void test_every_row_has_what_the_wire_wants(void **state)
{
    static const char *const strings[] = {"id", "key", "platform", "model", "provider"};
    static const char *const maybe[] = {"personalityId", "parentSessionId", "workingDir", "title",
                                        "displayTitle"};
    static const char *const counts[] = {"inputTokens",         "outputTokens", "cacheReadTokens",
                                         "cacheCreationTokens", "apiCallCount", "compactionCount"};
    struct world *world = *state;
    char *text = answer(world, "sessions.list", "{}");
    json_t *list = json_loads(text, 0, NULL), *row;
    size_t index;
    assert_true(json_is_null(json_object_get(list, "nextCursor")));
    assert_int_equal(json_array_size(json_object_get(list, "items")), 3);
    json_array_foreach (json_object_get(list, "items"), index, row) {
        const json_t *usage = json_object_get(row, "usage");
        for (size_t i = 0; i < COUNT(strings); i++)
            assert_true(json_is_string(json_object_get(row, strings[i])));
        for (size_t i = 0; i < COUNT(maybe); i++)
            assert_non_null(json_object_get(row, maybe[i]));
        for (size_t i = 0; i < COUNT(counts); i++)
            assert_true(json_is_integer(json_object_get(usage, counts[i])));
        assert_true(json_is_number(json_object_get(usage, "estimatedCostUsd")));
        assert_true(json_is_boolean(json_object_get(row, "pinned")));
        assert_int_equal(json_integer_value(json_object_get(row, "version")), 1);
    }
    json_decref(list);
    free(text);
}

/* Of calls that another program stored in a way of its own, none are shown. */
static void test_calls_that_are_no_array_are_null(void **state)
{
    struct world *world = *state;
    const struct ethos_message odd[] = {
        {.role = "assistant", .content = VIEW("one"), .tool_calls = "{\"id\":1}"},
        {.role = "assistant", .content = VIEW("two"), .tool_calls = "nonsense"}};
    struct ethos_sessions *store = open_sessions(world);
    assert_ok(world, store->ops->append(store, EMPTY, odd, 2, 0, &world->error));
    char *text = answer(world, "sessions.get", "{\"id\":\"third\"}");
    json_t *json = json_loads(text, 0, NULL), *row;
    size_t index;
    assert_int_equal(json_array_size(json_object_get(json, "messages")), 2);
    json_array_foreach (json_object_get(json, "messages"), index, row)
        assert_true(json_is_null(json_object_get(row, "toolCalls")));
    json_decref(json);
    free(text);
}

static void test_calls_are_shown_as_the_wire_has_them(void **state)
{
    struct world *world = *state;
    const struct ethos_message odd = {
        .role = "assistant",
        .content = VIEW("one"),
        .tool_calls = "[1,{\"id\":\"a\"},{\"id\":\"b\",\"name\":\"f\",\"input\":[2],\"x\":3}]"};
    struct ethos_sessions *store = open_sessions(world);
    assert_ok(world, store->ops->append(store, EMPTY, &odd, 1, 0, &world->error));
    assert_answer(world, "sessions.get", "{\"id\":\"third\"}",
                  "\"toolCalls\":[{\"id\":\"a\",\"name\":\"\",\"input\":{}},"
                  "{\"id\":\"b\",\"name\":\"f\",\"input\":[2]}]");
}

/* A session that says a word once is found behind one that says it thousands of times. */
static void test_a_quiet_session_is_found_behind_a_talkative_one(void **state)
{
    enum { TALK = 4100 };
    struct world *world = *state;
    struct ethos_sessions *store = open_sessions(world);
    struct ethos_message *talk = calloc(TALK, sizeof *talk);
    char(*times)[32] = calloc(TALK, sizeof *times);
    assert_true(talk && times);
    for (int i = 0; i < TALK; i++) {
        snprintf(times[i], sizeof times[i], "2027-01-01T%02d:%02d:00.000Z", i / 60 % 24, i % 60);
        talk[i] = (struct ethos_message){
            .role = "user", .content = VIEW("redis"), .timestamp = times[i]};
    }
    assert_ok(world,
              store->ops->append(store, EMPTY, talk, TALK, ETHOS_APPEND_KEEP_TIME, &world->error));
    free(talk);
    free(times);
    assert_answer(world, "sessions.list", "{\"query\":\"redis\"}", SECOND);
    assert_answer(world, "sessions.list", "{\"query\":\"redis\",\"personalityId\":\"p\"}", FIRST);
}

static void test_a_query_finds_words_that_are_spread_over_a_session(void **state)
{
    struct world *world = *state;
    char *text = answer(world, "sessions.list", "{\"query\":\"deployment redis look\"}");
    assert_non_null(strstr(text, FIRST));
    assert_null(strstr(text, SECOND));
    free(text);
    text = answer(world, "sessions.list", "{\"query\":\"named deploy\"}");
    assert_non_null(strstr(text, SECOND));
    assert_null(strstr(text, FIRST));
    free(text);
    assert_answer(world, "sessions.list", "{\"query\":\"deployment zebra\"}", "\"items\":[]");
    assert_answer(world, "sessions.list", "{\"query\":\"redis\",\"personalityId\":\"q\"}",
                  "\"items\":[]");
}

/* All in the title, then all in one message, then the rest; never more than were asked for. */
static void test_the_best_come_first_and_no_more_than_the_limit(void **state)
{
    struct world *world = *state;
    struct ethos_sessions *store = open_sessions(world);
    add_session(world, store, "44444444-4444-4444-8444-444444444444", "fourth", "Redis deployed");
    char *text = answer(world, "sessions.list", "{\"query\":\"redis deploy\"}");
    const char *first = strstr(text, "\"4444"), *second = strstr(text, "\"" SECOND),
               *third = strstr(text, "\"" FIRST);
    assert_true(first && second && third && first < second && second < third);
    assert_null(strstr(third + 1, "\"id\":"));
    free(text);
    text = answer(world, "sessions.list", "{\"query\":\"redis deploy\",\"limit\":1}");
    assert_non_null(strstr(text, "\"4444"));
    assert_null(strstr(text, SECOND));
    free(text);
}

static void test_a_query_of_many_words_is_no_error(void **state)
{
    struct world *world = *state;
    char args[1000] = "{\"query\":\"";
    for (int i = 0; i < 100; i++)
        strncat(args, "redis ", sizeof args - strlen(args) - 1);
    size_t size = strlen(args);
    snprintf(args + size, sizeof args - size, "\"}");
    assert_answer(world, "sessions.list", args, SECOND);
    snprintf(args + size, sizeof args - size, "zebra\"}"); // the last one counts, too
    assert_answer(world, "sessions.list", args, "\"items\":[]");
    snprintf(args + size, sizeof args - size, "\"}");
    memset(args + 10 + 62 * 6, '-', size - 10 - 62 * 6); // what is left has no word
    assert_answer(world, "sessions.list", args, SECOND);
}

#define WITH_SESSIONS(function) cmocka_unit_test_setup_teardown(function, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SESSIONS(test_a_title_is_taken_away_by_null_and_by_nothing_but_what_is_said),
        WITH_SESSIONS(test_a_title_is_measured_in_utf16_units),
        WITH_SESSIONS(test_the_start_of_two_ids_names_none),
        WITH_SESSIONS(test_every_row_has_what_the_wire_wants),
        WITH_SESSIONS(test_calls_that_are_no_array_are_null),
        WITH_SESSIONS(test_calls_are_shown_as_the_wire_has_them),
        WITH_SESSIONS(test_a_quiet_session_is_found_behind_a_talkative_one),
        WITH_SESSIONS(test_a_query_finds_words_that_are_spread_over_a_session),
        WITH_SESSIONS(test_the_best_come_first_and_no_more_than_the_limit),
        WITH_SESSIONS(test_a_query_of_many_words_is_no_error),
    };

    return cmocka_run_group_tests_name("ops/sessions", tests, NULL, NULL);
}
