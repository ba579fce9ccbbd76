/*
 * stop_words.c: words that say nothing about what a sentence is about.
 */
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "core/search/words.h"

#define LONGEST 7 /* bytes of one of them */

/* In byte order. */
static const char *const common[] = {
    "a",     "about", "am",     "an",    "and",   "any",   "are",   "as",     "at",   "be",
    "been",  "but",   "by",     "can",   "could", "d",     "did",   "do",     "does", "for",
    "from",  "had",   "has",    "have",  "he",    "her",   "him",   "his",    "how",  "i",
    "if",    "in",    "into",   "is",    "it",    "its",   "ll",    "m",      "may",  "me",
    "might", "must",  "my",     "of",    "on",    "or",    "our",   "please", "re",   "s",
    "shall", "she",   "should", "so",    "some",  "t",     "than",  "that",   "the",  "their",
    "them",  "then",  "there",  "these", "they",  "this",  "those", "to",     "us",   "ve",
    "was",   "we",    "were",   "what",  "when",  "where", "which", "who",    "whom", "whose",
    "why",   "will",  "with",   "would", "you",   "your"};

static int compare_stop_word(const void *word, const void *row)
{
    return strcmp(word, *(const char *const *)row);
}

bool words_is_common(struct ethos_view folded)
{
    char word[LONGEST + 1];
    if (folded.size == 0 || folded.size > LONGEST)
        return false;
    memcpy(word, folded.data, folded.size);
    word[folded.size] = 0;
    return bsearch(word, common, sizeof common / sizeof *common, sizeof *common,
                   compare_stop_word) != NULL;
}
