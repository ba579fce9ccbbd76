/*
 * pages.h: the rows of a list that may be long.
 *
 * A list has a limit and a cursor. A surface that shows as it goes (op_call.tell) and wants no JSON gets all
 * rows when it gives neither: in parts, as events {"what": "page", NAME: [rows]}, the last of them in the
 * result. So no list is in memory as a whole.
 */
#ifndef ETHOS_OPS_PAGES_H
#define ETHOS_OPS_PAGES_H

#include "ops/op.h"

#define PAGES_PART 1000     /* rows of an event */
#define PAGES_BYTES 1048576 /* and of their long texts, about: see bytes */

#define ARG_LIMIT(range, help)                                                                     \
    {                                                                                              \
        "limit", OP_INTEGER, 0, range, "N", help                                                   \
    }
#define ARG_CURSOR                                                                                 \
    {                                                                                              \
        "cursor", OP_TEXT, 0, NULL, "CURSOR", "where the page before ended: its nextCursor"        \
    }

struct pages {
    const struct op_call *call;
    const char *name; /* of the array in events */
    json_t *rows;     /* NULL: out of memory; free it */
    bool all;         /* neither limit nor cursor, for somebody at the machine */
    bool streams;     /* all, in parts */
    size_t bytes;     /* of long texts in the rows; whoever adds one counts it */
};

void pages_init(struct pages *self, const struct op_call *call, const char *name);

/* Takes the row; NULL is out of memory. ETHOS_OK or ETHOS_NOMEM. */
int pages_add(struct pages *self, json_t *row);

/* How many rows are wanted: the limit, else the default of a page, or all of them (SIZE_MAX). */
size_t pages_limit(const struct pages *self, size_t page);

/* A cursor that no page gave: ETHOS_INVALID. */
int pages_refuse(struct ethos_error *error);

/*
 * Leaves one page of an array that is there as a whole, and puts nextCursor beside it: the member `id` of the
 * last row of the page. ETHOS_INVALID when no row has the one that the call gives.
 */
int pages_cut(const struct op_call *call, json_t **json, const char *name, const char *id,
              size_t page, struct ethos_error *error);

#endif
