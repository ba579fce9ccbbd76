/*
 * test_verdict.c: what an outside edit meant.
 */
#include "core/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/update.h"

#define CEILING ((size_t)1 << 26)
#define NOW 1000000000

/* A file and its history. */
struct world {
    struct arena arena;
    struct str lines;
    struct ethos_view text; /* after the last record; in the arena */
    uint64_t seq;
    int64_t ts;
};

static void setup(struct world *w, const char *first)
{
    *w = (struct world){.text = view_str(first), .ts = NOW - 1000};
    arena_init(&w->arena);
    str_init(&w->lines, CEILING);
}

static void teardown(struct world *w)
{
    arena_release(&w->arena);
    str_release(&w->lines);
}

/* Records that the text became another one; txn is "<id>", or NULL for a line of its own. */
static void record(struct world *w, const char *actions, struct ethos_view text, const char *txn)
{
    struct history_record r = {.ts_ms = w->ts,
                               .scope = VIEW("global"),
                               .key = VIEW("MEMORY.md"),
                               .source = VIEW("tool"),
                               .actions = view_str(actions),
                               .txn_id = view_str(txn),
                               .txn_index = 1,
                               .txn_count = 1,
                               .seq = ++w->seq};

    assert_int_equal(history_describe(w->text, text, &w->arena, &r), ETHOS_OK);
    history_print(&r, &w->lines);
    w->text = text;
}

static void becomes(struct world *w, const char *actions, const char *text)
{
    record(w, actions, view_str(text), NULL);
}

static void add_in(struct world *w, const char *content, const char *txn)
{
    struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = view_str(content)};
    struct update_effect effect;
    struct str out;

    str_init(&out, CEILING);
    assert_int_equal(update_apply(&update, 1, w->text, &out, &effect), ETHOS_OK);
    record(w, "add", view_of(arena_copy(&w->arena, str_view(&out)), out.size), txn);
    str_release(&out);
}

static void add(struct world *w, const char *content)
{
    add_in(w, content, NULL);
}

static void take_back(struct world *w, uint64_t first, uint64_t last, const char *text)
{
    struct history_record r = {.ts_ms = w->ts,
                               .scope = VIEW("global"),
                               .key = VIEW("MEMORY.md"),
                               .source = VIEW("restore"),
                               .actions = VIEW("restore"),
                               .voids_first = first,
                               .voids_last = last,
                               .seq = ++w->seq};

    history_describe(w->text, view_str(text), &w->arena, &r);
    history_print(&r, &w->lines);
    w->text = view_str(text);
}

static struct verdict_finding judge_view(struct world *w, struct ethos_view now, bool before_boot)
{
    struct history history;
    struct verdict_finding finding;
    struct verdict_case facts = {.history = &history,
                                 .last = w->text,
                                 .now = now,
                                 .before_boot = before_boot,
                                 .now_ms = NOW};

    history_init(&history, &w->arena);
    assert_int_equal(history_collect(&history, str_view(&w->lines), "MEMORY.md"), ETHOS_OK);
    assert_int_equal(history.skipped, 0);
    assert_int_equal(verdict_judge(&facts, &finding), ETHOS_OK);
    return finding;
}

static struct verdict_finding judge(struct world *w, const char *now)
{
    return judge_view(w, view_str(now), false);
}

static void assert_entries(const struct verdict_finding *f, const char *first, const char *second)
{
    assert_int_equal(f->verdict, VERDICT_REAPPLY);
    assert_int_equal(f->count, 1 + (second != NULL));
    assert_true(view_eq_str(f->entries[0], first));
    if (second)
        assert_true(view_eq_str(f->entries[1], second));
}

static void assert_honoured(const struct verdict_finding *f, bool dropped)
{
    assert_int_equal(f->verdict, VERDICT_HONOUR);
    assert_int_equal(f->count, 0);
    assert_int_equal(f->voids_first, 0);
    assert_int_equal(f->dropped, dropped);
}

static void assert_reverted(const struct verdict_finding *f, uint64_t first, uint64_t last,
                            bool dropped)
{
    assert_int_equal(f->verdict, VERDICT_REVERT);
    assert_int_equal(f->voids_first, first);
    assert_int_equal(f->voids_last, last);
    assert_int_equal(f->dropped, dropped);
    assert_int_equal(f->count, 0);
}

/* ---- (a) ----------------------------------------------------------------------------------- */

static void test_an_older_version_is_honoured(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two");
    add(&w, "three");
    f = judge(&w, "first\n");
    assert_reverted(&f, 0, 0, true);
    f = judge(&w, "first\n\none\n");
    assert_reverted(&f, 0, 0, true);
    teardown(&w);
}

static void test_the_text_before_the_newest_append_takes_it_back(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two");
    f = judge(&w, "first\n\none\n");
    assert_reverted(&f, 2, 2, true);
    teardown(&w);

    setup(&w, "first\n");
    add(&w, "one");
    add_in(&w, "two", "t");
    add_in(&w, "three", "t");
    f = judge(&w, "first\n\none\n");
    assert_reverted(&f, 2, 3, true);
    f = judge(&w, "first\n\none\n\ntwo\n"); // in the middle of an append
    assert_reverted(&f, 0, 0, true);
    teardown(&w);
}

static void test_an_outside_edit_that_opens_an_append_stays(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    record(&w, "external", VIEW("edited\n"), "t");
    add_in(&w, "one", "t");
    f = judge(&w, "edited\n");
    assert_reverted(&f, 2, 2, true);
    f = judge(&w, "first\n");
    assert_reverted(&f, 0, 0, true);
    teardown(&w);

    setup(&w, "first\n");
    becomes(&w, "external", "edited\n");
    f = judge(&w, "first\n");
    assert_reverted(&f, 0, 0, false);
    teardown(&w);
}

static void test_a_void_is_not_taken_back(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two");
    take_back(&w, 2, 2, "first\n\none\n");
    f = judge(&w, "first\n\none\n\ntwo\n"); // voided: no version
    assert_honoured(&f, false);
    f = judge(&w, "first\n");
    assert_reverted(&f, 0, 0, true);
    teardown(&w);
}

static void test_absent_and_empty_differ(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, NULL);
    add(&w, "one");
    f = judge(&w, NULL);
    assert_reverted(&f, 1, 1, true);
    f = judge(&w, "");
    assert_honoured(&f, true);
    teardown(&w);

    setup(&w, "");
    add(&w, "one");
    f = judge(&w, "");
    assert_reverted(&f, 1, 1, true);
    f = judge(&w, NULL);
    assert_honoured(&f, true);
    teardown(&w);
}

static void test_a_line_of_others_is_never_taken_back(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    w.seq = (uint64_t)-1; // the next is 0
    add(&w, "one");
    f = judge(&w, "first\n");
    assert_reverted(&f, 0, 0, false);
    teardown(&w);
}

/* ---- (b) ----------------------------------------------------------------------------------- */

static void test_adds_a_stale_buffer_lacks_are_appended_again(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two\nsecond line");
    add(&w, "three\n\nafter a gap");
    f = judge(&w, "first\n\none\nmine\n");
    assert_entries(&f, "two\nsecond line", "three\n\nafter a gap");
    assert_false(f.dropped);
    teardown(&w);
}

static void test_a_line_of_the_first_version_shows_a_stale_buffer_too(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "# Title\n\na line far from the end\n\n1\n2\n3\n4\n5\n6\n");
    add(&w, "one");
    f = judge(&w, "a line far from the end\nmine\n");
    assert_entries(&f, "one", NULL);
    f = judge(&w, "all new\n\n");
    assert_honoured(&f, true);
    teardown(&w);

    setup(&w, NULL); // began absent: nothing to hold on to
    add(&w, "one");
    becomes(&w, "external", "one\nhuman\n");
    add(&w, "two");
    f = judge(&w, "human\nmore\n");
    assert_honoured(&f, true);
    teardown(&w);
}

static void test_what_was_taken_out_on_purpose_stays_out(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two");
    add(&w, "three");
    f = judge(&w, "first\n\none\n\nthree\n"); // the newest stands
    assert_honoured(&f, true);
    f = judge(&w, "first\n\ntwo\n\nmine\n"); // three is new to the editor, one is not
    assert_entries(&f, "three", NULL);
    assert_true(f.dropped);
    becomes(&w, "remove", "first\n\none\n\ntwo\n");
    f = judge(&w, "first\n\none\n\ntwo\n\nmine\n"); // three is not in the last text
    assert_honoured(&f, false);
    teardown(&w);
}

static void test_an_edit_that_keeps_all_entries_drops_nothing(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    add(&w, "two");
    f = judge(&w, "FIRST\n\none\n\ntwo\n\nmine\n");
    assert_honoured(&f, false);
    f = judge(&w, "first\r\n\r\none\r\n\r\ntwo\r\n"); // only the line ends
    assert_honoured(&f, false);
    f = judge(&w, "first\n\none more\n\ntwo\n"); // whole lines count
    assert_honoured(&f, true);
    teardown(&w);
}

static void test_an_entry_is_appended_once_though_recorded_twice(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    becomes(&w, "external", "first\nmine\n");
    add(&w, "one"); // again
    f = judge(&w, "first\nmine\nmore\n");
    assert_entries(&f, "one", NULL);
    assert_false(f.dropped);
    teardown(&w);

    setup(&w, "first\n"); // the same text really stood there twice
    add(&w, "one");
    add(&w, "one");
    f = judge(&w, "first\nmore\n");
    assert_entries(&f, "one", "one");
    f = judge(&w, "first\n\none\nmore\n");
    assert_entries(&f, "one", NULL);
    teardown(&w);
}

static void test_old_adds_are_not_appended_again(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    w.ts = NOW - VERDICT_REAPPLY_MS - 1;
    add(&w, "one");
    f = judge(&w, "first\nmine\n");
    assert_honoured(&f, true);
    w.ts = NOW - VERDICT_REAPPLY_MS;
    add(&w, "two");
    f = judge(&w, "first\nmine\n");
    assert_entries(&f, "two", NULL);
    assert_true(f.dropped);
    teardown(&w);
}

static void test_only_adds_of_ours_count(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    becomes(&w, "add,remove", "first\n\none\n");
    becomes(&w, "replace", "first\n\none\n\ntwo\n");
    becomes(&w, "external", "first\n\none\n\ntwo\n\nthree\n");
    f = judge(&w, "first\nmine\n");
    assert_honoured(&f, false);
    becomes(&w, "add,add", "first\n\none\n\ntwo\n\nthree\n\nfour\n\nfive\n");
    f = judge(&w, "first\nmine\n");
    assert_entries(&f, "four\n\nfive", NULL);
    teardown(&w);
}

static void test_the_line_an_add_only_ended_is_not_part_of_it(void **state)
{
    static const char *const firsts[] = {"head\nlast", "head\nlast  \n\n\n", "head\r\nlast\r\n"};
    struct world w;
    struct verdict_finding f;

    (void)state;
    for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
        setup(&w, firsts[i]);
        add(&w, "one\n\ntwo");
        f = judge(&w, "head\nlast\nmine\n");
        assert_entries(&f, "one\n\ntwo", NULL);
        teardown(&w);
    }
}

static void test_an_add_too_long_for_its_line_is_not_judged(void **state)
{
    struct world w;
    struct verdict_finding f;
    struct str text;

    (void)state;
    str_init(&text, CEILING);
    for (int i = 0; i < 1000; i++)
        str_printf(&text, "line %d\n", i);
    setup(&w, "first\n");
    add(&w, text.data);
    f = judge(&w, "first\nmine\n");
    assert_honoured(&f, false);
    add(&w, "one");
    f = judge(&w, "first\nmine\n");
    assert_entries(&f, "one", NULL);
    teardown(&w);
    str_release(&text);
}

/* ---- (d) ----------------------------------------------------------------------------------- */

static void test_damage_from_before_the_boot_is_undone(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one");
    f = judge_view(&w, VIEW(""), true);
    assert_int_equal(f.verdict, VERDICT_RESTORE);
    assert_false(f.dropped);
    f = judge_view(&w, VIEW("first\n\0\0\0"), true);
    assert_int_equal(f.verdict, VERDICT_RESTORE);
    f = judge_view(&w, VIEW("first\n\0\0\0"), false);
    assert_int_not_equal(f.verdict, VERDICT_RESTORE);
    f = judge_view(&w, VIEW(""), false);
    assert_honoured(&f, true);
    f = judge_view(&w, view_str(NULL), true); // removed, not damaged
    assert_honoured(&f, true);
    f = judge_view(&w, VIEW("first\nmine\n"), true);
    assert_entries(&f, "one", NULL);
    record(&w, "external", VIEW("a\0b"), NULL);
    f = judge_view(&w, VIEW("\0"), true); // NUL was there before
    assert_honoured(&f, false);
    teardown(&w);
}

/* ---- one entry ----------------------------------------------------------------------------- */

static void test_a_text_holds_what_a_record_added(void **state)
{
    struct world w;
    struct history history;

    (void)state;
    setup(&w, "first\n");
    add(&w, "one\n\nmore");
    becomes(&w, "external", "first\n\none\n\nmore\n\ntwo\n");
    history_init(&history, &w.arena);
    history_collect(&history, str_view(&w.lines), "MEMORY.md");
    assert_int_equal(verdict_count(&history.records[0], VIEW("x\none\n\nmore\ny"), &w.arena), 1);
    assert_int_equal(verdict_count(&history.records[0], VIEW("one\nmore\n"), &w.arena), 0);
    assert_int_equal(verdict_count(&history.records[0], VIEW("one\n\nmore of it\n"), &w.arena), 0);
    assert_int_equal(verdict_count(&history.records[0], view_str(NULL), &w.arena), 0);
    assert_int_equal(verdict_count(&history.records[1], VIEW("two\n"), &w.arena), 0); // no add
    teardown(&w);
}

/* ---- no memory ----------------------------------------------------------------------------- */

static void test_no_memory_is_told(void **state)
{
    struct world w;
    struct str now;
    int code = ETHOS_NOMEM;

    (void)state;
    setup(&w, "first\n");
    str_init(&now, CEILING);
    for (int i = 0; i < 100; i++)
        add(&w, i % 2 ? "one\nmore" : "two");
    str_adds(&now, "first\n");
    for (int i = 0; i < 1000; i++)
        str_adds(&now, "mine\n");
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct history history;
        struct verdict_finding f;
        struct verdict_case facts = {
            .history = &history, .last = w.text, .now = str_view(&now), .now_ms = NOW};
        struct arena arena;

        arena_init(&arena);
        history_init(&history, &arena);
        code = history_collect(&history, str_view(&w.lines), "MEMORY.md");
        if (!code)
            code = verdict_judge(&facts, &f);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        if (!code)
            assert_int_equal(f.count, 100);
        arena_release(&arena);
    }
    str_release(&now);
    teardown(&w);
}

static void test_an_entry_that_was_corrected_is_not_appended_again(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "Deploys happen on Friday");
    add(&w, "The cat is called Mimi");
    f = judge(&w, "first\n\nDeploys happen on Friday\n\nThe cat is called Momo\n");
    assert_int_equal(f.verdict, VERDICT_HONOUR);
    assert_true(f.dropped); // and listed
    f = judge(&w, "first\n\nDeploys happen on Friday\n\n");
    assert_int_equal(f.verdict, VERDICT_REVERT); // a blank line more than that version
    teardown(&w);
}

static void test_a_line_of_an_index_is_the_same_while_it_names_the_note(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "- [A](a.md) - one\n");
    add(&w, "- [B](b.md) - two");
    f = judge(&w, "- [A](a.md) - one\n- [Another title](b.md) - quite other words\n");
    assert_int_equal(f.verdict, VERDICT_HONOUR);
    f = judge(&w, "- [A](a.md) - one\n- [Another title](c.md) - quite other words\n");
    assert_int_equal(f.verdict, VERDICT_REAPPLY);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_older_version_is_honoured),
        cmocka_unit_test(test_the_text_before_the_newest_append_takes_it_back),
        cmocka_unit_test(test_an_outside_edit_that_opens_an_append_stays),
        cmocka_unit_test(test_a_void_is_not_taken_back),
        cmocka_unit_test(test_absent_and_empty_differ),
        cmocka_unit_test(test_a_line_of_others_is_never_taken_back),
        cmocka_unit_test(test_adds_a_stale_buffer_lacks_are_appended_again),
        cmocka_unit_test(test_a_line_of_the_first_version_shows_a_stale_buffer_too),
        cmocka_unit_test(test_what_was_taken_out_on_purpose_stays_out),
        cmocka_unit_test(test_an_edit_that_keeps_all_entries_drops_nothing),
        cmocka_unit_test(test_an_entry_is_appended_once_though_recorded_twice),
        cmocka_unit_test(test_old_adds_are_not_appended_again),
        cmocka_unit_test(test_only_adds_of_ours_count),
        cmocka_unit_test(test_the_line_an_add_only_ended_is_not_part_of_it),
        cmocka_unit_test(test_an_add_too_long_for_its_line_is_not_judged),
        cmocka_unit_test(test_damage_from_before_the_boot_is_undone),
        cmocka_unit_test(test_a_text_holds_what_a_record_added),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_an_entry_that_was_corrected_is_not_appended_again),
        cmocka_unit_test(test_a_line_of_an_index_is_the_same_while_it_names_the_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
