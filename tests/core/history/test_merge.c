/*
 * test_merge.c: three-way merge of markdown memory.
 */
#include "core/history/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 26)

static struct merge_report merge(struct ethos_view base, struct ethos_view ours,
                                 struct ethos_view theirs, struct str *out)
{
    struct merge_report report;

    assert_int_equal(merge_texts(base, ours, theirs, out, &report), ETHOS_OK);
    return report;
}

struct example {
    const char *base, *ours, *theirs, *result;
    unsigned conflicts;
};

static void assert_examples(const struct example *all, size_t count)
{
    struct str out;

    str_init(&out, CEILING);
    for (const struct example *e = all; e < all + count; e++) {
        struct merge_report report = merge(view_str(e->base), view_str(e->ours),
                                           view_str(e->theirs), &out);

        assert_string_equal(out.data, e->result);
        assert_int_equal(report.conflicts, e->conflicts);
    }
    str_release(&out);
}

#define EXAMPLES(...)                                                                              \
    do {                                                                                           \
        const struct example all[] = {__VA_ARGS__};                                                \
        (void)state;                                                                               \
        assert_examples(all, COUNT(all));                                                          \
    } while (0)

/* ---- changes that do not overlap ------------------------------------------------------------- */

static void test_changes_in_different_places_are_both_made(void **state)
{
    EXAMPLES({"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", 0},
             {"a\nb\nc\n", "b\nc\n", "a\nb\n", "b\n", 0},
             {"a\nb\nc\nd\n", "a\nc\nd\n", "a\nb\nc\nnew\nd\n", "a\nc\nnew\nd\n", 0});
}

static void test_changes_that_touch_are_both_made(void **state)
{
    EXAMPLES({"a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n", 0},
             {"a\nb\n", "a\n", "a\nb\n\nc\n", "a\n\nc\n", 0},
             {"a\nb\n", "a\nb\n\nc\n", "a\n", "a\n\nc\n", 0},
             {"a\nb\nc\n", "a\nnew\nb\nc\n", "a\nC\nc\n", "a\nnew\nC\nc\n", 0});
}

static void test_the_same_change_is_made_once(void **state)
{
    EXAMPLES({"a\n", "b\n", "b\n", "b\n", 0}, {"a\n", "a\n\nb\n", "a\n\nb\n", "a\n\nb\n", 0},
             {"a\nb\n", "", "", "", 0}, {"a\nb\nc\n", "a\nc\n", "a\nc\n", "a\nc\n", 0});
}

static void test_both_may_remove_what_overlaps(void **state)
{
    EXAMPLES({"a\nb\nc\nd\ne\n", "a\nd\ne\n", "a\nb\ne\n", "a\ne\n", 0},
             {"a\nb\nc\n", "", "a\nc\n", "", 0}, {"a\nb\nc\nd\n", "b\nd\n", "", "", 0});
}

static void test_a_moved_block_is_removed_here_and_added_there(void **state)
{
    EXAMPLES({"p\nq\nx\ny\nz\n", "x\ny\nz\np\nq\n", "p\nq\nx\nY\nz\n", "x\nY\nz\np\nq\n", 0},
             {"p\nq\nx\ny\nz\n", "x\ny\nz\np\nq\n", "x\ny\nz\n", "x\ny\nz\np\nq\n", 0},
             {"p\nx\ny\nz\n", "x\ny\nz\np\n", "P\nx\ny\nz\n", "x\ny\nz\np\n", 1});
}

static void test_repeated_lines_are_told_apart_alike_on_both_sides(void **state)
{
    EXAMPLES({"c\na\nc\nb\n", "c\na\n", "c\na\na\nc\nb\nb\n", "c\na\na\nb\n", 0},
             {"b\nc\nb\nb\n", "c\nb\n", "b\nb\n", "b\n", 0});
}

static void test_what_becomes_first_has_no_blank_line_before_it(void **state)
{
    EXAMPLES({"a\n\nb\n\nc\n", "b\n\nc\n", "a\n\nc\n", "c\n", 0},
             {"a\n\nb\n", "b\n", "a\n\nx\n\nb\n", "x\n\nb\n", 0},
             {"a\n\nb\n", "\nb\n", "a\n\nb\n\nc\n", "\nb\n\nc\n", 0});
}

/* ---- both append ----------------------------------------------------------------------------- */

static void test_both_append_an_entry(void **state)
{
    EXAMPLES({"a\n", "a\n\nb\n", "a\n\nc\n", "a\n\nb\n\nc\n", 0},
             {"- a\n- b\n", "- a\n- b\n- c\n", "- a\n- b\n- d\n", "- a\n- b\n- c\n- d\n", 0},
             {"- a\n", "- a\n\n- b\n", "- a\n- c\n", "- a\n\n- b\n\n- c\n", 0},
             {"x\n\ny\n\nx\n", "x\n\ny\n\nx\n\nx\n", "x\n\ny\n\nx\n\nz\n",
              "x\n\ny\n\nx\n\nx\n\nz\n", 0});
}

static void test_both_begin_the_file(void **state)
{
    EXAMPLES({NULL, "a\n", "b\n", "a\n\nb\n", 0}, {"", "a", "b", "a\n\nb", 0},
             {"", "a\n", NULL, "a\n", 0}, {NULL, NULL, NULL, "", 0},
             {"", "# Memory\n\n- a\n", "# Memory\n\n- b\n", "# Memory\n\n- a\n\n- b\n", 0});
}

static void test_appending_may_complete_or_trim_the_last_line(void **state)
{
    EXAMPLES({"a\nb", "a\nb\n\nc\n", "a\nb\n\nd\n", "a\nb\n\nc\n\nd\n", 0},
             {"a\nb", "a\nb\n\nc", "a\nb\n\nd", "a\nb\n\nc\n\nd", 0},
             {"a  \n", "a\n\nc\n", "a\n\nd\n", "a\n\nc\n\nd\n", 0},
             {"a\n\n\n", "a\n\nc\n", "a\n\nd\n", "a\n\nc\n\nd\n", 0},
             {"a\n \n\n", "a\n\nc\n", "a\n \n\n", "a\n\nc\n", 0},
             {"a\nb", "A\nb", "a\nb\n\nc\n", "A\nb\n\nc\n", 0});
}

static void test_entries_both_added_are_not_doubled(void **state)
{
    EXAMPLES({"a\n", "a\n\nb\n\nc\n", "a\n\nb\n\nd\n", "a\n\nb\n\nc\n\nd\n", 0},
             {"a\n", "a\n\nb\n\nc\n", "a\n\nd\n\nb\n", "a\n\nb\n\nc\n\nd\n", 0},
             {"- a\n", "- a\n- b\n- c\n", "- a\n- c\n- d\n", "- a\n- b\n- c\n- d\n", 0},
             {"a\n", "a\n\nb\n\nb\n", "a\n\nb\n\nc\n", "a\n\nb\n\nb\n\nc\n", 0},
             {"a\n", "a\n\nb\n\nc\n", "a\n\nb\n\nb\n", "a\n\nb\n\nc\n\nb\n", 0});
}

static void test_one_removes_the_last_entry_and_the_other_appends(void **state)
{
    EXAMPLES({"a\n\nb\n", "a\n", "a\n\nb\n\nc\n", "a\n\nc\n", 0},
             {"a\n\nb\n", "a\n\nc\n", "a\n\nb\n\nd\n", "a\n\nc\n\nd\n", 0},
             {"a\n\nb\n", "a\n\nb\n\nd\n", "a\n\nc\n", "a\n\nc\n\nd\n", 0});
}

static void test_paragraphs_at_the_same_place_stay_apart(void **state)
{
    EXAMPLES({"a\n\nz\n", "a\n\nb\n\nz\n", "a\n\nc\n\nz\n", "a\n\nb\n\nc\n\nz\n", 0},
             {"a\nz\n", "a\nb\nz\n", "a\nc\nz\n", "a\nb\nc\nz\n", 0},
             {"a\n\nz\n", "new\na\n\nb\n\nz\n", "a\n\nc\n\nz\n", "new\na\n\nb\n\nc\n\nz\n", 0});
}

/* ---- sections -------------------------------------------------------------------------------- */

static void test_both_append_a_section(void **state)
{
    EXAMPLES({"a\n", "a\n\n## X\n\nx\n", "a\n\n## Y\n\ny\n", "a\n\n## X\n\nx\n\n## Y\n\ny\n", 0},
             {"a\n", "a\n\n## X\n- x\n", "a\n\n## X\n- y\n", "a\n\n## X\n- x\n- y\n", 0},
             {"a\n", "a\n\n## X\n- x\n\n## Y\n- 1\n", "a\n\n## X\n- y\n\n## Y\n- 2\n",
              "a\n\n## X\n- x\n- y\n\n## Y\n- 1\n- 2\n", 0},
             {"a\n", "a\n\n## X\n- x\n", "a\n\n## Y\n- x\n", "a\n\n## X\n- x\n\n## Y\n- x\n", 0});
}

static void test_text_before_a_heading_stays_before_it(void **state)
{
    EXAMPLES({"- a\n", "- a\n\n## X\n- x\n", "- a\n- b\n", "- a\n- b\n\n## X\n- x\n", 0},
             {"- a\n", "- a\n- b\n", "- a\n\n## X\n- x\n", "- a\n- b\n\n## X\n- x\n", 0},
             {"a\n", "a\n\n## X\nx\n", "a\n\nb\n", "a\n\nb\n\n## X\nx\n", 0});
}

static void test_sections_below_a_section_stay_there(void **state)
{
    EXAMPLES(
        {"", "# X\n## S\n- 1\n", "# Y\n## S\n- 1\n", "# X\n## S\n- 1\n\n# Y\n## S\n- 1\n", 0},
        {"", "# X\n## S\n- 1\n# Z\n", "# X\n## T\n- 2\n", "# X\n## S\n- 1\n## T\n- 2\n# Z\n", 0},
        {"# X\n", "# X\n## S\n- 1\n", "# X\n## S\n- 2\n", "# X\n## S\n- 1\n- 2\n", 0});
}

static void test_code_is_not_taken_apart(void **state)
{
    EXAMPLES({"a\n", "a\n\n```\n# one\n\nx\n```\n", "a\n\n```\n# one\n\ny\n```\n",
              "a\n\n```\n# one\n\nx\n```\n\n```\n# one\n\ny\n```\n", 0},
             {"a\n", "a\n\n~~~\n```\n# t\n~~~\n", "a\n\n# t\nb\n",
              "a\n\n~~~\n```\n# t\n~~~\n\n# t\nb\n", 0});
}

/* ---- line ends ------------------------------------------------------------------------------- */

static void test_line_ends_are_no_changes_but_are_kept(void **state)
{
    EXAMPLES({"a\nb\n", "a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\nb\r\n", 0},
             {"a\r\n", "a\r\n\r\nb\r\n", "a\r\n\r\nc\r\n", "a\r\n\r\nb\r\n\r\nc\r\n", 0},
             {"", "a\r\nb", "c\r\n", "a\r\nb\r\n\r\nc\r\n", 0},
             {"a\nb\n", "a\nb", "A\nb\n", "A\nb", 0}, {"a\nb", "a\nb\n", "a\n", "a\n", 0},
             {"a\n", "a \n", "a\t\n", "a \n", 0});
}

static void test_bytes_that_are_no_text_are_kept(void **state)
{
    struct str out;
    const struct ethos_view base = VIEW("\xff\xfe\n\0\n"), ours = VIEW("\xff\xfe\n\0\n\xc3\n"),
                            theirs = VIEW("\xff\n\0\n");

    (void)state;
    str_init(&out, CEILING);
    assert_int_equal(merge(base, ours, theirs, &out).conflicts, 0);
    assert_true(view_eq(str_view(&out), VIEW("\xff\n\0\n\xc3\n")));
    str_release(&out);
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static void test_a_line_changed_in_two_ways_is_a_conflict_and_ours_stands(void **state)
{
    EXAMPLES({"a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n", "a\nours\nc\n", 1},
             {"a\nb\nc\n", "a\nc\n", "a\ntheirs\nc\n", "a\nc\n", 1},
             {"a\nb\nc\n", "a\nours\nc\n", "a\nc\n", "a\nours\nc\n", 1},
             {"a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "1\nb\nc\nd\n5\n\nnew\n", "A\nb\nc\nd\nE\n", 2},
             {"a\nb\nc\nd\n", "a\nb\nnew\nc\nd\n", "a\nd\n", "a\nb\nnew\nc\nd\n", 1});
}

static void test_what_does_not_conflict_is_merged_all_the_same(void **state)
{
    EXAMPLES({"a\nb\nc\n", "ours\nb\nc\n", "theirs\nb\nc\n\nnew\n", "ours\nb\nc\n\nnew\n", 1});
}

static void test_the_report_counts_places_by_origin(void **state)
{
    struct str out;
    struct merge_report report;

    (void)state;
    str_init(&out, CEILING);
    report = merge(VIEW("a\n1\nb\n2\nc\n3\nd\n"), VIEW("A\n1\nB\n2\nc\n3\nD\n"),
                   VIEW("a\n1\nB\n2\nC\n3\nE\n"), &out);
    assert_int_equal(report.from_ours, 1);
    assert_int_equal(report.from_theirs, 1);
    assert_int_equal(report.from_both, 1);
    assert_int_equal(report.conflicts, 1);
    assert_string_equal(out.data, "A\n1\nB\n2\nC\n3\nD\n");
    str_release(&out);
}

/* ---- random texts ---------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

/* Lines of every kind out of `alphabet` different ones; no two equal when `serial` counts. */
static void random_line(struct str *out, unsigned alphabet, unsigned *serial)
{
    static const char *const starts[] = {"", "", "- ", "# ", "## ", "  ", "1. "};
    static const char *const ends[] = {"\n", "\n", "\n", "\r\n", " \n"};
    unsigned value = serial ? ++*serial : random_below(alphabet);

    if (random_below(4) == 0)
        str_adds(out, "\n");
    else if (random_below(40) == 0 && !serial)
        str_adds(out, "```\n");
    else
        str_printf(out, "%s%u%s", starts[value % COUNT(starts)], value,
                   ends[random_below(COUNT(ends))]);
}

static void drop_last_newline(struct str *text)
{
    if (text->size > 0 && random_below(4) == 0)
        str_truncate(text, text->size - 1);
}

static void random_text(struct str *out, unsigned alphabet, unsigned *serial)
{
    unsigned lines = random_below(24);

    str_clear(out);
    for (unsigned i = 0; i < lines; i++)
        random_line(out, alphabet, serial);
    drop_last_newline(out);
}

/* The base with lines dropped, changed, put in and appended. */
static void random_change(struct ethos_view base, struct str *out, unsigned alphabet,
                          unsigned *serial)
{
    struct ethos_view line;
    unsigned calm = 4 + random_below(40), appended = random_below(5);

    str_clear(out);
    while (view_line(&base, &line)) {
        unsigned what = random_below(calm);

        if (what == 0)
            random_line(out, alphabet, serial);
        if (what < 2)
            continue;
        str_add(out, line);
        str_adds(out, "\n");
        if (what == 2)
            random_line(out, alphabet, serial);
    }
    for (unsigned i = 0; i < appended; i++)
        random_line(out, alphabet, serial);
    drop_last_newline(out);
}

static size_t times(struct ethos_view text, struct ethos_view wanted)
{
    struct ethos_view line;
    size_t count = 0;

    while (view_line(&text, &line))
        count += view_eq(view_trim_end(line), wanted);
    return count;
}

/* Calls check for every line of text that is not blank. */
#define EACH_LINE(text, line)                                                                      \
    for (struct ethos_view rest_ = str_view(text), line;                                           \
         view_line(&rest_, &line) && (line = view_trim_end(line), true);)                          \
        if (line.size > 0)

struct texts {
    struct str base, ours, theirs, out, again;
};

static void texts_init(struct texts *t)
{
    str_init(&t->base, CEILING);
    str_init(&t->ours, CEILING);
    str_init(&t->theirs, CEILING);
    str_init(&t->out, CEILING);
    str_init(&t->again, CEILING);
}

static void texts_release(struct texts *t)
{
    str_release(&t->base);
    str_release(&t->ours);
    str_release(&t->theirs);
    str_release(&t->out);
    str_release(&t->again);
}

static void texts_random(struct texts *t, bool serial)
{
    unsigned alphabet = 2 + random_below(random_below(2) ? 6 : 60), number = 0;
    unsigned *counter = serial ? &number : NULL;

    random_text(&t->base, alphabet, counter);
    random_change(str_view(&t->base), &t->ours, alphabet, counter);
    random_change(str_view(&t->base), &t->theirs, alphabet, counter);
}

static void show(const struct texts *t, const char *rule, struct ethos_view line)
{
    fail_msg("%s: '%.*s'\n-- base\n%s\n-- ours\n%s\n-- theirs\n%s\n-- result\n%s", rule,
             VIEW_ARG(line), t->base.data, t->ours.data, t->theirs.data, t->out.data);
}

#define ROUNDS 20000

static void test_a_side_that_changed_nothing_changes_nothing(void **state)
{
    struct texts t;

    (void)state;
    texts_init(&t);
    for (int i = 0; i < ROUNDS; i++) {
        struct ethos_view base, x;

        texts_random(&t, false);
        base = str_view(&t.base);
        x = str_view(&t.ours);
        assert_int_equal(merge(base, base, x, &t.out).conflicts, 0);
        assert_true(view_eq(str_view(&t.out), x));
        assert_int_equal(merge(base, x, base, &t.out).conflicts, 0);
        assert_true(view_eq(str_view(&t.out), x));
        assert_int_equal(merge(base, x, x, &t.out).conflicts, 0);
        assert_true(view_eq(str_view(&t.out), x));
    }
    texts_release(&t);
}

static void test_what_a_side_added_is_there(void **state)
{
    struct texts t;
    unsigned clean = 0;

    (void)state;
    texts_init(&t);
    for (int i = 0; i < ROUNDS; i++) {
        texts_random(&t, i % 2);
        unsigned conflicts =
            merge(str_view(&t.base), str_view(&t.ours), str_view(&t.theirs), &t.out).conflicts;

        clean += conflicts == 0;
        EACH_LINE(&t.ours, line)
        if (!times(str_view(&t.base), line) && !times(str_view(&t.out), line))
            show(&t, "lost of ours", line);
        EACH_LINE(&t.theirs, line)
        if (!conflicts && !times(str_view(&t.base), line) && !times(str_view(&t.out), line))
            show(&t, "lost of theirs", line);
    }
    assert_in_range(clean, ROUNDS / 4, ROUNDS - ROUNDS / 20);
    texts_release(&t);
}

static void test_what_one_side_removed_is_gone_and_nothing_is_invented(void **state)
{
    struct texts t;

    (void)state;
    texts_init(&t);
    for (int i = 0; i < ROUNDS; i++) {
        texts_random(&t, true);
        unsigned conflicts =
            merge(str_view(&t.base), str_view(&t.ours), str_view(&t.theirs), &t.out).conflicts;

        EACH_LINE(&t.out, line)
        {
            size_t ours = times(str_view(&t.ours), line), theirs = times(str_view(&t.theirs), line);

            if (times(str_view(&t.out), line) != 1)
                show(&t, "doubled", line);
            if (ours + theirs == 0)
                show(&t, "neither side has", line);
            if (!conflicts && times(str_view(&t.base), line) && ours + theirs < 2)
                show(&t, "removed", line);
        }
    }
    texts_release(&t);
}

static void test_the_other_way_round_gives_the_same_lines(void **state)
{
    struct texts t;

    (void)state;
    texts_init(&t);
    for (int i = 0; i < ROUNDS; i++) {
        texts_random(&t, i % 2);
        struct merge_report report = merge(str_view(&t.base), str_view(&t.ours),
                                           str_view(&t.theirs), &t.out);
        struct merge_report other = merge(str_view(&t.base), str_view(&t.theirs), str_view(&t.ours),
                                          &t.again);

        assert_int_equal(report.conflicts, other.conflicts);
        assert_int_equal(report.from_ours, other.from_theirs);
        assert_int_equal(report.from_both, other.from_both);
        EACH_LINE(&t.out, line)
        if (!report.conflicts && times(str_view(&t.out), line) != times(str_view(&t.again), line))
            show(&t, "not as often the other way round", line);
    }
    texts_release(&t);
}

/* ---- size and failure ------------------------------------------------------------------------ */

static void test_many_entries_are_joined_quickly(void **state)
{
    struct texts t;

    (void)state;
    texts_init(&t);
    for (unsigned i = 0; i < 30000; i++) {
        str_printf(&t.ours, "%s%u\n", i % 3 ? "- " : "# ", i);
        str_printf(&t.theirs, "%s%u\n", i % 5 ? "- " : "# ", i + i % 2);
    }
    assert_int_equal(merge(VIEW(""), str_view(&t.ours), str_view(&t.theirs), &t.out).conflicts, 0);
    texts_release(&t);
}

static void test_without_memory_it_says_so(void **state)
{
    struct texts t;
    struct merge_report report;
    int code = ETHOS_OK;
    unsigned failures = 0;

    (void)state;
    texts_init(&t);
    for (unsigned i = 0; i < 2000; i++) {
        str_printf(&t.base, "base %u\n", i);
        str_printf(&t.ours, "base %u\n", i);
        str_printf(&t.theirs, "base %u\n", i);
    }
    for (unsigned i = 0; i < 2000; i++) {
        str_printf(&t.ours, "## %u\n- ours %u\n", i % 50, i);
        str_printf(&t.theirs, "## %u\n- theirs %u\n", i % 70, i);
    }
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_release(&t.out);
        code = merge_texts(str_view(&t.base), str_view(&t.ours), str_view(&t.theirs), &t.out,
                           &report);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_NOMEM);
            failures++;
        }
    }
    assert_in_range(failures, 20, 1000);
    texts_release(&t);
}

static void test_a_full_buffer_is_a_limit(void **state)
{
    struct str out;
    struct merge_report report;

    (void)state;
    str_init(&out, 2);
    assert_int_equal(merge_texts(VIEW(""), VIEW("a\n"), VIEW("b\n"), &out, &report), ETHOS_LIMIT);
    str_release(&out);
}

/* ---- hunks ----------------------------------------------------------------------------------- */

static bool print_hunk(void *arg, const struct merge_hunk *hunk)
{
    static const char names[] = {'=', '<', '>', '&', '!'};
    struct str *out = arg;

    str_printf(out, "%c%.*s|%.*s|%.*s|%.*s;", names[hunk->origin], VIEW_ARG(hunk->base),
               VIEW_ARG(hunk->ours), VIEW_ARG(hunk->theirs), VIEW_ARG(hunk->merged));
    return str_code(out) == ETHOS_OK;
}

static void assert_hunks(const char *base, const char *ours, const char *theirs,
                         const char *expected)
{
    struct str out, told;
    struct merge_report report;

    str_init(&out, CEILING);
    str_init(&told, CEILING);
    assert_int_equal(merge_hunks(view_str(base), view_str(ours), view_str(theirs), &out, print_hunk,
                                 &told, &report),
                     ETHOS_OK);
    assert_string_equal(told.data, expected);
    str_release(&out);
    str_release(&told);
}

static void test_hunks_tell_what_each_side_has(void **state)
{
    (void)state;
    assert_hunks("a\nb\nc\nd\n", "A\nb\nc\nx\n", "a\nb\nC\ny\n",
                 "<a\n|A\n|a\n|A\n;=b\n|b\n|b\n|b\n;!c\nd\n|c\nx\n|C\ny\n|c\nx\n;");
    assert_hunks("a\n", "a\nb\n", "a\nc\n", "=a\n|a\n|a\n|a\n;&|b\n|c\n|b\nc\n;");
    assert_hunks("", "", "a\n", ">||a\n|a\n;");
    assert_hunks("a\n", "a\n", "a\n", "=a\n|a\n|a\n|a\n;");
    assert_hunks("", "", "", "");
}

static bool refuse_hunk(void *arg, const struct merge_hunk *hunk)
{
    (void)arg, (void)hunk;
    return false;
}

static void test_who_listens_may_end_the_merge(void **state)
{
    struct str out;
    struct merge_report report;

    (void)state;
    str_init(&out, CEILING);
    assert_int_equal(
        merge_hunks(VIEW("a\n"), VIEW("b\n"), VIEW("a\n"), &out, refuse_hunk, NULL, &report),
        ETHOS_NOMEM);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_in_different_places_are_both_made),
        cmocka_unit_test(test_changes_that_touch_are_both_made),
        cmocka_unit_test(test_the_same_change_is_made_once),
        cmocka_unit_test(test_both_may_remove_what_overlaps),
        cmocka_unit_test(test_a_moved_block_is_removed_here_and_added_there),
        cmocka_unit_test(test_repeated_lines_are_told_apart_alike_on_both_sides),
        cmocka_unit_test(test_what_becomes_first_has_no_blank_line_before_it),
        cmocka_unit_test(test_both_append_an_entry),
        cmocka_unit_test(test_both_begin_the_file),
        cmocka_unit_test(test_appending_may_complete_or_trim_the_last_line),
        cmocka_unit_test(test_entries_both_added_are_not_doubled),
        cmocka_unit_test(test_one_removes_the_last_entry_and_the_other_appends),
        cmocka_unit_test(test_paragraphs_at_the_same_place_stay_apart),
        cmocka_unit_test(test_both_append_a_section),
        cmocka_unit_test(test_text_before_a_heading_stays_before_it),
        cmocka_unit_test(test_sections_below_a_section_stay_there),
        cmocka_unit_test(test_code_is_not_taken_apart),
        cmocka_unit_test(test_line_ends_are_no_changes_but_are_kept),
        cmocka_unit_test(test_bytes_that_are_no_text_are_kept),
        cmocka_unit_test(test_a_line_changed_in_two_ways_is_a_conflict_and_ours_stands),
        cmocka_unit_test(test_what_does_not_conflict_is_merged_all_the_same),
        cmocka_unit_test(test_the_report_counts_places_by_origin),
        cmocka_unit_test(test_a_side_that_changed_nothing_changes_nothing),
        cmocka_unit_test(test_what_a_side_added_is_there),
        cmocka_unit_test(test_what_one_side_removed_is_gone_and_nothing_is_invented),
        cmocka_unit_test(test_the_other_way_round_gives_the_same_lines),
        cmocka_unit_test(test_many_entries_are_joined_quickly),
        cmocka_unit_test(test_without_memory_it_says_so),
        cmocka_unit_test(test_a_full_buffer_is_a_limit),
        cmocka_unit_test(test_hunks_tell_what_each_side_has),
        cmocka_unit_test(test_who_listens_may_end_the_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
