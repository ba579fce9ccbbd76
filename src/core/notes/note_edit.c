/*
 * note_edit.c: notes written, and changed in one place with every other byte kept.
 */
#include <string.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "base/yaml.h"
#include "core/notes/note.h"
#include "core/notes/note_internal.h"

#define INDENT 2

static const char fence[] = "---";

/* ---- members --------------------------------------------------------------------------------- */

static bool is_date(struct ethos_view v)
{
    static const char shape[] = "dddd-dd-dd";
    bool fits = v.size == sizeof(shape) - 1;

    for (size_t i = 0; fits && i < v.size; i++)
        fits = shape[i] == 'd' ? v.data[i] >= '0' && v.data[i] <= '9' : v.data[i] == shape[i];
    return fits;
}

/* Dates are dates in the members that are about one; all else is a string, whatever it looks like. */
static bool is_about_a_date(const char *member)
{
    return strcmp(member, "created") == 0 || strcmp(member, "verified") == 0 ||
           strcmp(member, "expires") == 0;
}

static int add_member_value(const char *member, struct ethos_view value, struct str *out)
{
    struct str line;

    str_init(&line, SIZE_MAX);
    if (line_collapse(value, &line))
        str_fail(out, str_code(&line));
    else if (is_about_a_date(member) && is_date(str_view(&line)))
        str_add(out, str_view(&line));
    else
        yaml_quote_string(str_view(&line), out);
    str_release(&line);
    return str_code(out);
}

static void add_member(size_t indent, const char *member, struct ethos_view value,
                       struct ethos_view end, struct str *out)
{
    for (size_t i = 0; i < indent; i++)
        str_addc(out, ' ');
    str_adds(out, member);
    str_adds(out, ": ");
    add_member_value(member, value, out);
    str_add(out, end);
}

static bool is_top_level(const char *member)
{
    return strcmp(member, "name") == 0 || strcmp(member, "description") == 0;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Appends a trimmed text and a line end; where lines end in CR LF, so do those of the text. */
static void add_body(struct ethos_view body, struct ethos_view end, struct str *out)
{
    struct ethos_view line, rest = view_trim(body);

    if (end.size == 1) {
        str_add(out, rest);
        str_add(out, end);
        return;
    }
    while (view_line(&rest, &line)) {
        line.size -= view_ends(line, VIEW("\r"));
        str_add(out, line);
        str_add(out, end);
    }
}

/* A text that had no frontmatter must not have got one by its new body. */
static int shield(const struct note *before, struct str *out)
{
    static const char empty[] = "---\n---\n\n";
    const size_t size = out->size, more = sizeof(empty) - 1;
    struct note after;

    note_parse(str_view(out), &after);
    if (before->has_frontmatter || !after.has_frontmatter || str_reserve(out, more))
        return str_code(out);
    str_adds(out, empty);
    memmove(out->data + more, out->data, size);
    memcpy(out->data, empty, more);
    return str_code(out);
}

static struct ethos_view first_newline(struct ethos_view text)
{
    const char *lf = text.size > 0 ? memchr(text.data, '\n', text.size) : NULL;

    return line_end(text, lf ? (size_t)(lf - text.data) + 1 : 0);
}

int note_rebody(struct ethos_view text, struct ethos_view body, struct str *out)
{
    struct ethos_view end = first_newline(text);
    struct note note;

    note_parse(text, &note);
    str_clear(out);
    str_add(out, note.head);
    if (note.head.size > 0 && !view_ends(note.head, VIEW("\n")))
        str_add(out, end);
    if (view_blank(body))
        return str_code(out);
    if (note.head.size > 0)
        str_add(out, end);
    add_body(body, end, out);
    return shield(&note, out);
}

int note_append(struct ethos_view text, struct ethos_view more, struct str *out)
{
    struct ethos_view end = first_newline(text);
    struct note note;

    note_parse(text, &note);
    str_clear(out);
    if (view_blank(more))
        return str_add(out, text);
    if (text.size > 0) {
        str_add(out, view_trim_end(text));
        str_add(out, end);
        str_add(out, end);
    }
    add_body(more, end, out);
    return shield(&note, out);
}

/* ---- writing --------------------------------------------------------------------------------- */

int note_write(const struct note_head *head, struct ethos_view body, struct str *out)
{
    const bool given_back = note_name_gives(head->name, head->title);
    const struct {
        const char *name;
        struct ethos_view value;
    } members[] = {{"name", head->name},
                   {"description", head->description},
                   {"type", head->type},
                   {"created", head->created},
                   {"verified", head->verified},
                   {"source", head->source},
                   {"title", given_back ? (struct ethos_view){0} : head->title}};
    const struct ethos_view lf = VIEW("\n");
    bool below = false;

    str_adds(out, "---\n");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        bool top = is_top_level(members[i].name);
        if (!members[i].value.data)
            continue;
        if (!top && !below)
            str_adds(out, "metadata:\n");
        below = below || !top;
        add_member(top ? 0 : INDENT, members[i].name, members[i].value, lf, out);
    }
    str_adds(out, "---\n");
    if (view_blank(body))
        return str_code(out);
    str_add(out, lf);
    add_body(body, lf, out);
    return str_code(out);
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Where a new member goes. */
struct insert_position {
    size_t at; /* in the text */
    size_t indent;
    bool metadata; /* that line must be made, too */
};

static size_t offset_of(struct ethos_view text, const char *place)
{
    return (size_t)(place - text.data);
}

/* The field that reads as this member. *out_other: there are such that cannot be read. */
static bool find_field(const struct note *note, const char *member, struct note_field *out,
                       bool *out_other)
{
    struct note_fields fields = {.rest = note->frontmatter};

    *out_other = false;
    while (note_next_field(&fields, out)) {
        if (!view_eq_str(out->name, member))
            continue;
        if (out->readable)
            return true;
        *out_other = true;
    }
    return false;
}

/* Whether a comment follows that would be read as part of a plain value: that ends before " # ". */
static bool needs_quotes(struct ethos_view rest)
{
    struct ethos_view line = {0};

    view_line(&rest, &line);
    struct ethos_view comment = view_trim_start(line);
    return view_starts(comment, VIEW("#")) &&
           (!view_starts(view_trim_end(comment), VIEW("# ")) || comment.data[-1] != ' ');
}

/* Puts what was added since `start`, unless it is quoted, between single quotes. */
static void add_quotes(size_t start, struct str *out)
{
    struct str plain;

    if (str_code(out) || (out->size > start && strchr("\"'", out->data[start])))
        return;
    str_init(&plain, SIZE_MAX);
    str_add(&plain, view_from(str_view(out), start));
    str_truncate(out, start);
    str_addc(out, '\'');
    for (size_t i = 0; i < plain.size; i++) {
        str_addc(out, plain.data[i]);
        if (plain.data[i] == '\'')
            str_addc(out, '\'');
    }
    str_addc(out, '\'');
    if (str_code(&plain))
        str_fail(out, str_code(&plain));
    str_release(&plain);
}

static int replace_value(struct ethos_view text, const struct note_field *field, const char *member,
                         struct ethos_view value, struct str *out)
{
    size_t at = offset_of(text, field->value.data);
    struct ethos_view rest = view_from(text, at + field->value.size);

    str_add(out, view_of(text.data, at));
    if (field->value.size == 0)
        str_addc(out, ' ');
    size_t start = out->size;
    add_member_value(member, value, out);
    if (needs_quotes(rest))
        add_quotes(start, out);
    return str_add(out, rest);
}

/* Every line that reads as this member goes. */
static int drop_fields(struct ethos_view text, const struct note *note, const char *member,
                       struct str *out)
{
    struct note_fields fields = {.rest = note->frontmatter};
    struct note_field field;
    size_t kept = 0;

    while (note_next_field(&fields, &field)) {
        if (!field.readable || !view_eq_str(field.name, member))
            continue;
        str_add(out, view_of(text.data + kept, offset_of(text, field.line.data) - kept));
        kept = offset_of(text, field.line.data) + field.line.size;
    }
    return str_add(out, view_from(text, kept));
}

/* Behind the name for a description, else first. */
static void top_spot(struct ethos_view text, const struct note *note, const char *member,
                     struct insert_position *out)
{
    struct note_field name;
    bool other;

    out->at = offset_of(text, note->frontmatter.data);
    if (strcmp(member, "description") == 0 && find_field(note, "name", &name, &other) &&
        name.indent == 0)
        out->at = offset_of(text, name.line.data) + name.line.size;
}

/* Behind the last line that belongs to the block whose lines rest begins with. */
static const char *block_end(struct ethos_view rest)
{
    const char *end = rest.data;
    struct ethos_view line;

    while (note_next_line(&rest, &line) && note_indent(line) > 0)
        end = rest.data;
    return end;
}

/* Whether members can be added to a metadata whose lines rest begins with. */
static bool is_mapping(const struct note_field *metadata, struct ethos_view rest)
{
    struct ethos_view line;

    if (metadata->value.size > 0)
        return false;
    if (!note_next_line(&rest, &line))
        return true;
    return !note_list_item(line) && (note_indent(line) == 0 || memchr(line.data, ':', line.size));
}

/* Last below metadata, which is made at the end of the head when missing. */
static bool metadata_spot(struct ethos_view text, const struct note *note,
                          struct insert_position *out)
{
    struct note_fields fields = {.rest = note->frontmatter};
    struct note_field metadata, first;

    *out = (struct insert_position){.at = offset_of(text, note->frontmatter.data) +
                                          note->frontmatter.size,
                                    .indent = INDENT,
                                    .metadata = true};
    while (note_next_field(&fields, &metadata)) {
        if (metadata.indent > 0 || !view_eq_str(metadata.name, "metadata"))
            continue;
        struct ethos_view block = fields.rest;
        bool any = note_next_field(&fields, &first) && first.indent > 0;
        *out = (struct insert_position){.at = offset_of(text, block_end(block)),
                                        .indent = any ? first.indent : INDENT};
        return is_mapping(&metadata, block);
    }
    return true;
}

/* False when no line can be added to this head without another meaning. */
static bool find_spot(struct ethos_view text, const struct note *note, const char *member,
                      struct insert_position *out)
{
    struct ethos_view rest = note->frontmatter, line;

    *out = (struct insert_position){0};
    if (note_next_line(&rest, &line) && (note_indent(line) > 0 || note_list_item(line)))
        return false;
    if (!is_top_level(member))
        return metadata_spot(text, note, out);
    top_spot(text, note, member, out);
    return true;
}

static void add_member_lines(const struct insert_position *spot, const char *member,
                             struct ethos_view value, struct ethos_view end, struct str *out)
{
    if (spot->metadata) {
        str_adds(out, "metadata:");
        str_add(out, end);
    }
    add_member(spot->indent, member, value, end, out);
}

/* A head before a text that has none. */
static int add_head(struct ethos_view text, const char *member, struct ethos_view value,
                    struct str *out)
{
    const struct insert_position spot = {.indent = is_top_level(member) ? 0 : INDENT,
                                         .metadata = !is_top_level(member)};
    struct ethos_view end = first_newline(text);
    size_t start = view_starts(text, NOTE_BOM) ? NOTE_BOM.size : 0;

    str_add(out, view_of(text.data, start));
    str_adds(out, fence);
    str_add(out, end);
    add_member_lines(&spot, member, value, end, out);
    str_adds(out, fence);
    str_add(out, end);
    if (text.size > start)
        str_add(out, end);
    return str_add(out, view_from(text, start));
}

int note_set(struct ethos_view text, const char *member, struct ethos_view value, struct str *out)
{
    struct note note;
    struct note_field field;
    struct insert_position spot;
    bool other;

    note_parse(text, &note);
    str_clear(out);
    if (!note.has_frontmatter)
        return value.data ? add_head(text, member, value, out) : str_add(out, text);
    bool found = find_field(&note, member, &field, &other);
    if (found)
        return value.data ? replace_value(text, &field, member, value, out)
                          : drop_fields(text, &note, member, out);
    if (other || (value.data && !find_spot(text, &note, member, &spot)))
        return str_add(out, text) ? str_code(out) : ETHOS_UNSUPPORTED;
    if (!value.data)
        return str_add(out, text);
    str_add(out, view_of(text.data, spot.at));
    add_member_lines(&spot, member, value, first_newline(text), out);
    return str_add(out, view_from(text, spot.at));
}
