/*
 * test_diff.c: unified diffs of the history format.
 */
#include "core/history/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "../../support/patch.h"
#include "base/json.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 26)
#define KEY "MEMORY.md"
#define HEADER                                                                                     \
    "Index: MEMORY.md\n"                                                                           \
    "===================================================================\n"                        \
    "--- MEMORY.md\t\n+++ MEMORY.md\t\n"

static void assert_diff(struct ethos_view old, struct ethos_view new, const char *expected)
{
    struct str out;

    str_init(&out, CEILING);
    assert_int_equal(diff_unified(old, new, KEY, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

/* ---- form ---------------------------------------------------------------------------------- */

static void test_golden_history(void **state)
{
    json_error_t why;
    json_t *root = json_load_file("tests/golden/updates.json", 0, &why);
    json_t *lines = json_object_get(json_object_get(root, "history"), "lines"), *line;
    const char *texts[] = {"a\nb\n", "a\nb\n\nc\n", NULL};
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(lines), 2);
    json_array_foreach (lines, i, line) {
        json_t *diff = json_object_get(json_object_get(line, "values"), "diff");

        assert_diff(view_str(texts[i]), view_str(texts[i + 1]), json_string_value(diff));
    }
    json_decref(root);
}

static void test_equal_texts_have_no_diff(void **state)
{
    (void)state;
    assert_diff(VIEW("a\nb\n"), VIEW("a\nb\n"), "");
    assert_diff(VIEW(""), view_str(NULL), "");
    assert_diff(VIEW("x"), VIEW("x"), "");
}

static void test_empty_sides_start_at_zero(void **state)
{
    (void)state;
    assert_diff(view_str(NULL), VIEW("a\nb\n"), HEADER "@@ -0,0 +1,2 @@\n+a\n+b\n");
    assert_diff(VIEW("a\n"), VIEW(""), HEADER "@@ -1,1 +0,0 @@\n-a\n");
}

static void test_a_missing_last_newline_is_said(void **state)
{
    (void)state;
    assert_diff(VIEW("a\nb"), VIEW("a\nb\n"),
                HEADER "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
    assert_diff(VIEW("a\nb\n"), VIEW("a\nb"),
                HEADER "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n");
    assert_diff(VIEW("a\nb"), VIEW("c\nb"),
                HEADER "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
    assert_diff(VIEW("x"), VIEW("y"),
                HEADER "@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n"
                       "+y\n\\ No newline at end of file\n");
}

static void test_carriage_returns_belong_to_their_line(void **state)
{
    (void)state;
    assert_diff(VIEW("a\r\nb\n"), VIEW("a\nb\n"), HEADER "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n");
}

static void test_lines_that_share_their_ends_are_compared_as_lines(void **state)
{
    (void)state;
    assert_diff(VIEW("one two\nsame\n"), VIEW("one six two\nsame\n"),
                HEADER "@@ -1,2 +1,2 @@\n-one two\n+one six two\n same\n");
    assert_diff(VIEW("ab\n"), VIEW("b\n"), HEADER "@@ -1,1 +1,1 @@\n-ab\n+b\n");
    assert_diff(VIEW("b\n"), VIEW("a\nb\n"), HEADER "@@ -1,1 +1,2 @@\n+a\n b\n");
}

/* Lines 1 to count, with each of up to two lines replaced by "new". */
static void numbered(struct str *out, unsigned count, unsigned first, unsigned second)
{
    str_clear(out);
    for (unsigned i = 1; i <= count; i++) {
        if (i == first || i == second)
            str_printf(out, "new %u\n", i);
        else
            str_printf(out, "%u\n", i);
    }
}

static void test_hunks_have_four_lines_of_context(void **state)
{
    struct str old, new;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    numbered(&old, 30, 0, 0);
    numbered(&new, 30, 10, 0);
    assert_diff(str_view(&old), str_view(&new),
                HEADER "@@ -6,9 +6,9 @@\n 6\n 7\n 8\n 9\n-10\n+new 10\n 11\n 12\n 13\n 14\n");
    numbered(&new, 30, 2, 29);
    assert_diff(str_view(&old), str_view(&new),
                HEADER "@@ -1,6 +1,6 @@\n 1\n-2\n+new 2\n 3\n 4\n 5\n 6\n"
                       "@@ -25,6 +25,6 @@\n 25\n 26\n 27\n 28\n-29\n+new 29\n 30\n");
    str_release(&old);
    str_release(&new);
}

static void test_changes_with_up_to_eight_lines_between_share_a_hunk(void **state)
{
    struct str old, new;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    numbered(&old, 30, 0, 0);
    numbered(&new, 30, 10, 19);
    assert_diff(str_view(&old), str_view(&new),
                HEADER "@@ -6,18 +6,18 @@\n 6\n 7\n 8\n 9\n-10\n+new 10\n 11\n 12\n 13\n 14\n 15\n"
                       " 16\n 17\n 18\n-19\n+new 19\n 20\n 21\n 22\n 23\n");
    numbered(&new, 30, 10, 20);
    assert_diff(str_view(&old), str_view(&new),
                HEADER "@@ -6,9 +6,9 @@\n 6\n 7\n 8\n 9\n-10\n+new 10\n 11\n 12\n 13\n 14\n"
                       "@@ -16,9 +16,9 @@\n 16\n 17\n 18\n 19\n-20\n+new 20\n 21\n 22\n 23\n 24\n");
    str_release(&old);
    str_release(&new);
}

static void test_long_texts_in_common_keep_line_numbers_right(void **state)
{
    struct str old, new;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    numbered(&old, 2000, 0, 0);
    numbered(&new, 2000, 1000, 0);
    assert_diff(str_view(&old), str_view(&new),
                HEADER "@@ -996,9 +996,9 @@\n 996\n 997\n 998\n 999\n-1000\n+new 1000\n"
                       " 1001\n 1002\n 1003\n 1004\n");
    str_release(&old);
    str_release(&new);
}

static void test_the_diff_is_appended(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, CEILING);
    str_adds(&out, "before ");
    assert_int_equal(diff_unified(VIEW("a"), VIEW("a"), KEY, &out), ETHOS_OK);
    assert_string_equal(out.data, "before ");
    diff_unified(VIEW(""), VIEW("a\n"), KEY, &out);
    assert_string_equal(out.data, "before " HEADER "@@ -0,0 +1,1 @@\n+a\n");
    str_release(&out);
}

/* ---- random texts -------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static void random_line(struct str *out, unsigned alphabet)
{
    unsigned value = random_below(alphabet);

    if (value == 0)
        str_adds(out, "\n");
    else
        str_printf(out, "%s%u\n", value % 3 ? "line " : "", value);
}

static void random_text(struct str *out, unsigned alphabet)
{
    unsigned lines = random_below(40);

    str_clear(out);
    for (unsigned i = 0; i < lines; i++)
        random_line(out, alphabet);
    if (out->size > 0 && random_below(4) == 0)
        str_truncate(out, out->size - 1);
}

/* A text of its own, or the old one with lines dropped, changed and put in. */
static void random_change(struct ethos_view old, struct str *out, unsigned alphabet)
{
    struct ethos_view line;

    if (random_below(4) == 0) {
        random_text(out, alphabet);
        return;
    }
    str_clear(out);
    while (view_line(&old, &line)) {
        unsigned what = random_below(8);

        if (what == 0)
            random_line(out, alphabet);
        if (what < 2)
            continue;
        str_add(out, line);
        str_adds(out, "\n");
        if (what == 2)
            random_line(out, alphabet);
    }
}

static size_t split(struct ethos_view text, struct ethos_view *lines)
{
    size_t count = 0;

    while (text.size > 0)
        lines[count++] = patch_take(&text);
    return count;
}

/* Length of the shortest edit script, from the table of the longest common subsequence. */
static size_t shortest(struct ethos_view old, struct ethos_view new)
{
    static struct ethos_view a[128], b[128];
    static size_t table[129][129];
    size_t n = split(old, a), m = split(new, b);

    for (size_t i = n; i-- > 0;) {
        for (size_t k = m; k-- > 0;)
            table[i][k] = view_eq(a[i], b[k])                 ? table[i + 1][k + 1] + 1
                          : table[i + 1][k] > table[i][k + 1] ? table[i + 1][k]
                                                              : table[i][k + 1];
        table[i][m] = 0;
    }
    size_t common = n > 0 && m > 0 ? table[0][0] : 0;
    memset(table, 0, sizeof(table));
    return n + m - 2 * common;
}

static size_t edits(struct ethos_view diff)
{
    struct ethos_view line;
    size_t count = 0;

    for (int i = 0; i < 4; i++)
        view_line(&diff, &line);
    while (view_line(&diff, &line))
        count += line.data[0] == '+' || line.data[0] == '-';
    return count;
}

static void assert_applies(struct ethos_view old, struct ethos_view new, struct ethos_view diff)
{
    struct str patched;

    str_init(&patched, CEILING);
    if (!patch_apply(old, diff, KEY, &patched))
        fail_msg("does not apply:\n%.*s\nto:\n%.*s", VIEW_ARG(diff), VIEW_ARG(old));
    assert_true(view_eq(str_view(&patched), new));
    str_release(&patched);
}

static void test_random_diffs_apply_and_are_shortest(void **state)
{
    struct str old, new, diff;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    str_init(&diff, CEILING);
    for (int round = 0; round < 20000; round++) {
        unsigned alphabet = 2 + random_below(random_below(2) ? 6 : 60);

        random_text(&old, alphabet);
        random_change(str_view(&old), &new, alphabet);
        str_clear(&diff);
        assert_int_equal(diff_unified(str_view(&old), str_view(&new), KEY, &diff), ETHOS_OK);
        if (diff.size == 0) {
            assert_true(view_eq(str_view(&old), str_view(&new)));
            continue;
        }
        assert_applies(str_view(&old), str_view(&new), str_view(&diff));
        assert_int_equal(edits(str_view(&diff)), shortest(str_view(&old), str_view(&new)));
    }
    str_release(&old);
    str_release(&new);
    str_release(&diff);
}

/* Far too many edits for a shortest diff; it must still be right. */
static void test_texts_too_different_get_a_correct_longer_diff(void **state)
{
    struct str old, new, diff;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    str_init(&diff, CEILING);
    for (int i = 0; i < 40000; i++) {
        str_printf(&old, "%u\n", random_below(300));
        str_printf(&new, "%u\n", random_below(300));
    }
    assert_int_equal(diff_unified(str_view(&old), str_view(&new), KEY, &diff), ETHOS_OK);
    assert_applies(str_view(&old), str_view(&new), str_view(&diff));
    str_release(&old);
    str_release(&new);
    str_release(&diff);
}

/* ---- failure ------------------------------------------------------------------------------- */

static void test_without_memory_nothing_is_appended(void **state)
{
    struct str old, new, out;
    int code = ETHOS_OK;
    unsigned failures = 0;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    str_init(&out, CEILING);
    numbered(&old, 2000, 0, 0);
    numbered(&new, 2000, 10, 1990);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_release(&out);
        code = diff_unified(str_view(&old), str_view(&new), KEY, &out);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_NOMEM);
            assert_int_equal(out.size, 0);
            failures++;
        }
    }
    assert_in_range(failures, 10, 100);
    str_release(&old);
    str_release(&new);
    str_release(&out);
}

static void test_a_full_buffer_is_a_limit_and_keeps_its_content(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 130);
    str_adds(&out, "before ");
    assert_int_equal(diff_unified(VIEW(""), VIEW("a\nb\nc\n"), KEY, &out), ETHOS_LIMIT);
    assert_string_equal(out.data, "before ");
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_history),
        cmocka_unit_test(test_equal_texts_have_no_diff),
        cmocka_unit_test(test_empty_sides_start_at_zero),
        cmocka_unit_test(test_a_missing_last_newline_is_said),
        cmocka_unit_test(test_carriage_returns_belong_to_their_line),
        cmocka_unit_test(test_lines_that_share_their_ends_are_compared_as_lines),
        cmocka_unit_test(test_hunks_have_four_lines_of_context),
        cmocka_unit_test(test_changes_with_up_to_eight_lines_between_share_a_hunk),
        cmocka_unit_test(test_long_texts_in_common_keep_line_numbers_right),
        cmocka_unit_test(test_the_diff_is_appended),
        cmocka_unit_test(test_random_diffs_apply_and_are_shortest),
        cmocka_unit_test(test_texts_too_different_get_a_correct_longer_diff),
        cmocka_unit_test(test_without_memory_nothing_is_appended),
        cmocka_unit_test(test_a_full_buffer_is_a_limit_and_keeps_its_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
