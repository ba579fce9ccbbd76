/*
 * test_external_edit.c: what an outside edit meant.
 */
#include "core/history/external_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"

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

static int no_blob(void *arg, const char *hex, struct str *out)
{
    (void)arg, (void)hex, (void)out;
    return ETHOS_NOTFOUND;
}

/* Versions are rebuilt by patches from the last one, which is known. */
static int give_last(void *arg, const char *hex, struct str *out)
{
    const struct world *w = arg;
    char revision[ETHOS_REVISION_SIZE];

    hash_revision(w->text, revision);
    if (strcmp(revision + sizeof("sha256:") - 1, hex) != 0)
        return no_blob(arg, hex, out);
    str_clear(out);
    return str_add(out, w->text);
}

struct versions {
    struct world *world;
    const struct history *history;
    unsigned reads; /* texts that were asked for */
};

static int read_version(void *arg, size_t index, bool before, struct str *out)
{
    struct versions *versions = arg;

    versions->reads++;
    return history_rebuild(versions->history, index, before, give_last, versions->world, out);
}

static struct verdict_finding judge_view(struct world *w, struct ethos_view now, bool before_boot)
{
    struct history history;
    struct versions versions = {w, &history, 0};
    struct verdict_finding finding;
    struct verdict_case facts = {.history = &history,
                                 .last = w->text,
                                 .now = now,
                                 .before_boot = before_boot,
                                 .now_ms = NOW,
                                 .text = read_version,
                                 .arg = &versions};

    history_init(&history, &w->arena);
    assert_int_equal(history_collect(&history, str_view(&w->lines), "MEMORY.md"), ETHOS_OK);
    assert_int_equal(history.skipped, 0);
    assert_int_equal(edit_verdict_find(&facts, &finding), ETHOS_OK);
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

static void assert_merged(const struct verdict_finding *f, const char *text, unsigned conflicts,
                          bool dropped)
{
    assert_int_equal(f->verdict, VERDICT_MERGE);
    assert_int_equal(f->merged.size, strlen(text));
    assert_memory_equal(f->merged.data, text, strlen(text));
    assert_int_equal(f->conflicts, conflicts);
    assert_int_equal(f->dropped, dropped);
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

    setup(&w, NULL); // began absent: nothing to hold on to, but the version before is the nearest
    add(&w, "one");
    becomes(&w, "external", "one\nhuman\n");
    add(&w, "two");
    f = judge(&w, "human\nmore\n");
    assert_merged(&f, "human\nmore\n\ntwo\n", 0, false); // one was taken out by who had read it
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
    assert_honoured(&f, false);
    f = judge(&w, "first\n\ntwo\n\nmine\n"); // three is new to the editor, one is not
    assert_entries(&f, "three", NULL);
    assert_false(f.dropped);
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
    f = judge(&w, "first\n\none more\n\ntwo\n"); // what is newer stands: it was meant
    assert_honoured(&f, false);
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
    f = judge(&w, "first\nmine\n"); // what is missing are no adds: not appended, but merged
    assert_merged(&f, "first\nmine\n\none\n\ntwo\n\nthree\n", 0, false);
    becomes(&w, "add,add", "first\n\none\n\ntwo\n\nthree\n\nfour\n\nfive\n");
    f = judge(&w, "first\nmine\n\none\n\ntwo\n\nthree\n");
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

static void test_an_add_too_long_for_its_line_is_listed(void **state)
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
    assert_honoured(&f, true); // which lines it put in is not known
    add(&w, "one");
    f = judge(&w, "first\nmine\n");
    assert_entries(&f, "one", NULL);
    teardown(&w);
    str_release(&text);
}

/* ---- (c) ----------------------------------------------------------------------------------- */

#define LINES "a line\nb line\nc line\nd line\ne line\n"

static void test_a_stale_buffer_is_merged_with_what_was_replaced_since(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "replace", "a line\nB\nc line\nd line\ne line\n");
    f = judge(&w, "a line\nb line\nc line\nd line\ne line\nmine\n");
    assert_merged(&f, "a line\nB\nc line\nd line\ne line\nmine\n", 0, false);
    f = judge(&w, "a line\nb line\nc line\nD\ne line\n");
    assert_merged(&f, "a line\nB\nc line\nD\ne line\n", 0, false);
    f = judge(&w, "a line\nB\nc line\nD\ne line\n"); // has it: an ordinary edit
    assert_honoured(&f, false);
    f = judge(&w, LINES); // without an edit: an older version
    assert_reverted(&f, 1, 1, true);
    add(&w, "one");
    f = judge(&w, "a line\nb line\nc line\nD\ne line\n");
    assert_merged(&f, "a line\nB\nc line\nD\ne line\n\none\n", 0, false);
    f = judge(&w, "something else\n"); // written anew: nothing to merge with
    assert_honoured(&f, true);
    teardown(&w);
}

static void test_a_stale_buffer_is_merged_with_what_was_removed_since(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "remove", "a line\nc line\nd line\ne line\n");
    becomes(&w, "restore", "a line\nc line\ne line\n");
    f = judge(&w, "A\nb line\nc line\nd line\ne line\n");
    assert_merged(&f, "A\nc line\ne line\n", 0, false);
    teardown(&w);
}

static void test_what_both_changed_is_a_conflict_or_listed(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "replace", "a line\nof ours\nc line\nd line\ne line\n");
    f = judge(&w, "a line\nthe person's\nc line\nd line\ne line\n"); // from either
    assert_honoured(&f, true);
    becomes(&w, "replace", "a line\nof ours\nC\nd line\ne line\n");
    f = judge(&w, "a line\nthe person's\nc line\nd line\ne line\n"); // from the first or second,
    assert_honoured(&f, true);                                       // with different results
    teardown(&w);

    setup(&w, LINES);
    becomes(&w, "replace", "a line\nof ours\nc line\nd line\nE\n");
    f = judge(&w, "a line\nof them\nc line\nd line\ne line\n");
    assert_merged(&f, "a line\nof them\nc line\nd line\nE\n", 1, true);
    teardown(&w);
}

static void test_a_correction_of_what_was_written_is_no_stale_buffer(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "replace", LINES "the server runs on port 80\n");
    f = judge(&w, LINES "the server runs on port 8080\n");
    assert_honoured(&f, true);
    f = judge(&w, LINES "nothing of the kind\n"); // an entry of one's own, beside that one
    assert_merged(&f, LINES "nothing of the kind\nthe server runs on port 80\n", 0, false);
    teardown(&w);
}

/* From the version with that line, which was replaced, or from the one before it, with a line more. */
static void test_a_stale_buffer_that_replaces_the_newest_line_does_not_get_it_back(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, NULL);
    add(&w, "alpha fact");
    add(&w, "beta fact");
    add(&w, "gamma fact");
    becomes(&w, "remove", "beta fact\n\ngamma fact\n");
    f = judge(&w, "alpha fact\n\nbeta fact\n\nGAMMA is another matter\n");
    assert_honoured(&f, true);
    f = judge(&w,
              "a title\nalpha fact\n\nbeta fact\n"); // from the second: not in the place of gamma
    assert_merged(&f, "a title\n\nbeta fact\n\ngamma fact\n", 0, false);
    f = judge(&w, "alpha fact\n\nBETA is another matter\n\ngamma fact\n"); // from one alone
    assert_merged(&f, "BETA is another matter\n\ngamma fact\n", 0, false);
    teardown(&w);
}

/* Nothing stands that is older than the add and not from the write: the versions tell. */
static void test_a_stale_buffer_that_lacks_only_adds_is_merged_without_an_anchor(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, NULL);
    becomes(&w, "replace", LINES);
    add(&w, "one");
    f = judge(&w, "a line\nB\nc line\nd line\ne line\n");
    assert_merged(&f, "a line\nB\nc line\nd line\ne line\n\none\n", 0, false);
    f = judge(&w, LINES); // the newest was taken out
    assert_reverted(&f, 2, 2, true);
    f = judge(&w, "a line\nc line\nd line\ne line\n\none\n"); // an ordinary edit
    assert_honoured(&f, false);
    f = judge(&w, "quite\nanother\n");
    assert_honoured(&f, true);
    teardown(&w);
}

static void test_edits_between_outside_edits_are_honoured(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "external", "a line\nB\nc line\nd line\ne line\n");
    f = judge(&w, "a line\nb line\nc line\nD\ne line\n"); // people among themselves
    assert_honoured(&f, false);
    teardown(&w);
}

static void test_a_file_that_was_deleted_and_comes_back_is_listed(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    record(&w, "delete", (struct ethos_view){0}, NULL);
    f = judge(&w, LINES "mine\n");
    assert_honoured(&f, true);
    f = judge(&w, LINES);
    assert_int_equal(f.verdict, VERDICT_REVERT);
    assert_true(f.dropped);
    teardown(&w);
}

static void test_versions_of_more_than_seven_days_ago_are_no_base(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    w.ts = NOW - MERGE_BASE_MS - 1;
    becomes(&w, "replace", "a line\nB\nc line\nd line\ne line\n");
    f = judge(&w, "a line\nb line\nc line\nD\ne line\n");
    assert_honoured(&f, false);
    teardown(&w);
}

/* A machine that started with the time of years ago: the order of the lines counts. */
static void test_a_line_with_a_wrong_time_does_not_end_the_search(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "replace", "a line\nB\nc line\nd line\ne line\n");
    w.ts = 1000;
    becomes(&w, "replace", "a line\nB\nC\nd line\ne line\n");
    w.ts = NOW - 500;
    f = judge(&w, "a line\nb line\nc line\nd line\ne line\nmine\n");
    assert_merged(&f, "a line\nB\nC\nd line\ne line\nmine\n", 0, false);
    teardown(&w);
}

/* The search follows the diffs: a base among a thousand versions costs no more texts than one. */
static void test_the_search_reads_no_text_of_versions_it_passes(void **state)
{
    struct world w;
    struct verdict_finding f;
    struct history history;
    struct versions versions = {&w, &history, 0};
    char text[128];

    (void)state;
    setup(&w, LINES);
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof(text), "a line\nb line %d\nc line\nd line\ne line\n", i);
        record(&w, "replace", view_str(arena_str(&w.arena, text)), NULL);
    }
    history_init(&history, &w.arena);
    assert_int_equal(history_collect(&history, str_view(&w.lines), "MEMORY.md"), ETHOS_OK);
    struct verdict_case facts = {.history = &history,
                                 .last = w.text,
                                 .now = VIEW("a line\nb line 250\nc line\nD\ne line\n"),
                                 .now_ms = NOW,
                                 .text = read_version,
                                 .arg = &versions};
    assert_int_equal(edit_verdict_find(&facts, &f), ETHOS_OK);
    assert_merged(&f, "a line\nb line 499\nc line\nD\ne line\n", 0, false);
    assert_int_equal(versions.reads, 1);
    teardown(&w);
}

/* What is merged may still lack a line of a change that did more than add: that is told. */
static void test_a_line_of_ours_that_a_merge_lacks_is_listed(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "add,remove", "a line\nc line\nd line\ne line\n\nours\n");
    becomes(&w, "write", "a line\nC\nd line\ne line\n\nours\n");
    f = judge(&w, "a line\nc line\nd line\ne line\nmine\n"); // b taken out here as well
    assert_int_equal(f.verdict, VERDICT_MERGE);
    assert_true(f.dropped);
    teardown(&w);
}

/* A line that was removed meanwhile and moved in a stale buffer stands again. */
static void test_a_removed_line_that_was_moved_is_listed(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, LINES);
    becomes(&w, "remove", "a line\nb line\nd line\ne line\n");
    f = judge(&w, "c line\na line\nb line\nd line\ne line\n");
    assert_honoured(&f, true);
    becomes(&w, "write", "a line\nb line\nd line\nE\n");
    f = judge(&w, "c line\na line\nb line\nd line\ne line\n");
    assert_merged(&f, "c line\na line\nb line\nd line\nE\n", 0, true);
    teardown(&w);
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
    assert_int_equal(verdict_count(&history.records[0], VIEW("x\none\n\nmore\ny")), 1);
    assert_int_equal(verdict_count(&history.records[0], VIEW("one\nmore\n")), 0);
    assert_int_equal(verdict_count(&history.records[0], VIEW("one\n\nmore of it\n")), 0);
    assert_int_equal(verdict_count(&history.records[0], view_str(NULL)), 0);
    assert_int_equal(verdict_count(&history.records[1], VIEW("two\n")), 0); // no add
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
            code = edit_verdict_find(&facts, &f);
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
    assert_false(f.dropped); // nor listed
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

/* Who edits inside an entry has read it: nothing of it is appended a second time. */
static void test_an_entry_that_was_edited_inside_is_not_appended_again(void **state)
{
    static const char entry[] = "Deploys happen on Friday\nNever on Mondays\nAsk Ann first";
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "the entry before it");
    add(&w, entry);
    f = judge(&w, "first\n\nthe entry before it\n\nDeploys happen on Friday\n(typed)\nNever on "
                  "Mondays\nAsk Ann first\n");
    assert_honoured(&f, false);
    f = judge(&w, "first\n\nthe entry before it\n\nDeploys happen on Friday\n\nNever on Mondays\n"
                  "\nAsk Ann first\n");
    assert_honoured(&f, false);
    f = judge(&w, "first\n\nthe entry before it\n\nDeploys happen on Friday\nAsk Ann first\n");
    assert_honoured(&f, false); // a line is gone, of what was read
    add(&w, "one that the editor has not seen");
    f = judge(&w, "first\n\nthe entry before it\n\nDeploys happen on Friday\nAsk Ann first\n");
    assert_entries(&f, "one that the editor has not seen", NULL);
    assert_false(f.dropped);
    teardown(&w);
}

static void test_an_entry_that_was_wrapped_anew_is_not_appended_again(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\n");
    add(&w, "We deploy on Fridays because the people who look after the cluster are in the office "
            "then, and nobody wants to be called at night");
    f = judge(&w,
              "first\n\nWe deploy on Fridays because the people who\nlook after the cluster are "
              "in the office then,\nand nobody wants to be called at night\n");
    assert_honoured(&f, false);
    f = judge(&w, "first\n\nThe office of the people is on the hill, called the night cluster\n");
    assert_int_equal(f.verdict, VERDICT_REAPPLY); // words in common are not enough
    teardown(&w);
}

/* Equal lines: a buffer that has the one that stood there before has not seen the entry. */
static void test_an_equal_line_elsewhere_is_no_part_of_an_entry(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "same\nfirst\n");
    add(&w, "same\nbut more");
    f = judge(&w, "same\nfirst\nmine\n");
    assert_entries(&f, "same\nbut more", NULL);
    teardown(&w);
}

/* An entry that an editor had parted is looked for line by line. */
static void test_lines_of_an_entry_that_was_parted_are_listed_when_they_go(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, "first\nsecond\nthird\n");
    add(&w, "Deploys happen on Friday\nNever on Mondays");
    becomes(&w, "external",
            "first\nsecond\nthird\n\nDeploys happen on Friday\ntyped\nNever on Mondays\n");
    f = judge(&w, "first\nsecond\nthird\nmine\n");
    assert_true(f.dropped);
    f = judge(&w, "first\nsecond\nthird\n\nDeploys happen on Friday\nNever on Mondays\n\nmine\n");
    assert_honoured(&f, false);
    teardown(&w);
}

/* An editor was opened when there was no file, or emptied the buffer: hardly anything is left. */
static void test_a_text_that_is_nearer_to_none_is_listed(void **state)
{
    struct world w;
    struct verdict_finding f;

    (void)state;
    setup(&w, NULL);
    becomes(&w, "write", "one written\ntwo written\nthree written\n");
    f = judge(&w, "typed into a new file\n");
    assert_honoured(&f, true);
    f = judge(&w, "");
    assert_honoured(&f, true);
    f = judge(&w, "\n\n");
    assert_honoured(&f, true);
    f = judge(&w, "two written\n");
    assert_honoured(&f, true);
    f = judge(&w, "one written\ntwo written\nmine\n"); // an ordinary edit
    assert_honoured(&f, false);
    teardown(&w);

    setup(&w, "mine 1\nmine 2\nmine 3\nmine 4\n");
    becomes(&w, "replace", "mine 1\nmine 2\nmine 3\nmine 4\nwritten\n");
    f = judge(&w, "written\n"); // what is gone is not ours
    assert_honoured(&f, false);
    f = judge(&w, "quite another\n");
    assert_honoured(&f, true);
    teardown(&w);

    setup(&w, NULL);
    w.ts = NOW - MERGE_BASE_MS - 1;
    becomes(&w, "write", "one written\ntwo written\n");
    f = judge(&w, "");
    assert_honoured(&f, false);
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
        cmocka_unit_test(test_an_add_too_long_for_its_line_is_listed),
        cmocka_unit_test(test_damage_from_before_the_boot_is_undone),
        cmocka_unit_test(test_a_text_holds_what_a_record_added),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_an_entry_that_was_corrected_is_not_appended_again),
        cmocka_unit_test(test_a_line_of_an_index_is_the_same_while_it_names_the_note),
        cmocka_unit_test(test_an_entry_that_was_edited_inside_is_not_appended_again),
        cmocka_unit_test(test_an_entry_that_was_wrapped_anew_is_not_appended_again),
        cmocka_unit_test(test_an_equal_line_elsewhere_is_no_part_of_an_entry),
        cmocka_unit_test(test_lines_of_an_entry_that_was_parted_are_listed_when_they_go),
        cmocka_unit_test(test_a_text_that_is_nearer_to_none_is_listed),
        cmocka_unit_test(test_a_stale_buffer_is_merged_with_what_was_replaced_since),
        cmocka_unit_test(test_a_stale_buffer_is_merged_with_what_was_removed_since),
        cmocka_unit_test(test_what_both_changed_is_a_conflict_or_listed),
        cmocka_unit_test(test_a_correction_of_what_was_written_is_no_stale_buffer),
        cmocka_unit_test(test_a_stale_buffer_that_replaces_the_newest_line_does_not_get_it_back),
        cmocka_unit_test(test_a_stale_buffer_that_lacks_only_adds_is_merged_without_an_anchor),
        cmocka_unit_test(test_a_removed_line_that_was_moved_is_listed),
        cmocka_unit_test(test_a_line_of_ours_that_a_merge_lacks_is_listed),
        cmocka_unit_test(test_edits_between_outside_edits_are_honoured),
        cmocka_unit_test(test_a_file_that_was_deleted_and_comes_back_is_listed),
        cmocka_unit_test(test_versions_of_more_than_seven_days_ago_are_no_base),
        cmocka_unit_test(test_a_line_with_a_wrong_time_does_not_end_the_search),
        cmocka_unit_test(test_the_search_reads_no_text_of_versions_it_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
