/*
 * timeline.h: the recorded changes of every scope of a home, newest first, page by page.
 *
 * Scopes are merged by time. A scope's own order counts more than its clock: a change is never told before
 * one that was recorded after it in the same scope, so one whose time is later than that of its successor
 * takes the place of that.
 *
 * What a page costs does not grow with what is recorded: of each scope the end is read, and only of those
 * whose history was touched late enough to matter. A page that passed over TIMELINE_MOST changes that the
 * query does not name ends early, with a cursor.
 */
#ifndef ETHOS_MEMORY_HISTORY_TIMELINE_H
#define ETHOS_MEMORY_HISTORY_TIMELINE_H

#include <ethos/ethos.h>

#define TIMELINE_CURSOR_SIZE 256 /* bytes with terminator */
#define TIMELINE_MOST 10000      /* changes that a page looks at */

/* NULL and 0: any. personality, user and scope name scopes; those of any of them are meant. */
struct timeline_query {
    const char *personality, *user; /* ids */
    const char *scope; /* a scope id, or personality, user, global, workspace of the turn */
    const char *key;
    const char *via;
    struct ethos_filter filter; /* its limit is that of the page */
    const char *cursor;         /* of the page before, with the same query */
};

/* Borrowed for the length of the call. Return 0 to go on; other values end the walk. */
typedef int timeline_fn(void *arg, const char *scope, const struct ethos_change *change);

/*
 * *out_cursor is "" at the end. An edit made outside is recorded before, if it can be, in the files of the
 * turn. ETHOS_INVALID for a cursor of another query. A scope that cannot be read does not hide the others:
 * *out_code and *out_error tell of it.
 */
int timeline_page(struct ethos_turn *turn, const struct timeline_query *query, timeline_fn *each,
                  void *arg, char out_cursor[TIMELINE_CURSOR_SIZE], int *out_code,
                  struct ethos_error *out_error, struct ethos_error *error);

/*
 * Every change since a time, scope by scope, newest first in each: for those who count. *out_code and
 * *out_error as above.
 */
int timeline_since(struct ethos_turn *turn, int64_t since_ms, timeline_fn *each, void *arg,
                   int *out_code, struct ethos_error *out_error, struct ethos_error *error);

#endif
