/*
 * test_render.c: the memory block within its budget.
 *
 * Examples worked out by hand, then random texts against a model that is as slow and literal as the
 * format's own words, then the promise that a tail gives the bytes of the whole.
 */
#include "core/memory/render.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/text/invisible.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define CEILING ((size_t)1 << 24)

static const char *const keys[ETHOS_SECTIONS] = {"USER.md", "MEMORY.md", "MEMORY.md", "MEMORY.md"};

struct fixture {
    struct render_input inputs[ETHOS_SECTIONS];
    struct render_options options;
    struct render_result result;
    struct str out;
};

static void fixture_init(struct fixture *f, uint64_t cap)
{
    *f = (struct fixture){.options = {.cap = cap, .guard = true}};
    str_init(&f->out, CEILING);
}

static void set_text(struct fixture *f, int section, struct ethos_view text)
{
    f->inputs[section] = (struct render_input){.text = text, .key = keys[section]};
}

static const char *render(struct fixture *f)
{
    uint64_t chars = 0;

    str_clear(&f->out);
    assert_int_equal(render_block(f->inputs, &f->options, &f->out, &f->result), ETHOS_OK);
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        chars += f->result.parts[i].chars;
    assert_int_equal(chars, utf8_units(str_view(&f->out)));
    return f->out.data;
}

/* "000000 line\n" and so on, 12 bytes each. */
static void numbered_lines(struct str *out, unsigned count)
{
    str_init(out, CEILING);
    for (unsigned i = 0; i < count; i++)
        str_printf(out, "%06u line\n", i);
}

/* ---- form ---------------------------------------------------------------------------------- */

static void test_sections_have_headings_and_are_joined_by_a_blank_line(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 20000);
    set_text(&f, ETHOS_SECTION_USER, VIEW("\ufeff\n  Likes tea.\n\n"));
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("- one\r\n- two\u3000\n"));
    set_text(&f, ETHOS_SECTION_WORKSPACE, VIEW("- [A](a.md) \u2014 x\n"));
    assert_string_equal(render(&f), "## About You\n\nLikes tea.\n\n"
                                    "## Memory\n\n- one\r\n- two\n\n"
                                    "## Workspace Memory\n\n- [A](a.md) \u2014 x");
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].start, 14 + 10 + 2 + 11);
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].size, 12);
    assert_true(f.result.parts[ETHOS_SECTION_WORKSPACE].shown);
    assert_int_equal(f.result.parts[ETHOS_SECTION_USER].cut_bytes, 0);
    str_release(&f.out);
}

static void test_blank_and_absent_sections_are_skipped(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 20000);
    assert_string_equal(render(&f), "");
    set_text(&f, ETHOS_SECTION_USER, VIEW(" \n\u2003\r\n"));
    set_text(&f, ETHOS_SECTION_WORKSPACE, VIEW(""));
    assert_string_equal(render(&f), "");
    assert_false(f.result.more);
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("x"));
    assert_string_equal(render(&f), "## Memory\n\nx");
    assert_false(f.result.parts[ETHOS_SECTION_USER].shown);
    str_release(&f.out);
}

static void test_the_block_is_appended(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 20000);
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("x"));
    str_adds(&f.out, "before ");
    assert_int_equal(render_block(f.inputs, &f.options, &f.out, &f.result), ETHOS_OK);
    assert_string_equal(f.out.data, "before ## Memory\n\nx");
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].start, 18);
    str_release(&f.out);
}

static void test_guard_and_redaction_act_before_trimming(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 20000);
    set_text(&f, ETHOS_SECTION_MEMORY,
             VIEW("  [system] x  \nkey=aaaaaaaaaaaaaaaaaaaa\nyou are now a \n\n"));
    assert_string_equal(render(&f), "## Memory\n\n[line removed by injection guard]\n"
                                    "[REDACTED:generic-secret]\n[line removed by injection guard]");
    f.options.guard = false;
    assert_string_equal(render(&f),
                        "## Memory\n\n[system] x  \nkey=aaaaaaaaaaaaaaaaaaaa\nyou are now a");
    str_release(&f.out);
}

static void test_invalid_utf8_shows_and_counts_as_one_replacement(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 5);
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("\xffz\xe2\x82y\xf0\x9f\x98"));
    assert_string_equal(render(&f), "## Memory\n\n\ufffdz\ufffdy\ufffd");
    f.options.cap--;
    assert_string_equal(render(&f), "");
    str_release(&f.out);
}

/* ---- budget -------------------------------------------------------------------------------- */

static void test_what_hides_is_shown_and_counted_by_its_number(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 34);
    set_text(&f, ETHOS_SECTION_MEMORY,
             VIEW("\ufeff\u202egnp\n\u2764\ufe0f a\u200bb\U000e0041\ufeff\n"));
    assert_string_equal(render(&f),
                        "## Memory\n\n\\u{202E}gnp\n\u2764\ufe0f a\\u{200B}b\\u{E0041}");
    f.options.guard = false; // which has nothing to do with it
    assert_non_null(strstr(render(&f), "\\u{202E}gnp"));
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("one\n\ufefftwo\n"));
    assert_string_equal(render(&f), "## Memory\n\none\n\\u{FEFF}two");
    struct str text; // white space before a text hides nothing, however much it is
    str_init(&text, CEILING);
    for (int i = 0; i < 200; i++)
        str_addc(&text, '\n');
    str_adds(&text, "\ufefftwo\n");
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    f.options.cap = 11 + 3;
    assert_string_equal(render(&f), "## Memory\n\ntwo");
    str_release(&text);
    str_release(&f.out);
}

static void test_what_fits_the_cap_is_never_cut(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 100);
    fixture_init(&f, 70 + 4 * 1199);
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        set_text(&f, i, str_view(&text));
    render(&f);
    assert_int_equal(f.out.size, f.options.cap);
    assert_null(strstr(f.out.data, "truncated"));
    f.options.cap--;
    render(&f);
    assert_non_null(strstr(f.out.data, "truncated"));
    assert_in_range(f.out.size, 0, f.options.cap);
    str_release(&text);
    str_release(&f.out);
}

/* Runs with texts of so many lines; the cut offsets must be these. */
static void assert_cuts(uint64_t cap, const unsigned lines[ETHOS_SECTIONS],
                        const uint64_t cuts[ETHOS_SECTIONS])
{
    struct str texts[ETHOS_SECTIONS];
    struct fixture f;

    fixture_init(&f, cap);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        numbered_lines(&texts[i], lines[i]);
        set_text(&f, i, str_view(&texts[i]));
    }
    render(&f);
    assert_in_range(f.out.size, 1, cap);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        assert_int_equal(f.result.parts[i].cut_bytes, cuts[i]);
        str_release(&texts[i]);
    }
    str_release(&f.out);
}

static void test_each_section_has_its_guarantee(void **state)
{
    (void)state;
    /* B = 1000 - 50 = 950: user 380, workspace 190, memory 380. The marker takes 47 and 49 with
       four digits, so 333, 331 and 141 of 2399 remain: the lines from 2066, 2068 and 2258 on. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){200, 200, 200},
                (uint64_t[ETHOS_SECTIONS]){2076, 2076, 2268});
    /* B = 1000 - 70 = 930: user 372, workspace 186, global 93, memory 279. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){200, 200, 200, 200},
                (uint64_t[ETHOS_SECTIONS]){2076, 2172, 2268, 2364});
    /* B = 1000 - 27 = 973: 389 and 584. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){200, 200, 0},
                (uint64_t[ETHOS_SECTIONS]){2064, 1872, 0});
}

static void test_what_a_section_leaves_goes_to_user_then_workspace_then_memory(void **state)
{
    (void)state;
    /* Alone: all of 986. 939 remain beside the marker. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){200, 0, 0},
                (uint64_t[ETHOS_SECTIONS]){1464, 0, 0});
    /* B = 950, memory short (119): its 261 left go to the user: 641, so 594 of 2399. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){200, 10, 200},
                (uint64_t[ETHOS_SECTIONS]){1812, 0, 2268});
    /* User short (119), 261 left: workspace 190 + 261 = 451; the line at 2052 keeps 3/4 of that. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){10, 200, 200},
                (uint64_t[ETHOS_SECTIONS]){0, 2076, 2052});
    /* User and workspace short, 320 left: global 93 + 320 = 413, cut at a line after 2048. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){10, 200, 10, 200},
                (uint64_t[ETHOS_SECTIONS]){0, 2172, 0, 2052});
    /* User and workspace short: memory has 950 - 119 - 119 = 712. */
    assert_cuts(1000, (unsigned[ETHOS_SECTIONS]){10, 200, 10},
                (uint64_t[ETHOS_SECTIONS]){0, 1740, 0});
}

static void test_a_cut_section_says_where_its_tail_starts(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 100);
    fixture_init(&f, 11 + 100);
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    /* 100 - 49 = 51 for the tail: 4 lines are 47. */
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 1152 earlier bytes of MEMORY.md]\n\n"
                        "000096 line\n000097 line\n000098 line\n000099 line");
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].cut_bytes, 1152);
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].size, 49 + 47);
    str_release(&text);
    str_release(&f.out);
}

static void test_cuts_fall_on_lines_that_are_not_blank(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 45 + 12);
    set_text(&f, ETHOS_SECTION_MEMORY,
             VIEW("first line is long enough to be cut, and cut it is\n\n \t\nlast line"));
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 55 earlier bytes of MEMORY.md]\n\nlast line");
    str_release(&f.out);
}

static void test_a_cut_prefers_a_full_kilobyte_while_it_keeps_three_quarters(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 1000); /* 12000 bytes, 11999 shown */
    fixture_init(&f, 11 + 5000);
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    /* 4951 fit: from 7048 on; the first line from 7168 on starts at 7176 and keeps 4823. */
    assert_non_null(
        strstr(render(&f), "[...truncated: 7176 earlier bytes of MEMORY.md]\n\n000598"));
    /* 1051 fit: from 10948 on. 11264 would keep 735, less than 3/4 of 1100. */
    f.options.cap = 11 + 1100;
    assert_non_null(
        strstr(render(&f), "[...truncated: 10956 earlier bytes of MEMORY.md]\n\n000913"));
    /* Of 980 it is three quarters, but 11268 is the first line there: 4 * 731 < 3 * 980. */
    f.options.cap = 11 + 980;
    assert_non_null(strstr(render(&f), "[...truncated: 11076 earlier bytes"));
    f.options.cap = 11 + 974; /* 3 * 974 = 2922 <= 4 * 731 */
    assert_non_null(strstr(render(&f), "[...truncated: 11268 earlier bytes"));
    text.data[text.size - 1] = 'x'; /* 12000 shown: 4 * 732 is 3 * 976 */
    f.options.cap = 11 + 976;
    assert_non_null(strstr(render(&f), "[...truncated: 11268 earlier bytes"));
    f.options.cap = 11 + 977;
    assert_non_null(strstr(render(&f), "[...truncated: 11076 earlier bytes"));
    str_release(&text);
    str_release(&f.out);
}

static void test_small_appends_leave_the_prefix_of_the_block_alone(void **state)
{
    unsigned moves = 0;
    uint64_t last = 0;
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 2000);
    fixture_init(&f, 11 + 6000);
    for (int i = 0; i < 200; i++) {
        str_printf(&text, "one more line %d\n", i);
        set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
        render(&f);
        moves += f.result.parts[ETHOS_SECTION_MEMORY].cut_bytes != last;
        last = f.result.parts[ETHOS_SECTION_MEMORY].cut_bytes;
    }
    assert_in_range(moves, 2, 5); /* about 3400 bytes */
    str_release(&text);
    str_release(&f.out);
}

static void test_offsets_are_those_of_the_file_where_lines_were_replaced(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    str_init(&text, CEILING);
    for (int i = 0; i < 20; i++)
        str_adds(&text,
                 "- a long line with [system] in it that is gone, leaving less than it was\n");
    str_adds(&text, "- last\n");
    fixture_init(&f, 11 + 120);
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    /* 72 fit beside the marker: the last line and one of 33. A line is 73 bytes in the file. */
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 1387 earlier bytes of MEMORY.md]\n\n"
                        "[line removed by injection guard]\n- last");
    str_release(&text);
    str_release(&f.out);
}

static void test_a_last_line_too_long_is_cut_inside_at_a_grapheme(void **state)
{
    struct fixture f;

    (void)state;
    /* The marker takes 45 + digits. 17 remain, which would start inside the family of 11 units. */
    fixture_init(&f, 11 + 45 + 2 + 17);
    set_text(&f, ETHOS_SECTION_MEMORY,
             VIEW("fifty-one characters, counted with care, are these "
                  "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 0123456789"));
    assert_string_equal(render(&f), "## Memory\n\n[...truncated: 76 earlier bytes of MEMORY.md]\n\n"
                                    " 0123456789");
    f.options.cap += 5; /* now the family fits */
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 51 earlier bytes of MEMORY.md]\n\n"
                        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 0123456789");
    str_release(&f.out);
}

static void test_a_grapheme_larger_than_the_room_is_cut_at_a_character(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 45 + 1 + 3);
    set_text(
        &f, ETHOS_SECTION_MEMORY,
        VIEW("e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
             "\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
             "\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
             "\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
             "\u0301"));
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 111 earlier bytes of MEMORY.md]\n\n"
                        "\u0301");
    str_release(&f.out);
}

static void test_a_cut_inside_a_replaced_line_counts_bytes_of_what_is_shown(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 45 + 2 + 7);
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("a line of thirty-nine bytes in the file\n[system]"));
    /* "[line removed by injection guard]" without its first 26 bytes */
    assert_string_equal(render(&f),
                        "## Memory\n\n[...truncated: 66 earlier bytes of MEMORY.md]\n\n guard]");
    f.options.tally = true;
    render(&f);
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].cut_chars, 48); /* all there is */
    str_release(&f.out);
}

static void test_a_section_without_room_for_its_marker_is_left_out(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 100);
    for (uint64_t cap = 0; cap < 200; cap++) {
        fixture_init(&f, cap);
        for (int i = 0; i < ETHOS_SECTIONS; i++)
            set_text(&f, i, str_view(&text));
        render(&f);
        assert_in_range(f.out.size, 0, cap);
        assert_int_equal(f.out.size > 0, cap >= 70 + 118); /* 2/5 of 118 holds 47, a marker */
        if (cap < 70)
            assert_int_equal(f.result.parts[ETHOS_SECTION_USER].cut_bytes, 1200);
        str_release(&f.out);
    }
    str_release(&text);
}

static void test_bytes_as_unit(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 11 + 15);
    f.options.unit = RENDER_BYTES;
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("\u65e5\u672c\xff\u65e5\u672c"));
    assert_string_equal(render(&f), "## Memory\n\n\u65e5\u672c\ufffd\u65e5\u672c");
    f.options.cap = 11 + 45 + 2 + 7;
    set_text(&f, ETHOS_SECTION_MEMORY,
             VIEW("\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c"
                  "\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c\u65e5\u672c"));
    assert_string_equal(
        render(&f), "## Memory\n\n[...truncated: 66 earlier bytes of MEMORY.md]\n\n\u65e5\u672c");
    f.options.tail = true;
    f.options.cap = 11;
    assert_string_equal(render(&f), "\u672c\u65e5\u672c");
    str_release(&f.out);
}

/* ---- truncate: tail ------------------------------------------------------------------------ */

static void test_tail_keeps_the_end_of_the_joined_text(void **state)
{
    const char *whole = "## About You\n\nuser \u00e9\n\n## Memory\n\nmemory \U0001f600 x";
    struct ethos_view joined = view_str(whole);
    struct fixture f;

    (void)state;
    for (uint64_t cap = 0; cap < 50; cap++) {
        fixture_init(&f, cap);
        f.options.tail = true;
        set_text(&f, ETHOS_SECTION_USER, VIEW("user \u00e9\n"));
        set_text(&f, ETHOS_SECTION_MEMORY, VIEW("\nmemory \U0001f600 x\n"));
        assert_string_equal(render(&f), whole + utf8_tail(joined, cap));
        assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].shown, cap > 0);
        str_release(&f.out);
    }
}

static void test_tail_does_not_split_a_surrogate_pair(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, 3);
    f.options.tail = true;
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("memory \U0001f600 x"));
    assert_string_equal(render(&f), " x");
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].cut_bytes, 11);
    f.options.cap = 4;
    assert_string_equal(render(&f), "\U0001f600 x");
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].cut_bytes, 7);
    str_release(&f.out);
}

/* ---- tally --------------------------------------------------------------------------------- */

static void test_tally_counts_what_was_cut_guarded_and_redacted(void **state)
{
    const struct render_part *part;
    struct str text;
    struct fixture f;

    (void)state;
    str_init(&text, CEILING);
    for (int i = 0; i < 50; i++)
        str_adds(&text, "\u00e9\u00e9\u00e9\u00e9 [system] key=aaaaaaaaaaaaaaaaaaaa\n"); /* 43 */
    str_adds(&text, "key=bbbbbbbbbbbbbbbbbbbb\nlast\n");
    fixture_init(&f, 11 + 150);
    f.options.tally = true;
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    /* 101 beside the marker: "[REDACTED:generic-secret]\nlast" is 30, two guarded lines are 68. */
    assert_non_null(strstr(render(&f), "[...truncated: 2064 earlier bytes"));
    part = &f.result.parts[ETHOS_SECTION_MEMORY];
    assert_int_equal(part->cut_bytes, 48 * 43);
    assert_int_equal(part->cut_chars, 48 * 39);
    assert_int_equal(part->guard_bytes, 2 * 42);
    assert_int_equal(part->guard_chars, 2 * 38);
    assert_int_equal(part->secret_bytes, 24);
    assert_int_equal(part->secret_chars, 24);
    f.options.tally = false;
    render(&f);
    assert_int_equal(f.result.parts[ETHOS_SECTION_MEMORY].guard_bytes, 0);
    str_release(&text);
    str_release(&f.out);
}

/* ---- model --------------------------------------------------------------------------------- */

#define MODEL_LINES 4096

struct model_line {
    size_t shown, raw;
};

struct model {
    const struct render_options *options;
    const char *key;
    bool present;
    struct str text; /* as shown, untrimmed */
    size_t start, end;
    struct model_line lines[MODEL_LINES];
    size_t count;
};

static uint64_t model_length(const struct model *m, struct ethos_view v)
{
    return m->options->unit == RENDER_BYTES ? v.size : utf8_units(v);
}

static struct ethos_view model_tail(const struct model *m, size_t from)
{
    return view_of(m->text.data + from, m->end - from);
}

/* A line as it is shown: what hides is seen, but not in the white space around the whole text. */
static void model_add(struct model *m, struct ethos_view line, bool last)
{
    struct str clean;

    str_init(&clean, CEILING);
    utf8_sanitize(line, &clean);
    line = last ? view_trim_end(str_view(&clean)) : str_view(&clean);
    bool first = view_blank(str_view(&m->text));
    size_t blank = first ? line.size - view_trim_start(line).size : 0;
    str_add(&m->text, view_of(line.data, blank));
    hidden_show_all(view_from(line, blank), &m->text);
    str_addc(&m->text, '\n');
    str_release(&clean);
}

static void model_open(struct model *m, const struct render_input *input,
                       const struct render_options *options)
{
    struct ethos_view rest = input->text, line;
    struct str scanned;

    m->options = options;
    m->key = input->key;
    m->count = 0;
    str_init(&m->text, CEILING);
    str_init(&scanned, CEILING);
    while (view_line(&rest, &line)) {
        assert_true(m->count < MODEL_LINES);
        m->lines[m->count++] = (struct model_line){m->text.size,
                                                   (size_t)(line.data - input->text.data)};
        str_clear(&scanned);
        if (options->guard && scan_text(line, SCAN_GUARD | SCAN_REDACT, &scanned, NULL))
            line = str_view(&scanned);
        model_add(m, line, view_blank(rest));
    }
    str_release(&scanned);
    struct ethos_view trimmed = view_trim(str_view(&m->text));
    m->present = trimmed.size > 0;
    m->start = m->present ? (size_t)(trimmed.data - m->text.data) : 0;
    m->end = m->start + trimmed.size;
}

/* Appends marker and tail to out if that is within the allowance. */
static bool model_try(const struct model *m, size_t shown, uint64_t offset, uint64_t allowance,
                      struct str *out)
{
    struct ethos_view tail = model_tail(m, shown);
    struct str text;

    str_init(&text, CEILING);
    str_printf(&text, "[...truncated: %llu earlier bytes of %s]\n\n", (unsigned long long)offset,
               m->key);
    bool fits = model_length(m, str_view(&text)) + model_length(m, tail) <= allowance;
    if (fits) {
        str_add(out, str_view(&text));
        str_add(out, tail);
        if (tail.size == 0)
            str_truncate(out, out->size - 2);
    }
    str_release(&text);
    return fits;
}

static bool model_blank(const struct model *m, size_t line)
{
    size_t end = line + 1 < m->count ? m->lines[line + 1].shown : m->text.size;

    return view_blank(view_of(m->text.data + m->lines[line].shown, end - m->lines[line].shown));
}

/* The first line from `line` on, at or after offset `raw`, that fits; count when there is none. */
static size_t model_first(const struct model *m, size_t line, uint64_t raw, uint64_t allowance)
{
    struct str ignored;

    str_init(&ignored, CEILING);
    for (; line < m->count; line++) {
        if (m->lines[line].raw >= raw && m->lines[line].shown >= m->start &&
            !model_blank(m, line) &&
            model_try(m, m->lines[line].shown, m->lines[line].raw, allowance, &ignored))
            break;
    }
    str_release(&ignored);
    return line;
}

/* Appends the section within its allowance; returns its cut, or UINT64_MAX when it is left out. */
static uint64_t model_cut(const struct model *m, uint64_t allowance, struct str *out)
{
    size_t first = model_first(m, 0, 0, allowance);

    if (first < m->count) {
        uint64_t step = (m->lines[first].raw + 1023) / 1024 * 1024;
        size_t later = model_first(m, first, step, allowance);

        if (later < m->count &&
            4 * model_length(m, model_tail(m, m->lines[later].shown)) >= 3 * allowance)
            first = later;
        assert_true(model_try(m, m->lines[first].shown, m->lines[first].raw, allowance, out));
        return m->lines[first].raw;
    }
    size_t line = m->count - 1;
    while (m->lines[line].shown >= m->end)
        line--;
    struct ethos_view last = model_tail(m, m->lines[line].shown);
    /* At a grapheme; where only nothing would fit, at a character; else nothing. */
    for (int pass = 0; pass < 3; pass++) {
        for (size_t at = 0; pass < 2 ? at < last.size : at <= last.size; at++) {
            bool boundary = pass == 0
                                ? unicode_boundary(last, at) == at
                                : at == last.size || ((unsigned char)last.data[at] & 0xC0) != 0x80;
            if (boundary && m->lines[line].shown + at >= m->start &&
                model_try(m, m->lines[line].shown + at, m->lines[line].raw + at, allowance, out))
                return m->lines[line].raw + at;
        }
    }
    return UINT64_MAX;
}

static const char *const model_headings[] = {"## About You\n\n", "## Memory\n\n",
                                             "## Workspace Memory\n\n", "## Global Memory\n\n"};

static void model_share(struct model models[ETHOS_SECTIONS], uint64_t cap,
                        uint64_t allowance[ETHOS_SECTIONS])
{
    static const int order[] = {ETHOS_SECTION_USER, ETHOS_SECTION_WORKSPACE, ETHOS_SECTION_GLOBAL,
                                ETHOS_SECTION_MEMORY};
    uint64_t lengths[ETHOS_SECTIONS], overhead = 0, given = 0;

    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        lengths[i] = models[i].present
                         ? model_length(&models[i], model_tail(&models[i], models[i].start))
                         : 0;
        overhead += models[i].present ? strlen(model_headings[i]) + (overhead ? 2 : 0) : 0;
    }
    uint64_t budget = cap > overhead ? cap - overhead : 0;
    uint64_t user = models[0].present ? 2 * budget / 5 : 0;
    uint64_t workspace = models[2].present ? budget / 5 : 0;
    uint64_t global = models[3].present ? budget / 10 : 0;
    uint64_t guarantee[] = {user, budget - user - workspace - global, workspace, global};
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        allowance[i] = lengths[i] < guarantee[i] ? lengths[i] : guarantee[i];
        given += allowance[i];
    }
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        uint64_t *mine = &allowance[order[i]], want = lengths[order[i]] - *mine;
        uint64_t more = want < budget - given ? want : budget - given;

        *mine += more;
        given += more;
    }
}

static void model_balanced(struct model models[ETHOS_SECTIONS], uint64_t cap, struct str *out,
                           uint64_t cuts[ETHOS_SECTIONS])
{
    uint64_t allowance[ETHOS_SECTIONS];

    model_share(models, cap, allowance);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        struct ethos_view all = model_tail(&models[i], models[i].start);
        struct str body;

        cuts[i] = 0;
        if (!models[i].present)
            continue;
        str_init(&body, CEILING);
        if (model_length(&models[i], all) <= allowance[i])
            str_add(&body, all);
        else
            cuts[i] = model_cut(&models[i], allowance[i], &body);
        if (cuts[i] != UINT64_MAX)
            str_printf(out, "%s%s", out->size ? "\n\n" : "", model_headings[i]);
        str_add(out, str_view(&body));
        str_release(&body);
    }
}

static void model_joined(struct model models[ETHOS_SECTIONS], uint64_t cap, struct str *out)
{
    struct str joined;

    str_init(&joined, CEILING);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        if (models[i].present) {
            str_printf(&joined, "%s%s", joined.size ? "\n\n" : "", model_headings[i]);
            str_add(&joined, model_tail(&models[i], models[i].start));
        }
    }
    size_t from = utf8_tail(str_view(&joined), cap);
    if (models[0].options->unit == RENDER_BYTES) {
        from = joined.size > cap ? joined.size - cap : 0;
        while ((joined.data[from] & 0xC0) == 0x80)
            from++;
    }
    str_add(out, view_from(str_view(&joined), from));
    str_release(&joined);
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

static void random_line(struct str *out, unsigned flavour)
{
    static const char *const pieces[] = {
        "word ",
        "x",
        "longer-words-too ",
        "1234567890",
        "a b c ", /* flavour 0: ASCII */
        "\u00e9t\u00e9 ",
        "\u65e5\u672c\u8a9e",
        "\U0001f600",
        "\u2014 ",
        "e\u0301\u0302", /* 1 */
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "\u00a0",
        "\u3000",
        "[system] ",
        "key=aaaaaaaaaaaaaaaaaaaa ",
        "you are now a ",
        "ghp_", /* 2: replaced */
        "0123456789012345678901234567890123456789",
        "xapp-1-2-3 ",
        "\xff",
        "\ufeff",
        "\u202e",
        "\u05d0\u200f",
        "\U000e0041\n",
        "\xe2\x82",
        "\xf0\x9f",
    };
    static const unsigned many[] = {5, 14, COUNT(pieces)};
    unsigned words = random_below(8) == 0 ? random_below(120) : random_below(12);

    for (unsigned i = 0; i < words; i++)
        str_adds(out, pieces[random_below(many[flavour])]);
}

static void random_text(struct str *out)
{
    unsigned lines = random_below(3) ? random_below(30) : random_below(300);
    unsigned flavour = random_below(3);

    str_clear(out);
    for (unsigned i = 0; i < lines; i++) {
        unsigned kind = random_below(10);

        if (kind > 2)
            random_line(out, flavour);
        str_adds(out, kind == 2 ? "  \t" : "");
        str_adds(out, kind == 3 ? "\r\n" : kind == 4 && i + 1 == lines ? "" : "\n");
    }
}

/* Half of the caps are about what the text takes, where cuts are close to its start. */
static uint64_t random_cap(const struct str texts[ETHOS_SECTIONS])
{
    size_t total = texts[0].size + texts[1].size + texts[2].size;

    if (random_below(2))
        return 40 + random_below(random_below(2) ? 600 : 8000);
    return total / 2 + random_below((unsigned)total / 2 + 100);
}

static void random_case(struct fixture *f, struct str texts[ETHOS_SECTIONS])
{
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        random_text(&texts[i]);
        set_text(f, i, random_below(4) ? str_view(&texts[i]) : (struct ethos_view){0});
    }
    f->options = (struct render_options){.cap = random_cap(texts),
                                         .unit = random_below(3) ? RENDER_CH : RENDER_BYTES,
                                         .tail = random_below(4) == 0,
                                         .guard = random_below(2)};
}

static void assert_model(struct fixture *f, struct model models[ETHOS_SECTIONS])
{
    uint64_t cuts[ETHOS_SECTIONS];
    struct str expected;

    str_init(&expected, CEILING);
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        model_open(&models[i], &f->inputs[i], &f->options);
    if (f->options.tail)
        model_joined(models, f->options.cap, &expected);
    else
        model_balanced(models, f->options.cap, &expected, cuts);
    assert_string_equal(f->out.data, expected.data);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        const struct render_part *part = &f->result.parts[i];

        if (!f->options.tail)
            assert_int_equal(part->cut_bytes,
                             cuts[i] == UINT64_MAX ? f->inputs[i].text.size : cuts[i]);
        str_release(&models[i].text);
    }
    str_release(&expected);
}

static void random_init(struct fixture *f, struct str texts[ETHOS_SECTIONS])
{
    fixture_init(f, 0);
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        str_init(&texts[i], CEILING);
}

static void random_done(struct fixture *f, struct str texts[ETHOS_SECTIONS])
{
    str_release(&f->out);
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        str_release(&texts[i]);
}

static void test_random_texts_agree_with_the_model(void **state)
{
    struct model *models = calloc(ETHOS_SECTIONS, sizeof(*models));
    struct str texts[ETHOS_SECTIONS];
    unsigned marked = 0;
    struct fixture f;

    (void)state;
    assert_non_null(models);
    random_init(&f, texts);
    for (int round = 0; round < 2000; round++) {
        random_case(&f, texts);
        marked += strstr(render(&f), "[...truncated") != NULL;
        assert_false(f.result.more);
        assert_true(f.out.size == 0 || utf8_valid(str_view(&f.out)));
        assert_model(&f, models);
    }
    assert_in_range(marked, 300, 1900);
    random_done(&f, texts);
    free(models);
}

static void test_plain_lines_before_accented_ones_count_as_they_are(void **state)
{
    struct model *models = calloc(ETHOS_SECTIONS, sizeof(*models));
    struct fixture f;
    struct str text;

    (void)state;
    assert_non_null(models);
    numbered_lines(&text, 100);
    for (int i = 0; i < 50; i++)
        str_adds(&text, "\u00e9\u00e9\u00e9\u00e9\u65e5\U0001f600\n");
    for (uint64_t cap = 100; cap < 1800; cap += 7) {
        fixture_init(&f, cap);
        set_text(&f, ETHOS_SECTION_USER, str_view(&text));
        render(&f);
        assert_model(&f, models);
        str_release(&f.out);
    }
    str_release(&text);
    free(models);
}

/* Renders from tails of `size` bytes, doubled as long as more is asked for. */
static unsigned render_from_tails(struct fixture *f, size_t size)
{
    struct render_input whole[ETHOS_SECTIONS];
    unsigned rounds = 0;

    memcpy(whole, f->inputs, sizeof(whole));
    for (;; size *= 2, rounds++) {
        bool all = true;

        for (int i = 0; i < ETHOS_SECTIONS; i++) {
            size_t cut = whole[i].text.size > size ? whole[i].text.size - size : 0;

            if (whole[i].text.data)
                f->inputs[i].text = view_from(whole[i].text, cut);
            f->inputs[i].offset = cut;
            all &= cut == 0;
        }
        render(f);
        if (!f->result.more)
            break;
        assert_int_equal(f->out.size, 0);
        assert_false(all);
    }
    memcpy(f->inputs, whole, sizeof(whole));
    return rounds;
}

static void test_a_tail_gives_the_bytes_and_cuts_of_the_whole(void **state)
{
    struct str texts[ETHOS_SECTIONS], expected;
    unsigned at_once = 0, later = 0;
    struct fixture f;

    (void)state;
    random_init(&f, texts);
    str_init(&expected, CEILING);
    for (int round = 0; round < 4000; round++) {
        struct render_result result;

        random_case(&f, texts);
        str_clear(&expected);
        str_adds(&expected, render(&f));
        result = f.result;
        unsigned rounds = render_from_tails(&f, 1 + random_below((unsigned)f.options.cap * 2));
        at_once += rounds == 0;
        later += rounds > 0;
        assert_string_equal(f.out.data, expected.data);
        for (size_t i = 0; i < ETHOS_SECTIONS; i++) // of what was looked at, which differs
            f.result.parts[i].guarded = result.parts[i].guarded;
        assert_memory_equal(&f.result, &result, sizeof(result));
    }
    assert_in_range(at_once, 400, 4000);
    assert_in_range(later, 400, 4000);
    str_release(&expected);
    random_done(&f, texts);
}

static void test_the_first_tail_suffices_for_plain_text(void **state)
{
    struct str text;
    struct fixture f;

    (void)state;
    numbered_lines(&text, 5000);
    fixture_init(&f, 20000);
    set_text(&f, ETHOS_SECTION_MEMORY, str_view(&text));
    assert_int_equal(render_from_tails(&f, render_tail_bytes(&f.options)), 0);
    assert_in_range(f.out.size, 18000, 20000);
    f.options.cap = UINT64_MAX;
    assert_true(render_tail_bytes(&f.options) == UINT64_MAX);
    render(&f);
    assert_int_equal(f.out.size, 11 + text.size - 1);
    str_release(&text);
    str_release(&f.out);
}

static void test_a_tail_that_cannot_tell_asks_for_more(void **state)
{
    static const struct {
        const char *tail;
        bool more;
    } rows[] = {
        {"", true},
        {"no line starts here", true},
        {"x\n", true},            /* nothing whole */
        {"x\n \n\u3000\n", true}, /* blank, but what is before it may not be */
        {"x\nshort\n", true},
        {"x\n     0123456789\n", true}, /* ten units; whether the blanks count is unknown */
        {"x\n0123456789a\n", false},
    };
    struct fixture f;

    (void)state;
    fixture_init(&f, 10);
    f.options.tail = true;
    for (size_t i = 0; i < COUNT(rows); i++) {
        set_text(&f, ETHOS_SECTION_MEMORY, view_str(rows[i].tail));
        f.inputs[ETHOS_SECTION_MEMORY].offset = 1;
        render(&f);
        assert_int_equal(f.result.more, rows[i].more);
        assert_int_equal(f.out.size, rows[i].more ? 0 : 10);
    }
    str_release(&f.out);
}

/* ---- failure ------------------------------------------------------------------------------- */

static void test_without_memory_nothing_is_appended(void **state)
{
    struct fixture f;
    struct str text;
    int code = ETHOS_OK;
    unsigned failures = 0;

    (void)state;
    str_init(&text, CEILING);
    for (int i = 0; i < 50; i++)
        str_adds(&text, "[system]\nkey=aaaaaaaaaaaaaaaaaaaa \xff\nplain\n");
    fixture_init(&f, 400);
    f.options.tally = true;
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        set_text(&f, i, str_view(&text));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_release(&f.out);
        code = render_block(f.inputs, &f.options, &f.out, &f.result);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_NOMEM);
            assert_int_equal(f.out.size, 0);
            assert_false(f.result.more);
            failures++;
        }
    }
    assert_in_range(failures, 7, 100);
    str_release(&f.out);
    str_release(&text);
}

static void test_a_full_buffer_is_a_limit_and_gets_nothing(void **state)
{
    struct render_result result;
    struct fixture f;
    struct str small;

    (void)state;
    fixture_init(&f, 20000);
    set_text(&f, ETHOS_SECTION_MEMORY, VIEW("0123456789"));
    str_init(&small, 20);
    assert_int_equal(render_block(f.inputs, &f.options, &small, &result), ETHOS_LIMIT);
    assert_int_equal(small.size, 0);
    str_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections_have_headings_and_are_joined_by_a_blank_line),
        cmocka_unit_test(test_blank_and_absent_sections_are_skipped),
        cmocka_unit_test(test_the_block_is_appended),
        cmocka_unit_test(test_guard_and_redaction_act_before_trimming),
        cmocka_unit_test(test_invalid_utf8_shows_and_counts_as_one_replacement),
        cmocka_unit_test(test_what_hides_is_shown_and_counted_by_its_number),
        cmocka_unit_test(test_what_fits_the_cap_is_never_cut),
        cmocka_unit_test(test_each_section_has_its_guarantee),
        cmocka_unit_test(test_what_a_section_leaves_goes_to_user_then_workspace_then_memory),
        cmocka_unit_test(test_a_cut_section_says_where_its_tail_starts),
        cmocka_unit_test(test_cuts_fall_on_lines_that_are_not_blank),
        cmocka_unit_test(test_a_cut_prefers_a_full_kilobyte_while_it_keeps_three_quarters),
        cmocka_unit_test(test_small_appends_leave_the_prefix_of_the_block_alone),
        cmocka_unit_test(test_offsets_are_those_of_the_file_where_lines_were_replaced),
        cmocka_unit_test(test_a_last_line_too_long_is_cut_inside_at_a_grapheme),
        cmocka_unit_test(test_a_grapheme_larger_than_the_room_is_cut_at_a_character),
        cmocka_unit_test(test_a_cut_inside_a_replaced_line_counts_bytes_of_what_is_shown),
        cmocka_unit_test(test_a_section_without_room_for_its_marker_is_left_out),
        cmocka_unit_test(test_bytes_as_unit),
        cmocka_unit_test(test_tail_keeps_the_end_of_the_joined_text),
        cmocka_unit_test(test_tail_does_not_split_a_surrogate_pair),
        cmocka_unit_test(test_tally_counts_what_was_cut_guarded_and_redacted),
        cmocka_unit_test(test_random_texts_agree_with_the_model),
        cmocka_unit_test(test_plain_lines_before_accented_ones_count_as_they_are),
        cmocka_unit_test(test_a_tail_gives_the_bytes_and_cuts_of_the_whole),
        cmocka_unit_test(test_the_first_tail_suffices_for_plain_text),
        cmocka_unit_test(test_a_tail_that_cannot_tell_asks_for_more),
        cmocka_unit_test(test_without_memory_nothing_is_appended),
        cmocka_unit_test(test_a_full_buffer_is_a_limit_and_gets_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
