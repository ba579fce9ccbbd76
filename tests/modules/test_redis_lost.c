/*
 * test_redis_lost.c: the Redis store when things go wrong: answers that are lost, servers that
 * refuse, a server that is killed under load.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "proxy.h"
#include "redis.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define KEY "MEMORY.md"

static struct redis_server server;

static int empty_server(void **state)
{
    char reply[64];
    (void)state;
    redis_server_say(&server, "FLUSHALL", reply, sizeof reply);
    return 0;
}

static struct ethos_store *open_plain(const char *url, uint32_t deadline_ms, const char *timeout_ms)
{
    const struct ethos_setting settings[] = {{"url", url}, {"timeoutMs", timeout_ms}, {NULL, NULL}};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    if (redis_open(&log_default_host, settings, deadline_ms, &store, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return store;
}

/* ---- one commit ----------------------------------------------------------------------------- */

/* Version `from` to the next one, with a row or without; the text is the token. */
static int commit(struct ethos_store *store, uint64_t from, const char *token, bool row,
                  struct ethos_error *error)
{
    const struct ethos_row rows[1] = {{.change = {.number = from + 1,
                                                  .key = KEY,
                                                  .actions = "replace",
                                                  .before = "absent",
                                                  .after = "absent"}}};
    struct ethos_edit edits[1] = {
        {.key = KEY, .verdict = ETHOS_EDIT_PUT, .text = view_str(token), .revision = "r"}};
    const struct ethos_commit commit = {.version = from,
                                        .next = from + 1,
                                        .token = token,
                                        .time_ms = 1,
                                        .edits = edits,
                                        .edit_count = 1,
                                        .rows = rows,
                                        .row_count = row};
    return store->ops->commit(store, SCOPE, &commit, error);
}

static int count_row(void *arg, const struct ethos_row *row)
{
    (void)row;
    ++*(unsigned *)arg;
    return 0;
}

static void assert_state(struct ethos_store *store, uint64_t version, unsigned rows,
                         const char *text)
{
    struct ethos_edit edit = {.key = KEY};
    struct ethos_fetch fetch = {.edits = &edit, .count = 1};
    unsigned count = 0;
    assert_int_equal(store->ops->fetch(store, SCOPE, &fetch, NULL), ETHOS_OK);
    assert_int_equal(fetch.version, version);
    if (text)
        assert_string_equal(edit.old.data, text);
    else
        assert_null(edit.old.data);
    free(edit.old.data);
    assert_int_equal(store->ops->rows(store, SCOPE, NULL, 0, 100, count_row, &count, NULL),
                     ETHOS_OK);
    assert_int_equal(count, rows);
}

/* ---- lost answers --------------------------------------------------------------------------- */

struct wire {
    struct proxy *proxy;
    struct ethos_store *store, *direct;
    char url[64];
};

static void wire_up(struct wire *wire, uint32_t deadline_ms, const char *timeout_ms)
{
    empty_server(NULL);
    wire->proxy = proxy_start((struct proxy_end){NULL, 0}, (struct proxy_end){server.socket, 0});
    snprintf(wire->url, sizeof wire->url, "redis://127.0.0.1:%u", proxy_port(wire->proxy));
    wire->store = open_plain(wire->url, deadline_ms, timeout_ms);
    wire->direct = open_plain(server.url, 5000, "5000");
    assert_int_equal(commit(wire->direct, 0, "first", true, NULL), ETHOS_OK); // the script is known
}

static void wire_down(struct wire *wire)
{
    wire->store->ops->close(wire->store);
    wire->direct->ops->close(wire->direct);
    proxy_stop(wire->proxy);
}

static void test_a_commit_whose_answer_is_lost_happens_once(void **state)
{
    static const enum proxy_cut cuts[] = {PROXY_CUT_REQUEST, PROXY_CUT_ANSWER, PROXY_CUT_SILENT};
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        bool row = i % 2;
        struct wire wire;
        struct ethos_error error = {0};
        wire_up(&wire, 5000, "200");
        proxy_arm(wire.proxy, cuts[i / 2], "EVALSHA", 2);
        if (commit(wire.store, 1, "second", row, &error) != ETHOS_OK)
            fail_msg("%s", error.text);
        assert_int_equal(proxy_cuts(wire.proxy), 2);
        assert_state(wire.direct, 2, 1 + row, "second");
        wire_down(&wire);
    }
}

static void test_a_commit_that_lost_a_race_is_a_conflict_though_an_answer_was_lost(void **state)
{
    struct wire wire;
    (void)state;
    wire_up(&wire, 5000, "200");
    assert_int_equal(commit(wire.direct, 1, "other", true, NULL), ETHOS_OK);
    proxy_arm(wire.proxy, PROXY_CUT_ANSWER, "EVALSHA", 1);
    assert_int_equal(commit(wire.store, 1, "second", true, NULL), ETHOS_CONFLICT);
    assert_state(wire.direct, 2, 2, "other");
    wire_down(&wire);
}

/* Commits over the wire while a test does something else. */
struct attempt {
    struct ethos_store *store;
    bool row;
    int code;
    struct ethos_error error;
    pthread_t thread;
};

static void *try_commit(void *arg)
{
    struct attempt *attempt = arg;
    attempt->code = commit(attempt->store, 1, "second", attempt->row, &attempt->error);
    return NULL;
}

/*
 * The commit happens, its answer is lost, and others change the scope before it can be asked for
 * again.
 */
static void lose_and_move_on(struct wire *wire, struct attempt *attempt)
{
    struct ethos_edit edit = {.key = KEY};
    struct ethos_fetch fetch = {.edits = &edit, .count = 1};
    wire_up(wire, 10000, "5000");
    attempt->store = wire->store;
    proxy_arm(wire->proxy, PROXY_CUT_ANSWER, "EVALSHA", 1);
    proxy_shut(wire->proxy, true);
    assert_int_equal(pthread_create(&attempt->thread, NULL, try_commit, attempt), 0);
    for (int i = 0; i < 5000 && fetch.version < 2; i++, os_sleep_ms(1))
        assert_int_equal(wire->direct->ops->fetch(wire->direct, SCOPE, &fetch, NULL), ETHOS_OK);
    free(edit.old.data);
    assert_int_equal(commit(wire->direct, 2, "third", true, NULL), ETHOS_OK);
    proxy_shut(wire->proxy, false);
    pthread_join(attempt->thread, NULL);
}

static void test_a_later_change_does_not_hide_a_commit_with_rows(void **state)
{
    struct wire wire;
    struct attempt attempt = {.row = true};
    (void)state;
    lose_and_move_on(&wire, &attempt);
    assert_int_equal(attempt.code, ETHOS_OK);
    assert_state(wire.direct, 3, 3, "third");
    wire_down(&wire);
}

static void test_a_commit_without_rows_that_is_hidden_is_unknown(void **state)
{
    struct wire wire;
    struct attempt attempt = {.row = false};
    (void)state;
    lose_and_move_on(&wire, &attempt);
    assert_int_equal(attempt.code, ETHOS_IO);
    assert_non_null(strstr(attempt.error.text, "may have been made"));
    assert_state(wire.direct, 3, 2, "third");
    wire_down(&wire);
}

static int replace_first_row(struct ethos_store *store)
{
    const struct ethos_row rows[1] = {{.change = {.number = 2,
                                                  .key = KEY,
                                                  .actions = "cleansed",
                                                  .before = "absent",
                                                  .after = "absent"}}};
    const struct ethos_commit commit = {
        .version = 3, .next = 4, .token = "purge", .rows = rows, .row_count = 1};
    return store->ops->commit(store, SCOPE, &commit, NULL);
}

static int first_actions(void *arg, const struct ethos_row *row)
{
    snprintf(arg, 32, "%s", row->change.actions);
    return row->change.number == 2 ? 77 : 0;
}

static void test_a_replaced_row_keeps_the_token_it_was_made_with(void **state)
{
    struct ethos_store *store = open_plain(server.url, 5000, "5000");
    char actions[32];
    empty_server(state);
    assert_int_equal(commit(store, 0, "first", true, NULL), ETHOS_OK);
    assert_int_equal(commit(store, 1, "second", true, NULL), ETHOS_OK);
    assert_int_equal(commit(store, 2, "third", true, NULL), ETHOS_OK);
    assert_int_equal(replace_first_row(store), ETHOS_OK);
    assert_int_equal(store->ops->rows(store, SCOPE, NULL, 0, 9, first_actions, actions, NULL), 77);
    assert_string_equal(actions, "cleansed");
    assert_int_equal(commit(store, 1, "second", true, NULL), ETHOS_OK); // asked again
    assert_int_equal(commit(store, 1, "another", true, NULL), ETHOS_CONFLICT);
    assert_state(store, 4, 3, "third");
    store->ops->close(store);
}

static void test_without_any_answer_a_commit_is_unknown_and_without_connection_undone(void **state)
{
    struct wire wire;
    struct ethos_error error = {0};
    (void)state;
    wire_up(&wire, 400, "100");
    proxy_arm(wire.proxy, PROXY_CUT_SILENT, "EVALSHA", 1000);
    assert_int_equal(commit(wire.store, 1, "second", true, &error), ETHOS_IO);
    assert_non_null(strstr(error.text, "may have been made"));
    proxy_shut(wire.proxy, true);
    assert_int_equal(commit(wire.store, 2, "third", true, &error), ETHOS_BUSY);
    assert_state(wire.direct, 2, 2, "second");
    wire_down(&wire);
}

static void test_reads_go_on_over_a_new_connection(void **state)
{
    struct wire wire;
    (void)state;
    wire_up(&wire, 5000, "200");
    proxy_arm(wire.proxy, PROXY_CUT_ANSWER, "EVALSHA", 1);
    assert_state(wire.store, 1, 1, "first");
    proxy_arm(wire.proxy, PROXY_CUT_SILENT, "XREVRANGE", 1);
    assert_state(wire.store, 1, 1, "first");
    assert_int_equal(proxy_cuts(wire.proxy), 2);
    wire_down(&wire);
}

static void test_a_connection_that_the_server_closed_is_not_used_again(void **state)
{
    struct ethos_store *store = open_plain(server.url, 5000, "5000");
    char reply[64];
    empty_server(state);
    redis_server_say(&server, "CLIENT KILL TYPE normal SKIPME yes", reply, sizeof reply);
    assert_int_equal(commit(store, 0, "first", false, NULL), ETHOS_OK);
    assert_state(store, 1, 0, "first");
    store->ops->close(store);
}

/* ---- a server that refuses ------------------------------------------------------------------ */

/* Greets as a server does and answers everything else with one line. */
struct fake {
    int listener;
    char path[96], url[104];
    const char *answer;
    const char *greeting; /* instead of +OK to SELECT, or NULL */
    atomic_uint asked, rewrites;
    atomic_bool ended;
    pthread_t thread;
};

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return;
}

/* Requests come whole: each is answered by its first word. */
static void answer(struct fake *fake, int fd, const char *bytes)
{
    if (strstr(bytes, "SELECT"))
        say(fd, fake->greeting ? fake->greeting : "+OK\r\n");
    if (strstr(bytes, "INFO"))
        say(fd, "$10\r\nrole:alien\r\n");
    if (strstr(bytes, "CONFIG"))
        say(fd, "*0\r\n");
    if (strstr(bytes, "BGREWRITEAOF"))
        say(fd, fake->rewrites++ == 0
                    ? "-ERR Background append only file rewriting already in progress\r\n"
                    : "+Background append only file rewriting started\r\n");
    if (strstr(bytes, "EVAL")) {
        fake->asked++;
        say(fd, fake->answer);
    }
}

static void *pretend(void *arg)
{
    struct fake *fake = arg;
    while (!fake->ended) {
        int fd = accept(fake->listener, NULL, NULL);
        char bytes[65536];
        ssize_t size;
        while (fd >= 0 && (size = read(fd, bytes, sizeof bytes - 1)) > 0) {
            bytes[size] = 0;
            answer(fake, fd, bytes);
        }
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

static void fake_start(struct fake *fake, const char *line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *fake = (struct fake){.answer = line};
    snprintf(fake->path, sizeof fake->path, "%s/fake", server.temp.path);
    snprintf(fake->url, sizeof fake->url, "unix:%s", fake->path);
    memcpy(address.sun_path, fake->path, sizeof fake->path);
    unlink(fake->path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listener, 8), 0);
    assert_int_equal(pthread_create(&fake->thread, NULL, pretend, fake), 0);
}

static void fake_stop(struct fake *fake)
{
    fake->ended = true;
    shutdown(fake->listener, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
}

static void test_every_refusal_has_its_code_and_its_words(void **state)
{
    static const struct {
        const char *line;
        int code;
        bool again;
        const char *text;
    } refusals[] = {
        {"-LOADING Redis is loading the dataset in memory\r\n", ETHOS_BUSY, true, "loading"},
        {"-BUSY Redis is busy running a script.\r\n", ETHOS_BUSY, true, "busy with a script"},
        {"-MASTERDOWN Link with MASTER is down\r\n", ETHOS_BUSY, true, "lost its primary"},
        {"-OOM command not allowed. script: f, on @user_script:1.\r\n", ETHOS_BUSY, false,
         "memory"},
        {"-ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -OOM command "
         "not allowed when used memory > 'maxmemory'.\r\n",
         ETHOS_BUSY, false, "memory"},
        {"-MISCONF Errors writing to the AOF file\r\n", ETHOS_BUSY, false, "disk"},
        {"-NOREPLICAS Not enough good replicas to write.\r\n", ETHOS_BUSY, false, "replicas"},
        {"-READONLY You can't write against a read only replica.\r\n", ETHOS_BUSY, false,
         "replica"},
        {"-NOAUTH Authentication required.\r\n", ETHOS_DENIED, false, "password"},
        {"-NOPERM this user has no permissions to run the 'hset' command\r\n", ETHOS_DENIED, false,
         "does not let this user"},
        {"-WRONGTYPE Operation against a key\r\n", ETHOS_CORRUPT, false, "not ours"},
        {"-MOVED 1 127.0.0.1:1\r\n", ETHOS_UNSUPPORTED, false, "cluster"},
        {"-CROSSSLOT Keys in request don't hash to the same slot\r\n", ETHOS_UNSUPPORTED, false,
         "cluster"},
        {"-CLUSTERDOWN The cluster is down\r\n", ETHOS_UNSUPPORTED, false, "cluster"},
        {"-ERR unknown command 'EVALSHA', with args beginning with: 'content'\r\n",
         ETHOS_UNSUPPORTED, false, "lacks a command"},
        {"-ERR Unknown Redis command called from script script: f, on @user_script:1.\r\n",
         ETHOS_UNSUPPORTED, false, "lacks a command"},
        {"-ERR something that nobody has heard of\r\n", ETHOS_IO, false, "nobody has heard of"},
        {":7\r\n", ETHOS_CORRUPT, false, "answer of the script"},
        {"not the protocol\r\n", ETHOS_IO, true, "may have been made"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        static struct fake fake;
        struct ethos_error error = {0};
        fake_start(&fake, refusals[i].line);
        struct ethos_store *store = open_plain(fake.url, 2000, "2000");
        assert_false(store->capabilities & ETHOS_STORE_DURABLE);
        int code = commit(store, 0, "first", true, &error);
        if (code != refusals[i].code || !strstr(error.text, refusals[i].text))
            fail_msg("%s: %d %s", refusals[i].line, code, error.text);
        assert_null(strstr(error.text, "content"));
        assert_int_equal(fake.asked > 1, refusals[i].again);
        store->ops->close(store);
        fake_stop(&fake);
    }
}

static void test_a_greeting_that_refuses_is_repeated_in_our_words(void **state)
{
    static const struct {
        const char *line;
        int code;
        const char *text;
    } greetings[] = {
        {"-ERR max number of clients reached\r\n", ETHOS_BUSY, "as many clients"},
        {"-DENIED Redis is running in protected mode\r\n", ETHOS_DENIED, "protected mode"},
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        static struct fake fake;
        struct ethos_error error = {0};
        struct ethos_store *store = NULL;
        fake_start(&fake, "+OK\r\n");
        fake.greeting = greetings[i].line;
        const struct ethos_setting settings[] = {{"url", fake.url}, {NULL, NULL}};
        assert_int_equal(redis_open(&log_default_host, settings, 1000, &store, &error),
                         greetings[i].code);
        assert_non_null(strstr(error.text, greetings[i].text));
        fake_stop(&fake);
    }
}

/* The file that is being written was begun before the purge. */
static void test_after_a_purge_the_file_is_rewritten_even_if_it_is_just_being(void **state)
{
    static struct fake fake;
    (void)state;
    fake_start(&fake, "+done\r\n");
    struct ethos_store *store = open_plain(fake.url, 5000, "5000");
    assert_int_equal(commit(store, 0, "first", true, NULL), ETHOS_OK);
    assert_int_equal(fake.rewrites, 0);
    assert_int_equal(replace_first_row(store), ETHOS_OK);
    assert_int_equal(fake.rewrites, 2);
    store->ops->close(store);
    fake_stop(&fake);
}

/* ---- killed under load ---------------------------------------------------------------------- */

#define WRITERS 4
#define MOST_LINES 2000
#define LINE_SIZE 24

/* Larger where there is time. */
static unsigned lines(void)
{
    return getenv("CHECK_LONG") ? MOST_LINES : 40;
}

struct writer {
    unsigned number;
    struct ethos_store *store;
    int codes[MOST_LINES];
    struct ethos_error error; /* of the last failure */
    pthread_t thread;
};

static atomic_uint answered, acknowledged;

struct addition {
    char line[LINE_SIZE];
    char *text;
};

static int add_line(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct addition *addition = arg;
    size_t size = edits->old.size, more = strlen(addition->line);
    (void)count, (void)error;
    free(addition->text);
    addition->text = malloc(size + more + 1);
    if (!addition->text)
        return ETHOS_NOMEM;
    if (size)
        memcpy(addition->text, edits->old.data, size);
    memcpy(addition->text + size, addition->line, more + 1);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_of(addition->text, size + more);
    return ETHOS_OK;
}

static void *write_lines(void *arg)
{
    struct writer *writer = arg;
    for (unsigned i = 0; i < lines(); i++) {
        struct ethos_edit edit = {.key = KEY};
        struct addition addition = {0};
        snprintf(addition.line, sizeof addition.line, "<%u.%u>\n", writer->number, i);
        writer->codes[i] = store_update(writer->store, SCOPE, &edit, 1, add_line, &addition, NULL,
                                        &writer->error);
        acknowledged += writer->codes[i] == ETHOS_OK;
        answered++;
        free(addition.text);
        free(edit.old.data);
    }
    return NULL;
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

/* Every answer of a writer against what is there. */
static void judge(const struct writer *writer, const char *text, unsigned *unknown)
{
    for (unsigned i = 0; i < lines(); i++) {
        char line[LINE_SIZE];
        snprintf(line, sizeof line, "<%u.%u>\n", writer->number, i);
        unsigned count = occurrences(text, line);
        int code = writer->codes[i];
        *unknown += code == ETHOS_IO;
        if (code == ETHOS_OK ? count != 1 : count > (code == ETHOS_IO))
            fail_msg("%s is there %u times, and the answer was %d: %s", line, count, code,
                     writer->error.text);
    }
}

static void test_nothing_acknowledged_is_lost_when_the_server_is_killed(void **state)
{
    static struct writer writers[WRITERS];
    const struct ethos_read_how whole = {0, 0};
    struct ethos_text text = {0};
    unsigned kills = getenv("CHECK_LONG") ? 100 : 4, unknown = 0;
    empty_server(state);
    answered = acknowledged = 0;
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.number = i};
        assert_int_equal(redis_open_rows(&log_default_host, server.url, 20000, &writers[i].store,
                                         &writers[i].error),
                         ETHOS_OK);
        assert_true(writers[i].store->capabilities & ETHOS_STORE_DURABLE);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_lines, &writers[i]), 0);
    }
    for (unsigned i = 1; i <= kills; i++) {
        while (answered < WRITERS * lines() * i / (kills + 2))
            os_sleep_ms(1);
        redis_server_kill(&server);
        redis_server_again(&server);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    assert_int_equal(writers[0].store->ops->read(writers[0].store, SCOPE, KEY, &whole, &text, NULL),
                     ETHOS_OK);
    for (unsigned i = 0; i < WRITERS; i++) {
        judge(&writers[i], text.data, &unknown);
        writers[i].store->ops->close(writers[i].store);
    }
    print_message("%u of %u acknowledged, %u unknown\n", acknowledged, WRITERS * lines(), unknown);
    free(text.data);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_commit_whose_answer_is_lost_happens_once),
        cmocka_unit_test(test_a_commit_that_lost_a_race_is_a_conflict_though_an_answer_was_lost),
        cmocka_unit_test(test_a_later_change_does_not_hide_a_commit_with_rows),
        cmocka_unit_test(test_a_commit_without_rows_that_is_hidden_is_unknown),
        cmocka_unit_test(test_a_replaced_row_keeps_the_token_it_was_made_with),
        cmocka_unit_test(test_without_any_answer_a_commit_is_unknown_and_without_connection_undone),
        cmocka_unit_test(test_reads_go_on_over_a_new_connection),
        cmocka_unit_test(test_a_connection_that_the_server_closed_is_not_used_again),
        cmocka_unit_test(test_every_refusal_has_its_code_and_its_words),
        cmocka_unit_test(test_after_a_purge_the_file_is_rewritten_even_if_it_is_just_being),
        cmocka_unit_test(test_a_greeting_that_refuses_is_repeated_in_our_words),
        cmocka_unit_test(test_nothing_acknowledged_is_lost_when_the_server_is_killed),
    };
    const char *missing = redis_server_missing();
    if (missing) {
        printf("ok 1 - redis # SKIP %s\n1..1\n", missing);
        return 0;
    }
    redis_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    redis_server_stop(&server);
    return failed;
}
