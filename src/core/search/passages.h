/*
 * passages.h: splits a text into the passages that are ranked separately.
 *
 * A text of at most PASSAGE_MAX characters is one passage. A longer one is cut at white space after
 * the end of a sentence or line, and its parts are joined again to passages of at most that size; a
 * longer part is cut between words, a longer word anywhere. Passages do not overlap.
 */
#ifndef ETHOS_CORE_SEARCH_PASSAGES_H
#define ETHOS_CORE_SEARCH_PASSAGES_H

#include <ethos/types.h>

#define PASSAGE_MAX 600 /* code points */

/*
 * Bytes [start, end) of the text. Return 0 to continue; any other value ends the iteration and is
 * returned.
 */
typedef int passage_fn(void *arg, size_t start, size_t end);

/* In order, at least one. ETHOS_OK, or what each returned. */
int passages_each(struct ethos_view text, passage_fn *each, void *arg);

/* Bytes of the first PASSAGE_MAX characters. */
size_t passages_head(struct ethos_view text);

#endif
