/*
 * live_screen.h: what a terminal shows of a conversation: rows that are final, and below them the live region: the
 * answer as far as it may still change, a line of status, messages that wait, a question, the input.
 *
 *     live_screen_echo(), _answer(), _line(), ...     what was said and done
 *     live_screen_paint(&screen, &below)              after changes: one write
 *
 * Text is escaped here.
 */
#ifndef ETHOS_CHAT_LIVE_SCREEN_H
#define ETHOS_CHAT_LIVE_SCREEN_H

#include "chat/markdown/flow.h"
#include "chat/talk.h"
#include "chat/terminal/edit.h"
#include "chat/terminal/frame.h"
#include "chat/tty.h"

#define LIVE_MAX_QUEUED 100    /* messages that wait */
#define LIVE_SHOWN_QUEUED 3    /* of them, those that are shown */
#define LIVE_MAX_SHOWN 8388608 /* bytes of one text */

/* What stands below the answer. */
struct live_below {
    struct ethos_view status; /* none: empty */
    struct ethos_view hint;
    const char *const *queued;
    size_t queued_count;
    const char *question; /* in place of the input; or NULL */
    bool question_open;   /* keys answer it */
    const struct edit_buffer *edit;
};

struct live_rows {
    struct str bytes;
    struct {
        size_t begin, end;
        int width;
    } rows[FRAME_MAX_ROWS];
    size_t count;
};

enum live_block { LIVE_NOTHING, LIVE_ECHO, LIVE_ANSWER, LIVE_TOOLS, LIVE_LINES };

/* Points into itself: not to be copied. */
struct live_screen {
    struct tty_size size;
    bool color, gone; /* gone: the terminal takes no bytes any more */
    struct cluster_widths widths;
    struct screen_frame frame;
    struct flow flow;
    struct cells cells;
    struct str row, safe, bytes;
    enum live_block block; /* that was committed last */
    bool blank;            /* the last row is */
    struct live_rows answer, below;
    size_t cursor_row; /* in below */
    int cursor_column;
};

/* wrap: at words; else a paragraph of an answer is one row, which the terminal wraps. */
void live_screen_open(struct live_screen *self, bool color, bool wrap);
void live_screen_close(struct live_screen *self);

/* The terminal has another size. */
void live_screen_resize(struct live_screen *self, struct tty_size size, bool rewraps);

/* Columns that the input has. */
int live_screen_input_columns(const struct live_screen *self);

void live_screen_echo(struct live_screen *self, struct ethos_view message);
void live_screen_answer(struct live_screen *self, struct ethos_view text);
void live_screen_end_answer(struct live_screen *self);
void live_screen_tool(struct live_screen *self, struct ethos_view call);
void live_screen_line(struct live_screen *self, enum talk_style style, struct ethos_view text);
void live_screen_source(struct live_screen *self, struct ethos_view text);

void live_screen_paint(struct live_screen *self, const struct live_below *below);

/* Removes the live region, for a program that gets the terminal, and at the end. */
void live_screen_clear(struct live_screen *self);

/* Others wrote to the terminal; the cursor is at the beginning of an empty row. */
void live_screen_restart(struct live_screen *self);

#endif
