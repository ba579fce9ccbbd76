/*
 * test_profile_merge.c: which lines of one profile another lacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/profile_merge.h"

static void assert_missing(const char *from, const char *into, const char *expected, size_t count)
{
    struct str out;
    size_t found = 99;
    str_init(&out, SIZE_MAX);
    assert_int_equal(profile_missing(view_str(from), view_str(into), &out, &found), ETHOS_OK);
    assert_int_equal(out.size, strlen(expected));
    assert_memory_equal(out.size ? out.data : "", expected, out.size);
    assert_int_equal(found, count);
    str_release(&out);
}

static void test_lines_that_are_missing(void **state)
{
    (void)state;
    assert_missing("", "", "", 0);
    assert_missing("a\nb\n", "", "a\nb", 2);
    assert_missing("", "a\n", "", 0);
    assert_missing("a\nb\n", "b\na", "", 0);
    assert_missing("c\na\nb", "a\n", "c\nb", 2);
    assert_missing("z\n\n  \na\nz\na", "q\n", "z\na", 2);
    assert_missing("a  \r\nb", "a\n", "b", 1);
    assert_missing("a\n", "ab\n", "a", 1);
    assert_missing("ab\n", "a\n", "ab", 1);
}

/* Equal lines and lines without end are no reason to take long: a sort each, whatever they hold. */
static void test_many_equal_lines(void **state)
{
    enum { LINES = 200000 };
    char *text = malloc(2 * LINES + 1);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++)
        memcpy(text + 2 * i, "x\n", 2);
    text[2 * LINES] = '\0';
    assert_missing(text, "", "x", 1);
    assert_missing(text, text, "", 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines_that_are_missing),
                                       cmocka_unit_test(test_many_equal_lines)};
    return cmocka_run_group_tests_name("core/profile", tests, NULL, NULL);
}
