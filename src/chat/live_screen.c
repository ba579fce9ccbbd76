/*
 * live_screen.c: what a terminal shows of a conversation.
 */
#include "chat/live_screen.h"

#include "base/text/single_line.h"
#include "base/text/terminal.h"
#include "base/view.h"

#define PROMPT "> "
#define PROMPT_COLUMNS 2
#define MAX_QUEUED_CHARACTERS 200

static void commit_flow_row(void *arg, bool live, const struct cell *cells, size_t count);

void live_screen_open(struct live_screen *self, bool color, bool wrap)
{
    *self = (struct live_screen){.size = tty_size(), .color = color, .blank = true};
    cluster_widths_init(&self->widths);
    frame_init(&self->frame, self->size.columns);
    const struct flow_setup setup = {.columns = self->size.columns,
                                     .whole = !wrap,
                                     .widths = &self->widths,
                                     .each = commit_flow_row,
                                     .arg = self};
    flow_init(&self->flow, &setup);
    str_init(&self->row, FRAME_MAX_BYTES);
    str_init(&self->safe, 8 * (size_t)LIVE_MAX_SHOWN);
    str_init(&self->bytes, 2 * (size_t)FRAME_MAX_BYTES);
    str_init(&self->answer.bytes, FRAME_MAX_BYTES);
    str_init(&self->below.bytes, FRAME_MAX_BYTES);
}

void live_screen_close(struct live_screen *self)
{
    frame_release(&self->frame);
    flow_release(&self->flow);
    cells_release(&self->cells);
    str_release(&self->row);
    str_release(&self->safe);
    str_release(&self->bytes);
    str_release(&self->answer.bytes);
    str_release(&self->below.bytes);
    cluster_widths_release(&self->widths);
}

void live_screen_resize(struct live_screen *self, struct tty_size size, bool rewraps)
{
    self->size = size;
    frame_resize(&self->frame, size.columns, rewraps);
    flow_resize(&self->flow, size.columns);
}

/* The last column stays free: what fills it wraps on some terminals and not on others. */
static int row_columns(const struct live_screen *self)
{
    return self->size.columns > 1 ? self->size.columns - 1 : 1;
}

int live_screen_input_columns(const struct live_screen *self)
{
    int columns = row_columns(self) - PROMPT_COLUMNS;
    return columns > 0 ? columns : 1;
}

/* ---- final rows -------------------------------------------------------------------------------- */

static void commit_row_text(struct live_screen *self, struct ethos_view row, int width)
{
    frame_commit(&self->frame, row, width);
    self->blank = row.size == 0;
}

/* Between two blocks is a blank row. */
static void begin_block(struct live_screen *self, enum live_block block)
{
    if (block != self->block && !self->blank)
        commit_row_text(self, VIEW(""), 0);
    self->block = block;
}

static void commit_cells(struct live_screen *self, const struct cell *cells, size_t count)
{
    str_clear(&self->row);
    if (cells_print(cells, count, -1, self->color, &self->row) == ETHOS_OK)
        commit_row_text(self, str_view(&self->row), cells_width(cells, count));
}

static void add_live_row(struct live_rows *rows, struct ethos_view text, int width)
{
    size_t begin = rows->bytes.size;
    if (rows->count == FRAME_MAX_ROWS || str_add(&rows->bytes, text) != ETHOS_OK)
        return;
    rows->rows[rows->count].begin = begin;
    rows->rows[rows->count].end = rows->bytes.size;
    rows->rows[rows->count++].width = width;
}

static void add_live_cells(struct live_screen *self, struct live_rows *rows,
                           const struct cell *cells, size_t count)
{
    int columns = row_columns(self), width = cells_width(cells, count);
    str_clear(&self->row);
    if (cells_print(cells, count, columns, self->color, &self->row) == ETHOS_OK)
        add_live_row(rows, str_view(&self->row), width < columns ? width : columns);
}

static void commit_flow_row(void *arg, bool live, const struct cell *cells, size_t count)
{
    struct live_screen *self = arg;
    if (live) {
        add_live_cells(self, &self->answer, cells, count);
        return;
    }
    begin_block(self, LIVE_ANSWER);
    commit_cells(self, cells, count);
}

static struct ethos_view escape_text(struct live_screen *self, struct ethos_view text)
{
    str_clear(&self->safe);
    terminal_escape(text, &self->safe);
    return str_view(&self->safe);
}

/* Lines of text, wrapped at words. */
static void commit_lines(struct live_screen *self, unsigned style, struct ethos_view text)
{
    struct ethos_view rest = escape_text(self, text), line;
    if (text.size == 0)
        commit_row_text(self, VIEW(""), 0);
    while (view_line(&rest, &line)) {
        struct cells *cells = &self->cells;
        cells_clear(cells);
        cells_add(cells, line, style, 0, false, &self->widths);
        if (cells->count == 0)
            commit_row_text(self, VIEW(""), 0);
        for (size_t from = 0, end; from < cells->count; from = end) {
            end = cells_wrap(cells, from, row_columns(self));
            commit_cells(self, cells->rows + from, end - from);
        }
    }
}

void live_screen_line(struct live_screen *self, enum talk_style style, struct ethos_view text)
{
    static const uint8_t styles[] = {
        [TALK_PLAIN] = 0,          [TALK_BOLD] = CELL_BOLD,       [TALK_DIM] = CELL_DIM,
        [TALK_ADDED] = CELL_ADDED, [TALK_REMOVED] = CELL_REMOVED, [TALK_FAILED] = CELL_REMOVED};
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    str_adds(&line, style == TALK_FAILED ? "Error: " : "");
    str_add(&line, text);
    begin_block(self, LIVE_LINES);
    commit_lines(self, styles[style], str_view(&line));
    str_release(&line);
}

void live_screen_tool(struct live_screen *self, struct ethos_view call)
{
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    str_adds(&line, "Tool: ");
    str_add(&line, call);
    begin_block(self, LIVE_TOOLS);
    commit_lines(self, CELL_DIM, str_view(&line));
    str_release(&line);
}

/* As it is, the terminal wraps it: a copy of it is whole. */
void live_screen_source(struct live_screen *self, struct ethos_view text)
{
    struct ethos_view rest = escape_text(self, text), line;
    begin_block(self, LIVE_LINES);
    while (view_line(&rest, &line))
        commit_row_text(self, line,
                        memchr(line.data, '\t', line.size)
                            ? self->size.columns
                            : cluster_text_width(&self->widths, line));
}

/* ---- the input --------------------------------------------------------------------------------- */

/* The row with its prompt; true when it could be made. */
static int print_input_row(struct live_screen *self, const struct edit_buffer *edit,
                           struct edit_row row, bool first)
{
    str_clear(&self->row);
    if (first)
        str_adds(&self->row, self->color ? "\033[1m" PROMPT "\033[m" : PROMPT);
    else
        str_adds(&self->row, "  ");
    size_t begin = self->row.size;
    edit_print_row(edit, row, &self->row);
    return PROMPT_COLUMNS +
           cluster_text_width(&self->widths, view_from(str_view(&self->row), begin));
}

void live_screen_echo(struct live_screen *self, struct ethos_view message)
{
    struct edit_buffer edit;
    struct edit_rows rows = {0};
    edit_init(&edit, live_screen_input_columns(self), &self->widths);
    self->block = LIVE_NOTHING; // each is a block of its own
    begin_block(self, LIVE_ECHO);
    if (edit_set_text(&edit, message) == ETHOS_OK && edit_layout(&edit, &rows) == ETHOS_OK)
        for (size_t i = 0; i < rows.count; i++) {
            int width = print_input_row(self, &edit, rows.rows[i], i == 0);
            commit_row_text(self, str_view(&self->row), width);
        }
    edit_rows_release(&rows);
    edit_release(&edit);
}

/* ---- the answer -------------------------------------------------------------------------------- */

void live_screen_answer(struct live_screen *self, struct ethos_view text)
{
    flow_feed(&self->flow, text);
}

void live_screen_end_answer(struct live_screen *self)
{
    flow_end(&self->flow);
}

/* ---- the live region --------------------------------------------------------------------------- */

static void add_below(struct live_screen *self, unsigned style, struct ethos_view text)
{
    cells_clear(&self->cells);
    cells_add(&self->cells, escape_text(self, text), style, 0, false, &self->widths);
    add_live_cells(self, &self->below, self->cells.rows, self->cells.count);
}

static void add_queued(struct live_screen *self, const struct live_below *below)
{
    struct str line;
    size_t shown = below->queued_count < LIVE_SHOWN_QUEUED ? below->queued_count
                                                           : LIVE_SHOWN_QUEUED;
    str_init(&line, LIVE_MAX_SHOWN);
    for (size_t i = 0; i < shown; i++) {
        str_clear(&line);
        str_adds(&line, "queued: ");
        line_cut(view_str(below->queued[i]), MAX_QUEUED_CHARACTERS, &line);
        add_below(self, CELL_DIM, str_view(&line));
    }
    if (below->queued_count > shown) {
        str_clear(&line);
        str_printf(&line, "queued: %zu more", below->queued_count - shown);
        add_below(self, CELL_DIM, str_view(&line));
    }
    str_release(&line);
}

static void add_question(struct live_screen *self, const struct live_below *below)
{
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    str_printf(&line, "Question: %s%s", below->question,
               below->question_open ? "  y yes, n no" : "");
    add_below(self, CELL_BOLD, str_view(&line));
    self->cursor_row = self->below.count - 1;
    self->cursor_column = self->below.rows[self->cursor_row].width;
    str_release(&line);
}

static void add_search(struct live_screen *self, const struct edit_buffer *edit)
{
    struct str line;
    str_init(&line, LIVE_MAX_SHOWN);
    str_printf(&line, "%s: %s", edit->found || edit->query.size == 0 ? "search" : "not found",
               edit->query.data);
    add_below(self, CELL_DIM, str_view(&line));
    str_release(&line);
}

/* At most half of the screen: the rows around the cursor. */
static void add_input(struct live_screen *self, const struct edit_buffer *edit)
{
    struct edit_rows rows = {0};
    size_t most = self->size.rows > 3 ? (size_t)self->size.rows / 2 : 1;
    if (edit->searching)
        add_search(self, edit);
    if (edit_layout(edit, &rows) != ETHOS_OK)
        return;
    size_t first = rows.cursor_row >= most ? rows.cursor_row - most + 1 : 0;
    size_t end = rows.count - first > most ? first + most : rows.count;
    self->cursor_row = self->below.count + rows.cursor_row - first;
    self->cursor_column = PROMPT_COLUMNS + rows.cursor_column;
    for (size_t i = first; i < end; i++) {
        int width = print_input_row(self, edit, rows.rows[i], i == 0);
        add_live_row(&self->below, str_view(&self->row), width);
    }
    edit_rows_release(&rows);
}

static void clear_rows(struct live_rows *rows)
{
    str_clear(&rows->bytes);
    rows->count = 0;
}

static void make_below(struct live_screen *self, const struct live_below *below)
{
    clear_rows(&self->below);
    if (self->answer.count > 0 ? self->answer.rows[self->answer.count - 1].width > 0 : !self->blank)
        add_live_row(&self->below, VIEW(""), 0);
    if (below->status.size > 0)
        add_below(self, CELL_DIM, below->status);
    add_queued(self, below);
    if (below->hint.size > 0)
        add_below(self, CELL_DIM, below->hint);
    if (below->question)
        add_question(self, below);
    if (!below->question || !below->question_open)
        add_input(self, below->edit);
}

static void print_live_rows(struct live_screen *self, const struct live_rows *rows, size_t from)
{
    for (size_t i = from; i < rows->count; i++)
        frame_live(&self->frame,
                   view_of(rows->bytes.data + rows->rows[i].begin,
                           rows->rows[i].end - rows->rows[i].begin),
                   rows->rows[i].width);
}

static void write_frame(struct live_screen *self)
{
    str_clear(&self->bytes);
    if (frame_write(&self->frame, &self->bytes) != ETHOS_OK || self->bytes.size == 0)
        return;
    self->gone = !tty_write(str_view(&self->bytes)) || self->gone;
}

void live_screen_paint(struct live_screen *self, const struct live_below *below)
{
    size_t rows = self->size.rows > 1 ? (size_t)self->size.rows - 1 : 1;
    clear_rows(&self->answer);
    flow_frame(&self->flow);
    if (self->answer.count > 0)
        begin_block(self, LIVE_ANSWER); // its blank row scrolls away once, not with each frame
    make_below(self, below);
    /* Where there is no room for all, the rows at the top are left out. */
    size_t skip = self->below.count > rows ? self->below.count - rows : 0;
    size_t room = rows - (self->below.count - skip);
    size_t answers = self->answer.count < room ? self->answer.count : room;
    print_live_rows(self, &self->answer, self->answer.count - answers);
    print_live_rows(self, &self->below, skip);
    size_t cursor = self->cursor_row > skip ? self->cursor_row - skip : 0;
    frame_set_cursor(&self->frame, answers + cursor, self->cursor_column);
    write_frame(self);
}

void live_screen_clear(struct live_screen *self)
{
    write_frame(self);
}

void live_screen_restart(struct live_screen *self)
{
    frame_restart(&self->frame);
}
