/*
 * test_shown_lines.c: what a conversation was shown of memory, and what it is told of changes.
 */
#include "core/agents/shown_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

/* What is told when one block became another; own and other: diffs of changes, or NULL. */
static int tell(const char *before, const char *after, const char *own, const char *other,
                struct str *out)
{
    struct shown_lines had = {0}, has = {0};
    struct arena arena;
    struct str gone;
    arena_init(&arena);
    str_init(&gone, SIZE_MAX);
    struct shown_past past = {.gone = &gone, .known = own || other};
    int code = shown_add(&had, &arena, view_str(before));
    if (code == ETHOS_OK)
        code = shown_add(&has, &arena, view_str(after));
    if (code == ETHOS_OK && own)
        code = shown_past_add(&past, &arena, view_str(own), true);
    if (code == ETHOS_OK && other)
        code = shown_past_add(&past, &arena, view_str(other), false);
    if (code == ETHOS_OK)
        code = shown_changes(&had, &has, view_str(after), &past, out);
    str_release(&gone);
    arena_release(&arena);
    return code;
}

#define TITLE "Memory has changed since it was shown in this conversation."

static void assert_told(const char *before, const char *after, const char *own, const char *other,
                        const char *expected)
{
    struct str out;
    str_init(&out, SIZE_MAX);
    assert_int_equal(tell(before, after, own, other, &out), ETHOS_OK);
    str_addc(&out, '\0');
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_changes(void **state)
{
    (void)state;
    assert_told("## A\n\none\ntwo", "## A\n\none\ntwo", NULL, NULL, "");
    assert_told("## A\n\none", "## A\n\ntwo  \n\none", NULL, NULL, TITLE "\n\n## A\n\ntwo  ");
    assert_told("## A\n\none", "## A\n\none\n\n## B\n\nx\ny", NULL, NULL, TITLE "\n\n## B\n\nx\ny");
    // only moved
    assert_told("one\ntwo", "two\n\none", NULL, NULL, "");
    // a file that is cut elsewhere
    assert_told("[...truncated: 9 earlier bytes]\none\ntwo",
                "[...truncated: 12 earlier bytes]\ntwo", NULL, "@@\n x\n", "");
    // nobody knows whether it is gone
    assert_told("one\ntwo", "two", NULL, NULL, "");
}

static void test_whose(void **state)
{
    (void)state;
    assert_told("one", "one\ntwo", "--- f\n+++ f\n@@ -1 +1 @@\n+two\n", NULL, "");
    assert_told("one\nold", "one", "@@ -1 +1 @@\n-old\n", NULL, "");
    assert_told("one\nold", "one", NULL, "--- f\n+++ f\n@@ -1 +1 @@\n-old\n-old\n",
                TITLE "\n\nNo longer in memory:\n\nold");
    assert_told("one\nold", "one", NULL, "--- f\n+++ f\n@@ -1 +1 @@\n x\n",
                TITLE "\n\n1 line shown before is no longer in memory.");
    assert_told("a\nb\nc", "d", "@@\n-a\n+d\n", "@@\n-b\n",
                TITLE
                "\n\nNo longer in memory:\n\nb\n\n1 line shown before is no longer in memory.");
    // what was never shown is not called gone
    assert_told("one", "one\ntwo", NULL, "@@\n-hidden\n", TITLE "\ntwo");
}

static void test_is_bounded(void **state)
{
    struct str after, out;
    (void)state;
    str_init(&after, SIZE_MAX);
    str_init(&out, SIZE_MAX);
    for (int i = 0; i < 1000; i++)
        str_printf(&after, "line %d\n", i);
    str_addc(&after, '\0');
    assert_int_equal(tell("", after.data, NULL, NULL, &out), ETHOS_OK);
    assert_true(out.size <= SHOWN_MAX_CHANGES);
    assert_true(view_ends(str_view(&out),
                          VIEW("\n[...more has changed: memory_read shows what is there]")));
    str_release(&after);
    str_release(&out);
}

static void test_file(void **state)
{
    static const char *const wrong[] = {"",
                                        "1",
                                        "1 2 3\n",
                                        "2 1 1 1 0\n",
                                        "1 2 3 1 0\nshort\n",
                                        "1 2 3 1 0\n0123456789abcdefsent\n",
                                        "1 2 3 1 0\n0123456789abcdeg\n"};
    struct shown made = {.size = 7, .seen = 9, .asked = true, .problem = 5}, read;
    struct arena arena;
    struct str text, again;
    (void)state;
    arena_init(&arena);
    str_init(&text, SIZE_MAX);
    str_init(&again, SIZE_MAX);
    assert_int_equal(shown_add(&made.lines, &arena, VIEW("one\ntwo\n\none\n## three")), ETHOS_OK);
    assert_int_equal(shown_add(&made.sent, &arena, VIEW("two")), ETHOS_OK);
    assert_int_equal(made.lines.count, 2);
    assert_int_equal(shown_print(&made, &text), ETHOS_OK);
    assert_true(shown_parse(str_view(&text), &arena, &read));
    assert_int_equal(read.size, 7);
    assert_int_equal(read.seen, 9);
    assert_int_equal(read.problem, 5);
    assert_true(read.asked && shown_same(&read.lines, &made.lines));
    assert_true(shown_has(&read.sent, VIEW("two ")) && !shown_has(&read.sent, VIEW("one")));
    assert_int_equal(shown_print(&read, &again), ETHOS_OK);
    assert_true(view_eq(str_view(&text), str_view(&again)));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(shown_parse(view_str(wrong[i]), &arena, &read));
    str_release(&text);
    str_release(&again);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_whose),
        cmocka_unit_test(test_is_bounded),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
