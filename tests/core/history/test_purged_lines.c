/*
 * test_purged_lines.c: where lines stood that a purge took out, and whether an edit puts lines there.
 */
#include "core/history/purged_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/external_edit.h"
#include "core/memory/forget_text.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define NOW 1000000000

static void assert_places(const char *before, const char *after, const char *known,
                          const char *expected)
{
    struct forget forget;
    struct arena arena;
    struct ethos_view places;
    const struct ethos_match match = {.text = VIEW("PIN")};
    arena_init(&arena);
    assert_int_equal(forget_init(&forget, &match, NULL), ETHOS_OK);
    assert_int_equal(
        places_make(&forget, view_str(before), view_str(after), view_str(known), &arena, &places),
        ETHOS_OK);
    if (!view_eq_str(places, expected ? expected : "") || !places.data != !expected)
        fail_msg("%.*s, not %s", VIEW_ARG(places), expected);
    arena_release(&arena);
}

static void test_places_are_those_of_lines_that_went(void **state)
{
    struct str many, left;
    (void)state;
    assert_places("a\nPIN 1\nb\n", "a\nb\n", NULL, "1");
    assert_places("a\nb\n\nPIN 1\n", "a\nb\n", NULL, "2");
    assert_places("PIN 1\na\nPIN 2\nb\n", "a\nb\n", NULL, "0,1");
    assert_places("a\nPIN 1\nb\n", "a\nx\nb\n", NULL, "1+1");
    assert_places("a\nb\n", "a\n", NULL, NULL);
    assert_places("a\nb\n", "a\nb\n", "1", "1"); // another text is purged, of which nothing is here
    assert_places("PIN 1\na\nb\n", "PIN 1\na\nb\n", "2,3+1", "1,2+1");
    assert_places("a\nb\n", "a\nb\n", "*", "*");
    assert_places("a\nb\n", "a\nb\n", "1;2", "*");
    str_init(&many, 4096);
    str_init(&left, 4096);
    for (int i = 0; i < PLACES_MAX + 1; i++) {
        str_printf(&many, "%d\nPIN\n", i);
        str_printf(&left, "%d\n", i);
    }
    assert_places(many.data, left.data, NULL, "*");
    str_release(&many);
    str_release(&left);
}

static bool is_in(void *arg, struct ethos_view line)
{
    struct ethos_view rest = view_str(arg), own;
    while (view_line(&rest, &own))
        if (view_eq(own, line))
            return true;
    return false;
}

/* The text that a purge with these places left, what is recorded now, what stands there. */
static bool returns(const char *places, const char *text, const char *now)
{
    struct arena arena;
    struct history history;
    struct str lines;
    bool out = false;
    struct history_record record = {.ts_ms = NOW - 1000,
                                    .scope = VIEW("global"),
                                    .key = VIEW("MEMORY.md"),
                                    .source = VIEW("tool"),
                                    .actions = VIEW("remove"),
                                    .via = VIEW("purge"),
                                    .places = view_str(places),
                                    .seq = 1};
    arena_init(&arena);
    str_init(&lines, 65536);
    history_init(&history, &arena);
    assert_int_equal(history_describe(view_str(text), view_str(text), &arena, &record), ETHOS_OK);
    assert_int_equal(history_print(&record, &lines), ETHOS_OK);
    assert_int_equal(history_collect(&history, str_view(&lines), NULL), ETHOS_OK);
    assert_int_equal(history.count, 1);
    const struct verdict_case facts = {
        .history = &history, .last = view_str(text), .now = view_str(now), .now_ms = NOW};
    assert_int_equal(places_returned(&facts, is_in, (void *)text, &out), ETHOS_OK);
    str_release(&lines);
    arena_release(&arena);
    return out;
}

static void test_only_lines_at_a_place_may_be_those_that_went(void **state)
{
    static const struct {
        const char *places, *text, *now;
        bool returned;
    } rows[] = {
        {"1", "a\nb\nc\n", "a\nPIN\nb\nc\n", true},
        {"1", "a\nb\nc\n", "a\nb\nc\nd\n", false},
        {"1", "a\nb\nc\n", "new\na\nb\nc\n", false},
        {"1", "a\nb\nc\n", "a\nb2\nc\n", false}, // a line beside it was changed
        {"1", "a\nb\nc\n", "a\nPIN\nb2\nc\n", true},
        {"1", "a\nb\nc\n", "a2\nb\nc\n", false},
        {"1", "a\nb\nc\n", "a\nc\n", false},
        {"1", "a\nb\nc\n", "a\n\nb\nc\n", false},
        {"2", "a\n\n\nb\n", "a\n\nPIN\n\nb\n", true}, // blank lines stayed
        {"3", "a\n\n\nb\n", "a\n\nPIN\n\nb\n", true},
        {"2", "a\n\nb\n", "a\nx\n\nb\n", true},
        {"1", "a\n", "a\n\nPIN\n", true},
        {"1", "a\n", "a\nanything at the end\n", true}, // what went was there
        {"*", "a\nb\n", "a\nb\nc\n", true},
        {NULL, "a\nb\n", "a\nb\nc\n", true},
        {NULL, "a\nb\n", "b\n", false},
        {"0+1", "- [note-1](note-1.md)\n- [Plan](plan.md)\n",
         "- [PIN](pin.md)\n- [Plan](plan.md)\n", true},
        {"0+1", "- [note-1](note-1.md)\n- [Plan](plan.md)\n",
         "- [The vault](note-1.md)\n- [Plan](plan.md)\n", false},
        {"0+1", "- [note-1](note-1.md)\n- [Plan](plan.md)\n",
         "- [note-1](note-1.md)\n- [My plan](plan.md)\n", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (returns(rows[i].places, rows[i].text, rows[i].now) != rows[i].returned)
            fail_msg("row %zu: %s", i, rows[i].now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_are_those_of_lines_that_went),
        cmocka_unit_test(test_only_lines_at_a_place_may_be_those_that_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
