/*
 * test_group_commit.c: group commit: many threads, a store each, one group.
 *
 * Also built with -fsanitize=thread, which is what it is for: nothing here depends on the order in
 * which threads come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>

#include "../support/temp.h"
#include "base/system/log.h"
#include "base/view.h"
#include "store/group_commit.h"
#include "store/store.h"

#define SCOPE "personality:tester"
#define OTHER "user:tester"
#define THREADS 16
#define ADDS 8

/* ---- a home, a group, stores ----------------------------------------------------------------- */

struct world {
    struct temp temp;
    char root[300];
    struct group *group;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    temp_make(&world->temp);
    snprintf(world->root, sizeof world->root, "%s/home", world->temp.path);
    assert_int_equal(group_new(&world->group, NULL), ETHOS_OK);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    group_free(world->group);
    temp_remove(&world->temp);
    free(world);
    return 0;
}

static struct ethos_store *open_files(const struct world *world)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = world->root, .deadline_ms = 10000};
    struct ethos_store *store = NULL;
    assert_int_equal(store_files.open(&setup, &store, NULL), ETHOS_OK);
    return store;
}

static struct ethos_store *join(const struct world *world, struct ethos_store *inner,
                                uint32_t deadline_ms)
{
    struct ethos_store *store = NULL;
    assert_int_equal(
        store_group_new(&log_default_host, inner, world->group, "files", deadline_ms, &store, NULL),
        ETHOS_OK);
    return store;
}

static struct ethos_store *open_member(const struct world *world)
{
    return join(world, open_files(world), 10000);
}

static char *read_text(const struct world *world, const char *scope, const char *key)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    struct ethos_store *store = open_files(world);
    int code = store->ops->read(store, scope, key, &whole, &text, NULL);
    store->ops->close(store);
    return code == ETHOS_OK ? text.data : NULL;
}

/* ---- one update ------------------------------------------------------------------------------ */

/* Adds a line; what it needs is its caller's own. */
struct adding {
    char line[64];
    char *text;
    bool refuses;
};

static int add_line(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct adding *adding = arg;
    (void)count;
    if (adding->refuses) {
        snprintf(error->text, sizeof error->text, "refused %s", adding->line);
        return ETHOS_CONFLICT;
    }
    free(adding->text);
    adding->text = NULL;
    if (asprintf(&adding->text, "%s%s\n", edits->old.data ? edits->old.data : "", adding->line) < 0)
        return ETHOS_NOMEM;
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_str(adding->text);
    edits->actions = "add";
    return ETHOS_OK;
}

static int add_to(struct ethos_store *store, const char *scope, const char *key,
                  struct adding *adding, const struct ethos_origin *origin,
                  enum ethos_verdict *out_verdict, struct ethos_error *error)
{
    struct ethos_edit edit = {.key = key};
    int code = store_update(store, scope, &edit, 1, add_line, adding, origin, error);
    if (code == ETHOS_OK && edit.verdict == ETHOS_EDIT_PUT)
        code = edit.revision[0] && adding->text ? ETHOS_OK : ETHOS_INTERNAL;
    if (out_verdict)
        *out_verdict = edit.verdict;
    free(edit.old.data);
    free(adding->text);
    adding->text = NULL;
    return code;
}

/* ---- many threads ---------------------------------------------------------------------------- */

struct hand {
    const struct world *world;
    struct ethos_store *store;
    unsigned number;
    unsigned wrong; /* answers that are not what they should be */
};

static void *add_many(void *arg)
{
    struct hand *hand = arg;
    for (unsigned i = 0; i < ADDS; i++) {
        struct ethos_error error = {0};
        struct adding adding = {.refuses = i == 3};
        char id[32];
        enum ethos_verdict verdict;
        snprintf(adding.line, sizeof adding.line, "<%u.%u>", hand->number, i);
        snprintf(id, sizeof id, "op-%u-%u", hand->number, i);
        const struct ethos_origin origin = {.actor = adding.line, .op_id = id, .op_digest = "d"};
        const char *scope = hand->number % 4 == 3 ? OTHER : SCOPE;
        for (int again = 0; again < 2; again++) {
            int code = add_to(hand->store, scope, i % 2 ? "a.md" : "b.md", &adding, &origin,
                              &verdict, &error);
            if (adding.refuses)
                hand->wrong += code != ETHOS_CONFLICT || !strstr(error.text, adding.line);
            else
                hand->wrong += code != ETHOS_OK ||
                               verdict != (again ? ETHOS_EDIT_REPEATED : ETHOS_EDIT_PUT);
        }
    }
    return NULL;
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; at && (at = strstr(at, word)); at++)
        count++;
    return count;
}

static void assert_all_there(const struct world *world)
{
    char *texts[2][2] = {{read_text(world, SCOPE, "b.md"), read_text(world, SCOPE, "a.md")},
                         {read_text(world, OTHER, "b.md"), read_text(world, OTHER, "a.md")}};
    for (unsigned number = 0; number < THREADS; number++) {
        for (unsigned i = 0; i < ADDS; i++) {
            char line[64];
            snprintf(line, sizeof line, "<%u.%u>\n", number, i);
            assert_int_equal(occurrences(texts[number % 4 == 3][i % 2], line), i != 3);
        }
    }
    for (size_t i = 0; i < 4; i++)
        free(texts[i / 2][i % 2]);
}

static void test_every_acknowledged_update_of_many_threads_is_there_once(void **state)
{
    struct world *world = *state;
    struct hand hands[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        hands[i] = (struct hand){world, open_member(world), i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &hands[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        hands[i].store->ops->close(hands[i].store);
        assert_int_equal(hands[i].wrong, 0);
    }
    assert_all_there(world);
}

/* ---- an inner store that waits -------------------------------------------------------------- */

/* Stops in its first call until it is let go, and counts. */
struct gate {
    sem_t entered, opened;
    unsigned batches, updates;
    size_t largest;
    bool passed;
};

struct slow {
    struct ethos_store store;
    struct ethos_store *inner;
    struct gate *gate;
};

static void pass(struct gate *gate)
{
    if (!gate->passed) {
        gate->passed = true;
        sem_post(&gate->entered);
        sem_wait(&gate->opened);
    }
}

static void slow_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                       size_t count)
{
    struct slow *slow = (struct slow *)self;
    pass(slow->gate);
    slow->gate->batches++;
    if (count > slow->gate->largest)
        slow->gate->largest = count;
    store_batch(slow->inner, scope, calls, count);
}

static int slow_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error)
{
    struct slow *slow = (struct slow *)self;
    pass(slow->gate);
    slow->gate->updates++;
    return store_update(slow->inner, scope, edits, count, edit, arg, origin, error);
}

static void slow_close(struct ethos_store *self)
{
    struct slow *slow = (struct slow *)self;
    slow->inner->ops->close(slow->inner);
    free(slow);
}

static const struct ethos_store_ops slow_ops = {.abi = ETHOS_ABI,
                                                .name = "slow",
                                                .close = slow_close,
                                                .update = slow_update,
                                                .batch = slow_batch};
static const struct ethos_store_ops slow_without_batch = {
    .abi = ETHOS_ABI, .name = "slow", .close = slow_close, .update = slow_update};

static struct ethos_store *open_slow(const struct world *world, const struct ethos_store_ops *ops,
                                     struct gate *gate, uint32_t deadline_ms)
{
    struct slow *slow = calloc(1, sizeof *slow);
    assert_non_null(slow);
    *slow = (struct slow){.store = {.ops = ops, .capabilities = ETHOS_STORE_ONCE},
                          .inner = open_files(world),
                          .gate = gate};
    return join(world, &slow->store, deadline_ms);
}

static void make_gate(struct gate *gate)
{
    *gate = (struct gate){0};
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->opened, 0, 0);
}

struct lone {
    struct ethos_store *store;
    const char *scope;
    struct adding adding;
    struct ethos_error error;
    int code;
    sem_t *done; /* or NULL */
};

static void *add_alone(void *arg)
{
    struct lone *lone = arg;
    lone->code = add_to(lone->store, lone->scope, "a.md", &lone->adding, NULL, NULL, &lone->error);
    if (lone->done)
        sem_post(lone->done);
    return NULL;
}

static void start(struct lone *lone, pthread_t *thread, unsigned number)
{
    snprintf(lone->adding.line, sizeof lone->adding.line, "<%u>", number);
    assert_int_equal(pthread_create(thread, NULL, add_alone, lone), 0);
}

/* The first goes by itself; what comes meanwhile, refusals among it, goes together. */
static void run_behind_a_gate(struct world *world, const struct ethos_store_ops *ops,
                              struct gate *gate)
{
    struct lone lones[THREADS];
    pthread_t threads[THREADS];
    make_gate(gate);
    for (unsigned i = 0; i < THREADS; i++) {
        lones[i] = (struct lone){
            .store = open_slow(world, ops, gate, 60000), .scope = SCOPE, .adding.refuses = i == 5};
        start(&lones[i], &threads[i], i);
        if (i == 0)
            sem_wait(&gate->entered);
    }
    while (group_count_waiting(world->group) != THREADS - 1)
        sched_yield();
    sem_post(&gate->opened);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        lones[i].store->ops->close(lones[i].store);
        assert_int_equal(lones[i].code, i == 5 ? ETHOS_CONFLICT : ETHOS_OK);
    }
    assert_string_equal(lones[5].error.text, "refused <5>");
    char *text = read_text(world, SCOPE, "a.md");
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(occurrences(text, lones[i].adding.line), i != 5);
    free(text);
}

static void test_what_comes_during_a_write_shares_the_next(void **state)
{
    struct gate gate;
    run_behind_a_gate(*state, &slow_ops, &gate);
    assert_int_equal(gate.batches, 2);
    assert_int_equal(gate.largest, THREADS - 1);
    assert_int_equal(gate.updates, 0);
}

static void test_a_store_without_batch_gets_updates(void **state)
{
    struct gate gate;
    run_behind_a_gate(*state, &slow_without_batch, &gate);
    assert_int_equal(gate.updates, THREADS);
}

#define KEYS 64

static int keep(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

static void *keep_many(void *arg)
{
    struct lone *lone = arg;
    struct ethos_edit edits[KEYS] = {0};
    char keys[KEYS][16];
    for (int i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "%d.md", i);
        edits[i].key = keys[i];
    }
    lone->code = store_update(lone->store, SCOPE, edits, KEYS, keep, NULL, NULL, NULL);
    return NULL;
}

static void test_a_batch_is_bounded(void **state)
{
    struct world *world = *state;
    struct gate gate;
    struct lone lones[THREADS];
    pthread_t threads[THREADS];
    make_gate(&gate);
    for (unsigned i = 0; i < THREADS; i++) {
        lones[i] = (struct lone){.store = open_slow(world, &slow_ops, &gate, 60000)};
        assert_int_equal(pthread_create(&threads[i], NULL, keep_many, &lones[i]), 0);
        if (i == 0)
            sem_wait(&gate.entered);
    }
    while (group_count_waiting(world->group) != THREADS - 1)
        sched_yield();
    sem_post(&gate.opened);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        lones[i].store->ops->close(lones[i].store);
        assert_int_equal(lones[i].code, ETHOS_OK);
    }
    assert_int_equal(gate.largest, GROUP_EDITS / KEYS);
    assert_int_equal(gate.batches, 3);
}

static void test_another_scope_does_not_wait(void **state)
{
    struct world *world = *state;
    struct gate gate;
    pthread_t thread;
    make_gate(&gate);
    struct lone first = {.store = open_slow(world, &slow_ops, &gate, 60000), .scope = SCOPE};
    struct ethos_store *store = open_member(world);
    struct adding adding = {.line = "other"};
    start(&first, &thread, 0);
    sem_wait(&gate.entered);
    assert_int_equal(add_to(store, OTHER, "a.md", &adding, NULL, NULL, NULL), ETHOS_OK);
    sem_post(&gate.opened);
    pthread_join(thread, NULL);
    assert_int_equal(first.code, ETHOS_OK);
    first.store->ops->close(first.store);
    store->ops->close(store);
}

static void test_stores_of_another_name_do_not_share(void **state)
{
    struct world *world = *state;
    struct gate gate;
    pthread_t thread;
    struct ethos_store *store = NULL;
    struct adding adding = {.line = "other"};
    make_gate(&gate);
    struct lone first = {.store = open_slow(world, &slow_ops, &gate, 60000), .scope = SCOPE};
    assert_int_equal(store_group_new(&log_default_host, open_files(world), world->group, "else",
                                     1000, &store, NULL),
                     ETHOS_OK);
    start(&first, &thread, 0);
    sem_wait(&gate.entered);
    assert_int_equal(add_to(store, SCOPE, "a.md", &adding, NULL, NULL, NULL), ETHOS_OK);
    sem_post(&gate.opened);
    pthread_join(thread, NULL);
    first.store->ops->close(first.store);
    store->ops->close(store);
}

static void test_who_waited_too_long_leaves_and_is_not_done(void **state)
{
    struct world *world = *state;
    struct gate gate;
    pthread_t threads[3];
    sem_t left;
    make_gate(&gate);
    sem_init(&left, 0, 0);
    struct lone lones[3] = {
        {.store = open_slow(world, &slow_ops, &gate, 60000), .scope = SCOPE},
        {.store = open_slow(world, &slow_ops, &gate, 20), .scope = SCOPE, .done = &left},
        {.store = open_slow(world, &slow_ops, &gate, 60000), .scope = SCOPE}};
    start(&lones[0], &threads[0], 0);
    sem_wait(&gate.entered);
    start(&lones[1], &threads[1], 1);
    start(&lones[2], &threads[2], 2);
    sem_wait(&left); // while the first still writes
    while (group_count_waiting(world->group) != 1)
        sched_yield();
    sem_post(&gate.opened);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        lones[i].store->ops->close(lones[i].store);
    }
    assert_int_equal(lones[0].code, ETHOS_OK);
    assert_int_equal(lones[1].code, ETHOS_BUSY);
    assert_int_equal(lones[2].code, ETHOS_OK);
    char *text = read_text(world, SCOPE, "a.md");
    assert_string_equal(text, "<0>\n<2>\n");
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_every_acknowledged_update_of_many_threads_is_there_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_comes_during_a_write_shares_the_next, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_store_without_batch_gets_updates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_batch_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_scope_does_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stores_of_another_name_do_not_share, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_who_waited_too_long_leaves_and_is_not_done, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
