/*
 * toml.c: just enough of TOML to add a table to somebody else's file and to take it out again.
 */
#include "core/agents/toml.h"

#include "base/json.h"
#include "base/str.h"
#include "base/view.h"

/* ---- statements ---------------------------------------------------------------------------- */

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* Past the string that begins at `at`; SIZE_MAX when it does not end. */
static size_t skip_string(struct ethos_view text, size_t at)
{
    char quote = text.data[at];
    const struct ethos_view three = quote == '"' ? VIEW("\"\"\"") : VIEW("'''");
    bool block = view_starts(view_from(text, at), three);
    for (at += block ? 3 : 1; at < text.size; at++) {
        char c = text.data[at];
        if (block && c == quote && view_starts(view_from(text, at), three)) {
            at += 3; // up to two quotes may stand before the three
            while (at < text.size && text.data[at] == quote)
                at++;
            return at;
        }
        if (!block && c == quote)
            return at + 1;
        if (!block && c == '\n')
            return SIZE_MAX;
        at += quote == '"' && c == '\\';
    }
    return SIZE_MAX;
}

static size_t skip_line(struct ethos_view text, size_t at)
{
    const char *lf = memchr(text.data + at, '\n', text.size - at);
    return lf ? (size_t)(lf - text.data) : text.size;
}

/*
 * To the newline outside of strings and brackets, or the end; SIZE_MAX when something is open
 * there.
 */
static size_t skip_value(struct ethos_view text, size_t at)
{
    long depth = 0;
    while (at < text.size && (text.data[at] != '\n' || depth > 0)) {
        char c = text.data[at];
        if (is_quote(c)) {
            at = skip_string(text, at);
        } else if (c == '#') {
            at = skip_line(text, at);
        } else {
            depth += (c == '[' || c == '{') - (c == ']' || c == '}');
            at++;
        }
        if (at == SIZE_MAX)
            return at;
    }
    return depth > 0 ? SIZE_MAX : at;
}

/* To the byte `stop` outside of strings, or the end of the line. */
static size_t skip_key(struct ethos_view text, size_t at, char stop)
{
    while (at < text.size && text.data[at] != stop && text.data[at] != '\n') {
        size_t next = is_quote(text.data[at]) ? skip_string(text, at) : at + 1;
        if (next == SIZE_MAX)
            return skip_line(text, at);
        at = next;
    }
    return at;
}

int toml_next(struct ethos_view text, size_t *offset, struct toml_statement *out)
{
    size_t at = text.size - view_unmarked(text).size;
    for (at = *offset > at ? *offset : at; at < text.size; at++) {
        if (text.data[at] == '#')
            at = skip_line(text, at);
        if (at == text.size || !memchr(" \t\r\n", text.data[at], 4))
            break;
    }
    if (at == text.size)
        return 0;
    size_t from = at;
    out->table = text.data[at] == '[';
    while (out->table && at < text.size && text.data[at] == '[')
        at++;
    size_t to = skip_key(text, at, out->table ? ']' : '=');
    out->key = view_of(text.data + at, to - at);
    at = out->table ? skip_line(text, to) : skip_value(text, to);
    if (at == SIZE_MAX)
        return -1;
    *offset = at + (at < text.size);
    out->whole = view_of(text.data + from, *offset - from);
    return 1;
}

bool toml_part(struct ethos_view *key, struct ethos_view *out)
{
    struct ethos_view rest = view_trim(*key);
    if (rest.size == 0)
        return false;
    size_t to = skip_key(rest, 0, '.');
    *out = view_trim(view_of(rest.data, to));
    if (out->size >= 2 && is_quote(out->data[0]) && out->data[out->size - 1] == out->data[0])
        *out = view_of(out->data + 1, out->size - 2);
    *key = view_from(rest, to + (to < rest.size));
    return true;
}

/* ---- values -------------------------------------------------------------------------------- */

/* To the byte `stop` outside of strings and brackets, or the end. */
static size_t skip_to(struct ethos_view text, size_t at, char stop)
{
    long depth = 0;
    while (at < text.size && (text.data[at] != stop || depth > 0)) {
        char c = text.data[at];
        size_t next = is_quote(c) ? skip_string(text, at) : at + 1;
        if (next == SIZE_MAX)
            return text.size;
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
        at = next;
    }
    return at;
}

struct ethos_view toml_value(const struct toml_statement *row)
{
    size_t from = (size_t)(row->key.data + row->key.size - row->whole.data);
    struct ethos_view rest = view_from(row->whole, from + (from < row->whole.size));
    return view_trim(view_of(rest.data, skip_to(rest, 0, '#')));
}

bool toml_member(struct ethos_view *members, struct ethos_view *out_key,
                 struct ethos_view *out_value)
{
    struct ethos_view rest = view_trim(*members);
    size_t to = skip_to(rest, 0, ','), key = skip_key(rest, 0, '=');
    *members = view_from(rest, to + (to < rest.size));
    if (key >= to)
        return false;
    *out_key = view_trim(view_of(rest.data, key));
    *out_value = view_trim(view_of(rest.data + key + 1, to - key - 1));
    return true;
}

/* As in JSON, but that lets DEL pass. */
int toml_quote(struct ethos_view v, struct str *out)
{
    size_t from = out->size;
    json_quote(v, out);
    struct ethos_view quoted = view_from(str_view(out), from);
    if (!memchr(quoted.data, 0x7f, quoted.size))
        return str_code(out);
    struct str escaped;
    str_init(&escaped, out->ceiling);
    for (size_t i = 0; i < quoted.size; i++)
        if (quoted.data[i] == 0x7f)
            str_adds(&escaped, "\\u007F");
        else
            str_addc(&escaped, quoted.data[i]);
    str_truncate(out, from);
    str_add(out, str_view(&escaped));
    if (str_code(&escaped) != ETHOS_OK)
        str_fail(out, str_code(&escaped));
    str_release(&escaped);
    return str_code(out);
}

/* ---- a table ------------------------------------------------------------------------------- */

/* How many parts of a key are those of parent.name, up to the first that is not. */
static int match(struct ethos_view key, const char *parent, const char *name, bool *out_longer)
{
    struct ethos_view first, second;
    *out_longer = false;
    if (!toml_part(&key, &first) || !view_eq_str(first, parent))
        return 0;
    *out_longer = toml_part(&key, &second);
    return *out_longer && view_eq_str(second, name) ? 2 : 1;
}

enum toml_room toml_room(struct ethos_view text, const char *parent, const char *name)
{
    struct toml_statement row;
    size_t offset = 0;
    bool longer, root = true, inside = false; // in no table yet; in [parent]
    int more;
    while ((more = toml_next(text, &offset, &row)) > 0) {
        struct ethos_view key = row.key, first;
        int parts = match(row.key, parent, name, &longer);
        if (inside && !row.table && toml_part(&key, &first) && view_eq_str(first, name))
            return TOML_TAKEN;
        if (parts == 2 && (row.table || root))
            return TOML_TAKEN;
        if (parts == 1 && !longer && (row.table ? view_starts(row.whole, VIEW("[[")) : root))
            return TOML_SHUT;
        if (row.table)
            inside = parts == 1 && !longer;
        root = root && !row.table;
    }
    return more < 0 ? TOML_SHUT : TOML_FREE;
}

/*
 * What stands before the next thing that stays; one empty line is enough where something was left
 * out.
 */
static void copy_piece(struct ethos_view piece, bool cut, struct str *out)
{
    struct ethos_view text = str_view(out), line, rest = piece;
    bool gap = text.size == 0 || view_ends(text, VIEW("\n\n")) || view_ends(text, VIEW("\n\r\n"));
    while (cut && gap && view_line(&rest, &line) && view_blank(line))
        piece = rest;
    str_add(out, piece);
}

int toml_without(struct ethos_view text, const char *parent, const char *name, struct str *out)
{
    struct toml_statement row;
    size_t offset = 0, kept = 0;
    bool ours = false, cut = false, longer;
    while (toml_next(text, &offset, &row) > 0) {
        if (row.table)
            ours = match(row.key, parent, name, &longer) == 2;
        if (ours) {
            size_t from = (size_t)(row.whole.data - text.data);
            copy_piece(view_of(text.data + kept, from - kept), cut, out);
            kept = from + row.whole.size;
            cut = true;
        }
    }
    copy_piece(view_of(text.data + kept, text.size - kept), cut, out);
    return str_code(out);
}
