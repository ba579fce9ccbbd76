/*
 * test_index_edit.c: entries of an index added, refreshed, moved and taken out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"
#include "core/notes/index.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define LIMIT ((size_t)1 << 24)
#define DASH "\u2014"

static const char by_hand[] = "# Notes\r\n"
                              "\n"
                              "Some prose, see [other](x.md).\n"
                              "<!-- - [No](no.md) " DASH " a comment -->\n"
                              "* [First](a.md): kept as it is  \n"
                              "- [B \\[x\\]](b.md) " DASH " hook b\r\n"
                              "- `tick` " DASH " hook c (file: `c.md`)\n"
                              "\n"
                              "## Later \xff\n"
                              "- [ ] to do\n"
                              "the end, no newline";

/* ---- finding ------------------------------------------------------------------------------- */

static void test_entries_are_found_by_file_and_title(void **state)
{
    struct ethos_view text = view_str(by_hand);
    struct index_entry entry;

    (void)state;
    assert_true(index_find(text, VIEW("c.md"), &entry));
    assert_true(entry.ticked && view_eq(entry.title, VIEW("tick")));
    assert_false(index_find(text, VIEW("x.md"), &entry));
    assert_false(index_find(text, VIEW("no.md"), &entry));
    assert_true(index_find_title(text, VIEW(" B\n [x] "), &entry));
    assert_true(!entry.ticked && view_eq(entry.file, VIEW("b.md")));
    assert_false(index_find_title(text, VIEW("B \\[x\\]"), &entry));
    assert_false(index_find_title(text, VIEW("B"), &entry));
    assert_false(index_find_title(text, VIEW(""), &entry));
    assert_false(index_find(view_str(NULL), VIEW("a.md"), &entry));
}

static void test_titles_in_any_script_are_written_and_found_again(void **state)
{
    static const char *const titles[] = {
        "\u4e2d\u6587 \u6807\u9898",
        "\u0639\u0646\u0648\u0627\u0646",
        "\U0001f600",
        "a [b] \\c\\ ](x.md) d",
        "\\",
        "]",
        "<title>",
        "<TITLE>",
        "`tick`",
        "../x",
        "CON",
        "!?*_",
        "ends with \\",
    };
    struct str text, title;
    struct index_entry entry;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&title, LIMIT);
    for (size_t i = 0; i < COUNT(titles); i++) {
        str_clear(&text);
        str_clear(&title);
        index_format(view_str(titles[i]), VIEW("f.md"), VIEW("hook"), &text);
        if (!index_find_title(str_view(&text), view_str(titles[i]), &entry))
            fail_msg("%s", text.data);
        assert_int_equal(index_title(&entry, &title), ETHOS_OK);
        assert_string_equal(title.data, titles[i]);
    }
    str_release(&title);
    str_release(&text);
}

static void test_titles_of_ticked_lines_have_no_escapes(void **state)
{
    struct index_entry entry;
    struct str title;

    (void)state;
    str_init(&title, LIMIT);
    assert_true(index_line(VIEW("- `a\\[b` " DASH " h (file: `c.md`)"), &entry));
    index_title(&entry, &title);
    assert_string_equal(title.data, "a\\[b");
    assert_true(index_has_title(&entry, VIEW("a\\[b")));
    assert_true(index_line(VIEW("- [C:\\dir \\*x\\*](c.md)"), &entry));
    assert_true(index_has_title(&entry, VIEW("C:\\dir *x*")));
    str_release(&title);
}

static void test_links_to_the_index_and_the_profile_are_no_entries(void **state)
{
    struct index_entry entry;

    (void)state;
    assert_false(index_line(VIEW("- [Index](MEMORY.md)"), &entry));
    assert_false(index_line(VIEW("- [Me](USER.md) " DASH " who"), &entry));
    assert_true(index_line(VIEW("- [Me](user.md) " DASH " who"), &entry));
}

/* ---- putting ------------------------------------------------------------------------------- */

static void assert_put(const char *text, const char *title, const char *file, const char *hook,
                       const char *expected)
{
    struct str out;

    str_init(&out, LIMIT);
    str_adds(&out, "rubbish");
    assert_int_equal(
        index_put(view_str(text), view_str(title), view_str(file), view_str(hook), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_a_new_line_goes_right_after_the_last_entry(void **state)
{
    (void)state;
    assert_put("# N\n- [A](a.md)\nprose\n- [B](b.md) " DASH " b\n\nmore prose\n", "C", "c.md", "c",
               "# N\n- [A](a.md)\nprose\n- [B](b.md) " DASH " b\n- [C](c.md) " DASH
               " c\n\nmore prose\n");
    assert_put("- [A](a.md)", "C", "c.md", "", "- [A](a.md)\n- [C](c.md)\n");
    assert_put("- [A](a.md)\r\nprose\n", "C", "c.md", "", "- [A](a.md)\r\n- [C](c.md)\r\nprose\n");
    assert_put("# N\r\n- [A](a.md)", "C", "c.md", "", "# N\r\n- [A](a.md)\r\n- [C](c.md)\r\n");
    assert_put("- `t` (file: `a.md`)\n", "[C]", "c.md", "h",
               "- `t` (file: `a.md`)\n- [\\[C\\]](c.md) " DASH " h\n");
    assert_put("- [A](a.md)\n", " ", "c-d.md", "", "- [A](a.md)\n- [c-d](c-d.md)\n");
}

static void test_the_first_line_is_added_as_add_does(void **state)
{
    (void)state;
    assert_put(NULL, "C", "c.md", "h", "- [C](c.md) " DASH " h\n");
    assert_put("", "C", "c.md", "h", "- [C](c.md) " DASH " h\n");
    assert_put("# N\n\n\n", "C", "c.md", "", "# N\n\n- [C](c.md)\n");
    assert_put("# N", "C", "c.md", "", "# N\n\n- [C](c.md)\n");
    assert_put("# N\r\n", "C", "c.md", "", "# N\r\n\r\n- [C](c.md)\r\n");
    assert_put(" \n", "C", "c.md", "", "\n\n- [C](c.md)\n");
}

static void test_a_hook_is_refreshed_in_place(void **state)
{
    (void)state;
    assert_put("* [A](a.md): old  \r\nx", "T", "a.md", "new\nhook", "* [A](a.md): new hook  \r\nx");
    assert_put("  - [A](a.md)   \u2013  old\n", "T", "a.md", "new",
               "  - [A](a.md)   \u2013  new\n");
    assert_put("- [A](a.md)\n", "T", "a.md", "new", "- [A](a.md) " DASH " new\n");
    assert_put("- [A](a.md) -  \r\n", "T", "a.md", "new", "- [A](a.md) " DASH " new  \r\n");
    assert_put("- `A` " DASH " old (file: `a.md`)\r\n", "T", "a.md", "new",
               "- `A` " DASH " new (file: `a.md`)\r\n");
    assert_put("- `A` (file: `a.md`)\n", "T", "a.md", "new", "- `A` " DASH " new (file: `a.md`)\n");
    assert_put("- `A`: (file: `a.md`)\n", "T", "a.md", "new",
               "- `A` " DASH " new (file: `a.md`)\n");
    assert_put("- [A](a.md) " DASH " old\n", "T", "a.md", " \n", "- [A](a.md) " DASH " old\n");
    assert_put("- [A](a.md) " DASH " 1\n- [A](a.md) " DASH " 2\n", "T", "a.md", "new",
               "- [A](a.md) " DASH " new\n- [A](a.md) " DASH " 2\n");
}

static void test_all_else_survives_a_hundred_changes(void **state)
{
    struct str text, out;
    struct index_entry entry;
    char file[32], title[32];
    size_t entries = 0, offset = 0;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&out, LIMIT);
    str_adds(&text, by_hand);
    for (int i = 0; i < 100; i++) {
        snprintf(file, sizeof(file), "n%d.md", i % 40);
        snprintf(title, sizeof(title), "T%d", i);
        if (i % 7 == 3)
            index_drop(str_view(&text), view_str(file), &out);
        else if (i % 7 == 5)
            index_move(str_view(&text), view_str(file), VIEW("moved.md"), view_str(title), &out);
        else
            index_put(str_view(&text), view_str(title), view_str(file), view_str(title), &out);
        assert_int_equal(str_code(&out), ETHOS_OK);
        str_clear(&text);
        str_add(&text, str_view(&out));
    }
    str_clear(&out);
    while (index_next(str_view(&text), &offset, &entry)) {
        bool own = entry.file.data[0] != 'n' && entry.file.data[0] != 'm';
        if (own)
            str_add(&out, view_of(entry.line.data, offset - entry.offset));
        entries++;
    }
    assert_true(entries > 20);
    assert_non_null(strstr(by_hand, out.data)); /* the three lines of the hand, in order */
    const char *tail = strstr(by_hand, "\n## Later");
    assert_true(view_ends(str_view(&text), view_str(tail)));
    assert_true(view_starts(str_view(&text),
                            view_of(by_hand, (size_t)(strstr(by_hand, "\n\n## Later") - by_hand))));
    str_release(&out);
    str_release(&text);
}

/* ---- dropping and moving ------------------------------------------------------------------- */

static void test_dropping_takes_all_lines_of_the_file(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    index_drop(VIEW("a\n- [A](a.md)\r\nb\n* [A](a.md): x\n- `A` (file: `a.md`)\n- [B](b.md)"),
               VIEW("a.md"), &out);
    assert_string_equal(out.data, "a\nb\n- [B](b.md)");
    index_drop(VIEW("x\n- [B](b.md)"), VIEW("b.md"), &out);
    assert_string_equal(out.data, "x\n");
    index_drop(view_str(by_hand), VIEW("none.md"), &out);
    assert_string_equal(out.data, by_hand);
    index_drop(view_str(NULL), VIEW("none.md"), &out);
    assert_string_equal(out.data, "");
    str_release(&out);
}

static void assert_move(const char *text, const char *title, const char *expected)
{
    struct str out;

    str_init(&out, LIMIT);
    assert_int_equal(
        index_move(view_str(text), VIEW("a.md"), VIEW("new.md"), view_str(title), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_moving_changes_file_and_title_only(void **state)
{
    (void)state;
    assert_move("x\n  * [A](a.md):  hook \r\ny", NULL, "x\n  * [A](new.md):  hook \r\ny");
    assert_move("- [A](a.md) " DASH " a.md\n", "[T]", "- [\\[T\\]](new.md) " DASH " a.md\n");
    assert_move("- `A` " DASH " h (file: `a.md`)\n- [B](b.md)\n", "T",
                "- `T` " DASH " h (file: `new.md`)\n- [B](b.md)\n");
    assert_move("- `A` " DASH " h (file: `a.md`)\r\nx\n", "t` " DASH " u",
                "- [t` " DASH " u](new.md) " DASH " h\r\nx\n");
    assert_move("- [A](a.md)\n", "<title>", "- [\\<title>](new.md)\n");
    assert_move("- [B](b.md)\n", "T", "- [B](b.md)\n");
}

/* ---- reconciling --------------------------------------------------------------------------- */

static void log_problem(void *arg, enum index_problem problem, struct ethos_view file, size_t line)
{
    static const char *const names[] = {"unlisted", "missing", "double"};

    str_printf(arg, "%s %.*s %zu\n", names[problem], VIEW_ARG(file), line);
}

static void assert_reconcile(const char *text, const char *files, const char *expected,
                             const char *problems)
{
    struct index_note notes[16];
    struct str out, again, log;
    size_t count = 0;

    str_init(&out, LIMIT);
    str_init(&again, LIMIT);
    str_init(&log, LIMIT);
    for (; *files; files += 4)
        notes[count++] = (struct index_note){view_of(files, 4), view_of(files, 1), VIEW("hook")};
    assert_int_equal(index_reconcile(view_str(text), notes, count, &out, log_problem, &log),
                     ETHOS_OK);
    assert_string_equal(out.data, expected);
    assert_string_equal(log.data, problems);
    str_clear(&log);
    assert_int_equal(index_reconcile(view_str(text), notes, count, NULL, log_problem, &log),
                     ETHOS_OK);
    assert_string_equal(log.data, problems);
    str_clear(&log);
    index_reconcile(str_view(&out), notes, count, &again, log_problem, &log);
    assert_string_equal(again.data, expected);
    assert_string_equal(log.data, "");
    str_release(&log);
    str_release(&again);
    str_release(&out);
}

static void test_reconciling_mends_exactly_what_disagrees(void **state)
{
    (void)state;
    assert_reconcile("# N\n- [A](a.md): x\n- [X](x.md)\n\nprose\n* [A](a.md)\nend", "a.mdb.mdc.md",
                     "# N\n- [A](a.md): x\n- [b](b.md) " DASH " hook\n- [c](c.md) " DASH
                     " hook\n\nprose\nend",
                     "missing x.md 3\ndouble a.md 6\nunlisted b.md 0\nunlisted c.md 0\n");
    assert_reconcile(by_hand, "a.mdb.mdc.md", by_hand, "");
    assert_reconcile("", "", "", "");
    assert_reconcile(NULL, "a.md", "- [a](a.md) " DASH " hook\n", "unlisted a.md 0\n");
    assert_reconcile("prose \n\n", "", "prose \n\n", "");
    assert_reconcile("prose \n\n", "a.mdb.md",
                     "prose\n\n- [a](a.md) " DASH " hook\n- [b](b.md) " DASH " hook\n",
                     "unlisted a.md 0\nunlisted b.md 0\n");
}

static void test_new_lines_come_where_the_last_one_stood(void **state)
{
    (void)state;
    assert_reconcile("top\n- [X](x.md)\r\n\nend\n", "a.md",
                     "top\n- [a](a.md) " DASH " hook\r\n\nend\n",
                     "missing x.md 2\nunlisted a.md 0\n");
    assert_reconcile("top\n- [X](x.md)", "a.md", "top\n- [a](a.md) " DASH " hook\n",
                     "missing x.md 2\nunlisted a.md 0\n");
    assert_reconcile("- [A](a.md)", "a.mdb.md", "- [A](a.md)\n- [b](b.md) " DASH " hook\n",
                     "unlisted b.md 0\n");
}

static void test_ten_thousand_notes_are_reconciled(void **state)
{
    enum { MANY = 10000 };
    static char names[MANY][16];
    static struct index_note notes[MANY];
    struct str text, out, log;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&out, LIMIT);
    str_init(&log, LIMIT);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "n%05zu.md", i);
        notes[i] = (struct index_note){view_str(names[i]), view_str(names[i]), VIEW("hook")};
    }
    for (size_t i = MANY; i > 0; i -= 2)
        str_printf(&text, "- [T](%s)\nprose %zu\n", names[i - 1], i);
    assert_int_equal(index_reconcile(str_view(&text), notes, MANY, &out, log_problem, &log),
                     ETHOS_OK);
    size_t lines = 0, offset = 0;
    struct index_entry entry;
    while (index_next(str_view(&out), &offset, &entry))
        lines++;
    assert_int_equal(lines, MANY);
    assert_true(view_starts(str_view(&log), VIEW("unlisted n00000.md 0\nunlisted n00002.md 0\n")));
    str_release(&log);
    str_release(&out);
    str_release(&text);
}

static void test_lack_of_memory_is_reported(void **state)
{
    const struct index_note note = {VIEW("x.md"), VIEW("X"), VIEW("hook")};
    int code = ETHOS_NOMEM;
    struct str out;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&out, LIMIT);
        code = index_put(view_str(by_hand), VIEW("T"), VIEW("t.md"), VIEW("h"), &out);
        if (!code)
            code = index_move(view_str(by_hand), VIEW("c.md"), VIEW("t.md"), VIEW("`"), &out);
        if (!code)
            code = index_reconcile(view_str(by_hand), &note, 1, &out, NULL, NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
    str_init(&out, 16);
    assert_int_equal(index_put(view_str(by_hand), VIEW("T"), VIEW("t.md"), VIEW("h"), &out),
                     ETHOS_LIMIT);
    assert_int_equal(index_drop(view_str(by_hand), VIEW("t.md"), &out), ETHOS_LIMIT);
    assert_int_equal(index_move(view_str(by_hand), VIEW("c.md"), VIEW("t.md"), VIEW("x"), &out),
                     ETHOS_LIMIT);
    assert_int_equal(index_reconcile(view_str(by_hand), &note, 1, &out, NULL, NULL), ETHOS_LIMIT);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_found_by_file_and_title),
        cmocka_unit_test(test_titles_in_any_script_are_written_and_found_again),
        cmocka_unit_test(test_titles_of_ticked_lines_have_no_escapes),
        cmocka_unit_test(test_links_to_the_index_and_the_profile_are_no_entries),
        cmocka_unit_test(test_a_new_line_goes_right_after_the_last_entry),
        cmocka_unit_test(test_the_first_line_is_added_as_add_does),
        cmocka_unit_test(test_a_hook_is_refreshed_in_place),
        cmocka_unit_test(test_all_else_survives_a_hundred_changes),
        cmocka_unit_test(test_dropping_takes_all_lines_of_the_file),
        cmocka_unit_test(test_moving_changes_file_and_title_only),
        cmocka_unit_test(test_reconciling_mends_exactly_what_disagrees),
        cmocka_unit_test(test_new_lines_come_where_the_last_one_stood),
        cmocka_unit_test(test_ten_thousand_notes_are_reconciled),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
