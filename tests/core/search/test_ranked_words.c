/*
 * test_ranked_words.c: the words, stems and passages that ranking counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "core/search/passages.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"

static int add_word(void *arg, const struct word *word)
{
    struct str *out = arg;
    str_adds(out, out->size > 0 ? " " : "");
    return str_add(out, word->folded);
}

static void assert_words(const char *text, const char *expected)
{
    struct str out;
    str_init(&out, 1000);
    assert_int_equal(ranked_words_each(view_str(text), add_word, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_words(void **state)
{
    (void)state;
    assert_words("Jonas's dog, Leena\xE2\x80\x99s cat", "jonas dog leena cat");
    assert_words("It\xE2\x80\x99s 's tests' 'some' class's", "it s tests some class");
    assert_words("retry_limit v1.2.3 src/core/a.c", "retry limit v1 2 3 src core a c");
    assert_words("Caf\xC3\xA9 \xE2\x80\x94 \xF0\x9F\x98\x80 ok", "cafe ok");
    assert_words("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E",
                 "\xE6\x97\xA5\xE6\x9C\xAC \xE6\x9C\xAC\xE8\xAA\x9E");
    assert_words("", "");
}

static void test_stop_words(void **state)
{
    (void)state;
    assert_true(ranked_words_is_stop(VIEW("a")));
    assert_true(ranked_words_is_stop(VIEW("themselves")));
    assert_true(ranked_words_is_stop(VIEW("yourselves")));
    assert_false(ranked_words_is_stop(VIEW("deploy")));
    assert_false(ranked_words_is_stop(VIEW("")));
}

static void test_stems(void **state)
{
    static const char *const rows[][2] = {
        {"generously", "generous"},
        {"communism", "communism"},
        {"skies", "sky"},
        {"dying", "die"},
        {"news", "news"},
        {"innings", "inning"},
        {"happy", "happi"},
        {"say", "say"},
        {"enjoyed", "enjoy"},
        {"yes", "yes"},
        {"ties", "tie"},
        {"cries", "cri"},
        {"gas", "gas"},
        {"kiwis", "kiwi"},
        {"agreed", "agre"},
        {"feed", "feed"},
        {"hopping", "hop"},
        {"hoping", "hope"},
        {"luxuriated", "luxuri"},
        {"nationally", "nation"},
        {"knowledgeable", "knowledg"},
        {"biology", "biolog"},
        {"quickly", "quick"},
        {"formative", "format"},
        {"adoption", "adopt"},
        {"rolled", "roll"},
        {"controll", "control"},
        {"be", "be"},
        {"2nd", "2nd"},
        {"s", "s"},
    };
    char out[WORDS_MAX + 1];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(stem_english(view_str(rows[i][0]), out), strlen(rows[i][1]));
        assert_string_equal(out, rows[i][1]);
    }
    assert_int_equal(stem_english(VIEW("caf\xC3\xA9s"), out), 6); // only words of ASCII have one
}

static int add_passage(void *arg, size_t start, size_t end)
{
    return str_printf(arg, "%zu-%zu ", start, end);
}

static void assert_passages(struct ethos_view text, const char *expected)
{
    struct str out;
    str_init(&out, 1000);
    assert_int_equal(passages_each(text, add_passage, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_passages(void **state)
{
    char text[2001];
    (void)state;
    assert_passages(VIEW(""), "0-0 ");
    assert_passages(VIEW("One. Two."), "0-9 ");
    memset(text, 'x', 2000);
    assert_passages(view_of(text, 600), "0-600 ");
    assert_passages(view_of(text, 1300), "0-600 600-1200 1200-1300 ");
    memcpy(text + 298, ". ", 2); // 299 characters, a cut, 301: together they are 601
    assert_passages(view_of(text, 601), "0-299 300-601 ");
    assert_passages(view_of(text, 600), "0-600 ");
    memcpy(text + 400, ".  ", 3); // the blanks of a cut count as one: 299 + 1 + 101 + 1 + 198 = 600
    assert_passages(view_of(text, 601), "0-601 ");
    assert_passages(view_of(text, 602), "0-401 403-602 ");
    memcpy(text + 298, "a\nb", 3); // a single line feed between words is no cut
    assert_passages(view_of(text, 1000), "0-401 403-1000 ");
}

/* A word that stood in two passages would be found in neither. */
static void test_passages_keep_words_whole(void **state)
{
    char text[1401];
    (void)state;
    memset(text, 'x', 1400);
    text[590] = text[1180] = ' ';
    assert_passages(view_of(text, 1400), "0-591 591-1181 1181-1400 ");
    text[600] = ' '; // the word before it fits
    assert_passages(view_of(text, 700), "0-600 601-700 ");
    memset(text, 'x', 601);
    memcpy(text + 500, "\xE3\x80\x82", 3); // an ideographic full stop
    assert_passages(view_of(text, 700), "0-503 503-700 ");
    memcpy(text + 597, "\xE2\x80\x8D", 3); // a joiner within a word
    assert_passages(view_of(text, 700), "0-503 503-700 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_stop_words),
        cmocka_unit_test(test_stems),
        cmocka_unit_test(test_passages),
        cmocka_unit_test(test_passages_keep_words_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
