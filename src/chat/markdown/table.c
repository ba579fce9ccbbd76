/*
 * table.c: a table of markdown as rows.
 *
 * Columns have the width of their widest cell. If that is too wide, the widest column is made narrower and its cells
 * are wrapped; where a column would have too little room, each row becomes a list of "Header: value".
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "chat/markdown/flow.h"

#define GAP 2 /* columns between two columns of the table */
#define MIN_COLUMN 10

struct table_cell {
    struct cells cells; /* rows in the arena */
    int width;
};

struct table_row {
    struct table_cell *cells;
    size_t count;
};

enum column_side { SIDE_LEFT, SIDE_RIGHT, SIDE_MIDDLE };

struct markdown_table {
    const struct table_setup *setup;
    struct arena arena;
    struct inlines inlines;
    struct table_row *rows; /* the first is the head */
    size_t count, capacity;
    size_t columns;
    int *widths;
    enum column_side *sides;
    struct cells out;
};

/* ---- reading ----------------------------------------------------------------------------------- */

/* Takes the next cell off a line without its outer pipes. False at the end. */
static bool take_cell(struct ethos_view *rest, struct ethos_view *out)
{
    size_t at = 0;
    if (!rest->data)
        return false;
    for (; at < rest->size && rest->data[at] != '|'; at++)
        if (rest->data[at] == '\\' && at + 1 < rest->size)
            at++;
    if (at > rest->size)
        at = rest->size;
    *out = view_trim(view_of(rest->data, at));
    *rest = at < rest->size ? view_from(*rest, at + 1) : (struct ethos_view){0};
    return true;
}

static struct ethos_view trim_pipes(struct ethos_view line)
{
    line = view_trim(line);
    if (view_starts(line, VIEW("|")))
        line = view_from(line, 1);
    size_t backslashes = 0;
    while (backslashes + 1 < line.size && line.data[line.size - 2 - backslashes] == '\\')
        backslashes++;
    if (line.size > 0 && line.data[line.size - 1] == '|' && backslashes % 2 == 0)
        line.size--;
    return line;
}

size_t table_count(struct ethos_view line)
{
    struct ethos_view rest = trim_pipes(line), cell;
    size_t count = 0;
    while (take_cell(&rest, &cell))
        count++;
    return count;
}

/* A pipe that was escaped for the table is one. */
static struct ethos_view unescape_pipes(struct markdown_table *self, struct ethos_view text)
{
    char *copy = arena_copy(&self->arena, text);
    size_t size = 0;
    if (!copy)
        return (struct ethos_view){0};
    for (size_t i = 0; i < text.size; i++)
        if (!(text.data[i] == '\\' && i + 1 < text.size && text.data[i + 1] == '|'))
            copy[size++] = text.data[i];
    return view_of(copy, size);
}

static bool copy_cells(struct markdown_table *self, struct table_cell *out)
{
    const struct inlines *inlines = &self->inlines;
    size_t count = inlines->cells.count;
    char *text = arena_copy(&self->arena, str_view(&inlines->text));
    struct cell *rows = arena_array(&self->arena, count + 1, sizeof *rows);
    if (!text || !rows)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *at = inlines->cells.rows[i].text;
        bool own = at >= inlines->text.data && at < inlines->text.data + inlines->text.size;
        rows[i] = inlines->cells.rows[i];
        rows[i].style &= (uint8_t)~CELL_BREAK;
        if (own)
            rows[i].text = text + (at - inlines->text.data);
    }
    *out = (struct table_cell){.cells = {.rows = rows, .count = count},
                               .width = cells_width(rows, count)};
    return true;
}

static int read_table_row(struct markdown_table *self, struct ethos_view line, bool head)
{
    struct ethos_view rest = trim_pipes(line), text;
    size_t count = table_count(line), at = 0;
    struct table_row *rows = arena_grow(&self->arena, self->rows, self->count, &self->capacity,
                                        sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->rows = rows;
    rows[self->count].count = count;
    rows[self->count].cells = arena_array(&self->arena, count + 1, sizeof *rows->cells);
    if (!rows[self->count].cells)
        return ETHOS_NOMEM;
    while (take_cell(&rest, &text)) {
        if (inlines_parse(&self->inlines, unescape_pipes(self, text), head ? CELL_BOLD : 0, false,
                          0) != ETHOS_OK ||
            !copy_cells(self, &rows[self->count].cells[at++]))
            return ETHOS_NOMEM;
    }
    self->columns = count > self->columns ? count : self->columns;
    self->count++;
    return ETHOS_OK;
}

/* ":--", "--:", ":-:" */
static void read_sides(struct markdown_table *self, struct ethos_view line)
{
    struct ethos_view rest = trim_pipes(line), text;
    for (size_t i = 0; i < self->columns && take_cell(&rest, &text); i++) {
        bool left = view_starts(text, VIEW(":")), right = view_ends(text, VIEW(":"));
        self->sides[i] = left && right ? SIDE_MIDDLE : right ? SIDE_RIGHT : SIDE_LEFT;
    }
}

static int read_table(struct markdown_table *self, struct ethos_view source)
{
    struct ethos_view line, dashes = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && view_line(&source, &line); i++) {
        if (i == 1)
            dashes = line;
        else
            code = read_table_row(self, line, i == 0);
    }
    self->widths = arena_array(&self->arena, self->columns + 1, sizeof *self->widths);
    self->sides = arena_array(&self->arena, self->columns + 1, sizeof *self->sides);
    if (code != ETHOS_OK || !self->widths || !self->sides)
        return ETHOS_NOMEM;
    read_sides(self, dashes);
    return ETHOS_OK;
}

/* ---- the widths -------------------------------------------------------------------------------- */

static size_t find_widest_column(const struct markdown_table *self)
{
    size_t best = 0;
    for (size_t i = 1; i < self->columns; i++)
        if (self->widths[i] > self->widths[best])
            best = i;
    return best;
}

/* False: there is no room for a table. */
static bool choose_widths(struct markdown_table *self)
{
    long total = GAP * ((long)self->columns - 1);
    for (size_t r = 0; r < self->count; r++)
        for (size_t i = 0; i < self->rows[r].count; i++)
            if (self->rows[r].cells[i].width > self->widths[i])
                self->widths[i] = self->rows[r].cells[i].width;
    for (size_t i = 0; i < self->columns; i++)
        total += self->widths[i];
    if (self->columns > (size_t)self->setup->columns)
        return false;
    while (total > self->setup->columns) {
        int *width = &self->widths[find_widest_column(self)];
        if (*width <= MIN_COLUMN)
            return false;
        --*width;
        total--;
    }
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void append_blanks(struct markdown_table *self, int count)
{
    while (count-- > 0)
        cells_add(&self->out, VIEW(" "), 0, 0, false, self->setup->widths);
}

static void emit_line(struct markdown_table *self)
{
    if (self->out.code == ETHOS_OK)
        self->setup->each(self->setup->arg, self->out.rows, self->out.count);
    cells_clear(&self->out);
}

static void append_aligned(struct markdown_table *self, const struct cell *cells, size_t count,
                           size_t column)
{
    while (count > 0 && cells[count - 1].size == 1 && *cells[count - 1].text == ' ')
        count--;
    int room = self->widths[column] - cells_width(cells, count);
    int before = self->sides[column] == SIDE_RIGHT    ? room
                 : self->sides[column] == SIDE_MIDDLE ? room / 2
                                                      : 0;
    append_blanks(self, before);
    for (size_t i = 0; i < count; i++)
        cells_add_cell(&self->out, cells[i]);
    append_blanks(self, room - before);
}

/* The rows of the terminal that one row of the table takes. */
static int emit_grid_row(struct markdown_table *self, const struct table_row *row)
{
    size_t *from = calloc(row->count + 1, sizeof *from);
    bool more = true;
    if (!from)
        return ETHOS_NOMEM;
    while (more) {
        more = false;
        for (size_t i = 0; i < row->count; i++) {
            const struct cells *cells = &row->cells[i].cells;
            size_t end = from[i] < cells->count ? cells_wrap(cells, from[i], self->widths[i])
                                                : from[i];
            append_blanks(self, i > 0 ? GAP : 0);
            append_aligned(self, cells->rows + from[i], end - from[i], i);
            from[i] = end;
            more = more || end < cells->count;
        }
        emit_line(self);
    }
    free(from);
    return ETHOS_OK;
}

static void emit_dashes(struct markdown_table *self)
{
    for (size_t i = 0; i < self->columns; i++) {
        append_blanks(self, i > 0 ? GAP : 0);
        for (int n = 0; n < self->widths[i]; n++)
            cells_add(&self->out, VIEW("─"), CELL_DIM, 0, false, self->setup->widths);
    }
    emit_line(self);
}

static int emit_grid(struct markdown_table *self)
{
    int code = emit_grid_row(self, &self->rows[0]);
    emit_dashes(self);
    for (size_t i = 1; code == ETHOS_OK && i < self->count; i++)
        code = emit_grid_row(self, &self->rows[i]);
    return code;
}

/* ---- a list ------------------------------------------------------------------------------------ */

static void emit_list_line(struct markdown_table *self, const struct table_cell *head,
                           const struct table_cell *value)
{
    struct cells line = {0};
    for (size_t i = 0; head && i < head->cells.count; i++)
        cells_add_cell(&line, head->cells.rows[i]);
    if (head && head->cells.count > 0)
        cells_add(&line, VIEW(": "), 0, 0, false, self->setup->widths);
    for (size_t i = 0; value && i < value->cells.count; i++)
        cells_add_cell(&line, value->cells.rows[i]);
    for (size_t from = 0, end; from < line.count; from = end) {
        end = cells_wrap(&line, from, self->setup->list ? INT_MAX : self->setup->columns);
        self->setup->each(self->setup->arg, line.rows + from, end - from);
    }
    if (line.code != ETHOS_OK)
        self->out.code = line.code;
    cells_release(&line);
}

static int emit_list(struct markdown_table *self)
{
    const struct table_row *head = &self->rows[0];
    for (size_t r = 1; r < self->count; r++) {
        const struct table_row *row = &self->rows[r];
        if (r > 1)
            emit_line(self);
        for (size_t i = 0; i < row->count; i++)
            emit_list_line(self, i < head->count ? &head->cells[i] : NULL, &row->cells[i]);
    }
    for (size_t i = 0; self->count == 1 && i < head->count; i++)
        emit_list_line(self, NULL, &head->cells[i]);
    return ETHOS_OK;
}

int table_layout(struct ethos_view source, const struct table_setup *setup)
{
    struct markdown_table self = {.setup = setup};
    arena_init(&self.arena);
    inlines_init(&self.inlines, setup->widths);
    int code = read_table(&self, source);
    if (code == ETHOS_OK && self.count > 0)
        code = !setup->list && choose_widths(&self) ? emit_grid(&self) : emit_list(&self);
    if (code == ETHOS_OK)
        code = self.out.code;
    cells_release(&self.out);
    inlines_release(&self.inlines);
    arena_release(&self.arena);
    return code;
}
