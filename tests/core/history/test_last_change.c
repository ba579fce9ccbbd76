/*
 * test_last_change.c: what the end of a journal says about a key.
 */
#include "core/history/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "records.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 26)

struct line {
    const char *key, *actions, *before, *after, *txn;
    unsigned index, count;
    uint64_t seq, voids;
    const char *blob;
};

static void print_lines(struct str *out, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct history_record r = record_of(lines[i].key);

        r.ts_ms = 1000 + (int64_t)i;
        r.actions = view_str(lines[i].actions);
        r.before_hash = view_str(lines[i].before);
        r.after_hash = view_str(lines[i].after);
        r.absent_before = !strcmp(lines[i].before, HASH_0);
        r.absent_after = !strcmp(lines[i].after, HASH_0);
        r.txn_id = view_str(lines[i].txn);
        r.txn_index = lines[i].index;
        r.txn_count = lines[i].count;
        r.seq = lines[i].seq;
        r.voids_first = r.voids_last = lines[i].voids;
        r.after_blob = view_str(lines[i].blob);
        history_print(&r, out);
    }
}

static struct history_last last_of(const struct line *lines, size_t count, const char *key)
{
    struct history_last last = {0};
    struct str text;

    str_init(&text, CEILING);
    print_lines(&text, lines, count);
    assert_int_equal(history_last(str_view(&text), key, &last), ETHOS_OK);
    str_release(&text);
    return last;
}

static void test_the_last_line_of_a_key_is_found(void **state)
{
    static const struct line lines[] = {
        {"a.md", "add", HASH_0, HASH_A, "t1", 1, 1, 1, 0, NULL},
        {"a.md", "add", HASH_A, HASH_B, "t2", 1, 1, 2, 0, NULL},
        {"b.md", "delete", HASH_C, HASH_0, "t3", 1, 1, 3, 0, NULL},
    };
    struct history_last a = last_of(lines, COUNT(lines), "a.md");
    struct history_last b = last_of(lines, COUNT(lines), "b.md");
    struct history_last c = last_of(lines, COUNT(lines), "c.md");

    (void)state;
    assert_true(a.any);
    assert_string_equal(a.hash, HASH_B);
    assert_true(a.alone);
    assert_int_equal(a.ts_ms, 1001);
    assert_int_equal(a.since_blob, 2);
    assert_true(b.absent && !a.absent);
    assert_false(c.any);
    assert_string_equal(c.hash, "");
}

static void test_an_append_of_several_lines_is_known(void **state)
{
    static const struct line lines[] = {
        {"a.md", "external", HASH_A, HASH_B, "t1", 1, 3, 5, 0, NULL},
        {"a.md", "add", HASH_B, HASH_C, "t1", 2, 3, 6, 0, NULL},
        {"a.md", "add", HASH_C, HASH_D, "t1", 3, 3, 7, 0, NULL},
    };
    struct history_last all = last_of(lines, 3, "a.md"), edit = last_of(lines, 1, "a.md");

    (void)state;
    assert_string_equal(all.hash, HASH_D);
    assert_true(all.alone);
    assert_string_equal(edit.hash, HASH_B);
}

static void test_an_append_of_several_keys_is_known(void **state)
{
    static const struct line lines[] = {
        {"a.md", "add", HASH_0, HASH_A, "t1", 1, 1, 1, 0, NULL},
        {"a.md", "add", HASH_A, HASH_B, "t2", 1, 3, 2, 0, NULL},
        {"a.md", "add", HASH_B, HASH_C, "t2", 2, 3, 3, 0, NULL},
        {"b.md", "add", HASH_0, HASH_D, "t2", 3, 3, 4, 0, NULL},
        {"c.md", "add", HASH_0, HASH_D, "t3", 1, 1, 5, 0, NULL},
    };
    struct history_last a = last_of(lines, COUNT(lines), "a.md");
    struct history_last b = last_of(lines, COUNT(lines), "b.md");
    struct history_last c = last_of(lines, COUNT(lines), "c.md");

    (void)state;
    assert_false(a.alone || b.alone);
    assert_true(c.alone);
}

static void test_a_void_and_a_foreign_line_can_be_last(void **state)
{
    static const struct line lines[] = {
        {"a.md", "add", HASH_A, HASH_B, NULL, 0, 0, 0, 0, NULL},
        {"b.md", "restore", HASH_B, HASH_A, "t", 1, 1, 9, 8, NULL},
    };
    struct history_last a = last_of(lines, 2, "a.md"), b = last_of(lines, 2, "b.md");

    (void)state;
    assert_true(a.any && a.alone);
    assert_string_equal(a.hash, HASH_B);
    assert_true(b.any && b.alone);
    assert_string_equal(b.hash, HASH_A);
}

static void test_lines_since_a_kept_text_are_counted(void **state)
{
    struct line lines[] = {
        {"a.md", "add", HASH_0, HASH_A, NULL, 0, 0, 1, 0, BLOB_A},
        {"a.md", "add", HASH_A, HASH_B, NULL, 0, 0, 2, 0, BLOB_B},
        {"b.md", "add", HASH_0, HASH_B, NULL, 0, 0, 3, 0, NULL},
        {"a.md", "add", HASH_B, HASH_C, NULL, 0, 0, 4, 0, NULL},
        {"a.md", "add", HASH_C, HASH_D, NULL, 0, 0, 5, 0, BLOB_A}, // of a text that was met
    };
    struct history_last last = {.any = true, .since_blob = 10, .hash = HASH_A};
    struct str text;

    (void)state;
    assert_int_equal(last_of(lines, 1, "a.md").since_blob, 0);
    assert_int_equal(last_of(lines, 2, "a.md").since_blob, 0);
    assert_int_equal(last_of(lines, 4, "a.md").since_blob, 1);
    assert_int_equal(last_of(lines, 5, "a.md").since_blob, 2);

    str_init(&text, CEILING);
    print_lines(&text, lines + 3, 2);
    assert_int_equal(history_last(str_view(&text), "a.md", &last), ETHOS_OK);
    assert_int_equal(last.since_blob, 12);
    assert_string_equal(last.hash, HASH_D);
    assert_int_equal(history_last(str_view(&text), "b.md", &last), ETHOS_OK);
    assert_string_equal(last.hash, HASH_D); // lines that say nothing change nothing
    str_release(&text);
}

static void test_a_torn_last_line_does_not_count(void **state)
{
    static const struct line lines[] = {
        {"a.md", "add", HASH_0, HASH_A, "t1", 1, 1, 1, 0, NULL},
        {"a.md", "add", HASH_A, HASH_B, "t2", 1, 1, 2, 0, NULL},
    };
    struct history_last last = {0};
    struct str text;

    (void)state;
    str_init(&text, CEILING);
    print_lines(&text, lines, COUNT(lines));
    for (size_t cut = 2; cut < 300; cut++) {
        assert_int_equal(history_last(view_of(text.data, text.size - cut), "a.md", &last),
                         ETHOS_OK);
        assert_string_equal(last.hash, HASH_A);
    }
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_line_of_a_key_is_found),
        cmocka_unit_test(test_an_append_of_several_lines_is_known),
        cmocka_unit_test(test_an_append_of_several_keys_is_known),
        cmocka_unit_test(test_a_void_and_a_foreign_line_can_be_last),
        cmocka_unit_test(test_lines_since_a_kept_text_are_counted),
        cmocka_unit_test(test_a_torn_last_line_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
