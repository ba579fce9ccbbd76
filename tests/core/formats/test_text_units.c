/*
 * test_text_units.c: what of a markdown text is found by itself.
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
#include "core/formats/text_units.h"

struct listing {
    struct ethos_view text;
    struct str out;
};

/* "[headings] date" for a section, "offset:text date" for a unit, LF as '|'. */
static int add_unit(void *arg, const struct text_unit *unit)
{
    struct listing *listing = arg;
    if (unit->section)
        str_printf(&listing->out, "[%.*s]", VIEW_ARG(unit->text));
    else
        str_printf(&listing->out, "%zu:%.*s", unit->offset, VIEW_ARG(unit->text));
    if (!unit->section)
        assert_memory_equal(listing->text.data + unit->offset, unit->text.data, unit->text.size);
    if (unit->date.year > 0)
        str_printf(&listing->out, " %04u-%02u-%02u", unit->date.year, unit->date.month,
                   unit->date.day);
    return str_addc(&listing->out, '\n');
}

static void assert_units(const char *text, const char *above, const char *expected)
{
    struct listing listing = {.text = view_str(text)};
    str_init(&listing.out, 4000);
    assert_int_equal(
        text_units_each(listing.text, view_str(above), (struct text_date){0}, add_unit, &listing),
        ETHOS_OK);
    for (char *c = listing.out.data; *c; c++)
        if (*c == '\n' && c[1] && c[1] != '[' && (c[1] < '0' || c[1] > '9'))
            *c = '|';
    assert_string_equal(listing.out.data, expected);
    str_release(&listing.out);
}

static void test_paragraphs_and_items(void **state)
{
    (void)state;
    assert_units("", "", "");
    assert_units("\n \n", "x", "");
    assert_units("one\nmore\n\n\ntwo", "", "[]\n0:one|more\n11:two\n");
    assert_units("- a\n  below\n\n  too\n* b\n1) c\n\nend\n", "",
                 "[]\n0:- a|  below||  too\n19:* b\n23:1) c\n29:end\n");
    assert_units("- a\n  - nested\n- b", "", "[]\n0:- a|  - nested\n15:- b\n");
    assert_units("text\n- item\n", "", "[]\n0:text\n5:- item\n");
}

static void test_code_is_one_unit(void **state)
{
    (void)state;
    assert_units("a:\n```\n# no heading\n\n- no item\n```\nb\n", "",
                 "[]\n0:a:|```|# no heading||- no item|```|b\n");
    assert_units("a\n\n~~~\nx\n\n~~~\n\nb\n", "", "[]\n0:a\n3:~~~|x||~~~\n15:b\n");
    assert_units("```\nnever closed\n\n# x", "", "[]\n0:```|never closed||# x\n");
}

static void test_headings_make_sections(void **state)
{
    (void)state;
    assert_units("a\n# One #\nb\n## Two\nc\n# Three\nd", "",
                 "[]\n0:a\n[One]\n10:b\n[One. Two]\n19:c\n[Three]\n29:d\n");
    assert_units("# Only\n\n## Headings\n", "", "");
    assert_units("b\n# One\nc", "Note", "[Note]\n0:b\n[Note. One]\n8:c\n");
    assert_units("#no heading\n####### nor this", "", "[]\n0:#no heading|####### nor this\n");
    assert_units("\xEF\xBB\xBF# One\nb", "", "[One]\n9:b\n");
}

/* The nearest date counts: that of the text, else that of the headings above. */
static void test_dates(void **state)
{
    (void)state;
    assert_units("- no date\n- on 2026-11-15\n", "",
                 "[]\n0:- no date\n10:- on 2026-11-15 2026-11-15\n");
    assert_units("# 2026-01-02\na\n## 2025-12-31 later\nb\nsince 2024-02-30\n# c\nd", "",
                 "[2026-01-02] 2026-01-02\n13:a 2026-01-02\n"
                 "[2026-01-02. 2025-12-31 later] 2025-12-31\n35:b|since 2024-02-30 2024-02-30\n"
                 "[c]\n58:d\n");
    assert_units("12026-11-15 2026-11-151 2026-13-01 2026-1-01 2026-11-1", "",
                 "[]\n0:12026-11-15 2026-11-151 2026-13-01 2026-1-01 2026-11-1\n");
    assert_units("x-y 1-2-2026-11-15.", "", "[]\n0:x-y 1-2-2026-11-15. 2026-11-15\n");
}

static int count_units(void *arg, const struct text_unit *unit)
{
    size_t *count = arg;
    (void)unit;
    return ++*count == 3 ? ETHOS_BUSY : ETHOS_OK;
}

static void test_the_walk_ends_early(void **state)
{
    size_t count = 0;
    int code = ETHOS_NOMEM;
    (void)state;
    assert_int_equal(text_units_each(VIEW("a\n\nb\n\nc\n\nd"), VIEW(""), (struct text_date){0},
                                     count_units, &count),
                     ETHOS_BUSY);
    assert_int_equal(count, 3);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        count = 10;
        code = text_units_each(VIEW("# long heading\na"), VIEW("above"), (struct text_date){0},
                               count_units, &count);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paragraphs_and_items),   cmocka_unit_test(test_code_is_one_unit),
        cmocka_unit_test(test_headings_make_sections), cmocka_unit_test(test_dates),
        cmocka_unit_test(test_the_walk_ends_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
