/*
 * edit.h: the input of a conversation: text of several lines, with a cursor, undo and history.
 *
 *     edit_init(&edit, columns, &widths);
 *     switch (edit_key(&edit, &key)) {
 *     case EDIT_SEND: send edit.text; edit_add_history(&edit, text); edit_clear(&edit);
 *     case EDIT_IGNORED: the key is not the editor's: Esc, Tab, Ctrl-C, Ctrl-D on empty text
 *     }
 *     edit_layout(&edit, &rows);            rows for the width, and where the cursor stands in them
 *
 *   edit.c          text, cursor, undo, keys
 *   edit_history.c  earlier messages, and the search in them
 *   edit_rows.c     rows
 *
 * Pure: nothing here reads or writes. The text is UTF-8; the cursor stands between clusters (base/text/cluster.h).
 */
#ifndef ETHOS_CHAT_EDIT_H
#define ETHOS_CHAT_EDIT_H

#include "base/str.h"
#include "base/text/cluster.h"
#include "chat/terminal/keys.h"

#define EDIT_MAX_TEXT 4194304      /* bytes */
#define EDIT_MAX_UNDO 100          /* steps; older ones are dropped */
#define EDIT_MAX_UNDO_SIZE 8388608 /* bytes of all steps */
#define EDIT_MAX_HISTORY 1000      /* messages; older ones are dropped */
#define EDIT_MAX_QUERY 256         /* bytes of what is searched */
#define EDIT_TAB_COLUMNS 4

enum edit_result {
    EDIT_HANDLED,
    EDIT_SEND,    /* Enter: the text is complete */
    EDIT_IGNORED, /* nothing changed: the key means something to the caller, or nothing */
    EDIT_REFUSED  /* nothing changed: EDIT_MAX_TEXT, or out of memory */
};

/* What the next key of the same group continues. */
enum edit_group { EDIT_OTHER, EDIT_TYPING, EDIT_KILLING, EDIT_MOVING_ROWS };

struct edit_step {
    char *text;
    size_t size, cursor;
};

struct edit_buffer {
    struct str text;
    size_t cursor; /* offset in text */
    int columns;   /* of a row */
    const struct cluster_widths *widths;

    enum edit_group group; /* of the last key */
    int goal_column;       /* of the cursor while it moves through rows */
    struct str killed;     /* for Ctrl-Y */
    struct edit_step undo[EDIT_MAX_UNDO];
    size_t undo_count, undo_size;

    char **history;                   /* the newest is last */
    size_t history_count, history_at; /* history_at == history_count: the draft is shown */
    struct str draft;                 /* while an entry of the history is shown */

    bool searching;   /* Ctrl-R */
    bool found;       /* the text has the query */
    struct str query; /* shown by the caller */
    size_t found_at;  /* entry */
    struct edit_step before_search;
};

/* Rows take at most so many columns, at least one; widths are borrowed. */
void edit_init(struct edit_buffer *self, int columns, const struct cluster_widths *widths);
void edit_release(struct edit_buffer *self);
void edit_resize(struct edit_buffer *self, int columns);

enum edit_result edit_key(struct edit_buffer *self, const struct key *key);

/* Replaces the text, which Ctrl-_ undoes; the cursor is at its end. ETHOS_LIMIT, ETHOS_NOMEM: nothing changed. */
int edit_set_text(struct edit_buffer *self, struct ethos_view text);

/* No text, no undo; history and killed text remain. */
void edit_clear(struct edit_buffer *self);

/* edit_history.c: adds the newest message, unless it is empty or the same as the one before. */
int edit_add_history(struct edit_buffer *self, struct ethos_view message);

/* ---- rows --------------------------------------------------------------------------------------- */

struct edit_row {
    size_t begin, end; /* offsets in the text; a line end belongs to no row */
};

struct edit_rows {
    struct edit_row *rows;
    size_t count, capacity;
    size_t cursor_row;
    int cursor_column; /* from 0; columns when the last row is full */
};

/* A zeroed struct is an empty one. There is at least one row. ETHOS_OK or ETHOS_NOMEM. */
int edit_layout(const struct edit_buffer *self, struct edit_rows *out);
void edit_rows_release(struct edit_rows *self);

/* The offset nearest to a column of a row. */
size_t edit_offset(const struct edit_buffer *self, struct edit_row row, int column);

/* Appends a row as it is shown, safe for a terminal; a tab is EDIT_TAB_COLUMNS blanks. Returns str_code. */
int edit_print_row(const struct edit_buffer *self, struct edit_row row, struct str *out);

/* ---- for the parts of the editor ---------------------------------------------------------------- */

/* Replaces bytes by others, which are none of the text; the cursor is behind them. Not undone. */
bool edit_replace(struct edit_buffer *self, size_t begin, size_t end, struct ethos_view by);

/* Where the cluster that begins at `at` (before the end) ends; a line end is one of its own. */
size_t edit_cluster_end(const struct edit_buffer *self, size_t at);

/* Up, down and the keys of a search. */
enum edit_result edit_previous(struct edit_buffer *self);
enum edit_result edit_next(struct edit_buffer *self);
enum edit_result edit_search_begin(struct edit_buffer *self);
void edit_search_end(struct edit_buffer *self);
bool edit_search_key(struct edit_buffer *self,
                     const struct key *key); /* false: accepted, the key is to come */

#endif
