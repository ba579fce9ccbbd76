/*
 * test_links.c: links between notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "core/notes/links.h"

#include "../../support/alloc.h"

static void assert_moved(const char *text, const char *expected)
{
    struct str out;

    str_init(&out, 4096);
    assert_int_equal(link_move(view_str(text), VIEW("old"), VIEW("new-name"), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    assert_int_equal(link_to(view_str(text), VIEW("old")), strcmp(text, expected) != 0);
    str_release(&out);
}

static void test_every_form_of_a_link_follows(void **state)
{
    (void)state;
    assert_moved("[[old]]", "[[new-name]]");
    assert_moved("see [[old|the text]] and [[old#part]].",
                 "see [[new-name|the text]] and [[new-name#part]].");
    assert_moved("[a](old.md) [b](./old.md) [c](old.md#x)",
                 "[a](new-name.md) [b](./new-name.md) [c](new-name.md#x)");
    assert_moved("[[[old]]", "[[[new-name]]");
}

static void test_what_only_looks_like_one_stays(void **state)
{
    static const char *const texts[] = {
        "",         "old",      "[[older]]",     "[[an-old]]",     "[[old",
        "[old]",    "[[old ]]", "(old.md)",      "[x](older.md)",  "[x](old.mdx)",
        "[x](old)", "[[OLD]]",  "[x](a/old.md)", "[x](../old.md)", "]](old.md",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_moved(texts[i], texts[i]);
}

static void test_an_empty_name_is_no_note(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 64);
    assert_false(link_to(VIEW("[[]]"), VIEW("")));
    assert_int_equal(link_move(VIEW("[[]]"), VIEW(""), VIEW("x"), &out), ETHOS_OK);
    assert_string_equal(out.data, "[[]]");
    str_release(&out);
}

static void test_lack_of_memory_is_told(void **state)
{
    struct str out;
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&out, 4096);
        code = link_move(VIEW("a [[old]] b"), VIEW("old"), VIEW("new"), &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
}

static void assert_links(const char *text, const char *expected)
{
    struct ethos_view rest = view_str(text), name;
    struct str found;

    str_init(&found, 4096);
    while (link_next(&rest, &name))
        str_printf(&found, "%.*s;", VIEW_ARG(name));
    assert_string_equal(found.data, expected);
    str_release(&found);
}

static void test_links_are_found_in_order(void **state)
{
    (void)state;
    assert_links("[[a]] [[b|text]] [[c d#part]] [x](e.md) [y](./f.md#z)", "a;b;c d;e;f;");
    assert_links("[[a]][[a]]", "a;a;");
    assert_links("[[]] [[ [a] [b](c.txt) [d](http://e.md) [f](g/h.md) [](.md) [[i", "");
    assert_links("[[a\nb]] [[[c]]", "c;");
    assert_links("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_a_link_follows),
        cmocka_unit_test(test_what_only_looks_like_one_stays),
        cmocka_unit_test(test_an_empty_name_is_no_note),
        cmocka_unit_test(test_lack_of_memory_is_told),
        cmocka_unit_test(test_links_are_found_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
