/*
 * stem.c: Porter's algorithm (1980) for words of a-z and digits, with the two changes its
 * author made later (-bli, -logi), which is what SQLite's porter tokenizer does, too.
 *
 * In the comments, m is the number of times that vowels are followed by consonants.
 */
#include <string.h>

#include "base/view.h"
#include "core/search/words.h"

/* A suffix and what takes its place. */
struct suffix_rule {
    struct ethos_view suffix, instead;
};

#define RULE(suffix, instead)                                                                      \
    {                                                                                              \
        {"" suffix, sizeof(suffix) - 1},                                                           \
        {                                                                                          \
            "" instead, sizeof(instead) - 1                                                        \
        }                                                                                          \
    }

struct word_stem {
    char *word;
    size_t size;
};

/* ---- what a word is like --------------------------------------------------------------------- */

/* y is a vowel behind a consonant. */
static bool is_vowel(const char *word, size_t at)
{
    switch (word[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return true;
    case 'y':
        return at > 0 && !is_vowel(word, at - 1);
    default:
        return false;
    }
}

static unsigned count_syllables(const char *word, size_t size)
{
    unsigned count = 0;
    bool before = false;
    for (size_t i = 0; i < size; i++) {
        bool vowel = word[i] == 'y' ? i > 0 && !before : is_vowel(word, i);
        count += before && !vowel;
        before = vowel;
    }
    return count;
}

static bool has_vowel(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (is_vowel(word, i))
            return true;
    }
    return false;
}

static bool ends_double(const char *word, size_t size)
{
    return size >= 2 && word[size - 1] == word[size - 2] && !is_vowel(word, size - 1);
}

/* Consonant, vowel, consonant other than w, x, y: hop, not how. */
static bool ends_short(const char *word, size_t size)
{
    return size >= 3 && !is_vowel(word, size - 1) && is_vowel(word, size - 2) &&
           !is_vowel(word, size - 3) && !strchr("wxy", word[size - 1]);
}

/* Whether it ends so; *out_left is what stands before. Asked some fifty times for every word. */
static inline bool ends_so(const struct word_stem *stem, struct ethos_view suffix, size_t *out_left)
{
    if (suffix.size > stem->size || stem->word[stem->size - 1] != suffix.data[suffix.size - 1] ||
        memcmp(stem->word + stem->size - suffix.size, suffix.data, suffix.size) != 0)
        return false;
    *out_left = stem->size - suffix.size;
    return true;
}

#define ENDS(stem, suffix, out_left) ends_so(stem, VIEW(suffix), out_left)

/* Never longer than the word was: mend puts back one letter where three or two were taken. */
static void put_suffix(struct word_stem *stem, size_t left, struct ethos_view instead)
{
    if (instead.size > 0)
        memcpy(stem->word + left, instead.data, instead.size);
    stem->size = left + instead.size;
}

/* The first rule whose suffix fits decides, if m of the rest is above `least`. */
static void apply_first_rule(struct word_stem *stem, const struct suffix_rule *rules, size_t count,
                             unsigned least)
{
    size_t left;
    for (size_t i = 0; i < count; i++) {
        if (!ends_so(stem, rules[i].suffix, &left))
            continue;
        if (count_syllables(stem->word, left) > least)
            put_suffix(stem, left, rules[i].instead);
        return;
    }
}

#define APPLY(stem, rules, least)                                                                  \
    apply_first_rule(stem, rules, sizeof(rules) / sizeof(*(rules)), least)

/* ---- the steps ------------------------------------------------------------------------------- */

/* Plurals. */
static void step_1a(struct word_stem *stem)
{
    size_t left;
    if (ENDS(stem, "sses", &left) || ENDS(stem, "ies", &left))
        stem->size -= 2;
    else if (ENDS(stem, "s", &left) && left > 0 && stem->word[left - 1] != 's')
        stem->size--;
}

/* What -ed and -ing leave: conflat(e), hop(p), fil(e). */
static void mend(struct word_stem *stem)
{
    size_t left;
    if (ENDS(stem, "at", &left) || ENDS(stem, "bl", &left) || ENDS(stem, "iz", &left))
        put_suffix(stem, stem->size, VIEW("e"));
    else if (ends_double(stem->word, stem->size) && !strchr("lsz", stem->word[stem->size - 1]))
        stem->size--;
    else if (count_syllables(stem->word, stem->size) == 1 && ends_short(stem->word, stem->size))
        put_suffix(stem, stem->size, VIEW("e"));
}

static void step_1b(struct word_stem *stem)
{
    size_t left;
    if (ENDS(stem, "eed", &left)) {
        if (count_syllables(stem->word, left) > 0)
            stem->size--;
    } else if ((ENDS(stem, "ed", &left) || ENDS(stem, "ing", &left)) &&
               has_vowel(stem->word, left)) {
        stem->size = left;
        mend(stem);
    }
}

static void step_1c(struct word_stem *stem)
{
    size_t left;
    if (ENDS(stem, "y", &left) && has_vowel(stem->word, left))
        stem->word[left] = 'i';
}

static void step_2(struct word_stem *stem)
{
    static const struct suffix_rule rules[] = {
        RULE("ational", "ate"), RULE("tional", "tion"), RULE("enci", "ence"),
        RULE("anci", "ance"),   RULE("izer", "ize"),    RULE("bli", "ble"),
        RULE("alli", "al"),     RULE("entli", "ent"),   RULE("eli", "e"),
        RULE("ousli", "ous"),   RULE("ization", "ize"), RULE("ation", "ate"),
        RULE("ator", "ate"),    RULE("alism", "al"),    RULE("iveness", "ive"),
        RULE("fulness", "ful"), RULE("ousness", "ous"), RULE("aliti", "al"),
        RULE("iviti", "ive"),   RULE("biliti", "ble"),  RULE("logi", "log"),
    };
    APPLY(stem, rules, 0);
}

static void step_3(struct word_stem *stem)
{
    static const struct suffix_rule rules[] = {
        RULE("icate", "ic"), RULE("ative", ""), RULE("alize", "al"), RULE("iciti", "ic"),
        RULE("ical", "ic"),  RULE("ful", ""),   RULE("ness", ""),
    };
    APPLY(stem, rules, 0);
}

/* -ion goes only behind s or t, which stay. */
static void step_4(struct word_stem *stem)
{
    static const struct suffix_rule rules[] = {
        RULE("al", ""),   RULE("ance", ""), RULE("ence", ""), RULE("er", ""),    RULE("ic", ""),
        RULE("able", ""), RULE("ible", ""), RULE("ant", ""),  RULE("ement", ""), RULE("ment", ""),
        RULE("ent", ""),  RULE("ou", ""),   RULE("ism", ""),  RULE("ate", ""),   RULE("iti", ""),
        RULE("ous", ""),  RULE("ive", ""),  RULE("ize", ""),
    };
    size_t left;
    if (!ENDS(stem, "ion", &left))
        APPLY(stem, rules, 1);
    else if (left > 0 && strchr("st", stem->word[left - 1]) &&
             count_syllables(stem->word, left) > 1)
        stem->size = left;
}

/* A last e, and the second of two l. */
static void step_5(struct word_stem *stem)
{
    size_t left;
    if (ENDS(stem, "e", &left)) {
        unsigned m = count_syllables(stem->word, left);
        if (m > 1 || (m == 1 && !ends_short(stem->word, left)))
            stem->size = left;
    }
    if (ENDS(stem, "ll", &left) && count_syllables(stem->word, stem->size - 1) > 1)
        stem->size--;
}

static bool is_latin_word(struct ethos_view word)
{
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9'))
            return false;
    }
    return true;
}

size_t words_stem(struct ethos_view folded, char out[WORDS_MAX + 1])
{
    struct word_stem stem = {.word = out,
                             .size = folded.size < WORDS_MAX ? folded.size : WORDS_MAX};
    if (stem.size > 0)
        memcpy(out, folded.data, stem.size);
    if (stem.size > 2 && is_latin_word(folded)) {
        step_1a(&stem);
        step_1b(&stem);
        step_1c(&stem);
        step_2(&stem);
        step_3(&stem);
        step_4(&stem);
        step_5(&stem);
    }
    out[stem.size] = '\0';
    return stem.size;
}
