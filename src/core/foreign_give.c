/*
 * foreign_give.c: our memory as others read it: jutul-agent's form, and a marked block in a file
 * that belongs to somebody else.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/foreign_parts.h"
#include "core/index.h"
#include "core/note.h"

/* ---- jutul-agent ---------------------------------------------------------------------------- */

static bool is_member(struct ethos_view line, const char *name)
{
    struct ethos_view start = view_str(name);
    return view_starts(line, start) && line.size > start.size && line.data[start.size] == ':';
}

/*
 * One line of the head: what stands under metadata moves to the top, the title is the description.
 */
static void add_head_line(struct ethos_view line, struct ethos_view title, bool *inside,
                          struct str *out)
{
    bool indented = line.size > 0 && (line.data[0] == ' ' || line.data[0] == '\t');
    *inside = *inside && (indented || view_blank(line));
    struct ethos_view text = *inside ? view_trim_start(line) : line;
    if (is_member(line, "metadata")) {
        *inside = true;
        return;
    }
    if (*inside && (is_member(text, "title") || text.size == 0))
        return;
    if (!*inside && is_member(line, "description")) {
        str_adds(out, "description: ");
        text = title;
    }
    str_add(out, text);
    str_addc(out, '\n');
}

int foreign_jutul_note(struct ethos_view text, struct ethos_view title, struct str *out)
{
    struct note note;
    struct ethos_view rest, line;
    bool inside = false, nested = false;
    note_parse(text, &note);
    for (rest = note.frontmatter; note.has_frontmatter && view_line(&rest, &line);)
        nested = nested || (is_member(line, "metadata") && view_trim(line).size == 9);
    if (!nested)
        return str_add(out, text); // its own form, or none
    str_add(out, view_of(text.data, (size_t)(note.frontmatter.data - text.data)));
    for (rest = note.frontmatter; view_line(&rest, &line);)
        add_head_line(line, title, &inside, out);
    return str_add(
        out, view_from(text, (size_t)(note.frontmatter.data + note.frontmatter.size - text.data)));
}

static bool is_jutul(const struct index_entry *entry)
{
    return view_contains(entry->line, VIEW("(file: `"));
}

/* The title stands between backticks, which it therefore cannot hold. */
static int add_jutul_line(const struct index_entry *entry, struct str *out)
{
    size_t start = out->size + strlen("- `");
    bool cr = view_ends(entry->line, VIEW("\r"));
    str_adds(out, "- `");
    if (index_title(entry, out) != ETHOS_OK)
        return str_code(out);
    for (size_t i = start; i < out->size; i++)
        out->data[i] = out->data[i] == '`' ? '\'' : out->data[i];
    str_adds(out, "` — ");
    str_add(out, entry->hook);
    str_adds(out, entry->hook.size > 0 ? " (file: `" : "(file: `");
    str_add(out, entry->file);
    return str_adds(out, cr ? "`)\r" : "`)");
}

int foreign_jutul_index(struct ethos_view index, struct str *out)
{
    struct index_entry entry;
    size_t offset = 0, copied = 0;
    while (index_next(index, &offset, &entry)) {
        if (is_jutul(&entry))
            continue;
        str_add(out, view_of(index.data + copied, entry.offset - copied));
        add_jutul_line(&entry, out);
        copied = entry.offset + entry.line.size;
    }
    return str_add(out, view_from(index, copied));
}

/* ---- the marked block ----------------------------------------------------------------------- */

/* Where a text has a block: its lines with the markers, and what stands between those. */
struct marks {
    size_t begins, ends; /* how many */
    size_t from, to, inner_from, inner_to;
    bool ordered;
};

static void find_marks(struct ethos_view text, struct marks *out)
{
    struct ethos_view rest = text, line;
    *out = (struct marks){.ordered = true};
    while (view_line(&rest, &line)) {
        struct ethos_view word = view_trim(line);
        if (view_eq(word, VIEW(FOREIGN_BEGIN))) {
            out->begins++;
            out->from = (size_t)(line.data - text.data);
            out->inner_from = text.size - rest.size;
            out->ordered = out->ordered && out->ends == 0;
        } else if (view_eq(word, VIEW(FOREIGN_END))) {
            out->ends++;
            out->inner_to = (size_t)(line.data - text.data);
            out->to = text.size - rest.size;
        }
    }
    if (out->from == 0 && out->begins > 0)
        out->from = text.size - unmarked(text).size; // the mark belongs to the file
}

static void add_lines(struct ethos_view block, struct str *out)
{
    str_add(out, view_trim(block));
    if (!view_blank(block))
        str_addc(out, '\n');
}

static int append_block(struct ethos_view text, struct ethos_view block, struct str *out)
{
    str_add(out, text);
    if (text.size > 0)
        str_adds(out, text.data[text.size - 1] == '\n' ? "\n" : "\n\n");
    str_adds(out, FOREIGN_BEGIN "\n");
    add_lines(block, out);
    return str_adds(out, FOREIGN_END "\n");
}

static bool holds_mark(struct ethos_view text)
{
    return view_contains(text, VIEW(FOREIGN_BEGIN)) || view_contains(text, VIEW(FOREIGN_END));
}

int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out)
{
    struct marks here;
    if (!text.data)
        text = VIEW("");
    find_marks(text, &here);
    str_clear(out);
    if (here.begins > 1 || here.begins != here.ends || !here.ordered || holds_mark(block))
        return ETHOS_INVALID;
    if (here.begins == 0)
        return block.data ? append_block(text, block, out) : str_add(out, text);
    str_add(out, view_of(text.data, block.data ? here.inner_from : here.from));
    if (block.data)
        add_lines(block, out);
    return str_add(out, view_from(text, block.data ? here.inner_to : here.to));
}

int foreign_disarm(struct ethos_view text, struct str *out)
{
    while (text.size > 0) {
        const char *at = memchr(text.data, '<', text.size);
        size_t plain = at ? (size_t)(at - text.data) : text.size;
        str_add(out, view_of(text.data, plain));
        text = view_from(text, plain);
        bool mark = view_starts(text, VIEW(FOREIGN_BEGIN)) || view_starts(text, VIEW(FOREIGN_END));
        if (text.size == 0)
            break;
        str_adds(out, mark ? "&lt;" : "<");
        text = view_from(text, 1);
    }
    return str_code(out);
}
