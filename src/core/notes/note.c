/*
 * note.c: reading a note as borrowed slices.
 *
 * Not a YAML parser: frontmatter is read line by line, `name: value` at the top level and one level
 * below `metadata:`. The first of two equal names counts. A value that continues on further lines
 * (a block scalar, a nested mapping) is no member we know, so it reads as missing. A comment behind
 * a plain value needs blanks on both sides of its sign: people write "issue #12".
 */
#include "core/notes/note.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/notes/note_internal.h"

static const struct note_member {
    struct ethos_view name;
    size_t offset; /* in struct note */
} members[] = {
    {VIEW("name"), offsetof(struct note, name)},
    {VIEW("description"), offsetof(struct note, description)},
    {VIEW("type"), offsetof(struct note, type)},
    {VIEW("title"), offsetof(struct note, title)},
    {VIEW("created"), offsetof(struct note, created)},
    {VIEW("verified"), offsetof(struct note, verified)},
    {VIEW("source"), offsetof(struct note, source)},
    {VIEW("expires"), offsetof(struct note, expires)},
    {VIEW("supersedes"), offsetof(struct note, supersedes)},
    {VIEW("check"), offsetof(struct note, check)},
    {VIEW("hook"), offsetof(struct note, hook)},
};

static struct ethos_view *find_member(struct note *note, struct ethos_view name)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (view_eq(name, members[i].name))
            return (struct ethos_view *)((char *)note + members[i].offset);
    }
    return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Bytes of the quoted text that v begins with, quotes included; 0 when it does not or is open. */
static size_t quoted_size(struct ethos_view v)
{
    char quote = v.size > 0 ? v.data[0] : 0;

    if (quote != '"' && quote != '\'')
        return 0;
    for (size_t at = 1; at < v.size; at++) {
        bool doubled = quote == '\'' && at + 1 < v.size && v.data[at + 1] == quote;

        if (quote == '"' && v.data[at] == '\\')
            at++;
        else if (v.data[at] == quote && doubled)
            at++;
        else if (v.data[at] == quote)
            return at + 1;
    }
    return 0;
}

/* Takes off quotes that hold nothing to resolve and would not seem to be another pair. */
static struct ethos_view unquote(struct ethos_view v)
{
    if (v.size < 2 || quoted_size(v) != v.size)
        return v;
    struct ethos_view inner = view_of(v.data + 1, v.size - 2);
    bool plain = !memchr(inner.data, v.data[0] == '"' ? '\\' : '\'', inner.size) &&
                 !view_starts(inner, VIEW("\"")) && !view_starts(inner, VIEW("'"));
    return plain ? inner : v;
}

/* The value in what follows a colon: trimmed, quotes included, without a comment. */
static struct ethos_view field_value(struct ethos_view rest)
{
    struct ethos_view v = view_trim(rest);

    if (v.size == 0 || v.data[0] == '#')
        return view_of(rest.data, 0);
    size_t quoted = quoted_size(v);
    struct ethos_view behind = view_from(v, quoted);
    if (quoted > 0) {
        struct ethos_view next = view_trim_start(behind);
        bool comment = next.size < behind.size && next.data[0] == '#';
        return comment ? view_of(v.data, quoted) : v;
    }
    const char *comment = memchr(v.data, '#', v.size) ? memmem(v.data, v.size, " # ", 3) : NULL;
    return comment ? view_trim_end(view_of(v.data, (size_t)(comment - v.data))) : v;
}

/* Splits "name: value". */
static bool split_pair(struct ethos_view line, struct ethos_view *name, struct ethos_view *value)
{
    const char *colon = memchr(line.data, ':', line.size);

    if (!colon)
        return false;
    *name = unquote(view_trim_end(view_of(line.data, (size_t)(colon - line.data))));
    struct ethos_view rest = view_from(line, (size_t)(colon - line.data) + 1);
    *value = field_value(rest);
    return rest.size == 0 || view_trim_start(rest).size < rest.size;
}

static void add_single(struct ethos_view inner, struct str *out)
{
    for (size_t at = 0; at < inner.size; at++) {
        str_addc(out, inner.data[at]);
        at += inner.data[at] == '\''; // its twin
    }
}

static int escape_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character that so many hex digits at the start of v name; false when they do not. */
static bool read_hex(struct ethos_view v, size_t digits, uint32_t *out_cp)
{
    uint32_t cp = 0;

    if (v.size < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int digit = escape_digit(v.data[i]);
        if (digit < 0)
            return false;
        cp = cp << 4 | (uint32_t)digit;
    }
    *out_cp = cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000) ? UTF8_REPLACEMENT : cp;
    return true;
}

/* Resolves the escape whose letter v begins with; the bytes it takes, 0 for one that is none. */
static size_t add_escape(struct ethos_view v, struct str *out)
{
    static const char letters[] = "0abt\tnvfre \"/\\N_LP";
    static const uint16_t meant[] = {0,    0x7, 0x8, 0x9, 0x9,  0xA,  0xB,  0xC,    0xD,
                                     0x1B, ' ', '"', '/', '\\', 0x85, 0xA0, 0x2028, 0x2029};
    const char *letter = memchr(letters, v.data[0], sizeof(letters) - 1);
    size_t digits = v.data[0] == 'x' ? 2 : v.data[0] == 'u' ? 4 : v.data[0] == 'U' ? 8 : 0;
    uint32_t cp = letter ? meant[letter - letters] : 0;
    char bytes[4];

    if (!letter && (digits == 0 || !read_hex(view_from(v, 1), digits, &cp)))
        return 0;
    str_add(out, view_of(bytes, utf8_put(cp, bytes)));
    return 1 + digits;
}

static void add_double(struct ethos_view inner, struct str *out)
{
    while (inner.size > 0) {
        bool escape = inner.data[0] == '\\' && inner.size > 1;
        size_t taken = escape ? add_escape(view_from(inner, 1), out) : 0;

        if (taken == 0)
            str_addc(out, inner.data[0]);
        inner = view_from(inner, 1 + taken);
    }
}

int note_value(struct ethos_view member, struct str *out)
{
    if (member.size < 2 || quoted_size(member) != member.size)
        return str_add(out, member);
    struct ethos_view inner = view_of(member.data + 1, member.size - 2);
    if (member.data[0] == '\'')
        add_single(inner, out);
    else
        add_double(inner, out);
    return str_code(out);
}

/* ---- fields ---------------------------------------------------------------------------------- */

size_t note_indent(struct ethos_view line)
{
    size_t n = 0;

    while (n < line.size && (line.data[n] == ' ' || line.data[n] == '\t'))
        n++;
    return n;
}

bool note_next_line(struct ethos_view *rest, struct ethos_view *out_line)
{
    while (view_line(rest, out_line)) {
        struct ethos_view text = view_trim_start(*out_line);
        if (text.size > 0 && text.data[0] != '#')
            return true;
    }
    return false;
}

bool note_list_item(struct ethos_view line)
{
    struct ethos_view item = view_from(line, note_indent(line));

    if (!view_starts(item, VIEW("-")))
        return false;
    item = view_from(item, 1);
    return item.size == 0 || view_trim_start(item).size < item.size;
}

static bool is_block_scalar(struct ethos_view value)
{
    return value.size > 0 && (value.data[0] == '|' || value.data[0] == '>');
}

/* Whether the value of a field goes on in the lines behind it. */
static bool is_multiline(const struct note_field *field, struct ethos_view rest)
{
    struct ethos_view line;

    if (rest.size > 0 && rest.data[0] >= 'a' && rest.data[0] <= 'z')
        return false; // mostly: the next field, at the top level
    if (!note_next_line(&rest, &line))
        return false;
    size_t indent = note_indent(line);
    return indent > field->indent ||
           (indent == field->indent && field->value.size == 0 && note_list_item(line));
}

bool note_next_field(struct note_fields *fields, struct note_field *out)
{
    struct ethos_view line;

    while (note_next_line(&fields->rest, &line)) {
        size_t indent = note_indent(line);

        if (!split_pair(view_from(line, indent), &out->name, &out->value))
            continue;
        if (indent == 0) {
            fields->in_metadata = view_eq(out->name, VIEW("metadata")) && out->value.size == 0;
            fields->inner = 0;
        } else if (fields->in_metadata && fields->inner == 0) {
            fields->inner = indent;
        }
        if (indent > 0 && (!fields->in_metadata || indent != fields->inner))
            continue;
        out->line = view_of(line.data, (size_t)(fields->rest.data - line.data));
        out->indent = indent;
        out->readable = !is_block_scalar(out->value) && !is_multiline(out, fields->rest);
        return true;
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_members(struct note *note)
{
    struct note_fields fields = {.rest = note->frontmatter};
    struct note_field field;

    while (note_next_field(&fields, &field)) {
        struct ethos_view *member = find_member(note, field.name);
        if (member && !member->data && field.readable)
            *member = unquote(field.value);
    }
}

static bool is_fence(struct ethos_view line)
{
    return view_starts(line, VIEW("---")) && view_eq(view_trim_end(line), VIEW("---"));
}

void note_parse(struct ethos_view text, struct note *out)
{
    struct ethos_view rest = text, line;

    *out = (struct note){.head = view_of(text.data, 0), .body = text};
    if (view_starts(rest, NOTE_BOM))
        rest = view_from(rest, NOTE_BOM.size);
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
    out->head.size = text.size - rest.size;
    out->body = rest;
    if (view_line(&rest, &line) && view_blank(line))
        out->body = rest;
    read_members(out);
}

/* ---- what it is about ------------------------------------------------------------------------ */

/* A byte of a file name as a title shows it. */
static char title_byte(struct ethos_view name, size_t at)
{
    char c = name.data[at];

    if (c == '-' || c == '_')
        return ' ';
    return at == 0 && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

bool note_name_gives(struct ethos_view name, struct ethos_view title)
{
    size_t at = 0;

    while (at < name.size && at < title.size && title_byte(name, at) == title.data[at])
        at++;
    return at == name.size && at == title.size;
}

int note_title(const struct note *note, const char *key, struct str *out)
{
    struct ethos_view name = view_str(key);

    if (!view_blank(note->title))
        return note_value(note->title, out);
    if (view_ends(name, VIEW(".md")))
        name.size -= 3;
    if (str_add(out, name) == ETHOS_OK)
        for (size_t at = 0; at < name.size; at++)
            out->data[out->size - name.size + at] = title_byte(name, at);
    return str_code(out);
}

/* Appends the lines of a text between blank ones, white space at their ends taken off. */
static void add_framed(struct ethos_view text, struct str *out)
{
    struct ethos_view line;

    text = view_trim(text);
    str_adds(out, "\n\n");
    while (view_line(&text, &line)) {
        str_add(out, view_trim_end(line));
        str_addc(out, '\n');
    }
    str_addc(out, '\n');
}

int note_says(const struct note *note, struct ethos_view text, bool *out_says)
{
    struct str body, lines;

    str_init(&body, SIZE_MAX);
    str_init(&lines, SIZE_MAX);
    add_framed(note->body, &body);
    add_framed(text, &lines);
    int code = str_code(&body) ? str_code(&body) : str_code(&lines);
    *out_says = !code && view_contains(str_view(&body), str_view(&lines));
    str_release(&lines);
    str_release(&body);
    return code;
}

bool note_is_type(struct ethos_view type, const char *kind)
{
    if (view_blank(type) || view_eq(type, VIEW("simulator")))
        type = VIEW("project");
    else if (view_eq(type, VIEW("preference")))
        type = VIEW("feedback");
    return view_eq_str(type, kind);
}
