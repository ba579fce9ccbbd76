/*
 * test_key.c: what conversations are found by, and called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/key.h"

static void assert_folder(const char *folder, bool hashed, const char *expected)
{
    struct str out;

    str_init(&out, 4096);
    assert_int_equal(session_key_folder(view_str(folder), hashed, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_a_folder_is_known_by_its_last_part(void **state)
{
    (void)state;
    assert_folder("/home/me/shop", false, "cli:shop");
    assert_folder("/home/me/shop/", false, "cli:shop");
    assert_folder("/a:b%c", false, "cli:a%3Ab%25c");
    assert_folder("/", false, "cli:/");
    assert_folder("/tmp/\xE5\xBA\x97", false, "cli:\xE5\xBA\x97");
}

static void test_the_hash_tells_folders_of_one_name_apart(void **state)
{
    (void)state;
    assert_folder("/a/shop", true, "cli:shop~06b75c53");
    assert_folder("/b/shop", true, "cli:shop~33a7031a");
}

static void test_parts_of_a_channel_are_encoded(void **state)
{
    const struct ethos_view parts[] = {VIEW("telegram"), VIEW("my:bot"), VIEW("-100%7")};
    struct str out;

    (void)state;
    str_init(&out, 4096);
    assert_int_equal(session_key_parts(parts, 3, &out), ETHOS_OK);
    assert_string_equal(out.data, "telegram:my%3Abot:-100%257");
    str_release(&out);
}

static void test_a_family_is_the_key_and_its_fresh_ones(void **state)
{
    const struct ethos_view base = VIEW("cli:shop");

    (void)state;
    assert_true(session_key_of_family(VIEW("cli:shop"), base));
    assert_true(session_key_of_family(VIEW("cli:shop:1763193600000"), base));
    assert_false(session_key_of_family(VIEW("cli:shop:"), base));
    assert_false(session_key_of_family(VIEW("cli:shop:12:fork:13"), base));
    assert_false(session_key_of_family(VIEW("cli:shopping"), base));
    assert_false(session_key_of_family(VIEW("cli:shop~8c44980c"), base));
    assert_false(session_key_of_family(VIEW("cli:sho"), base));
}

static void test_a_title_is_the_first_line_that_says_something(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 4096);
    assert_int_equal(session_title(VIEW("\n\n## How do we deploy?\n\nMore."), &out), ETHOS_OK);
    assert_string_equal(out.data, "How do we deploy?");
    str_release(&out);
}

/* A message may be a whole file in one line. */
static void test_a_title_needs_no_more_than_the_start_of_a_text(void **state)
{
    static char text[1 << 20];
    struct str out;

    (void)state;
    memset(text, ' ', sizeof text);
    for (size_t i = 10; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "\xE6\x97\xA5", 3);
    str_init(&out, 8192);
    assert_int_equal(session_title(view_of(text, sizeof text), &out), ETHOS_OK);
    assert_true(utf8_valid(str_view(&out)));
    assert_true(out.size > 0 && utf8_units(str_view(&out)) <= 61); // and an ellipsis
    str_release(&out);
}

static void test_the_base_of_a_family(void **state)
{
    static const char *const rows[][2] = {
        {"cli:shop", "cli:shop"},
        {"cli:shop:1763193600000", "cli:shop"},
        {"cli:2026", "cli:2026"},
        {"cli:2026:1763193600000", "cli:2026"},
        {"cli:shop:fork:1763193600000", "cli:shop:fork"},
        {"cli:shop:", "cli:shop:"},
        {"telegram:bot:1001234567890", "telegram:bot:1001234567890"},
        {"telegram:bot:100:1763193600000", "telegram:bot:100"},
        {"1", "1"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(view_eq_str(session_key_base(view_str(rows[i][0])), rows[i][1]));
}

static void test_what_was_said_begins_behind_commands(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"/clear", ""},
        {" /clear \n\n/plugin:do_it-2\n", ""},
        {"/compact\n\nsum\n\nask", "sum\n\nask"},
        {"<bash-input>ls\n</bash-input>\n<bash-stdout>a\n\nb</bash-stdout><bash-stderr></"
         "bash-stderr>",
         ""},
        {"<bash-input>ls</bash-input>\nWhy is it empty?", "Why is it empty?"},
        {"<bash-input>ls", ""},
        {"<command-name>/x</command-name>\n<command-args>y</command-args>", ""},
        {"/review the last commit", "/review the last commit"},
        {"/usr/bin is empty", "/usr/bin is empty"},
        {"/usr/bin", "/usr/bin"},
        {"/", "/"},
        {"<b>bold</b>", "<b>bold</b>"},
        {"Say <bash-input>", "Say <bash-input>"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!view_eq_str(session_said(view_str(rows[i].text)), rows[i].said))
            fail_msg("%s", rows[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_base_of_a_family),
        cmocka_unit_test(test_a_folder_is_known_by_its_last_part),
        cmocka_unit_test(test_the_hash_tells_folders_of_one_name_apart),
        cmocka_unit_test(test_parts_of_a_channel_are_encoded),
        cmocka_unit_test(test_a_family_is_the_key_and_its_fresh_ones),
        cmocka_unit_test(test_a_title_is_the_first_line_that_says_something),
        cmocka_unit_test(test_a_title_needs_no_more_than_the_start_of_a_text),
        cmocka_unit_test(test_what_was_said_begins_behind_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
