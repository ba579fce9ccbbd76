/*
 * test_redis.c: the Redis store against a real server: the suite of all stores, and what is
 * Redis's own.
 */
#include <sys/wait.h>

#include "../store/forgetting.h"
#include "conformance/conformance.h"
#include "redis_calls.h"

/* ---- what is kept --------------------------------------------------------------------------- */

static void test_hostile_keys_are_names_and_nothing_else(void **state)
{
    static const char *const keys[] = {
        "a.md", "{other}.md",  "a}:meta",          "}:text:a.md",
        "*",    "\\x00.md",    "a b\tc\n.md",      "\xff\xfe",
        "%s%n", "'; FLUSHALL", "\r\nFLUSHALL\r\n", "$1\r\n",
        "0",    "nil",
    };
    struct ethos_store *store = open_whole();
    const size_t count = sizeof keys / sizeof *keys;
    (void)state;
    for (size_t i = 0; i < count; i++)
        put(store, keys[i], keys[count - 1 - i]);
    for (size_t i = 0; i < count; i++)
        assert_text(store, keys[i], view_str(keys[count - 1 - i]));
    store->ops->close(store);
}

static void test_other_keys_of_the_server_are_left_alone(void **state)
{
    struct ethos_store *store = open_whole();
    char reply[64];
    (void)state;
    tell("SET mine untouched");
    put(store, "a.md", "text");
    redis_server_say(&server, "GET mine", reply, sizeof reply);
    assert_string_equal(reply, "$9\r\nuntouched\r\n");
    store->ops->close(store);
}

static void test_a_key_of_somebody_else_under_our_name_changes_nothing(void **state)
{
    static const char *const lines[] = {"SET ethos:{" SCOPE "}:rows x",
                                        "SET ethos:{" SCOPE "}:index x",
                                        "SET ethos:{" SCOPE "}:stamps x",
                                        "SADD ethos:{" SCOPE "}:text:a.md x",
                                        "SET ethos:changes x",
                                        "SET ethos:scopes x",
                                        "XADD ethos:{" SCOPE "}:rows 99 a b"};
    struct ethos_store *store = open_whole();
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct ethos_error error = {0};
        char reply[64];
        tell("FLUSHALL");
        tell(lines[i]);
        assert_int_not_equal(write_text(store, SCOPE, "a.md", VIEW("text"), &error), ETHOS_OK);
        redis_server_say(&server, "DBSIZE", reply, sizeof reply);
        assert_string_equal(reply, ":1\r\n");
    }
    store->ops->close(store);
}

static void test_a_text_that_was_evicted_is_no_empty_text(void **state)
{
    struct ethos_store *store = open_whole();
    struct findings findings;
    (void)state;
    put(store, "a.md", "text");
    tell("DEL ethos:{" SCOPE "}:text:a.md");
    assert_int_equal(read_code(store, "a.md"), ETHOS_CORRUPT);
    look(store, &findings);
    assert_non_null(strstr(findings.text, "a.md of " SCOPE " is missing or was changed"));
    store->ops->close(store);
}

static void test_without_memory_nothing_is_done(void **state)
{
    struct ethos_store *store = open_whole();
    struct ethos_error error = {0};
    (void)state;
    put(store, "a.md", "old");
    tell("CONFIG SET maxmemory 1");
    assert_int_equal(write_text(store, SCOPE, "a.md", VIEW("new"), &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "no memory left"));
    assert_text(store, "a.md", VIEW("old"));
    tell("CONFIG SET maxmemory 1gb");
    put(store, "a.md", "new");
    store->ops->close(store);
}

static void test_a_forgotten_script_is_given_again(void **state)
{
    struct ethos_store *store = open_whole();
    (void)state;
    put(store, "a.md", "1");
    tell("SCRIPT FLUSH");
    put(store, "a.md", "2");
    assert_text(store, "a.md", VIEW("2"));
    store->ops->close(store);
}

/* Bytes that no two places have alike. */
static char *make_bytes(size_t size)
{
    char *bytes = malloc(size);
    uint64_t seed = 88172645463325252u;
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        bytes[i] = (char)(unsigned char)seed;
        if (i % 64 == 63)
            bytes[i] = '\n';
    }
    return bytes;
}

static void test_the_largest_text_is_kept(void **state)
{
    size_t size = ETHOS_MAX_STORE_BYTES;
    char *bytes = make_bytes(size);
    struct ethos_store *store = open_whole();
    struct ethos_error error = {0};
    const struct ethos_read_how tail = {1000, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    (void)state;
    if (write_text(store, SCOPE, "big.md", view_of(bytes, size), &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_text(store, "big.md", view_of(bytes, size));
    assert_int_equal(store->ops->read(store, SCOPE, "big.md", &tail, &text, &error), ETHOS_OK);
    assert_int_equal(text.size, 1000);
    assert_int_equal(text.offset, size - 1000);
    assert_int_equal(text.total, size);
    assert_memory_equal(text.data, bytes + size - 1000, 1000);
    free(text.data);
    store->ops->close(store);
    free(bytes);
}

/* ---- history -------------------------------------------------------------------------------- */

#define MANY 10000

/* Every tenth is of another key. */
static struct ethos_row make_row(uint64_t number)
{
    return (struct ethos_row){.change = {.number = number,
                                         .time_ms = (int64_t)number - 1,
                                         .key = (number - 1) % 10 ? "a.md" : "b.md",
                                         .actions = "add",
                                         .source = "tool",
                                         .before = "absent",
                                         .after = "absent",
                                         .diff = VIEW("@@ -1 +1 @@\n-\0\n+\r\n"),
                                         .diff_whole = 1}};
}

static void commit_rows(struct ethos_store *store, uint64_t version, uint64_t next,
                        const struct ethos_row *rows, size_t count)
{
    const struct ethos_commit commit = {
        .version = version, .next = next, .token = "t", .rows = rows, .row_count = count};
    struct ethos_error error = {0};
    if (store->ops->commit(store, SCOPE, &commit, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
}

/* Many new rows, as an import makes them; then some are replaced, as by a purge. */
static void commit_many(struct ethos_store *store)
{
    struct ethos_row *rows = calloc(MANY, sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < MANY; i++)
        rows[i] = make_row(i + 1);
    rows[6].change.diff = rows[4999].change.diff = VIEW("to be replaced");
    commit_rows(store, 0, MANY, rows, MANY);
    const struct ethos_row replaced[] = {make_row(7), make_row(5000)};
    commit_rows(store, MANY, MANY + 1, replaced, 2);
    free(rows);
}

struct walk {
    size_t count;
    uint64_t last;
    const char *key;
    size_t stop;
};

static int step(void *arg, const struct ethos_row *row)
{
    struct walk *walk = arg;
    assert_true(!walk->last || row->change.number < walk->last);
    assert_true(!walk->key || strcmp(row->change.key, walk->key) == 0);
    assert_string_equal(row->change.key, (row->change.number - 1) % 10 ? "a.md" : "b.md");
    assert_null(row->change.actor);
    assert_null(row->whole.data);
    assert_int_equal(row->change.time_ms, row->change.number - 1);
    assert_int_equal(row->change.diff.size, 18);
    walk->last = row->change.number;
    return ++walk->count == walk->stop ? 77 : 0;
}

static struct walk walk(struct ethos_store *store, const char *key, uint64_t below, size_t limit)
{
    struct walk walk = {.key = key};
    assert_int_equal(store->ops->rows(store, SCOPE, key, below, limit, step, &walk, NULL),
                     ETHOS_OK);
    return walk;
}

static void test_rows_are_told_newest_first_page_by_page(void **state)
{
    struct ethos_store *store = open_plain();
    struct walk stopped = {.stop = 70};
    (void)state;
    commit_many(store);
    assert_int_equal(walk(store, NULL, 0, SIZE_MAX).count, MANY);
    assert_int_equal(walk(store, NULL, 0, SIZE_MAX).last, 1);
    assert_int_equal(walk(store, NULL, 0, 100).count, 100);
    assert_int_equal(walk(store, NULL, 0, 100).last, MANY - 99);
    assert_int_equal(walk(store, NULL, 101, SIZE_MAX).count, 100);
    assert_int_equal(walk(store, NULL, 1, SIZE_MAX).count, 0);
    assert_int_equal(walk(store, "b.md", 0, SIZE_MAX).count, MANY / 10);
    assert_int_equal(walk(store, "b.md", 0, 64).last, MANY - 9 - 630);
    assert_int_equal(walk(store, "b.md", 101, SIZE_MAX).count, 10);
    assert_int_equal(walk(store, "b", 0, SIZE_MAX).count, 0);
    assert_int_equal(walk(store, "b.mdx", 0, SIZE_MAX).count, 0);
    assert_int_equal(store->ops->rows(store, SCOPE, NULL, 0, 1000, step, &stopped, NULL), 77);
    assert_int_equal(stopped.count, 70);
    store->ops->close(store);
}

static int see_row(void *arg, const struct ethos_row *row)
{
    const struct ethos_change *change = &row->change;
    ++*(unsigned *)arg;
    if (change->number == 1) {
        assert_string_equal(change->actions, "add,remove");
        assert_string_equal(change->source, "");
        assert_string_equal(change->via, "v\xff");
        assert_string_equal(change->actor, "a");
        assert_string_equal(change->session, "s");
        assert_string_equal(change->session_key, "k");
        assert_string_equal(change->user, "u");
        assert_string_equal(change->op_id, "o");
        assert_string_equal(change->event, "e");
        assert_string_equal(change->undoes, "1,2");
        assert_string_equal(change->before, "b");
        assert_string_equal(change->after, "c");
        assert_true(change->bytes_before == UINT64_MAX && change->bytes_after == 7);
        assert_true(change->diff.data && change->diff.size == 0 && change->diff_whole);
        assert_int_equal(row->whole.size, 3);
        assert_memory_equal(row->whole.data, "\0\r\n", 3);
        assert_int_equal(change->time_ms, -5);
    } else {
        assert_true(!change->actions && !change->source && !change->via && !change->before);
        assert_true(!change->diff.data && !change->diff_whole && !row->whole.data);
    }
    return 0;
}

static void test_every_member_of_a_row_is_kept_as_it_is(void **state)
{
    const struct ethos_row rows[] = {
        {.change = {.number = 1,
                    .time_ms = -5,
                    .key = "k",
                    .actions = "add,remove",
                    .source = "",
                    .via = "v\xff",
                    .actor = "a",
                    .session = "s",
                    .session_key = "k",
                    .user = "u",
                    .op_id = "o",
                    .event = "e",
                    .undoes = "1,2",
                    .before = "b",
                    .after = "c",
                    .bytes_before = UINT64_MAX,
                    .bytes_after = 7,
                    .diff = VIEW(""),
                    .diff_whole = 1},
         .whole = VIEW("\0\r\n")},
        {.change = {.number = 2, .key = "k"}},
    };
    const struct ethos_commit commit = {.next = 2, .token = "t", .rows = rows, .row_count = 2};
    struct ethos_store *store = open_plain();
    unsigned calls = 0;
    (void)state;
    assert_int_equal(store->ops->commit(store, SCOPE, &commit, NULL), ETHOS_OK);
    assert_int_equal(store->ops->rows(store, SCOPE, "k", 0, 9, see_row, &calls, NULL), ETHOS_OK);
    assert_int_equal(store->ops->rows(store, SCOPE, NULL, 0, 9, see_row, &calls, NULL), ETHOS_OK);
    assert_int_equal(calls, 4);
    store->ops->close(store);
}

static void test_rows_out_of_order_are_refused(void **state)
{
    struct ethos_store *store = open_plain();
    struct ethos_row rows[2] = {
        {.change =
             {.number = 2, .key = "a", .actions = "add", .before = "absent", .after = "absent"}},
        {.change = {
             .number = 1, .key = "a", .actions = "add", .before = "absent", .after = "absent"}}};
    const struct ethos_commit commit = {.next = 2, .token = "t", .rows = rows, .row_count = 2};
    char reply[64];
    (void)state;
    assert_int_equal(store->ops->commit(store, SCOPE, &commit, NULL), ETHOS_INVALID);
    redis_server_say(&server, "DBSIZE", reply, sizeof reply);
    assert_string_equal(reply, ":0\r\n");
    store->ops->close(store);
}

/* ---- operations and copies ------------------------------------------------------------------ */

static void test_operations_are_forgotten_when_they_are_old_and_many(void **state)
{
    struct ethos_store *store = open_plain();
    (void)state;
    check_forgetting(store);
    check_done_again(store);
    store->ops->close(store);
}

static int note_copy(void *arg, const struct ethos_copy *copy)
{
    size_t used = strlen(arg);
    snprintf((char *)arg + used, 256 - used, "%s of %s at %d: %.*s; ", copy->id, copy->key,
             (int)copy->time_ms, VIEW_ARG(copy->text));
    return 0;
}

static void test_copies_are_told_in_the_order_of_their_ids(void **state)
{
    const struct ethos_copy first[] = {{"2", "a b\n", 2, VIEW("")},
                                       {"1", "a.md", 3, VIEW("one")},
                                       {"3", "a.md", 1, VIEW("three\n")}};
    const struct ethos_copy second[] = {{"1", "a.md", 3, VIEW("o")}, {.id = "3"}};
    struct ethos_commit commit = {.next = 1, .token = "1", .copies = first, .copy_count = 3};
    struct ethos_store *store = open_plain();
    char told[256] = "";
    (void)state;
    assert_int_equal(store->ops->commit(store, SCOPE, &commit, NULL), ETHOS_OK);
    assert_int_equal(store->ops->copies(store, SCOPE, NULL, note_copy, told, NULL), ETHOS_OK);
    assert_string_equal(told, "1 of a.md at 3: one; 2 of a b\n at 2: ; 3 of a.md at 1: three\n; ");
    commit = (struct ethos_commit){
        .version = 1, .next = 2, .token = "2", .copies = second, .copy_count = 2};
    assert_int_equal(store->ops->commit(store, SCOPE, &commit, NULL), ETHOS_OK);
    told[0] = 0;
    assert_int_equal(store->ops->copies(store, SCOPE, NULL, note_copy, told, NULL), ETHOS_OK);
    assert_string_equal(told, "1 of a.md at 3: o; 2 of a b\n at 2: ; ");
    told[0] = 0;
    assert_int_equal(store->ops->copies(store, SCOPE, "2", note_copy, told, NULL), ETHOS_OK);
    assert_int_equal(store->ops->copies(store, SCOPE, "3", note_copy, told, NULL), ETHOS_OK);
    assert_string_equal(told, "2 of a b\n at 2: ; ");
    store->ops->close(store);
}

/* ---- purging -------------------------------------------------------------------------------- */

/* Whether any file of the server holds a word, or may: files come and go while it is looked for. */
static bool files_hold(const char *word)
{
    char command[256];
    snprintf(command, sizeof command, "grep -rqas --exclude=server.log '%s' '%s'", word,
             server.temp.path);
    int status = system(command);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 1;
}

static void test_what_is_purged_is_in_no_key_and_soon_in_no_file(void **state)
{
    struct ethos_store *store = open_whole();
    struct ethos_error error = {0};
    struct ethos_purge purge = {0};
    struct ethos_view needle = VIEW("Xyzzy7");
    (void)state;
    put(store, "a.md", "one\nthe word Xyzzy7 is here\nthree\n");
    put(store, "a.md", "one\nthree\n");
    put(store, "b.md", "Xyzzy7\n");
    assert_int_equal(
        store->ops->set_aside(store, SCOPE, "a.md", VIEW("two Xyzzy7\nkept\n"), &error), ETHOS_OK);
    assert_true(files_hold("Xyzzy7"));
    assert_int_equal(
        store->ops->purge(store, SCOPE,
                          &(struct ethos_match){.text = needle, .flags = ETHOS_MATCH_SUBSTRING}, 0,
                          NULL, &purge, &error),
        ETHOS_OK);
    assert_int_equal(purge.lines, 1);
    assert_int_equal(purge.conflicts, 1);
    assert_text(store, "a.md", VIEW("one\nthree\n"));
    for (int i = 0; i < 2000 && files_hold("Xyzzy7"); i++) // the rewrite goes on behind us
        os_sleep_ms(10);
    assert_false(files_hold("Xyzzy7"));
    assert_true(files_hold("kept"));
    put(store, "a.md", "four\n");
    store->ops->close(store);
}

/* ---- watching ------------------------------------------------------------------------------- */

struct news {
    char text[1024];
    int stop;
};

static int hear(void *arg, const char *scope)
{
    struct news *news = arg;
    size_t used = strlen(news->text);
    snprintf(news->text + used, sizeof news->text - used, "%s ", scope ? scope : "any");
    return news->stop;
}

static int watch_once(struct ethos_store *store, struct news *news, int *out_fd)
{
    unsigned wait_ms;
    return store->ops->watch(store, hear, news, out_fd, &wait_ms, NULL);
}

/* Waits until something is told. */
static void wait_for_news(struct ethos_store *store, struct news *news)
{
    int fd;
    for (int i = 0; i < 1000 && !news->text[0]; i++) {
        assert_int_equal(watch_once(store, news, &fd), ETHOS_OK);
        if (!news->text[0])
            os_sleep_ms(10);
    }
}

static void test_two_who_watch_are_told_what_a_third_changes(void **state)
{
    struct ethos_store *watchers[] = {open_plain(), open_plain()}, *writer = open_whole();
    int fd;
    (void)state;
    put(writer, "a.md", "before");
    for (size_t i = 0; i < 2; i++) {
        struct news news = {0};
        assert_int_equal(watch_once(watchers[i], &news, &fd), ETHOS_OK);
        assert_string_equal(news.text, "");
        assert_true(fd >= 0);
    }
    put(writer, "a.md", "1");
    write_text(writer, "user:x", "USER.md", VIEW("2"), NULL);
    for (size_t i = 0; i < 2; i++) {
        struct news news = {0};
        for (int k = 0; k < 1000 && !strstr(news.text, "user:x"); k++, os_sleep_ms(1))
            assert_int_equal(watch_once(watchers[i], &news, &fd), ETHOS_OK);
        assert_string_equal(news.text, SCOPE " user:x ");
        watchers[i]->ops->close(watchers[i]);
    }
    writer->ops->close(writer);
}

/* Calls until a callback stops it. */
static void watch_until_stopped(struct ethos_store *store, struct news *news)
{
    int fd, code = ETHOS_OK;
    for (int i = 0; i < 1000 && code == ETHOS_OK; i++) {
        code = watch_once(store, news, &fd);
        if (code == ETHOS_OK)
            os_sleep_ms(10);
    }
    assert_int_equal(code, 77);
}

static void test_what_was_not_heard_is_told_as_anything(void **state)
{
    struct ethos_store *watcher = open_plain(), *writer = open_whole();
    struct news news = {.stop = 77};
    int fd;
    (void)state;
    assert_int_equal(watch_once(watcher, &news, &fd), ETHOS_OK);
    for (int i = 0; i < 3; i++) {
        char scope[32];
        snprintf(scope, sizeof scope, "user:u%d", i);
        assert_int_equal(write_text(writer, scope, "USER.md", VIEW("1"), NULL), ETHOS_OK);
    }
    watch_until_stopped(watcher, &news); // the first change answers the question that was open,
    watch_until_stopped(watcher, &news); // the next answer has the other two
    assert_string_equal(news.text, "user:u0 user:u1 ");
    news = (struct news){0};
    wait_for_news(watcher, &news);
    assert_string_equal(news.text, "any ");
    watcher->ops->close(watcher);
    writer->ops->close(writer);
}

static void test_who_fell_behind_is_told_that_anything_may_have_changed(void **state)
{
    struct ethos_store *watcher = open_plain(), *writer = open_whole();
    struct news news = {0};
    int fd;
    (void)state;
    put(writer, "a.md", "0");
    assert_int_equal(watch_once(watcher, &news, &fd), ETHOS_OK);
    put(writer, "a.md", "1");
    wait_for_news(watcher, &news); // and the next question is asked
    news = (struct news){0};
    put(writer, "a.md", "2"); // answers the question that is open
    put(writer, "a.md", "3");
    tell("XTRIM ethos:changes MAXLEN 0");
    put(writer, "a.md", "4");
    for (int i = 0; i < 1000 && !strstr(news.text, "any"); i++, os_sleep_ms(10))
        watch_once(watcher, &news, &fd);
    assert_non_null(strstr(news.text, "any"));
    watcher->ops->close(watcher);
    writer->ops->close(writer);
}

static void test_after_a_restart_anything_may_have_changed(void **state)
{
    struct ethos_store *watcher = open_plain(), *writer = open_whole();
    struct news news = {0};
    int fd;
    (void)state;
    put(writer, "a.md", "0");
    assert_int_equal(watch_once(watcher, &news, &fd), ETHOS_OK);
    redis_server_kill(&server);
    redis_server_again(&server);
    wait_for_news(watcher, &news);
    assert_string_equal(news.text, "any ");
    news = (struct news){0};
    put(writer, "a.md", "1");
    wait_for_news(watcher, &news);
    assert_string_equal(news.text, SCOPE " ");
    watcher->ops->close(watcher);
    writer->ops->close(writer);
}

/* ---- all stores ----------------------------------------------------------------------------- */

static int open_rows(const struct ethos_host *host, struct ethos_store **out_store,
                     struct ethos_error *error)
{
    return redis_open_rows(host, server.url, DEADLINE_MS, out_store, error);
}

static void reset(void)
{
    tell("FLUSHALL");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(test_hostile_keys_are_names_and_nothing_else, empty_server),
    cmocka_unit_test_setup(test_other_keys_of_the_server_are_left_alone, empty_server),
    cmocka_unit_test_setup(test_a_key_of_somebody_else_under_our_name_changes_nothing,
                           empty_server),
    cmocka_unit_test_setup(test_a_text_that_was_evicted_is_no_empty_text, empty_server),
    cmocka_unit_test_setup(test_without_memory_nothing_is_done, empty_server),
    cmocka_unit_test_setup(test_a_forgotten_script_is_given_again, empty_server),
    cmocka_unit_test_setup(test_the_largest_text_is_kept, empty_server),
    cmocka_unit_test_setup(test_rows_are_told_newest_first_page_by_page, empty_server),
    cmocka_unit_test_setup(test_every_member_of_a_row_is_kept_as_it_is, empty_server),
    cmocka_unit_test_setup(test_rows_out_of_order_are_refused, empty_server),
    cmocka_unit_test_setup(test_operations_are_forgotten_when_they_are_old_and_many, empty_server),
    cmocka_unit_test_setup(test_copies_are_told_in_the_order_of_their_ids, empty_server),
    cmocka_unit_test_setup(test_what_is_purged_is_in_no_key_and_soon_in_no_file, empty_server),
    cmocka_unit_test_setup(test_two_who_watch_are_told_what_a_third_changes, empty_server),
    cmocka_unit_test_setup(test_what_was_not_heard_is_told_as_anything, empty_server),
    cmocka_unit_test_setup(test_who_fell_behind_is_told_that_anything_may_have_changed,
                           empty_server),
    cmocka_unit_test_setup(test_after_a_restart_anything_may_have_changed, empty_server),
};

int main(void)
{
    static const struct conformance_subject subject = {
        .name = "redis", .open = open_rows, .reset = reset};
    const char *missing = redis_server_missing();
    if (missing) {
        printf("ok 1 - redis # SKIP %s\n1..1\n", missing);
        return 0;
    }
    redis_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    failed += conformance_run(&subject);
    redis_server_stop(&server);
    return failed;
}
