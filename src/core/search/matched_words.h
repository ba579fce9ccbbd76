/*
 * matched_words.h: which words of a question a text has, for saying why it was found.
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
    char as[WORDS_MAX +
            1]; /* as the text has it, folded: the same, or of the same stem; "": not at all */
    char near[WORDS_MAX + 1]; /* else a word of the text that means something like it; or "" */
    double cosine;            /* of that */
};

struct matched_words {
    struct matched_word rows[MATCHED_WORDS_MAX]; /* stop words are left out, if others are there */
    size_t count;
};

/* The words of a question, none of them matched. */
void matched_words_read(struct ethos_view question, struct matched_words *out);

/* Which of them a text has, the same word before one of its stem; how many. */
size_t matched_words_find(struct ethos_view text, struct matched_words *words);

#endif
