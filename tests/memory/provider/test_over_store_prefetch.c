/*
 * test_over_store_prefetch.c: the sections of a store that gathers are those of one that is read text by text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/err.h"
#include "base/system/log.h"
#include "base/view.h"
#include "memory/provider/missing_slots.h"
#include "memory/provider/registry.h"
#include "store/store.h"

/* ---- a store that counts -------------------------------------------------------------------- */

static int reads, gathers, gather_code;

static int count_read(struct ethos_store *self, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    reads++;
    return store_ram.read(self, scope, key, how, out_text, error);
}

/* Fails after it has answered, as when a connection breaks in the middle. */
static int count_gather(struct ethos_store *self, const struct ethos_read_how *how,
                        struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    gathers++;
    int code = store_ram.gather(self, how, sections, count, error);
    return gather_code ? err_set(error, gather_code, "the connection broke") : code;
}

static struct ethos_store *open_store(bool gathers_too)
{
    static struct ethos_store_ops ops[2];
    const struct ethos_setup setup = {.host = &log_default_host};
    struct ethos_store *store = NULL;
    assert_int_equal(store_ram.open(&setup, &store, NULL), ETHOS_OK);
    ops[gathers_too] = store_ram;
    ops[gathers_too].read = count_read;
    ops[gathers_too].gather = gathers_too ? count_gather : NULL;
    store->ops = &ops[gathers_too];
    return store;
}

/* ---- two providers with the same texts ------------------------------------------------------ */

struct pair {
    struct ethos_store *stores[2]; /* of the providers: read, gathered */
    struct ethos_provider *providers[2];
    struct ethos_section sections[2][ETHOS_SECTIONS];
};

static int set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    for (int i = 0; i < 2; i++) {
        pair->stores[i] = open_store(i == 1);
        assert_int_equal(
            provider_over_store(&log_default_host, pair->stores[i], &pair->providers[i], NULL),
            ETHOS_OK);
    }
    reads = gathers = gather_code = 0;
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;
    alloc_fail_at(0);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < ETHOS_SECTIONS; k++)
            free(pair->sections[i][k].text.data);
        pair->providers[i]->ops->close(pair->providers[i]);
    }
    free(pair);
    return 0;
}

static void put(struct pair *pair, const char *scope, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pair->stores[i]->ops->write(pair->stores[i], scope, key, NULL,
                                                     view_str(text), NULL, revision, NULL),
                         ETHOS_OK);
}

static int prefetch(struct pair *pair, int which, const struct ethos_context *context,
                    struct ethos_error *error)
{
    static const struct ethos_read_how how = {0, ETHOS_READ_REVISION};
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        pair->sections[which][i].code = ETHOS_NOTFOUND;
    return pair->providers[which]->ops->prefetch(pair->providers[which], context, &how,
                                                 pair->sections[which], ETHOS_SECTIONS, error);
}

static void assert_same(struct pair *pair, const struct ethos_context *context)
{
    int before = gathers;
    assert_int_equal(prefetch(pair, 0, context, NULL), ETHOS_OK);
    int read_one_by_one = reads;
    assert_int_equal(prefetch(pair, 1, context, NULL), ETHOS_OK);
    assert_int_equal(gathers, before + 1);
    assert_int_equal(reads, read_one_by_one);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        const struct ethos_section *one = &pair->sections[0][i], *all = &pair->sections[1][i];
        assert_int_equal(all->code, one->code);
        assert_string_equal(all->scope, one->scope);
        assert_string_equal(all->key, one->key);
        if (one->code != ETHOS_OK)
            continue;
        assert_string_equal(all->text.data, one->text.data);
        assert_string_equal(all->text.revision, one->text.revision);
    }
}

static const struct ethos_context context = {
    .personality = "p",
    .user = "u",
    .platform = "cli",
    .memory_scope = "personality:p",
    .user_scope = "user:u",
    .workspace_scope = "workspace:w-1",
    .workspace_shown = 1,
    .profile_fallback = {"global", "personality:p"},
};

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_what_is_gathered_is_what_is_read(void **state)
{
    struct pair *pair = *state;
    struct ethos_context hidden = context, nobody = context;
    hidden.workspace_shown = 0;
    hidden.profile_fallback[0] = NULL;
    nobody.user_scope = NULL;
    nobody.workspace_scope = NULL;
    static const char *const places[] = {NULL, "personality:p", "global", "user:u"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i]) // each is preferred to the one before
            put(pair, places[i], "USER.md", places[i]);
        if (i == 1)
            put(pair, "personality:p", "MEMORY.md", "the log\n");
        if (i == 2)
            put(pair, "workspace:w-1", "MEMORY.md", "the index\n");
        assert_same(pair, &context);
        assert_same(pair, &hidden);
        assert_same(pair, &nobody);
    }
}

static void test_a_store_that_cannot_be_asked_fails_the_prefetch(void **state)
{
    struct pair *pair = *state;
    struct ethos_error error = {0};
    put(pair, "user:u", "USER.md", "profile\n");
    gather_code = ETHOS_BUSY;
    assert_int_equal(prefetch(pair, 1, &context, &error), ETHOS_BUSY);
    assert_string_equal(error.text, "the connection broke");
    gather_code = ETHOS_OK;
    assert_same(pair, &context);
}

static void test_a_text_without_memory_says_so_in_its_section(void **state)
{
    struct pair *pair = *state;
    bool done = false;
    put(pair, "user:u", "USER.md", "profile\n");
    put(pair, "global", "USER.md", "older profile\n");
    put(pair, "personality:p", "MEMORY.md", "the log\n");
    ALLOC_EACH(n, done)
    {
        assert_int_equal(prefetch(pair, 1, &context, NULL), ETHOS_OK);
        done = true;
        for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
            int code = pair->sections[1][i].code;
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM ||
                        (i >= ETHOS_SECTION_WORKSPACE && code == ETHOS_NOTFOUND));
            done = done && code != ETHOS_NOMEM;
        }
        done = done && alloc_count() < n;
    }
    assert_string_equal(pair->sections[1][ETHOS_SECTION_USER].text.data, "profile\n");
}

static int count_scope(void *arg, const char *scope)
{
    (void)scope;
    ++*(int *)arg;
    return 0;
}

static void test_a_provider_has_the_scopes_of_its_store_and_no_more_slots_than_it(void **state)
{
    struct pair *pair = *state;
    struct ethos_provider *provider = pair->providers[0];
    int count = 0;
    put(pair, "user:u", "USER.md", "profile\n");
    put(pair, "global", "USER.md", "older profile\n");
    assert_int_equal(provider->ops->scopes(provider, count_scope, &count, NULL), ETHOS_OK);
    assert_int_equal(count, 2);
    assert_false(SLOT_PROVIDER(provider, watch));
    assert_true(SLOT_PROVIDER(provider, scopes));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_gathered_is_what_is_read),
        TEST(test_a_store_that_cannot_be_asked_fails_the_prefetch),
        TEST(test_a_text_without_memory_says_so_in_its_section),
        TEST(test_a_provider_has_the_scopes_of_its_store_and_no_more_slots_than_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
