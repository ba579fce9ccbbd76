/*
 * export_formats.c: writes notes in the form of jutul-agent, and a marked block in a file of another program.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/formats/managed_block.h"
#include "core/formats/memory_formats_internal.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

/* ---- jutul-agent ---------------------------------------------------------------------------- */

static bool is_member(struct ethos_view line, const char *name)
{
    struct ethos_view start = view_str(name);
    return view_starts(line, start) && line.size > start.size && line.data[start.size] == ':';
}

/*
 * Converts one line of the frontmatter: members of metadata move to the top level, and the title becomes the description.
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
        return str_add(out, text); // already in jutul's form, or without frontmatter
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

/*
 * The title is between backticks, so it cannot contain one, and it cannot be the placeholder of the template, since there
 * is no escape. A line with such a title is copied unchanged.
 */
static int add_jutul_line(const struct index_entry *entry, struct str *out)
{
    struct index_entry told;
    size_t line = out->size, start = line + strlen("- `");
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
    str_adds(out, cr ? "`)\r" : "`)");
    if (str_code(out) != ETHOS_OK || index_line(view_from(str_view(out), line), &told))
        return str_code(out);
    str_truncate(out, line);
    return str_add(out, entry->line);
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

int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out)
{
    static const struct block_marks marks = {FOREIGN_BEGIN, FOREIGN_END, true};
    return block_put(text, &marks, block, out);
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
