/*
 * test_postgres_faults.c: the PostgreSQL store while connections, backends and servers go away.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/os.h"
#include "postgres_calls.h"
#include "proxy.h"

#define MARK "ethos_commit" /* in every commit */
#define TOKEN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"
#define BRIEF_MS 700 /* for what is not to be had */

static struct pg_server server;
static struct proxy *proxy;
static char proxy_url[128];

static int begin(void **state)
{
    (void)state;
    return pg_server_say(&server, "DROP SCHEMA IF EXISTS ethos CASCADE", NULL, 0) ? 0 : -1;
}

/* By one who has time. */
static uint64_t version_now(void)
{
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    uint64_t version = version_of(store, SCOPE);
    close_store(store);
    return version;
}

/* A store in a hurry that has its connection already. */
static struct ethos_store *open_brief(const char *url, const char *statement_ms)
{
    const struct ethos_setting settings[] = {
        {"url", url}, {"statementTimeoutMs", statement_ms}, {NULL, NULL}};
    struct ethos_store *store;
    struct ethos_error error = {0};
    version_now();
    for (int i = 0; i < 20; i++) {
        struct ethos_fetch fetch = {0};
        if (pg_open_with(&log_default_host, settings, BRIEF_MS, &store, &error) == ETHOS_OK &&
            store->ops->fetch(store, SCOPE, &fetch, &error) == ETHOS_OK)
            return store;
        close_store(store);
    }
    fail_msg("%s", error.text);
    return NULL;
}

static long rows_of(const char *key)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM ethos.history WHERE key = '%s'", key);
    return pg_server_ask(&server, sql);
}

/* ---- lost answers ---------------------------------------------------------------------------- */

static void lose(enum proxy_cut cut)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(proxy_url, DEADLINE_MS);
    unsigned before = proxy_cuts(proxy);
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    proxy_arm(proxy, cut, MARK, 1);
    assert_int_equal(write_text(store, "a.md", "second", &error), ETHOS_OK);
    assert_int_equal(proxy_cuts(proxy), before + 1);
    assert_holds(store, "a.md", "second");
    assert_int_equal(rows_of("a.md"), 2);
    assert_int_equal(pg_server_ask(&server, "SELECT version FROM ethos.scope"), 2);
    close_store(store);
}

static void test_a_commit_whose_answer_is_lost_is_done_once(void **state)
{
    (void)state;
    lose(PROXY_CUT_ANSWER);
}

static void test_a_commit_that_never_arrived_is_done_once(void **state)
{
    (void)state;
    lose(PROXY_CUT_REQUEST);
}

static void test_the_first_commit_of_a_scope_whose_answer_is_lost_is_done_once(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(proxy_url, DEADLINE_MS);
    (void)state;
    proxy_arm(proxy, PROXY_CUT_ANSWER, MARK, 1);
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    assert_int_equal(rows_of("a.md"), 1);
    close_store(store);
}

/* What a lost answer looks like when others have changed the scope since. */
static void test_a_commit_that_others_have_covered_is_known_by_its_row(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_inner(proxy_url, DEADLINE_MS),
                       *other = open_inner(server.url, DEADLINE_MS);
    const struct small_commit ours = {"a.md", "ours", TOKEN, 0, false};
    (void)state;
    assert_int_equal(commit_small(other, &ours, &error), ETHOS_OK);
    assert_int_equal(
        commit_small(other, &(struct small_commit){"b.md", "theirs", OTHER, 1, false}, &error),
        ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_REQUEST, MARK, 1);
    assert_int_equal(commit_small(store, &ours, &error), ETHOS_OK);
    assert_int_equal(version_of(store, SCOPE), 2);
    close_store(store);
    close_store(other);
}

/* As a purge does it: the row is another, its commit was the same. */
static void test_a_row_that_was_replaced_still_knows_its_commit(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_inner(proxy_url, DEADLINE_MS),
                       *other = open_inner(server.url, DEADLINE_MS);
    const struct small_commit ours = {"a.md", "ours", TOKEN, 0, false};
    const struct ethos_row cleansed = {
        .change = {.number = 1, .time_ms = 1, .key = "a.md", .actions = "replace"},
        .whole = VIEW("cleansed")};
    const struct ethos_commit purge = {
        .version = 1, .next = 2, .token = OTHER, .rows = &cleansed, .row_count = 1};
    (void)state;
    assert_int_equal(commit_small(other, &ours, &error), ETHOS_OK);
    assert_int_equal(other->ops->commit(other, SCOPE, &purge, &error), ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_REQUEST, MARK, 1);
    assert_int_equal(commit_small(store, &ours, &error), ETHOS_OK);
    assert_int_equal(pg_server_ask(&server, "SELECT count(*) FROM ethos.history WHERE"
                                            " convert_from(whole, 'UTF8') = 'cleansed'"),
                     1);
    close_store(store);
    close_store(other);
}

static void test_a_commit_that_others_were_faster_than_is_a_conflict(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_inner(proxy_url, DEADLINE_MS),
                       *other = open_inner(server.url, DEADLINE_MS);
    const struct small_commit ours = {"a.md", "ours", TOKEN, 0, false};
    (void)state;
    assert_int_equal(
        commit_small(other, &(struct small_commit){"a.md", "theirs", OTHER, 0, false}, &error),
        ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_REQUEST, MARK, 1);
    assert_int_equal(commit_small(store, &ours, &error), ETHOS_CONFLICT);
    assert_holds(store, "a.md", "theirs");
    close_store(store);
    close_store(other);
}

static void test_a_commit_without_rows_that_others_have_covered_is_not_known(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_inner(proxy_url, DEADLINE_MS),
                       *other = open_inner(server.url, DEADLINE_MS);
    const struct small_commit ours = {"a.md", "ours", TOKEN, 0, true};
    (void)state;
    assert_int_equal(commit_small(other, &ours, &error), ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_REQUEST, MARK, 1);
    assert_int_equal(commit_small(store, &ours, &error), ETHOS_OK); // by the scope's own token
    assert_int_equal(
        commit_small(other, &(struct small_commit){"b.md", "theirs", OTHER, 1, true}, &error),
        ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_REQUEST, MARK, 1);
    assert_int_equal(commit_small(store, &ours, &error), ETHOS_IO);
    assert_non_null(strstr(error.text, "unknown whether"));
    close_store(store);
    close_store(other);
}

static void test_without_a_connection_the_end_of_a_commit_is_not_known(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_brief(proxy_url, "300");
    (void)state;
    proxy_arm(proxy, PROXY_CUT_SILENT, MARK, 1);
    proxy_shut(proxy, true);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", TOKEN, 0, false}, &error),
        ETHOS_IO);
    assert_non_null(strstr(error.text, "unknown whether"));
    proxy_shut(proxy, false);
    assert_int_equal(version_now(), 1);
    close_store(store);
}

static void test_without_a_connection_nothing_is_sent_and_the_store_is_busy(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_brief(proxy_url, "10000");
    (void)state;
    assert_true(pg_server_say(&server,
                              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                              " WHERE application_name = 'ethos'",
                              NULL, 0));
    os_sleep_ms(50);
    proxy_shut(proxy, true);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", TOKEN, 0, false}, &error),
        ETHOS_BUSY);
    proxy_shut(proxy, false);
    assert_int_equal(version_now(), 0);
    close_store(store);
}

/* ---- backends -------------------------------------------------------------------------------- */

static void test_a_terminated_backend_is_not_noticed(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "text %d", i);
        assert_true(pg_server_say(&server,
                                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE application_name = 'ethos'",
                                  NULL, 0));
        assert_int_equal(write_text(store, "a.md", text, &error), ETHOS_OK);
        assert_true(pg_server_say(&server,
                                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE application_name = 'ethos'",
                                  NULL, 0));
        assert_holds(store, "a.md", text);
    }
    assert_int_equal(rows_of("a.md"), 3);
    close_store(store);
}

/* A child that writes; its exit status is 0 when the store said OK. */
static pid_t write_beside(const char *key, const char *text)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    int code = write_text(store, key, text, &error);
    close_store(store);
    _exit(code == ETHOS_OK ? 0 : 1);
}

static bool ended_well(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    return status == 0;
}

static void wait_until(const char *sql)
{
    for (int i = 0; i < 500 && pg_server_ask(&server, sql) == 0; i++)
        os_sleep_ms(10);
    assert_true(pg_server_ask(&server, sql) > 0);
}

/* psql that holds a lock for so long. */
static pid_t hold(const char *what, double seconds)
{
    char sql[256];
    snprintf(sql, sizeof sql, "BEGIN; %s; SELECT pg_sleep(%g); COMMIT", what, seconds);
    pid_t pid = fork();
    if (pid == 0)
        _exit(pg_server_say(&server, sql, NULL, 0) ? 0 : 1);
    wait_until("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'BEGIN;%'"
               " AND wait_event = 'PgSleep'");
    return pid;
}

#define WAITS                                                                                      \
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ethos'"                       \
    " AND wait_event_type = 'Lock'"

static void test_a_backend_that_is_terminated_in_a_commit_does_it_once(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    pid_t holder = hold("LOCK TABLE ethos.text IN EXCLUSIVE MODE", 1);
    pid_t writer = write_beside("a.md", "second");
    wait_until(WAITS);
    assert_true(pg_server_say(&server,
                              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                              " application_name = 'ethos' AND wait_event_type = 'Lock'",
                              NULL, 0));
    assert_true(ended_well(writer));
    assert_true(ended_well(holder));
    assert_holds(store, "a.md", "second");
    assert_int_equal(rows_of("a.md"), 2);
    close_store(store);
}

static void test_a_statement_that_takes_too_long_is_busy_and_did_nothing(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"statementTimeoutMs", "150"}, {NULL, NULL}};
    struct ethos_error error = {0};
    struct ethos_store *store;
    (void)state;
    assert_int_equal(pg_open_with(&log_default_host, settings, DEADLINE_MS, &store, &error),
                     ETHOS_OK);
    pid_t holder = hold("LOCK TABLE ethos.text IN EXCLUSIVE MODE", 0.6);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", TOKEN, 0, false}, &error),
        ETHOS_BUSY);
    assert_non_null(strstr(error.hint, "statementTimeoutMs"));
    assert_true(ended_well(holder));
    assert_int_equal(version_of(store, SCOPE), 0);
    assert_int_equal(rows_of("a.md"), 0);
    close_store(store);
}

static void test_a_backend_that_stands_still_is_left_at_the_deadline(void **state)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text text = {0};
    struct ethos_error error = {0};
    struct ethos_store *store = open_brief(server.url, "10000");
    (void)state;
    pid_t backend = (pid_t)pg_server_ask(
        &server, "SELECT pid FROM pg_stat_activity WHERE application_name = 'ethos'"
                 " ORDER BY backend_start DESC LIMIT 1");
    assert_int_equal(kill(backend, SIGSTOP), 0);
    assert_int_equal(store->ops->read(store, SCOPE, "a.md", &whole, &text, &error), ETHOS_BUSY);
    kill(backend, SIGCONT);
    int code = ETHOS_BUSY;
    for (int i = 0; i < 20 && code == ETHOS_BUSY; i++)
        code = store->ops->read(store, SCOPE, "a.md", &whole, &text, &error);
    assert_int_equal(code, ETHOS_NOTFOUND);
    close_store(store);
}

/* ---- servers --------------------------------------------------------------------------------- */

static void test_an_immediate_restart_loses_nothing_acknowledged(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    int told[2];
    (void)state;
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    assert_int_equal(pipe(told), 0);
    pid_t writer = fork();
    if (writer == 0) {
        struct ethos_store *own = open_whole(server.url, DEADLINE_MS);
        int done = 0;
        for (int i = 0; i < 60; i++) {
            char key[16];
            snprintf(key, sizeof key, "k%d.md", i);
            done += write_text(own, key, key, &error) == ETHOS_OK;
            (void)!write(told[1], "x", 1);
        }
        close_store(own);
        _exit(done == 60 ? 0 : 1);
    }
    char byte;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read(told[0], &byte, 1), 1);
        pg_server_end(&server, SIGQUIT);
        pg_server_again(&server);
    }
    assert_true(ended_well(writer));
    assert_holds(store, "a.md", "first");
    assert_int_equal(pg_server_ask(&server, "SELECT count(*) FROM ethos.text"), 61);
    assert_int_equal(pg_server_ask(&server, "SELECT count(*) FROM ethos.history"), 61);
    assert_int_equal(pg_server_ask(&server, "SELECT max(version) FROM ethos.scope"), 61);
    close_store(store);
    close(told[0]);
    close(told[1]);
}

static void test_a_server_that_is_away_is_waited_for(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    pg_server_end(&server, SIGINT);
    pid_t writer = write_beside("a.md", "second");
    os_sleep_ms(300);
    pg_server_again(&server);
    assert_true(ended_well(writer));
    assert_holds(store, "a.md", "second");
    close_store(store);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_a_child_has_a_connection_of_its_own(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    assert_int_equal(write_text(store, "a.md", "parent", &error), ETHOS_OK);
    long backend = pg_server_ask(&server, "SELECT max(pid) FROM pg_stat_activity"
                                          " WHERE application_name = 'ethos'");
    pid_t child = fork();
    if (child == 0) {
        int code = write_text(store, "b.md", "child", &error);
        close_store(store);
        _exit(code == ETHOS_OK ? 0 : 1);
    }
    assert_true(ended_well(child));
    child = fork();
    if (child == 0) { // one that only closes
        close_store(store);
        _exit(0);
    }
    assert_true(ended_well(child));
    assert_holds(store, "a.md", "parent");
    assert_holds(store, "b.md", "child");
    assert_int_equal(pg_server_ask(&server, "SELECT max(pid) FROM pg_stat_activity"
                                            " WHERE application_name = 'ethos'"),
                     backend);
    close_store(store);
}

static void test_a_writer_that_was_stopped_holds_up_nobody(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    pid_t writer = fork();
    if (writer == 0) {
        int good = 1;
        for (int i = 0; i < 200; i++)
            good &= write_text(store, "b.md", i % 2 ? "odd" : "even", &error) == ETHOS_OK;
        _exit(good ? 0 : 1);
    }
    for (int i = 0; i < 10; i++) {
        char text[16];
        snprintf(text, sizeof text, "text %d", i);
        os_sleep_ms(5);
        kill(writer, SIGSTOP);
        assert_int_equal(write_text(store, "a.md", text, &error), ETHOS_OK);
        kill(writer, SIGCONT);
    }
    assert_true(ended_well(writer));
    assert_int_equal(rows_of("b.md"), 200);
    assert_int_equal(rows_of("a.md"), 11);
    close_store(store);
}

/* ---- errors of the server -------------------------------------------------------------------- */

/* Every text that is put fails with this state, at once or when it commits. */
static void fail_with(const char *sqlstate, bool late)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "CREATE OR REPLACE FUNCTION ethos.fail() RETURNS trigger LANGUAGE plpgsql AS"
             " 'BEGIN RAISE EXCEPTION ''made to fail'' USING ERRCODE = ''%s''; END';"
             "DROP TRIGGER IF EXISTS fail ON ethos.text; CREATE %s TRIGGER fail AFTER INSERT OR"
             " UPDATE ON ethos.text %s FOR EACH ROW EXECUTE FUNCTION ethos.fail()",
             sqlstate, late ? "CONSTRAINT" : "", late ? "INITIALLY DEFERRED" : "");
    assert_true(pg_server_say(&server, sql, NULL, 0));
}

static void test_errors_of_the_server_have_their_codes_and_nothing_is_done(void **state)
{
    static const struct {
        const char *state;
        int code;
        const char *says;
    } cases[] = {
        {"53100", ETHOS_IO, "disk"},      {"25006", ETHOS_BUSY, "primary"},
        {"57014", ETHOS_BUSY, "Timeout"}, {"55P03", ETHOS_BUSY, ""},
        {"40001", ETHOS_CONFLICT, ""},    {"40P01", ETHOS_CONFLICT, ""},
        {"22021", ETHOS_INVALID, "UTF"},  {"XX000", ETHOS_IO, ""},
        {"23505", ETHOS_IO, ""},          {"42501", ETHOS_DENIED, "GRANT"},
    };
    struct ethos_store *store = open_brief(server.url, "10000");
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct ethos_error error = {0};
        fail_with(cases[i / 2].state, i % 2);
        int code = commit_small(store, &(struct small_commit){"a.md", "x", TOKEN, 0, false},
                                &error);
        if (code != cases[i / 2].code || !strstr(error.hint, cases[i / 2].says))
            fail_msg("%s: %d, %s; %s", cases[i / 2].state, code, error.text, error.hint);
        assert_non_null(strstr(error.text, "made to fail"));
        assert_int_equal(version_now(), 0);
    }
    assert_int_equal(rows_of("a.md"), 0);
    close_store(store);
}

static void test_a_schema_that_was_dropped_is_made_again(void **state)
{
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    (void)state;
    assert_int_equal(write_text(store, "a.md", "first", &error), ETHOS_OK);
    begin(NULL);
    int code = write_text(store, "a.md", "second", &error);
    assert_true(code == ETHOS_OK || code == ETHOS_IO);
    assert_int_equal(write_text(store, "a.md", "third", &error), ETHOS_OK);
    assert_holds(store, "a.md", "third");
    close_store(store);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_commit_whose_answer_is_lost_is_done_once, begin),
        cmocka_unit_test_setup(test_a_commit_that_never_arrived_is_done_once, begin),
        cmocka_unit_test_setup(test_the_first_commit_of_a_scope_whose_answer_is_lost_is_done_once,
                               begin),
        cmocka_unit_test_setup(test_a_commit_that_others_have_covered_is_known_by_its_row, begin),
        cmocka_unit_test_setup(test_a_row_that_was_replaced_still_knows_its_commit, begin),
        cmocka_unit_test_setup(test_a_commit_that_others_were_faster_than_is_a_conflict, begin),
        cmocka_unit_test_setup(test_a_commit_without_rows_that_others_have_covered_is_not_known,
                               begin),
        cmocka_unit_test_setup(test_without_a_connection_the_end_of_a_commit_is_not_known, begin),
        cmocka_unit_test_setup(test_without_a_connection_nothing_is_sent_and_the_store_is_busy,
                               begin),
        cmocka_unit_test_setup(test_a_terminated_backend_is_not_noticed, begin),
        cmocka_unit_test_setup(test_a_backend_that_is_terminated_in_a_commit_does_it_once, begin),
        cmocka_unit_test_setup(test_a_statement_that_takes_too_long_is_busy_and_did_nothing, begin),
        cmocka_unit_test_setup(test_a_backend_that_stands_still_is_left_at_the_deadline, begin),
        cmocka_unit_test_setup(test_an_immediate_restart_loses_nothing_acknowledged, begin),
        cmocka_unit_test_setup(test_a_server_that_is_away_is_waited_for, begin),
        cmocka_unit_test_setup(test_a_child_has_a_connection_of_its_own, begin),
        cmocka_unit_test_setup(test_a_writer_that_was_stopped_holds_up_nobody, begin),
        cmocka_unit_test_setup(test_errors_of_the_server_have_their_codes_and_nothing_is_done,
                               begin),
        cmocka_unit_test_setup(test_a_schema_that_was_dropped_is_made_again, begin),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    proxy = proxy_start((struct proxy_end){0}, (struct proxy_end){.port = server.port});
    snprintf(proxy_url, sizeof proxy_url,
             "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable", proxy_port(proxy));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    proxy_stop(proxy);
    pg_server_stop(&server);
    return failed;
}
