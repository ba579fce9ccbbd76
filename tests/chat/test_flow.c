/*
 * test_flow.c: markdown as rows, whole and as it arrives.
 */
#include "chat/markdown/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MAX_TEXT 4194304
#define RULE "───────────────────────" /* of 24 columns */

/* What is on the screen: committed rows, then those that are live. */
struct screen {
    struct cluster_widths widths;
    struct flow flow;
    struct str committed, live;
    bool color;
    int widest;
};

static void add_row(void *arg, bool live, const struct cell *cells, size_t count)
{
    struct screen *screen = arg;
    struct str *out = live ? &screen->live : &screen->committed;
    size_t begin = out->size;
    cells_print(cells, count, -1, screen->color, out);
    int width = cluster_text_width(&screen->widths, view_from(str_view(out), begin));
    screen->widest = width > screen->widest ? width : screen->widest;
    str_addc(out, '\n');
}

static void screen_open(struct screen *screen, int columns, bool whole, bool lists)
{
    memset(screen, 0, sizeof *screen);
    cluster_widths_init(&screen->widths);
    str_init(&screen->committed, MAX_TEXT);
    str_init(&screen->live, MAX_TEXT);
    const struct flow_setup setup = {.columns = columns,
                                     .whole = whole,
                                     .lists = lists,
                                     .widths = &screen->widths,
                                     .each = add_row,
                                     .arg = screen};
    flow_init(&screen->flow, &setup);
}

static void screen_close(struct screen *screen)
{
    flow_release(&screen->flow);
    cluster_widths_release(&screen->widths);
    str_release(&screen->committed);
    str_release(&screen->live);
}

static void say(struct screen *screen, const char *text)
{
    str_clear(&screen->live);
    assert_int_equal(flow_feed(&screen->flow, view_str(text)), ETHOS_OK);
    assert_int_equal(flow_frame(&screen->flow), ETHOS_OK);
}

static void end(struct screen *screen)
{
    str_clear(&screen->live);
    assert_int_equal(flow_end(&screen->flow), ETHOS_OK);
}

static void assert_rows(const struct str *rows, const char *expected)
{
    if (strcmp(rows->data, expected) != 0) {
        fprintf(stderr, "got:\n%s\nexpected:\n%s\n", rows->data, expected);
        fail();
    }
}

static void assert_shown(int columns, const char *text, const char *expected)
{
    struct screen screen;
    screen_open(&screen, columns, false, false);
    assert_int_equal(flow_feed(&screen.flow, view_str(text)), ETHOS_OK);
    end(&screen);
    assert_rows(&screen.committed, expected);
    screen_close(&screen);
}

/* ---- whole texts ------------------------------------------------------------------------------- */

static void test_blocks_are_shown_as_they_are_meant(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"", ""},
        {"One.", "One.\n"},
        {"One.\n\nTwo.\n", "One.\n\nTwo.\n"},
        {"\n\n\nOne.\n\n\n\nTwo.", "One.\n\nTwo.\n"},
        {"one\ntwo  \nthree\\\nfour", "one two\nthree\nfour\n"},
        {"# Title #\ntext", "Title\ntext\n"},
        {"####### 7", "####### 7\n"},
        {"#hash", "#hash\n"},
        {"C# and F#", "C# and F#\n"},
        {"# C#", "C#\n"},
        {"- a\n- b\n  - c\n1. d\n2) e", "- a\n- b\n  - c\n1. d\n2) e\n"},
        {"* a\n+ b", "* a\n+ b\n"},
        {"- a\n  more", "- a more\n"},
        {"-\n- b", "-\n- b\n"},
        {"- [ ] open\n- [x] done", "- [ ] open\n- [x] done\n"},
        {"> a\n> b\n>> c\nd", "> a b\n> > c\nd\n"},
        {"> - a", "> - a\n"},
        {"***", RULE "\n"},
        {"- - -", RULE "\n"},
        {"a\n===", "a ===\n"},
        {"**b** *i* ~~s~~ `c`", "b i s c\n"},
        {"a*b*c snake_case_name\\\n2\\*3\\*4", "abc snake_case_name\n2*3*4\n"},
        {"<b>html</b> &amp;", "<b>html</b> &amp;\n"},
        {"a\\*b\\*", "a*b*\n"},
        {"```c\nint x;\n\n  y\n```\nz", "```c\nint x;\n\n  y\n```\nz\n"},
        {"  ```\n  a\n    b\n  ```", "```\na\n  b\n```\n"},
        {"````\n```\n````", "````\n```\n````\n"},
        {"~~~\n```\n~~~", "~~~\n```\n~~~\n"},
        {"```\nnever closed", "```\nnever closed\n"},
        {"``` a` b", "``` a` b\n"},
        {"> ```\n> a\n> ```\nb", "> ```\n> a\n> ```\nb\n"},
        {"> ```\n> a\nb", "> ```\n> a\nb\n"},
        {"    code\n    more", "code\nmore\n"},
        {"- a\n\n    b", "- a\n\n    b\n"},
        {"```\na\tb\n```", "```\na   b\n```\n"},
        {"[a]: http://x/y", "[a]: http://x/y\n"},
        {"a\r\nb\rc", "a b^Mc\n"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_shown(24, cases[i].text, cases[i].shown);
}

static void test_a_link_is_its_text_and_where_it_leads(void **state)
{
    (void)state;
    assert_shown(80, "[text](http://x/y)", "text (http://x/y)\n");
    assert_shown(80, "[**text**](http://x/y) more", "text (http://x/y) more\n");
    assert_shown(80, "![image](a.png \"title\")", "image (a.png \"title\")\n");
    assert_shown(80, "[![alt](a.png)](http://x)", "alt (a.png) (http://x)\n");
    assert_shown(80, "<http://x/y> http://z", "http://x/y http://z\n");
    assert_shown(80, "[a](<b c>) [d](e(f)g)", "a (<b c>) d (e(f)g)\n");
    assert_shown(80, "[no link] [nor](this", "[no link] [nor](this\n");
    assert_shown(80, "[ref][x]", "[ref][x]\n");
}

static void test_rows_end_between_words(void **state)
{
    (void)state;
    assert_shown(21, "The quick brown fox jumps over the lazy dog",
                 "The quick brown fox\njumps over the lazy\ndog\n");
    assert_shown(21, "- The quick brown fox jumps", "- The quick brown\n  fox jumps\n");
    assert_shown(21, "> The quick brown fox jumps", "> The quick brown\n> fox jumps\n");
    assert_shown(11, "abcdefghijklmnopqrstuvwxyz", "abcdefghij\nklmnopqrst\nuvwxyz\n");
    assert_shown(21, "see https://example.com/a/very/long/path here",
                 "see\nhttps://example.com/a/very/long/path\nhere\n");
    assert_shown(11, "中文没有空格也会换行。好的", "中文没有空\n格也会换\n行。好的\n");
    assert_shown(
        11, "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301",
        "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301\ne\u0301e\u0301e\u0301e\u0301e\u0301\n");
    assert_shown(200,
                 "word word word word word word word word word word word word word word word "
                 "word word word word word word",
                 "word word word word word word word word word word word word word word word word "
                 "word word word word\nword\n");
}

static void test_code_is_not_wrapped(void **state)
{
    (void)state;
    assert_shown(11, "```\nint the_name_of_a_function(void);\n```",
                 "```\nint the_name_of_a_function(void);\n```\n");
}

static void test_nothing_can_move_the_cursor(void **state)
{
    (void)state;
    assert_shown(80, "a\033[2Jb \x07 \u202Ec \x9B d", "a^[[2Jb ^G \\u{202E}c \uFFFD d\n");
    assert_shown(80, "```\n\033]0;x\x07\n```", "```\n^[]0;x^G\n```\n");
    assert_shown(80, "\xFF\xC3", "\uFFFD\uFFFD\n");
}

static void test_tables_are_laid_out(void **state)
{
    (void)state;
    assert_shown(40, "| Name | Size |\n|:--|--:|\n| a\\|b | 5 |\n| longer | 1,234 |\n",
                 "Name     Size\n──────  ─────\na|b         5\nlonger  1,234\n");
    assert_shown(40, "a | b\n--|:-:\n**x** | yyyyy\nend", "a    b\n─  ─────\nx  yyyyy\nend\n");
    assert_shown(
        32, "|a|b|\n|-|-|\n|some words in a cell|other words in it|\n",
        "a               b\n──────────────  ───────────────\nsome words in   other words in\na "
        "cell          it\n");
    assert_shown(16, "|a|b|\n|-|-|\n|some words|other words|\n|1|2|\n",
                 "a: some words\nb: other words\n\na: 1\nb: 2\n");
    assert_shown(40, "a | b\nno table", "a | b no table\n");
    assert_shown(40, "| a |\n|---|\n", "a\n─\n");
    assert_shown(40, "x\n\n| a |\n|---|\n| b | c |\n\ny", "x\n\na\n─  ─\nb  c\n\ny\n");
}

static void test_paragraphs_can_stay_whole(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 20, true, true);
    flow_feed(&screen.flow, view_str("The quick brown fox jumps over the lazy dog.\n\n"
                                     "|Name|Size|\n|-|-|\n|a|1|\n|b|2|\n"));
    end(&screen);
    assert_rows(&screen.committed,
                "The quick brown fox jumps over the lazy dog.\n\nName: a\nSize: 1\n\nName: "
                "b\nSize: 2\n");
    screen_close(&screen);
}

static void test_a_whole_paragraph_is_live_until_it_ends(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 20, true, false);
    say(&screen, "The *quick brown fox jumps over the lazy dog and sleeps, and sleeps, and sleeps");
    assert_rows(&screen.committed, "");
    say(&screen, "*.\n\n|Name|Size|\n|-|-|\n|a|1|\n\n");
    end(&screen);
    assert_rows(&screen.committed,
                "The quick brown fox jumps over the lazy dog and sleeps, and sleeps, and sleeps.\n"
                "\nName  Size\n────  ────\na     1\n");
    screen_close(&screen);
}

static void test_styles_are_few(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 60, false, false);
    screen.color = true;
    flow_feed(&screen.flow, view_str("# H\n**b** *i* `c` ~~s~~ [l](u)\n"));
    end(&screen);
    assert_rows(&screen.committed,
                "\033[0;1mH\033[m\n\033[0;1mb\033[0m \033[0;4mi\033[0m \033[0;36mc\033[0m "
                "\033[0;2ms\033[0m \033[0;4ml\033[0m \033[0;2m(u)\033[m\n");
    screen_close(&screen);
}

/* ---- as it arrives ----------------------------------------------------------------------------- */

static void test_a_row_is_committed_when_no_byte_can_change_it(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 21, false, false);
    say(&screen, "The quick brown fox");
    assert_rows(&screen.committed, "");
    assert_rows(&screen.live, "The quick brown fox\n");
    say(&screen, " jumps");
    assert_rows(&screen.committed, "The quick brown fox\n");
    assert_rows(&screen.live, "jumps\n");
    say(&screen, "\n\n");
    assert_rows(&screen.committed, "The quick brown fox\njumps\n");
    say(&screen, "next");
    assert_rows(&screen.committed, "The quick brown fox\njumps\n\n");
    assert_rows(&screen.live, "next\n");
    screen_close(&screen);
}

static void test_what_is_open_is_closed_by_a_guess(void **state)
{
    static const struct {
        const char *text, *live;
    } cases[] = {{"a **bold", "a \033[0;1mbold\033[m\n"},
                 {"a **bold*", "a \033[0;1mbold\033[m\n"},
                 {"a **bold** b", "a \033[0;1mbold\033[0m b\n"},
                 {"a `co", "a \033[0;36mco\033[m\n"},
                 {"a [te", "a \033[0;4mte\033[m\n"},
                 {"a [te]", "a \033[0;4mte\033[m\n"},
                 {"a [te](http://x", "a \033[0;4mte\033[0m \033[0;2m(http://x\033[m\n"},
                 {"a [te](http://x)", "a \033[0;4mte\033[0m \033[0;2m(http://x)\033[m\n"},
                 {"a **b *c", "a \033[0;1mb \033[0;1;4mc\033[m\n"},
                 {"a *", "a\n"},
                 {"a 2 * 3", "a 2 * 3\n"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct screen screen;
        screen_open(&screen, 60, false, false);
        screen.color = true;
        say(&screen, cases[i].text);
        assert_rows(&screen.live, cases[i].live);
        screen_close(&screen);
    }
}

static void test_rows_behind_an_opener_wait_but_not_for_ever(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 11, false, false);
    say(&screen, "**aaaa bbbb cccc dddd");
    assert_rows(&screen.committed, "");
    say(&screen, " eeee ffff gggg hhhh iiii jjjj kkkk llll");
    assert_rows(&screen.committed, "**aaaa\nbbbb cccc\ndddd eeee\nffff gggg\nhhhh iiii\n"
                                   "jjjj kkkk\n");
    end(&screen);
    screen_close(&screen);
}

static void test_the_beginning_of_a_line_waits_for_what_it_is(void **state)
{
    static const char *const starts[] = {"-",  "--", "*",  "**",   "1", "12.", "#",
                                         "##", "`",  "``", "```c", " ", ">",   "+"};
    (void)state;
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct screen screen;
        screen_open(&screen, 60, false, false);
        say(&screen, starts[i]);
        assert_rows(&screen.live, "");
        screen_close(&screen);
    }
}

static void test_the_head_of_a_table_waits_for_its_second_line(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 13, false, false);
    say(&screen, "|a long head|another long head|");
    assert_rows(&screen.committed, "");
    say(&screen, "\n|--|");
    assert_rows(&screen.committed, "");
    say(&screen, "--|\n|x|y|\n");
    assert_rows(&screen.committed, "");
    assert_rows(&screen.live, "a long head:\nx\nanother long\nhead: y\n");
    end(&screen);
    assert_rows(&screen.committed, "a long head:\nx\nanother long\nhead: y\n");
    screen_close(&screen);
}

/* What a line becomes does not depend on the frames. */
static void test_a_line_with_a_final_row_is_no_head(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 24, false, false);
    say(&screen, "The quick brown fox jumps over");
    assert_rows(&screen.committed, "The quick brown fox\n");
    say(&screen, " | b\n--|--\n");
    end(&screen);
    assert_rows(&screen.committed, "The quick brown fox\njumps over | b --|--\n");
    screen_close(&screen);
    assert_shown(24, "The quick brown fox jumps over | b\n--|--\n",
                 "The quick brown fox\njumps over | b --|--\n");
}

static void test_code_is_committed_by_lines(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 60, false, false);
    say(&screen, "```c\nint a;\nint");
    assert_rows(&screen.committed, "```c\nint a;\n");
    assert_rows(&screen.live, "int\n");
    say(&screen, " b;\n``");
    assert_rows(&screen.committed, "```c\nint a;\nint b;\n");
    assert_rows(&screen.live, "");
    say(&screen, "`\n");
    assert_rows(&screen.committed, "```c\nint a;\nint b;\n```\n");
    screen_close(&screen);
}

static void test_another_width_wraps_what_is_not_committed(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 21, false, false);
    say(&screen, "The quick brown fox jumps over");
    assert_rows(&screen.live, "jumps over\n");
    flow_resize(&screen.flow, 12);
    say(&screen, " the");
    assert_rows(&screen.committed, "The quick brown fox\njumps over\n");
    assert_rows(&screen.live, "the\n");
    screen_close(&screen);
}

static void test_a_paragraph_without_end_is_cut(void **state)
{
    struct screen screen;
    (void)state;
    screen_open(&screen, 60, false, false);
    for (int i = 0; i < 4000; i++)
        flow_feed(&screen.flow, view_str("word "));
    flow_frame(&screen.flow);
    end(&screen);
    size_t words = 0;
    for (const char *at = screen.committed.data; (at = strstr(at, "word")); at++)
        words++;
    assert_int_equal(words, 4000);
    assert_true(screen.widest <= 59);
    screen_close(&screen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_shown_as_they_are_meant),
        cmocka_unit_test(test_a_link_is_its_text_and_where_it_leads),
        cmocka_unit_test(test_rows_end_between_words),
        cmocka_unit_test(test_code_is_not_wrapped),
        cmocka_unit_test(test_nothing_can_move_the_cursor),
        cmocka_unit_test(test_tables_are_laid_out),
        cmocka_unit_test(test_paragraphs_can_stay_whole),
        cmocka_unit_test(test_a_whole_paragraph_is_live_until_it_ends),
        cmocka_unit_test(test_styles_are_few),
        cmocka_unit_test(test_a_row_is_committed_when_no_byte_can_change_it),
        cmocka_unit_test(test_what_is_open_is_closed_by_a_guess),
        cmocka_unit_test(test_rows_behind_an_opener_wait_but_not_for_ever),
        cmocka_unit_test(test_the_beginning_of_a_line_waits_for_what_it_is),
        cmocka_unit_test(test_the_head_of_a_table_waits_for_its_second_line),
        cmocka_unit_test(test_a_line_with_a_final_row_is_no_head),
        cmocka_unit_test(test_code_is_committed_by_lines),
        cmocka_unit_test(test_another_width_wraps_what_is_not_committed),
        cmocka_unit_test(test_a_paragraph_without_end_is_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
