/*
 * postgres_calls.h: calls to a store over PostgreSQL, shortened for tests.
 */
#ifndef TESTS_MODULES_POSTGRES_CALLS_H
#define TESTS_MODULES_POSTGRES_CALLS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/system/log.h"
#include "base/view.h"
#include "postgres.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define DEADLINE_MS 20000

/* The module's own store, whose fetch and commit a test calls itself. */
static inline struct ethos_store *open_inner(const char *url, uint32_t deadline_ms)
{
    const struct ethos_setting settings[] = {{"url", url}, {NULL, NULL}};
    struct ethos_store *store;
    struct ethos_error error = {0};
    if (pg_open_with(&log_default_host, settings, deadline_ms, &store, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return store;
}

/* The whole store. */
static inline struct ethos_store *open_whole(const char *url, uint32_t deadline_ms)
{
    struct ethos_store *store;
    struct ethos_error error = {0};
    if (pg_open_rows(&log_default_host, url, deadline_ms, &store, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return store;
}

static inline void close_store(struct ethos_store *store)
{
    store->ops->close(store);
}

static inline int write_text(struct ethos_store *store, const char *key, const char *text,
                             struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    return store->ops->write(store, SCOPE, key, NULL, view_str(text), NULL, revision, error);
}

/* The text of a key, to be freed; NULL when absent, and the test fails for anything else. */
static inline char *read_text(struct ethos_store *store, const char *scope, const char *key)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    struct ethos_error error = {0};
    int code = store->ops->read(store, scope, key, &whole, &text, &error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        fail_msg("%s", error.text);
    return text.data;
}

static inline void assert_holds(struct ethos_store *store, const char *key, const char *expected)
{
    char *text = read_text(store, SCOPE, key);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static inline uint64_t version_of(struct ethos_store *store, const char *scope)
{
    struct ethos_fetch fetch = {0};
    struct ethos_error error = {0};
    if (store->ops->fetch(store, scope, &fetch, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return fetch.version;
}

/* One text and, unless silent, its row, from one version to the next. */
struct small_commit {
    const char *key, *text, *token;
    uint64_t version;
    bool silent;
};

static inline int commit_small(struct ethos_store *store, const struct small_commit *small,
                               struct ethos_error *error)
{
    struct ethos_edit edit = {
        .key = small->key, .verdict = ETHOS_EDIT_PUT, .text = view_str(small->text)};
    hash_revision(edit.text, edit.revision);
    const struct ethos_row row = {.change = {.number = small->version + 1,
                                             .time_ms = 1,
                                             .key = small->key,
                                             .actions = "replace",
                                             .before = "absent",
                                             .after = edit.revision},
                                  .whole = edit.text};
    const struct ethos_commit commit = {.version = small->version,
                                        .next = small->version + 1,
                                        .token = small->token,
                                        .time_ms = 1,
                                        .edits = &edit,
                                        .edit_count = 1,
                                        .rows = &row,
                                        .row_count = small->silent ? 0 : 1};
    return store->ops->commit(store, SCOPE, &commit, error);
}

#endif
