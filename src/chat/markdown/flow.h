/*
 * flow.h: markdown as it arrives, as rows of a terminal.
 *
 *     flow_init(&flow, &setup);
 *     flow_feed(&flow, bytes);      rows of blocks that ended are committed
 *     flow_frame(&flow);            rows of the open block that cannot change are committed, the others are live
 *     flow_end(&flow);              all is committed; the next answer may begin
 *
 * A committed row is final: it is printed once and scrolls away. Live rows are shown until the next call and made
 * again by the next frame. A row is committed as soon as no later byte can change it.
 *
 *   flow.c        blocks: where they begin and end, what of them is final
 *   line_start.c  what a line is, by how it begins
 *   inlines.c     the text of a block: emphasis, code, links
 *   delimiters.c  what is open in a block that still grows
 *   table.c       tables
 *
 * Pure: nothing here reads or writes. Of markdown, what models write: no setext headings, no HTML, no reference
 * links; a nested block within the first line of a list item is text.
 */
#ifndef ETHOS_CHAT_FLOW_H
#define ETHOS_CHAT_FLOW_H

#include "chat/markdown/inlines.h"
#include "chat/markdown/line_start.h"

#define FLOW_MAX_BLOCK 8192    /* bytes of a paragraph; a longer one is cut */
#define FLOW_MAX_TABLE 65536   /* bytes of a table that is laid out as one */
#define FLOW_MAX_FIRST_CELL 20 /* bytes of a table's head up to its first | */
#define FLOW_MAX_CODE 65536    /* bytes of a line of code */
#define FLOW_MAX_COLUMNS 100   /* of prose */
#define FLOW_OPEN_ROWS 4       /* an opener that is so many rows older than the end is text */

/* One row; cells live as long as the call. */
typedef void flow_row_fn(void *arg, bool live, const struct cell *cells, size_t count);

struct flow_setup {
    int columns; /* of the terminal; rows take one less, but for code and URLs */
    bool whole;  /* paragraphs are one row each, for a terminal or reader that wraps */
    bool lists;  /* tables are lists */
    const struct cluster_widths *widths;
    flow_row_fn *each;
    void *arg;
};

struct flow {
    struct flow_setup setup;
    struct str input; /* bytes that are not a character yet, and a CR */
    struct str line;  /* the beginning of a line of which nobody knows yet what it is */
    bool in_line;     /* the line is decided, and its end is to come */

    enum line_kind kind;  /* of the open block; LINE_BLANK: none is open */
    struct str block;     /* its text, without markers */
    struct line_place at; /* where it stands: quotes, indentation */
    char marker[LINE_MAX_MARKER + 1];
    struct line_fence fence; /* of code */
    size_t lines;            /* line ends in the block */
    bool in_list;            /* an indented paragraph belongs to an item */
    bool blank_due;          /* a blank row comes before the next block */
    bool any;                /* something was committed */

    bool continued; /* of the open block, a row is committed */
    size_t done;    /* offset of its first cell that is not committed */
    size_t settled; /* openers before are text */
    struct inlines inlines;
    struct cells row;
    int code; /* the first failure: ETHOS_NOMEM, ETHOS_LIMIT */
};

/* The setup is copied, the widths in it are borrowed. */
void flow_init(struct flow *self, const struct flow_setup *setup);
void flow_release(struct flow *self);

/* All return ETHOS_OK, or the first failure, after which nothing more is shown. */
int flow_feed(struct flow *self, struct ethos_view bytes);
int flow_frame(struct flow *self);
int flow_end(struct flow *self);

void flow_resize(struct flow *self, int columns);

/* table.c: lays a table out; as a list when `list`, or where a column would be too narrow. */
struct table_setup {
    int columns;
    bool list;
    const struct cluster_widths *widths;
    void (*each)(void *arg, const struct cell *cells, size_t count);
    void *arg;
};
int table_layout(struct ethos_view source, const struct table_setup *setup);

/* How many columns a line of a table has. */
size_t table_count(struct ethos_view line);

#endif
