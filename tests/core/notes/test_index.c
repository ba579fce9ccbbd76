/*
 * test_index.c: the lines of an index that point at notes.
 */
#include "core/notes/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void assert_view(struct ethos_view v, const char *expected)
{
    if (!view_eq_str(v, expected))
        fail_msg("'%.*s' is not '%s'", VIEW_ARG(v), expected);
}

/* ---- reading ------------------------------------------------------------------------------- */

static void test_entries_are_read_in_all_their_forms(void **state)
{
    static const struct {
        const char *line, *title, *file, *hook;
    } rows[] = {
        {"- [Title](file.md) \u2014 hook", "Title", "file.md", "hook"},
        {"* [Title](file.md) \u2014 hook", "Title", "file.md", "hook"},
        {"- [Title](file.md) \u2013 hook", "Title", "file.md", "hook"},
        {"- [Title](file.md) - hook", "Title", "file.md", "hook"},
        {"- [Title](file.md): hook", "Title", "file.md", "hook"},
        {"- [Title](file.md)", "Title", "file.md", ""},
        {"- [Title](file.md) \u2014", "Title", "file.md", ""},
        {"   -  [Title](file.md)  \u2014  hook \u2014 more  \r", "Title", "file.md",
         "hook \u2014 more"},
        {"- [a \\[b\\] c\\\\](x_1.y-Z.md) \u2014 h", "a \\[b\\] c\\\\", "x_1.y-Z.md", "h"},
        {"- [a [b] c](d.md)", "a [b] c", "d.md", ""},
        {"- [a\\](b.md) c](d.md)", "a\\](b.md) c", "d.md", ""},
        {"- [T](f.md) \u2014 see [U](g.md)", "T", "f.md", "see [U](g.md)"},
        {"- [ ] [Title](file.md) \u2014 hook", "Title", "file.md", "hook"},
        {"* [x]  [Title](file.md)", "Title", "file.md", ""},
        {"- [Title](./file.md) - hook", "Title", "file.md", "hook"},
        {"- `title` \u2014 hook (file: `slug.md`)", "title", "slug.md", "hook"},
        {"* `title`: hook (file: `slug.md`) ", "title", "slug.md", "hook"},
        {"- `title` (file: `slug.md`)", "title", "slug.md", ""},
        {"- `use `x`` \u2014 (file: `no.md`) yes (file: `slug.md`)\r", "use `x`", "slug.md",
         "(file: `no.md`) yes"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct index_entry entry = {.offset = 1};

        if (!index_line(view_str(rows[i].line), &entry))
            fail_msg("'%s' is an entry", rows[i].line);
        assert_view(entry.line, rows[i].line);
        assert_view(entry.title, rows[i].title);
        assert_view(entry.file, rows[i].file);
        assert_view(entry.hook, rows[i].hook);
        assert_int_equal(entry.offset, 0);
    }
}

static void test_everything_else_is_no_entry(void **state)
{
    static const char *const lines[] = {
        "",
        "-",
        "- ",
        "prose",
        "# Index",
        "[Title](file.md) \u2014 hook",
        "-[Title](file.md)",
        "+ [Title](file.md)",
        "    - [Title](file.md)",
        "1. [Title](file.md)",
        "- [Title]",
        "- [Title](file.md",
        "- [Title] (file.md)",
        "- [",
        "- [\\",
        "- [](file.md)",
        "- [ ](file.md)",
        "- [\x01](file.md)",
        "- [<title>\x01](file.md)",
        "- ` \x7f` \u2014 hook (file: `slug.md`)",
        "- [x] done",
        "- [Title](file.md) is a note",
        "- See [Title](file.md)",
        "- [Title](<file.md>) \u2014 hook",
        "- [<title>](file.md) \u2014 hook",
        "- [Title](file.txt)",
        "- [Title](file.MD)",
        "- [Title](.md)",
        "- [Title](dir/file.md)",
        "- [Title](../file.md)",
        "- [Title](.//file.md)",
        "- [Title](../file.md)",
        "- [Title](a..md)",
        "- [Title](.hidden.md)",
        "- [Title](-dash.md)",
        "- [Title](my file.md)",
        "- [Title](file.md \"t\")",
        "- [Title](file.md#part)",
        "- [Title](https://example.org/file.md)",
        "- [Title](SOUL.md)",
        "- [Title](memory-archive.md)",
        "- [Title]()",
        "- `<title>` \u2014 <hook> (file: `<file.md>`)",
        "- `<title>` \u2014 hook (file: `file.md`)",
        "- `title` \u2014 hook",
        "- `title` \u2014 hook (file: slug.md)",
        "- `title` \u2014 hook (file:`slug.md`)",
        "- `title` \u2014 hook (file: `a/b.md`)",
        "- `title hook (file: `slug.md`)",
        "- `title` hook (file: `slug.md`)",
        "- `` \u2014 hook (file: `slug.md`)",
        "- `)",
        "- ``)",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct index_entry entry;

        if (index_line(view_str(lines[i]), &entry))
            fail_msg("'%s' is no entry", lines[i]);
    }
}

static void test_a_file_name_of_128_bytes_is_the_longest(void **state)
{
    struct index_entry entry;
    char line[256];

    (void)state;
    snprintf(line, sizeof(line), "- [T](%0125d.md)", 0);
    assert_true(index_line(view_str(line), &entry));
    snprintf(line, sizeof(line), "- [T](%0126d.md)", 0);
    assert_false(index_line(view_str(line), &entry));
    assert_false(index_line(VIEW("- [T](a\0.md)"), &entry));
}

static void test_entries_are_found_between_other_lines(void **state)
{
    const char *text = "# Memory\n\n- [A](a.md) \u2014 one\r\n- not one\n* [B](b.md)\nprose\n"
                       "- `c` \u2014 three (file: `c.md`)";
    static const char *const files[] = {"a.md", "b.md", "c.md"};
    struct ethos_view all = view_str(text);
    struct index_entry entry;
    size_t offset = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        assert_true(index_next(all, &offset, &entry));
        assert_view(entry.file, files[i]);
        assert_ptr_equal(entry.line.data, text + entry.offset);
        assert_true(offset == all.size || text[offset - 1] == '\n');
    }
    assert_false(index_next(all, &offset, &entry));
    assert_int_equal(offset, all.size);
    assert_false(index_next(all, &offset, &entry));
    offset = 0;
    assert_false(index_next(view_str(NULL), &offset, &entry));
}

/* ---- writing ------------------------------------------------------------------------------- */

static void assert_format(const char *title, const char *hook, const char *expected)
{
    struct str out;

    str_init(&out, 4096);
    assert_int_equal(index_format(view_str(title), VIEW("f.md"), view_str(hook), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_entries_are_written_in_one_form(void **state)
{
    (void)state;
    assert_format("Title", "hook", "- [Title](f.md) \u2014 hook");
    assert_format("a [b] \\c", "[x] \\y", "- [a \\[b\\] \\\\c](f.md) \u2014 [x] \\y");
    assert_format(" two\n lines ", "\thook\u3000 over\r\nlines\n",
                  "- [two lines](f.md) \u2014 hook over lines");
    assert_format("Title", " \n", "- [Title](f.md)");
    assert_format("Title", NULL, "- [Title](f.md)");
}

static void test_hooks_are_cut_to_100_units_on_a_grapheme(void **state)
{
    char hook[256], expected[512], tens[121] = "";

    (void)state;
    for (int i = 0; i < 12; i++)
        memcpy(tens + 10 * i, "0123456789", 11);
    assert_format("T", tens + 20,
                  "- [T](f.md) \u2014 0123456789012345678901234567890123456789"
                  "012345678901234567890123456789012345678901234567890123456789");
    snprintf(expected, sizeof(expected), "- [T](f.md) \u2014 %.100s\u2026", tens);
    assert_format("T", tens, expected);
    /* A pair that starts at the 100th unit, and a mark that would be the 101st. */
    snprintf(hook, sizeof(hook), "%.99s\U0001f600", tens);
    snprintf(expected, sizeof(expected), "- [T](f.md) \u2014 %.99s\u2026", tens);
    assert_format("T", hook, expected);
    snprintf(hook, sizeof(hook), "%.99se\u0301", tens);
    assert_format("T", hook, expected);
    snprintf(hook, sizeof(hook), "%.98se\u0301", tens);
    snprintf(expected, sizeof(expected), "- [T](f.md) \u2014 %s", hook);
    assert_format("T", hook, expected);
}

static void test_what_is_written_is_read_back(void **state)
{
    static const char *const titles[] = {"Plain", "a](b.md) c", "[x]", "back\\slash\\", "`tick`"};
    static const char *const hooks[] = {"",        "hook",   "- dash",
                                        ": colon", "\u2014", "(file: `x.md`)"};

    (void)state;
    for (size_t i = 0; i < COUNT(titles) * COUNT(hooks); i++) {
        const char *title = titles[i % COUNT(titles)], *hook = hooks[i / COUNT(titles)];
        struct index_entry entry;
        struct str out;

        str_init(&out, 4096);
        index_format(view_str(title), VIEW("f.md"), view_str(hook), &out);
        assert_true(index_line(str_view(&out), &entry));
        assert_view(entry.file, "f.md");
        assert_view(entry.hook, hook);
        str_release(&out);
    }
}

static void test_a_full_buffer_is_a_limit(void **state)
{
    struct str out;

    (void)state;
    for (size_t ceiling = 0; ceiling < 24; ceiling++) {
        str_init(&out, ceiling);
        assert_int_equal(index_format(VIEW("Title"), VIEW("f.md"), VIEW("hook"), &out),
                         ETHOS_LIMIT);
        str_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_are_read_in_all_their_forms),
        cmocka_unit_test(test_everything_else_is_no_entry),
        cmocka_unit_test(test_a_file_name_of_128_bytes_is_the_longest),
        cmocka_unit_test(test_entries_are_found_between_other_lines),
        cmocka_unit_test(test_entries_are_written_in_one_form),
        cmocka_unit_test(test_hooks_are_cut_to_100_units_on_a_grapheme),
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_a_full_buffer_is_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
