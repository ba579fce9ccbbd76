/*
 * near_words.h: words of a question that no text has, and those that are near to them.
 */
#ifndef ETHOS_MEMORY_RECALL_NEAR_WORDS_H
#define ETHOS_MEMORY_RECALL_NEAR_WORDS_H

#include "recall/image.h"

struct str;

/*
 * Appends to the question, for each word of it that no image has, up to NEAR_WORDS that begin with it or differ from
 * it by one letter, the most frequent ones. A word of fewer than NEAR_LETTERS has only those that begin so.
 */
#define NEAR_WORDS 4
#define NEAR_LETTERS 5
int near_words_add(const struct image *images, size_t count, struct ethos_view question,
                   struct str *out);

#endif
