/*
 * archive_blocks.c: the blocks of memory-archive.md.
 */
#include "core/memory/archive_blocks.h"

#include "base/str.h"
#include "base/view.h"

#define MARKER_END VIEW(" -->")

static struct ethos_view without_cr(struct ethos_view line)
{
    if (view_ends(line, VIEW("\r")))
        line.size--;
    return line;
}

/* Takes prefix and the word after it off. */
static bool cut_word_after(struct ethos_view *rest, struct ethos_view prefix,
                           struct ethos_view *out)
{
    if (!view_starts(*rest, prefix))
        return false;
    struct ethos_view word = view_from(*rest, prefix.size);
    const char *space = word.size ? memchr(word.data, ' ', word.size) : NULL;
    if (!space || space == word.data)
        return false;
    *out = view_of(word.data, (size_t)(space - word.data));
    *rest = view_from(word, out->size);
    return true;
}

/* Takes prefix off and the end of the marker, which leaves what it comes from. */
static bool take_from(struct ethos_view rest, struct ethos_view prefix, struct ethos_view *out)
{
    if (!view_starts(rest, prefix) || !view_ends(rest, MARKER_END) ||
        rest.size <= prefix.size + MARKER_END.size)
        return false;
    *out = view_of(rest.data + prefix.size, rest.size - prefix.size - MARKER_END.size);
    return true;
}

static bool read_marker(struct ethos_view line, struct archive_block *out)
{
    line = without_cr(line);
    *out = (struct archive_block){0};
    if (cut_word_after(&line, VIEW("<!-- archived "), &out->iso))
        return cut_word_after(&line, VIEW(" slug="), &out->slug) &&
               take_from(line, VIEW(" from="), &out->from);
    out->overflow = true;
    return cut_word_after(&line, VIEW("<!-- overflow-archived "), &out->iso) &&
           take_from(line, VIEW(" from "), &out->from);
}

/* Goes on to the next marker: *rest begins with its line then. False at the end. */
static bool find_marker(struct ethos_view *rest, struct archive_block *out)
{
    struct ethos_view after = *rest, line;

    for (; view_line(&after, &line); *rest = after) {
        if (read_marker(line, out))
            return true;
    }
    return false;
}

/* Whether a line is the heading "### <slug>". */
static bool is_heading(struct ethos_view line, struct ethos_view slug)
{
    line = without_cr(line);
    return view_starts(line, VIEW("### ")) && view_eq(view_from(line, 4), slug);
}

bool archive_next(struct ethos_view *rest, struct archive_block *out)
{
    struct ethos_view at = *rest, line, next;
    struct archive_block block, other;

    if (!find_marker(&at, &block))
        return false;
    block.whole = at;
    view_line(&at, &line);
    next = at;
    find_marker(&next, &other);
    block.whole.size -= next.size;
    block.body = view_of(at.data, at.size - next.size);
    at = block.body;
    if (!block.overflow && view_line(&at, &line) && is_heading(line, block.slug))
        block.body = at;
    *rest = next;
    *out = block;
    return true;
}

/* Block times are ISO, so that bytes compare as times do. */
static bool is_older(struct ethos_view a, struct ethos_view b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;

    return order < 0 || (order == 0 && a.size < b.size);
}

static bool find_newest_block(struct ethos_view archive, const char *slug,
                              struct archive_block *out)
{
    struct archive_block block;

    *out = (struct archive_block){0};
    while (archive_next(&archive, &block)) {
        if (!block.overflow && view_eq_str(block.slug, slug) && !is_older(block.iso, out->iso))
            *out = block;
    }
    return out->whole.data != NULL;
}

/* The body without the note that says why it was archived. */
static struct ethos_view without_note(struct ethos_view body)
{
    struct ethos_view rest = body, line;

    if (!view_starts(body, VIEW("> Superseded by")) && !view_starts(body, VIEW("> Retracted")))
        return body;
    view_line(&rest, &line);
    body = rest;
    return view_line(&rest, &line) && view_blank(line) ? rest : body;
}

int archive_restore(struct ethos_view archive, const char *slug, struct str *out_rest,
                    struct str *out_body)
{
    struct archive_block block;

    if (!find_newest_block(archive, slug, &block))
        return ETHOS_NOTFOUND;
    size_t before = (size_t)(block.whole.data - archive.data);

    str_clear(out_rest);
    str_clear(out_body);
    str_add(out_rest, view_of(archive.data, before));
    str_add(out_rest, view_from(archive, before + block.whole.size));
    str_add(out_body, without_note(block.body));
    return str_code(out_rest) ? str_code(out_rest) : str_code(out_body);
}
