/*
 * test_dashboard.c: the operations that a page asks for: home, health, insights, graph, old texts.
 */
#include "../../memory/world.h"

#include "../../store/rows_ram.h"
#include "base/json.h"
#include "ops/memory/events.h"
#include "ops/op.h"
#include "store/store.h"

#define DAY_MS 86400000LL

static int64_t clock_ms = NOW_MS;

static int64_t read_clock(void *arg)
{
    (void)arg;
    return clock_ms;
}

static void open_home(struct world *world)
{
    clock_ms = NOW_MS;
    world->host.now_ms = read_clock;
    world_put(world, "home/config.yaml", "personality: p\nuser.id: me\n");
    world_open(world);
}

/* The answer of an operation, owned; NULL and the error after a failure. */
static json_t *run(struct world *world, const char *name, const char *args, int *out_code)
{
    static const struct ethos_request request = {.workspace = ""};
    struct op_result result;
    json_t *object = json_loads(args, 0, NULL);
    struct op_call call = {.ethos = world->ethos,
                           .request = &request,
                           .args = object,
                           .want_json = true,
                           .via = "test"};
    assert_non_null(object);
    op_result_init(&result);
    memset(&world->error, 0, sizeof world->error);
    *out_code = op_run(op_find(name), &call, &result, &world->error);
    json_t *json = json_incref(result.json);
    if (*out_code == ETHOS_OK && result.code != ETHOS_OK)
        fail_msg("%s: %s", name, result.error.text);
    op_result_release(&result);
    json_decref(object);
    return json;
}

static json_t *ask(struct world *world, const char *name, const char *args)
{
    int code;
    json_t *json = run(world, name, args, &code);
    assert_ok(world, code);
    return json;
}

static void assert_refused(struct world *world, const char *name, const char *args, int expected)
{
    int code;
    json_decref(run(world, name, args, &code));
    assert_error(&world->error, code, expected);
}

/* A member of the answer, by a path of names and indices separated by dots, as JSON. */
static void assert_member(const json_t *json, const char *path, const char *expected)
{
    char name[64];
    const json_t *at = json;
    for (const char *rest = path; *rest;) {
        size_t size = strcspn(rest, ".");
        snprintf(name, sizeof name, "%.*s", (int)size, rest);
        at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(name, NULL, 10))
                               : json_object_get(at, name);
        rest += size + (rest[size] == '.');
    }
    char *text = at ? json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("missing");
    if (strcmp(text, expected) != 0)
        fail_msg("%s: %s instead of %s", path, text, expected);
    free(text);
}

static void assert_answer(struct world *world, const char *name, const char *args, const char *path,
                          const char *expected)
{
    json_t *json = ask(world, name, args);
    assert_member(json, path, expected);
    json_decref(json);
}

static void add(struct world *world, const char *text)
{
    json_t *args = json_pack("{s:s}", "content", text);
    char *dump = json_dumps(args, 0);
    json_decref(ask(world, "memory.add", dump));
    free(dump);
    json_decref(args);
}

/* ---- the home ------------------------------------------------------------------------------- */

static void test_a_home_is_new_until_something_is_kept(void **state)
{
    struct world *world = *state;
    char path[160];
    open_home(world);
    json_t *home = ask(world, "meta.home", "{}");
    snprintf(path, sizeof path, "\"%s\"", world->home);
    assert_member(home, "home", path);
    assert_member(home, "personality", "\"p\"");
    assert_member(home, "user", "\"me\"");
    assert_member(home, "workspace", "null");
    assert_member(home, "firstRun", "true");
    assert_member(home, "agents.0.name", "\"claude-code\"");
    assert_member(home, "agents.0.installed", "false");
    assert_member(home, "agents.0.command", "\"ethos install claude-code\"");
    json_decref(home);
    add(world, "x");
    assert_answer(world, "meta.home", "{}", "firstRun", "false");
}

static void test_by_hand_counts_too(void **state)
{
    struct world *world = *state;
    open_home(world);
    world_put(world, "home/users/somebody/USER.md", "x\n");
    assert_answer(world, "meta.home", "{}", "firstRun", "false");
}

/* ---- a database ------------------------------------------------------------------------------ */

/* A handle of another machine: a home of its own, the same database. */
static void move_to(struct world *world, struct rows_ram *db, const char *home)
{
    struct ethos_store *store;
    snprintf(world->home, sizeof world->home, "%s/%s", world->temp.path, home);
    assert_ok(world, store_rows_new(&world->host, rows_ram_open(db), 1000, &store, &world->error));
    world->host.now_ms = read_clock;
    world_open_with(world, (struct ethos_options){.store = store});
}

static void test_what_another_machine_remembers_is_not_new_here(void **state)
{
    struct world *world = *state;
    struct rows_ram *db = rows_ram_new(&world->host);
    move_to(world, db, "one");
    assert_answer(world, "meta.home", "{}", "firstRun", "true");
    const struct ethos_request ann = {.personality = "tester", .user = "ann"};
    const struct ethos_update updates[] = {
        {.action = ETHOS_ACTION_ADD, .text = VIEW("x")},
        {.action = ETHOS_ACTION_ADD, .store = "user", .text = VIEW("y")}};
    world_turn(world, &ann);
    assert_ok(world, ethos_sync(world->turn, updates, 2, NULL, &world->error));
    move_to(world, db, "other");
    assert_answer(world, "meta.home", "{}", "firstRun", "false");
    assert_answer(world, "personalities.list", "{}", "items.1.id", "\"tester\"");
    assert_answer(world, "personalities.get", "{\"id\":\"tester\"}", "personality.id",
                  "\"tester\"");
    assert_refused(world, "personalities.get", "{\"id\":\"nobody\"}", ETHOS_NOTFOUND);
    assert_answer(world, "users.list", "{}", "users.0.userId", "\"ann\"");
    assert_answer(world, "users.list", "{}", "users.0.platform", "null");
    assert_answer(world, "memory.insights", "{}", "writes.1.scope", "\"user:ann\"");
    rows_ram_hooks(db)->down = ETHOS_BUSY;
    assert_answer(world, "meta.home", "{}", "firstRun", "false");
    assert_answer(world, "personalities.list", "{}", "items.0.id", "\"default\"");
    world_close(world);
    rows_ram_free(db);
}

static void test_health_is_an_answer_whatever_it_is(void **state)
{
    struct world *world = *state;
    open_home(world);
    assert_answer(world, "meta.health", "{}", "ok", "true");
    world_put(world, "home/users/identity-map.json", "{");
    json_t *health = ask(world, "meta.health", "{}");
    assert_member(health, "ok", "false");
    assert_member(health, "findings.0.subject", "\"users/identity-map.json\"");
    json_decref(health);
}

static void assert_health_event(struct world *world, json_t **last, const char *expected)
{
    unsigned type;
    json_t *event = op_event_health(world->ethos, last, &type);
    assert_string_equal(op_event_types[type].name, "health.changed");
    char *text = event ? json_dumps(event, JSON_COMPACT) : strdup("none");
    assert_string_equal(text, expected);
    free(text);
    json_decref(event);
}

static void test_health_is_told_when_a_finding_takes_the_place_of_another(void **state)
{
    struct world *world = *state;
    json_t *last = NULL;
    open_home(world);
    assert_health_event(world, &last, "none"); // the first look
    assert_health_event(world, &last, "none");
    world_put(world, "home/users/identity-map.json", "{");
    assert_health_event(world, &last, "{\"type\":\"health.changed\",\"ok\":false,\"findings\":1}");
    assert_health_event(world, &last, "none");
    world_put(world, "home/users/identity-map.json", "[]");
    world_put(world, "home/approval.yaml", "[");
    assert_health_event(world, &last, "{\"type\":\"health.changed\",\"ok\":false,\"findings\":1}");
    json_decref(last);
}

static void test_what_other_programs_ask_for_is_not_there(void **state)
{
    struct world *world = *state;
    open_home(world);
    json_t *can = ask(world, "meta.capabilities", "{}");
    assert_member(can, "capabilities.byok", "false");
    assert_member(can, "capabilities.voice_stt", "false");
    assert_member(can, "capabilities.voice_tts", "false");
    assert_member(can, "capabilities.markdown", "false"); // this program does not link it
    json_decref(can);
    assert_answer(world, "memory.pendingList", "{}", "pending", "[]");
    assert_refused(world, "memory.pendingApprove", "{\"id\":\"x\"}", ETHOS_NOTFOUND);
    assert_refused(world, "memory.pendingReject", "{\"id\":\"x\"}", ETHOS_NOTFOUND);
}

/* ---- insights ------------------------------------------------------------------------------- */

static void test_a_series_has_its_start_and_the_end_of_each_day(void **state)
{
    struct world *world = *state;
    open_home(world);
    clock_ms = NOW_MS - 50 * DAY_MS;
    add(world, "0123456789"); // before
    clock_ms = NOW_MS - 2 * DAY_MS;
    add(world, "a");
    add(world, "b");
    clock_ms = NOW_MS;
    add(world, "c");
    json_t *json = ask(world, "memory.insights", "{\"days\":10}");
    assert_member(json, "budget", "20000");
    assert_member(json, "files.0.label", "\"About you\"");
    assert_member(json, "files.0.series", "[{\"time\":\"2025-11-05T09:46:40.123Z\",\"bytes\":0}]");
    assert_member(json, "files.1.key", "\"MEMORY.md\"");
    assert_member(json, "files.1.bytes", "20");
    assert_member(json, "files.1.chars", "20");
    assert_member(json, "files.1.series",
                  "[{\"time\":\"2025-11-05T09:46:40.123Z\",\"bytes\":11},"
                  "{\"time\":\"2025-11-13T09:46:40.123Z\",\"bytes\":17},"
                  "{\"time\":\"2025-11-15T09:46:40.123Z\",\"bytes\":20}]");
    assert_member(json, "writes",
                  "[{\"day\":\"2025-11-13\",\"source\":\"tool\",\"via\":\"test\",\"scope\":"
                  "\"personality:p\",\"count\":2},{\"day\":\"2025-11-15\",\"source\":\"tool\","
                  "\"via\":\"test\",\"scope\":\"personality:p\",\"count\":1}]");
    assert_member(json, "notes", "{\"total\":0,\"stale\":0}");
    json_decref(json);
    assert_refused(world, "memory.insights", "{\"days\":0}", ETHOS_INVALID);
    assert_refused(world, "memory.insights", "{\"days\":367}", ETHOS_INVALID);
}

static void test_writes_of_every_scope_are_counted(void **state)
{
    struct world *world = *state;
    open_home(world);
    world_personality(world, "other");
    assert_ok(world,
              world_sync(world, "[{\"action\":\"add\",\"content\":\"x\"},{\"action\":\"add\","
                                "\"store\":\"user\",\"content\":\"y\"}]"));
    json_t *json = ask(world, "memory.insights", "{}");
    assert_member(json, "writes.0.scope", "\"personality:other\"");
    assert_member(json, "writes.1.scope", "\"user:me\"");
    json_decref(json);
}

/* ---- the graph ------------------------------------------------------------------------------ */

static void test_links_lead_to_notes_by_any_of_their_names(void **state)
{
    struct world *world = *state;
    open_home(world);
    world_put(world, "home/personalities/p/MEMORY.md", "- [First](a.md) - x\n");
    world_put(world, "home/personalities/p/a.md",
              "[[b]] [[b.md]] [[The Second]] [[own-name]] [x](c.md) [[gone]] [[a]]\n");
    world_put(world, "home/personalities/p/b.md",
              "---\nname: own-name\nmetadata:\n  title: The Second\n  type: project\n  created: "
              "2025-11-05\n---\n\n[[First]]\n");
    world_put(world, "home/personalities/p/c.md", "alone\n");
    json_t *json = ask(world, "notes.graph", "{\"scope\":\"personality\"}");
    assert_member(json, "scope", "\"personality:p\"");
    assert_member(json, "nodes.0.key", "\"a.md\"");
    assert_member(json, "nodes.0.listed", "true");
    assert_member(json, "nodes.1",
                  "{\"key\":\"b.md\",\"title\":\"The Second\",\"type\":\"project\",\"stale\":null,"
                  "\"listed\":false,\"age\":10}");
    assert_member(json, "links",
                  "[{\"from\":\"a.md\",\"to\":\"b.md\",\"broken\":false},"
                  "{\"from\":\"a.md\",\"to\":\"c.md\",\"broken\":false},"
                  "{\"from\":\"a.md\",\"to\":\"gone\",\"broken\":true},"
                  "{\"from\":\"b.md\",\"to\":\"a.md\",\"broken\":false}]");
    json_decref(json);
    json = ask(world, "notes.graph", "{}"); // no workspace is meant
    assert_member(json, "scope", "\"global\"");
    json_decref(json);
    json = ask(world, "notes.graph", "{\"scope\":\"personality\",\"limit\":1}");
    assert_member(json, "nodes.0.key", "\"a.md\"");
    assert_member(json, "links.0.to", "\"b.md\""); // which is on the next page
    assert_member(json, "nextCursor", "\"a.md/b.md\"");
    json_decref(json);
    json = ask(world, "notes.graph", "{\"scope\":\"personality\",\"cursor\":\"a.md\"}");
    assert_member(json, "nodes.0.key", "\"b.md\"");
    assert_member(json, "nodes.1.key", "\"c.md\"");
    assert_member(json, "links", "[{\"from\":\"b.md\",\"to\":\"a.md\",\"broken\":false}]");
    assert_member(json, "nextCursor", "null");
    json_decref(json);
    assert_refused(world, "notes.graph", "{\"scope\":\"personality\",\"cursor\":\"x\"}",
                   ETHOS_INVALID);
    json = ask(world, "notes.list", "{\"scope\":\"personality\",\"limit\":2}");
    assert_member(json, "notes.1.key", "\"b.md\"");
    assert_member(json, "nextCursor", "\"b.md/c.md\"");
    json_decref(json);
    json = ask(world, "notes.list", "{\"scope\":\"personality\",\"cursor\":\"b.md\"}");
    assert_member(json, "notes.0.key", "\"c.md\"");
    assert_member(json, "nextCursor", "null");
    json_decref(json);
    assert_refused(world, "notes.list", "{\"scope\":\"personality\",\"cursor\":\"x\"}",
                   ETHOS_INVALID);
}

/* ---- texts of the past ---------------------------------------------------------------------- */

#define HASH_OF_ONE "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"

static void test_a_blob_is_a_text_that_some_file_had(void **state)
{
    struct world *world = *state;
    open_home(world);
    add(world, "one");
    add(world, "two");
    assert_answer(world, "memory.historyBlob", "{\"blob\":\"" HASH_OF_ONE "\"}", "content",
                  "\"one\\n\"");
    assert_answer(world, "memory.historyBlob",
                  "{\"blob\":\"" HASH_OF_ONE "\",\"scope\":\"user:me\"}", "content", "null");
    assert_answer(world, "memory.historyBlob", "{\"blob\":\"../MEMORY\"}", "content", "null");
    assert_answer(world, "memory.historyBlob", "{\"blob\":\"\"}", "content", "null");
}

static void test_a_file_is_read_as_it_was(void **state)
{
    struct world *world = *state;
    open_home(world);
    add(world, "one");
    add(world, "two");
    assert_answer(world, "memory.get", "{\"at\":\"1\"}", "content", "\"one\\n\"");
    assert_answer(world, "memory.get", "{\"at\":\"" HASH_OF_ONE "\"}", "revision",
                  "\"sha256:" HASH_OF_ONE "\"");
    assert_answer(world, "memory.get", "{\"at\":\"2\"}", "content", "\"one\\n\\ntwo\\n\"");
    assert_refused(world, "memory.get", "{\"at\":\"9\"}", ETHOS_NOTFOUND);
    world_put(world, "home/personalities/p/MEMORY.md", "by hand\n");
    json_decref(ask(world, "memory.get", "{\"at\":\"1\"}")); // looking records nothing
    assert_refused(world, "memory.get", "{\"at\":\"3\"}", ETHOS_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_home_is_new_until_something_is_kept),
        WORLD_TEST(test_by_hand_counts_too),
        WORLD_TEST(test_what_another_machine_remembers_is_not_new_here),
        WORLD_TEST(test_health_is_an_answer_whatever_it_is),
        WORLD_TEST(test_health_is_told_when_a_finding_takes_the_place_of_another),
        WORLD_TEST(test_what_other_programs_ask_for_is_not_there),
        WORLD_TEST(test_a_series_has_its_start_and_the_end_of_each_day),
        WORLD_TEST(test_writes_of_every_scope_are_counted),
        WORLD_TEST(test_links_lead_to_notes_by_any_of_their_names),
        WORLD_TEST(test_a_blob_is_a_text_that_some_file_had),
        WORLD_TEST(test_a_file_is_read_as_it_was),
    };
    return cmocka_run_group_tests_name("ops/dashboard", tests, NULL, NULL);
}
