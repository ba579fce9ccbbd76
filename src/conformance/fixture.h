/*
 * fixture.h: what the rules share: the backend under test, and short forms of calls.
 */
#ifndef ETHOS_CONFORMANCE_FIXTURE_H
#define ETHOS_CONFORMANCE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/view.h"
#include "conformance/assertions.h"
#include "conformance/conformance.h"
#include "store/store.h"

struct fixture {
    const struct conformance_subject *subject;
    const struct ethos_host *host;
    struct ethos_store *store; /* a store or a provider */
    struct ethos_provider *provider;
    struct ethos_text text;
    struct ethos_error error;
    char tag[24]; /* part of the ids of its scopes */
    char scope[ETHOS_MAX_SCOPE], other_scope[ETHOS_MAX_SCOPE], scratch_scope[ETHOS_MAX_SCOPE];
};

#define SCOPE (f->scope)
#define OTHER_SCOPE (f->other_scope)

/* ---- short forms of calls ------------------------------------------------------------------- */

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

static inline void put_key(struct fixture *f, const char *key, const char *text)
{
    assert_int_equal(do_write(f, SCOPE, key, NULL, view_str(text), NULL), ETHOS_OK);
}

/* The revision of a text in this store. Not for callbacks: it may have to write. */
void revision_of(struct fixture *f, const char *text, char out[ETHOS_REVISION_SIZE]);

/* Checks a revision as far as possible without the store. */
static inline void assert_revision(const struct fixture *f, const char *revision,
                                   struct ethos_view text)
{
    char expected[ETHOS_REVISION_SIZE];
    assert_string_not_equal(revision, "");
    hash_revision(text, expected);
    if (!f->subject->own_revisions)
        assert_string_equal(revision, expected);
}

static inline void assert_bytes(struct fixture *f, const char *scope, const char *key,
                                struct ethos_view expected)
{
    assert_int_equal(do_read(f, scope, key), ETHOS_OK);
    assert_non_null(f->text.data);
    assert_int_equal(f->text.size, expected.size);
    assert_memory_equal(f->text.data, expected.data, expected.size);
    assert_int_equal(f->text.data[f->text.size], 0);
    assert_int_equal(f->text.offset, 0);
    assert_int_equal(f->text.total, expected.size);
    assert_int_equal(f->text.unsettled, 0);
    assert_revision(f, f->text.revision, expected);
}

static inline void assert_text(struct fixture *f, const char *key, const char *expected)
{
    assert_bytes(f, SCOPE, key, view_str(expected));
}

static inline void assert_absent(struct fixture *f, const char *key)
{
    assert_int_equal(do_read(f, SCOPE, key), ETHOS_NOTFOUND);
}

/* ---- optional features ---------------------------------------------------------------------- */

/* Ends the rule as "not offered" unless the backend has the feature. */
static inline void require_offered(bool offered, const char *what)
{
    if (!offered)
        not_offered(what);
}

static inline bool has_once(const struct fixture *f)
{
    return (f->store->capabilities & ETHOS_STORE_ONCE) != 0;
}

static inline bool has_history(const struct fixture *f)
{
    return (f->store->capabilities & ETHOS_STORE_HISTORY) != 0;
}

static inline bool is_durable(const struct fixture *f)
{
    return (f->store->capabilities & ETHOS_STORE_DURABLE) != 0;
}

static inline void require_once(const struct fixture *f)
{
    require_offered(has_once(f), "operation ids");
}

static inline void require_history(const struct fixture *f)
{
    require_offered(has_history(f), "history");
}

/* ---- memory --------------------------------------------------------------------------------- */

void memory_fail_at(struct fixture *f, unsigned long n);
unsigned long memory_count(struct fixture *f);

/* The size of a block that the host allocated recently and that was not freed; 0 if it is no such block. */
size_t memory_size(const void *block);

/* The number of blocks of the host that were not freed. */
long memory_blocks(void);

/* Runs the body with the first, second, ... allocation failing, until `done` holds after a run. */
#define MEMORY_EACH(f, n, done)                                                                    \
    for (unsigned long n = (memory_fail_at(f, 1), 1), ended_ = 0; !ended_;                         \
         ended_ = (done) ? 1 : 0, n++, memory_fail_at(f, ended_ ? 0 : n))

/* ---- time ----------------------------------------------------------------------------------- */

/* Advances the clock of the host until the rule ends. */
void clock_forward(int64_t ms);

/* ---- lists and edits ----------------------------------------------------------------------- */

struct listed_keys {
    char keys[16384];
    size_t count;
    uint64_t bytes;
    int stop_after;
};

static inline int collect_key(void *arg, const struct ethos_entry *entry)
{
    struct listed_keys *listing = arg;
    size_t used = strlen(listing->keys);
    snprintf(listing->keys + used, sizeof listing->keys - used, "%s ", entry->key);
    listing->count++;
    listing->bytes += entry->bytes;
    return listing->stop_after && (int)listing->count >= listing->stop_after ? 77 : 0;
}

static inline int do_list(struct fixture *f, const char *scope, struct listed_keys *listing)
{
    return f->store->ops->list(f->store, scope, collect_key, listing, &f->error);
}

static inline void free_edits(struct fixture *f, struct ethos_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].old.data)
            f->host->resize(f->host->arg, edits[i].old.data, 0);
    }
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* store.c */
extern const struct rule rules_store[];
extern const size_t rules_store_count;

/* store_history.c */
extern const struct rule rules_history[];
extern const size_t rules_history_count;
extern const struct rule rules_graft[];
extern const size_t rules_graft_count;

/* store_batch.c */
extern const struct rule rules_batch[];
extern const size_t rules_batch_count;

/* store_many_scopes.c */
extern const struct rule rules_several[];
extern const size_t rules_several_count;

/* store_race.c */
extern const struct rule rules_race[];
extern const size_t rules_race_count;

/* race.c: fails unless every line that several writers added successfully is there exactly once. */
struct race {
    /* Runs in its own process: opens what `add` needs; NULL on failure. */
    void *(*open)(struct fixture *f);
    int (*add)(struct fixture *f, void *opened, const char *line);
    const char *(*read)(struct fixture *f); /* the whole text, "" if there is none */
};
void race_run(struct fixture *f, const struct race *race);

#endif
