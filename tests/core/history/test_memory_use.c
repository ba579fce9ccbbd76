/*
 * test_memory_use.c: how much memory comparing texts takes, also for those that cost the most.
 *
 * Peaks are counted in bytes for each byte of the text. What the limits allow is a little more than what
 * is needed, and less than an array of views or of words for each line would add.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/blame.h"
#include "core/history/diff.h"
#include "core/history/external_edit.h"
#include "core/history/merge.h"

#define BYTES 65536  /* of a text, about */
#define FIXED 300000 /* bytes: for the diagonals of a diff, and what else is small */
#define CEILING ((size_t)1 << 26)
#define NOW 1000000000

/* ---- texts ----------------------------------------------------------------------------------- */

static unsigned long long seed;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % below;
}

/* Line i of the first text, or of the second. */
typedef void line_fn(size_t i, bool second, struct str *out);

static void equal_lines(size_t i, bool second, struct str *out)
{
    (void)i;
    str_adds(out, second ? "b\n" : "a\n");
}

static void random_lines(size_t i, bool second, struct str *out)
{
    (void)i, (void)second;
    str_printf(out, "%c\n", 'a' + pick(10));
}

static void every_second_line(size_t i, bool second, struct str *out)
{
    str_adds(out, i % 2 ? second ? "c\n" : "b\n" : "a\n");
}

static void shifted_lines(size_t i, bool second, struct str *out)
{
    str_adds(out, (i + second) % 2 ? "a\n" : "b\n");
}

static void line_ends(size_t i, bool second, struct str *out)
{
    (void)i;
    str_adds(out, second ? "a\r\n" : "a\n");
}

static void blank_lines(size_t i, bool second, struct str *out)
{
    str_adds(out, i == 0 && second ? "first\n" : i == BYTES / 2 ? "middle\n" : "\n");
}

static void numbered_lines(size_t i, bool second, struct str *out)
{
    str_printf(out, "%s%zu\n", second ? "- " : "", i);
}

static void reversed_lines(size_t i, bool second, struct str *out)
{
    str_printf(out, "%zu\n", second ? 99999 - i : 10000 + i);
}

static void one_line(size_t i, bool second, struct str *out)
{
    (void)i;
    str_adds(out, second ? "x" : "y");
}

static const struct hard {
    const char *name;
    line_fn *line;
} hard[] = {
    {"equal lines", equal_lines},
    {"random lines", random_lines},
    {"every second", every_second_line},
    {"shifted", shifted_lines},
    {"line ends", line_ends},
    {"blank lines", blank_lines},
    {"all changed", numbered_lines},
    {"reversed", reversed_lines},
    {"one line", one_line},
};

static struct ethos_view make_text(line_fn *line, bool second, struct str *out)
{
    str_init(out, CEILING);
    for (size_t i = 0; out->size < BYTES; i++)
        line(i, second, out);
    str_addc(out, '\n');
    return str_view(out);
}

/* Runs an operation over both texts of each kind. */
typedef void work_fn(struct ethos_view a, struct ethos_view b);

static void measure(const char *name, work_fn *work, size_t most)
{
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        struct str a, b;
        struct ethos_view first = make_text(hard[i].line, false, &a);
        struct ethos_view second = make_text(hard[i].line, true, &b);
        size_t size = first.size > second.size ? first.size : second.size;

        alloc_peak_reset();
        work(first, second);
        if (alloc_peak() > most * size + FIXED)
            fail_msg("%s of %s: %zu bytes for each of the text", name, hard[i].name,
                     alloc_peak() / size);
        str_release(&a);
        str_release(&b);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static void make_diff(struct ethos_view a, struct ethos_view b)
{
    struct diff_change *changes;
    struct arena arena;
    size_t count;

    arena_init(&arena);
    assert_int_equal(diff_changes(a, b, &arena, &changes, &count), ETHOS_OK);
    arena_release(&arena);
}

static void merge_insert(struct ethos_view base, struct ethos_view ours)
{
    struct str theirs, out;
    struct merge_report report;

    str_init(&theirs, CEILING);
    str_init(&out, CEILING);
    str_adds(&theirs, "a line of theirs\n");
    str_add(&theirs, base);
    assert_int_equal(merge_texts(base, ours, str_view(&theirs), &out, &report), ETHOS_OK);
    str_release(&theirs);
    str_release(&out);
}

static void blame_twice(struct ethos_view a, struct ethos_view b)
{
    struct arena arena;
    struct blame blame;

    arena_init(&arena);
    assert_int_equal(blame_init(&blame, &arena, b, 1, SIZE_MAX), ETHOS_OK);
    assert_int_equal(blame_step_texts(&blame, a, b, 1), ETHOS_OK);
    assert_int_equal(blame_step_texts(&blame, b, a, 0), ETHOS_OK);
    blame_release(&blame);
    arena_release(&arena);
}

/* ---- an edit made outside -------------------------------------------------------------------- */

struct world {
    struct arena arena;
    struct str lines;
    struct ethos_view texts[16];
    size_t count;
    struct history history;
    unsigned reads;
};

static void begin(struct world *w)
{
    *w = (struct world){.count = 1};
    arena_init(&w->arena);
    str_init(&w->lines, CEILING);
}

/* Only what the line holds stays. */
static void record(struct world *w, const char *actions, struct ethos_view text)
{
    struct arena arena;
    struct history_record r = {.ts_ms = NOW - 1000,
                               .scope = VIEW("global"),
                               .key = VIEW("MEMORY.md"),
                               .source = VIEW("tool"),
                               .actions = view_str(actions),
                               .seq = w->count};

    arena_init(&arena);
    assert_int_equal(history_describe(w->texts[w->count - 1], text, &arena, &r), ETHOS_OK);
    history_print(&r, &w->lines);
    w->texts[w->count++] = text;
    arena_release(&arena);
}

static int read_version(void *arg, size_t index, bool before, struct str *out)
{
    struct world *w = arg;

    w->reads++;
    str_clear(out);
    return str_add(out, w->texts[index + !before]);
}

static struct verdict_finding judge(struct world *w, struct ethos_view now)
{
    struct verdict_finding finding;
    struct verdict_case facts = {.history = &w->history,
                                 .last = w->texts[w->count - 1],
                                 .now = now,
                                 .now_ms = NOW,
                                 .text = read_version,
                                 .arg = w};

    history_init(&w->history, &w->arena);
    assert_int_equal(history_collect(&w->history, str_view(&w->lines), "MEMORY.md"), ETHOS_OK);
    assert_int_equal(edit_verdict_find(&facts, &finding), ETHOS_OK);
    return finding;
}

static void end(struct world *w)
{
    arena_release(&w->arena);
    str_release(&w->lines);
}

static void classify_edit(struct ethos_view a, struct ethos_view b)
{
    struct world w;

    begin(&w);
    record(&w, "replace", a);
    assert_int_equal(judge(&w, b).verdict, VERDICT_HONOUR);
    end(&w);
}

/* Somebody saves the text from before the last change, with a line of his own. */
static void classify_stale(struct ethos_view a, struct ethos_view b)
{
    struct world w;
    struct str now;

    begin(&w);
    str_init(&now, CEILING);
    str_adds(&now, "a line of his own\n");
    str_add(&now, a);
    record(&w, "replace", a);
    record(&w, "replace", b);
    judge(&w, str_view(&now));
    assert_true(w.reads > 0);
    str_release(&now);
    end(&w);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_diff_takes_a_few_words_for_a_line(void **state)
{
    (void)state;
    measure("diff", make_diff, 15);
}

static void test_a_merge_never_holds_its_diffs_and_its_lines_at_once(void **state)
{
    (void)state;
    measure("merge", merge_insert, 23);
}

static void test_blame_holds_the_runs_of_one_version(void **state)
{
    (void)state;
    measure("blame", blame_twice, 29);
}

static void test_an_edit_made_outside_takes_little_more_than_a_diff(void **state)
{
    (void)state;
    measure("an edit", classify_edit, 20);
}

static void test_a_stale_save_takes_little_more_than_a_merge(void **state)
{
    (void)state;
    measure("a stale save", classify_stale, 29);
}

/* Entries too long for their lines are read one at a time. */
static void test_long_entries_are_not_held_together(void **state)
{
    enum { ADDS = 14 };
    struct world w;
    struct str texts[ADDS];
    size_t size = 0;

    (void)state;
    begin(&w);
    for (size_t i = 0; i < ADDS; i++) {
        str_init(&texts[i], CEILING);
        while (texts[i].size < BYTES)
            str_printf(&texts[i], "%c\n", 'a' + (int)i);
        record(&w, "add", str_view(&texts[i]));
        size = texts[i].size;
    }
    alloc_peak_reset();
    judge(&w, VIEW("something else\n"));
    assert_true(w.reads >= 2 * ADDS);
    assert_in_range(alloc_peak(), 0, 30 * size);
    for (size_t i = 0; i < ADDS; i++)
        str_release(&texts[i]);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_diff_takes_a_few_words_for_a_line),
        cmocka_unit_test(test_a_merge_never_holds_its_diffs_and_its_lines_at_once),
        cmocka_unit_test(test_blame_holds_the_runs_of_one_version),
        cmocka_unit_test(test_an_edit_made_outside_takes_little_more_than_a_diff),
        cmocka_unit_test(test_a_stale_save_takes_little_more_than_a_merge),
        cmocka_unit_test(test_long_entries_are_not_held_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
