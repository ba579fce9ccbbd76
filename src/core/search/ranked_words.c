/*
 * ranked_words.c: a filter over the words of a text.
 */
#include "core/search/ranked_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define LONGEST_STOP_WORD 10 /* bytes */

struct filter {
    struct ethos_view text;
    word_fn *each;
    void *arg;
    size_t end; /* of the word before */
};

/* Whether the word is the s of a possessive: an apostrophe between it and the word before. */
static bool is_possessive(const struct filter *filter, const struct word *word)
{
    size_t gap = word->start - filter->end;
    if (filter->end == 0 || word->folded.size != 1 || word->folded.data[0] != 's')
        return false;
    struct ethos_view between = view_of(filter->text.data + filter->end, gap);
    return view_eq(between, VIEW("'")) || view_eq(between, VIEW("\xE2\x80\x99"));
}

/* A word of its own that is one symbol, such as an emoji. */
static bool is_symbol(const struct word *word)
{
    uint32_t cp;
    if (word->pair || word->one || (unsigned char)word->folded.data[0] < 0x80)
        return false;
    return utf8_decode(word->folded.data, word->folded.size, &cp, NULL) == word->folded.size &&
           unicode_kind(cp) == UNICODE_SYMBOL;
}

static int pass_word(void *arg, const struct word *word)
{
    struct filter *filter = arg;
    bool possessive = is_possessive(filter, word);
    if (!word->aside)
        filter->end = word->end;
    if (word->aside || word->tail || possessive || is_symbol(word))
        return 0;
    return filter->each(filter->arg, word);
}

int ranked_words_each(struct ethos_view text, word_fn *each, void *arg)
{
    struct filter filter = {.text = text, .each = each, .arg = arg};
    return words_each(text, pass_word, &filter);
}

/* In byte order. */
static const char *const stop_words[] = {
    "a",       "about",     "above",  "after",   "again",      "against",  "all",       "am",
    "an",      "and",       "any",    "are",     "as",         "at",       "be",        "because",
    "been",    "before",    "being",  "below",   "between",    "both",     "but",       "by",
    "can",     "could",     "d",      "did",     "do",         "does",     "doing",     "down",
    "during",  "each",      "few",    "for",     "from",       "further",  "had",       "has",
    "have",    "having",    "he",     "her",     "here",       "hers",     "herself",   "him",
    "himself", "his",       "how",    "i",       "if",         "in",       "into",      "is",
    "it",      "its",       "itself", "just",    "ll",         "m",        "me",        "more",
    "most",    "my",        "myself", "no",      "nor",        "not",      "now",       "o",
    "of",      "off",       "on",     "once",    "only",       "or",       "other",     "our",
    "ours",    "ourselves", "out",    "over",    "own",        "re",       "s",         "same",
    "she",     "should",    "so",     "some",    "such",       "t",        "than",      "that",
    "the",     "their",     "theirs", "them",    "themselves", "then",     "there",     "these",
    "they",    "this",      "those",  "through", "to",         "too",      "under",     "until",
    "up",      "ve",        "very",   "was",     "we",         "were",     "what",      "when",
    "where",   "which",     "while",  "who",     "whom",       "why",      "will",      "with",
    "would",   "y",         "you",    "your",    "yours",      "yourself", "yourselves"};

static int compare_ranked_word(const void *word, const void *row)
{
    return strcmp(word, *(const char *const *)row);
}

bool ranked_words_is_stop(struct ethos_view folded)
{
    char word[LONGEST_STOP_WORD + 1];
    if (folded.size == 0 || folded.size > LONGEST_STOP_WORD)
        return false;
    memcpy(word, folded.data, folded.size);
    word[folded.size] = '\0';
    return bsearch(word, stop_words, sizeof stop_words / sizeof *stop_words, sizeof *stop_words,
                   compare_ranked_word) != NULL;
}
