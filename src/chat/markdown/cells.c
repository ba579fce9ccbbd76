/*
 * cells.c: text on its way to the screen.
 */
#include "chat/markdown/cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"

void cells_release(struct cells *self)
{
    free(self->rows);
    *self = (struct cells){0};
}

void cells_clear(struct cells *self)
{
    self->count = 0;
    self->code = ETHOS_OK;
}

static bool grow_cells(struct cells *self)
{
    size_t capacity = self->capacity ? 2 * self->capacity : 256;
    if (self->code != ETHOS_OK)
        return false;
    struct cell *rows = capacity <= CELLS_MAX_COUNT ? realloc(self->rows, capacity * sizeof *rows)
                                                    : NULL;
    if (!rows) {
        self->code = capacity <= CELLS_MAX_COUNT ? ETHOS_NOMEM : ETHOS_LIMIT;
        return false;
    }
    self->rows = rows;
    self->capacity = capacity;
    return true;
}

static void push_cell(struct cells *self, const struct cell *cell)
{
    if (self->count < self->capacity || grow_cells(self))
        self->rows[self->count++] = *cell;
}

void cells_add_cell(struct cells *self, struct cell cell)
{
    push_cell(self, &cell);
}

/* A lone emoji style, whose character was a delimiter, may make what stands before it wider. */
static int cell_width(const struct cluster_widths *widths, struct ethos_view cluster)
{
    if (cluster.size == 1 && (unsigned char)*cluster.data - 0x20u < 0x5Fu)
        return 1;
    int width = view_starts(cluster, VIEW("\uFE0F")) ? 1 : cluster_width(widths, cluster);
    return width > 200 ? 200 : width;
}

void cells_add(struct cells *self, struct ethos_view text, unsigned style, size_t offset,
               bool moving, const struct cluster_widths *widths)
{
    for (size_t at = 0, end; at < text.size; at = end) {
        end = cluster_end(text, at);
        struct ethos_view cluster = view_of(text.data + at, end - at);
        struct cell cell = {.text = cluster.data,
                            .size = (uint32_t)cluster.size,
                            .offset = (uint32_t)(offset + (moving ? at : 0)),
                            .style = (uint8_t)style};
        if (*cluster.data == '\n' || *cluster.data == '\t') {
            cell.style |= *cluster.data == '\n' ? CELL_BREAK : 0;
            cell.width = *cluster.data == '\t';
            cell.text = " ";
            cell.size = 1;
        } else {
            cell.width = (uint8_t)cell_width(widths, cluster);
        }
        push_cell(self, &cell);
    }
}

/* ---- wrapping ---------------------------------------------------------------------------------- */

static bool is_blank_cell(const struct cell *cell)
{
    return cell->size == 1 && *cell->text == ' ';
}

static bool is_cell_one_of(const struct cell *cell, const char *const list[])
{
    for (size_t i = 0; list[i]; i++)
        if (strlen(list[i]) == cell->size && memcmp(list[i], cell->text, cell->size) == 0)
            return true;
    return false;
}

/* Han, kana and hangul stand without blanks; their punctuation stays with its word. */
static bool can_break_between(const struct cell *left, const struct cell *right)
{
    static const char *const openers[] = {"（", "「", "『", "【", "《", "〈", "〔", "“", "‘", NULL};
    static const char *const closers[] = {
        "、", "。", "，", "．", "：", "；", "！", "？", "）", "」", "』", "】", "》", "〉",
        "〕", "”",  "’",  "ー", "…",  ",",  ".",  ":",  ";",  "!",  "?",  ")",  "]",  NULL};
    return (left->width == 2 || right->width == 2) && !is_cell_one_of(left, openers) &&
           !is_cell_one_of(right, closers);
}

static bool begins_url(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i + 2 < count && !is_blank_cell(&cells[i]); i++)
        if (*cells[i].text == ':' && *cells[i + 1].text == '/' && *cells[i + 2].text == '/')
            return true;
    return false;
}

static size_t find_word_end(const struct cells *self, size_t at)
{
    while (at < self->count && !is_blank_cell(&self->rows[at]))
        at++;
    return at;
}

/* Behind a word, its blanks and the end of the row, if there is one. */
static size_t skip_blank_cells(const struct cells *self, size_t at)
{
    while (at < self->count && is_blank_cell(&self->rows[at]))
        if (self->rows[at++].style & CELL_BREAK)
            break;
    return at;
}

size_t cells_wrap(const struct cells *self, size_t from, int columns)
{
    size_t best = from;
    int used = 0;
    for (size_t i = from; i < self->count; i++) {
        const struct cell *cell = &self->rows[i];
        if (cell->style & CELL_BREAK)
            return i + 1;
        if (!is_blank_cell(cell) && used + cell->width > columns && i > from) {
            if (best > from)
                return best;
            if (!begins_url(self->rows + from, self->count - from))
                return i;
            return skip_blank_cells(self, find_word_end(self, i));
        }
        used += cell->width;
        if (is_blank_cell(cell) ||
            (i + 1 < self->count && can_break_between(cell, &self->rows[i + 1])))
            best = i + 1;
    }
    return self->count;
}

/* ---- printing ---------------------------------------------------------------------------------- */

int cells_width(const struct cell *cells, size_t count)
{
    int width = 0;
    for (size_t i = 0; i < count; i++)
        width += cells[i].width;
    return width;
}

static void print_style(unsigned style, struct str *out)
{
    static const struct {
        unsigned style;
        const char *sgr;
    } codes[] = {{CELL_BOLD, ";1"},  {CELL_DIM, ";2"},    {CELL_UNDERLINE, ";4"},
                 {CELL_CODE, ";36"}, {CELL_ADDED, ";32"}, {CELL_REMOVED, ";31"}};
    str_adds(out, "\033[0");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (style & codes[i].style)
            str_adds(out, codes[i].sgr);
    str_adds(out, "m");
}

int cells_print(const struct cell *cells, size_t count, int columns, bool color, struct str *out)
{
    unsigned style = 0;
    int used = 0;
    while (count > 0 && is_blank_cell(&cells[count - 1]))
        count--;
    for (size_t i = 0; i < count; i++) {
        unsigned own = cells[i].style & ~(unsigned)CELL_BREAK;
        used += cells[i].width;
        if (columns >= 0 && used > columns)
            break;
        if (color && own != style) {
            print_style(own, out);
            style = own;
        }
        str_add(out, view_of(cells[i].text, cells[i].size));
    }
    if (style)
        str_adds(out, "\033[m");
    return str_code(out);
}
