/*
 * near_words.h: replaces unknown words of a question by similar ones.
 */
#ifndef ETHOS_MEMORY_RECALL_NEAR_WORDS_H
#define ETHOS_MEMORY_RECALL_NEAR_WORDS_H

#include "recall/image.h"

struct str;

/*
 * Appends to the question, for each word that is in no image, up to NEAR_WORDS that begin with it
 * or differ by one letter, the most frequent ones. For a word of fewer than NEAR_LETTERS only those
 * that begin with it.
 */
#define NEAR_WORDS 4
#define NEAR_LETTERS 5
int near_words_add(const struct image *images, size_t count, struct ethos_view question,
                   struct str *out);

#endif
