/*
 * test_decorator.c: the decorators: what trace logs, what fault fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/system/log.h"
#include "base/view.h"
#include "store/store.h"

static char lines[2048];

static void keep_line(void *arg, enum ethos_level level, const char *line)
{
    size_t used = strlen(lines);
    (void)arg;
    assert_int_equal(level, ETHOS_LOG_DEBUG);
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static struct ethos_host host_that_logs(void)
{
    struct ethos_host host = log_default_host;
    host.log = keep_line;
    lines[0] = 0;
    return host;
}

static int pass(void *arg, const struct ethos_entry *entry)
{
    (void)arg, (void)entry;
    return 0;
}

static int put_two(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)error;
    for (size_t i = 0; i < count; i++) {
        edits[i].verdict = ETHOS_EDIT_PUT;
        edits[i].text = VIEW("SECRET four");
    }
    return ETHOS_OK;
}

static int refuse(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_DENIED;
}

static void test_trace_logs_one_line_per_call_and_no_content(void **state)
{
    struct ethos_host host = host_that_logs();
    struct ethos_store *ram, *store;
    struct ethos_text text = {0};
    struct ethos_read_how whole = {0, 0};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    char revision[ETHOS_REVISION_SIZE];
    (void)state;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &host}, &ram, NULL), ETHOS_OK);
    assert_int_equal(store_trace_new(&host, ram, &store, NULL), ETHOS_OK);
    const struct ethos_store_ops *ops = store->ops;
    assert_null(ops->locate);
    assert_null(ops->check);
    ops->read(store, "user:u", "a.md", &whole, &text, NULL);
    ops->write(store, "user:u", "a.md", NULL, VIEW("SECRET"), NULL, revision, NULL);
    ops->write(store, "user:u", "a.md", "absent", VIEW("SECRET"), NULL, revision, NULL);
    ops->read(store, "user:u", "a.md", &whole, &text, NULL);
    ops->update(store, "user:u", edits, 2, put_two, NULL, NULL, NULL);
    ops->list(store, "user:u", pass, NULL, NULL);
    struct ethos_edit more[2] = {{.key = "c.md"}, {.key = "a.md"}};
    struct ethos_edit_call calls[2] = {{.edits = &more[0], .count = 1, .edit = put_two},
                                       {.edits = &more[1], .count = 1, .edit = refuse}};
    ops->batch(store, "user:u", calls, 2);
    struct ethos_section sections[2] = {{.scope = "user:u", .key = "c.md"},
                                        {.scope = "user:u", .key = "none.md"}};
    ops->gather(store, &whole, sections, 2, NULL);
    ops->remove(store, "user:u", "a.md", NULL, NULL, NULL);
    ops->close(store);
    assert_string_equal(lines, "store read user:u a.md 0 bytes: notfound\n"
                               "store write user:u a.md 6 bytes: ok\n"
                               "store write user:u a.md 6 bytes: conflict\n"
                               "store read user:u a.md 6 bytes: ok\n"
                               "store update user:u a.md 22 bytes: ok\n"
                               "store list user:u * 22 bytes: ok\n"
                               "store batch user:u c.md 11 bytes: denied\n"
                               "store gather user:u c.md 11 bytes: ok\n"
                               "store remove user:u a.md 0 bytes: ok\n");
    free(sections[0].text.data);
    free(text.data);
    free(edits[0].old.data);
    free(edits[1].old.data);
    free(more[1].old.data);
}

/* Fails the nth call of all. */
static int fail_nth(void *arg, const char *call, unsigned long number)
{
    size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%lu %s, ", number, call);
    return number == *(unsigned long *)arg ? ETHOS_BUSY : ETHOS_OK;
}

static void test_fault_fails_the_chosen_call_before_it_happens(void **state)
{
    struct ethos_store *ram, *store;
    struct ethos_error error;
    struct ethos_text text = {0};
    struct ethos_read_how whole = {0, 0};
    struct ethos_edit edit = {.key = "b.md"};
    char revision[ETHOS_REVISION_SIZE];
    (void)state;
    for (unsigned long n = 0; n <= 5; n++) {
        lines[0] = 0;
        assert_int_equal(
            store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL), ETHOS_OK);
        assert_int_equal(store_fault_new(&log_default_host, ram, fail_nth, &n, &store, NULL),
                         ETHOS_OK);
        const struct ethos_store_ops *ops = store->ops;
        int codes[5] = {
            ops->write(store, "global", "a.md", NULL, VIEW("1"), NULL, revision, &error),
            ops->read(store, "global", "a.md", &whole, &text, &error),
            ops->list(store, "global", pass, NULL, &error),
            ops->update(store, "global", &edit, 1, put_two, NULL, NULL, &error),
            ops->remove(store, "global", "a.md", NULL, NULL, &error),
        };
        assert_string_equal(lines, "1 write, 2 read, 3 list, 4 update, 5 remove, ");
        for (unsigned long i = 1; i <= 5; i++) {
            bool missing = n == 1 && (i == 2 || i == 5); // a.md was never written
            assert_int_equal(codes[i - 1], i == n    ? ETHOS_BUSY
                                           : missing ? ETHOS_NOTFOUND
                                                     : ETHOS_OK);
        }
        int left = store_ram.read(ram, "global", "a.md", &whole, &text, NULL);
        assert_int_equal(left, n == 5 ? ETHOS_OK : ETHOS_NOTFOUND);
        ops->close(store);
    }
    free(text.data);
    free(edit.old.data);
}

static void test_fault_fails_every_update_of_a_chosen_batch(void **state)
{
    struct ethos_store *ram, *store;
    struct ethos_error errors[2] = {0};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    struct ethos_edit_call calls[2] = {
        {.edits = &edits[0], .count = 1, .edit = put_two, .error = &errors[0]},
        {.edits = &edits[1], .count = 1, .edit = put_two, .error = NULL}};
    unsigned long n = 1;
    (void)state;
    lines[0] = 0;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL),
                     ETHOS_OK);
    assert_int_equal(store_fault_new(&log_default_host, ram, fail_nth, &n, &store, NULL), ETHOS_OK);
    store->ops->batch(store, "global", calls, 2);
    assert_string_equal(lines, "1 batch, ");
    assert_int_equal(calls[0].code, ETHOS_BUSY);
    assert_int_equal(calls[1].code, ETHOS_BUSY);
    assert_string_equal(errors[0].text, "batch: made to fail (call 1)");
    store->ops->batch(store, "global", calls, 2);
    assert_int_equal(calls[0].code, ETHOS_OK);
    assert_int_equal(calls[1].code, ETHOS_OK);
    store->ops->close(store);
}

static int tell_code(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                     unsigned *out_wait_ms, struct ethos_error *error)
{
    (void)self, (void)error;
    *out_fd = 7;
    *out_wait_ms = 70;
    return each(arg, "user:u");
}

static int fetch_nothing(struct ethos_store *self, const char *scope, struct ethos_fetch *fetch,
                         struct ethos_error *error)
{
    (void)self, (void)scope, (void)fetch, (void)error;
    return ETHOS_OK;
}

static int note_scope(void *arg, const char *scope)
{
    snprintf(arg, 16, "%s", scope);
    return 0;
}

/* Whoever wraps a database is no database: it would be written past what stands in front of it. */
static void test_a_decorator_hands_on_watching_and_not_what_a_database_is_made_of(void **state)
{
    struct ethos_store_ops ops = store_ram;
    struct ethos_store *ram, *store;
    char scope[16] = "";
    int fd = -1;
    unsigned wait_ms = 0;
    (void)state;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL),
                     ETHOS_OK);
    ops.watch = tell_code;
    ops.fetch = fetch_nothing;
    ram->ops = &ops;
    assert_int_equal(store_trace_new(&log_default_host, ram, &store, NULL), ETHOS_OK);
    assert_non_null(store->ops->scopes);
    assert_null(store->ops->fetch);
    assert_null(store->ops->commit);
    assert_null(store->ops->rows);
    assert_null(store->ops->copies);
    assert_int_equal(store->ops->watch(store, note_scope, scope, &fd, &wait_ms, NULL), ETHOS_OK);
    assert_string_equal(scope, "user:u");
    assert_int_equal(fd, 7);
    assert_int_equal(wait_ms, 70);
    store->ops->close(store);
}

static void test_a_chosen_gather_fails_and_asks_nobody(void **state)
{
    struct ethos_store *ram, *store;
    struct ethos_read_how whole = {0, 0};
    struct ethos_section section = {.scope = "user:u", .key = "a.md", .code = ETHOS_INTERNAL};
    unsigned long n = 1;
    (void)state;
    lines[0] = 0;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL),
                     ETHOS_OK);
    assert_int_equal(store_fault_new(&log_default_host, ram, fail_nth, &n, &store, NULL), ETHOS_OK);
    assert_int_equal(store->ops->gather(store, &whole, &section, 1, NULL), ETHOS_BUSY);
    assert_int_equal(section.code, ETHOS_INTERNAL);
    assert_int_equal(store->ops->gather(store, &whole, &section, 1, NULL), ETHOS_OK);
    assert_int_equal(section.code, ETHOS_NOTFOUND);
    assert_string_equal(lines, "1 gather, 2 gather, ");
    store->ops->close(store);
}

static void test_a_decorator_without_memory_closes_what_it_was_given(void **state)
{
    struct ethos_store *ram, *store = NULL;
    (void)state;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL),
                     ETHOS_OK);
    alloc_fail_at(1);
    assert_int_equal(store_trace_new(&log_default_host, ram, &store, NULL), ETHOS_NOMEM);
    alloc_fail_at(0);
    assert_null(store);
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &ram, NULL),
                     ETHOS_OK);
    alloc_fail_at(1);
    assert_int_equal(store_fault_new(&log_default_host, ram, fail_nth, NULL, &store, NULL),
                     ETHOS_NOMEM);
    alloc_fail_at(0);
    assert_null(store);
}

static void test_what_a_backend_promises_is_found_out_when_it_is_reached(void **state)
{
    const struct ethos_host *host = &log_default_host;
    struct ethos_store *inner, *store;
    (void)state;
    assert_int_equal(store_ram.open(&(struct ethos_setup){.host = host}, &inner, NULL), ETHOS_OK);
    assert_int_equal(store_trace_new(host, inner, &store, NULL), ETHOS_OK);
    uint32_t others = store->capabilities;
    assert_int_equal(others & ETHOS_STORE_DURABLE, 0);
    inner->capabilities |= ETHOS_STORE_DURABLE;
    assert_int_equal(store->ops->list(store, "global", pass, NULL, NULL), ETHOS_OK);
    assert_int_equal(store->capabilities, others | ETHOS_STORE_DURABLE);
    inner->capabilities &= ~(uint32_t)ETHOS_STORE_DURABLE;
    assert_int_equal(store->ops->list(store, "global", pass, NULL, NULL), ETHOS_OK);
    assert_int_equal(store->capabilities, others);
    store->ops->close(store);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_backend_promises_is_found_out_when_it_is_reached),
        cmocka_unit_test(test_trace_logs_one_line_per_call_and_no_content),
        cmocka_unit_test(test_fault_fails_the_chosen_call_before_it_happens),
        cmocka_unit_test(test_fault_fails_every_update_of_a_chosen_batch),
        cmocka_unit_test(test_a_decorator_hands_on_watching_and_not_what_a_database_is_made_of),
        cmocka_unit_test(test_a_chosen_gather_fails_and_asks_nobody),
        cmocka_unit_test(test_a_decorator_without_memory_closes_what_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
