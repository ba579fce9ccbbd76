/*
 * test_update.c: store_update over stores without an update of their own, while others write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/log.h"
#include "base/view.h"
#include "store/store.h"

#define SCOPE "global"

/* A ram store without update, behind a store that can be told to fail. */
struct fixture {
    struct ethos_store_ops ops;
    struct ethos_store *ram, *store;
    const char *fail_call;
    int fail_after, fail_code;
    struct ethos_error error;
};

static int choose(void *arg, const char *call, unsigned long number)
{
    struct fixture *f = arg;
    (void)number;
    if (!f->fail_call || strcmp(call, f->fail_call) != 0)
        return ETHOS_OK;
    return f->fail_after-- > 0 ? ETHOS_OK : f->fail_code;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f ||
        store_ram.open(&(struct ethos_setup){.host = &log_default_host}, &f->ram, NULL) != ETHOS_OK)
        return -1;
    f->ops = store_ram;
    f->ops.update = NULL;
    f->ram->ops = &f->ops;
    *state = f;
    return store_fault_new(&log_default_host, f->ram, choose, f, &f->store, NULL);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    f->store->ops->close(f->store);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *key, const char *text)
{
    char revision[ETHOS_REVISION_SIZE];
    assert_int_equal(
        store_ram.write(f->ram, SCOPE, key, NULL, view_str(text), NULL, revision, NULL), ETHOS_OK);
}

static void assert_text(struct fixture *f, const char *key, const char *expected)
{
    struct ethos_text text = {0};
    struct ethos_read_how whole = {0, 0};
    int code = store_ram.read(f->ram, SCOPE, key, &whole, &text, NULL);
    assert_int_equal(code, expected ? ETHOS_OK : ETHOS_NOTFOUND);
    if (expected)
        assert_string_equal(text.data, expected);
    free(text.data);
}

/* Adds x to each key, and on some of its calls lets somebody else write first. */
struct meddling {
    struct fixture *f;
    int calls, times;
    const char *key, *text; /* text NULL: removes */
    char texts[3][64];
};

static int add_x(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct meddling *m = arg;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        snprintf(m->texts[i], sizeof m->texts[i], "%sx",
                 edits[i].old.data ? edits[i].old.data : "");
        edits[i].verdict = ETHOS_EDIT_PUT;
        edits[i].text = view_str(m->texts[i]);
    }
    if (m->calls++ < m->times && m->text)
        put(m->f, m->key, m->text);
    else if (m->calls <= m->times)
        store_ram.remove(m->f->ram, SCOPE, m->key, NULL, NULL, NULL);
    return ETHOS_OK;
}

static int run(struct meddling *m, struct ethos_edit *edits, size_t count)
{
    int code = store_update(m->f->store, SCOPE, edits, count, add_x, m, NULL, &m->f->error);
    for (size_t i = 0; i < count; i++)
        free(edits[i].old.data);
    return code;
}

static void test_a_moved_text_is_read_and_asked_again(void **state)
{
    struct meddling m = {.f = *state, .times = 1, .key = "a.md", .text = "theirs "};
    struct ethos_edit edit = {.key = "a.md"};
    put(m.f, "a.md", "ours ");
    assert_int_equal(run(&m, &edit, 1), ETHOS_OK);
    assert_int_equal(m.calls, 2);
    assert_text(m.f, "a.md", "theirs x");
}

static void test_a_text_that_appears_is_not_overwritten(void **state)
{
    struct meddling m = {.f = *state, .times = 1, .key = "a.md", .text = "theirs "};
    struct ethos_edit edit = {.key = "a.md"};
    assert_int_equal(run(&m, &edit, 1), ETHOS_OK);
    assert_text(m.f, "a.md", "theirs x");
}

static void test_a_later_key_that_moved_puts_the_earlier_ones_back_first(void **state)
{
    struct meddling m = {.f = *state, .times = 3, .key = "c.md", .text = "theirs "};
    struct ethos_edit edits[3] = {{.key = "a.md"}, {.key = "b.md"}, {.key = "c.md"}};
    put(m.f, "b.md", "old b ");
    put(m.f, "c.md", "old c ");
    assert_int_equal(run(&m, edits, 3), ETHOS_OK);
    assert_int_equal(m.calls, 2); // the second meddling writes the same text: nothing moves
    assert_text(m.f, "a.md", "x");
    assert_text(m.f, "b.md", "old b x");
    assert_text(m.f, "c.md", "theirs x");
}

static int add_x_and_count(void *arg, struct ethos_edit *edits, size_t count,
                           struct ethos_error *error)
{
    struct meddling *m = arg;
    char text[32];
    snprintf(text, sizeof text, "%d", m->calls);
    m->text = text;
    int code = add_x(arg, edits, count, error);
    m->text = NULL;
    return code;
}

static void test_a_text_that_keeps_moving_is_busy(void **state)
{
    struct meddling m = {.f = *state, .times = 1000, .key = "a.md"};
    struct ethos_edit edits[2] = {{.key = "b.md"}, {.key = "a.md"}};
    put(m.f, "a.md", "old");
    int code = store_update(m.f->store, SCOPE, edits, 2, add_x_and_count, &m, NULL, &m.f->error);
    assert_int_equal(code, ETHOS_BUSY);
    assert_int_equal(m.calls, 100);
    assert_text(m.f, "a.md", "99");
    assert_text(m.f, "b.md", NULL);
    free(edits[0].old.data);
    free(edits[1].old.data);
}

static void test_a_text_that_vanishes_is_busy(void **state)
{
    struct meddling m = {.f = *state, .times = 1, .key = "a.md", .text = NULL};
    struct ethos_edit edit = {.key = "a.md"};
    put(m.f, "a.md", "old");
    assert_int_equal(run(&m, &edit, 1), ETHOS_BUSY);
    assert_int_equal(m.calls, 1);
    assert_text(m.f, "a.md", NULL);
}

static void test_an_error_at_a_later_key_puts_the_earlier_ones_back(void **state)
{
    struct meddling m = {.f = *state};
    struct ethos_edit edits[2] = {{.key = "a.md"}, {.key = "b.md"}};
    put(m.f, "a.md", "old");
    m.f->fail_call = "write";
    m.f->fail_after = 1;
    m.f->fail_code = ETHOS_IO;
    int code = store_update(m.f->store, SCOPE, edits, 2, add_x, &m, NULL, &m.f->error);
    // putting back is a write too and fails as well: the answer says so
    assert_int_equal(code, ETHOS_IO);
    assert_non_null(strstr(m.f->error.text, "were changed"));
    assert_text(m.f, "a.md", "oldx");
    assert_text(m.f, "b.md", NULL);
    free(edits[0].old.data);
    free(edits[1].old.data);

    struct ethos_edit again[2] = {{.key = "c.md"}, {.key = "b.md"}};
    m.f->fail_after = 1;
    assert_int_equal(run(&m, again, 2), ETHOS_IO);
    assert_text(m.f, "c.md", NULL); // putting back what was absent is a remove
}

static void test_a_failed_read_or_callback_ends_it(void **state)
{
    struct meddling m = {.f = *state};
    struct ethos_edit edit = {.key = "a.md"};
    m.f->fail_call = "read";
    m.f->fail_code = ETHOS_IO;
    assert_int_equal(run(&m, &edit, 1), ETHOS_IO);
    assert_int_equal(m.calls, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_a_moved_text_is_read_and_asked_again),
        TEST(test_a_text_that_appears_is_not_overwritten),
        TEST(test_a_later_key_that_moved_puts_the_earlier_ones_back_first),
        TEST(test_a_text_that_keeps_moving_is_busy),
        TEST(test_a_text_that_vanishes_is_busy),
        TEST(test_an_error_at_a_later_key_puts_the_earlier_ones_back),
        TEST(test_a_failed_read_or_callback_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
