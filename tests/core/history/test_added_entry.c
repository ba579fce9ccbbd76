/*
 * test_added_entry.c: what an add put into a text, and how often a text has it.
 */
#include "core/history/added_entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/text/line_index.h"
#include "base/view.h"
#include "core/history/diff.h"

static size_t count_in(struct ethos_view text, struct ethos_view entry)
{
    struct line_index index;
    struct arena arena;
    size_t count = 99;

    arena_init(&arena);
    assert_int_equal(line_index_make(text, &arena, &index), ETHOS_OK);
    assert_int_equal(entry_count(&index, entry, &count), ETHOS_OK);
    arena_release(&arena);
    return count;
}

static void test_an_entry_is_what_an_add_put_in(void **state)
{
    static const struct {
        const char *before, *after, *entry;
    } cases[] = {
        {"", "one\n", "one"},
        {"first\n", "first\n\none\n\nmore\n", "one\n\nmore"},
        {"first", "first\n\none\n", "one"}, // the line before gets its end
        {"first\r\n", "first\r\n\r\none\r\nmore\r\n", "one\nmore"},
        {"first\n", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str diff, entry;

        str_init(&diff, SIZE_MAX);
        str_init(&entry, SIZE_MAX);
        diff_unified(view_str(cases[i].before), view_str(cases[i].after), "k", &diff);
        assert_int_equal(entry_read(str_view(&diff), &entry), ETHOS_OK);
        assert_string_equal(entry.data, cases[i].entry);
        assert_int_equal(entry_read(view_of(diff.data, diff.size - 2), &entry), ETHOS_OK);
        assert_int_equal(entry.size, 0); // it was cut
        str_release(&diff);
        str_release(&entry);
    }
}

static void test_places_that_overlap_count_once(void **state)
{
    (void)state;
    assert_int_equal(count_in(VIEW(""), VIEW("a")), 0);
    assert_int_equal(count_in(VIEW("a"), VIEW("")), 0);
    assert_int_equal(count_in(VIEW("a\nab\na\n"), VIEW("a")), 2);
    assert_int_equal(count_in(VIEW("a\r\nb\r\n\r\na\nb"), VIEW("a\nb")), 2);
    assert_int_equal(count_in(VIEW("xa\nb\na\nbx\n"), VIEW("a\nb")), 0);
    assert_int_equal(count_in(VIEW("a\na\na\n"), VIEW("a\na")), 1);
    assert_int_equal(count_in(VIEW("a\na\na\na"), VIEW("a\na")), 2);
}

/* ---- against the plain way ------------------------------------------------------------------- */

enum { LINES = 64 };

static unsigned long long seed = 11;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % below;
}

static void print(const char *letters, size_t count, const char *end, struct str *out)
{
    str_clear(out);
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%c%s", letters[i], end);
}

static size_t count_letters(const char *text, size_t size, const char *entry, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(text + i, entry, length) == 0) {
            count++;
            i += length - 1;
        }
    }
    return count;
}

/* Texts with few and with many lines like the first of the entry. */
static void test_random_texts_are_counted_as_letters_are(void **state)
{
    char text[LINES], entry[4];
    struct str lines, joined;

    (void)state;
    str_init(&lines, SIZE_MAX);
    str_init(&joined, SIZE_MAX);
    for (int round = 0; round < 5000; round++) {
        size_t size = pick(LINES + 1), length = 1 + pick(sizeof entry);
        unsigned letters = 1 + pick(4);

        for (size_t i = 0; i < size; i++)
            text[i] = (char)('a' + pick(letters));
        for (size_t i = 0; i < length; i++)
            entry[i] = (char)('a' + pick(letters));
        print(text, size, pick(2) ? "\r\n" : "\n", &lines);
        print(entry, length, "\n", &joined);
        str_truncate(&joined, joined.size - 1);
        assert_int_equal(count_in(str_view(&lines), str_view(&joined)),
                         count_letters(text, size, entry, length));
    }
    str_release(&lines);
    str_release(&joined);
}

/* Comparing line by line at each of them would be ten billion lines. */
static void test_long_entries_of_equal_lines_are_counted_by_one_search(void **state)
{
    enum { MANY = 200000 };
    struct str text;

    (void)state;
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < MANY; i++)
        str_adds(&text, "a\n");
    struct ethos_view half = view_of(text.data, text.size / 2 - 1);
    assert_int_equal(count_in(str_view(&text), half), 2);
    text.data[text.size / 2] = 'b';
    assert_int_equal(count_in(str_view(&text), half), 1);
    str_release(&text);
}

static void test_no_memory_is_told(void **state)
{
    struct line_index index;
    struct arena arena;
    struct str text;
    size_t count;
    int code = ETHOS_NOMEM;

    (void)state;
    arena_init(&arena);
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < 100; i++)
        str_adds(&text, "a\n");
    assert_int_equal(line_index_make(str_view(&text), &arena, &index), ETHOS_OK);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = entry_count(&index, VIEW("a\na"), &count);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_int_equal(count, 50);
    arena_release(&arena);
    str_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_is_what_an_add_put_in),
        cmocka_unit_test(test_places_that_overlap_count_once),
        cmocka_unit_test(test_random_texts_are_counted_as_letters_are),
        cmocka_unit_test(test_long_entries_of_equal_lines_are_counted_by_one_search),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
