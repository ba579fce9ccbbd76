/*
 * test_blame.c: lines and the changes that put them there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/history/blame.h"
#include "core/history/diff.h"
#include "core/history/patch.h"

/* Blames the last of the texts; change i made text i. Lines as "0a 1b": change and text. */
static void assert_blame(const char *const *texts, size_t count, const char *expected)
{
    struct arena arena;
    struct blame blame;
    struct ethos_view line;
    struct str told, diff;
    arena_init(&arena);
    str_init(&told, SIZE_MAX);
    str_init(&diff, SIZE_MAX);
    assert_int_equal(blame_init(&blame, &arena, view_str(texts[count - 1]), 1, SIZE_MAX), ETHOS_OK);
    for (size_t i = count; i-- > 0;) {
        str_clear(&diff);
        diff_unified(view_str(i ? texts[i - 1] : NULL), view_str(texts[i]), "k", &diff);
        assert_int_equal(blame_step(&blame, str_view(&diff), (uint32_t)i), ETHOS_OK);
    }
    assert_int_equal(blame.open, 0);
    for (size_t i = 0; i < blame.count && view_line(&blame.rest, &line); i++)
        str_printf(&told, "%s%u%.*s", i ? " " : "", blame.lines[i].change, VIEW_ARG(line));
    assert_string_equal(told.data, expected);
    str_release(&told);
    str_release(&diff);
    blame_release(&blame);
    arena_release(&arena);
}

static void test_lines_go_back_to_the_change_that_made_them(void **state)
{
    (void)state;
    assert_blame((const char *const[]){"a\n", "a\nb\n", "x\na\nb\n"}, 3, "2x 0a 1b");
    assert_blame((const char *const[]){"a\nb\nc\n", "a\nc\n", "a\nq\nc\n"}, 3, "0a 2q 0c");
    assert_blame((const char *const[]){"a", "a\n"}, 2, "1a");
    assert_blame((const char *const[]){"", "a\n", "", "a\n"}, 4, "3a");
    assert_blame((const char *const[]){"a\n\nb\n", "a\n\nb\n\nc\n"}, 2, "0a 0 0b 1 1c");
}

static void test_a_text_of_no_lines_has_nothing_to_blame(void **state)
{
    struct arena arena;
    struct blame blame;
    (void)state;
    arena_init(&arena);
    assert_int_equal(blame_init(&blame, &arena, VIEW(""), 1, SIZE_MAX), ETHOS_OK);
    assert_int_equal(blame.count, 0);
    assert_int_equal(blame_step(&blame, VIEW(""), 0), ETHOS_OK);
    blame_release(&blame);
    arena_release(&arena);
}

static void test_what_no_step_settles_is_nobody_s(void **state)
{
    struct arena arena;
    struct blame blame;
    struct str diff;
    (void)state;
    arena_init(&arena);
    str_init(&diff, SIZE_MAX);
    diff_unified(VIEW("a\nb\n"), VIEW("a\nB\n"), "k", &diff);
    assert_int_equal(blame_init(&blame, &arena, VIEW("a\nB\n"), 1, SIZE_MAX), ETHOS_OK);
    assert_int_equal(blame_step(&blame, str_view(&diff), 5), ETHOS_OK);
    assert_int_equal(blame.open, 1);
    assert_true(blame.lines[0].change == BLAME_NOBODY);
    assert_null(blame_replaced(&blame, &blame.lines[0]).data);
    assert_int_equal(blame.lines[1].change, 5);
    assert_true(view_eq(blame_replaced(&blame, &blame.lines[1]), VIEW("b\n")));
    str_release(&diff);
    blame_release(&blame);
    arena_release(&arena);
}

static void test_a_diff_that_is_none_or_was_cut_is_refused(void **state)
{
    static const char *const bad[] = {"no diff\n", "@@ -1,1 +1,2 @@\n a\n", "@@ -x +1,1 @@\n+a\n"};
    struct arena arena;
    struct blame blame;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        arena_init(&arena);
        assert_int_equal(blame_init(&blame, &arena, VIEW("a\nb\n"), 1, SIZE_MAX), ETHOS_OK);
        assert_int_equal(blame_step(&blame, view_str(bad[i]), 0), ETHOS_INVALID);
        blame_release(&blame);
        arena_release(&arena);
    }
}

/* ---- what was replaced ----------------------------------------------------------------------- */

/* What each line of the new text replaced, as "b| c|d|"; by the diff and by the texts. */
static void assert_replaced(const char *before, const char *after, const char *expected)
{
    for (int by_texts = 0; by_texts < 2; by_texts++) {
        struct arena arena;
        struct blame blame;
        struct str told, diff;
        arena_init(&arena);
        str_init(&told, SIZE_MAX);
        str_init(&diff, SIZE_MAX);
        assert_int_equal(blame_init(&blame, &arena, view_str(after), 1, SIZE_MAX), ETHOS_OK);
        diff_unified(view_str(before), view_str(after), "k", &diff);
        assert_int_equal(by_texts ? blame_step_texts(&blame, view_str(before), view_str(after), 3)
                                  : blame_step(&blame, str_view(&diff), 3),
                         ETHOS_OK);
        for (size_t i = 0; i < blame.count; i++) {
            str_adds(&told, i ? " " : "");
            str_adds(&told, blame.lines[i].change == 3 ? "" : "=");
            str_add(&told, blame_replaced(&blame, &blame.lines[i]));
        }
        for (size_t i = 0; i < told.size; i++)
            told.data[i] = told.data[i] == '\n' ? '|' : told.data[i];
        assert_string_equal(told.data, expected);
        str_release(&told);
        str_release(&diff);
        blame_release(&blame);
        arena_release(&arena);
    }
}

static void test_a_line_replaced_the_one_in_its_place(void **state)
{
    (void)state;
    assert_replaced("a\nb\nc\nd\n", "a\nB\nC\nd\n", "= b| c| =");
    assert_replaced("a\nb\nc\nd\ne\n", "a\nB\ne\n", "= b|c|d| =");
    assert_replaced("a\nb\nz\n", "a\nB\nC\nD\nz\n", "= b|   =");
    assert_replaced("a\nb\nm\nx\ny\nz\n", "a\nB\nm\nX\nz\n", "= b| = x|y| =");
    assert_replaced("b\nx", "c", "b|x");
    assert_replaced("", "c\n", "");
}

/* Bytes of what all lines replaced, when each of `count` lines is another one now. */
static size_t bytes_replaced(size_t count, size_t most, size_t *out_lines)
{
    struct arena arena;
    struct blame blame;
    struct str old, new;
    size_t bytes = 0;
    arena_init(&arena);
    str_init(&old, SIZE_MAX);
    str_init(&new, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        str_printf(&old, "line %zu\n", i);
        str_printf(&new, "- line %zu\n", i);
    }
    assert_int_equal(blame_init(&blame, &arena, str_view(&new), 1, most), ETHOS_OK);
    assert_int_equal(blame_step_texts(&blame, str_view(&old), str_view(&new), 0), ETHOS_OK);
    assert_int_equal(blame.open, 0);
    assert_int_equal(blame.total, count);
    for (size_t i = 0; i < blame.count; i++)
        bytes += blame.lines[i].replaced_size;
    if (most == SIZE_MAX)
        assert_int_equal(bytes, old.size);
    *out_lines = blame.count;
    str_release(&old);
    str_release(&new);
    blame_release(&blame);
    arena_release(&arena);
    return bytes;
}

static void test_what_lines_replaced_grows_as_the_text_does(void **state)
{
    size_t lines;
    (void)state;
    bytes_replaced(4000, SIZE_MAX, &lines); // as much as was removed, to the byte
    assert_int_equal(lines, 4000);
    assert_true(bytes_replaced(4000, 10, &lines) <= 10 * sizeof "line 4000");
    assert_int_equal(lines, 10);
}

static void test_what_one_line_replaced_is_cut(void **state)
{
    struct arena arena;
    struct blame blame;
    struct str old;
    (void)state;
    arena_init(&arena);
    str_init(&old, SIZE_MAX);
    while (old.size < 3 * BLAME_REPLACED_BYTES)
        str_adds(&old, "\u00e4\u00e4\u00e4\n");
    assert_int_equal(blame_init(&blame, &arena, VIEW("new\n"), 1, SIZE_MAX), ETHOS_OK);
    assert_int_equal(blame_step_texts(&blame, str_view(&old), VIEW("new\n"), 0), ETHOS_OK);
    assert_in_range(blame.lines[0].replaced_size, BLAME_REPLACED_BYTES - 3, BLAME_REPLACED_BYTES);
    assert_true(utf8_valid(blame_replaced(&blame, &blame.lines[0])));
    str_release(&old);
    blame_release(&blame);
    arena_release(&arena);
}

static void test_a_part_of_the_lines_is_as_in_the_whole(void **state)
{
    struct arena arena;
    struct blame blame;
    struct str diff;
    (void)state;
    arena_init(&arena);
    str_init(&diff, SIZE_MAX);
    diff_unified(VIEW("a\nb\nc\nd\n"), VIEW("x\na\nc\ny\nd\n"), "k", &diff);
    assert_int_equal(blame_init(&blame, &arena, VIEW("x\na\nc\ny\nd\n"), 3, 2), ETHOS_OK);
    assert_int_equal(blame.total, 5);
    assert_int_equal(blame.count, 2);
    assert_int_equal(blame_step(&blame, str_view(&diff), 1), ETHOS_OK);
    assert_true(blame.lines[0].change == BLAME_NOBODY);
    assert_int_equal(blame.run_count, 1);
    assert_int_equal(blame.runs[0].at, 3);
    assert_int_equal(blame.lines[1].change, 1);
    blame_release(&blame);
    assert_int_equal(blame_init(&blame, &arena, VIEW("a\n"), 9, 2), ETHOS_OK);
    assert_int_equal(blame.count, 0);
    str_release(&diff);
    blame_release(&blame);
    arena_release(&arena);
}

/* A file that grew by one entry after the other: what is not settled yet stays one run. */
static void test_a_step_costs_what_its_diff_holds(void **state)
{
    enum { ADDS = 300 };
    struct str texts[2], diffs[ADDS];
    struct arena arena;
    struct blame blame;
    (void)state;
    arena_init(&arena);
    str_init(&texts[0], SIZE_MAX);
    str_init(&texts[1], SIZE_MAX);
    for (size_t i = 0; i < ADDS; i++) {
        str_init(&diffs[i], SIZE_MAX);
        str_printf(&texts[1], "%sentry %zu\n", i ? "\n" : "", i);
        diff_unified(str_view(&texts[0]), str_view(&texts[1]), "k", &diffs[i]);
        str_clear(&texts[0]);
        str_add(&texts[0], str_view(&texts[1]));
    }
    assert_int_equal(blame_init(&blame, &arena, str_view(&texts[1]), 1, SIZE_MAX), ETHOS_OK);
    for (size_t i = ADDS; i-- > 0;) {
        assert_int_equal(blame_step(&blame, str_view(&diffs[i]), (uint32_t)i), ETHOS_OK);
        assert_int_equal(blame.run_count, i > 0);
        str_release(&diffs[i]);
    }
    assert_int_equal(blame.open, 0);
    str_release(&texts[0]);
    str_release(&texts[1]);
    blame_release(&blame);
    arena_release(&arena);
}

/* ---- against going forward ------------------------------------------------------------------ */

enum { LINES = 256, STEPS = 40 };

/* A text as letters, one line each, with the change that made each line. */
struct model {
    char letters[LINES];
    size_t owners[LINES];
    size_t count;
};

static unsigned long long seed = 7;

static size_t pick(size_t below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (size_t)(seed >> 33) % below;
}

static void print_model(const struct model *model, struct str *out)
{
    str_clear(out);
    for (size_t i = 0; i < model->count; i++)
        str_printf(out, "%c\n", model->letters[i]);
}

static void edit_model(struct model *model)
{
    for (size_t edits = 1 + pick(3); edits > 0; edits--) {
        size_t at = pick(model->count + 1), gone = pick(4), come = pick(5);
        if (gone > model->count - at)
            gone = model->count - at;
        if (model->count - gone + come > LINES)
            come = 0;
        memmove(model->letters + at + come, model->letters + at + gone, model->count - at - gone);
        for (size_t i = 0; i < come; i++)
            model->letters[at + i] = (char)('a' + pick(6));
        model->count = model->count - gone + come;
    }
}

/* Owners of the new lines by following the diff forward. */
static void carry_owners(const struct model *old, struct model *new, struct ethos_view diff,
                         size_t change)
{
    struct patch_hunk hunk;
    struct patch_line line;
    size_t from = 0, to = 0;
    while (diff.size > 0 && patch_next(&diff, &hunk) == ETHOS_OK) {
        size_t start = hunk.new_start - (hunk.new_count > 0);
        while (to < start)
            new->owners[to++] = old->owners[from++];
        while (patch_line(&hunk.lines, &line)) {
            if (line.marker == '-')
                from++;
            else
                new->owners[to++] = line.marker == '+' ? change : old->owners[from++];
        }
    }
    while (to < new->count)
        new->owners[to++] = old->owners[from++];
}

static void test_going_back_agrees_with_going_forward(void **state)
{
    struct str texts[STEPS], diffs[STEPS];
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct model old = {0}, new = {0};
        struct arena arena;
        struct blame blame;
        arena_init(&arena);
        for (size_t i = 0; i < STEPS; i++) {
            str_init(&texts[i], SIZE_MAX);
            str_init(&diffs[i], SIZE_MAX);
            new = old;
            edit_model(&new);
            print_model(&new, &texts[i]);
            diff_unified(i ? str_view(&texts[i - 1]) : VIEW(""), str_view(&texts[i]), "k",
                         &diffs[i]);
            carry_owners(&old, &new, str_view(&diffs[i]), i);
            old = new;
        }
        assert_int_equal(blame_init(&blame, &arena, str_view(&texts[STEPS - 1]), 1, SIZE_MAX),
                         ETHOS_OK);
        for (size_t i = STEPS; i-- > 0;)
            assert_int_equal(blame_step(&blame, str_view(&diffs[i]), (uint32_t)i), ETHOS_OK);
        assert_int_equal(blame.count, new.count);
        for (size_t i = 0; i < new.count; i++)
            assert_int_equal(blame.lines[i].change, new.owners[i]);
        blame_release(&blame);
        assert_int_equal(blame_init(&blame, &arena, str_view(&texts[STEPS - 1]), 1, SIZE_MAX),
                         ETHOS_OK);
        for (size_t i = STEPS; i-- > 0;)
            assert_int_equal(blame_step_texts(&blame, i ? str_view(&texts[i - 1]) : VIEW(""),
                                              str_view(&texts[i]), (uint32_t)i),
                             ETHOS_OK);
        for (size_t i = 0; i < new.count; i++)
            assert_int_equal(blame.lines[i].change, new.owners[i]);
        for (size_t i = 0; i < STEPS; i++) {
            str_release(&texts[i]);
            str_release(&diffs[i]);
        }
        blame_release(&blame);
        arena_release(&arena);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_go_back_to_the_change_that_made_them),
        cmocka_unit_test(test_a_text_of_no_lines_has_nothing_to_blame),
        cmocka_unit_test(test_what_no_step_settles_is_nobody_s),
        cmocka_unit_test(test_a_diff_that_is_none_or_was_cut_is_refused),
        cmocka_unit_test(test_a_line_replaced_the_one_in_its_place),
        cmocka_unit_test(test_what_lines_replaced_grows_as_the_text_does),
        cmocka_unit_test(test_what_one_line_replaced_is_cut),
        cmocka_unit_test(test_a_part_of_the_lines_is_as_in_the_whole),
        cmocka_unit_test(test_a_step_costs_what_its_diff_holds),
        cmocka_unit_test(test_going_back_agrees_with_going_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
