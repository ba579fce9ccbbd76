/*
 * managed_block.c: finds, writes and removes a marked block in a text file of another program.
 */
#include "core/formats/managed_block.h"

#include "base/str.h"
#include "base/view.h"
#include "core/formats/code_fence.h"

static bool is_mark(struct ethos_view line, const char *mark)
{
    struct ethos_view word = view_trim(line), start = view_str(mark);
    return view_starts(word, start) && (word.size == start.size || word.data[start.size] == ',');
}

bool block_is_mark(struct ethos_view line, const struct block_marks *marks)
{
    return is_mark(line, marks->begin) || is_mark(line, marks->end);
}

/* The marks found so far. */
struct marks_found {
    size_t begins, ends;
    bool disordered;
    struct ethos_view begin, end; /* the last ones, as whole lines */
};

static void record_mark(struct ethos_view line, const struct block_marks *marks,
                        struct marks_found *found)
{
    if (is_mark(line, marks->begin)) {
        found->begins++;
        found->disordered = found->disordered || found->ends > 0;
        found->begin = line;
    } else if (is_mark(line, marks->end)) {
        found->ends++;
        found->end = line;
    }
}

static bool is_broken(const struct marks_found *found)
{
    return found->begins > 1 || found->begins != found->ends || found->disordered;
}

/*
 * Finds the marks. Marks in a fenced code block are discarded when the fence closes; a fence that never closes would
 * otherwise hide our block. Fences between our marks belong to the block; inside an open fence only if `ours`, and then
 * each of them must be closed there.
 */
static struct marks_found find_marks(struct ethos_view text, const struct block_marks *marks,
                                     bool ours)
{
    struct marks_found found = {0}, outside = {0};
    struct fence fence = {0}, inner = {0};
    struct ethos_view line, rest = text;
    for (struct ethos_view from = rest; view_line(&rest, &line); from = rest) {
        bool was = fence.mark, within = found.begins > found.ends;
        if (marks->markdown)
            fence_line(within && (ours || !was) ? &inner : &fence, line);
        if (!was && fence.mark)
            outside = found;
        record_mark(view_of(from.data, from.size - rest.size), marks, &found);
        if (was && !fence.mark)
            found = outside;
    }
    found.disordered = found.disordered || (ours && inner.mark);
    return found;
}

int block_find(struct ethos_view text, const struct block_marks *marks, struct block *out)
{
    struct marks_found found = find_marks(text, marks, false);
    if (is_broken(&found)) {
        // the block may have fences of its own, in a text that never closes a fence
        struct marks_found ours = find_marks(text, marks, true);
        found = is_broken(&ours) ? found : ours;
    }
    *out = (struct block){.before = text, .inner = VIEW(""), .after = VIEW("")};
    out->begin = found.begin.data == text.data ? view_unmarked(found.begin)
                                               : found.begin; // without a byte order mark
    out->end = found.end;
    if (is_broken(&found))
        return ETHOS_INVALID;
    if (found.begins == 0)
        return ETHOS_OK;
    const char *inner = out->begin.data + out->begin.size, *after = out->end.data + out->end.size;
    out->found = true;
    out->before = view_of(text.data, (size_t)(out->begin.data - text.data));
    out->inner = view_of(inner, (size_t)(out->end.data - inner));
    out->after = view_of(after, (size_t)(text.data + text.size - after));
    return ETHOS_OK;
}

static const char *detect_newline(struct ethos_view text)
{
    struct ethos_view line, rest = text;
    return view_line(&rest, &line) && view_ends(line, VIEW("\r")) ? "\r\n" : "\n";
}

/* Appends the lines, trimmed, with the line ends of the file. */
static void print_lines(struct ethos_view lines, const char *newline, struct str *out)
{
    struct ethos_view line, rest = view_trim(lines);
    while (view_line(&rest, &line)) {
        str_add(out, view_ends(line, VIEW("\r")) ? view_of(line.data, line.size - 1) : line);
        str_adds(out, newline);
    }
}

static void append_block(struct ethos_view text, const struct block_marks *marks,
                         struct ethos_view lines, struct str *out)
{
    const char *newline = detect_newline(text);
    str_add(out, text);
    if (view_unmarked(text).size > 0)
        str_printf(out, "%s%s", view_ends(text, VIEW("\n")) ? "" : newline, newline);
    str_printf(out, "%s%s", marks->begin, newline);
    print_lines(lines, newline, out);
    str_printf(out, "%s%s", marks->end, newline);
}

struct ethos_view block_lead(const struct block *block)
{
    struct ethos_view less = block->before;
    if (block->found && view_ends(less, VIEW("\n")))
        less.size -= view_ends(less, VIEW("\r\n")) ? 2 : 1;
    return view_ends(less, VIEW("\n")) ? less : block->before;
}

static bool has_mark(struct ethos_view text, const struct block_marks *marks)
{
    return view_contains(text, view_str(marks->begin)) || view_contains(text, view_str(marks->end));
}

/* Checks that the written block is found again: fences elsewhere in the text may hide its marks. */
static int check_found(const struct block_marks *marks, struct str *out)
{
    struct block block;
    if (block_find(str_view(out), marks, &block) == ETHOS_OK && block.found)
        return ETHOS_OK;
    str_clear(out);
    return ETHOS_INVALID;
}

int block_put(struct ethos_view text, const struct block_marks *marks, struct ethos_view lines,
              struct str *out)
{
    struct block block;
    if (!text.data)
        text = VIEW("");
    str_clear(out);
    if (block_find(text, marks, &block) != ETHOS_OK || has_mark(lines, marks))
        return ETHOS_INVALID;
    if (!block.found && lines.data)
        append_block(text, marks, lines, out);
    else if (!lines.data)
        str_add(out, block.after.size == 0 ? block_lead(&block) : block.before);
    else
        str_add(out, view_of(text.data, (size_t)(block.inner.data - text.data)));
    if (block.found && lines.data) {
        print_lines(lines, detect_newline(text), out);
        str_add(out, block.end);
    }
    str_add(out, block.after);
    int code = str_code(out);
    return code == ETHOS_OK && lines.data ? check_found(marks, out) : code;
}
