/*
 * edit_rows.c: the input as rows of a terminal.
 */
#include "chat/terminal/edit.h"

#include <stdlib.h>

#include "base/text/terminal.h"
#include "base/view.h"

#define MAX_SHOWN 1048576 /* bytes of one cluster as it is shown */

size_t edit_cluster_end(const struct edit_buffer *self, size_t at)
{
    return self->text.data[at] == '\r' ? at + 1 : cluster_end(str_view(&self->text), at);
}

static struct ethos_view cluster_at(const struct edit_buffer *self, size_t at)
{
    return view_of(self->text.data + at, edit_cluster_end(self, at) - at);
}

static bool is_printable_ascii(struct ethos_view cluster)
{
    return cluster.size == 1 && *cluster.data >= 0x20 && *cluster.data < 0x7F;
}

static int append_shown(struct ethos_view cluster, struct str *out)
{
    if (cluster.size == 1 && *cluster.data == '\t')
        return str_printf(out, "%*s", EDIT_TAB_COLUMNS, "");
    return is_printable_ascii(cluster) ? str_add(out, cluster) : terminal_escape(cluster, out);
}

static int shown_width(const struct edit_buffer *self, struct ethos_view cluster)
{
    struct str shown;
    if (is_printable_ascii(cluster))
        return 1;
    str_init(&shown, MAX_SHOWN);
    append_shown(cluster, &shown);
    int width = cluster_text_width(self->widths, str_view(&shown));
    str_release(&shown);
    return width;
}

static bool add_edit_row(struct edit_rows *rows, size_t begin, size_t end)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 16;
        struct edit_row *grown = realloc(rows->rows, capacity * sizeof *grown);
        if (!grown)
            return false;
        rows->rows = grown;
        rows->capacity = capacity;
    }
    rows->rows[rows->count++] = (struct edit_row){begin, end};
    return true;
}

int edit_layout(const struct edit_buffer *self, struct edit_rows *out)
{
    size_t begin = 0, at = 0;
    int column = 0;
    out->count = 0;
    while (at < self->text.size) {
        struct ethos_view cluster = cluster_at(self, at);
        bool is_end = *cluster.data == '\n';
        int width = is_end ? 0 : shown_width(self, cluster);
        if (at > begin && column + width > self->columns) {
            if (!add_edit_row(out, begin, at))
                return ETHOS_NOMEM;
            begin = at;
            column = 0;
        }
        if (at == self->cursor) {
            out->cursor_row = out->count;
            out->cursor_column = column;
        }
        if (is_end && !add_edit_row(out, begin, at))
            return ETHOS_NOMEM;
        at += cluster.size;
        begin = is_end ? at : begin;
        column = is_end ? 0 : column + width;
    }
    if (self->cursor == at) {
        out->cursor_row = out->count;
        out->cursor_column = column < self->columns ? column : self->columns;
    }
    return add_edit_row(out, begin, at) ? ETHOS_OK : ETHOS_NOMEM;
}

void edit_rows_release(struct edit_rows *self)
{
    free(self->rows);
    *self = (struct edit_rows){0};
}

size_t edit_offset(const struct edit_buffer *self, struct edit_row row, int column)
{
    size_t at = row.begin, before = row.begin;
    while (at < row.end) {
        struct ethos_view cluster = cluster_at(self, at);
        column -= shown_width(self, cluster);
        if (column < 0)
            return at;
        before = at;
        at += cluster.size;
    }
    /* Behind a full row that goes on is the beginning of the next one. */
    bool goes_on = at < self->text.size && self->text.data[at] != '\n';
    return goes_on ? before : at;
}

int edit_print_row(const struct edit_buffer *self, struct edit_row row, struct str *out)
{
    for (size_t at = row.begin; at < row.end;) {
        struct ethos_view cluster = cluster_at(self, at);
        append_shown(cluster, out);
        at += cluster.size;
    }
    return str_code(out);
}
