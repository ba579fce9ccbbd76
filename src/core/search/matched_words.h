/*
 * matched_words.h: which words of a question occur in a text, to explain a match.
 */
#ifndef ETHOS_CORE_SEARCH_MATCHED_WORDS_H
#define ETHOS_CORE_SEARCH_MATCHED_WORDS_H

#include <stdbool.h>

#include <ethos/types.h>

#include "core/search/words.h"

#define MATCHED_WORDS_MAX 64 /* of a question; further ones are not explained */

struct matched_word {
    char word[WORDS_MAX + 1]; /* of the question, folded */
    char stem[WORDS_MAX + 1];
    char as
        [WORDS_MAX +
         1]; /* as it occurs in the text, folded: the same, or with the same stem; "": not found */
    char near[WORDS_MAX + 1]; /* otherwise a word of the text with a similar meaning; or "" */
    double cosine;            /* of that */
};

struct matched_words {
    struct matched_word rows[MATCHED_WORDS_MAX]; /* without stop words, if there are others */
    size_t count;
};

/* The words of a question, all unmatched. */
void matched_words_read(struct ethos_view question, struct matched_words *out);

/*
 * Marks those that occur in a text, preferring the same word to one with its stem; returns how
 * many.
 */
size_t matched_words_find(struct ethos_view text, struct matched_words *words);

#endif
