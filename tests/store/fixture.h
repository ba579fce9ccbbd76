/*
 * fixture.h: what the files of the conformance suite share: a store under test, calls shortened.
 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/hash.h"
#include "base/view.h"
#include "conformance.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define OTHER_SCOPE "user:tester"

struct fixture {
    const struct conformance_subject *subject;
    const struct ethos_host *host;
    struct ethos_store *store;
    struct ethos_text text;
    struct ethos_error error;
};

/* ---- calls, shortened ----------------------------------------------------------------------- */

static inline int do_write(struct fixture *f, const char *scope, const char *key,
                           const char *expect, struct ethos_view text, char *out_revision)
{
    char revision[ETHOS_REVISION_SIZE];
    return f->store->ops->write(f->store, scope, key, expect, text, NULL,
                                out_revision ? out_revision : revision, &f->error);
}

static inline int do_read(struct fixture *f, const char *scope, const char *key)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    return f->store->ops->read(f->store, scope, key, &whole, &f->text, &f->error);
}

static inline int do_remove(struct fixture *f, const char *key, const char *expect)
{
    return f->store->ops->remove(f->store, SCOPE, key, expect, NULL, &f->error);
}

static inline void put(struct fixture *f, const char *key, const char *text)
{
    assert_int_equal(do_write(f, SCOPE, key, NULL, view_str(text), NULL), ETHOS_OK);
}

static inline void assert_bytes(struct fixture *f, const char *scope, const char *key,
                                struct ethos_view expected)
{
    char revision[ETHOS_REVISION_SIZE];
    assert_int_equal(do_read(f, scope, key), ETHOS_OK);
    assert_non_null(f->text.data);
    assert_int_equal(f->text.size, expected.size);
    assert_memory_equal(f->text.data, expected.data, expected.size);
    assert_int_equal(f->text.data[f->text.size], 0);
    assert_int_equal(f->text.offset, 0);
    assert_int_equal(f->text.total, expected.size);
    hash_revision(expected, revision);
    assert_string_equal(f->text.revision, revision);
}

static inline void assert_text(struct fixture *f, const char *key, const char *expected)
{
    assert_bytes(f, SCOPE, key, view_str(expected));
}

static inline void assert_absent(struct fixture *f, const char *key)
{
    assert_int_equal(do_read(f, SCOPE, key), ETHOS_NOTFOUND);
}

static inline void revision_of(const char *text, char out[ETHOS_REVISION_SIZE])
{
    hash_revision(view_str(text), out);
}

/* ---- lists and edits ----------------------------------------------------------------------- */

struct listing {
    char keys[16384];
    size_t count;
    uint64_t bytes;
    int stop_after;
};

static inline int collect(void *arg, const struct ethos_entry *entry)
{
    struct listing *listing = arg;
    size_t used = strlen(listing->keys);
    snprintf(listing->keys + used, sizeof listing->keys - used, "%s ", entry->key);
    listing->count++;
    listing->bytes += entry->bytes;
    return listing->stop_after && (int)listing->count >= listing->stop_after ? 77 : 0;
}

static inline int do_list(struct fixture *f, const char *scope, struct listing *listing)
{
    return f->store->ops->list(f->store, scope, collect, listing, &f->error);
}

static inline void free_edits(struct fixture *f, struct ethos_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].old.data)
            f->host->resize(f->host->arg, edits[i].old.data, 0);
    }
}

/* ---- rules ---------------------------------------------------------------------------------- */

int conformance_set_up(void **state);
int conformance_tear_down(void **state);

/* conformance_history.c */
extern const struct CMUnitTest conformance_history[];
extern const size_t conformance_history_count;

/* conformance_batch.c */
extern const struct CMUnitTest conformance_batch[];
extern const size_t conformance_batch_count;

#define RULE(function)                                                                             \
    {                                                                                              \
#function, function, conformance_set_up, conformance_tear_down, NULL                       \
    }

#endif
