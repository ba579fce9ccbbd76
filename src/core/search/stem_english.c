/*
 * stem_english.c: Snowball's English algorithm, version 2.2 of its library.
 *
 * R1 is what follows the first consonant behind a vowel, R2 the same within R1. A y that is a consonant is
 * written Y while the steps run. Of the suffixes of a step the longest that fits decides, whether or not its
 * condition holds.
 */
#include "core/search/stem_english.h"

#include <string.h>

#include "base/view.h"

struct english_stem {
    char *word;
    size_t size;
    size_t r1, r2; /* where the regions begin; size of the word when there is none */
};

/* A suffix, and what is written in its place. */
struct english_rule {
    struct ethos_view suffix, instead;
};

#define RULE(suffix, instead)                                                                      \
    {                                                                                              \
        {"" suffix, sizeof(suffix) - 1},                                                           \
        {                                                                                          \
            "" instead, sizeof(instead) - 1                                                        \
        }                                                                                          \
    }

/* ---- letters --------------------------------------------------------------------------------- */

static bool is_vowel(char c)
{
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y';
}

static bool has_vowel(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (is_vowel(word[i]))
            return true;
    return false;
}

/* Whether the first `size` letters end in a short syllable: hop, at; not how, hoop. */
static bool ends_in_short_syllable(const char *word, size_t size)
{
    if (size == 2)
        return is_vowel(word[0]) && !is_vowel(word[1]);
    return size > 2 && !is_vowel(word[size - 3]) && is_vowel(word[size - 2]) &&
           !is_vowel(word[size - 1]) && !strchr("wxY", word[size - 1]);
}

static bool ends_double(const struct english_stem *stem)
{
    char last = stem->size > 1 ? stem->word[stem->size - 1] : '\0';
    return last && last == stem->word[stem->size - 2] && strchr("bdfgmnprt", last);
}

static bool ends_with(const struct english_stem *stem, struct ethos_view suffix)
{
    return suffix.size <= stem->size &&
           memcmp(stem->word + stem->size - suffix.size, suffix.data, suffix.size) == 0;
}

/* Where the first consonant behind a vowel ends, from `at` on. */
static size_t find_region(const struct english_stem *stem, size_t at)
{
    while (at < stem->size && !is_vowel(stem->word[at]))
        at++;
    while (at < stem->size && is_vowel(stem->word[at]))
        at++;
    return at < stem->size ? at + 1 : stem->size;
}

static void mark_regions(struct english_stem *stem)
{
    static const struct ethos_view heads[] = {
        {"gener", 5},
        {"commun", 6},
        {"arsen", 5},
    };
    stem->r1 = 0;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (view_starts(view_of(stem->word, stem->size), heads[i]))
            stem->r1 = heads[i].size;
    if (stem->r1 == 0)
        stem->r1 = find_region(stem, 0);
    stem->r2 = find_region(stem, stem->r1);
}

/* A y at the beginning or behind a vowel is a consonant. */
static void mark_consonant_y(struct english_stem *stem)
{
    for (size_t i = 0; i < stem->size; i++)
        if (stem->word[i] == 'y' && (i == 0 || is_vowel(stem->word[i - 1])))
            stem->word[i] = 'Y';
}

static void write_suffix(struct english_stem *stem, size_t left, struct ethos_view instead)
{
    if (instead.size > 0)
        memcpy(stem->word + left, instead.data, instead.size);
    stem->size = left + instead.size;
}

/* The longest suffix of the table that the word ends with, or NULL. */
static const struct english_rule *find_rule(const struct english_stem *stem,
                                            const struct english_rule *rules, size_t count)
{
    const struct english_rule *best = NULL;
    for (size_t i = 0; i < count; i++)
        if ((!best || rules[i].suffix.size > best->suffix.size) &&
            rules[i].suffix.data[rules[i].suffix.size - 1] == stem->word[stem->size - 1] &&
            ends_with(stem, rules[i].suffix))
            best = &rules[i];
    return best;
}

#define FIND_RULE(stem, rules) find_rule(stem, rules, sizeof(rules) / sizeof *(rules))

/* ---- steps ----------------------------------------------------------------------------------- */

/* Words that no rule gets right; true when this is one. */
static bool replace_exception(struct english_stem *stem)
{
    static const struct english_rule words[] = {
        RULE("skis", "ski"),      RULE("skies", "sky"),    RULE("dying", "die"),
        RULE("lying", "lie"),     RULE("tying", "tie"),    RULE("idly", "idl"),
        RULE("gently", "gentl"),  RULE("ugly", "ugli"),    RULE("early", "earli"),
        RULE("only", "onli"),     RULE("singly", "singl"), RULE("sky", "sky"),
        RULE("news", "news"),     RULE("howe", "howe"),    RULE("atlas", "atlas"),
        RULE("cosmos", "cosmos"), RULE("bias", "bias"),    RULE("andes", "andes"),
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!view_eq(words[i].suffix, view_of(stem->word, stem->size)))
            continue;
        write_suffix(stem, 0, words[i].instead);
        return true;
    }
    return false;
}

/* Plurals. */
static void step_1a(struct english_stem *stem)
{
    if (ends_with(stem, VIEW("sses")))
        stem->size -= 2;
    else if (ends_with(stem, VIEW("ied")) || ends_with(stem, VIEW("ies")))
        stem->size -= stem->size > 4 ? 2 : 1;
    else if (ends_with(stem, VIEW("s")) && !ends_with(stem, VIEW("us")) &&
             !ends_with(stem, VIEW("ss")) && stem->size > 2 &&
             has_vowel(stem->word, stem->size - 2))
        stem->size--;
}

/* Words that are ready after the plural is gone. */
static bool is_final_stem(const struct english_stem *stem)
{
    static const struct ethos_view words[] = {
        {"inning", 6},  {"outing", 6},  {"canning", 7}, {"herring", 7},
        {"earring", 7}, {"proceed", 7}, {"exceed", 6},  {"succeed", 7},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (view_eq(words[i], view_of(stem->word, stem->size)))
            return true;
    return false;
}

/* -ed and -ing, and the letter that goes or comes with them. */
static void step_1b(struct english_stem *stem)
{
    static const struct english_rule rules[] = {
        RULE("eed", "ee"), RULE("eedly", "ee"), RULE("ed", ""),
        RULE("edly", ""),  RULE("ing", ""),     RULE("ingly", ""),
    };
    const struct english_rule *rule = FIND_RULE(stem, rules);
    size_t left = rule ? stem->size - rule->suffix.size : 0;
    if (!rule || (rule->instead.size > 0 ? left < stem->r1 : !has_vowel(stem->word, left)))
        return;
    write_suffix(stem, left, rule->instead);
    if (rule->instead.size > 0)
        return;
    if (ends_with(stem, VIEW("at")) || ends_with(stem, VIEW("bl")) || ends_with(stem, VIEW("iz")))
        write_suffix(stem, stem->size, VIEW("e"));
    else if (ends_double(stem))
        stem->size--;
    else if (stem->r1 >= stem->size && ends_in_short_syllable(stem->word, stem->size))
        write_suffix(stem, stem->size, VIEW("e"));
}

static void step_1c(struct english_stem *stem)
{
    char last = stem->word[stem->size - 1];
    if ((last == 'y' || last == 'Y') && stem->size > 2 && !is_vowel(stem->word[stem->size - 2]))
        stem->word[stem->size - 1] = 'i';
}

static void step_2(struct english_stem *stem)
{
    static const struct english_rule rules[] = {
        RULE("tional", "tion"), RULE("enci", "ence"),   RULE("anci", "ance"),
        RULE("abli", "able"),   RULE("entli", "ent"),   RULE("izer", "ize"),
        RULE("ization", "ize"), RULE("ational", "ate"), RULE("ation", "ate"),
        RULE("ator", "ate"),    RULE("alism", "al"),    RULE("aliti", "al"),
        RULE("alli", "al"),     RULE("fulness", "ful"), RULE("ousli", "ous"),
        RULE("ousness", "ous"), RULE("iveness", "ive"), RULE("iviti", "ive"),
        RULE("biliti", "ble"),  RULE("bli", "ble"),     RULE("ogi", "og"),
        RULE("fulli", "ful"),   RULE("lessli", "less"), RULE("li", ""),
    };
    const struct english_rule *rule = FIND_RULE(stem, rules);
    size_t left = rule ? stem->size - rule->suffix.size : 0;
    if (!rule || left < stem->r1)
        return;
    char before = left > 0 ? stem->word[left - 1] : '\0';
    if ((view_eq(rule->suffix, VIEW("ogi")) && before != 'l') ||
        (view_eq(rule->suffix, VIEW("li")) && !(before && strchr("cdeghkmnrt", before))))
        return;
    write_suffix(stem, left, rule->instead);
}

static void step_3(struct english_stem *stem)
{
    static const struct english_rule rules[] = {
        RULE("tional", "tion"), RULE("ational", "ate"), RULE("alize", "al"),
        RULE("icate", "ic"),    RULE("iciti", "ic"),    RULE("ical", "ic"),
        RULE("ful", ""),        RULE("ness", ""),       RULE("ative", ""),
    };
    const struct english_rule *rule = FIND_RULE(stem, rules);
    size_t left = rule ? stem->size - rule->suffix.size : 0;
    size_t region = rule && view_eq(rule->suffix, VIEW("ative")) ? stem->r2 : stem->r1;
    if (rule && left >= region)
        write_suffix(stem, left, rule->instead);
}

static void step_4(struct english_stem *stem)
{
    static const struct english_rule rules[] = {
        RULE("al", ""),   RULE("ance", ""), RULE("ence", ""), RULE("er", ""),    RULE("ic", ""),
        RULE("able", ""), RULE("ible", ""), RULE("ant", ""),  RULE("ement", ""), RULE("ment", ""),
        RULE("ent", ""),  RULE("ism", ""),  RULE("ate", ""),  RULE("iti", ""),   RULE("ous", ""),
        RULE("ive", ""),  RULE("ize", ""),  RULE("ion", ""),
    };
    const struct english_rule *rule = FIND_RULE(stem, rules);
    size_t left = rule ? stem->size - rule->suffix.size : 0;
    if (!rule || left < stem->r2)
        return;
    if (view_eq(rule->suffix, VIEW("ion")) &&
        !(left > 0 && (stem->word[left - 1] == 's' || stem->word[left - 1] == 't')))
        return;
    stem->size = left;
}

static void step_5(struct english_stem *stem)
{
    size_t left = stem->size - 1;
    if (stem->word[left] == 'e') {
        if (left >= stem->r2 || (left >= stem->r1 && !ends_in_short_syllable(stem->word, left)))
            stem->size = left;
    } else if (stem->word[left] == 'l' && left >= stem->r2 && left > 0 &&
               stem->word[left - 1] == 'l') {
        stem->size = left;
    }
}

static bool is_english_word(struct ethos_view word)
{
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9'))
            return false;
    }
    return true;
}

static void run_steps(struct english_stem *stem)
{
    mark_consonant_y(stem);
    mark_regions(stem);
    step_1a(stem);
    if (!is_final_stem(stem)) {
        step_1b(stem);
        step_1c(stem);
        step_2(stem);
        step_3(stem);
        step_4(stem);
        step_5(stem);
    }
    for (size_t i = 0; i < stem->size; i++)
        if (stem->word[i] == 'Y')
            stem->word[i] = 'y';
}

size_t stem_english(struct ethos_view folded, char out[WORDS_MAX + 1])
{
    struct english_stem stem = {.word = out,
                                .size = folded.size < WORDS_MAX ? folded.size : WORDS_MAX};
    if (stem.size > 0)
        memcpy(out, folded.data, stem.size);
    if (stem.size > 2 && is_english_word(folded) && !replace_exception(&stem))
        run_steps(&stem);
    out[stem.size] = '\0';
    return stem.size;
}
