/*
 * passages.h: the pieces of a text that are ranked by themselves.
 *
 * A text of at most PASSAGE_MAX characters is one. A longer one is cut at white space behind the end of a
 * sentence or line, and its parts are joined again to pieces of at most that size; a part that is longer by
 * itself is cut between words, a longer word anywhere. Pieces do not overlap.
 */
#ifndef ETHOS_CORE_SEARCH_PASSAGES_H
#define ETHOS_CORE_SEARCH_PASSAGES_H

#include <ethos/types.h>

#define PASSAGE_MAX 600 /* code points */

/* Bytes [start, end) of the text. Return 0 to go on; any other value is returned by the walk. */
typedef int passage_fn(void *arg, size_t start, size_t end);

/* In order, at least one. ETHOS_OK, or what each returned. */
int passages_each(struct ethos_view text, passage_fn *each, void *arg);

/* Bytes of the first PASSAGE_MAX characters. */
size_t passages_head(struct ethos_view text);

#endif
