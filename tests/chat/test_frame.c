/*
 * test_frame.c: the bytes of frames.
 */
#include "chat/terminal/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/view.h"

#define MAX_BYTES 1048576
#define COLUMNS 20
#define BEGIN "\033[?2026h\033[?25l"
#define END "\033[?25h\033[?2026l"
#define K "\033[K"
#define J "\033[J"

/* Live rows end with LF; the cursor is behind the last one unless a test says otherwise. */
static void add_rows(struct screen_frame *frame, const char *rows)
{
    struct ethos_view rest = view_str(rows), row = VIEW("");
    size_t count = 0;
    for (; view_line(&rest, &row); count++)
        assert_int_equal(frame_live(frame, row, (int)row.size), ETHOS_OK);
    frame_set_cursor(frame, count ? count - 1 : 0, (int)row.size);
}

static void assert_bytes(struct screen_frame *frame, const char *expected)
{
    struct str bytes;
    str_init(&bytes, MAX_BYTES);
    assert_int_equal(frame_write(frame, &bytes), ETHOS_OK);
    assert_string_equal(bytes.data, expected);
    str_release(&bytes);
}

static void test_only_what_differs_is_written(void **state)
{
    (void)state;
    struct screen_frame frame;
    frame_init(&frame, COLUMNS);
    assert_bytes(&frame, "");
    add_rows(&frame, "one\ntwo\n> a\n");
    assert_bytes(&frame, BEGIN "\rone" K "\r\ntwo" K "\r\n> a" K "\033[4G" END);
    add_rows(&frame, "one\ntwo\n> a\n");
    assert_bytes(&frame, "");
    add_rows(&frame, "one\ntwo\n> ab\n");
    assert_bytes(&frame, BEGIN "\r> ab" K "\033[5G" END);
    add_rows(&frame, "one\nTWO\n> ab\n");
    assert_bytes(&frame, BEGIN "\033[1A\rTWO" K "\r\n> ab" K "\033[5G" END);
    add_rows(&frame, "one\nTWO\n> ab\nc\n");
    assert_bytes(&frame, BEGIN "\r\nc" K "\033[2G" END);
    add_rows(&frame, "one\nTWO\n");
    assert_bytes(&frame, BEGIN "\033[2A\rTWO" K J "\033[4G" END);
    add_rows(&frame, "");
    assert_bytes(&frame, BEGIN "\033[1A\r" J "\033[1G" END);
    frame_release(&frame);
}

static void test_the_cursor_moves_alone(void **state)
{
    (void)state;
    struct screen_frame frame;
    frame_init(&frame, COLUMNS);
    add_rows(&frame, "one\ntwo\nthree\n");
    frame_set_cursor(&frame, 1, 2);
    assert_bytes(&frame, BEGIN "\rone" K "\r\ntwo" K "\r\nthree" K "\033[1A\033[3G" END);
    add_rows(&frame, "one\ntwo\nthree\n");
    frame_set_cursor(&frame, 0, 0);
    assert_bytes(&frame, BEGIN "\033[1A\033[1G" END);
    add_rows(&frame, "one\ntwo\nthree\n");
    frame_set_cursor(&frame, 0, 3);
    assert_bytes(&frame, BEGIN "\033[4G" END);
    add_rows(&frame, "one\ntwo\nthree\nfour\n"); /* behind rows below the cursor */
    frame_set_cursor(&frame, 1, 1);
    assert_bytes(&frame, BEGIN "\033[2B\r\nfour" K "\033[2A\033[2G" END);
    frame_release(&frame);
}

static void test_committed_rows_scroll_above(void **state)
{
    (void)state;
    struct screen_frame frame;
    frame_init(&frame, COLUMNS);
    add_rows(&frame, "status\n> a\n");
    assert_bytes(&frame, BEGIN "\rstatus" K "\r\n> a" K "\033[4G" END);
    frame_commit(&frame, VIEW("first"), 5);
    frame_commit(&frame, VIEW("\033[1msecond\033[0m"), 6);
    add_rows(&frame, "status\n> a\n");
    assert_bytes(&frame, BEGIN "\033[1A\rfirst" K "\r\n\033[1msecond\033[0m" K "\r\n" J "status" K
                               "\r\n> a" K "\033[4G" END);
    frame_commit(&frame, VIEW("last"), 4);
    assert_bytes(&frame, BEGIN "\033[1A\rlast" K "\r\n" J "\033[1G" END);
    frame_commit(&frame, VIEW("next"), 4);
    assert_bytes(&frame, BEGIN "\rnext" K "\r\n" J "\033[1G" END);
    frame_release(&frame);
}

static void test_a_row_that_fills_the_terminal_loses_nothing(void **state)
{
    (void)state;
    struct screen_frame frame;
    frame_init(&frame, 4);
    frame_commit(&frame, VIEW("code"), 4);
    frame_commit(&frame, VIEW("longer code"), 11);
    assert_bytes(&frame, BEGIN "\r" J "code\r\n" J "longer code\r\n" J "\033[1G" END);
    frame_release(&frame);
}

static void test_another_width_draws_everything(void **state)
{
    (void)state;
    static const struct {
        int columns;
        bool rewraps;
        const char *climb;
    } widths[] = {
        {40, true, "\033[2A"}, {10, true, "\033[4A"}, {5, true, "\033[6A"}, {10, false, "\033[2A"}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct screen_frame frame;
        struct str expected;
        frame_init(&frame, COLUMNS);
        str_init(&expected, MAX_BYTES);
        add_rows(&frame, "12345678901\n\n> 3456789012\n"); /* 11, none, 12 columns */
        assert_int_equal(frame_write(&frame, &expected), ETHOS_OK);
        str_clear(&expected);
        frame_resize(&frame, 30, widths[i].rewraps); /* before it is drawn: the last one counts */
        frame_resize(&frame, widths[i].columns, widths[i].rewraps);
        frame_commit(&frame, VIEW("row"), 3);
        add_rows(&frame, "> \n");
        str_printf(&expected, BEGIN "%s\r" J "row" K "\r\n" J "> " K "\033[3G" END,
                   widths[i].climb);
        assert_bytes(&frame, expected.data);
        add_rows(&frame, "> \n");
        assert_bytes(&frame, "");
        str_release(&expected);
        frame_release(&frame);
    }
}

static void test_another_program_had_the_terminal(void **state)
{
    (void)state;
    struct screen_frame frame;
    frame_init(&frame, COLUMNS);
    add_rows(&frame, "one\n> a\n");
    assert_bytes(&frame, BEGIN "\rone" K "\r\n> a" K "\033[4G" END);
    frame_restart(&frame);
    add_rows(&frame, "one\n> a\n");
    assert_bytes(&frame, BEGIN "\rone" K "\r\n> a" K "\033[4G" END);
    frame_release(&frame);
}

static void test_a_frame_that_fails_writes_nothing(void **state)
{
    (void)state;
    struct screen_frame frame;
    struct str bytes;
    frame_init(&frame, COLUMNS);
    str_init(&bytes, MAX_BYTES);
    for (int i = 0; i < FRAME_MAX_ROWS; i++)
        assert_int_equal(frame_live(&frame, VIEW("row"), 3), ETHOS_OK);
    assert_int_equal(frame_live(&frame, VIEW("row"), 3), ETHOS_LIMIT);
    assert_int_equal(frame_write(&frame, &bytes), ETHOS_LIMIT);
    assert_int_equal(bytes.size, 0);
    str_release(&bytes);
    add_rows(&frame, "a\n");
    assert_bytes(&frame, BEGIN "\ra" K "\033[2G" END);
    frame_release(&frame);

    int code = ETHOS_NOMEM;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        frame_init(&frame, COLUMNS);
        str_init(&bytes, MAX_BYTES);
        frame_commit(&frame, VIEW("row"), 3);
        frame_live(&frame, VIEW("live"), 4);
        code = frame_write(&frame, &bytes);
        assert_true(code == ETHOS_OK || (code == ETHOS_NOMEM && bytes.size == 0));
        str_release(&bytes);
        frame_release(&frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_differs_is_written),
        cmocka_unit_test(test_the_cursor_moves_alone),
        cmocka_unit_test(test_committed_rows_scroll_above),
        cmocka_unit_test(test_a_row_that_fills_the_terminal_loses_nothing),
        cmocka_unit_test(test_another_width_draws_everything),
        cmocka_unit_test(test_another_program_had_the_terminal),
        cmocka_unit_test(test_a_frame_that_fails_writes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
