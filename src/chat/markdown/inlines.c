/*
 * inlines.c: the text of one block of markdown as cells.
 */
#include "chat/markdown/inlines.h"

#include <md4c.h>
#include <string.h>

#include "base/err.h"
#include "base/text/terminal.h"
#include "base/utf8.h"
#include "base/view.h"
#include "chat/markdown/delimiters.h"

/*
 * Before the text, so that it is a paragraph for md4c whatever it begins with. Unicode counts it as white space, as
 * the beginning of a line is.
 */
#define LEAD "\u00A0"
#define LEAD_SIZE (sizeof LEAD - 1)

void inlines_init(struct inlines *self, const struct cluster_widths *widths)
{
    *self = (struct inlines){.widths = widths};
    str_init(&self->safe, INLINES_MAX_SOURCE);
    str_init(&self->text, 2 * (size_t)INLINES_MAX_SOURCE);
    str_init(&self->breaks, INLINES_MAX_SOURCE);
}

void inlines_release(struct inlines *self)
{
    str_release(&self->safe);
    str_release(&self->text);
    str_release(&self->breaks);
    cells_release(&self->cells);
}

/* ---- cells ------------------------------------------------------------------------------------- */

static unsigned current_style(const struct inlines *self)
{
    return self->base | (self->bold ? CELL_BOLD : 0) | (self->underlined ? CELL_UNDERLINE : 0) |
           (self->dim ? CELL_DIM : 0) | (self->code ? CELL_CODE : 0);
}

/* The part of a piece of the text that is of the source. */
static void add_range(struct inlines *self, size_t from, size_t end, unsigned style)
{
    if (end > self->safe.size)
        end = self->safe.size;
    if (from >= end)
        return;
    cells_add(&self->cells, view_of(self->text.data + LEAD_SIZE + from, end - from), style, from,
              true, self->widths);
    self->last = end;
}

/* Behind its text, the destination of a link as the source has it: no letter is lost, and it can be copied. */
static void add_destination(struct inlines *self)
{
    const char *text = self->text.data + LEAD_SIZE;
    size_t size = self->text.size - LEAD_SIZE;
    size_t from = self->last + strspn(text + self->last, "*_~` [!") + 1;
    if (from >= size || text[from - 1] != ']' || text[from] != '(')
        return; // <https://...>
    struct delimiters_link link = delimiters_link(view_of(text, size), from);
    size_t end = link.end ? link.end : size;
    if (from >= self->safe.size)
        return;
    cells_add_cell(&self->cells, (struct cell){.text = " ",
                                               .size = 1,
                                               .offset = (uint32_t)from - 1,
                                               .width = 1,
                                               .style = (uint8_t)self->base});
    add_range(self, from, end, self->base | CELL_DIM);
}

static unsigned *span_counter(struct inlines *self, MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_STRONG:
        return &self->bold;
    case MD_SPAN_DEL:
        return &self->dim;
    case MD_SPAN_CODE:
        return &self->code;
    default:
        return &self->underlined;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    (void)detail;
    ++*span_counter(arg, type);
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct inlines *self = arg;
    --*span_counter(self, type);
    (void)detail;
    if (type == MD_SPAN_IMG || type == MD_SPAN_A)
        add_destination(self);
    return 0;
}

static int add_span_text(MD_TEXTTYPE type, const MD_CHAR *data, MD_SIZE size, void *arg)
{
    struct inlines *self = arg;
    const char *begin = self->text.data + LEAD_SIZE;
    (void)type;
    if (data < self->text.data || data + size > self->text.data + self->text.size)
        return 0; // a line end of md4c's own: there is none in one line
    if (data < begin) {
        size_t lead = (size_t)(begin - data);
        size = size > lead ? (MD_SIZE)(size - lead) : 0;
        data = begin;
    }
    add_range(self, (size_t)(data - begin), (size_t)(data - begin) + size, current_style(self));
    return 0;
}

static int ignore_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)type;
    (void)detail;
    (void)arg;
    return 0;
}

static int parse_spans(struct inlines *self)
{
    const MD_PARSER parser = {.flags = MD_FLAG_NOHTML | MD_FLAG_STRIKETHROUGH |
                                       MD_FLAG_NOINDENTEDCODEBLOCKS,
                              .enter_block = ignore_block,
                              .leave_block = ignore_block,
                              .enter_span = enter_span,
                              .leave_span = leave_span,
                              .text = add_span_text};
    cells_clear(&self->cells);
    self->bold = self->underlined = self->dim = self->code = 0;
    self->last = 0;
    if (md_parse(self->text.data, (MD_SIZE)self->text.size, &parser, self) != 0)
        return ETHOS_NOMEM;
    return self->cells.code;
}

/* ---- the text that md4c reads ------------------------------------------------------------------ */

/* The source as one line. Two blanks or a backslash before a line end break the row there. */
static void join_lines(struct inlines *self)
{
    char *text = self->safe.data;
    str_clear(&self->breaks);
    for (size_t i = 0; i < self->safe.size; i++) {
        uint32_t offset = (uint32_t)i;
        if (text[i] != '\n')
            continue;
        bool blanks = i >= 2 && text[i - 1] == ' ' && text[i - 2] == ' ';
        bool backslash = i >= 1 && text[i - 1] == '\\' && !(i >= 2 && text[i - 2] == '\\');
        text[i] = ' ';
        if (backslash)
            text[i - 1] = ' ';
        if (blanks || backslash)
            str_add(&self->breaks, view_of((const char *)&offset, sizeof offset));
    }
}

static void mark_breaks(struct inlines *self)
{
    size_t at = 0, count = self->breaks.size / sizeof(uint32_t);
    for (size_t i = 0; i < count; i++) {
        uint32_t offset;
        memcpy(&offset, self->breaks.data + i * sizeof offset, sizeof offset);
        while (at < self->cells.count && self->cells.rows[at].offset < offset)
            at++;
        if (at < self->cells.count && self->cells.rows[at].offset == offset &&
            *self->cells.rows[at].text == ' ')
            self->cells.rows[at].style |= CELL_BREAK;
    }
}

int inlines_parse(struct inlines *self, struct ethos_view source, unsigned style, bool grows,
                  size_t settled)
{
    self->base = style;
    self->open = SIZE_MAX;
    str_clear(&self->safe);
    str_clear(&self->text);
    terminal_escape(source, &self->safe);
    join_lines(self);
    if (grows)
        str_truncate(&self->safe, delimiters_trim(str_view(&self->safe)));
    str_adds(&self->text, LEAD);
    str_add(&self->text, str_view(&self->safe));
    if (grows)
        self->open = delimiters_close(str_view(&self->safe), settled, &self->text);
    if (str_code(&self->safe) != ETHOS_OK || str_code(&self->text) != ETHOS_OK ||
        str_code(&self->breaks) != ETHOS_OK)
        return ETHOS_NOMEM;
    int code = parse_spans(self);
    mark_breaks(self);
    return code;
}

size_t inlines_cut(struct ethos_view source)
{
    size_t at = delimiters_last_gap(source);
    if (at > source.size / 2)
        return at;
    for (at = source.size; at > source.size / 2; at--)
        if (source.data[at - 1] == ' ' || source.data[at - 1] == '\n')
            return at;
    return source.size;
}
