/*
 * test_stem.c: the stems of words, as Porter's paper and SQLite's tokenizer give them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "core/search/words.h"

static void assert_stem(const char *word, const char *expected)
{
    char out[WORDS_MAX + 1];
    size_t size = words_stem(view_str(word), out);
    assert_int_equal(size, strlen(out));
    if (strcmp(out, expected) != 0)
        fail_msg("'%s' gave '%s' expected '%s'", word, out, expected);
}

static void assert_stems(const char *const (*pairs)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_stem(pairs[i][0], pairs[i][1]);
}

#define ASSERT_STEMS(...)                                                                          \
    do {                                                                                           \
        static const char *const pairs[][2] = {__VA_ARGS__};                                       \
        assert_stems(pairs, sizeof(pairs) / sizeof(*pairs));                                       \
    } while (0)

static void test_plurals_and_past(void **state)
{
    (void)state;
    ASSERT_STEMS({"caresses", "caress"}, {"ponies", "poni"}, {"ties", "ti"}, {"caress", "caress"},
                 {"cats", "cat"}, {"feed", "feed"}, {"agreed", "agre"}, {"plastered", "plaster"},
                 {"bled", "bled"}, {"motoring", "motor"}, {"sing", "sing"}, {"happy", "happi"},
                 {"sky", "sky"}, {"say", "sai"});
}

static void test_what_ed_and_ing_leave_is_mended(void **state)
{
    (void)state;
    ASSERT_STEMS({"conflated", "conflat"}, {"troubled", "troubl"}, {"sized", "size"},
                 {"hopping", "hop"}, {"tanned", "tan"}, {"falling", "fall"}, {"hissing", "hiss"},
                 {"fizzed", "fizz"}, {"failing", "fail"}, {"filing", "file"}, {"running", "run"},
                 {"deployed", "deploi"}, {"deploying", "deploi"});
}

static void test_double_suffixes(void **state)
{
    (void)state;
    ASSERT_STEMS({"relational", "relat"}, {"conditional", "condit"}, {"rational", "ration"},
                 {"valenci", "valenc"}, {"hesitanci", "hesit"}, {"digitizer", "digit"},
                 {"conformabli", "conform"}, {"radicalli", "radic"}, {"differentli", "differ"},
                 {"vileli", "vile"}, {"analogousli", "analog"}, {"vietnamization", "vietnam"},
                 {"predication", "predic"}, {"operator", "oper"}, {"feudalism", "feudal"},
                 {"decisiveness", "decis"}, {"hopefulness", "hope"}, {"callousness", "callous"},
                 {"formaliti", "formal"}, {"sensitiviti", "sensit"}, {"sensibiliti", "sensibl"},
                 {"apologi", "apolog"});
}

static void test_single_suffixes(void **state)
{
    (void)state;
    ASSERT_STEMS({"triplicate", "triplic"}, {"formative", "form"}, {"formalize", "formal"},
                 {"electriciti", "electr"}, {"electrical", "electr"}, {"hopeful", "hope"},
                 {"goodness", "good"}, {"revival", "reviv"}, {"allowance", "allow"},
                 {"inference", "infer"}, {"airliner", "airlin"}, {"gyroscopic", "gyroscop"},
                 {"adjustable", "adjust"}, {"defensible", "defens"}, {"irritant", "irrit"},
                 {"replacement", "replac"}, {"adjustment", "adjust"}, {"dependent", "depend"},
                 {"adoption", "adopt"}, {"option", "option"}, {"homologou", "homolog"},
                 {"communism", "commun"}, {"activate", "activ"}, {"angulariti", "angular"},
                 {"homologous", "homolog"}, {"effective", "effect"}, {"bowdlerize", "bowdler"});
}

static void test_a_last_e_and_double_l(void **state)
{
    (void)state;
    ASSERT_STEMS({"probate", "probat"}, {"rate", "rate"}, {"cease", "ceas"},
                 {"controll", "control"}, {"roll", "roll"}, {"cafe", "cafe"}, {"cafes", "cafe"},
                 {"h100s", "h100"});
}

static void test_forms_of_one_word_share_a_stem(void **state)
{
    static const char *const words[] = {"connect", "connected", "connecting", "connection",
                                        "connections"};
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_stem(words[i], "connect");
}

static void test_short_and_other_words_stay(void **state)
{
    (void)state;
    ASSERT_STEMS({"", ""}, {"a", "a"}, {"is", "is"}, {"as", "as"}, {"42", "42"}, {"日本", "日本"},
                 {"naïves", "naïves"}, {"елка", "елка"});
}

static void test_the_longest_words_are_safe(void **state)
{
    static const char *const suffixes[] = {"ational", "ing",  "eed", "yyed", "ies",
                                           "ization", "ness", "s",   "y",    "atatated"};
    static const char fills[] = "abeylsz";
    char word[WORDS_MAX + 1], out[WORDS_MAX + 1];
    (void)state;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        for (const char *fill = fills; *fill; fill++) {
            size_t size = strlen(suffixes[i]);
            memset(word, *fill, WORDS_MAX - size);
            memcpy(word + WORDS_MAX - size, suffixes[i], size);
            size = words_stem(view_of(word, WORDS_MAX), out);
            assert_true(size > 0 && size <= WORDS_MAX && out[size] == '\0');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plurals_and_past),
        cmocka_unit_test(test_what_ed_and_ing_leave_is_mended),
        cmocka_unit_test(test_double_suffixes),
        cmocka_unit_test(test_single_suffixes),
        cmocka_unit_test(test_a_last_e_and_double_l),
        cmocka_unit_test(test_forms_of_one_word_share_a_stem),
        cmocka_unit_test(test_short_and_other_words_stay),
        cmocka_unit_test(test_the_longest_words_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
