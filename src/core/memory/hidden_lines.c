/*
 * hidden_lines.c: the lines that a scan finds something in.
 *
 * Guard and redaction are asked one after the other, because a line that the guard takes out is not
 * looked at for secrets.
 */
#include "core/memory/hidden_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/memory/shown_lines.h"

struct line_search {
    struct ethos_view text;
    const struct shown_lines *shown;
    struct arena *arena;
    struct hidden_lines *out;
    size_t offset, number; /* of the line counted last */
    size_t sorted;         /* rows that were found before this search, in order */
    int code;
};

static int compare_hidden_lines(const void *a, const void *b)
{
    const struct hidden_line *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* The row of the line, a new one if there is none yet; NULL without memory. */
static struct hidden_line *hidden_row(struct line_search *self, struct ethos_view line,
                                      size_t number)
{
    struct hidden_lines *out = self->out;
    const struct hidden_line wanted = {.number = number};
    struct hidden_line *last = out->count > self->sorted ? &out->rows[out->count - 1] : NULL;
    struct hidden_line *same = self->sorted == 0 ? NULL
                                                 : bsearch(&wanted, out->rows, self->sorted,
                                                           sizeof wanted, compare_hidden_lines);
    if (same || (last && last->number == number))
        return same ? same : last;
    struct hidden_line *rows = arena_grow(self->arena, out->rows, out->count, &out->room,
                                          sizeof *rows);
    if (!rows)
        return NULL;
    out->rows = rows;
    rows[out->count] = (struct hidden_line){.number = number, .text = line};
    shown_line_hash(line, rows[out->count].hash);
    return &rows[out->count++];
}

static void collect_finding(void *arg, const struct scan_finding *finding)
{
    struct line_search *self = arg;
    size_t offset = (size_t)(finding->line.data - self->text.data);
    self->number += view_newlines(view_of(self->text.data + self->offset, offset - self->offset));
    self->offset = offset;
    struct ethos_view line = finding->line;
    if (view_ends(line, VIEW("\r")))
        line.size--;
    struct hidden_line *row = hidden_row(self, line, self->number);
    if (!row) {
        self->code = ETHOS_NOMEM;
        return;
    }
    row->found |= finding->what;
    row->block |= finding->block;
    if (finding->tag && !*row->tag)
        snprintf(row->tag, sizeof row->tag, "%s", finding->tag);
    unsigned shown = shown_lines_find(self->shown, line);
    row->shown = row->block ? shown & row->found & SCAN_GUARD : shown & row->found;
}

static int search_lines(struct line_search *self, unsigned what)
{
    struct str out;
    const struct scan_how how = {.what = what, .found = collect_finding, .arg = self};
    self->offset = 0;
    self->number = 1;
    self->sorted = self->out->count;
    str_init(&out, SIZE_MAX);
    scan_text_with(self->text, &how, &out);
    int code = str_code(&out) == ETHOS_OK ? self->code : ETHOS_NOMEM;
    str_release(&out);
    return code;
}

int hidden_lines_find(struct ethos_view text, const struct shown_lines *shown, struct arena *arena,
                      struct hidden_lines *out)
{
    struct line_search self = {.text = text, .shown = shown, .arena = arena, .out = out};
    *out = (struct hidden_lines){.rows = NULL};
    int code = search_lines(&self, SCAN_GUARD);
    code = code ? code : search_lines(&self, SCAN_REDACT);
    if (out->count > 0)
        qsort(out->rows, out->count, sizeof *out->rows, compare_hidden_lines);
    return code;
}
