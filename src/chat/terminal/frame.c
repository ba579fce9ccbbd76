/*
 * frame.c: rows as the bytes of one write.
 */
#include "chat/terminal/frame.h"

#include "base/view.h"

#define BEGIN "\033[?2026h\033[?25l"
#define END "\033[?25h\033[?2026l"
#define ERASE_RIGHT "\033[K"
#define ERASE_BELOW "\033[J"

void frame_init(struct screen_frame *self, int columns)
{
    *self = (struct screen_frame){.columns = columns > 0 ? columns : 1};
    str_init(&self->committed, FRAME_MAX_BYTES);
    str_init(&self->two[0].bytes, FRAME_MAX_BYTES);
    str_init(&self->two[1].bytes, FRAME_MAX_BYTES);
    self->next = &self->two[0];
    self->shown = &self->two[1];
}

void frame_release(struct screen_frame *self)
{
    str_release(&self->committed);
    str_release(&self->two[0].bytes);
    str_release(&self->two[1].bytes);
}

static void clear_rows(struct frame_rows *rows)
{
    str_clear(&rows->bytes);
    rows->count = rows->cursor_row = 0;
    rows->cursor_column = 0;
}

int frame_commit(struct screen_frame *self, struct ethos_view row, int width)
{
    struct str *out = &self->committed;
    /* Behind a row that fills the terminal's, erasing to the right would erase its last character. */
    if (width >= self->columns) {
        str_adds(out, ERASE_BELOW);
        str_add(out, row);
    } else {
        str_add(out, row);
        str_adds(out, ERASE_RIGHT);
    }
    return str_adds(out, "\r\n");
}

int frame_live(struct screen_frame *self, struct ethos_view row, int width)
{
    struct frame_rows *rows = self->next;
    size_t begin = rows->bytes.size;
    if (rows->count == FRAME_MAX_ROWS)
        return str_fail(&rows->bytes, ETHOS_LIMIT);
    if (str_add(&rows->bytes, row) == ETHOS_OK)
        rows->rows[rows->count++] = (struct frame_row){begin, rows->bytes.size, width};
    return str_code(&rows->bytes);
}

void frame_set_cursor(struct screen_frame *self, size_t row, int column)
{
    self->next->cursor_row = row;
    self->next->cursor_column = column;
}

static struct ethos_view row_text(const struct frame_rows *rows, size_t i)
{
    return view_of(rows->bytes.data + rows->rows[i].begin, rows->rows[i].end - rows->rows[i].begin);
}

static size_t find_first_changed(const struct frame_rows *next, const struct frame_rows *shown)
{
    size_t i = 0;
    while (i < next->count && i < shown->count && view_eq(row_text(next, i), row_text(shown, i)))
        i++;
    return i;
}

static void append_cursor_move(struct str *out, size_t from, size_t to)
{
    if (from > to)
        str_printf(out, "\033[%zuA", from - to);
    else if (to > from)
        str_printf(out, "\033[%zuB", to - from);
}

/* Writes the live rows from this one on; the cursor is at its beginning. Returns the row where it is then. */
static size_t append_live_rows(const struct screen_frame *self, size_t first, struct str *out)
{
    const struct frame_rows *next = self->next;
    for (size_t i = first; i < next->count; i++) {
        str_adds(out, i > first ? "\r\n" : "");
        str_add(out, row_text(next, i));
        str_adds(out, ERASE_RIGHT);
    }
    return next->count ? next->count - 1 : 0;
}

/* Writes everything from the top. Returns the cursor's row. */
static size_t append_all_rows(const struct screen_frame *self, struct str *out)
{
    append_cursor_move(out, self->climb, 0);
    str_addc(out, '\r');
    if (self->stale)
        str_adds(out, ERASE_BELOW);
    str_add(out, str_view(&self->committed));
    if (self->committed.size > 0)
        str_adds(out, ERASE_BELOW);
    return append_live_rows(self, 0, out);
}

/* Writes what differs from the screen. Returns the cursor's row. */
static size_t append_changed_rows(const struct screen_frame *self, struct str *out)
{
    const struct frame_rows *next = self->next, *shown = self->shown;
    size_t first = find_first_changed(next, shown);
    if (first == next->count && first == shown->count)
        return self->climb;
    /* To erase what is below the last row, that row is written again. */
    if (first == next->count && first > 0)
        first--;
    bool is_new = first > 0 && first == shown->count;
    append_cursor_move(out, self->climb, is_new ? first - 1 : first);
    str_adds(out, is_new ? "\r\n" : "\r");
    size_t row = append_live_rows(self, first, out);
    if (next->count < shown->count)
        str_adds(out, ERASE_BELOW);
    return row;
}

static bool is_unchanged(const struct screen_frame *self)
{
    const struct frame_rows *next = self->next, *shown = self->shown;
    return !self->stale && self->committed.size == 0 && next->count == shown->count &&
           find_first_changed(next, shown) == next->count && next->cursor_row == self->climb &&
           next->cursor_column == shown->cursor_column;
}

static int write_frame(struct screen_frame *self, struct str *out)
{
    if (str_code(&self->committed) != ETHOS_OK)
        return str_code(&self->committed);
    if (str_code(&self->next->bytes) != ETHOS_OK)
        return str_code(&self->next->bytes);
    if (is_unchanged(self))
        return ETHOS_OK;
    size_t size = out->size;
    str_adds(out, BEGIN);
    bool is_whole = self->stale || self->committed.size > 0;
    size_t row = is_whole ? append_all_rows(self, out) : append_changed_rows(self, out);
    append_cursor_move(out, row, self->next->cursor_row);
    str_printf(out, "\033[%dG" END, self->next->cursor_column + 1);
    int code = str_code(out);
    if (code != ETHOS_OK) {
        str_undo(out, size);
        return code;
    }
    struct frame_rows *written = self->next;
    self->next = self->shown;
    self->shown = written;
    self->climb = written->cursor_row;
    self->stale = false;
    return ETHOS_OK;
}

int frame_write(struct screen_frame *self, struct str *out)
{
    int code = write_frame(self, out);
    str_clear(&self->committed);
    clear_rows(self->next);
    return code;
}

void frame_resize(struct screen_frame *self, int columns, bool rewraps)
{
    const struct frame_rows *shown = self->shown;
    self->columns = columns > 0 ? columns : 1;
    if (rewraps && shown->count > 0) {
        self->climb = (size_t)(shown->cursor_column / self->columns);
        for (size_t i = 0; i < shown->cursor_row && i < shown->count; i++) {
            int width = shown->rows[i].width;
            self->climb += width > 0 ? (size_t)((width - 1) / self->columns) + 1 : 1;
        }
    }
    self->stale = true;
}

void frame_restart(struct screen_frame *self)
{
    clear_rows(self->shown);
    self->climb = 0;
    self->stale = false;
}
