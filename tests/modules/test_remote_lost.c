/*
 * test_remote_lost.c: the store of another `ethos serve` when the way there fails: answers that are lost, a
 * server that dies under load, one that is none.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "proxy.h"
#include "remote.h"

#define DEADLINE_MS 20000
#define SHORT_MS 700
#define SCOPE "personality:tester"
#define KEY "MEMORY.md"
#define TEXT_SIZE 65536
#define SWAP "/rpc/store/swap"

static struct remote_server server;
static struct proxy *proxy;

/* ---- additions ------------------------------------------------------------------------------- */

struct addition {
    const char *line;
    char text[TEXT_SIZE];
};

static int add_line(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct addition *addition = arg;
    (void)count, (void)error;
    snprintf(addition->text, sizeof addition->text, "%s%s\n",
             edits->old.data ? edits->old.data : "", addition->line);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(addition->text);
    return ETHOS_OK;
}

static int add(struct ethos_store *store, const char *key, const char *line, const char *op_id,
               enum ethos_verdict *out_verdict, struct ethos_error *error)
{
    static struct addition addition;
    const struct ethos_origin origin = {.op_id = op_id, .op_digest = op_id ? "digest" : NULL};
    struct ethos_edit edit = {.key = key};
    addition.line = line;
    int code = store->ops->update(store, SCOPE, &edit, 1, add_line, &addition, &origin, error);
    log_default_host.resize(log_default_host.arg, edit.old.data, 0);
    if (out_verdict)
        *out_verdict = edit.verdict;
    return code;
}

static struct ethos_store *open_with(unsigned port, const char *timeout_ms, uint32_t deadline_ms)
{
    char url[64];
    const struct ethos_setting settings[] = {
        {"url", url}, {"key", server.key}, {"timeoutMs", timeout_ms}, {NULL, NULL}};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    if (remote_open_with(&log_default_host, settings, deadline_ms, &store, &error) != ETHOS_OK)
        fail_msg("%s; %s", error.text, error.hint);
    return store;
}

/* How often the line is in the text, asked for without the proxy. */
static int count_line(const char *key, const char *line)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_store *store = open_with(server.port, "0", DEADLINE_MS);
    struct ethos_text text = {0};
    int count = 0;
    if (store->ops->read(store, SCOPE, key, &whole, &text, NULL) == ETHOS_OK) {
        struct ethos_view rest = view_of(text.data, text.size), found;
        while (view_line(&rest, &found))
            count += view_eq_str(found, line);
    }
    log_default_host.resize(log_default_host.arg, text.data, 0);
    store->ops->close(store);
    return count;
}

static int count_change(void *arg, const struct ethos_change *change)
{
    ++*(int *)arg;
    assert_null(change->op_id); // one that was made for the way
    return 0;
}

/* ---- answers that are lost -------------------------------------------------------------------- */

static void test_a_lost_answer_is_asked_for_again_and_done_once(void **state)
{
    static const enum proxy_cut cuts[] = {PROXY_CUT_REQUEST, PROXY_CUT_ANSWER, PROXY_CUT_SILENT};
    static const char *const lines[] = {"request", "answer", "silent"};
    struct ethos_store *store = open_with(proxy_port(proxy), "500", DEADLINE_MS);
    struct ethos_error error = {0};
    enum ethos_verdict verdict;
    int changes = 0;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        unsigned before = proxy_cuts(proxy);
        proxy_arm(proxy, cuts[i], SWAP, 2);
        if (add(store, "lost.md", lines[i], NULL, &verdict, &error) != ETHOS_OK)
            fail_msg("%s: %s", lines[i], error.text);
        assert_int_equal(proxy_cuts(proxy) - before, 2);
        assert_int_equal(verdict, ETHOS_EDIT_PUT); // not a repeat: nobody asked twice but we
        assert_int_equal(count_line("lost.md", lines[i]), 1);
    }
    assert_int_equal(store->ops->history(store, SCOPE, "lost.md", count_change, &changes, NULL),
                     ETHOS_OK);
    assert_int_equal(changes, 3);
    store->ops->close(store);
}

static void test_what_nobody_can_know_is_said_and_a_repeat_tells(void **state)
{
    struct ethos_store *store = open_with(proxy_port(proxy), "0", SHORT_MS);
    struct ethos_error error = {0};
    enum ethos_verdict verdict;
    (void)state;
    assert_int_equal(add(store, "unknown.md", "first", "op-0", NULL, &error), ETHOS_OK);
    proxy_arm(proxy, PROXY_CUT_ANSWER, "unknowable", 1000);
    assert_int_equal(add(store, "unknown.md", "unknowable", "op-1", NULL, &error), ETHOS_IO);
    assert_non_null(strstr(error.text, "may have been made"));
    proxy_arm(proxy, PROXY_CUT_ANSWER, SWAP, 0);
    assert_int_equal(add(store, "unknown.md", "unknowable", "op-1", &verdict, &error), ETHOS_OK);
    assert_int_equal(verdict, ETHOS_EDIT_REPEATED);
    assert_int_equal(count_line("unknown.md", "unknowable"), 1);
    store->ops->close(store);
}

static void test_what_was_not_sent_was_not_done(void **state)
{
    char url[64];
    const struct ethos_setting settings[] = {{"url", url}, {"key", server.key}, {NULL, NULL}};
    struct ethos_store *store = open_with(proxy_port(proxy), "0", SHORT_MS);
    struct ethos_error error = {0};
    (void)state;
    proxy_arm(proxy, PROXY_CUT_REQUEST, "never", 0);
    remote_server_kill(&server); // the proxy lets nobody in, and its connections end
    int code = add(store, "busy.md", "never", NULL, NULL, &error);
    assert_int_equal(code, ETHOS_BUSY); // only a question about the text has gone out
    assert_non_null(strstr(error.text, "nothing was done"));
    store->ops->close(store);
    memset(&error, 0, sizeof error);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    assert_int_equal(remote_try(settings, SHORT_MS, &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "not reachable, nothing was done"));
    store = open_with(server.port, "0", DEADLINE_MS); // it comes back
    remote_server_again(&server);
    code = add(store, "busy.md", "later", NULL, NULL, &error); // right after, the reason is told
    assert_true(code == ETHOS_OK || code == ETHOS_BUSY);
    if (code == ETHOS_BUSY)
        assert_int_equal(add(store, "busy.md", "later", NULL, NULL, &error), ETHOS_OK);
    store->ops->close(store);
    assert_int_equal(count_line("busy.md", "never"), 0);
}

/* ---- a server that dies ------------------------------------------------------------------------ */

enum { WRITERS = 4, LINES = 40, DEATHS = 3 };

struct answers {
    int codes[WRITERS][LINES];
    atomic_int done;
};

static void name_line(int writer, int number, char out[32])
{
    snprintf(out, 32, "writer %d line %d", writer, number);
}

static _Noreturn void write_lines(int writer, struct answers *answers)
{
    struct ethos_store *store = NULL;
    char line[32];
    if (remote_open_at(&log_default_host, server.port, server.key, DEADLINE_MS, &store, NULL) !=
        ETHOS_OK)
        _exit(1);
    for (int i = 0; i < LINES; i++) {
        name_line(writer, i, line);
        answers->codes[writer][i] = add(store, "load.md", line, NULL, NULL, NULL);
        answers->done++;
    }
    _exit(0);
}

static void test_a_server_that_is_killed_under_load_loses_and_doubles_nothing(void **state)
{
    struct answers *answers = mmap(NULL, sizeof *answers, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t writers[WRITERS];
    char line[32];
    int status, acknowledged = 0;
    (void)state;
    assert_true(answers != MAP_FAILED);
    for (int i = 0; i < WRITERS; i++) {
        fflush(stdout);
        writers[i] = fork();
        if (writers[i] == 0)
            write_lines(i, answers);
    }
    for (int i = 1; i <= DEATHS; i++) {
        while (answers->done < i * WRITERS * LINES / (DEATHS + 2))
            os_sleep_ms(1);
        remote_server_kill(&server);
        remote_server_again(&server);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        for (int j = 0; j < LINES; j++) {
            int code = answers->codes[i][j];
            name_line(i, j, line);
            int count = count_line("load.md", line);
            bool unknown = code == ETHOS_IO && count == 1;
            if (count != (code == ETHOS_OK) && !unknown)
                fail_msg("%s: answered %d, there %d times", line, code, count);
            acknowledged += code == ETHOS_OK;
        }
    }
    assert_true(acknowledged > WRITERS * LINES / 2);
    munmap(answers, sizeof *answers);
}

/* ---- a key that is taken away ------------------------------------------------------------------ */

static void test_a_revoked_key_is_refused_and_named_by_its_beginning(void **state)
{
    char key[REMOTE_KEY_SIZE], prefix[18], out[1024];
    const char *const words[] = {"api-key", "revoke", prefix, NULL};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    (void)state;
    remote_server_key(&server, "store", key);
    snprintf(prefix, sizeof prefix, "%.17s", key);
    assert_int_equal(remote_open_at(&log_default_host, server.port, key, DEADLINE_MS, &store, NULL),
                     ETHOS_OK);
    assert_int_equal(add(store, "revoked.md", "before", NULL, NULL, &error), ETHOS_OK);
    assert_int_equal(remote_server_run(&server, words, out, sizeof out), 0);
    int code = ETHOS_OK;
    for (int i = 0; i < 100 && code == ETHOS_OK; i++) { // the server looks now and then
        code = add(store, "revoked.md", "after", NULL, NULL, &error);
        os_sleep_ms(50);
    }
    assert_int_equal(code, ETHOS_DENIED);
    assert_non_null(strstr(error.text, prefix));
    assert_null(strstr(error.text, key));
    assert_non_null(strstr(error.hint, "ethos api-key create NAME --scope store"));
    store->ops->close(store);
}

/* ---- what is no server ------------------------------------------------------------------------- */

/* Answers each request with the next of these bytes, the last again and again, and closes. */
struct fake {
    int listener;
    unsigned port;
    const char *const *answers;
    atomic_int requests;
    pthread_t thread;
};

static void read_request(int fd)
{
    char bytes[8192];
    size_t size = 0;
    ssize_t count;
    while (size + 1 < sizeof bytes &&
           (count = recv(fd, bytes + size, sizeof bytes - size - 1, 0)) > 0) {
        size += (size_t)count;
        bytes[size] = 0;
        if (strstr(bytes, "\r\n\r\n"))
            return;
    }
}

static void *serve_fake(void *arg)
{
    struct fake *self = arg;
    for (int fd; (fd = accept(self->listener, NULL, NULL)) >= 0; close(fd)) {
        int number = self->requests++;
        const char *answer = self->answers[0];
        for (int i = 1; i <= number && self->answers[i]; i++)
            answer = self->answers[i];
        read_request(fd);
        if (*answer)
            send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        else // nothing, until whoever asked has gone
            read_request(fd);
    }
    return NULL;
}

static void fake_start(struct fake *self, const char *const *answers)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *self = (struct fake){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                          .answers = answers};
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    getsockname(self->listener, (struct sockaddr *)&address, &size);
    self->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&self->thread, NULL, serve_fake, self), 0);
}

static void fake_stop(struct fake *self)
{
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

#define OK_JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
#define INFO OK_JSON "\r\n{\"wire\":1,\"offers\":[\"once\"],\"timeMs\":0}"

static const struct {
    const char *name, *answer, *says;
    int code;
} oddities[] = {
    {"a page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>",
     "no ethos server", ETHOS_CORRUPT},
    {"an array", OK_JSON "\r\n[1,2]", "damaged", ETHOS_IO},
    {"half an answer", OK_JSON "Content-Length: 500\r\n\r\n{\"wire\":1,", "no answer", ETHOS_BUSY},
    {"half of JSON", OK_JSON "\r\n{\"wire\":1,", "damaged", ETHOS_IO},
    {"no HTTP", "220 mail.example.org ESMTP\r\n", "HTTP", ETHOS_CORRUPT},
    {"a redirect",
     "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
     "another address", ETHOS_CORRUPT},
    {"an old server", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "too old",
     ETHOS_UNSUPPORTED},
    {"another name", "HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n", "421",
     ETHOS_DENIED},
    {"a newer server", OK_JSON "\r\n{\"wire\":2,\"offers\":[]}", "version 2", ETHOS_UNSUPPORTED},
    {"a gateway without a server", "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "502",
     ETHOS_BUSY},
    {"a gateway that broke",
     "HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>", "500",
     ETHOS_BUSY},
    {"an unknown error", OK_JSON "\r\n{\"error\":{\"code\":\"strange\",\"message\":\"x\"}}",
     "no form", ETHOS_CORRUPT},
    {"too much", OK_JSON "Content-Length: 99999999999\r\n\r\n{", "", ETHOS_BUSY},
};

/* When the time is over in a later attempt, what the server said before is told. */
static void test_what_was_said_before_the_silence_is_told(void **state)
{
    static const char *const answers[] = {
        INFO, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "", NULL};
    char url[64];
    const struct ethos_setting settings[] = {{"url", url}, {"key", server.key}, {NULL, NULL}};
    struct ethos_error error = {0};
    struct fake fake;
    (void)state;
    fake_start(&fake, answers);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", fake.port);
    assert_int_equal(remote_try(settings, 1000, &error), ETHOS_BUSY);
    assert_true(fake.requests > 2);
    fake_stop(&fake);
    if (!strstr(error.text, "502"))
        fail_msg("%s", error.text);
}

static void test_what_is_no_server_is_told_clearly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof oddities / sizeof *oddities; i++) {
        const char *const answers[] = {oddities[i].answer, NULL};
        char url[64];
        const struct ethos_setting settings[] = {{"url", url}, {"key", server.key}, {NULL, NULL}};
        struct ethos_error error = {0};
        struct fake fake;
        fake_start(&fake, answers);
        snprintf(url, sizeof url, "http://127.0.0.1:%u", fake.port);
        /* Who is busy is asked until the time is over; the others answer once. */
        int code = remote_try(settings, oddities[i].code == ETHOS_BUSY ? 1000 : 10000, &error);
        fake_stop(&fake);
        if (code != oddities[i].code || !strstr(error.text, oddities[i].says))
            fail_msg("%s: %d, %s", oddities[i].name, code, error.text);
        assert_null(strstr(error.text, server.key));
        assert_null(strstr(error.hint, server.key));
    }
}

/* Answers that are none to a read and to an update, of a server that was one before. */
/* All of the key, or as much as fits. */
static void test_who_quotes_the_key_is_not_repeated(void **state)
{
    static const char *const padding[] = {"", "0123456789012345678901234567890123456789"
                                              "0123456789012345678901234567890123456789"
                                              "01234567890123456789012345678901234567"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char answer[1024], url[64];
        const char *const answers[] = {answer, NULL};
        const struct ethos_setting settings[] = {{"url", url}, {"key", server.key}, {NULL, NULL}};
        struct ethos_error error = {0};
        struct fake fake;
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
                 "{\"message\":\"%s who is Bearer %s?\"}",
                 padding[i], server.key);
        fake_start(&fake, answers);
        snprintf(url, sizeof url, "http://127.0.0.1:%u", fake.port);
        assert_int_equal(remote_try(settings, 200, &error), ETHOS_IO);
        fake_stop(&fake);
        assert_non_null(strstr(error.text, "it contains the key"));
        assert_null(strstr(error.text, "sk-ethos-"));
    }
}

static void test_answers_to_something_else_are_refused(void **state)
{
    static const char *const read[] = {
        INFO,
        OK_JSON "\r\n{\"texts\":[{\"scope\":\"global\",\"key\":\"other.md\",\"text\":\"x\"}]}",
        NULL};
    static const char *const changed[] = {INFO,
                                          OK_JSON "\r\n{\"texts\":[{\"scope\":\"" SCOPE
                                                  "\",\"key\":\"" KEY "\",\"text\":\"x\","
                                                  "\"revision\":\"sha256:00\"}]}",
                                          NULL};
    static const char *const unchanged[] = {INFO, "HTTP/1.1 304 Not Modified\r\n\r\n", NULL};
    static const char *const *const cases[] = {read, changed, unchanged};
    static const struct ethos_read_how whole = {0, 0};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct ethos_store *store = NULL;
        struct ethos_text text = {0};
        struct fake fake;
        fake_start(&fake, cases[i]);
        assert_int_equal(
            remote_open_at(&log_default_host, fake.port, server.key, DEADLINE_MS, &store, NULL),
            ETHOS_OK);
        assert_int_equal(store->ops->read(store, SCOPE, KEY, &whole, &text, NULL), ETHOS_CORRUPT);
        log_default_host.resize(log_default_host.arg, text.data, 0);
        store->ops->close(store);
        fake_stop(&fake);
    }
}

static void test_a_busy_server_is_asked_again_when_it_says(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\n{\"code\":\"busy\"}",
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\n{\"code\":\"busy\"}",
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n",
        INFO, NULL};
    char url[64];
    const struct ethos_setting settings[] = {{"url", url}, {"key", server.key}, {NULL, NULL}};
    struct fake fake;
    (void)state;
    fake_start(&fake, answers);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", fake.port);
    assert_int_equal(remote_try(settings, DEADLINE_MS, NULL), ETHOS_OK);
    assert_int_equal(fake.requests, 5); // the last one is that of the call
    fake_stop(&fake);
}

/* ---- pages ------------------------------------------------------------------------------------- */

#define PAGE(key, next)                                                                            \
    OK_JSON "\r\n{\"json\":{\"entries\":[{\"key\":\"" key "\"}],\"nextCursor\":" next "}}"
#define MOVED                                                                                      \
    OK_JSON "\r\n{\"json\":{\"error\":{\"code\":\"invalid\",\"message\":\"cursor: not one of "     \
            "this list\"}}}"

static int note_key(void *arg, const struct ethos_entry *entry)
{
    char *keys = arg;
    strncat(keys, entry->key, 8);
    return ETHOS_OK;
}

/* A list that changes between two pages is read again from its start, for some time. */
static void test_a_list_comes_in_pages(void **state)
{
    static const char *const plain[] = {INFO, PAGE("a", "\"1\""), PAGE("b", "\"2\""),
                                        PAGE("c", "null"), NULL};
    static const char *const moved[] = {
        INFO, PAGE("a", "\"1\""), MOVED, PAGE("b", "\"1\""), PAGE("c", "null"), NULL};
    static const char *const restless[] = {INFO,  PAGE("a", "\"1\""), MOVED, PAGE("a", "\"1\""),
                                           MOVED, PAGE("a", "\"1\""), MOVED, PAGE("a", "\"1\""),
                                           MOVED, PAGE("a", "\"1\""), MOVED, NULL};
    static const char *const none[] = {INFO, OK_JSON "\r\n{\"json\":{}}", NULL};
    static const struct {
        const char *const *answers;
        int code;
        const char *keys;
    } cases[] = {{plain, ETHOS_OK, "abc"},
                 {moved, ETHOS_OK, "bc"},
                 {restless, ETHOS_BUSY, ""},
                 {none, ETHOS_CORRUPT, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ethos_store *store = NULL;
        struct fake fake;
        char keys[64] = "";
        fake_start(&fake, cases[i].answers);
        assert_int_equal(
            remote_open_at(&log_default_host, fake.port, server.key, DEADLINE_MS, &store, NULL),
            ETHOS_OK);
        assert_int_equal(store->ops->list(store, SCOPE, note_key, keys, NULL), cases[i].code);
        assert_string_equal(keys, cases[i].keys);
        store->ops->close(store);
        fake_stop(&fake);
    }
}

static void test_what_the_server_lacks_is_lacking(void **state)
{
    static const char *const answers[] = {INFO, NULL};
    struct ethos_store *store = NULL;
    struct fake fake;
    (void)state;
    fake_start(&fake, answers);
    assert_int_equal(
        remote_open_at(&log_default_host, fake.port, server.key, DEADLINE_MS, &store, NULL),
        ETHOS_OK);
    assert_int_equal(store->capabilities, ETHOS_STORE_ONCE);
    assert_null(store->ops->history);
    assert_null(store->ops->purge);
    assert_non_null(store->ops->update);
    store->ops->close(store);
    fake_stop(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lost_answer_is_asked_for_again_and_done_once),
        cmocka_unit_test(test_what_nobody_can_know_is_said_and_a_repeat_tells),
        cmocka_unit_test(test_what_was_not_sent_was_not_done),
        cmocka_unit_test(test_a_server_that_is_killed_under_load_loses_and_doubles_nothing),
        cmocka_unit_test(test_a_revoked_key_is_refused_and_named_by_its_beginning),
        cmocka_unit_test(test_what_was_said_before_the_silence_is_told),
        cmocka_unit_test(test_what_is_no_server_is_told_clearly),
        cmocka_unit_test(test_who_quotes_the_key_is_not_repeated),
        cmocka_unit_test(test_answers_to_something_else_are_refused),
        cmocka_unit_test(test_a_busy_server_is_asked_again_when_it_says),
        cmocka_unit_test(test_a_list_comes_in_pages),
        cmocka_unit_test(test_what_the_server_lacks_is_lacking),
    };
    remote_server_start(&server);
    proxy = remote_server_proxy(&server);
    int failed = cmocka_run_group_tests_name("modules/remote_lost", tests, NULL, NULL);
    proxy_stop(proxy);
    remote_server_stop(&server);
    return failed;
}
