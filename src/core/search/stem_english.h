/*
 * stem_english.h: the stems used for ranking, by the Snowball project's English algorithm ("Porter
 * 2").
 *
 * Exact search keeps the older rules of words_stem, because other programs' indexes use them.
 */
#ifndef ETHOS_CORE_SEARCH_STEM_ENGLISH_H
#define ETHOS_CORE_SEARCH_STEM_ENGLISH_H

#include "core/search/words.h"

/*
 * Writes the stem of a folded word to out (terminated) and returns its size. The word itself unless
 * it is three or more of a-z and 0-9. Never longer than the word.
 */
size_t stem_english(struct ethos_view folded, char out[WORDS_MAX + 1]);

#endif
