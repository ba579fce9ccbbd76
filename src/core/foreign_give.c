/*
 * foreign_give.c: our memory as others read it: jutul-agent's form, and a marked block in a file
 * that belongs to somebody else.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/foreign.h"
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

/* Where a text has a block: offsets of its first byte and of the byte after its last line. */
struct marks {
    size_t begins, ends; /* how many */
    size_t from, to;
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
            out->ordered = out->ordered && out->ends == 0;
        } else if (view_eq(word, VIEW(FOREIGN_END))) {
            out->ends++;
            out->to = text.size - rest.size;
        }
    }
}

static void add_block(struct ethos_view block, struct str *out)
{
    str_adds(out, FOREIGN_BEGIN "\n");
    str_add(out, view_trim(block));
    str_adds(out, view_blank(block) ? FOREIGN_END "\n" : "\n" FOREIGN_END "\n");
}

int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out)
{
    struct marks here, inside;
    if (!text.data)
        text = VIEW("");
    find_marks(text, &here);
    find_marks(block, &inside);
    str_clear(out);
    if (here.begins > 1 || here.begins != here.ends || !here.ordered ||
        inside.begins + inside.ends > 0)
        return ETHOS_INVALID;
    if (here.begins == 0)
        here.from = here.to = text.size;
    str_add(out, view_of(text.data, here.from));
    if (block.data && here.begins == 0 && text.size > 0)
        str_adds(out, text.data[text.size - 1] == '\n' ? "\n" : "\n\n");
    if (block.data)
        add_block(block, out);
    return str_add(out, view_from(text, here.to));
}

int foreign_disarm(struct ethos_view text, struct str *out)
{
    struct ethos_view rest = text, line;
    while (view_line(&rest, &line)) {
        struct ethos_view word = view_trim(line);
        if (view_eq(word, VIEW(FOREIGN_BEGIN)) || view_eq(word, VIEW(FOREIGN_END))) {
            str_adds(out, "&lt;");
            line = view_from(word, 1);
        }
        str_add(out, line);
        str_addc(out, '\n');
    }
    return str_code(out);
}
