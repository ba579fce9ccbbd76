/*
 * ranked_words.h: the words of a text, as ranking counts them.
 *
 * Those of core/search/words.h without signs and symbols, and without the possessive 's. An identifier such as
 * foo_bar, v1.2.3 or a path is the words it is made of; that they stand side by side is what pairs reward.
 */
#ifndef ETHOS_CORE_SEARCH_RANKED_WORDS_H
#define ETHOS_CORE_SEARCH_RANKED_WORDS_H

#include "core/search/words.h"

/* In order; a result other than 0 stops and is returned. ETHOS_OK at the end. */
int ranked_words_each(struct ethos_view text, word_fn *each, void *arg);

/* Whether a folded word says nothing about what a question asks for: English alone. */
bool ranked_words_is_stop(struct ethos_view folded);

#endif
