/*
 * test_edit.c: the input: text, cursor, undo, history and rows.
 */
#include "chat/terminal/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MAX_SHOWN 65536
#define COLUMNS 20
#define SOON 10000

struct fixture {
    struct cluster_widths widths;
    struct edit_buffer edit;
    struct keys keys;
    enum edit_result result; /* of the last key */
};

static void pass_key(void *arg, const struct key *key)
{
    struct fixture *fixture = arg;
    fixture->result = edit_key(&fixture->edit, key);
}

static void fixture_open(struct fixture *fixture)
{
    cluster_widths_init(&fixture->widths);
    edit_init(&fixture->edit, COLUMNS, &fixture->widths);
    keys_init(&fixture->keys, false, pass_key, fixture);
}

static void fixture_close(struct fixture *fixture)
{
    keys_release(&fixture->keys);
    edit_release(&fixture->edit);
    cluster_widths_release(&fixture->widths);
}

/* Each string is read on its own, with silence behind it. */
static enum edit_result press(struct fixture *fixture, const char *bytes)
{
    keys_feed(&fixture->keys, view_str(bytes), 0);
    keys_expire(&fixture->keys, SOON);
    keys_expire(&fixture->keys, (int64_t)2 * SOON);
    return fixture->result;
}

/* The text with | at the cursor. */
static void assert_text(struct fixture *fixture, const char *expected)
{
    struct ethos_view text = str_view(&fixture->edit.text);
    struct str shown;
    str_init(&shown, MAX_SHOWN);
    str_add(&shown, view_of(text.data, fixture->edit.cursor));
    str_addc(&shown, '|');
    str_add(&shown, view_from(text, fixture->edit.cursor));
    assert_string_equal(shown.data, expected);
    str_release(&shown);
}

static const struct {
    const char *keys[8], *text;
} cases[] = {
    {{"hello"}, "hello|"},
    {{"one", "\033\r", "two"}, "one\ntwo|"},
    {{"one", "\n", "two"}, "one\ntwo|"},
    {{"one\\", "\r", "two"}, "one\ntwo|"},
    {{"\033[200~a\r\tb\003\033[201~"}, "a\n\tb\003|"},
    {{"abc", "\033[D\033[D", "\177"}, "|bc"},
    {{"abc", "\001", "\033[3~"}, "|bc"},
    {{"abc", "\002", "\004"}, "ab|"},
    {{"abc", "\001\006", "x"}, "ax|bc"},
    {{"one two", "\033b", "x"}, "one x|two"},
    {{"one two", "\001\033f", "x"}, "onex| two"},
    {{"one two", "\001\033d"}, "| two"},
    {{"one, two.", "\033\177"}, "one, |"},
    {{"one /a/b", "\027"}, "one |"},
    {{"one\n", "two", "\001", "x"}, "one\nx|two"},
    {{"a\nb", "\033[A\005", "x"}, "ax|\nb"},
    {{"one\ntwo", "\025"}, "one\n|"},
    {{"one\ntwo", "\033[A\001\013"}, "|\ntwo"},
    {{"one\ntwo", "\033[A\001\013\013"}, "|two"},
    {{"one\ntwo", "\033[A\001\013\013", "\005\031"}, "twoone\n|"},
    {{"one two three", "\027\027", "\031"}, "one two three|"},
    {{"one two", "\027\001\027", "\031"}, "two|one "},
    {{"ab", "\033[H", "x", "\033[F", "y"}, "xaby|"},
    /* clusters */
    {{"a👨‍👩‍👧b", "\033[D", "\177"}, "a|b"},
    {{"a👨‍👩‍👧b", "\033[D\033[D", "x"}, "ax|👨‍👩‍👧b"},
    {{"e\314\201x", "\033[D\177"}, "|x"},
    {{"\314\201", "\001", "e"}, "e\314\201|"},
    {{"漢字", "\177"}, "漢|"},
    {{"漢字", "\033b", "x"}, "x|漢字"},
    /* undo */
    {{"one two", "\037"}, "one |"},
    {{"one two", "\037\037"}, "|"},
    {{"one two", "\037\037\037"}, "|"},
    {{"one", "\033[200~a\rb\033[201~", "\037"}, "one|"},
    {{"one two", "\001\013", "\037"}, "|one two"},
    /* nothing there */
    {{"\177\033[3~\002\006\033b\033f\033d\013\025\027\031\037\033[A\033[B"}, "|"},
};

static void test_keys_edit(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture fixture;
        fixture_open(&fixture);
        for (size_t k = 0; k < COUNT(cases[i].keys) && cases[i].keys[k]; k++)
            press(&fixture, cases[i].keys[k]);
        assert_text(&fixture, cases[i].text);
        fixture_close(&fixture);
    }
}

static void test_keys_of_the_caller_are_ignored(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    assert_int_equal(press(&fixture, "\004"), EDIT_IGNORED);
    press(&fixture, "ab");
    static const char *const others[] = {"\033", "\t", "\003", "\032", "\014", "\030", "\033[5;7R"};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_int_equal(press(&fixture, others[i]), EDIT_IGNORED);
    assert_text(&fixture, "ab|");
    assert_int_equal(press(&fixture, "\r"), EDIT_SEND);
    assert_text(&fixture, "ab|");
    fixture_close(&fixture);
}

static void send(struct fixture *fixture, const char *message)
{
    assert_int_equal(edit_add_history(&fixture->edit, view_str(message)), ETHOS_OK);
    edit_clear(&fixture->edit);
}

static void test_history_has_earlier_messages(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    send(&fixture, "first");
    send(&fixture, "second\nline");
    send(&fixture, "second\nline");
    send(&fixture, "  ");
    press(&fixture, "draft");
    press(&fixture, "\033[A");
    assert_text(&fixture, "second\nline|");
    press(&fixture, "\033[A"); /* to its first row */
    assert_text(&fixture, "seco|nd\nline");
    press(&fixture, "\033[A");
    assert_text(&fixture, "first|");
    assert_int_equal(press(&fixture, "\033[A"), EDIT_IGNORED);
    press(&fixture, "\033[B");
    assert_text(&fixture, "second\nline|");
    press(&fixture, "\033[B");
    assert_text(&fixture, "draft|");
    assert_int_equal(press(&fixture, "\033[B"), EDIT_IGNORED);
    fixture_close(&fixture);
}

static void test_history_has_a_limit(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    for (int i = 0; i < EDIT_MAX_HISTORY + 5; i++) {
        char message[32];
        snprintf(message, sizeof message, "message %d", i);
        send(&fixture, message);
    }
    assert_int_equal(fixture.edit.history_count, EDIT_MAX_HISTORY);
    assert_string_equal(fixture.edit.history[0], "message 5");
    press(&fixture, "\033[A");
    assert_text(&fixture, "message 1004|");
    fixture_close(&fixture);
}

static void test_history_is_searched(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    send(&fixture, "make test");
    send(&fixture, "git log");
    send(&fixture, "make all");
    press(&fixture, "draft");
    press(&fixture, "\022");
    press(&fixture, "ma");
    assert_text(&fixture, "|make all");
    press(&fixture, "\022");
    assert_text(&fixture, "|make test");
    press(&fixture, "\022");
    assert_false(fixture.edit.found);
    assert_text(&fixture, "|make test");
    press(&fixture, "\033");
    assert_text(&fixture, "draft|");
    assert_false(fixture.edit.searching);

    press(&fixture, "\022ax");
    assert_false(fixture.edit.found);
    press(&fixture, "\177");
    assert_true(fixture.edit.found);
    press(&fixture, "ll");
    assert_text(&fixture, "make |all");
    press(&fixture, "\005!");
    assert_text(&fixture, "make all!|");
    press(&fixture, "\037");
    press(&fixture, "\022git");
    assert_int_equal(press(&fixture, "\r"), EDIT_SEND);
    assert_text(&fixture, "|git log");
    fixture_close(&fixture);
}

/* Rows between slashes, then the cursor. */
static void assert_rows(struct fixture *fixture, const char *expected)
{
    struct edit_rows rows = {0};
    struct str shown;
    str_init(&shown, MAX_SHOWN);
    assert_int_equal(edit_layout(&fixture->edit, &rows), ETHOS_OK);
    for (size_t i = 0; i < rows.count; i++) {
        edit_print_row(&fixture->edit, rows.rows[i], &shown);
        str_addc(&shown, '/');
    }
    str_printf(&shown, " %zu,%d", rows.cursor_row, rows.cursor_column);
    assert_string_equal(shown.data, expected);
    str_release(&shown);
    edit_rows_release(&rows);
}

static void test_rows_are_of_the_width(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int columns;
        const char *rows;
    } layouts[] = {
        {"", 10, "/ 0,0"},
        {"one\n\ntwo", 10, "one//two/ 2,3"},
        {"one\n", 10, "one// 1,0"},
        {"abcdefgh", 4, "abcd/efgh/ 1,4"},
        {"abcdefghi", 4, "abcd/efgh/i/ 2,1"},
        {"漢字漢字", 5, "漢字/漢字/ 1,4"},
        {"a\tb", 10, "a    b/ 0,6"},
        {"漢字", 1, "漢/字/ 1,1"},
        {"a\r\nb", 10, NULL},
        {"a\033[2Jb", 80, NULL},
    };
    for (size_t i = 0; i < COUNT(layouts); i++) {
        struct fixture fixture;
        fixture_open(&fixture);
        edit_resize(&fixture.edit, layouts[i].columns);
        assert_int_equal(edit_set_text(&fixture.edit, view_str(layouts[i].text)), ETHOS_OK);
        if (layouts[i].rows) {
            assert_rows(&fixture, layouts[i].rows);
        } else {
            struct edit_rows rows = {0};
            struct str shown;
            str_init(&shown, MAX_SHOWN);
            assert_int_equal(edit_layout(&fixture.edit, &rows), ETHOS_OK);
            for (size_t row = 0; row < rows.count; row++)
                edit_print_row(&fixture.edit, rows.rows[row], &shown);
            for (size_t at = 0; at < shown.size; at++)
                assert_true((unsigned char)shown.data[at] >= 0x20);
            str_release(&shown);
            edit_rows_release(&rows);
        }
        fixture_close(&fixture);
    }
}

static void test_the_cursor_moves_through_rows(void **state)
{
    (void)state;
    struct fixture fixture;
    fixture_open(&fixture);
    edit_resize(&fixture.edit, 4);
    press(&fixture, "abcdefgh");
    press(&fixture, "\n");
    press(&fixture, "xyz");
    assert_rows(&fixture, "abcd/efgh/xyz/ 2,3");
    press(&fixture, "\033[A");
    assert_text(&fixture, "abcdefg|h\nxyz");
    press(&fixture, "\033[A");
    assert_text(&fixture, "abc|defgh\nxyz");
    press(&fixture, "\033[C");
    assert_rows(&fixture, "abcd/efgh/xyz/ 1,0");
    press(&fixture, "\005");
    assert_rows(&fixture, "abcd/efgh/xyz/ 1,4");
    press(&fixture, "\033[A");
    assert_text(&fixture, "abc|defgh\nxyz");
    press(&fixture, "\033[B\033[B");
    assert_text(&fixture, "abcdefgh\nxyz|");
    fixture_close(&fixture);
}

static void test_text_has_a_limit(void **state)
{
    (void)state;
    struct fixture fixture;
    char *large = malloc(EDIT_MAX_TEXT + 1);
    assert_non_null(large);
    memset(large, 'a', EDIT_MAX_TEXT + 1);
    fixture_open(&fixture);
    press(&fixture, "ab");
    assert_int_equal(edit_set_text(&fixture.edit, view_of(large, EDIT_MAX_TEXT + 1)), ETHOS_LIMIT);
    assert_text(&fixture, "ab|");
    assert_int_equal(edit_set_text(&fixture.edit, view_of(large, EDIT_MAX_TEXT)), ETHOS_OK);
    assert_int_equal(press(&fixture, "c"), EDIT_REFUSED);
    assert_int_equal(fixture.edit.text.size, EDIT_MAX_TEXT);
    press(&fixture, "\037");
    assert_text(&fixture, "ab|");
    fixture_close(&fixture);
    free(large);
}

static void test_a_change_without_memory_is_refused(void **state)
{
    (void)state;
    ALLOC_EACH(n, alloc_count() < n)
    {
        struct fixture fixture;
        struct edit_rows rows = {0};
        fixture_open(&fixture);
        int code = edit_add_history(&fixture.edit, VIEW("earlier"));
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        press(&fixture, "one two");
        press(&fixture, "\033[200~a\rb\033[201~\027\031\022earl\033\033[A\033[A\033[B\037");
        struct ethos_view text = str_view(&fixture.edit.text);
        assert_true(fixture.edit.cursor <= text.size && text.data[text.size] == 0);
        code = edit_layout(&fixture.edit, &rows);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        edit_rows_release(&rows);
        fixture_close(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys_edit),
                                       cmocka_unit_test(test_keys_of_the_caller_are_ignored),
                                       cmocka_unit_test(test_history_has_earlier_messages),
                                       cmocka_unit_test(test_history_has_a_limit),
                                       cmocka_unit_test(test_history_is_searched),
                                       cmocka_unit_test(test_rows_are_of_the_width),
                                       cmocka_unit_test(test_the_cursor_moves_through_rows),
                                       cmocka_unit_test(test_text_has_a_limit),
                                       cmocka_unit_test(test_a_change_without_memory_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
