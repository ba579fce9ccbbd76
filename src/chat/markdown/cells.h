/*
 * cells.h: text on its way to the screen: one cell for each cluster, with its columns and its style.
 *
 *     cells_add(&cells, text, CELL_BOLD, 0, &widths);
 *     for (size_t from = 0; from < cells.count; from = end) {
 *         end = cells_wrap(&cells, from, columns);
 *         cells_print(cells.rows + from, end - from, columns, color, out);
 *     }
 *
 * Text must be safe for a terminal before it becomes cells (base/text/terminal.h). Nothing here writes.
 */
#ifndef ETHOS_CHAT_CELLS_H
#define ETHOS_CHAT_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#include "base/text/cluster.h"

struct str;

#define CELLS_MAX_COUNT 4194304

enum {
    CELL_BOLD = 1,
    CELL_DIM = 2,
    CELL_UNDERLINE = 4,
    CELL_CODE = 8,     /* ANSI 6 */
    CELL_ADDED = 16,   /* ANSI 2 */
    CELL_REMOVED = 32, /* ANSI 1 */
    CELL_BREAK = 64    /* no style: the row ends here; such a cell has no columns */
};

struct cell {
    const char *text; /* borrowed */
    uint32_t size;    /* bytes */
    uint32_t offset;  /* where it stands in a source; never falls from one cell to the next */
    uint8_t width;    /* columns */
    uint8_t style;
};

struct cells {
    struct cell *rows;
    size_t count, capacity;
    int code; /* ETHOS_OK, or why cells are missing */
};

/* A zeroed struct is an empty one. */
void cells_release(struct cells *self);
void cells_clear(struct cells *self);

/*
 * Adds a text, cluster by cluster; the first byte has this offset, and with moving false all the others, too. A tab
 * is a blank, a line end a blank that has CELL_BREAK.
 */
void cells_add(struct cells *self, struct ethos_view text, unsigned style, size_t offset,
               bool moving, const struct cluster_widths *widths);
void cells_add_cell(struct cells *self, struct cell cell);

/*
 * Where the row that begins at `from` ends: at a blank, beside a wide character, else in the middle of a word; a URL
 * is not broken and may make its row too wide. Blanks at the end belong to the row and take no room.
 */
size_t cells_wrap(const struct cells *self, size_t from, int columns);

/* Columns of cells, blanks at the end included. */
int cells_width(const struct cell *cells, size_t count);

/*
 * Appends cells as bytes for a terminal, at most so many columns of them (negative: all), blanks at the end left out.
 * With color, SGR sequences make the style; it is reset at the end.
 */
int cells_print(const struct cell *cells, size_t count, int columns, bool color, struct str *out);

#endif
