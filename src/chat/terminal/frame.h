/*
 * frame.h: rows as the bytes of one write: committed rows, which scroll away, above live rows, which are drawn again.
 *
 *     frame_commit(&frame, row, width);      each row that became final
 *     frame_live(&frame, row, width);        each live row, from the top
 *     frame_set_cursor(&frame, row, column);     where the cursor stands in them
 *     frame_write(&frame, &bytes);           only what differs from the screen; the next frame begins
 *
 * A frame without live rows removes the region, for programs that get the terminal, and at the end. Rows are safe for
 * a terminal and may have SGR sequences. Live rows are narrower than the terminal, and there are fewer of them than
 * it has rows: nothing here can reach what has scrolled. Pure: the caller writes.
 */
#ifndef ETHOS_CHAT_FRAME_H
#define ETHOS_CHAT_FRAME_H

#include <stdbool.h>

#include "base/str.h"

#define FRAME_MAX_ROWS 512       /* live ones */
#define FRAME_MAX_BYTES 67108864 /* of the rows of one frame */

struct frame_row {
    size_t begin, end; /* in bytes */
    int width;         /* columns */
};

struct frame_rows {
    struct str bytes;
    struct frame_row rows[FRAME_MAX_ROWS];
    size_t count;
    size_t cursor_row;
    int cursor_column; /* from 0 */
};

/* Points into itself: not to be copied. */
struct screen_frame {
    int columns;
    struct str committed;    /* as it is written */
    struct frame_rows *next; /* one of the two */
    struct frame_rows *shown;
    struct frame_rows two[2];
    size_t climb; /* rows from the cursor up to the first live row */
    bool stale;   /* nothing is known of the screen from that row on */
};

/* The cursor is at the beginning of a row that is empty, as are those below it. */
void frame_init(struct screen_frame *self, int columns);
void frame_release(struct screen_frame *self);

/* ETHOS_OK, ETHOS_NOMEM or ETHOS_LIMIT, after which frame_write fails with the same code. */
int frame_commit(struct screen_frame *self, struct ethos_view row, int width);
int frame_live(struct screen_frame *self, struct ethos_view row, int width);
void frame_set_cursor(struct screen_frame *self, size_t row, int column);

/* Appends the frame's bytes, none when nothing differs. A frame that fails is dropped, and nothing is appended. */
int frame_write(struct screen_frame *self, struct str *out);

/*
 * The terminal has another width. Where it wraps rows again (rewraps), the live rows may take more or fewer rows than
 * before. The next frame draws all of them.
 */
void frame_resize(struct screen_frame *self, int columns, bool rewraps);

/* The screen was written to by others; the cursor is at the beginning of an empty row. */
void frame_restart(struct screen_frame *self);

#endif
