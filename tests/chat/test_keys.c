/*
 * test_keys.c: bytes from a terminal as keys, whole and split at every byte.
 */
#include "chat/terminal/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define MAX_LOG 8388608
#define LONG_AGO 100000

/* The keys in words: "a Enter Alt-b Paste(x)". */
struct terminal {
    struct keys keys;
    struct str log;
};

static void log_key(void *arg, const struct key *key)
{
    static const char *const names[] = {
        [KEY_ENTER] = "Enter",   [KEY_LINE_BREAK] = "Break", [KEY_BACKSPACE] = "Backspace",
        [KEY_DELETE] = "Delete", [KEY_TAB] = "Tab",          [KEY_ESCAPE] = "Esc",
        [KEY_UP] = "Up",         [KEY_DOWN] = "Down",        [KEY_LEFT] = "Left",
        [KEY_RIGHT] = "Right",   [KEY_HOME] = "Home",        [KEY_END] = "End"};
    struct terminal *terminal = arg;
    struct str *log = &terminal->log;
    str_adds(log, log->size ? " " : "");
    if (key->kind == KEY_CHARACTER)
        str_add(log, key->text);
    else if (key->kind == KEY_ALT)
        str_printf(log, "Alt-%.*s", VIEW_ARG(key->text));
    else if (key->kind == KEY_CTRL)
        str_printf(log, "Ctrl-%c", key->letter);
    else if (key->kind == KEY_PASTE)
        str_printf(log, "Paste(%.*s)%s", VIEW_ARG(key->text), key->cut ? "cut" : "");
    else if (key->kind == KEY_POSITION)
        str_printf(log, "Position(%d,%d)", key->row, key->column);
    else
        str_adds(log, names[key->kind]);
}

static void terminal_open(struct terminal *terminal, bool over_ssh)
{
    keys_init(&terminal->keys, over_ssh, log_key, terminal);
    str_init(&terminal->log, MAX_LOG);
}

static void terminal_close(struct terminal *terminal)
{
    keys_release(&terminal->keys);
    str_release(&terminal->log);
}

/* What was logged since the last call. */
static void assert_keys(struct terminal *terminal, const char *expected)
{
    assert_string_equal(terminal->log.data, expected);
    str_clear(&terminal->log);
}

static void feed(struct terminal *terminal, const char *bytes, int64_t now)
{
    keys_feed(&terminal->keys, view_str(bytes), now);
}

static const struct {
    const char *bytes, *keys;
} sequences[] = {
    {"ab", "a b"},
    {"é漢👍", "é 漢 👍"},
    {"\r", "Enter"},
    {"\n", "Break"},
    {"\033\r", "Break"},
    {"\033\n", "Break"},
    {"\t", "Tab"},
    {"\177", "Backspace"},
    {"\b", "Backspace"},
    {"\001\003\022\032\037", "Ctrl-A Ctrl-C Ctrl-R Ctrl-Z Ctrl-_"},
    {"\033b\033f\033d", "Alt-b Alt-f Alt-d"},
    {"\033é.", "Alt-é ."},
    {"\033\177", "Alt-\177"},
    {"\033[A\033[B\033[C\033[D", "Up Down Right Left"},
    {"\033OA\033OB\033OC\033OD", "Up Down Right Left"},
    {"\033[H\033[F\033OH\033OF", "Home End Home End"},
    {"\033[1~\033[4~\033[7~\033[8~\033[3~", "Home End Home End Delete"},
    {"\033[1;5C\033[1;3D\033[1;2C\033[1;5A", "Alt-f Alt-b Right Up"},
    {"\033\033[A", "Up"},
    {"\033[12;40R", "Position(12,40)"},
    /* dropped whole */
    {"\033[15~a", "a"},
    {"\033OPa", "a"},
    {"\033[[Aa", "a"},
    {"\033[?62;c.", "."},
    {"\033[>0;276;0c.", "."},
    {"\033[97;5u.", "."},
    {"\033[1$r.", "."},
    {"\033[999999999999R.", "."},
    {"\033[0;0R.", "."},
    {"\033[1;2;3;4R.", "."},
    {"\033[111111111111111111111111111111111111111~.", "."},
    {"\033]11;rgb:0000/0000/0000\033\\.", "."},
    {"\033]0;title\a.", "."},
    {"\033P1$r0m\033\\.", "."},
    {"\033[201~.", "."},
    {"\302\233.", "."},
    /* not whole: what follows is a key */
    {"\033[1\003a", "Ctrl-C a"},
    {"\033[\033[A", "Up"},
    {"\033]x\003a", "Ctrl-C a"},
    {"\033\003", "Esc Ctrl-C"},
    {"\377a", "\357\277\275 a"},
    {"\303a", "\357\277\275 a"},
    {"\340\200\200a", "\357\277\275 a"},
    /* pastes */
    {"\033[200~a\rb\033[201~c", "Paste(a\nb) c"},
    {"\033[200~a\r\nb\n\r\033[201~", "Paste(a\nb\n\n)"},
    {"\033[200~\003\t\033[A\033[20\033[201~", "Paste(\003\t\033[A\033[20)"},
    {"\033[200~\033\033[201~.", "Paste(\033) ."},
    {"\033[200~\033[201\033[201~.", "Paste(\033[201) ."},
    {"\033[200~\033[201~", "Paste()"},
    {"\033[200~a\377\303\033[201~", "Paste(a\357\277\275\357\277\275)"},
    /* without markers: bytes that follow at once */
    {"a\rb\rc", "a Break b Break c"},
    {"a\r\nb", "a Break b"},
    {"a\r", "a Enter"},
    {"a\r\n", "a Break"},
};

static void test_sequences_are_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sequences); i++) {
        struct terminal terminal;
        terminal_open(&terminal, false);
        feed(&terminal, sequences[i].bytes, 0);
        keys_expire(&terminal.keys, LONG_AGO);
        assert_keys(&terminal, sequences[i].keys);
        assert_int_equal(keys_wait(&terminal.keys, LONG_AGO), -1);
        terminal_close(&terminal);
    }
}

static void test_sequences_may_be_split_at_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sequences); i++) {
        struct ethos_view bytes = view_str(sequences[i].bytes);
        for (size_t cut = 0; cut <= bytes.size; cut++) {
            struct terminal terminal;
            terminal_open(&terminal, false);
            keys_feed(&terminal.keys, view_of(bytes.data, cut), 0);
            keys_feed(&terminal.keys, view_from(bytes, cut), 4);
            keys_expire(&terminal.keys, LONG_AGO);
            assert_keys(&terminal, sequences[i].keys);
            terminal_close(&terminal);
        }
    }
}

static void test_an_escape_alone_is_a_key_after_silence(void **state)
{
    (void)state;
    static const int limits[] = {KEYS_ESCAPE_MS, KEYS_ESCAPE_SSH_MS};
    for (size_t ssh = 0; ssh < COUNT(limits); ssh++) {
        struct terminal terminal;
        terminal_open(&terminal, ssh);
        feed(&terminal, "\033", 1000);
        assert_int_equal(keys_wait(&terminal.keys, 1000), limits[ssh]);
        keys_expire(&terminal.keys, 1000 + limits[ssh] - 1);
        assert_keys(&terminal, "");
        assert_int_equal(keys_wait(&terminal.keys, 1000 + limits[ssh] - 1), 1);
        keys_expire(&terminal.keys, 1000 + limits[ssh]);
        assert_keys(&terminal, "Esc");
        terminal_close(&terminal);
    }
}

static void test_the_tail_of_an_escape_is_swallowed(void **state)
{
    (void)state;
    struct terminal terminal;
    terminal_open(&terminal, false);
    feed(&terminal, "\033", 0);
    feed(&terminal, "[A", 120);
    feed(&terminal, "x", 121);
    assert_keys(&terminal, "Esc x");

    feed(&terminal, "\033", 1000);
    keys_expire(&terminal.keys, 1100);
    feed(&terminal, "O", 1499);
    feed(&terminal, "Bx", 1510);
    assert_keys(&terminal, "Esc x");

    feed(&terminal, "\033", 2000);
    feed(&terminal, "[A", 2500);
    assert_keys(&terminal, "Esc [ A");

    feed(&terminal, "\033", 3000);
    feed(&terminal, "A[", 3120);
    assert_keys(&terminal, "Esc A [");

    /* The text of a paste is never typed. */
    feed(&terminal, "\033", 4000);
    feed(&terminal, "[200~a\r\033[201~", 4120);
    assert_keys(&terminal, "Esc Paste(a\n)");
    terminal_close(&terminal);
}

static void test_a_sequence_that_does_not_end_is_dropped(void **state)
{
    (void)state;
    static const char *const begun[] = {"\033[1", "\033[", "\033O", "\033]11;", "\033P"};
    for (size_t i = 0; i < COUNT(begun); i++) {
        struct terminal terminal;
        terminal_open(&terminal, false);
        feed(&terminal, begun[i], 0);
        assert_int_equal(keys_wait(&terminal.keys, 0), KEYS_SEQUENCE_MS);
        feed(&terminal, "A", KEYS_SEQUENCE_MS);
        assert_keys(&terminal, "A");
        terminal_close(&terminal);
    }
}

/* Somebody who types pauses before Enter, and need not wait. */
static void test_a_return_after_silence_is_enter_at_once(void **state)
{
    struct terminal terminal;
    (void)state;
    terminal_open(&terminal, false);
    keys_feed(&terminal.keys, VIEW("a"), LONG_AGO);
    keys_feed(&terminal.keys, VIEW("\r"), LONG_AGO + KEYS_TYPED_MS);
    assert_string_equal(terminal.log.data, "a Enter");
    assert_int_equal(keys_wait(&terminal.keys, LONG_AGO + KEYS_TYPED_MS), -1);
    keys_feed(&terminal.keys, VIEW("b"), LONG_AGO + 100);
    keys_feed(&terminal.keys, VIEW("\r"), LONG_AGO + 100 + KEYS_TYPED_MS - 1);
    assert_int_equal(keys_wait(&terminal.keys, LONG_AGO + 100 + KEYS_TYPED_MS - 1), KEYS_RETURN_MS);
    keys_feed(&terminal.keys, VIEW("c"), LONG_AGO + 100 + KEYS_TYPED_MS);
    assert_string_equal(terminal.log.data, "a Enter b Break c");
    terminal_close(&terminal);
}

static void test_a_return_waits_for_what_follows(void **state)
{
    (void)state;
    struct terminal terminal;
    terminal_open(&terminal, false);
    feed(&terminal, "a\r", 0);
    assert_keys(&terminal, "a");
    assert_int_equal(keys_wait(&terminal.keys, 0), KEYS_RETURN_MS);
    feed(&terminal, "b\r", 4);
    assert_keys(&terminal, "Break b");
    feed(&terminal, "c", 9);
    assert_keys(&terminal, "Enter c");
    terminal_close(&terminal);
}

static void test_a_paste_has_a_limit(void **state)
{
    (void)state;
    struct terminal terminal;
    struct str expected;
    terminal_open(&terminal, false);
    str_init(&expected, MAX_LOG);
    str_adds(&expected, "Paste(");
    feed(&terminal, "\033[200~x", 0);
    str_adds(&expected, "x");
    for (size_t i = 0; i < KEYS_MAX_PASTE; i++) /* the limit is in the middle of a character */
        feed(&terminal, "é", (int64_t)i * 1000);
    for (size_t i = 0; i < KEYS_MAX_PASTE / 2 - 1; i++)
        str_adds(&expected, "é");
    feed(&terminal, "\033[201~.", (int64_t)KEYS_MAX_PASTE * 1000);
    str_adds(&expected, ")cut .");
    assert_true(view_eq(str_view(&terminal.log), str_view(&expected)));
    str_clear(&terminal.log);
    feed(&terminal, "\033[200~next\033[201~", (int64_t)KEYS_MAX_PASTE * 1000);
    assert_keys(&terminal, "Paste(next)");
    str_release(&expected);
    terminal_close(&terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences_are_keys),
        cmocka_unit_test(test_sequences_may_be_split_at_every_byte),
        cmocka_unit_test(test_an_escape_alone_is_a_key_after_silence),
        cmocka_unit_test(test_the_tail_of_an_escape_is_swallowed),
        cmocka_unit_test(test_a_sequence_that_does_not_end_is_dropped),
        cmocka_unit_test(test_a_return_after_silence_is_enter_at_once),
        cmocka_unit_test(test_a_return_waits_for_what_follows),
        cmocka_unit_test(test_a_paste_has_a_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
