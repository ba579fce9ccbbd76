/*
 * paging.h: the rows of a list that may be long.
 *
 * A list has a limit and a cursor, and a default limit. The command line (op_call.whole_lists) gets all rows when
 * it gives neither; when it wants no JSON, in parts, as events {"what": "page", NAME: [rows]}, the last of them in
 * the result. So no list is in memory as a whole.
 */
#ifndef ETHOS_OPS_PAGING_H
#define ETHOS_OPS_PAGING_H

#include "ops/op.h"

#define PAGES_PART 1000     /* rows of an event */
#define PAGES_ROWS 1000     /* short rows of a page, unless a limit is given */
#define PAGES_BYTES 1048576 /* and of their long texts, about: see bytes */

#define ARG_LIMIT(range, help)                                                                     \
    {                                                                                              \
        "limit", OP_INTEGER, 0, range, "N", help                                                   \
    }
#define ARG_CURSOR                                                                                 \
    {                                                                                              \
        "cursor", OP_TEXT, 0, NULL, "CURSOR", "nextCursor of the previous page"                    \
    }
#define ARG_PAGE                                                                                   \
    ARG_LIMIT("1|5000", "at most this many (default: all; other surfaces: 1000)"), ARG_CURSOR

struct row_pages {
    const struct op_call *call;
    const char *name; /* of the array in events */
    json_t *rows;     /* NULL: out of memory; free it */
    bool all;         /* neither limit nor cursor, at the command line */
    bool streams;     /* all, in parts */
    size_t bytes;     /* of long texts in the rows; whoever adds one counts it */
};

void pages_init(struct row_pages *self, const struct op_call *call, const char *name);

/* Takes the row; NULL is out of memory. ETHOS_OK or ETHOS_NOMEM. */
int pages_add(struct row_pages *self, json_t *row);

/* How many rows are wanted: the limit, else the default of a page, or all of them (SIZE_MAX). */
size_t pages_limit(const struct row_pages *self, size_t page);

/* A cursor that no page gave: ETHOS_INVALID. */
int pages_refuse(struct ethos_error *error);

/*
 * Leaves one page of an array that is there as a whole, and puts nextCursor beside it. `id`: the members that
 * identify a row, separated by blanks; "" when the rows are strings. A cursor is the number of rows up to the last
 * of its page and a hash of that row's identity: it is found where it moved to. ETHOS_INVALID when it is gone.
 */
int pages_cut(const struct op_call *call, json_t **json, const char *name, const char *id,
              size_t page, struct ethos_error *error);

/* The same of a list whose pages must belong together: a cursor of another seed is gone. */
int pages_cut_same(const struct op_call *call, json_t **json, const char *name, const char *id,
                   uint64_t seed, size_t page, struct ethos_error *error);

#endif
