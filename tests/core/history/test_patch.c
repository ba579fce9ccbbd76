/*
 * test_patch.c: reading and applying unified diffs.
 */
#include "core/history/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/diff.h"

#define CEILING ((size_t)1 << 26)
#define HEADER                                                                                     \
    "Index: MEMORY.md\n"                                                                           \
    "===================================================================\n"                        \
    "--- MEMORY.md\t\n+++ MEMORY.md\t\n"

static void assert_apply(const char *diff, const char *text, bool reverse, const char *expected)
{
    struct str out;

    str_init(&out, CEILING);
    str_adds(&out, "what stood there before");
    assert_int_equal(patch_apply(view_str(diff), view_str(text), reverse, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void assert_refused(const char *diff, const char *text, bool reverse, int code)
{
    struct str out;

    str_init(&out, CEILING);
    assert_int_equal(patch_apply(view_str(diff), view_str(text), reverse, &out), code);
    assert_int_equal(out.size, 0);
    str_release(&out);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void test_hunks_are_taken_off_in_order(void **state)
{
    struct ethos_view rest = VIEW(HEADER "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -10,1 +11,0 @@\n-x\n");
    struct patch_hunk hunk;

    (void)state;
    assert_int_equal(patch_next(&rest, &hunk), ETHOS_OK);
    assert_int_equal(hunk.old_start, 1);
    assert_int_equal(hunk.old_count, 2);
    assert_int_equal(hunk.new_start, 1);
    assert_int_equal(hunk.new_count, 3);
    assert_true(view_eq(hunk.lines, VIEW(" a\n+b\n c\n")));
    assert_int_equal(patch_next(&rest, &hunk), ETHOS_OK);
    assert_int_equal(hunk.old_start, 10);
    assert_int_equal(hunk.new_count, 0);
    assert_true(view_eq(hunk.lines, VIEW("-x\n")));
    assert_int_equal(patch_next(&rest, &hunk), ETHOS_NOTFOUND);
}

static void test_a_header_without_hunks_is_no_change(void **state)
{
    (void)state;
    assert_apply("", "a\n", false, "a\n");
    assert_apply(HEADER, "a\n", false, "a\n");
    assert_apply(HEADER, NULL, true, "");
}

static void test_lines_come_with_marker_and_line_end(void **state)
{
    struct ethos_view lines = VIEW(" a\r\n-b\n\\ No newline at end of file\n+\n");
    struct patch_line line;

    (void)state;
    assert_true(patch_line(&lines, &line));
    assert_int_equal(line.marker, ' ');
    assert_true(view_eq(line.text, VIEW("a\r\n")));
    assert_true(patch_line(&lines, &line));
    assert_int_equal(line.marker, '-');
    assert_true(view_eq(line.text, VIEW("b")));
    assert_true(patch_line(&lines, &line));
    assert_int_equal(line.marker, '+');
    assert_true(view_eq(line.text, VIEW("\n")));
    assert_false(patch_line(&lines, &line));
}

static void test_what_is_no_diff_is_invalid(void **state)
{
    static const char *const diffs[] = {
        "hello\n",
        HEADER "a\n",
        "Index: a\n@@ -0,0 +1,1 @@\n+a\n",
        "@@ -0,0 +1,1 @@",
        "@@ -0,0 +1 @@\n+a\n",
        "@@ -0,0 +1,1 @@ more\n+a\n",
        "@@ -0,1 +1,1 @@\n a\n",
        "@@ -1,1 +0,1 @@\n a\n",
        "@@ -0,0 +1,1 @@\n*a\n",
        "@@ -0,0 +1,1 @@\n-a\n",
        "@@ -0,0 +1,1 @@\n a\n",
        "@@ -0,0 +1,1 @@\n+a\n+b\n",
        "@@ -0,0 +1,1 @@\n+\n\\ No newline at end of file\n",
        "@@ -0,0 +99999999999999999999999,1 @@\n+a\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(diffs) / sizeof(*diffs); i++)
        assert_refused(diffs[i], "a\n", false, ETHOS_INVALID);
}

static void test_a_diff_cut_anywhere_is_noticed(void **state)
{
    static const char whole[] = HEADER
        "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -7,1 +8,1 @@\n-x\n\\ No newline at end of file\n+y\n";
    static const char text[] = "a\nc\n3\n4\n5\n6\nx";
    const size_t second = sizeof(HEADER "@@ -1,2 +1,3 @@\n a\n+b\n c\n") - 1;
    struct str out, cut;

    (void)state;
    str_init(&out, CEILING);
    str_init(&cut, CEILING);
    for (size_t size = 1; size < sizeof(whole) - 1; size++) {
        if (size == sizeof(HEADER) - 1 || size == second)
            continue; // whole as far as they go
        assert_int_not_equal(patch_apply(view_of(whole, size), view_str(text), false, &out),
                             ETHOS_OK);
    }
    for (size_t size = sizeof(HEADER); size < sizeof(whole) - 1; size++) {
        str_clear(&cut);
        str_add(&cut, view_of(whole, size));
        str_adds(&cut, "\n… [diff truncated; before-state in blob sha256:00]");
        assert_int_not_equal(patch_apply(str_view(&cut), view_str(text), false, &out), ETHOS_OK);
    }
    assert_int_equal(patch_apply(view_str(whole), view_str(text), false, &out), ETHOS_OK);
    str_release(&out);
    str_release(&cut);
}

/* ---- applying ------------------------------------------------------------------------------ */

static void test_a_diff_leads_there_and_back(void **state)
{
    static const char diff[] = HEADER "@@ -1,2 +1,4 @@\n a\n b\n+\n+c\n";

    (void)state;
    assert_apply(diff, "a\nb\n", false, "a\nb\n\nc\n");
    assert_apply(diff, "a\nb\n\nc\n", true, "a\nb\n");
    assert_apply("@@ -0,0 +1,1 @@\n+a\n", NULL, false, "a\n");
    assert_apply("@@ -1,1 +0,0 @@\n-a\n", "a\n", false, "");
    assert_apply("@@ -1,1 +0,0 @@\n-a\n", "", true, "a\n");
    assert_apply("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n", "a", false, "a\n");
    assert_apply("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n", true, "a");
}

static void test_a_hunk_fits_only_where_it_says(void **state)
{
    (void)state;
    assert_apply("@@ -2,1 +2,1 @@\n-a\n+b\n", "a\na\n", false, "a\nb\n");
    assert_refused("@@ -1,1 +1,1 @@\n-a\n+b\n", "x\na\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -3,1 +3,1 @@\n-a\n+b\n", "x\na\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -9,1 +9,1 @@\n-a\n+b\n", "x\na\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -2,1 +3,1 @@\n-a\n+b\n", "x\na\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -2,1 +2,1 @@\n-a\n+b\n@@ -1,1 +1,1 @@\n-x\n+y\n", "x\na\n", false,
                   ETHOS_CONFLICT);
}

static void test_every_line_shown_must_be_there(void **state)
{
    (void)state;
    assert_refused("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "A\nb\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nbb\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -1,1 +1,1 @@\n-a\n+c\n", "a", false, ETHOS_CONFLICT);
    assert_refused("@@ -1,1 +1,1 @@\n-a\n+c\n", "a\r\n", false, ETHOS_CONFLICT);
    assert_refused("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+c\n", "a\n", false,
                   ETHOS_CONFLICT);
    assert_refused("@@ -1,1 +1,1 @@\n-a\n+c\n", "a\n", true, ETHOS_CONFLICT);
}

static void test_only_the_last_line_may_have_no_newline(void **state)
{
    (void)state;
    assert_refused("@@ -1,0 +2,1 @@\n+b\n", "a", false, ETHOS_CONFLICT);
    assert_refused("@@ -0,0 +1,1 @@\n+b\n\\ No newline at end of file\n", "a\n", false,
                   ETHOS_CONFLICT);
    assert_refused("@@ -0,0 +1,2 @@\n+b\n\\ No newline at end of file\n+c\n", "", false,
                   ETHOS_CONFLICT);
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

static void random_text(struct str *out)
{
    static const char *const lines[] = {
        "\n",          "a\n",         "b\r\n",
        "\xff\n",      "long line\n", "-\n",
        "+ plus\n",    "@@ -1 @\n",   "\\ No newline at end of file\n",
        "c\xe2\x82\n", "Index: x\n"};

    str_clear(out);
    for (unsigned left = random_below(40); left > 0; left--)
        str_adds(out, lines[random_below(sizeof(lines) / sizeof(*lines))]);
    if (out->size > 0 && random_below(3) == 0)
        str_truncate(out, out->size - 1);
}

static void test_diffs_of_any_texts_apply_both_ways(void **state)
{
    struct str old, new, diff, made;

    (void)state;
    str_init(&old, CEILING);
    str_init(&new, CEILING);
    str_init(&diff, CEILING);
    str_init(&made, CEILING);
    for (int i = 0; i < 2000; i++) {
        random_text(&old);
        random_text(&new);
        str_clear(&diff);
        diff_unified(str_view(&old), str_view(&new), "k", &diff);
        assert_int_equal(patch_apply(str_view(&diff), str_view(&old), false, &made), ETHOS_OK);
        assert_true(view_eq(str_view(&made), str_view(&new)));
        assert_int_equal(patch_apply(str_view(&diff), str_view(&new), true, &made), ETHOS_OK);
        assert_true(view_eq(str_view(&made), str_view(&old)));
    }
    str_release(&old);
    str_release(&new);
    str_release(&diff);
    str_release(&made);
}

static void test_no_memory_and_no_room_are_told(void **state)
{
    static const char diff[] = "@@ -2,1 +2,2 @@\n b\n+some more text\n";
    struct str out;
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&out, CEILING);
        code = patch_apply(view_str(diff), VIEW("a\nb\nc\n"), false, &out);
        assert_true(code == ETHOS_NOMEM || code == ETHOS_OK);
        str_release(&out);
    }
    str_init(&out, 5);
    assert_int_equal(patch_apply(view_str(diff), VIEW("a\nb\nc\n"), false, &out), ETHOS_LIMIT);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hunks_are_taken_off_in_order),
        cmocka_unit_test(test_a_header_without_hunks_is_no_change),
        cmocka_unit_test(test_lines_come_with_marker_and_line_end),
        cmocka_unit_test(test_what_is_no_diff_is_invalid),
        cmocka_unit_test(test_a_diff_cut_anywhere_is_noticed),
        cmocka_unit_test(test_a_diff_leads_there_and_back),
        cmocka_unit_test(test_a_hunk_fits_only_where_it_says),
        cmocka_unit_test(test_every_line_shown_must_be_there),
        cmocka_unit_test(test_only_the_last_line_may_have_no_newline),
        cmocka_unit_test(test_diffs_of_any_texts_apply_both_ways),
        cmocka_unit_test(test_no_memory_and_no_room_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
