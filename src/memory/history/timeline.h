/*
 * timeline.h: the recorded changes of every scope of a home, newest first, page by page.
 *
 * Scopes are merged by time. The order within a scope takes precedence over its clock: a change is
 * never listed before one that was recorded after it in the same scope, so a change whose time is
 * later than its successor's is sorted by the successor's time.
 *
 * The cost of a page does not grow with the number of changes: only the end of each scope is read,
 * and only of scopes whose history is recent enough. A page that skipped TIMELINE_MOST changes that
 * do not match the query ends early, with a cursor.
 */
#ifndef ETHOS_MEMORY_HISTORY_TIMELINE_H
#define ETHOS_MEMORY_HISTORY_TIMELINE_H

#include <ethos/ethos.h>

#define TIMELINE_CURSOR_SIZE 256 /* bytes with terminator */
#define TIMELINE_MOST 10000      /* changes that a page looks at */

/*
 * NULL and 0: any. personality, user and scope select scopes; a scope of any of them is included.
 */
struct timeline_query {
    const char *personality, *user; /* ids */
    const char *scope; /* a scope id, or personality, user, global, workspace of the turn */
    const char *key;
    const char *via;
    struct ethos_filter filter; /* its limit is that of the page */
    const char *cursor;         /* of the previous page of the same query */
};

/* Borrowed for the length of the call. Return 0 to continue; other values end the walk. */
typedef int timeline_fn(void *arg, const char *scope, const struct ethos_change *change);

/*
 * *out_cursor is "" at the end. External edits of the turn's files are recorded first, if possible.
 * ETHOS_INVALID for a cursor of another query. A scope that cannot be read does not hide the
 * others: *out_code and *out_error report it.
 */
int timeline_page(struct ethos_turn *turn, const struct timeline_query *query, timeline_fn *each,
                  void *arg, char out_cursor[TIMELINE_CURSOR_SIZE], int *out_code,
                  struct ethos_error *out_error, struct ethos_error *error);

/*
 * Every change since a time, scope by scope, newest first in each, for counting. *out_code and
 * *out_error as above.
 */
int timeline_since(struct ethos_turn *turn, int64_t since_ms, timeline_fn *each, void *arg,
                   int *out_code, struct ethos_error *out_error, struct ethos_error *error);

#endif
