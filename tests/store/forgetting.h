/*
 * forgetting.h: what a database remembers of operations, and for how long, asked of its own fetch and commit.
 */
#ifndef TESTS_STORE_FORGETTING_H
#define TESTS_STORE_FORGETTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ethos/provider.h>

#include "base/view.h"

#define FORGETTING_MOST (2 * ETHOS_OPID_AT_ONCE) /* operations of a scope */

/* A scope whose operations are called 0, 1, 2, ... in the order of their times. */
struct forgetting {
    struct ethos_store *store;
    const char *scope;
    uint64_t version;
    unsigned count;
};

static inline void forgetting_commit(struct forgetting *self, struct ethos_commit *commit)
{
    struct ethos_error error = {0};
    commit->version = self->version++;
    commit->next = self->version;
    commit->token = "0123456789abcdef0123456789abcdef";
    if (self->store->ops->commit(self->store, self->scope, commit, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
}

/* So many at one time, in one commit. */
static inline void forgetting_do(struct forgetting *self, unsigned count, int64_t time_ms)
{
    struct ethos_done *done = calloc(count, sizeof *done);
    char(*ids)[16] = calloc(count, sizeof *ids);
    assert_true(done && ids && self->count + count <= FORGETTING_MOST);
    for (unsigned i = 0; i < count; i++) {
        snprintf(ids[i], sizeof ids[i], "%u", self->count++);
        done[i] = (struct ethos_done){ids[i], VIEW("record \0 of it")};
    }
    forgetting_commit(
        self, &(struct ethos_commit){.time_ms = time_ms, .done = done, .done_count = count});
    free(ids);
    free(done);
}

static inline void forgetting_ask(struct forgetting *self, int64_t before_ms, uint64_t keep)
{
    forgetting_commit(self, &(struct ethos_commit){.time_ms = INT64_C(5000000000000),
                                                   .forget_ms = before_ms,
                                                   .keep = keep});
}

/* How many are known, as they were told, the newest of them among these. */
static inline unsigned forgetting_known(const struct forgetting *self, unsigned newest)
{
    struct ethos_text *records = calloc(self->count, sizeof *records);
    const char **ids = calloc(self->count, sizeof *ids);
    char(*names)[16] = calloc(self->count, sizeof *names);
    struct ethos_fetch fetch = {.op_ids = ids, .records = records, .op_count = self->count};
    unsigned known = 0;
    assert_true(records && ids && names);
    for (unsigned i = 0; i < self->count; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        ids[i] = names[i];
    }
    assert_int_equal(self->store->ops->fetch(self->store, self->scope, &fetch, NULL), ETHOS_OK);
    assert_int_equal(fetch.version, self->version);
    for (unsigned i = 0; i < self->count; i++) {
        assert_true(records[i].data || i + newest < self->count);
        if (!records[i].data)
            continue;
        assert_int_equal(records[i].size, 14);
        assert_memory_equal(records[i].data, "record \0 of it", 15);
        free(records[i].data);
        known++;
    }
    free(names);
    free(ids);
    free(records);
    return known;
}

static inline void check_forgetting(struct ethos_store *store)
{
    struct forgetting few = {.store = store, .scope = "user:few"},
                      many = {.store = store, .scope = "user:many"};
    const int64_t first_ms = INT64_C(1700000000000);
    for (int i = 0; i < 10; i++)
        forgetting_do(&few, 1, first_ms + i);
    forgetting_do(&many, FORGETTING_MOST - 8, first_ms);
    forgetting_do(&many, 8, first_ms + 1);
    forgetting_ask(&few, 0, 1); // none
    assert_int_equal(forgetting_known(&few, 10), 10);
    forgetting_ask(&few, first_ms + 100, 10); // old, and not more
    forgetting_ask(&few, first_ms + 100, UINT32_MAX);
    assert_int_equal(forgetting_known(&few, 10), 10);
    forgetting_ask(&few, first_ms, 1); // more, and none so old
    assert_int_equal(forgetting_known(&few, 10), 10);
    forgetting_ask(&few, first_ms + 100, 9);
    assert_int_equal(forgetting_known(&few, 9), 9);
    forgetting_ask(&few, first_ms + 3, 1); // older only
    assert_int_equal(forgetting_known(&few, 7), 7);
    forgetting_ask(&few, first_ms + 100, 3); // the newest only
    assert_int_equal(forgetting_known(&few, 3), 3);
    assert_int_equal(forgetting_known(&many, FORGETTING_MOST), FORGETTING_MOST); // of another scope
    forgetting_ask(&many, first_ms + 100, 8);
    assert_true(forgetting_known(&many, 8) <= FORGETTING_MOST - ETHOS_OPID_AT_ONCE);
    forgetting_ask(&many, first_ms + 100, 8);
    assert_int_equal(forgetting_known(&many, 8), 8);
    forgetting_ask(&many, first_ms + 100, 4); // all of one time
    assert_in_range(forgetting_known(&many, 0), 4, 8);
}

/* One whose id is known takes the place of the older one, its time too. */
static inline void check_done_again(struct ethos_store *store)
{
    struct forgetting again = {.store = store, .scope = "user:again"};
    forgetting_do(&again, 1, 1);
    forgetting_do(&again, 1, 2);
    again.count = 0;
    forgetting_do(&again, 1, 3);
    forgetting_ask(&again, 3, 1);
    assert_int_equal(forgetting_known(&again, 1), 1);
}

#endif
