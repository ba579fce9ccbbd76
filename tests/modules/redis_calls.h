/*
 * redis_calls.h: what the tests of the Redis store share: a server, stores over it, calls
 * shortened.
 */
#ifndef TESTS_MODULES_REDIS_CALLS_H
#define TESTS_MODULES_REDIS_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "redis.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define DEADLINE_MS 60000 /* the machine may be busy with other tests */

static struct redis_server server;

/* ---- calls, shortened ----------------------------------------------------------------------- */

static inline void tell_server(const struct redis_server *to, const char *line)
{
    char reply[256];
    redis_server_say(to, line, reply, sizeof reply);
    if (reply[0] == '-')
        fail_msg("%s: %s", line, reply);
}

static inline void tell(const char *line)
{
    tell_server(&server, line);
}

static inline struct ethos_store *open_store(const struct ethos_setting *settings)
{
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    if (redis_open(&log_default_host, settings, DEADLINE_MS, &store, &error) != ETHOS_OK)
        fail_msg("%s; %s", error.text, error.hint);
    return store;
}

static inline struct ethos_store *open_plain(void)
{
    const struct ethos_setting settings[] = {{"url", server.url}, {NULL, NULL}};
    return open_store(settings);
}

static inline struct ethos_store *open_whole(void)
{
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    if (redis_open_rows(&log_default_host, server.url, DEADLINE_MS, &store, &error) != ETHOS_OK)
        fail_msg("%s; %s", error.text, error.hint);
    return store;
}

static inline int write_text(struct ethos_store *store, const char *scope, const char *key,
                             struct ethos_view text, struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    return store->ops->write(store, scope, key, NULL, text, NULL, revision, error);
}

static inline void put(struct ethos_store *store, const char *key, const char *text)
{
    struct ethos_error error = {0};
    if (write_text(store, SCOPE, key, view_str(text), &error) != ETHOS_OK)
        fail_msg("%s: %s", key, error.text);
}

static inline void assert_text(struct ethos_store *store, const char *key,
                               struct ethos_view expected)
{
    const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    struct ethos_error error = {0};
    if (store->ops->read(store, SCOPE, key, &whole, &text, &error) != ETHOS_OK)
        fail_msg("%s: %s", key, error.text);
    assert_int_equal(text.size, expected.size);
    assert_memory_equal(text.data, expected.data, expected.size);
    free(text.data);
}

static inline int read_code(struct ethos_store *store, const char *key)
{
    const struct ethos_read_how whole = {0, 0};
    struct ethos_text text = {0};
    int code = store->ops->read(store, SCOPE, key, &whole, &text, NULL);
    free(text.data);
    return code;
}

static inline int empty_server(void **state)
{
    (void)state;
    tell("FLUSHALL");
    tell("CONFIG SET appendonly yes appendfsync always no-appendfsync-on-rewrite no maxmemory 0 "
         "maxmemory-policy noeviction");
    tell("ACL SETUSER limited reset");
    return 0;
}

/* ---- findings ------------------------------------------------------------------------------ */

struct findings {
    size_t count;
    char text[8192];
};

static inline void note_finding(void *arg, const struct ethos_finding *finding)
{
    struct findings *findings = arg;
    size_t used = strlen(findings->text);
    findings->count++;
    assert_non_null(strstr(finding->subject, "Redis at "));
    assert_true(strlen(finding->remedy) > 0);
    snprintf(findings->text + used, sizeof findings->text - used, "%s => %s\n", finding->problem,
             finding->remedy);
}

static inline void look(struct ethos_store *store, struct findings *out)
{
    struct ethos_error error = {0};
    *out = (struct findings){0};
    if (store->ops->check(store, 0, note_finding, out, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
}

#endif
