/*
 * every_term.h: which units may have every term of a query.
 *
 * An index knows stems alone, a query asks for words, for longer words that begin so, and for phrases. So more
 * units are proposed than fit: of the texts that query_matches() accepts none is left out, and whoever shows one
 * reads it and asks that.
 */
#ifndef ETHOS_RECALL_EVERY_TERM_H
#define ETHOS_RECALL_EVERY_TERM_H

#include "recall/image.h"

struct arena;
struct query;

/*
 * *out has a bit for each unit of the image, the first unit the lowest of the first number. Units of documents that
 * are gone are not proposed; without terms none is, for signs alone all are. ETHOS_OK or ETHOS_NOMEM.
 */
int every_term_find(const struct image *image, const struct query *query, struct arena *arena,
                    uint64_t **out);

static inline bool every_term_has(const uint64_t *units, uint32_t unit)
{
    return units[unit / 64] >> unit % 64 & 1;
}

#endif
