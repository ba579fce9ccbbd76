/*
 * inlines.h: the text of one block of markdown as cells: emphasis, code, links.
 *
 * md4c parses. Of a block that is still growing, what is open is closed first, by a guess: *, **, ~~, ` and the
 * brackets of links. The offset of the earliest delimiter that is open is told, since a later byte may change what
 * stands behind it.
 *
 * Each letter of the source is a cell exactly once, in order, whatever the guess was: raw HTML and entities are text,
 * a link is its text and its destination in parentheses.
 */
#ifndef ETHOS_CHAT_INLINES_H
#define ETHOS_CHAT_INLINES_H

#include "base/str.h"
#include "chat/markdown/cells.h"

#define INLINES_MAX_SOURCE 131072 /* bytes of a block, escaped */

struct inlines {
    const struct cluster_widths *widths;
    struct str safe;    /* the source, escaped; offsets count its bytes */
    struct str text;    /* what md4c reads; cells point into it */
    struct cells cells; /* the result */
    size_t open;        /* offset of the earliest open delimiter; SIZE_MAX: none */
    struct str breaks;  /* offsets of hard line breaks, as uint32_t */
    unsigned base;      /* style of all cells */
    unsigned bold, underlined, dim, code;
    size_t last; /* where the text of the last cell ends */
};

/* The widths are borrowed. */
void inlines_init(struct inlines *self, const struct cluster_widths *widths);
void inlines_release(struct inlines *self);

/*
 * Makes the cells of a block. grows: more may come, so guess; openers before `settled` are text. Returns ETHOS_OK or
 * ETHOS_NOMEM.
 */
int inlines_parse(struct inlines *self, struct ethos_view source, unsigned style, bool grows,
                  size_t settled);

/* Where a block that is too long is cut: behind a blank outside of spans if there is one. At most source.size. */
size_t inlines_cut(struct ethos_view source);

#endif
