/*
 * line_start.c: what a line of markdown is, by how it begins.
 */
#include "chat/markdown/line_start.h"

#include <string.h>

#include "base/view.h"
#include "chat/markdown/flow.h"

#define TAB 4 /* columns */

static bool is_blank_char(char c)
{
    return c == ' ' || c == '\t';
}

/* Bytes at the start that are all in the set. */
static size_t count_leading(struct ethos_view text, const char *set)
{
    size_t size = 0;
    while (size < text.size && text.data[size] && strchr(set, text.data[size]))
        size++;
    return size;
}

static size_t count_repeated(struct ethos_view text, char c)
{
    size_t size = 0;
    while (size < text.size && text.data[size] == c)
        size++;
    return size;
}

/* Passes over blanks and, up to a number, quote markers. */
static size_t skip_quotes_and_indent(struct ethos_view line, unsigned most, struct line_place *out)
{
    size_t at = 0;
    *out = (struct line_place){0};
    for (; at < line.size; at++) {
        char c = line.data[at];
        if (c == '>' && out->quotes < most) {
            out->quotes++;
            out->indent = 0;
            if (at + 1 < line.size && line.data[at + 1] == ' ')
                at++;
        } else if (c == '\t') {
            out->indent += TAB - out->indent % TAB;
        } else if (c == ' ') {
            out->indent++;
        } else {
            break;
        }
    }
    return at;
}

static struct line_start make_line_start(enum line_kind kind, struct line_start start,
                                         size_t content)
{
    start.kind = kind;
    start.content = content;
    return start;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

/* "- - -": WAIT, RULE, or TEXT for neither. */
static enum line_kind classify_rule(struct ethos_view rest, bool whole)
{
    size_t marks = 0;
    char set[] = {rest.data[0], ' ', '\t', '\0'};
    if (rest.size > LINE_MAX_RULE || rest.data[0] == '+' || count_leading(rest, set) < rest.size)
        return LINE_TEXT;
    if (!whole)
        return LINE_WAIT;
    for (size_t i = 0; i < rest.size; i++)
        marks += rest.data[i] == rest.data[0];
    return marks >= 3 ? LINE_RULE : LINE_TEXT;
}

/* An item behind a marker of so many bytes, or TEXT. */
static struct line_start parse_item(struct ethos_view rest, size_t marker, bool whole,
                                    struct line_start start)
{
    size_t at = start.content;
    if (marker == rest.size && !whole)
        return make_line_start(LINE_WAIT, start, at);
    if (marker < rest.size && !is_blank_char(rest.data[marker]))
        return make_line_start(LINE_TEXT, start, at);
    memcpy(start.marker, rest.data, marker);
    start.marker[marker] = ' ';
    size_t blanks = count_leading(view_from(rest, marker), " \t");
    return make_line_start(LINE_ITEM, start, at + marker + blanks);
}

static struct line_start parse_bullet(struct ethos_view rest, bool whole, struct line_start start)
{
    enum line_kind rule = classify_rule(rest, whole);
    if (rule != LINE_TEXT)
        return make_line_start(rule, start, start.content);
    if (rest.data[0] == '_')
        return make_line_start(LINE_TEXT, start, start.content);
    return parse_item(rest, 1, whole, start);
}

static struct line_start parse_ordered_item(struct ethos_view rest, bool whole,
                                            struct line_start start)
{
    size_t digits = count_leading(rest, "0123456789");
    if (digits > 9)
        return make_line_start(LINE_TEXT, start, start.content);
    if (digits == rest.size)
        return make_line_start(whole ? LINE_TEXT : LINE_WAIT, start, start.content);
    if (rest.data[digits] != '.' && rest.data[digits] != ')')
        return make_line_start(LINE_TEXT, start, start.content);
    return parse_item(rest, digits + 1, whole, start);
}

static struct line_start parse_heading(struct ethos_view rest, bool whole, struct line_start start)
{
    size_t level = count_repeated(rest, '#');
    if (level > 6 || (level < rest.size && !is_blank_char(rest.data[level])))
        return make_line_start(LINE_TEXT, start, start.content);
    if (level == rest.size && !whole)
        return make_line_start(LINE_WAIT, start, start.content);
    return make_line_start(LINE_HEADING, start,
                           start.content + level + count_leading(view_from(rest, level), " \t"));
}

static struct line_start parse_fence(struct ethos_view rest, bool whole, struct line_start start)
{
    size_t count = count_repeated(rest, rest.data[0]);
    if (count < 3)
        return make_line_start(count == rest.size && !whole ? LINE_WAIT : LINE_TEXT, start,
                               start.content);
    if (rest.size > LINE_MAX_RULE ||
        (rest.data[0] == '`' && memchr(rest.data + count, '`', rest.size - count)))
        return make_line_start(LINE_TEXT, start, start.content);
    if (!whole)
        return make_line_start(LINE_WAIT, start, start.content);
    start.fence = (struct line_fence){rest.data[0], (unsigned)count, start.at.indent};
    return make_line_start(LINE_FENCE, start, start.content);
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* WAIT, TABLE for the row of dashes below a head, TEXT for another line. */
static enum line_kind classify_delimiter_row(struct ethos_view rest, bool whole, size_t columns)
{
    if (rest.size > LINE_MAX_PROBE || count_leading(rest, " \t|:-") < rest.size)
        return LINE_TEXT;
    if (!whole)
        return LINE_WAIT;
    return memchr(rest.data, '|', rest.size) && memchr(rest.data, '-', rest.size) &&
                   table_count(rest) == columns
               ? LINE_TABLE
               : LINE_TEXT;
}

static enum line_kind classify_table_row(struct ethos_view rest, bool whole)
{
    size_t probe = rest.size < LINE_MAX_PROBE ? rest.size : LINE_MAX_PROBE;
    if (memchr(rest.data, '|', probe))
        return LINE_TABLE;
    return whole || rest.size >= LINE_MAX_PROBE ? LINE_TEXT : LINE_WAIT;
}

/* ---- code -------------------------------------------------------------------------------------- */

/* Where the text of a line of code begins: the indentation of the fence is not part of it. */
static size_t skip_indent(struct ethos_view line, size_t at, unsigned columns)
{
    for (unsigned seen = 0; at < line.size && seen < columns && is_blank_char(line.data[at]); at++)
        seen += line.data[at] == '\t' ? TAB : 1;
    return at;
}

static size_t skip_quotes(struct ethos_view line, unsigned quotes)
{
    size_t at = 0;
    for (; quotes > 0 && at < line.size; at++)
        if (line.data[at] == '>') {
            quotes--;
            if (quotes == 0 && at + 1 < line.size && line.data[at + 1] == ' ')
                at++;
        }
    return at;
}

/* A line while a fence is open; TEXT: the quote that it stood in has ended. */
static struct line_start parse_code_line(struct ethos_view line, bool whole,
                                         const struct line_context *context)
{
    struct line_start start = {0};
    size_t at = skip_quotes_and_indent(line, context->at.quotes, &start.at);
    struct ethos_view rest = view_from(line, at);
    if (start.at.quotes < context->at.quotes) {
        bool ended = rest.size > 0 || whole || line.size > LINE_MAX_PROBE;
        return make_line_start(ended ? LINE_TEXT : LINE_WAIT, start, at);
    }
    size_t marks = count_repeated(rest, context->fence.mark);
    size_t blanks = count_leading(view_from(rest, marks), " \t");
    bool only = marks + blanks == rest.size && line.size <= LINE_MAX_PROBE;
    if (only && !whole)
        return make_line_start(LINE_WAIT, start, at);
    if (only && marks >= context->fence.count)
        return make_line_start(LINE_FENCE_END, start, at);
    at = skip_quotes(line, context->at.quotes);
    return make_line_start(LINE_CODE, start, skip_indent(line, at, context->fence.indent));
}

/* ---- the whole --------------------------------------------------------------------------------- */

static struct line_start parse_by_first_character(struct ethos_view rest, bool whole,
                                                  struct line_start start)
{
    char c = rest.data[0];
    if (c == '-' || c == '*' || c == '+' || c == '_')
        return parse_bullet(rest, whole, start);
    if (c >= '0' && c <= '9')
        return parse_ordered_item(rest, whole, start);
    if (c == '#')
        return parse_heading(rest, whole, start);
    if (c == '`' || c == '~')
        return parse_fence(rest, whole, start);
    return make_line_start(LINE_TEXT, start, start.content);
}

struct line_start line_start_parse(struct ethos_view line, bool whole,
                                   const struct line_context *context)
{
    struct line_start start = {0};
    if (context->open == LINE_CODE) {
        start = parse_code_line(line, whole, context);
        if (start.kind != LINE_TEXT)
            return start;
        start = (struct line_start){0};
    }
    start.content = skip_quotes_and_indent(line, LINE_MAX_QUOTES, &start.at);
    struct ethos_view rest = view_from(line, start.content);
    if (rest.size == 0) {
        enum line_kind kind = whole ? LINE_BLANK : LINE_WAIT;
        return make_line_start(line.size > LINE_MAX_PROBE ? LINE_TEXT : kind, start, start.content);
    }
    bool same_quote = start.at.quotes == context->at.quotes;
    bool in_text = same_quote && (context->open == LINE_TEXT || context->open == LINE_ITEM);
    if (start.at.indent >= TAB && !context->in_list && !in_text) {
        start.at.indent -= TAB;
        return make_line_start(LINE_INDENTED, start,
                               skip_indent(line, skip_quotes(line, start.at.quotes), TAB));
    }
    if (context->open == LINE_TEXT && same_quote && context->head_columns > 0) {
        enum line_kind kind = classify_delimiter_row(rest, whole, context->head_columns);
        if (kind != LINE_TEXT)
            return make_line_start(kind, start, start.content);
    }
    start = parse_by_first_character(rest, whole, start);
    if (start.kind == LINE_TEXT && context->open == LINE_TABLE && same_quote)
        start.kind = classify_table_row(rest, whole);
    return start;
}
