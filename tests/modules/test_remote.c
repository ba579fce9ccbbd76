/*
 * test_remote.c: the store of another `ethos serve`: the suite of all stores over a server that runs, and
 * what is this backend's own: what travels, who may, what is refused.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "base/view.h"
#include "conformance/conformance.h"
#include "proxy.h"
#include "remote.h"

#define DEADLINE_MS 20000
#define SCOPE "personality:tester"
#define KEY "MEMORY.md"

static struct remote_server server;
static struct proxy *proxy; /* in front of it, so that what travels can be counted */

/* ---- calls, shortened ----------------------------------------------------------------------- */

static struct ethos_store *open_at(unsigned port)
{
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    if (remote_open_at(&log_default_host, port, server.key, DEADLINE_MS, &store, &error) !=
        ETHOS_OK)
        fail_msg("%s; %s", error.text, error.hint);
    return store;
}

static void free_text(struct ethos_text *text)
{
    log_default_host.resize(log_default_host.arg, text->data, 0);
    *text = (struct ethos_text){0};
}

static void put(struct ethos_store *store, const char *key, struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_error error = {0};
    if (store->ops->write(store, SCOPE, key, NULL, text, NULL, revision, &error) != ETHOS_OK)
        fail_msg("%s: %s", key, error.text);
}

static void assert_text(struct ethos_store *store, const char *key, struct ethos_view expected)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    struct ethos_error error = {0};
    if (store->ops->read(store, SCOPE, key, &whole, &text, &error) != ETHOS_OK)
        fail_msg("%s: %s", key, error.text);
    assert_int_equal(text.size, expected.size);
    assert_memory_equal(text.data, expected.data, expected.size);
    free_text(&text);
}

static char *filled(size_t size)
{
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 26);
    return text;
}

/* ---- what travels --------------------------------------------------------------------------- */

static void test_an_unchanged_text_does_not_travel_again(void **state)
{
    enum { SIZE = 100000 };
    char *text = filled(SIZE);
    struct ethos_store *store = open_at(proxy_port(proxy));
    (void)state;
    put(store, KEY, view_of(text, SIZE));
    assert_text(store, KEY, view_of(text, SIZE));
    unsigned long before = proxy_answered(proxy);
    for (int i = 0; i < 10; i++)
        assert_text(store, KEY, view_of(text, SIZE));
    unsigned long ten = proxy_answered(proxy) - before;
    assert_true(ten > 0 && ten < SIZE / 2); // ten answers without a text
    store->ops->close(store);
    free(text);
}

static void test_a_text_that_others_changed_is_read_anew(void **state)
{
    struct ethos_store *store = open_at(proxy_port(proxy)), *other = open_at(server.port);
    (void)state;
    put(store, KEY, VIEW("one\n"));
    assert_text(store, KEY, VIEW("one\n"));
    put(other, KEY, VIEW("two\n"));
    assert_text(store, KEY, VIEW("two\n"));
    put(store, KEY, VIEW("three\n"));
    assert_text(store, KEY, VIEW("three\n"));
    assert_text(other, KEY, VIEW("three\n"));
    assert_int_equal(other->ops->remove(other, SCOPE, KEY, NULL, NULL, NULL), ETHOS_OK);
    struct ethos_text none = {0};
    const struct ethos_read_how whole = {0, 0};
    assert_int_equal(store->ops->read(store, SCOPE, KEY, &whole, &none, NULL), ETHOS_NOTFOUND);
    assert_int_equal(store->ops->read(store, SCOPE, KEY, &whole, &none, NULL), ETHOS_NOTFOUND);
    store->ops->close(store);
    other->ops->close(other);
}

/* A whole prefetch is one question, and one without texts when nothing changed. */
static void test_several_texts_are_one_question(void **state)
{
    enum { SIZE = 50000 };
    static const struct ethos_read_how tail = {20000, 0};
    struct ethos_section sections[3] = {0};
    char *text = filled(SIZE);
    struct ethos_store *store = open_at(proxy_port(proxy));
    (void)state;
    put(store, KEY, view_of(text, SIZE));
    const char *const spots[][2] = {{"user:me", "USER.md"}, {SCOPE, KEY}, {"global", KEY}};
    for (size_t i = 0; i < 3; i++) {
        snprintf(sections[i].scope, sizeof sections[i].scope, "%s", spots[i][0]);
        snprintf(sections[i].key, sizeof sections[i].key, "%s", spots[i][1]);
    }
    unsigned long start = proxy_answered(proxy);
    assert_int_equal(store->ops->gather(store, &tail, sections, 3, NULL), ETHOS_OK);
    unsigned long first = proxy_answered(proxy) - start;
    assert_int_equal(store->ops->gather(store, &tail, sections, 3, NULL), ETHOS_OK);
    unsigned long second = proxy_answered(proxy) - start - first;
    assert_int_equal(sections[0].code, ETHOS_NOTFOUND);
    assert_int_equal(sections[1].code, ETHOS_OK);
    assert_int_equal(sections[2].code, ETHOS_NOTFOUND);
    assert_int_equal(sections[1].text.total, SIZE);
    assert_int_equal(sections[1].text.offset + sections[1].text.size, SIZE);
    assert_memory_equal(sections[1].text.data, text + sections[1].text.offset,
                        sections[1].text.size);
    assert_string_equal(sections[1].text.revision, "");
    assert_true(first > 20000 && second < 2000);
    free_text(&sections[1].text);
    store->ops->close(store);
    free(text);
}

/* More than a request line holds: the same question in a body. */
static void test_many_texts_are_read_at_once(void **state)
{
    enum { COUNT = 300 };
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_section *sections = calloc(COUNT, sizeof *sections);
    struct ethos_store *store = open_at(server.port);
    (void)state;
    put(store, "note-7.md", VIEW("seven\n"));
    for (int i = 0; i < COUNT; i++) {
        snprintf(sections[i].scope, sizeof sections[i].scope, SCOPE);
        snprintf(sections[i].key, sizeof sections[i].key, "note-%d.md", i);
    }
    assert_int_equal(store->ops->gather(store, &whole, sections, COUNT, NULL), ETHOS_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(sections[i].code, i == 7 ? ETHOS_OK : ETHOS_NOTFOUND);
    assert_string_equal(sections[7].text.data, "seven\n");
    free_text(&sections[7].text);
    free(sections);
    store->ops->close(store);
}

/* Larger than any other body that the server takes. */
static void test_a_large_text_comes_back_whole(void **state)
{
    enum { SIZE = 20 << 20 };
    struct ethos_store *store = open_at(server.port);
    char *text = filled(SIZE);
    (void)state;
    put(store, "large.md", view_of(text, SIZE));
    assert_text(store, "large.md", view_of(text, SIZE));
    assert_int_equal(store->ops->remove(store, SCOPE, "large.md", NULL, NULL, NULL), ETHOS_OK);
    free(text);
    store->ops->close(store);
}

/* ---- who may -------------------------------------------------------------------------------- */

static void assert_refused(const char *key, int code, const char *text)
{
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    assert_int_equal(
        remote_open_at(&log_default_host, server.port, key, DEADLINE_MS, &store, &error), code);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
    if (key)
        assert_null(strstr(error.text, key)); // never the whole of it
}

static void test_only_a_key_for_machines_opens_it(void **state)
{
    char key[REMOTE_KEY_SIZE], prefix[18];
    (void)state;
    remote_server_key(&server,
                      "memory:read memory:write sessions:read sessions:write personalities:read "
                      "chat:send",
                      key);
    snprintf(prefix, sizeof prefix, "%.17s", key);
    assert_refused(key, ETHOS_DENIED, prefix);
    assert_refused("sk-ethos-00000000000000000000000000000000000000000000000000000000",
                   ETHOS_DENIED, "sk-ethos-00000000...");
    assert_refused(NULL, ETHOS_INVALID, "memory.options.keyFile");
    assert_refused("a key\r\nX-Other: 1", ETHOS_INVALID, "memory.options.key");
}

static void test_an_agents_key_is_none_for_machines(void **state)
{
    char out[4096];
    const char *const words[] = {"api-key", "create", "a", "--agent", "--scope", "store", NULL};
    (void)state;
    assert_int_not_equal(remote_server_run(&server, words, out, sizeof out), 0);
}

/* What lies beside memory in a home is not lent: there are credentials. */
static void test_only_memory_is_lent(void **state)
{
    static const char *const keys[] = {"web-token", "config.yaml", "sessions.db", "SOUL.md",
                                       "identity-map.json"};
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_store *store = open_at(server.port);
    char revision[ETHOS_REVISION_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct ethos_text text = {0};
        assert_int_equal(store->ops->read(store, "global", keys[i], &whole, &text, NULL),
                         ETHOS_DENIED);
        assert_null(text.data);
        assert_int_equal(
            store->ops->write(store, "global", keys[i], NULL, VIEW("x"), NULL, revision, NULL),
            ETHOS_DENIED);
    }
    store->ops->close(store);
}

/* ---- settings ------------------------------------------------------------------------------- */

static void assert_setting(const char *url, const char *insecure, int code, const char *text)
{
    const struct ethos_setting settings[] = {
        {"url", url}, {"key", server.key}, {"insecure", insecure}, {NULL, NULL}};
    struct ethos_error error = {0};
    assert_int_equal(remote_try(settings, 300, &error), code);
    if (!strstr(error.text, text))
        fail_msg("%s: '%s' does not say '%s'", url, error.text, text);
}

static void test_addresses_are_checked_before_anything_is_sent(void **state)
{
    (void)state;
    assert_setting("ftp://localhost/", "false", ETHOS_INVALID, "https://");
    assert_setting("localhost", "false", ETHOS_INVALID, "memory.options.url");
    assert_setting("http://me:secret@localhost/", "false", ETHOS_INVALID, "address alone");
    assert_setting("http://localhost/?a=b", "false", ETHOS_INVALID, "address alone");
    assert_setting("http://192.0.2.1/", "false", ETHOS_DENIED, "exposes the key");
    assert_setting("http://127.0.0.1.example.org/", "false", ETHOS_DENIED, "exposes the key");
    assert_setting("http://192.0.2.1/", "true", ETHOS_BUSY, "192.0.2.1");
    assert_setting("http://nowhere.invalid/", "true", ETHOS_BUSY, "nowhere.invalid");
}

/* ---- watching ------------------------------------------------------------------------------- */

struct told {
    int count, any;
    char last[ETHOS_MAX_SCOPE];
};

static int tell(void *arg, const char *scope)
{
    struct told *told = arg;
    told->count++;
    told->any += !scope;
    snprintf(told->last, sizeof told->last, "%s", scope ? scope : "");
    return 0;
}

/* Waits as a host would, until something was told. */
static void watch_until(struct ethos_store *store, struct told *told)
{
    struct ethos_error error = {0};
    for (int i = 0; i < 600 && told->count == 0; i++) {
        int fd = -1;
        unsigned wait = 0;
        if (store->ops->watch(store, tell, told, &fd, &wait, &error) != ETHOS_OK)
            fail_msg("%s", error.text);
        struct pollfd ready = {fd, POLLIN, 0};
        if (told->count == 0)
            poll(&ready, 1, wait && wait < 100 ? (int)wait : 100);
    }
}

static void test_changes_of_others_are_told(void **state)
{
    struct ethos_store *store = open_at(server.port), *other = open_at(server.port);
    struct told told = {0};
    int fd;
    unsigned wait;
    (void)state;
    assert_int_equal(store->ops->watch(store, tell, &told, &fd, &wait, NULL), ETHOS_OK);
    assert_int_equal(told.count, 0);
    assert_true(fd >= 0);
    put(other, KEY, VIEW("watched\n"));
    watch_until(store, &told);
    assert_string_equal(told.last, SCOPE);
    store->ops->close(store);
    other->ops->close(other);
}

static void test_after_a_restart_anything_may_have_changed(void **state)
{
    struct ethos_store *store = open_at(server.port);
    struct told told = {0};
    int fd;
    unsigned wait;
    (void)state;
    assert_int_equal(store->ops->watch(store, tell, &told, &fd, &wait, NULL), ETHOS_OK);
    remote_server_kill(&server);
    remote_server_again(&server);
    watch_until(store, &told);
    assert_int_equal(told.any, 1);
    store->ops->close(store);
}

/* ---- doctor --------------------------------------------------------------------------------- */

static void count_finding(void *arg, const struct ethos_finding *finding)
{
    (void)finding;
    ++*(int *)arg;
}

static int64_t tomorrow(void *arg)
{
    return log_default_host.now_ms(arg) + 86400000;
}

static void test_check_compares_the_clocks(void **state)
{
    struct ethos_host host = log_default_host;
    struct ethos_store *store = NULL;
    int findings = 0;
    (void)state;
    host.now_ms = tomorrow;
    assert_int_equal(remote_open_at(&host, server.port, server.key, DEADLINE_MS, &store, NULL),
                     ETHOS_OK);
    assert_int_equal(store->ops->check(store, 0, count_finding, &findings, NULL), ETHOS_OK);
    assert_int_equal(findings, 1);
    store->ops->close(store);
    store = open_at(server.port);
    findings = 0;
    assert_int_equal(store->ops->check(store, 0, count_finding, &findings, NULL), ETHOS_OK);
    assert_int_equal(findings, 0);
    store->ops->close(store);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int open_remote(const struct ethos_host *host, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    return remote_open_at(host, server.port, server.key, DEADLINE_MS, out_store, error);
}

int main(void)
{
    static const struct conformance_subject subject = {.name = "remote", .open = open_remote};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unchanged_text_does_not_travel_again),
        cmocka_unit_test(test_a_text_that_others_changed_is_read_anew),
        cmocka_unit_test(test_several_texts_are_one_question),
        cmocka_unit_test(test_many_texts_are_read_at_once),
        cmocka_unit_test(test_a_large_text_comes_back_whole),
        cmocka_unit_test(test_only_a_key_for_machines_opens_it),
        cmocka_unit_test(test_an_agents_key_is_none_for_machines),
        cmocka_unit_test(test_only_memory_is_lent),
        cmocka_unit_test(test_addresses_are_checked_before_anything_is_sent),
        cmocka_unit_test(test_changes_of_others_are_told),
        cmocka_unit_test(test_after_a_restart_anything_may_have_changed),
        cmocka_unit_test(test_check_compares_the_clocks),
    };
    remote_server_start(&server);
    proxy = remote_server_proxy(&server);
    int broken = cmocka_run_group_tests_name("modules/remote", tests, NULL, NULL);
    broken += conformance_run(&subject);
    proxy_stop(proxy);
    remote_server_stop(&server);
    return broken;
}
