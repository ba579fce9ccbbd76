/*
 * test_invisible.c: which characters hide, in all planes, and where scripts need them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/text/invisible.h"
#include "base/utf8.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* How many characters of a text hide. */
static size_t count_hidden(struct ethos_view text)
{
    size_t count = 0, taken;
    for (size_t at = 0; at < text.size; at += taken) {
        uint32_t cp;
        taken = utf8_decode(text.data + at, text.size - at, &cp, NULL);
        count += hidden_at(text, at, cp);
    }
    return count;
}

static void test_all_planes_have_these_and_no_others(void **state)
{
    static const uint32_t spans[][2] = {{0xAD, 0xAD},     {0x61C, 0x61C},     {0x115F, 0x1160},
                                        {0x180E, 0x180E}, {0x200B, 0x200B},   {0x200E, 0x200F},
                                        {0x202A, 0x202E}, {0x2060, 0x2064},   {0x2066, 0x2069},
                                        {0x3164, 0x3164}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
                                        {0xFFA0, 0xFFA0}, {0xE0000, 0xE007F}, {0xE0100, 0xE01EF}};
    (void)state;
    for (uint32_t cp = 1; cp < 0x110000; cp++) {
        char bytes[6] = "a";
        bool listed = false;
        if (cp == 0xD800)
            cp = 0xE000; // those between are none
        for (size_t i = 0; i < COUNT(spans); i++)
            listed |= cp >= spans[i][0] && cp <= spans[i][1];
        size_t size = 1 + utf8_put(cp, bytes + 1);
        struct ethos_view text = view_of(bytes, size);
        if (count_hidden(text) != listed || hidden_find(text, 0) != (listed ? 1 : size))
            fail_msg("U+%04X", (unsigned)cp);
    }
}

/* Wherever it stands in the blocks that utf8_measure looks at, be it in front of others or behind. */
static void test_a_fast_pass_passes_over_none(void **state)
{
    static const char letters[64] =
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk";
    static const char *const plain = "é — “ß” 中 ü ， я";
    uint64_t units;
    bool unseen;
    (void)state;
    assert_true(utf8_measure(view_str(plain), &units, &unseen));
    assert_false(unseen);
    for (uint32_t cp = 0xAD; cp < 0xE0080; cp++) {
        char bytes[sizeof letters + 8];
        cp = cp == 0xD800 ? 0xE000 : cp == 0x10000 ? 0xE0000 : cp;
        for (size_t before = 0; before < 20; before++) {
            memcpy(bytes, letters, before);
            size_t size = before + utf8_put(cp, bytes + before);
            memcpy(bytes + size, letters, before);
            struct ethos_view text = view_of(bytes, size + before);
            if (utf8_measure(text, &units, &unseen) && !unseen && count_hidden(text) > 0)
                fail_msg("U+%04X after %zu", (unsigned)cp, before);
        }
    }
}

static void test_what_scripts_and_emoji_need_hides_nothing(void **state)
{
    static const char *const texts[] = {
        "שלום\u200F, עולם",                                     // a mark beside its letters
        "\u200Eעברית",                                          // before them
        "العربية\u061C",                                        // Arabic's own
        "می\u200Cخواهم क्\u200Dष",                               // joiners
        "👨\u200D👩\u200D👧\u200D👦 ❤\uFE0F 1\uFE0F\u20E3 ☎\uFE0E", // families, styles, keycaps
        "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
        "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
        "\U0001F3F4\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
        "葛\U000E0100城", // a variant of an ideograph
        "Привет, 世界, สวัสดี, 안녕, Γειά, ÀÉÎ",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (count_hidden(view_str(texts[i])) != 0)
            fail_msg("%s", texts[i]);
}

static void test_the_same_characters_elsewhere_do(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"plain\u200F text", 1},
        {"if (admin\u202E \u2066// check\u2069 \u2066) {", 4},
        {"❤\uFE0F\uFE0E\uFE0F", 2},             // one selector is enough
        {"a\uFE0F", 1},                         // a letter has no style
        {"葛\U000E0100\U000E0101", 1},          // the second selects nothing
        {"x\U000E0041\U000E0042\U000E007F", 3}, // tags without a flag
        {"\U0001F3F4\U000E0067\U000E0062\U000E0041\U000E0041\U000E0041\U000E007F", 6},
        {"\uFEFFbegin", 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (count_hidden(view_str(rows[i].text)) != rows[i].count)
            fail_msg("%s: %zu", rows[i].text, count_hidden(view_str(rows[i].text)));
}

static void test_it_is_shown_by_its_number(void **state)
{
    struct str out;
    (void)state;
    str_init(&out, 100);
    assert_int_equal(hidden_show(0x202E, &out), ETHOS_OK);
    assert_int_equal(hidden_show(0xE0041, &out), ETHOS_OK);
    assert_string_equal(out.data, "\\u{202E}\\u{E0041}");
    str_release(&out);
}

static void test_what_is_shown_can_be_turned_back(void **state)
{
    static const char *const cases[][2] = {
        {"c\\u{200B}\\u{E0041} \\u{202E}", "c\u200b\U000e0041 \u202e"},
        {"\\u{200b} \\u{0200B} \\u{200B \\u{}\\u{", "\\u{200b} \\u{0200B} \\u{200B \\u{}\\u{"},
        {"\\u{41}\\u{F0000}\\u{FFFFF}", "\\u{41}\\u{F0000}\\u{FFFFF}"}, // nothing that hides
        {"\\u{D800}\\u{DFFF}", "\\u{D800}\\u{DFFF}"},
    };
    struct str out;
    (void)state;
    str_init(&out, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        str_clear(&out);
        assert_int_equal(hidden_restore(view_str(cases[i][0]), &out), 0);
        assert_string_equal(out.data, cases[i][1]);
    }
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_planes_have_these_and_no_others),
        cmocka_unit_test(test_a_fast_pass_passes_over_none),
        cmocka_unit_test(test_what_scripts_and_emoji_need_hides_nothing),
        cmocka_unit_test(test_the_same_characters_elsewhere_do),
        cmocka_unit_test(test_it_is_shown_by_its_number),
        cmocka_unit_test(test_what_is_shown_can_be_turned_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
