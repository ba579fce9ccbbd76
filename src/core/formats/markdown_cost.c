/*
 * markdown_cost.c: estimates whether a text can be parsed in reasonable time.
 *
 * For one paragraph, md4c 0.4.8 can take as many steps as its bytes times the characters that may begin or end a link;
 * and each line checks every open list and quote. Both are estimated from the lines alone, and never too low: lines count
 * as one paragraph unless they certainly are not.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/formats/markdown_internal.h"

/* What matters of a line. */
struct line_shape {
    struct ethos_view line; /* the line without blanks around it */
    size_t indent;          /* blanks before it; a tab counts as more than a paragraph may have */
    bool tab_after;         /* there is a tab after it */
};

struct cost_bound {
    struct line_shape first; /* line of the paragraph */
    size_t lines, bytes, links;
    bool table;
    char fence; /* of the code block we are in, or 0 */
    size_t fence_size;
    bool unsure; /* it is not certain where code blocks are */
    uint64_t work;
};

static bool is_blank_character(char c)
{
    return c == ' ' || c == '\t';
}

static struct line_shape measure_line(struct ethos_view line)
{
    struct line_shape look = {.line = line};
    for (; look.line.size > 0 && is_blank_character(look.line.data[0]);
         look.line = view_from(look.line, 1))
        look.indent += look.line.data[0] == '\t' ? 4 : 1;
    while (look.line.size > 0 && is_blank_character(look.line.data[look.line.size - 1]))
        look.tab_after |= look.line.data[--look.line.size] == '\t';
    return look;
}

/* The next line; md4c ends one at a lone CR, too. */
static bool next_md_line(struct ethos_view *rest, struct ethos_view *out)
{
    size_t size = 0;
    if (rest->size == 0)
        return false;
    while (size < rest->size && rest->data[size] != '\n' && rest->data[size] != '\r')
        size++;
    *out = view_of(rest->data, size);
    *rest = view_from(*rest, size);
    *rest = view_from(*rest, view_starts(*rest, VIEW("\r\n")) ? 2 : rest->size > 0);
    return true;
}

static size_t run_length(struct ethos_view text, char c)
{
    size_t size = 0;
    while (size < text.size && text.data[size] == c)
        size++;
    return size;
}

/* Whether the line is a list item that is not empty. */
static bool is_item(struct ethos_view line, bool *out_numbered)
{
    size_t size = 0;
    while (size < line.size && size < 10 && line.data[size] >= '0' && line.data[size] <= '9')
        size++;
    *out_numbered = size > 0;
    bool mark = size < 10 && size < line.size &&
                memchr(size ? ".)" : "-*+", line.data[size], size ? 2 : 3);
    return mark && size + 2 < line.size && line.data[size + 1] == ' ';
}

/* ---- paragraphs ------------------------------------------------------------------------------ */

static void end_paragraph(struct cost_bound *self)
{
    self->work += (uint64_t)self->bytes * self->links;
    self->lines = self->bytes = self->links = 0;
    self->table = false;
}

static size_t count_links(struct ethos_view line)
{
    size_t count = 0;
    for (size_t i = 0; i < line.size; i++)
        count += memchr("[]()<", line.data[i], 5) != NULL;
    return count;
}

static bool open_fence(struct cost_bound *self, const struct line_shape *look, char c, size_t size)
{
    struct ethos_view info = view_from(look->line, size);
    if (size < 3 || look->indent > 3 || (c == '`' && memchr(info.data, '`', info.size)))
        return false;
    self->unsure |= look->indent > 0; // it may belong to a list item and end with it
    self->fence = self->unsure ? 0 : c;
    self->fence_size = size;
    return self->fence;
}

/* Whether the line belongs to a code block at the margin. */
static bool is_code_line(struct cost_bound *self, const struct line_shape *look)
{
    char c = look->line.size > 0 ? look->line.data[0] : 0;
    size_t size = c == '`' || c == '~' ? run_length(look->line, c) : 0;
    if (!self->fence)
        return open_fence(self, look, c, size);
    bool closes = c == self->fence && size >= self->fence_size && size == look->line.size &&
                  look->indent < 4;
    if (closes)
        self->fence = 0;
    self->unsure |= closes && look->tab_after; // md4c does not end the block then
    return true;
}

/* Whether the line begins a new block, whatever is before it. */
static bool is_block_start(const struct cost_bound *self, const struct line_shape *look)
{
    bool numbered, other;
    size_t hashes = run_length(look->line, '#');
    if (look->indent > 3)
        return false;
    if (hashes > 0 && hashes < 7 && hashes < look->line.size && look->line.data[hashes] == ' ')
        return true;
    bool after_item = look->indent == 0 && self->lines > 0 && self->first.indent == 0 &&
                      is_item(self->first.line, &other);
    return is_item(look->line, &numbered) && (!numbered || after_item);
}

static struct ethos_view skip_characters(struct ethos_view text, const char *characters)
{
    while (text.size > 0 && memchr(characters, text.data[0], strlen(characters)))
        text = view_from(text, 1);
    return text;
}

static struct ethos_view skip_character(struct ethos_view text, char c)
{
    return view_from(text, text.size > 0 && text.data[0] == c);
}

/* Whether the line is like | --- | :-: |, with bars at both ends and three characters or more between them. */
static bool is_table_delimiter(struct ethos_view line)
{
    size_t columns = 0;
    for (; line.size > 1 && line.data[0] == '|'; columns++) {
        struct ethos_view cell = skip_characters(view_from(line, 1), " \t");
        struct ethos_view dashes = skip_character(cell, ':'), end = skip_characters(dashes, "-");
        line = skip_character(end, ':');
        if (end.size == dashes.size || cell.size < line.size + 3)
            return false;
        line = skip_characters(line, " \t");
    }
    return columns > 0 && view_eq(line, VIEW("|"));
}

/* Whether this is the second line of a table. Its lines are rows then, and cells are parsed separately. */
static bool is_table_start(const struct cost_bound *self, const struct line_shape *look)
{
    const struct line_shape *first = &self->first;
    return self->lines == 1 && first->line.data[0] == '|' && first->indent < 4 &&
           look->indent < 4 && is_table_delimiter(look->line);
}

static void add_line_cost(struct cost_bound *self, const struct line_shape *look)
{
    bool row = self->table && look->line.size > 0 && look->line.data[0] == '|';
    bool code = is_code_line(self, look);
    if (code || look->line.size == 0 || row || is_block_start(self, look))
        end_paragraph(self);
    if (code || look->line.size == 0)
        return;
    if (self->lines == 0)
        self->first = *look;
    self->table = row || is_table_start(self, look);
    self->lines++;
    self->bytes += look->line.size + 1;
    self->links += count_links(look->line);
}

/* ---- lists and quotes ------------------------------------------------------------------------ */

/* How many lists and quotes a line may open. */
static size_t count_marks(struct ethos_view line)
{
    size_t marks = 0;
    for (size_t i = 0; i < line.size && memchr("> \t-*+.)0123456789", line.data[i], 18); i++) {
        bool ends = i + 1 == line.size || is_blank_character(line.data[i + 1]);
        marks += line.data[i] == '>' || (ends && memchr("-*+.)", line.data[i], 5));
    }
    return marks;
}

int markdown_affordable(struct ethos_view text, struct ethos_error *error)
{
    struct cost_bound bound = {0};
    struct ethos_view line;
    while (next_md_line(&text, &line)) {
        struct line_shape look = measure_line(line);
        if (count_marks(line) > MARKDOWN_MARKS)
            return err_set(error, ETHOS_LIMIT, "lists or quotes are nested too deeply to be shown");
        add_line_cost(&bound, &look);
    }
    end_paragraph(&bound);
    if (bound.work > MARKDOWN_WORK)
        return err_set(error, ETHOS_LIMIT, "too complex to be shown as markdown");
    return ETHOS_OK;
}
