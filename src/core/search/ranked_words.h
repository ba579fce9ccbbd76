/*
 * ranked_words.h: the words of a text as ranking counts them.
 *
 * Those of core/search/words.h without signs and symbols, and without the possessive 's. An
 * identifier such as foo_bar, v1.2.3 or a path counts as the words in it; pairs reward that they
 * are adjacent.
 */
#ifndef ETHOS_CORE_SEARCH_RANKED_WORDS_H
#define ETHOS_CORE_SEARCH_RANKED_WORDS_H

#include "core/search/words.h"

/* In order; a result other than 0 ends the iteration and is returned. ETHOS_OK at the end. */
int ranked_words_each(struct ethos_view text, word_fn *each, void *arg);

/* Whether a folded word is irrelevant for what a question asks: English only. */
bool ranked_words_is_stop(struct ethos_view folded);

#endif
