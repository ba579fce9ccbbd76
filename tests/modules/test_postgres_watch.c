/*
 * test_postgres_watch.c: who hears of changes in PostgreSQL, directly and behind pgbouncer.
 */
#include <poll.h>
#include <signal.h>

#include "base/system/os.h"
#include "postgres_calls.h"

#define PATIENCE_MS 30000 /* until somebody who is not told has failed */

static struct pg_server server;
static char pooled_url[128];

static int begin(void **state)
{
    (void)state;
    return pg_server_say(&server, "DROP SCHEMA IF EXISTS ethos CASCADE", NULL, 0) ? 0 : -1;
}

struct told {
    unsigned any, scopes;
    char last[ETHOS_MAX_SCOPE];
};

static int hear(void *arg, const char *scope)
{
    struct told *told = arg;
    told->any += !scope;
    told->scopes += scope != NULL;
    snprintf(told->last, sizeof told->last, "%s", scope ? scope : "");
    return 0;
}

struct watcher {
    struct ethos_store *store;
    struct told told;
    int fd;
    unsigned wait_ms;
};

static void look(struct watcher *watcher)
{
    struct ethos_error error = {0};
    assert_int_equal(watcher->store->ops->watch(watcher->store, hear, &watcher->told, &watcher->fd,
                                                &watcher->wait_ms, &error),
                     ETHOS_OK);
}

/* As a program does it: sleeps until it may be told something, then looks. */
static void wait_for(struct watcher *watcher, const unsigned *count, unsigned least)
{
    int64_t end = os_monotonic_ms() + PATIENCE_MS;
    while (*count < least && os_monotonic_ms() < end) {
        struct pollfd fd = {watcher->fd, POLLIN, 0};
        assert_true(watcher->fd >= 0 || watcher->wait_ms > 0);
        poll(&fd, 1, watcher->wait_ms ? (int)watcher->wait_ms : PATIENCE_MS);
        look(watcher);
    }
    assert_true(*count >= least);
}

static struct watcher watch(const struct ethos_setting *settings)
{
    struct watcher watcher = {.fd = -1};
    struct ethos_error error = {0};
    if (pg_open_with(&log_default_host, settings, 2000, &watcher.store, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    look(&watcher);
    assert_int_equal(watcher.told.any + watcher.told.scopes, 0); // the first call only begins
    return watcher;
}

static struct watcher watch_url(const char *url)
{
    const struct ethos_setting settings[] = {{"url", url}, {NULL, NULL}};
    return watch(settings);
}

static void change(struct ethos_store *store, const char *scope)
{
    char revision[ETHOS_REVISION_SIZE], text[32];
    struct ethos_error error = {0};
    static unsigned number;
    snprintf(text, sizeof text, "%u", number++);
    assert_int_equal(
        store->ops->write(store, scope, "a.md", NULL, view_str(text), NULL, revision, &error),
        ETHOS_OK);
}

/* ---- listening ------------------------------------------------------------------------------- */

static void test_two_watchers_hear_what_either_changes(void **state)
{
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    struct watcher one = watch_url(server.url), two = watch_url(server.port_url);
    (void)state;
    assert_true(one.fd >= 0 && two.fd >= 0);
    change(store, "user:one");
    wait_for(&one, &one.told.scopes, 1);
    wait_for(&two, &two.told.scopes, 1);
    assert_string_equal(one.told.last, "user:one");
    assert_string_equal(two.told.last, "user:one");
    change(store, "user:two");
    change(store, "memories:personality:x");
    wait_for(&one, &one.told.scopes, 3);
    assert_string_equal(one.told.last, "memories:personality:x");
    assert_int_equal(one.told.any, 0);
    look(&one);
    assert_int_equal(one.told.scopes, 3);
    close_store(one.store);
    close_store(two.store);
    close_store(store);
}

static void test_what_was_refused_is_not_told(void **state)
{
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    struct watcher watcher = watch_url(server.url);
    struct ethos_error error = {0};
    (void)state;
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 7, false}, &error),
        ETHOS_CONFLICT);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error), ETHOS_OK);
    wait_for(&watcher, &watcher.told.scopes, 1);
    look(&watcher);
    assert_int_equal(watcher.told.scopes, 1);
    close_store(watcher.store);
    close_store(store);
}

/* A change that nobody told of, as when its writer died right after it. */
static void test_what_nobody_told_of_is_found(void **state)
{
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    change(store, "user:one");
    change(store, "user:two");
    struct watcher watcher = watch_url(server.url);
    struct pollfd fd = {watcher.fd, POLLIN, 0};
    poll(&fd, 1, PATIENCE_MS); // the versions as they are
    look(&watcher);
    assert_true(pg_server_say(&server,
                              "UPDATE ethos.scope SET version = version + 1, token = 'x' WHERE name"
                              " = 'user:two'",
                              NULL, 0));
    wait_for(&watcher, &watcher.told.scopes, 1);
    assert_string_equal(watcher.told.last, "user:two");
    assert_int_equal(watcher.told.any, 0);
    close_store(watcher.store);
    close_store(store);
}

/* What is told comes after what it is about: who hears of it finds it. */
static void test_who_is_told_finds_the_change(void **state)
{
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    struct watcher watcher = watch_url(server.url);
    (void)state;
    for (unsigned i = 1; i <= 50; i++) {
        change(store, "user:one");
        wait_for(&watcher, &watcher.told.scopes, i);
        assert_true(version_of(watcher.store, "user:one") >= i);
    }
    close_store(watcher.store);
    close_store(store);
}

static void test_a_watcher_who_was_cut_off_is_told_that_anything_may_have_changed(void **state)
{
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    struct watcher watcher = watch_url(server.url);
    (void)state;
    assert_true(pg_server_say(&server,
                              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query"
                              " LIKE 'LISTEN%' OR query LIKE 'SELECT name, version %'",
                              NULL, 0));
    wait_for(&watcher, &watcher.told.any, 1);
    change(store, "user:one");
    wait_for(&watcher, &watcher.told.scopes, 1);
    pg_server_end(&server, SIGQUIT);
    look(&watcher);
    look(&watcher);
    pg_server_again(&server);
    wait_for(&watcher, &watcher.told.any, 2);
    change(store, "user:two");
    wait_for(&watcher, &watcher.told.scopes, 2);
    assert_string_equal(watcher.told.last, "user:two");
    close_store(watcher.store);
    close_store(store);
}

static void test_a_watcher_may_begin_before_the_server_does(void **state)
{
    const struct ethos_setting settings[] = {{"url", server.url}, {NULL, NULL}};
    struct watcher watcher = {.fd = -1};
    struct ethos_error error = {0};
    (void)state;
    close_store(open_inner(server.url, DEADLINE_MS));
    pg_server_end(&server, SIGINT);
    assert_int_equal(pg_open_with(&log_default_host, settings, 100, &watcher.store, &error),
                     ETHOS_OK);
    look(&watcher);
    assert_true(watcher.fd == -1 && watcher.wait_ms > 0);
    pg_server_again(&server);
    wait_for(&watcher, &watcher.told.any, 1);
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    change(store, "user:one");
    wait_for(&watcher, &watcher.told.scopes, 1);
    close_store(watcher.store);
    close_store(store);
}

/* ---- behind pgbouncer ------------------------------------------------------------------------ */

static bool no_pooler(void)
{
    if (!pg_pooler_missing())
        return false;
    print_message("# SKIP %s\n", pg_pooler_missing());
    return true;
}

static void test_behind_a_pooler_changes_are_looked_for(void **state)
{
    if (no_pooler())
        skip();
    struct ethos_store *store = open_whole(pooled_url, DEADLINE_MS);
    (void)state;
    change(store, "user:old");
    struct watcher watcher = watch_url(pooled_url);
    assert_true(watcher.fd == -1 && watcher.wait_ms > 0);
    change(store, "user:new");
    wait_for(&watcher, &watcher.told.scopes, 1);
    assert_string_equal(watcher.told.last, "user:new");
    change(store, "user:old");
    wait_for(&watcher, &watcher.told.scopes, 2);
    assert_string_equal(watcher.told.last, "user:old");
    assert_int_equal(watcher.told.any, 0);
    close_store(watcher.store);
    close_store(store);
}

static void test_behind_a_pooler_a_direct_connection_listens(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", pooled_url}, {"directUrl", server.url}, {NULL, NULL}};
    if (no_pooler())
        skip();
    struct ethos_store *store = open_whole(pooled_url, DEADLINE_MS);
    struct watcher watcher = watch(settings);
    (void)state;
    assert_true(watcher.fd >= 0);
    change(store, "user:one");
    wait_for(&watcher, &watcher.told.scopes, 1);
    assert_string_equal(watcher.told.last, "user:one");
    close_store(watcher.store);
    close_store(store);
}

/* Nothing of ours stays with a connection that the next one gets. */
static void test_behind_a_pooler_nothing_is_left_in_a_session(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", pooled_url}, {"statementTimeoutMs", "4321"}, {NULL, NULL}};
    struct ethos_store *store;
    struct ethos_error error = {0};
    char sql[512];
    if (no_pooler())
        skip();
    (void)state;
    assert_int_equal(pg_open_with(&log_default_host, settings, DEADLINE_MS, &store, &error),
                     ETHOS_OK);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(
            commit_small(store, &(struct small_commit){"a.md", "x", "t", i, false}, &error),
            ETHOS_OK);
    snprintf(sql, sizeof sql,
             "psql -XAtq '%s' -c \"SELECT count(*) FROM pg_prepared_statements\" -c \"SELECT"
             " current_setting('statement_timeout'), current_setting('plan_cache_mode')\"",
             pooled_url);
    char out[64] = "";
    FILE *pipe = popen(sql, "r");
    assert_non_null(pipe);
    out[fread(out, 1, sizeof out - 1, pipe)] = 0;
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(out, "0\n0|auto\n");
    close_store(store);
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_two_watchers_hear_what_either_changes),
        TEST(test_what_was_refused_is_not_told),
        TEST(test_what_nobody_told_of_is_found),
        TEST(test_who_is_told_finds_the_change),
        TEST(test_a_watcher_who_was_cut_off_is_told_that_anything_may_have_changed),
        TEST(test_a_watcher_may_begin_before_the_server_does),
        TEST(test_behind_a_pooler_changes_are_looked_for),
        TEST(test_behind_a_pooler_a_direct_connection_listens),
        TEST(test_behind_a_pooler_nothing_is_left_in_a_session),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    if (!pg_pooler_missing()) {
        pg_pooler_start(&server);
        snprintf(pooled_url, sizeof pooled_url,
                 "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable", server.pooler_port);
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pg_server_stop(&server);
    return failed;
}
