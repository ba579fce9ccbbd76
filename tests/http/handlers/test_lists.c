/*
 * test_lists.c: lists over HTTP: whatever a home holds, an answer has a page, and the pages together have
 * every row once.
 */
#include "../handler_calls.h"

#include "http/handlers/stable_calls.h"
#include "ops/result_types.h"

/* ---- the table --------------------------------------------------------------------------------- */

/* Operations whose answer has an array and neither limit nor cursor, and what bounds the array. */
static const struct {
    const char *op, *why;
} bounded[] = {
    {"memory.prefetch", "the sections of a prompt"},
    {"memory.list", "the files of a prompt"},
    {"memory.search", "limit, 20 by default: best first"},
    {"memory.chunks.search", "topK, 5 by default: best first"},
    {"search.all", "limit, 20 by default: best first"},
    {"memory.recall", "limit, 10 by default: best first"},
    {"recall.index", "the scopes of the home"},
    {"sessions.search", "limit, 20 by default: best first"},
    {"sessions.get", "limit, 1000 by default; previous and next are its cursors"},
    {"memory.forget", "a report: scopes and files that were purged, at most 200 lines"},
    {"memory.insights", "days"},
    {"memory.pendingList", "200: what waits longer is not listed"},
    {"pending.list", "what waits, 200 in each scope at most"},
    {"memory.merge", "the texts that are given"},
    {"channel.status", "the platforms there are, and 512 messages that were not sent"},
    {"channel.messages", "limit, 20 by default: the last ones"},
    {"meta.home", "the agents that are known"},
    {"markdown.render", "the text that is given"},
    {"store.info", "what a store can do"},
    {"store.gather", "the texts that are named"},
    {"store.swap", "the edits that are given"},
    {"store.history", "1000 changes; after and skip are its cursor"},
    {"workspaces.where", "the folders of one workspace, 100 at most"},
    {"sessions.export", "a document: one conversation, 32 MiB at most"},
};

/* Reports of writes: what became of each file, 1,000 at most. */
static bool is_report(const struct op *op)
{
    return op->effect & OP_WRITES;
}

static const char *reason_for(const struct op *op)
{
    for (size_t i = 0; i < COUNT(bounded); i++)
        if (strcmp(bounded[i].op, op->name) == 0)
            return bounded[i].why;
    return NULL;
}

/* Whether the answer itself has a member that is an array, however deep the rows are. */
static bool has_array(const char *form)
{
    int depth = 0;
    for (const char *at = form; *at; at++) {
        if (*at == '[' && depth <= 1)
            return true;
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
    }
    return false;
}

static bool has_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    return false;
}

static void test_every_operation_with_a_list_has_a_limit_and_a_cursor(void **state)
{
    size_t lists = 0;
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        const char *form = answer_form(op), *why = reason_for(op);
        if (!shape_served(op) || !form)
            continue;
        bool paged = has_arg(op, "limit") && has_arg(op, "cursor") && strstr(form, "nextCursor");
        bool grows = has_array(form) && !is_report(op);
        if (grows && !paged && !why)
            fail_msg("%s: its answer has an array, and it has no limit, cursor or nextCursor",
                     op->name);
        if (why && paged)
            fail_msg("%s: has pages; take it out of the table of this test", op->name);
        lists += paged;
    }
    assert_true(lists >= 15);
    for (size_t i = 0; i < COUNT(bounded); i++)
        if (strncmp(bounded[i].op, "markdown.", 9) != 0) // only the server's own table has it
            assert_non_null(op_find(bounded[i].op));
}

/* ---- many rows --------------------------------------------------------------------------------- */

#define MANY 1203

static struct answer *api(struct world *world, const char *path, const char *const *query)
{
    sent_query = query;
    struct answer *answer = request(world, HTTP_GET, path, "", browser);
    sent_query = NULL;
    if (answer->status != 200)
        fail_msg("%s: %u %s", path, answer->status, answer->text);
    return answer;
}

/* How many rows the arrays of an answer have together; `members` ends with NULL. */
static size_t count_rows(const json_t *json, const char *const *members)
{
    size_t count = 0;
    for (; *members; members++) {
        assert_true(json_is_array(json_object_get(json, *members)));
        count += json_array_size(json_object_get(json, *members));
    }
    return count;
}

/* A set of all rows, by their JSON without what may differ from one question to the next. */
static void note_rows(const json_t *json, const char *const *members, json_t *seen)
{
    size_t index;
    json_t *row;
    for (; *members; members++) {
        json_array_foreach (json_object_get(json, *members), index, row) {
            char *text = json_dumps(row, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
            if (json_object_get(seen, text))
                fail_msg("a row came twice: %s", text);
            json_object_set_new(seen, text, json_true());
            free(text);
        }
    }
}

/* Walks the pages of a list of `total` rows; without a limit there are `page` of them at first. */
static void assert_pages(struct world *world, const char *path, const char *const *more,
                         const char *const *members, size_t total, size_t page)
{
    char limit[32], cursor[512];
    const char *query[6] = {NULL};
    size_t used = 0, pages = 0;
    json_t *seen = json_object();
    for (; more && more[used]; used++)
        query[used] = more[used];
    struct answer *answer = api(world, path, query);
    assert_int_equal(count_rows(answer->json, members), page);
    assert_int_equal(json_is_string(json_object_get(answer->json, "nextCursor")), page < total);
    snprintf(limit, sizeof limit, "limit=%zu", total / 3 + 1);
    query[used] = limit;
    for (bool going = true; going && pages < 5; pages++) {
        answer = api(world, path, query);
        note_rows(answer->json, members, seen);
        const json_t *next = json_object_get(answer->json, "nextCursor");
        going = json_is_string(next);
        snprintf(cursor, sizeof cursor, "cursor=%s", going ? json_string_value(next) : "");
        query[used + 1] = cursor;
    }
    assert_int_equal(pages, total < 3 ? total : 3);
    assert_int_equal(json_object_size(seen), total);
    query[used + 1] = "cursor=no page ended so";
    sent_query = query;
    answer = request(world, HTTP_GET, path, "", browser);
    sent_query = NULL;
    bool store = strncmp(path, "/api/store/", 11) == 0; // what a store refuses is its answer
    assert_int_equal(answer->status, store ? 200 : 400);
    assert_non_null(strstr(answer->text, "cursor"));
    json_decref(seen);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void put_config(struct world *world)
{
    world_put(world, "home/config.yaml", "personality: p\nuser.id: me\n");
}

static void test_users(void **state)
{
    struct world *world = *state;
    struct str map;
    put_config(world);
    str_init(&map, SIZE_MAX);
    str_adds(&map, "[");
    for (int i = 0; i < MANY; i++) // several identities of each person, one of them twice
        str_printf(&map,
                   "%s{\"platform\":\"telegram\",\"platformUserId\":\"%d\",\"userId\":\"u%d\","
                   "\"displayLabel\":\"%d\"}",
                   i ? "," : "", i == 7 ? 6 : i, i / 3, i);
    str_adds(&map, "]");
    world_put(world, "home/users/identity-map.json", map.data);
    str_release(&map);
    assert_pages(world, "/api/users/list", NULL, LIST("users"), MANY, 1000);
    const json_t *page = output(world, "memory/listUsers", "{}");
    assert_int_equal(json_array_size(json_object_get(page, "users")), 1000);
    assert_true(json_is_string(json_object_get(page, "nextCursor")));
}

static void test_identities_of_a_user(void **state)
{
    struct world *world = *state;
    struct str map;
    put_config(world);
    str_init(&map, SIZE_MAX);
    str_adds(&map, "[");
    for (int i = 0; i < MANY; i++)
        str_printf(&map, "%s{\"platform\":\"slack\",\"platformUserId\":\"%d\",\"userId\":\"ann\"}",
                   i ? "," : "", i);
    str_adds(&map, "]");
    world_put(world, "home/users/identity-map.json", map.data);
    str_release(&map);
    assert_pages(world, "/api/users/show", LIST("id=ann"), LIST("identities"), MANY, 1000);
}

static void test_personalities(void **state)
{
    struct world *world = *state;
    char path[64];
    put_config(world);
    for (int i = 0; i < 223; i++) {
        snprintf(path, sizeof path, "home/personalities/p%d", i);
        world_mkdir(world, path);
    }
    assert_pages(world, "/api/personalities/list", NULL, LIST("items"), 224, 200);
    const json_t *page = output(world, "personalities/list", "{}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 200);
    page = output(world, "personalities/list", "{\"json\":{\"limit\":100000}}");
    assert_int_equal(json_array_size(json_object_get(page, "items")), 224);
}

static void test_keys_and_browsers(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 7; i++)
        output(world, "apiKeys/create", "{\"json\":{\"name\":\"k\",\"scope\":[\"memory:read\"]}}");
    assert_pages(world, "/api/apiKeys/list", NULL, LIST("items"), 7, 7);
    assert_int_equal(
        json_is_null(json_object_get(api(world, "/api/browsers/list", NULL)->json, "nextCursor")),
        true);
}

static void test_conflicts_and_events(void **state)
{
    struct world *world = *state;
    char path[160], body[160];
    put_config(world);
    output(world, "memory/add", "{\"json\":{\"content\":\"one\"}}");
    for (int i = 0; i < 203; i++) {
        snprintf(path, sizeof path,
                 "home/personalities/p/.mem/conflicts/MEMORY.md.20251115T0946%02dZ.%08x.md", i % 60,
                 i);
        snprintf(body, sizeof body, "copy %d\n", i);
        world_put(world, path, body);
    }
    assert_pages(world, "/api/conflicts/list", NULL, LIST("conflicts", "events"), 203, 200);
}

static void test_changes_lines_and_notes(void **state)
{
    struct world *world = *state;
    char body[160];
    struct str text;
    put_config(world);
    for (int i = 0; i < 53; i++) {
        snprintf(body, sizeof body, "{\"json\":{\"content\":\"line %d\"}}", i);
        output(world, "memory/add", body);
    }
    assert_pages(world, "/api/memory/history", NULL, LIST("items"), 53, 50);
    assert_pages(world, "/api/memory/timeline", NULL, LIST("items"), 53, 50);
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < MANY; i++)
        str_printf(&text, "%d\n", i);
    world_put(world, "home/personalities/p/USER.md", "");
    world_put(world, "home/personalities/p/long.md", text.data);
    assert_pages(world, "/api/memory/blame", LIST("key=long.md"), LIST("lines"), MANY, 1000);
    for (int i = 0; i < MANY; i++) {
        snprintf(body, sizeof body, "home/personalities/p/note-%d.md", i);
        world_put(world, body, "A note about [[nothing-there]]\n");
    }
    assert_pages(world, "/api/notes/list", LIST("scope=personality"), LIST("notes"), MANY + 1, 200);
    assert_pages(world, "/api/notes/graph", LIST("scope=personality"), LIST("nodes"), MANY + 1,
                 1000);
    str_release(&text);
}

static void test_findings(void **state)
{
    struct world *world = *state;
    char path[96];
    struct str map;
    put_config(world);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "home/personalities/p/note-%d.md", i);
        snprintf(path + 64, 32, "[[gone-%d]]\n", i);
        world_put(world, path, path + 64);
    }
    const json_t *page = output(world, "notes/check", "{\"json\":{\"scope\":\"personality\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "findings")), 1000);
    assert_true(json_is_string(json_object_get(page, "nextCursor")));
    str_init(&map, SIZE_MAX);
    str_adds(&map, "[");
    for (int i = 0; i < MANY; i++)
        str_printf(&map, "%s{\"platform\":\"x\",\"userId\":\"u\"}", i ? "," : "");
    str_adds(&map, "]");
    world_put(world, "home/users/identity-map.json", map.data);
    str_release(&map);
    page = output(world, "meta/health", "{}");
    assert_int_equal(json_array_size(json_object_get(page, "findings")), 1000);
    assert_true(json_is_string(json_object_get(page, "nextCursor")));
}

static void test_reports_of_writes(void **state)
{
    struct world *world = *state;
    struct str updates;
    put_config(world);
    str_init(&updates, SIZE_MAX);
    str_adds(&updates, "{\"json\":{\"updates\":[");
    for (int i = 0; i < 1003; i++)
        str_printf(&updates, "%s{\"action\":\"add\",\"key\":\"n%d.md\",\"content\":\"x\"}",
                   i ? "," : "", i);
    str_adds(&updates, "]}}");
    const json_t *report = output(world, "memory/sync", updates.data);
    str_release(&updates);
    assert_int_equal(json_array_size(json_object_get(report, "written")), 1000);
    assert_int_equal(json_integer_value(json_object_get(report, "more")), 3);
    assert_int_equal(json_integer_value(json_object_get(report, "applied")), 1003);
    report = output(world, "notes/reindex", "{\"json\":{\"scope\":\"personality\"}}");
    assert_int_equal(json_array_size(json_object_get(report, "mended")), 1000);
    assert_int_equal(json_integer_value(json_object_get(report, "moreMended")), 3);
}

static void test_texts_of_a_store(void **state)
{
    struct world *world = *state;
    char path[96];
    put_config(world);
    for (int i = 0; i < 7; i++) {
        snprintf(path, sizeof path, "home/personalities/p/note-%d.md", i);
        world_put(world, path, "text\n");
        snprintf(path, sizeof path, "home/personalities/q%d/MEMORY.md", i);
        world_put(world, path, "text\n");
        snprintf(path, sizeof path,
                 "home/personalities/p/.mem/conflicts/MEMORY.md.20251115T09460%dZ.0000000%d.md", i,
                 i);
        world_put(world, path, "copy\n");
    }
    assert_pages(world, "/api/store/list", LIST("scope=personality:p"), LIST("entries"), 7, 7);
    assert_pages(world, "/api/store/conflicts", LIST("scope=personality:p"), LIST("conflicts"), 7,
                 7);
    const json_t *scopes = api(world, "/api/store/scopes", NULL)->json;
    size_t all = json_array_size(json_object_get(scopes, "scopes"));
    assert_true(all >= 8);
    assert_pages(world, "/api/store/scopes", NULL, LIST("scopes"), all, all);
}

static void test_a_conversation(void **state)
{
    struct world *world = *state;
    char body[256], content[8][16];
    struct ethos_message messages[8];
    struct ethos_sessions *store = open_sessions(world);
    add_session(world, store, FIRST, "cli:1", "Long");
    for (int i = 0; i < 1008; i++) {
        snprintf(content[i % 8], sizeof *content, "%d", i);
        messages[i % 8] = (struct ethos_message){.role = i % 2 ? "assistant" : "user",
                                                 .content = view_str(content[i % 8])};
        if (i % 8 == 7)
            add_messages(world, store, FIRST, messages, 8);
    }
    const json_t *page = output(world, "sessions/get", "{\"json\":{\"id\":\"" FIRST "\"}}");
    const json_t *rows = json_object_get(page, "messages");
    assert_int_equal(json_array_size(rows), 1000);
    assert_string_equal(text_at(json_array_get(rows, 999), "content"), "1007");
    snprintf(body, sizeof body, "{\"json\":{\"id\":\"" FIRST "\",\"from\":\"%s\",\"limit\":9}}",
             text_at(page, "previous"));
    page = output(world, "sessions/get", body);
    rows = json_object_get(page, "messages");
    assert_int_equal(json_array_size(rows), 9);
    assert_string_equal(text_at(json_array_get(rows, 0), "content"), "0");
    assert_true(json_is_string(json_object_get(page, "next")));
    page = output(world, "sessions/get", "{\"json\":{\"id\":\"" FIRST "\",\"last\":1000000}}");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 1000);
}

static void test_an_export_that_is_too_large(void **state)
{
    struct world *world = *state;
    struct str text;
    struct ethos_sessions *store = open_sessions(world);
    str_init(&text, SIZE_MAX);
    while (text.size < 1u << 20)
        str_adds(&text, "said and said again; ");
    add_session(world, store, FIRST, "cli:1", "Long");
    for (int i = 0; i < 34; i++) {
        const struct ethos_message message = {.role = i % 2 ? "assistant" : "user",
                                              .content = str_view(&text)};
        add_messages(world, store, FIRST, &message, 1);
    }
    str_release(&text);
    for (int i = 0; i < 2; i++) {
        struct answer *answer = rpc(world, "sessions/export",
                                    i ? "{\"json\":{\"id\":\"" FIRST "\",\"format\":\"json\"}}"
                                      : "{\"json\":{\"id\":\"" FIRST "\"}}");
        assert_non_null(strstr(answer->text, "larger than 33554432 bytes"));
        assert_true(answer->status >= 400);
    }
    const json_t *page = output(world, "sessions/get", "{\"json\":{\"id\":\"" FIRST "\"}}");
    assert_int_equal(json_array_size(json_object_get(page, "messages")), 7); // 8 Mi characters
    assert_true(json_is_string(json_object_get(page, "previous")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_with_a_list_has_a_limit_and_a_cursor),
        WIRE_TEST(test_users),
        WIRE_TEST(test_identities_of_a_user),
        WIRE_TEST(test_personalities),
        WIRE_TEST(test_keys_and_browsers),
        WIRE_TEST(test_conflicts_and_events),
        WIRE_TEST(test_changes_lines_and_notes),
        WIRE_TEST(test_findings),
        WIRE_TEST(test_reports_of_writes),
        WIRE_TEST(test_texts_of_a_store),
        WIRE_TEST(test_a_conversation),
        WIRE_TEST(test_an_export_that_is_too_large),
    };
    return cmocka_run_group_tests_name("http/lists", tests, NULL, NULL);
}
