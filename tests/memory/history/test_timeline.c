/*
 * test_timeline.c: what changed in any scope, newest first, page by page.
 */
#include "memory/history/timeline.h"

#include "../../store/rows_ram.h"
#include "../world.h"
#include "base/str.h"
#include "store/store.h"

#define DAY_MS 86400000LL

/* ---- a home with a past ---------------------------------------------------------------------- */

static int64_t clock_ms;

static int64_t read_clock(void *arg)
{
    (void)arg;
    return clock_ms;
}

static void open_at(struct world *world, int64_t ms)
{
    world->host.now_ms = read_clock;
    clock_ms = ms;
    if (!world->ethos)
        world_open(world);
}

/* A change of a file at a time of its own. */
static void change(struct world *world, int64_t ms, const char *scope, const char *text)
{
    const struct ethos_origin origin = {.actor = "ann", .via = "test", .session = "s-1"};
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .scope = scope, .key = "MEMORY.md", .text = view_str(text)};
    open_at(world, ms);
    world_turn(world, NULL);
    assert_ok(world, ethos_sync(world->turn, &update, 1, &how, &world->error));
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int add_change(void *arg, const char *scope, const struct ethos_change *c)
{
    return str_printf(arg, "%lld %s %llu;", (long long)(c->time_ms - NOW_MS), scope,
                      (unsigned long long)c->number);
}

static int page(struct world *world, const struct timeline_query *query, struct str *out,
                char cursor[TIMELINE_CURSOR_SIZE])
{
    int code;
    struct ethos_error problem = {0};
    world_turn(world, NULL);
    memset(&world->error, 0, sizeof world->error);
    int result = timeline_page(world->turn, query, add_change, out, cursor, &code, &problem,
                               &world->error);
    if (result == ETHOS_OK)
        assert_int_equal(code, ETHOS_OK);
    return result;
}

/* All pages of a size, put together. */
static void assert_pages(struct world *world, struct timeline_query query, uint64_t limit,
                         const char *expected)
{
    struct str out;
    char cursor[TIMELINE_CURSOR_SIZE] = "", next[TIMELINE_CURSOR_SIZE];
    str_init(&out, (size_t)1 << 20);
    query.filter.limit = limit;
    do {
        query.cursor = *cursor ? cursor : NULL;
        assert_ok(world, page(world, &query, &out, next));
        memcpy(cursor, next, sizeof next);
    } while (*cursor);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void assert_timeline(struct world *world, struct timeline_query query, const char *expected)
{
    for (uint64_t limit = 1; limit < 5; limit++)
        assert_pages(world, query, limit, expected);
    assert_pages(world, query, 100, expected);
}

#define T(n) (NOW_MS + (n))

static void test_scopes_are_merged_by_time(void **state)
{
    struct world *world = *state;
    change(world, T(1), "personality:a", "one");
    change(world, T(2), "user:u", "two");
    change(world, T(3), "personality:a", "three");
    change(world, T(4), "global", "four");
    change(world, T(5), "team:t", "five");
    change(world, T(6), "memories:personality:a", "six");
    assert_timeline(world, (struct timeline_query){0},
                    "6 memories:personality:a 1;5 team:t 1;4 global 1;3 personality:a 2;"
                    "2 user:u 1;1 personality:a 1;");
}

static void test_an_empty_home_has_no_changes(void **state)
{
    struct world *world = *state;
    open_at(world, T(1));
    assert_timeline(world, (struct timeline_query){0}, "");
}

static void test_changes_of_one_moment_are_told_once(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 3; i++) {
        change(world, T(7), "personality:b", i == 0 ? "x" : i == 1 ? "y" : "z");
        change(world, T(7), "personality:a", i == 0 ? "x" : i == 1 ? "y" : "z");
    }
    assert_timeline(world, (struct timeline_query){0},
                    "7 personality:a 3;7 personality:a 2;7 personality:a 1;"
                    "7 personality:b 3;7 personality:b 2;7 personality:b 1;");
}

/* Lines that others wrote: they have no numbers, and their clock may have gone back. */
static void put_lines(struct world *world, const char *path, const char *scope, int first,
                      int second)
{
    struct str text;
    str_init(&text, 4096);
    for (int i = 0; i < 2; i++)
        str_printf(&text,
                   "{\"ts\":%lld,\"scopeId\":\"%s\",\"key\":\"MEMORY.md\",\"actions\":[\"add\"],"
                   "\"source\":\"tool\",\"beforeHash\":\"\",\"afterHash\":\"\",\"diff\":\"\"}\n",
                   (long long)T(i ? second : first), scope);
    world_put(world, path, text.data);
    str_release(&text);
}

static void test_the_order_of_a_scope_counts_more_than_its_clock(void **state)
{
    struct world *world = *state;
    open_at(world, T(60));
    put_lines(world, "home/personalities/a/memory-history.jsonl", "personality:a", 50, 10);
    put_lines(world, "home/users/u/memory-history.jsonl", "user:u", 30, 5);
    assert_timeline(world, (struct timeline_query){0},
                    "10 personality:a 0;50 personality:a 0;5 user:u 0;30 user:u 0;");
    assert_timeline(world, (struct timeline_query){.filter = {.since_ms = T(8)}},
                    "10 personality:a 0;50 personality:a 0;");
}

static void test_queries_name_scopes_files_and_times(void **state)
{
    struct world *world = *state;
    for (int i = 1; i <= 6; i++)
        change(world, T(i),
               i % 3 == 0   ? "user:u"
               : i % 3 == 1 ? "personality:a"
                            : "personality:b",
               i < 4 ? "x" : "y");
    assert_timeline(world, (struct timeline_query){.personality = "a"},
                    "4 personality:a 2;1 personality:a 1;");
    assert_timeline(world, (struct timeline_query){.personality = "a", .user = "u"},
                    "6 user:u 2;4 personality:a 2;3 user:u 1;1 personality:a 1;");
    assert_timeline(world, (struct timeline_query){.scope = "personality:b"},
                    "5 personality:b 2;2 personality:b 1;");
    assert_timeline(world, (struct timeline_query){.key = "USER.md"}, "");
    assert_timeline(world, (struct timeline_query){.via = "cli"}, "");
    assert_timeline(world, (struct timeline_query){.filter = {.actor = "bob"}}, "");
    assert_timeline(
        world,
        (struct timeline_query){.via = "test",
                                .filter = {.actor = "ann", .session = "s-1", .source = "tool"},
                                .scope = "user:u"},
        "6 user:u 2;3 user:u 1;");
    assert_timeline(world, (struct timeline_query){.filter = {.since_ms = T(3), .until_ms = T(4)}},
                    "4 personality:a 2;3 user:u 1;");
}

static void test_what_comes_meanwhile_moves_no_page(void **state)
{
    struct world *world = *state;
    struct timeline_query query = {.filter = {.limit = 2}};
    char cursor[TIMELINE_CURSOR_SIZE], next[TIMELINE_CURSOR_SIZE];
    struct str out;
    str_init(&out, 4096);
    for (int i = 1; i <= 4; i++)
        change(world, T(i), i % 2 ? "user:u" : "personality:a", i < 3 ? "x" : "y");
    assert_ok(world, page(world, &query, &out, cursor));
    change(world, T(9), "user:u", "z");
    change(world, T(9), "personality:new", "z");
    query.cursor = cursor;
    assert_ok(world, page(world, &query, &out, next));
    assert_string_equal(out.data, "4 personality:a 2;3 user:u 2;2 personality:a 1;1 user:u 1;");
    assert_string_equal(next, "");
    str_release(&out);
}

static void test_a_cursor_of_another_list_is_refused(void **state)
{
    struct world *world = *state;
    static const char *const bad[] = {
        "", "x", "1.2", "1.2.00000000.global", "....", "1.1.zz.u:", "9999999999999999999999.1.0.x"};
    struct timeline_query query = {.filter = {.limit = 1}};
    char cursor[TIMELINE_CURSOR_SIZE], next[TIMELINE_CURSOR_SIZE];
    struct str out;
    str_init(&out, 4096);
    change(world, T(1), "user:u", "x");
    change(world, T(2), "user:u", "y");
    for (size_t i = 0; i < COUNT(bad); i++) {
        query.cursor = bad[i];
        assert_error(&world->error, page(world, &query, &out, next), ETHOS_INVALID);
    }
    query.cursor = NULL;
    assert_ok(world, page(world, &query, &out, cursor));
    query.cursor = cursor;
    query.user = "u";
    assert_error(&world->error, page(world, &query, &out, next), ETHOS_INVALID);
    str_release(&out);
}

static void test_an_edit_made_outside_is_there(void **state)
{
    struct world *world = *state;
    struct str out;
    char cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.actor = "external", .limit = 10}};
    str_init(&out, 4096);
    change(world, T(1), "personality:default", "x");
    world_put(world, "home/personalities/default/MEMORY.md", "x\nby hand\n");
    assert_ok(world, page(world, &query, &out, cursor));
    assert_string_equal(out.data, "1 personality:default 2;");
    str_release(&out);
}

static void test_a_scope_that_cannot_be_read_does_not_hide_the_others(void **state)
{
    struct world *world = *state;
    struct str out;
    struct ethos_error problem = {0};
    int code;
    char cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.limit = 10}};
    str_init(&out, 4096);
    change(world, T(1), "user:u", "x");
    change(world, T(2), "personality:a", "x");
    world_unlink(world, "home/users/u/memory-history.jsonl");
    world_mkdir(world, "home/users/u/memory-history.jsonl");
    world_put(world, "home/personalities/b/memory-history.jsonl", "not a line\n\n{}\n");
    world_put(world, "home/personalities/b/config.yaml", "memory: [\n");
    world_turn(world, NULL);
    assert_ok(world, timeline_page(world->turn, &query, add_change, &out, cursor, &code, &problem,
                                   &world->error));
    assert_int_not_equal(code, ETHOS_OK);
    assert_int_equal(problem.code, code);
    assert_string_equal(out.data, "2 personality:a 1;");
    str_release(&out);
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

static void test_changes_of_other_machines_are_there(void **state)
{
    struct world *world = *state;
    struct rows_ram *db = rows_ram_new(&world->host);
    struct str out;
    char cursor[TIMELINE_CURSOR_SIZE];
    struct timeline_query query = {.filter = {.limit = 3}};
    str_init(&out, 4096);
    move_to(world, db, "one");
    change(world, T(1), "user:u", "x");
    change(world, T(3), "personality:a", "x");
    change(world, T(4), "memories:personality:a", "x");
    move_to(world, db, "other");
    change(world, T(2), "workspace:w", "x");
    assert_ok(world, page(world, &query, &out, cursor));
    assert_string_equal(out.data, "4 memories:personality:a 1;3 personality:a 1;2 workspace:w 1;");
    query.cursor = cursor;
    str_clear(&out);
    assert_ok(world, page(world, &query, &out, cursor));
    assert_string_equal(out.data, "1 user:u 1;");
    query = (struct timeline_query){.user = "u", .filter = {.limit = 3}};
    str_clear(&out);
    assert_ok(world, page(world, &query, &out, cursor));
    assert_string_equal(out.data, "1 user:u 1;");
    world_close(world);
    rows_ram_free(db);
    str_release(&out);
}

static void test_files_beside_a_database_are_not_told(void **state)
{
    struct world *world = *state;
    struct rows_ram *db = rows_ram_new(&world->host);
    struct str out;
    char cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.limit = 3}};
    str_init(&out, 4096);
    change(world, T(1), "user:u", "in files");
    move_to(world, db, "home");
    change(world, T(2), "user:u", "in the database");
    assert_ok(world, page(world, &query, &out, cursor));
    assert_string_equal(out.data, "2 user:u 1;");
    world_close(world);
    rows_ram_free(db);
    str_release(&out);
}

static void test_a_database_that_does_not_answer_is_a_problem(void **state)
{
    struct world *world = *state;
    struct rows_ram *db = rows_ram_new(&world->host);
    struct ethos_error problem = {0};
    struct str out;
    int code;
    char cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.limit = 3}};
    str_init(&out, 4096);
    move_to(world, db, "one");
    change(world, T(1), "user:u", "x");
    world_turn(world, NULL);
    rows_ram_hooks(db)->down = ETHOS_BUSY;
    assert_ok(world, timeline_page(world->turn, &query, add_change, &out, cursor, &code, &problem,
                                   &world->error));
    assert_error(&problem, code, ETHOS_BUSY);
    world_close(world);
    rows_ram_free(db);
    str_release(&out);
}

/* ---- what it costs --------------------------------------------------------------------------- */

static unsigned long opens;

static int count_opens(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)number;
    opens += strcmp(call, "openat") == 0;
    return 0;
}

/* Of a hundred scopes that were touched days apart, the page opens the histories that it shows. */
static void test_only_the_histories_of_the_page_are_opened(void **state)
{
    struct world *world = *state;
    struct timespec times[2] = {{0}, {0}};
    char scope[64], path[128], cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.limit = 3}};
    struct str out;
    str_init(&out, 4096);
    for (int i = 0; i < 100; i++) {
        snprintf(scope, sizeof scope, "user:u%02d", i);
        snprintf(path, sizeof path, "home/users/u%02d/memory-history.jsonl", i);
        change(world, NOW_MS + i * DAY_MS / 10, scope, "x");
        times[0].tv_sec = times[1].tv_sec = (NOW_MS + i * DAY_MS / 10) / 1000 + 1;
        assert_int_equal(utimensat(world->temp.fd, path, times, 0), 0);
    }
    world_turn(world, NULL);
    opens = 0;
    os_hook(count_opens, NULL);
    int code;
    struct ethos_error problem;
    int result = timeline_page(world->turn, &query, add_change, &out, cursor, &code, &problem,
                               &world->error);
    os_hook(NULL, NULL);
    assert_ok(world, result);
    assert_true(opens < 30);
    str_release(&out);
}

static void test_without_memory_there_is_no_page(void **state)
{
    struct world *world = *state;
    int result = ETHOS_NOMEM, code;
    struct ethos_error problem = {0};
    char cursor[TIMELINE_CURSOR_SIZE];
    const struct timeline_query query = {.filter = {.limit = 2}};
    struct str out;
    str_init(&out, 4096);
    change(world, T(1), "user:u", "x");
    change(world, T(2), "personality:a", "x");
    change(world, T(3), "personality:a", "y");
    world_turn(world, NULL);
    ALLOC_EACH(n, result == ETHOS_OK)
    {
        str_clear(&out);
        result = timeline_page(world->turn, &query, add_change, &out, cursor, &code, &problem,
                               &world->error);
        if (result != ETHOS_OK)
            assert_error(&world->error, result, ETHOS_NOMEM);
    }
    assert_string_equal(out.data, "3 personality:a 2;2 personality:a 1;");
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_scopes_are_merged_by_time),
        WORLD_TEST(test_an_empty_home_has_no_changes),
        WORLD_TEST(test_changes_of_one_moment_are_told_once),
        WORLD_TEST(test_the_order_of_a_scope_counts_more_than_its_clock),
        WORLD_TEST(test_queries_name_scopes_files_and_times),
        WORLD_TEST(test_what_comes_meanwhile_moves_no_page),
        WORLD_TEST(test_a_cursor_of_another_list_is_refused),
        WORLD_TEST(test_an_edit_made_outside_is_there),
        WORLD_TEST(test_a_scope_that_cannot_be_read_does_not_hide_the_others),
        WORLD_TEST(test_changes_of_other_machines_are_there),
        WORLD_TEST(test_files_beside_a_database_are_not_told),
        WORLD_TEST(test_a_database_that_does_not_answer_is_a_problem),
        WORLD_TEST(test_only_the_histories_of_the_page_are_opened),
        WORLD_TEST(test_without_memory_there_is_no_page),
    };
    return cmocka_run_group_tests_name("memory/timeline", tests, NULL, NULL);
}
