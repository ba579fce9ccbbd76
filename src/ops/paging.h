/*
 * paging.h: limits, cursors and streaming of long lists.
 *
 * Lists have a limit, with a default, and a cursor. Without either, the command line (op_call.whole_lists) gets all rows;
 * unless it wants JSON, they are streamed as events {"what": "page", NAME: [rows]}, the last ones in the result, so that
 * the whole list is never in memory.
 */
#ifndef ETHOS_OPS_PAGING_H
#define ETHOS_OPS_PAGING_H

#include "ops/op.h"

#define PAGES_PART 1000     /* rows of an event */
#define PAGES_ROWS 1000     /* short rows of a page, unless a limit is given */
#define PAGES_BYTES 1048576 /* of long texts in an event, about */

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
    bool all;         /* without a limit: on the command line */
    bool streams;     /* all rows are streamed */
    size_t bytes;     /* of long texts in the rows, counted by the caller */
};

void pages_init(struct row_pages *self, const struct op_call *call, const char *name);

/* Adds a row, which it takes; NULL means out of memory. ETHOS_OK or ETHOS_NOMEM. */
int pages_add(struct row_pages *self, json_t *row);

/* How many rows to list: the argument "limit", else the default `page`, or all (SIZE_MAX). */
size_t pages_limit(const struct row_pages *self, size_t page);

/* The error for an unknown cursor: ETHOS_INVALID. */
int pages_refuse(struct ethos_error *error);

/*
 * Cuts a complete array to one page and sets nextCursor. `id` lists the members that identify a row, separated by
 * blanks; "" if the rows are strings. A cursor is the position of the last row of its page and a hash of its identity,
 * so that the row is found even if it has moved. ETHOS_INVALID if it is gone.
 */
int pages_cut(const struct op_call *call, json_t **json, const char *name, const char *id,
              size_t page, struct ethos_error *error);

/* The same for a list whose pages must be of one state: cursors of another seed are invalid. */
int pages_cut_same(const struct op_call *call, json_t **json, const char *name, const char *id,
                   uint64_t seed, size_t page, struct ethos_error *error);

#endif
