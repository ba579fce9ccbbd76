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
#include "base/view.h"
#include "core/blame.h"
#include "core/diff.h"
#include "core/patch.h"

/* Blames the last of the texts; change i made text i. Lines as "0a 1b": change and text. */
static void assert_blame(const char *const *texts, size_t count, const char *expected)
{
    struct arena arena;
    struct blame blame;
    struct str told, diff;
    arena_init(&arena);
    str_init(&told, SIZE_MAX);
    str_init(&diff, SIZE_MAX);
    assert_int_equal(blame_init(&blame, &arena, view_str(texts[count - 1])), ETHOS_OK);
    for (size_t i = count; i-- > 0;) {
        str_clear(&diff);
        diff_unified(view_str(i ? texts[i - 1] : NULL), view_str(texts[i]), "k", &diff);
        assert_int_equal(blame_step(&blame, str_view(&diff), i), ETHOS_OK);
    }
    assert_int_equal(blame.open, 0);
    for (size_t i = 0; i < blame.count; i++)
        str_printf(&told, "%s%zu%.*s", i ? " " : "", blame.lines[i].change,
                   VIEW_ARG(blame.lines[i].text));
    assert_string_equal(told.data, expected);
    str_release(&told);
    str_release(&diff);
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
    assert_int_equal(blame_init(&blame, &arena, VIEW("")), ETHOS_OK);
    assert_int_equal(blame.count, 0);
    assert_int_equal(blame_step(&blame, VIEW(""), 0), ETHOS_OK);
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
    assert_int_equal(blame_init(&blame, &arena, VIEW("a\nB\n")), ETHOS_OK);
    assert_int_equal(blame_step(&blame, str_view(&diff), 5), ETHOS_OK);
    assert_int_equal(blame.open, 1);
    assert_true(blame.lines[0].change == BLAME_NOBODY);
    assert_null(blame.lines[0].replaced.data);
    assert_int_equal(blame.lines[1].change, 5);
    assert_true(view_eq(blame.lines[1].replaced, VIEW("b\n")));
    str_release(&diff);
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
        assert_int_equal(blame_init(&blame, &arena, VIEW("a\nb\n")), ETHOS_OK);
        assert_int_equal(blame_step(&blame, view_str(bad[i]), 0), ETHOS_INVALID);
        arena_release(&arena);
    }
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
        assert_int_equal(blame_init(&blame, &arena, str_view(&texts[STEPS - 1])), ETHOS_OK);
        for (size_t i = STEPS; i-- > 0;)
            assert_int_equal(blame_step(&blame, str_view(&diffs[i]), i), ETHOS_OK);
        assert_int_equal(blame.count, new.count);
        for (size_t i = 0; i < new.count; i++)
            assert_int_equal(blame.lines[i].change, new.owners[i]);
        for (size_t i = 0; i < STEPS; i++) {
            str_release(&texts[i]);
            str_release(&diffs[i]);
        }
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
        cmocka_unit_test(test_going_back_agrees_with_going_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
