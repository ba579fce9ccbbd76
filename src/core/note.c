/*
 * note.c: reading a note as borrowed slices.
 *
 * Not a YAML parser: frontmatter is read line by line, `name: value` at the top level and one level
 * below `metadata:`. The first of two equal names counts. A value that continues on further lines
 * (a block scalar, a nested mapping) is no member we know, so it reads as missing.
 */
#include "core/note.h"

#include <string.h>

#include "base/view.h"

static const struct member {
    const char *name;
    size_t offset; /* in struct note */
} members[] = {
    {"name", offsetof(struct note, name)},
    {"description", offsetof(struct note, description)},
    {"type", offsetof(struct note, type)},
    {"title", offsetof(struct note, title)},
    {"created", offsetof(struct note, created)},
    {"verified", offsetof(struct note, verified)},
    {"source", offsetof(struct note, source)},
    {"expires", offsetof(struct note, expires)},
    {"supersedes", offsetof(struct note, supersedes)},
    {"check", offsetof(struct note, check)},
};

static struct ethos_view *find_member(struct note *note, struct ethos_view name)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (view_eq_str(name, members[i].name))
            return (struct ethos_view *)((char *)note + members[i].offset);
    }
    return NULL;
}

/* Splits "name: value", both trimmed. */
static bool split_pair(struct ethos_view line, struct ethos_view *name, struct ethos_view *value)
{
    const char *colon = memchr(line.data, ':', line.size);

    if (!colon)
        return false;
    *name = view_trim_end(view_of(line.data, (size_t)(colon - line.data)));
    struct ethos_view rest = view_from(line, (size_t)(colon - line.data) + 1);
    *value = view_trim(rest);
    return value->size == 0 || value->data > rest.data;
}

/* Takes off quotes that hold neither quotes nor escapes. */
static struct ethos_view unquote(struct ethos_view v)
{
    if (v.size < 2 || (v.data[0] != '"' && v.data[0] != '\'') || v.data[v.size - 1] != v.data[0])
        return v;
    struct ethos_view inner = view_of(v.data + 1, v.size - 2);
    bool plain = !memchr(inner.data, v.data[0], inner.size) &&
                 (v.data[0] == '\'' || !memchr(inner.data, '\\', inner.size));
    return plain ? inner : v;
}

static bool is_block_scalar(struct ethos_view value)
{
    return value.size > 0 && (value.data[0] == '|' || value.data[0] == '>');
}

static size_t indent_of(struct ethos_view line)
{
    size_t n = 0;

    while (n < line.size && (line.data[n] == ' ' || line.data[n] == '\t'))
        n++;
    return n;
}

static void read_members(struct note *note)
{
    struct ethos_view rest = note->frontmatter, line, name, value;
    bool in_metadata = false;
    size_t inner = 0; /* indent of what is directly below metadata, once known */

    while (view_line(&rest, &line)) {
        size_t indent = indent_of(line);

        if (view_blank(line) || !split_pair(view_from(line, indent), &name, &value))
            continue;
        if (indent == 0)
            in_metadata = view_eq(name, VIEW("metadata")) && value.size == 0;
        if (in_metadata && inner == 0)
            inner = indent;
        if (indent > 0 && (!in_metadata || indent != inner))
            continue;
        struct ethos_view *member = find_member(note, name);
        if (member && !member->data && !is_block_scalar(value))
            *member = unquote(value);
    }
}

static bool is_fence(struct ethos_view line)
{
    return view_eq(view_trim_end(line), VIEW("---"));
}

void note_parse(struct ethos_view text, struct note *out)
{
    struct ethos_view rest = text, line;

    *out = (struct note){.body = text};
    if (!view_line(&rest, &line) || !is_fence(line))
        return;
    struct ethos_view inside = rest;
    do {
        out->frontmatter = view_of(inside.data, inside.size - rest.size);
        if (!view_line(&rest, &line)) {
            out->frontmatter = (struct ethos_view){0};
            return;
        }
    } while (!is_fence(line));
    out->has_frontmatter = true;
    out->body = rest;
    if (view_line(&rest, &line) && view_blank(line))
        out->body = rest;
    read_members(out);
}
