/*
 * test_postgres_sessions.c: conversations in PostgreSQL while answers are lost, backends are ended,
 * servers fall and others write. What the contract says of every store is in tests/session.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ethos/session.h>

#include "base/str.h"
#include "base/system/os.h"
#include "postgres_calls.h"
#include "proxy.h"

#define WRITERS 16
#define EACH 10 /* messages of a writer */

static struct pg_server server;
static struct proxy *proxy;
static char proxy_url[128];
static struct ethos_error error;

static int begin(void **state)
{
    (void)state;
    return pg_server_say(&server, "DROP SCHEMA IF EXISTS ethos CASCADE", NULL, 0) ? 0 : -1;
}

/* ---- calls, shortened ------------------------------------------------------------------------ */

static struct ethos_sessions *open_sessions(const char *url)
{
    const struct ethos_setting settings[] = {{"url", url}};
    const struct ethos_setup setup = {.host = &log_default_host,
                                      .settings = settings,
                                      .setting_count = 1,
                                      .deadline_ms = DEADLINE_MS};
    struct ethos_sessions *sessions;
    if (pg_module()->sessions->open(&setup, &sessions, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return sessions;
}

static void close_sessions(struct ethos_sessions *sessions)
{
    sessions->ops->close(sessions);
}

static void check(int code)
{
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
}

static int create(struct ethos_sessions *sessions, const char *id)
{
    const struct ethos_session session = {.id = id, .key = id, .platform = "cli"};
    char made[ETHOS_UUID_SIZE];
    return sessions->ops->create(sessions, &session, made, &error);
}

static int say_as(struct ethos_sessions *sessions, const char *session, const char *id,
                  const char *text)
{
    const struct ethos_message message = {.id = id, .role = "user", .content = view_str(text)};
    return sessions->ops->append(sessions, session, &message, 1, 0, &error);
}

static int hear(void *arg, const struct ethos_message *message)
{
    return str_printf(arg, "%.*s|", VIEW_ARG(message->content));
}

static int ignore(void *arg, const struct ethos_session *session)
{
    (void)arg;
    (void)session;
    return 0;
}

static void assert_said(struct ethos_sessions *sessions, const char *session, const char *expected)
{
    struct str out;
    str_init(&out, 1048576);
    check(sessions->ops->messages(sessions, session, 0, hear, &out, &error));
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static int count_hit(void *arg, const struct ethos_hit *hit)
{
    (void)hit;
    ++*(unsigned *)arg;
    return 0;
}

static unsigned hits(struct ethos_sessions *s, const char *text)
{
    unsigned count = 0;
    const struct ethos_search search = {.text = view_str(text)};
    check(s->ops->search(s, &search, count_hit, &count, &error));
    return count;
}

static long ask(const char *sql)
{
    return pg_server_ask(&server, sql);
}

/* ---- lost answers ---------------------------------------------------------------------------- */

static void cut(enum proxy_cut how, const char *mark)
{
    proxy_arm(proxy, how, mark, 1);
}

static void a_change_whose_answer_is_lost_happens_once(void **state)
{
    struct ethos_sessions *s = open_sessions(proxy_url);
    const struct ethos_usage usage = {.input_tokens = 5};
    const struct ethos_session_patch patch = {.title = "renamed", .usage = &usage};
    const struct ethos_message instead = {.role = "user", .content = VIEW("instead")};
    const struct ethos_key key = {
        .prefix = "p", .hash = "hash-of-it", .name = "n", .scopes = "", .origins = ""};
    char fork[ETHOS_UUID_SIZE];
    uint64_t count = 0;
    unsigned before = proxy_cuts(proxy);
    (void)state;
    for (int i = 0; i < 2; i++) {
        enum proxy_cut how = i ? PROXY_CUT_REQUEST : PROXY_CUT_ANSWER;
        cut(how, "first-one");
        check(create(s, "first-one"));
        cut(how, "hello there");
        check(say_as(s, "first-one", "m1", "hello there"));
        check(say_as(s, "first-one", "m2", "more"));
        check(say_as(s, "first-one", "m3", "most"));
        assert_int_equal(ask("SELECT count(*) FROM ethos.message"), 3);
        cut(how, "renamed");
        check(s->ops->update(s, "first-one", &patch, &error));
        assert_int_equal(ask("SELECT input_tokens FROM ethos.session"), 5);
        cut(how, "first-one");
        check(s->ops->undo(s, "first-one", 1, &count, &error));
        assert_int_equal(count, 1);
        cut(how, "instead");
        check(s->ops->rewind(s, "first-one", "m2", &instead, 1, 0, &count, &error));
        assert_int_equal(count, 1);
        assert_said(s, "first-one", "hello there|instead|");
        cut(how, "first-one");
        check(s->ops->fork(s, "first-one", fork, &error));
        assert_said(s, fork, "hello there|instead|");
        assert_int_equal(ask("SELECT count(*) FROM ethos.session"), 2);
        cut(how, "hash-of-it");
        check(s->ops->key_add(s, &key, &error));
        cut(how, "first-one");
        check(s->ops->remove(s, "first-one", &error));
        cut(how, "9999-01-01");
        check(s->ops->prune(s, "9999-01-01", 0, &count, &error));
        assert_int_equal(count, 1);
        assert_int_equal(ask("SELECT count(*) FROM ethos.session"), 0);
        check(pg_server_say(&server, "DELETE FROM ethos.api_key", NULL, 0) ? ETHOS_OK : ETHOS_IO);
    }
    assert_int_equal(proxy_cuts(proxy) - before, 18);
    close_sessions(s);
}

static void what_others_had_before_is_not_taken_for_our_own(void **state)
{
    struct ethos_sessions *s = open_sessions(proxy_url);
    const struct ethos_session_patch patch = {.title = "of nobody"};
    (void)state;
    check(create(s, "first-one"));
    cut(PROXY_CUT_ANSWER, "first-one");
    assert_int_equal(create(s, "first-one"), ETHOS_EXISTS);
    check(say_as(s, "first-one", "m1", "theirs"));
    cut(PROXY_CUT_ANSWER, "ours, late");
    assert_int_equal(say_as(s, "first-one", "m1", "ours, late"), ETHOS_EXISTS);
    assert_non_null(strstr(error.text, "m1"));
    cut(PROXY_CUT_ANSWER, "of nobody");
    assert_int_equal(s->ops->update(s, "none", &patch, &error), ETHOS_NOTFOUND);
    assert_said(s, "first-one", "theirs|");
    close_sessions(s);
}

/* By a trigger that runs when the statement is done. */
static void a_change_is_on_the_disk_whatever_the_role_prefers(void **state)
{
    char seen[64];
    const struct ethos_key key = {
        .prefix = "p", .hash = "h", .name = "n", .scopes = "", .origins = ""};
    struct ethos_sessions *s = open_sessions(server.url);
    (void)state;
    check(create(s, "first-one"));
    check(s->ops->key_add(s, &key, &error));
    close_sessions(s);
    assert_true(pg_server_say(
        &server,
        "CREATE TABLE ethos.seen (value text);"
        "CREATE FUNCTION ethos.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO"
        " ethos.seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';"
        "CREATE CONSTRAINT TRIGGER note AFTER INSERT ON ethos.session_call DEFERRABLE INITIALLY"
        " DEFERRED FOR EACH ROW EXECUTE FUNCTION ethos.note();"
        "CREATE CONSTRAINT TRIGGER note AFTER UPDATE ON ethos.api_key DEFERRABLE INITIALLY"
        " DEFERRED FOR EACH ROW EXECUTE FUNCTION ethos.note();"
        "ALTER ROLE owner SET synchronous_commit = off",
        NULL, 0));
    s = open_sessions(server.url);
    check(say_as(s, "first-one", "a", "x"));
    check(create(s, "second"));
    check(s->ops->key_revoke(s, "p", &error));
    check(s->ops->key_used(s, "h", &error));
    check(s->ops->remove(s, "second", &error));
    close_sessions(s);
    assert_true(pg_server_say(&server, "SELECT value, count(*) FROM ethos.seen GROUP BY value",
                              seen, sizeof seen));
    assert_true(pg_server_say(&server, "ALTER ROLE owner RESET synchronous_commit", NULL, 0));
    assert_string_equal(seen, "on|5\n");
}

/* ---- many at once ---------------------------------------------------------------------------- */

/* A child that appends "<who>-<i>" until all are acknowledged; it writes down which were. */
static pid_t write_beside(int who, int pipe)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct ethos_sessions *s = open_sessions(server.url);
    for (int i = 0; i < EACH; i++) {
        char id[32];
        snprintf(id, sizeof id, "%d-%d", who, i);
        int code = say_as(s, "shared", id, id);
        if (code == ETHOS_OK && write(pipe, &(int){who * EACH + i}, sizeof i) != sizeof i)
            _exit(2);
        os_sleep_ms(2);
    }
    close_sessions(s);
    _exit(0);
}

/* Those of one writer in their order, each once. */
struct order {
    int last[WRITERS];
    bool seen[WRITERS * EACH];
    char time[64];
    unsigned count;
};

static int note_order(void *arg, const struct ethos_message *message)
{
    struct order *order = arg;
    int who = 0, i = 0;
    assert_int_equal(sscanf(message->id, "%d-%d", &who, &i), 2);
    assert_true(i > order->last[who]);
    assert_true(strcmp(message->timestamp, order->time) >= 0);
    order->last[who] = i;
    order->seen[who * EACH + i] = true;
    snprintf(order->time, sizeof order->time, "%s", message->timestamp);
    order->count++;
    return 0;
}

/*
 * Writers, with something that happens meanwhile; then all that was acknowledged is there, once, in
 * order.
 */
static void storm(void (*meanwhile)(void), bool all)
{
    struct ethos_sessions *s = open_sessions(server.url);
    struct order order = {.count = 0};
    int pipes[2], at, status;
    pid_t writers[WRITERS];
    unsigned acknowledged = 0;
    check(create(s, "shared"));
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = write_beside(i, pipes[1]);
    close(pipes[1]);
    if (meanwhile)
        meanwhile();
    for (int i = 0; i < WRITERS; i++) {
        waitpid(writers[i], &status, 0);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < WRITERS; i++)
        order.last[i] = -1;
    check(s->ops->messages(s, "shared", 0, note_order, &order, &error));
    while (read(pipes[0], &at, sizeof at) == sizeof at) {
        assert_true(order.seen[at]);
        acknowledged++;
    }
    close(pipes[0]);
    assert_true(acknowledged > 0);
    if (all)
        assert_int_equal(acknowledged, WRITERS * EACH);
    assert_int_equal(ask("SELECT turn_count FROM ethos.session WHERE id = 'shared'"), order.count);
    close_sessions(s);
}

static void many_writers_of_one_session_lose_nothing(void **state)
{
    (void)state;
    storm(NULL, true);
}

static void terminate(void)
{
    for (int i = 0; i < 8; i++) {
        os_sleep_ms(30);
        assert_true(pg_server_say(&server,
                                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                  " WHERE application_name = 'ethos'",
                                  NULL, 0));
    }
}

static void backends_that_are_terminated_are_not_noticed(void **state)
{
    (void)state;
    storm(terminate, true);
}

static void fall(void)
{
    for (int i = 0; i < 2; i++) {
        os_sleep_ms(100);
        pg_server_end(&server, SIGQUIT);
        pg_server_again(&server);
    }
}

static void a_server_that_falls_loses_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    storm(fall, true);
}

static void fork_often(void)
{
    struct ethos_sessions *s = open_sessions(server.url);
    char made[ETHOS_UUID_SIZE];
    for (int i = 0; i < 12; i++)
        check(s->ops->fork(s, "shared", made, &error));
    close_sessions(s);
}

/* Message by message what the parent has, and as many turns. */
static void a_fork_is_what_was_said_until_then(void **state)
{
    (void)state;
    storm(fork_often, true);
    assert_int_equal(ask("SELECT count(*) FROM ethos.session WHERE parent_session_id = 'shared'"),
                     12);
    assert_int_equal(
        ask("WITH said AS (SELECT session_id, content, row_number() OVER"
            " (PARTITION BY session_id ORDER BY timestamp, number) AS place FROM ethos.message)"
            " SELECT count(*) FROM said f LEFT JOIN said p ON p.session_id = 'shared'"
            " AND p.place = f.place WHERE p.content IS DISTINCT FROM f.content"),
        0);
    assert_int_equal(ask("SELECT count(*) FROM ethos.session s WHERE turn_count <>"
                         " (SELECT count(*) FROM ethos.message m WHERE m.session_id = s.id)"),
                     0);
}

/* ---- what depends on what was said before ---------------------------------------------------- */

static pid_t ask_beside(int who)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct ethos_sessions *s = open_sessions(server.url);
    int won = 0;
    for (int i = 0; i < 10; i++) {
        const struct ethos_message question = {.role = who % 2 ? "user" : "assistant",
                                               .content = VIEW("x")};
        won += s->ops->append(s, "shared", &question, 1, ETHOS_APPEND_CHECKED, &error) == ETHOS_OK;
    }
    close_sessions(s);
    _exit(won);
}

static int note_turn(void *arg, const struct ethos_message *message)
{
    char *last = arg;
    assert_int_not_equal(*last, *message->role);
    *last = *message->role;
    return 0;
}

static void checked_appends_of_many_alternate(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    pid_t writers[WRITERS];
    int status;
    long won = 0;
    char last = 0;
    (void)state;
    check(create(s, "shared"));
    for (int i = 0; i < WRITERS; i++)
        writers[i] = ask_beside(i);
    for (int i = 0; i < WRITERS; i++) {
        waitpid(writers[i], &status, 0);
        won += WEXITSTATUS(status);
    }
    check(s->ops->messages(s, "shared", 0, note_turn, &last, &error));
    assert_int_equal(ask("SELECT count(*) FROM ethos.message"), won);
    close_sessions(s);
}

static void an_undo_sees_what_was_said_while_it_waited(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    uint64_t count;
    (void)state;
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", "one"));
    pid_t holder = fork();
    if (holder == 0)
        _exit(!pg_server_say(&server,
                             "BEGIN; UPDATE ethos.session SET version = version + 1;"
                             "INSERT INTO ethos.message (id, session_id, role, content, timestamp)"
                             " VALUES ('b', 'shared', 'user', 'two', '9999');"
                             "SELECT pg_sleep(0.5); COMMIT",
                             NULL, 0));
    for (int i = 0; i < 500 && ask("SELECT count(*) FROM pg_stat_activity"
                                   " WHERE wait_event = 'PgSleep'") == 0;
         i++)
        os_sleep_ms(10);
    check(s->ops->undo(s, "shared", 1, &count, &error));
    waitpid(holder, NULL, 0);
    assert_int_equal(count, 1);
    assert_said(s, "shared", "one|");
    close_sessions(s);
}

/* ---- following ------------------------------------------------------------------------------- */

static void count_messages(void *arg, const struct ethos_followed *followed)
{
    struct order *order = arg;
    int who, i;
    if (strcmp(followed->what, "message") != 0)
        return;
    assert_int_equal(sscanf(followed->message, "%d-%d", &who, &i), 2);
    assert_false(order->seen[who * EACH + i]); // once
    order->seen[who * EACH + i] = true;
    order->count++;
}

/* Each of them into a session of its own, so that none waits for another. */
static void who_follows_hears_of_every_message_once(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    struct order order = {.count = 0};
    int pipes[2], status;
    pid_t writers[WRITERS];
    unsigned wait_ms, running = WRITERS;
    (void)state;
    check(create(s, "shared"));
    check(s->ops->follow(s, count_messages, &order, &wait_ms, &error));
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < WRITERS; i++)
        writers[i] = write_beside(i, pipes[1]);
    while (running > 0) {
        check(s->ops->follow(s, count_messages, &order, &wait_ms, &error));
        for (int i = 0; i < WRITERS; i++)
            running -= writers[i] && waitpid(writers[i], &status, WNOHANG) == writers[i]
                           ? (writers[i] = 0, 1u)
                           : 0u;
    }
    check(s->ops->follow(s, count_messages, &order, &wait_ms, &error));
    assert_int_equal(order.count, WRITERS * EACH);
    assert_true(wait_ms > 0);
    close(pipes[0]);
    close(pipes[1]);
    close_sessions(s);
}

/* ---- behind a pooler ------------------------------------------------------------------------- */

/* Nothing is left on a connection that somebody else gets next. */
static void behind_a_pooler_all_is_the_same(void **state)
{
    char url[128], cursor[ETHOS_CURSOR_SIZE], fork[ETHOS_UUID_SIZE];
    uint64_t count;
    (void)state;
    if (pg_pooler_missing())
        skip();
    if (!server.pooler)
        pg_pooler_start(&server);
    snprintf(url, sizeof url, "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable",
             server.pooler_port);
    struct ethos_sessions *s = open_sessions(url), *other = open_sessions(url);
    check(create(s, "shared"));
    for (int i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        check(say_as(i % 2 ? other : s, "shared", id, "thread of wool"));
    }
    assert_int_equal(hits(other, "wool"), 3);
    check(other->ops->fork(other, "shared", fork, &error));
    check(s->ops->undo(s, "shared", 2, &count, &error));
    assert_int_equal(count, 2);
    assert_said(other, "shared", "thread of wool|");
    check(s->ops->vacuum(s, &error));
    check(s->ops->list(s, &(struct ethos_session_query){.limit = 1}, ignore, NULL, cursor, &error));
    assert_int_not_equal(*cursor, 0);
    close_sessions(other);
    close_sessions(s);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* More different words than a tsvector takes, and a word behind the last place that it counts. */
static void a_text_of_too_many_words_is_found_all_the_same(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    struct str text;
    (void)state;
    str_init(&text, 16777216);
    for (int i = 0; i < 120000; i++)
        str_printf(&text, "word%d ", i);
    str_adds(&text, "needle in the stack");
    check(create(s, "shared"));
    check(say_as(s, "shared", "large", text.data));
    assert_int_equal(ask("SELECT count(*) FROM ethos.message WHERE terms IS NULL"), 1);
    assert_int_equal(hits(s, "\"needle in the\""), 1);
    assert_int_equal(hits(s, "nowhere"), 0);
    str_clear(&text);
    for (int i = 0; i < 40000; i++)
        str_printf(&text, "word%d ", i % 1000);
    str_adds(&text, "thread of wool");
    check(say_as(s, "shared", "long", text.data));
    assert_int_equal(ask("SELECT count(*) FROM ethos.message WHERE terms IS NULL"), 1);
    assert_int_equal(hits(s, "\"thread of wool\""), 1);
    str_release(&text);
    close_sessions(s);
}

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    if (strstr(finding->problem, "words"))
        ++*(unsigned *)arg;
}

static void words_that_are_not_those_of_the_message_are_found_and_mended(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    unsigned count = 0;
    (void)state;
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", "needle"));
    assert_true(pg_server_say(&server, "UPDATE ethos.message SET terms = 'other'", NULL, 0));
    assert_int_equal(hits(s, "needle"), 0);
    check(s->ops->check(s, 0, count_finding, &count, &error));
    assert_int_equal(count, 1);
    check(s->ops->check(s, 1, count_finding, &count, &error));
    assert_int_equal(count, 2);
    assert_int_equal(hits(s, "needle"), 1);
    check(s->ops->check(s, 0, count_finding, &count, &error));
    assert_int_equal(count, 2);
    check(s->ops->vacuum(s, &error));
    assert_said(s, "shared", "needle|");
    close_sessions(s);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static int open_as_guarded(struct ethos_sessions **out_sessions)
{
    char url[160];
    snprintf(url, sizeof url, "host=%s port=%u user=guarded dbname=postgres", server.temp.path,
             server.port);
    const struct ethos_setting settings[] = {{"url", url}, {"password", PG_SERVER_PASSWORD}};
    const struct ethos_setup setup = {.host = &log_default_host,
                                      .settings = settings,
                                      .setting_count = 2,
                                      .deadline_ms = DEADLINE_MS};
    assert_true(pg_server_say(&server,
                              "GRANT USAGE ON SCHEMA ethos TO guarded; GRANT SELECT, INSERT,"
                              " UPDATE, DELETE ON ALL TABLES IN SCHEMA ethos TO guarded",
                              NULL, 0));
    return pg_module()->sessions->open(&setup, out_sessions, &error);
}

static void a_schema_without_conversations_gets_them(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    (void)state;
    close_sessions(s);
    assert_true(pg_server_say(&server,
                              "DROP VIEW ethos.conversation; DROP TABLE ethos.message,"
                              " ethos.session, ethos.session_call, ethos.api_key;"
                              "UPDATE ethos.schema_version SET version = 1",
                              NULL, 0));
    assert_int_equal(open_as_guarded(&s), ETHOS_DENIED); // and is told who may
    assert_non_null(strstr(error.text, "version 1, 4 is needed"));
    assert_non_null(strstr(error.hint, "owns the schema"));
    s = open_sessions(server.url);
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", "kept"));
    assert_said(s, "shared", "kept|");
    close_sessions(s);
}

static void a_role_that_may_only_write_is_enough(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    const struct ethos_key key = {
        .prefix = "p", .hash = "h", .name = "n", .scopes = "", .origins = ""};
    (void)state;
    close_sessions(s);
    check(open_as_guarded(&s));
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", "kept"));
    assert_said(s, "shared", "kept|");
    check(s->ops->key_add(s, &key, &error));
    check(s->ops->remove(s, "shared", &error));
    close_sessions(s);
}

static void people_read_conversations_in_a_view(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    char out[128];
    (void)state;
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", "größer"));
    assert_true(
        pg_server_say(&server, "SELECT key, role, text FROM ethos.conversation", out, sizeof out));
    assert_string_equal(out, "shared|user|größer\n");
    close_sessions(s);
}

/* ---- purge ----------------------------------------------------------------------------------- */

#define WORD "xyzzyplugh"

static struct ethos_session_purge purge(struct ethos_sessions *s, const char *text, unsigned flags,
                                        int dry_run)
{
    const struct ethos_match match = {.text = view_str(text), .flags = flags};
    struct ethos_session_purge out = {0};
    check(s->ops->purge(s, &match, dry_run, &out, &error));
    return out;
}

/* How many rows of both tables hold a word, in any column. */
static long rows_with(const char *word)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT (SELECT count(*) FROM ethos.message m WHERE strpos(lower(m::text),"
             " encode('%s', 'hex')) + strpos(lower(m::text), '%s') > 0)"
             " + (SELECT count(*) FROM ethos.session s WHERE strpos(lower(s::text), '%s') > 0)",
             word, word, word);
    return ask(sql);
}

static void count_wrong_words(void *arg, const struct ethos_finding *finding)
{
    *(int *)arg += strstr(finding->problem, "the words of") != NULL;
}

static int wrong_words(struct ethos_sessions *s)
{
    int wrong = 0;
    check(s->ops->check(s, 0, count_wrong_words, &wrong, &error));
    return wrong;
}

/* The bytes of the index of words, as the server has them on its disk. */
static bool index_holds(const char *word)
{
    char path[512], file[256];
    static char bytes[8 << 20];
    assert_true(pg_server_say(&server, "CHECKPOINT", NULL, 0));
    assert_true(pg_server_say(&server, "SELECT pg_relation_filepath('ethos.message_terms')", file,
                              sizeof file));
    file[strcspn(file, "\n")] = 0;
    snprintf(path, sizeof path, "%s/data/%s", server.temp.path, file);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    assert_true(size > 0);
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

static void a_text_goes_out_of_everything_that_was_said(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    const struct ethos_message call = {
        .id = "m4",
        .role = "assistant",
        .content = VIEW("calling"),
        .tool_calls = "[{\"id\":\"1\",\"name\":\"sh\",\"input\":{\"a\":\"say \\\"" WORD "\\\"\"}}]",
        .content_blocks = "[{\"type\":\"text\",\"text\":\"one\\n" WORD "\\ntwo\"}]"};
    const struct ethos_session_patch patch = {.title = "About " WORD,
                                              .metadata = "{\"note\":\"" WORD "\"}"};
    char shown[512], fork[ETHOS_UUID_SIZE];
    uint64_t count;
    (void)state;
    check(create(s, "first-one"));
    check(say_as(s, "first-one", "m1", "keep this\nthe password is " WORD "\nand this"));
    check(say_as(s, "first-one", "m2", WORD "s are other things"));
    check(say_as(s, "first-one", "m3", "hidden: " WORD));
    check(s->ops->undo(s, "first-one", 1, &count, &error));
    check(s->ops->append(s, "first-one", &call, 1, 0, &error));
    check(s->ops->update(s, "first-one", &patch, &error));
    check(s->ops->fork(s, "first-one", fork, &error));
    assert_int_equal(hits(s, WORD), 4); // the plural has the same stem
    assert_true(index_holds(WORD));
    struct ethos_session_purge dry = purge(s, WORD, 0, 1);
    assert_int_equal(dry.messages, 5); // with the hidden one, and those of the fork
    assert_int_equal(dry.sessions, 2);
    struct ethos_session_purge done = purge(s, WORD, 0, 0);
    assert_memory_equal(&dry, &done, sizeof dry);
    assert_said(s, "first-one",
                "keep this\n[forgotten]\nand this|" WORD "s are other things|calling|");
    assert_said(s, fork, "keep this\n[forgotten]\nand this|" WORD "s are other things|calling|");
    assert_true(pg_server_say(
        &server, "SELECT tool_calls, content_blocks FROM ethos.message WHERE id = 'm4'", shown,
        sizeof shown));
    assert_non_null(strstr(shown, "{\"a\":\"[forgotten]\"}"));
    assert_non_null(strstr(shown, "one\\n[forgotten]\\ntwo"));
    assert_int_equal(ask("SELECT count(*) FROM ethos.session WHERE title = '[forgotten]'"
                         " AND title_folded = '[forgotten]'"
                         " AND metadata = '{\"note\":\"[forgotten]\"}'"),
                     2);
    assert_int_equal(hits(s, WORD), 2);
    assert_int_equal(hits(s, "password"), 0);
    assert_int_equal(hits(s, "forgotten"), 2);
    assert_int_equal(hits(s, "things"), 2);
    assert_int_equal(wrong_words(s), 0);
    done = purge(s, "XYZZYPLUGHS", ETHOS_MATCH_ANY_CASE, 0);
    assert_int_equal(done.messages, 2);
    assert_int_equal(hits(s, WORD), 0);
    assert_int_equal(rows_with(WORD), 0);
    assert_false(index_holds(WORD));
    done = purge(s, WORD, ETHOS_MATCH_SUBSTRING, 0);
    assert_int_equal(done.messages + done.sessions + done.summaries, 0);
    close_sessions(s);
}

static void a_purge_whose_answers_are_lost_is_done(void **state)
{
    struct ethos_sessions *s = open_sessions(proxy_url);
    unsigned before = proxy_cuts(proxy);
    (void)state;
    for (int i = 0; i < 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "one-%d", i);
        check(create(s, id));
        check(say_as(s, id, NULL, "the password is " WORD));
        cut(i ? PROXY_CUT_REQUEST : PROXY_CUT_ANSWER, "[forgotten]");
        assert_int_equal(purge(s, WORD, 0, 0).messages, 1);
        assert_int_equal(rows_with(WORD), 0);
        assert_said(s, id, "[forgotten]|");
    }
    assert_int_equal(proxy_cuts(proxy) - before, 2);
    close_sessions(s);
}

/* What writers say meanwhile is all there, but for the lines with the word. */
static void a_purge_beside_writers_takes_nothing_else(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    pid_t writers[4];
    (void)state;
    check(create(s, "first-one"));
    for (int i = 0; i < 4; i++) {
        fflush(NULL);
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] > 0)
            continue;
        struct ethos_sessions *own = open_sessions(server.url);
        for (int k = 0; k < 40; k++) {
            char text[64], id[32];
            snprintf(text, sizeof text, "writer %d says %d%s", i, k,
                     k % 5 || k > 20 ? "" : "\n" WORD);
            snprintf(id, sizeof id, "w%d-%d", i, k);
            if (say_as(own, "first-one", id, text) != ETHOS_OK)
                _exit(1);
        }
        _exit(0);
    }
    purge(s, WORD, 0, 0);
    for (int i = 0; i < 4; i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    purge(s, WORD, 0, 0);
    assert_int_equal(rows_with(WORD), 0);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 40; k++) {
            char sql[256];
            snprintf(sql, sizeof sql,
                     "SELECT count(*) FROM ethos.message WHERE id = 'w%d-%d' AND"
                     " convert_from(content, 'UTF8') = 'writer %d says %d%s'",
                     i, k, i, k, k % 5 || k > 20 ? "" : "' || chr(10) || '[forgotten]");
            assert_int_equal(ask(sql), 1);
        }
    assert_int_equal(wrong_words(s), 0);
    close_sessions(s);
}

/* Rows are rewritten; whoever owns the tables is asked for the rest. */
static void a_role_that_may_only_write_is_told_what_is_left(void **state)
{
    struct ethos_sessions *s = open_sessions(server.url);
    const struct ethos_match match = {.text = VIEW(WORD)};
    struct ethos_session_purge done = {0};
    (void)state;
    check(create(s, "shared"));
    check(say_as(s, "shared", "a", WORD));
    close_sessions(s);
    check(open_as_guarded(&s));
    assert_int_equal(s->ops->purge(s, &match, 0, &done, &error), ETHOS_DENIED);
    assert_non_null(strstr(error.hint, "REINDEX INDEX \"ethos\".message_terms"));
    assert_int_equal(done.messages, 1);
    assert_int_equal(rows_with(WORD), 0);
    assert_said(s, "shared", "[forgotten]|");
    close_sessions(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(a_change_whose_answer_is_lost_happens_once),
        TEST(what_others_had_before_is_not_taken_for_our_own),
        TEST(a_change_is_on_the_disk_whatever_the_role_prefers),
        TEST(many_writers_of_one_session_lose_nothing),
        TEST(backends_that_are_terminated_are_not_noticed),
        TEST(a_server_that_falls_loses_nothing_that_was_acknowledged),
        TEST(a_fork_is_what_was_said_until_then),
        TEST(checked_appends_of_many_alternate),
        TEST(an_undo_sees_what_was_said_while_it_waited),
        TEST(who_follows_hears_of_every_message_once),
        TEST(behind_a_pooler_all_is_the_same),
        TEST(a_text_of_too_many_words_is_found_all_the_same),
        TEST(words_that_are_not_those_of_the_message_are_found_and_mended),
        TEST(a_schema_without_conversations_gets_them),
        TEST(a_role_that_may_only_write_is_enough),
        TEST(people_read_conversations_in_a_view),
        TEST(a_text_goes_out_of_everything_that_was_said),
        TEST(a_purge_whose_answers_are_lost_is_done),
        TEST(a_purge_beside_writers_takes_nothing_else),
        TEST(a_role_that_may_only_write_is_told_what_is_left),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    char path[160];
    snprintf(path, sizeof path, "%s/.s.PGSQL.%u", server.temp.path, server.port);
    proxy = proxy_start((struct proxy_end){NULL, 0}, (struct proxy_end){path, 0});
    snprintf(proxy_url, sizeof proxy_url,
             "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable", proxy_port(proxy));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    proxy_stop(proxy);
    pg_server_stop(&server);
    return failed;
}
