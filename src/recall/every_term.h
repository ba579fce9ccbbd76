/*
 * every_term.h: finds units that may contain every term of a query.
 *
 * An index contains only stems, while a query asks for words, prefixes and phrases. So the result
 * is a superset: no text that query_matches() accepts is missing, and the caller checks the text of
 * each.
 */
#ifndef ETHOS_RECALL_EVERY_TERM_H
#define ETHOS_RECALL_EVERY_TERM_H

#include "recall/image.h"

struct arena;
struct query;

/*
 * *out has a bit for each unit of the image, starting with the lowest bit of the first number.
 * Units of deleted documents are not set; without terms none is, for signs alone all are. ETHOS_OK
 * or ETHOS_NOMEM.
 */
int every_term_find(const struct image *image, const struct query *query, struct arena *arena,
                    uint64_t **out);

static inline bool every_term_has(const uint64_t *units, uint32_t unit)
{
    return units[unit / 64] >> unit % 64 & 1;
}

#endif
