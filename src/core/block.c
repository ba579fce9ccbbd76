/*
 * block.c: our lines in a text file that belongs to somebody else.
 */
#include "core/block.h"

#include "base/str.h"
#include "base/view.h"

static bool is_mark(struct ethos_view line, const char *mark)
{
    struct ethos_view word = view_trim(line), start = view_str(mark);
    return view_starts(word, start) && (word.size == start.size || word.data[start.size] == ',');
}

bool block_is_mark(struct ethos_view line, const struct block_marks *marks)
{
    return is_mark(line, marks->begin) || is_mark(line, marks->end);
}

int block_find(struct ethos_view text, const struct block_marks *marks, struct block *out)
{
    size_t begins = 0, ends = 0;
    bool ordered = true;
    struct ethos_view line, rest = text;
    *out = (struct block){.before = text, .inner = VIEW(""), .after = VIEW("")};
    for (struct ethos_view from = rest; view_line(&rest, &line); from = rest) {
        struct ethos_view whole = view_of(from.data, from.size - rest.size);
        if (is_mark(whole, marks->begin)) {
            begins++;
            ordered = ordered && ends == 0;
            out->begin = from.size == text.size ? view_unmarked(whole)
                                                : whole; // a file's own mark stays
        } else if (is_mark(whole, marks->end)) {
            ends++;
            out->end = whole;
        }
    }
    if (begins > 1 || begins != ends || !ordered)
        return ETHOS_INVALID;
    if (begins == 0)
        return ETHOS_OK;
    const char *inner = out->begin.data + out->begin.size, *after = out->end.data + out->end.size;
    out->found = true;
    out->before = view_of(text.data, (size_t)(out->begin.data - text.data));
    out->inner = view_of(inner, (size_t)(out->end.data - inner));
    out->after = view_of(after, (size_t)(text.data + text.size - after));
    return ETHOS_OK;
}

static const char *newline_of(struct ethos_view text)
{
    struct ethos_view line, rest = text;
    return view_line(&rest, &line) && view_ends(line, VIEW("\r")) ? "\r\n" : "\n";
}

/* Without white space around them, each with the line end of the file. */
static void add_lines(struct ethos_view lines, const char *newline, struct str *out)
{
    struct ethos_view line, rest = view_trim(lines);
    while (view_line(&rest, &line)) {
        str_add(out, view_ends(line, VIEW("\r")) ? view_of(line.data, line.size - 1) : line);
        str_adds(out, newline);
    }
}

static void append(struct ethos_view text, const struct block_marks *marks, struct ethos_view lines,
                   struct str *out)
{
    const char *newline = newline_of(text);
    str_add(out, text);
    if (view_unmarked(text).size > 0)
        str_printf(out, "%s%s", view_ends(text, VIEW("\n")) ? "" : newline, newline);
    str_printf(out, "%s%s", marks->begin, newline);
    add_lines(lines, newline, out);
    str_printf(out, "%s%s", marks->end, newline);
}

struct ethos_view block_lead(const struct block *block)
{
    struct ethos_view less = block->before;
    if (block->found && view_ends(less, VIEW("\n")))
        less.size -= view_ends(less, VIEW("\r\n")) ? 2 : 1;
    return view_ends(less, VIEW("\n")) ? less : block->before;
}

static bool holds_mark(struct ethos_view text, const struct block_marks *marks)
{
    return view_contains(text, view_str(marks->begin)) || view_contains(text, view_str(marks->end));
}

int block_put(struct ethos_view text, const struct block_marks *marks, struct ethos_view lines,
              struct str *out)
{
    struct block block;
    if (!text.data)
        text = VIEW("");
    str_clear(out);
    if (block_find(text, marks, &block) != ETHOS_OK || holds_mark(lines, marks))
        return ETHOS_INVALID;
    if (!block.found && lines.data)
        append(text, marks, lines, out);
    else if (!lines.data)
        str_add(out, block.after.size == 0 ? block_lead(&block) : block.before);
    else
        str_add(out, view_of(text.data, (size_t)(block.inner.data - text.data)));
    if (block.found && lines.data) {
        add_lines(lines, newline_of(text), out);
        str_add(out, block.end);
    }
    return str_add(out, block.after);
}
