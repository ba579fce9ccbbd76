/*
 * page_cursor.h: the end of a page of sessions, as an opaque word.
 *
 * The word is base64url of the members below and a checksum, so that garbage is recognized. Related
 * programs count instead: base64url of a decimal number of sessions to skip.
 */
#ifndef ETHOS_CORE_SESSIONS_PAGE_CURSOR_H
#define ETHOS_CORE_SESSIONS_PAGE_CURSOR_H

#include <stdbool.h>

#include <ethos/session.h>

#define CURSOR_PLACE_SIZE 33 /* with terminator; anything longer is not a time and is cut */

struct cursor {
    bool counted; /* offset counts, the rest is unset */
    int64_t offset;
    bool pinned;
    int64_t row;    /* of the last session shown */
    int64_t newest; /* number of the newest message when the first page was read */
    char place[CURSOR_PLACE_SIZE];
    char latest[CURSOR_PLACE_SIZE]; /* the latest time of all when the first page was read */
};

void cursor_write(const struct cursor *cursor, char out[ETHOS_CURSOR_SIZE]);

/* ETHOS_INVALID for anything that neither we nor related programs wrote. */
int cursor_read(const char *text, struct cursor *out, struct ethos_error *error);

#endif
