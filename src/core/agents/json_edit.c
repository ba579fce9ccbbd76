/*
 * json_edit.c: changing a JSON document that belongs to somebody else, as text.
 *
 * The document is parsed first, so that the walk over its text may trust it: which member a name
 * means is asked of the parsed value, where that member stands is asked of the text. Both have them
 * in the same order.
 *
 * The walk is over a copy in which comments and trailing commas are blanks, so that places in it are
 * places in the text; what is written comes from the text.
 */
#include "core/agents/json_edit.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

/* The text, and the same with blanks for what is no JSON. */
struct document {
    struct ethos_view text, plain;
    struct str blanked; /* plain, where it is not the text */
};

/* ---- the walk ------------------------------------------------------------------------------ */

static size_t skip_space(struct ethos_view text, size_t at)
{
    while (at < text.size && memchr(" \t\r\n", text.data[at], 4))
        at++;
    return at;
}

static size_t skip_string(struct ethos_view text, size_t at)
{
    for (at++; at < text.size && text.data[at] != '"'; at++)
        at += text.data[at] == '\\';
    return at + 1;
}

static size_t skip_value(struct ethos_view text, size_t at)
{
    size_t depth = 0;
    do {
        char c = text.data[at];
        if (c == '"') {
            at = skip_string(text, at);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at++;
        if (depth == 0 && !memchr("{[]}", c, 4)) // a number or a word
            while (at < text.size && !memchr(" \t\r\n,]}", text.data[at], 7))
                at++;
    } while (depth > 0);
    return at;
}

/* A member with its name, or an element. */
struct json_item {
    size_t gap; /* where the white space before it begins */
    size_t from, value, to;
};

/* Steps on from the opening bracket or from the item before; false at the closing bracket. */
static bool next_item(struct ethos_view text, bool object, size_t *at, struct json_item *item)
{
    size_t here = skip_space(text, *at);
    if (text.data[here] == ',' || text.data[here] == '{' || text.data[here] == '[')
        *at = here + 1;
    item->gap = *at;
    item->from = item->value = here = skip_space(text, *at);
    if (memchr("}]", text.data[here], 2)) {
        *at = here;
        return false;
    }
    if (object)
        item->value = skip_space(text, skip_space(text, skip_string(text, here)) + 1);
    item->to = *at = skip_value(text, item->value);
    return true;
}

/* An object or array in both its forms. */
struct node {
    const json_t *json;
    size_t at; /* of its opening bracket */
};

static size_t count_of(const json_t *json)
{
    return json_is_object(json) ? json_object_size(json) : json_array_size(json);
}

/* The number of the child, or SIZE_MAX. */
static size_t child_number(const json_t *json, const char *name, const json_t **out)
{
    size_t number = 0;
    const char *key;
    json_t *value;
    if (json_is_array(json)) {
        char *end;
        unsigned long long index = strtoull(name, &end, 10);
        *out = *name >= '0' && *name <= '9' && !*end ? json_array_get(json, (size_t)index) : NULL;
        return *out ? (size_t)index : SIZE_MAX;
    }
    json_object_foreach ((json_t *)json, key, value) {
        *out = value;
        if (strcmp(key, name) == 0)
            return number;
        number++;
    }
    return SIZE_MAX;
}

/* The item of a number, and the one before it (all 0 when there is none). */
static void find_item(struct ethos_view text, const struct node *node, size_t number,
                      struct json_item *out, struct json_item *before)
{
    size_t at = node->at;
    *before = (struct json_item){0};
    for (size_t i = 0; next_item(text, json_is_object(node->json), &at, out) && i < number; i++)
        *before = *out;
}

/*
 * Goes down as far as the path leads, and returns how many of its names that is. node is then what
 * the next name is missing in; at the end of the path, item is what it leads to and node is around
 * it.
 */
static size_t go_down(struct ethos_view text, const char *const path[], struct node *node,
                      struct json_item *item, struct json_item *before)
{
    const json_t *child;
    for (size_t depth = 0;; *node = (struct node){child, item->value}) {
        size_t number = child_number(node->json, path[depth], &child);
        if (number == SIZE_MAX)
            return depth;
        find_item(text, node, number, item, before);
        if (!path[++depth])
            return depth;
    }
}

/* ---- how the document is written ------------------------------------------------------------ */

struct style {
    const char *newline;
    struct ethos_view unit; /* one step of indentation */
    const char *space;      /* after a colon, and after a comma within a line */
    bool lines;             /* members stand on lines of their own */
};

static bool has_newline(struct ethos_view v)
{
    return memchr(v.data, '\n', v.size) != NULL;
}

/* What stands before the first thing on the line that ends at `to`. */
static struct ethos_view indent_of(struct ethos_view text, size_t to)
{
    size_t from = to;
    while (from > 0 && text.data[from - 1] != '\n')
        from--;
    to = from;
    while (to < text.size && (text.data[to] == ' ' || text.data[to] == '\t'))
        to++;
    return view_of(text.data + from, to - from);
}

static struct style style_of(const struct document *document, const struct node *root)
{
    struct style style = {"\n", VIEW("  "), " ", true};
    struct ethos_view text = document->text;
    struct json_item first;
    size_t at = root->at;
    const char *lf = memchr(text.data, '\n', text.size);
    if (lf && lf > text.data && lf[-1] == '\r')
        style.newline = "\r\n";
    if (!next_item(document->plain, json_is_object(root->json), &at, &first))
        return style;
    style.lines = has_newline(view_of(text.data + first.gap, first.from - first.gap));
    struct ethos_view indent = indent_of(text, first.from);
    if (style.lines && indent.size > 0)
        style.unit = indent;
    if (first.value > first.from && text.data[first.value - 1] == ':')
        style.space = "";
    return style;
}

static bool is_flat(const json_t *value)
{
    size_t index;
    json_t *child;
    json_array_foreach ((json_t *)value, index, child)
        if (json_is_array(child) || json_is_object(child))
            return false;
    return !json_is_object(value);
}

static void write_break(const struct style *style, struct ethos_view indent, size_t depth,
                        struct str *out)
{
    str_adds(out, style->newline);
    str_add(out, indent);
    for (size_t i = 0; i < depth; i++)
        str_add(out, style->unit);
}

/* The value, `depth` steps in from the indentation; a list of plain things stays on its line. */
static void write_value(const json_t *value, const struct style *style, struct ethos_view indent,
                        size_t depth, struct str *out)
{
    bool object = json_is_object(value), lines = style->lines && !is_flat(value);
    size_t count = count_of(value);
    if (!object && !json_is_array(value)) {
        json_print(value, JSON_STYLE_LINE, out);
        return;
    }
    void *member = json_object_iter((json_t *)value);
    str_addc(out, object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        const json_t *child = object ? json_object_iter_value(member) : json_array_get(value, i);
        if (i > 0)
            str_adds(out, lines ? "," : *style->space ? ", " : ",");
        if (lines)
            write_break(style, indent, depth + 1, out);
        if (object) {
            json_quote(view_str(json_object_iter_key(member)), out);
            str_printf(out, ":%s", style->space);
            member = json_object_iter_next((json_t *)value, member);
        }
        write_value(child, style, indent, depth + 1, out);
    }
    if (lines && count > 0)
        write_break(style, indent, depth, out);
    str_addc(out, object ? '}' : ']');
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Past white space and comments. */
static size_t skip_remarks(struct ethos_view text, size_t at)
{
    for (size_t before = SIZE_MAX; before != at;) {
        before = at = skip_space(text, at);
        struct ethos_view rest = view_from(text, at);
        if (view_starts(rest, VIEW("//"))) {
            const char *end = memchr(rest.data, '\n', rest.size);
            at = end ? (size_t)(end - text.data) : text.size;
        } else if (view_starts(rest, VIEW("/*"))) {
            const char *end = memmem(rest.data + 2, rest.size - 2, "*/", 2);
            at = end ? (size_t)(end - text.data) + 2 : at; // without an end it is none
        }
    }
    return at;
}

static void add_blanks(struct ethos_view remark, struct str *out)
{
    for (size_t i = 0; i < remark.size; i++)
        str_addc(out, memchr("\r\n\t", remark.data[i], 3) ? remark.data[i] : ' ');
}

/* Blanks stand for comments and trailing commas. Returns str_code. */
static int blank_remarks(struct ethos_view text, struct str *out)
{
    char last = ','; // before a comma that trails there is a value
    for (size_t at = 0, to; at < text.size; at = to) {
        to = skip_remarks(text, at);
        add_blanks(view_of(text.data + at, to - at), out);
        if (to == text.size)
            break;
        at = to;
        to = text.data[at] == '"' ? skip_string(text, at) : at + 1;
        to = to < text.size ? to : text.size;
        size_t next = text.data[at] == ',' ? skip_remarks(text, to) : text.size;
        bool trails = next < text.size && memchr("]}", text.data[next], 2) &&
                      !memchr("{[,:", last, 4);
        last = text.data[at];
        str_add(out, trails ? VIEW(" ") : view_of(text.data + at, to - at));
    }
    return str_code(out);
}

static int document_open(struct document *self, struct ethos_view text, enum json_edit_form form)
{
    *self = (struct document){.text = text, .plain = text};
    str_init(&self->blanked, text.size + 1);
    if (form == JSON_EDIT_STRICT)
        return ETHOS_OK;
    int code = blank_remarks(text, &self->blanked);
    self->plain = str_view(&self->blanked);
    return code;
}

/* What would be JSON without them has comments or trailing commas. */
static int explain(struct ethos_view text, struct ethos_error *error)
{
    json_t *json = json_edit_look(text);
    struct ethos_error was = *error;
    if (json)
        err_set(error, was.code,
                "%s: it has comments or trailing commas, so ethos does not edit it", was.text);
    json_decref(json);
    return was.code;
}

static bool is_empty_document(struct ethos_view text)
{
    return skip_space(text, 0) == text.size;
}

static int parse_json_document(const struct document *document, const char *what, json_t **out,
                               struct ethos_error *error)
{
    int code = ETHOS_OK;
    struct ethos_view plain = view_unmarked(document->plain);
    if (is_empty_document(plain))
        *out = json_object();
    else
        code = json_parse_wide(plain, what, out, error);
    return code == ETHOS_OK && !*out ? err_nomem(error) : code;
}

int json_edit_parse(struct ethos_view text, enum json_edit_form form, const char *what,
                    json_t **out, struct ethos_error *error)
{
    struct document document;
    int code = document_open(&document, text, form);
    code = code == ETHOS_OK ? parse_json_document(&document, what, out, error) : err_nomem(error);
    str_release(&document.blanked);
    return code == ETHOS_INVALID && form == JSON_EDIT_STRICT && error ? explain(text, error) : code;
}

json_t *json_edit_look(struct ethos_view text)
{
    json_t *json = NULL;
    return json_edit_parse(text, JSON_EDIT_REMARKS, "", &json, NULL) == ETHOS_OK ? json : NULL;
}

const json_t *json_edit_at(const json_t *root, const char *const path[])
{
    const json_t *child = root;
    for (size_t i = 0; child && path[i]; i++)
        if (child_number(child, path[i], &child) == SIZE_MAX)
            return NULL;
    return child;
}

/* ---- putting ------------------------------------------------------------------------------- */

/* The value inside of what is missing around it: path leads there from the first missing name. */
static json_t *wrap(const char *const path[], const json_t *value)
{
    if (!path[0])
        return json_incref((json_t *)value);
    json_t *inner = wrap(path + 1, value);
    return strcmp(path[0], "-") == 0 ? json_pack("[o]", inner) : json_pack("{s:o}", path[0], inner);
}

static void write_item(const struct node *node, const char *name, const json_t *value,
                       const struct style *style, struct ethos_view indent, size_t depth,
                       struct str *out)
{
    if (json_is_object(node->json)) {
        json_quote(view_str(name), out);
        str_printf(out, ":%s", style->space);
    }
    write_value(value, style, indent, depth, out);
}

/* Where the blanks begin that reach up to `to`, behind the last remark. */
static size_t trim_blanks(const struct document *document, size_t from, size_t to)
{
    while (to > from && memchr(" \t\r\n", document->text.data[to - 1], 4))
        to--;
    return to;
}

/* Behind the last item, in its manner. */
static void add_behind(const struct document *document, const struct node *node, const char *name,
                       const json_t *value, struct style style, struct str *out)
{
    struct json_item last, before;
    struct ethos_view text = document->text;
    find_item(document->plain, node, count_of(node->json) - 1, &last, &before);
    struct ethos_view gap = view_of(document->plain.data + last.gap, last.from - last.gap);
    struct ethos_view indent = indent_of(text, last.from);
    style.lines = has_newline(gap);
    str_add(out, view_of(text.data, last.to));
    str_addc(out, ',');
    if (style.lines)
        write_break(&style, indent, 0, out);
    else if (before.to > 0)
        str_add(out, gap);
    else
        str_adds(out, style.space);
    write_item(node, name, value, &style, indent, 0, out);
    str_add(out, view_from(text, last.to));
}

static void add_alone(const struct document *document, const struct node *node, const char *name,
                      const json_t *value, struct style style, struct str *out)
{
    struct ethos_view text = document->text, indent = indent_of(text, node->at);
    size_t after = skip_space(document->plain, node->at + 1);
    size_t remarks = trim_blanks(document, node->at + 1, after);
    style.lines = style.lines || remarks > node->at + 1; // one may reach to the end of its line
    str_add(out, view_of(text.data, remarks));
    if (style.lines)
        write_break(&style, indent, 1, out);
    write_item(node, name, value, &style, indent, 1, out);
    if (style.lines)
        write_break(&style, indent, 0, out);
    str_add(out, view_from(text, after));
}

static void replace_json_value(struct ethos_view text, const struct json_item *item,
                               const json_t *value, struct style style, struct str *out)
{
    style.lines = has_newline(view_of(text.data + item->gap, item->from - item->gap));
    str_add(out, view_of(text.data, item->value));
    write_value(value, &style, indent_of(text, item->from), 0, out);
    str_add(out, view_from(text, item->to));
}

/* Whether something may be added to what the path led to. */
static bool may_add(const json_t *json, const char *name)
{
    return strcmp(name, "-") == 0 ? json_is_array(json) : json_is_object(json);
}

static struct node root_of(struct ethos_view plain, const json_t *json)
{
    return (struct node){json, skip_space(plain, plain.size - view_unmarked(plain).size)};
}

static int put_value(const struct document *document, const char *what, const json_t *json,
                     const char *const path[], const json_t *value, struct str *out,
                     struct ethos_error *error)
{
    struct node node = root_of(document->plain, json);
    const struct style style = style_of(document, &node);
    struct json_item item, before;
    size_t depth = go_down(document->plain, path, &node, &item, &before);
    if (!path[depth]) {
        replace_json_value(document->text, &item, value, style, out);
        return ETHOS_OK;
    }
    if (!may_add(node.json, path[depth]))
        return err_set(error, ETHOS_INVALID, "%s: %s has an unexpected type", what,
                       depth > 0 ? path[depth - 1] : "the whole");
    json_t *whole = wrap(path + depth + 1, value);
    if (!whole)
        return err_nomem(error);
    if (count_of(node.json) > 0)
        add_behind(document, &node, path[depth], whole, style, out);
    else
        add_alone(document, &node, path[depth], whole, style, out);
    json_decref(whole);
    return ETHOS_OK;
}

int json_edit_put(struct ethos_view text, enum json_edit_form form, const char *what,
                  const char *const path[], const json_t *value, struct str *out,
                  struct ethos_error *error)
{
    json_t *json;
    struct document document;
    int code = json_edit_parse(text, form, what, &json, error);
    if (code != ETHOS_OK)
        return code;
    str_clear(out);
    if (document_open(&document, text, form) != ETHOS_OK) {
        code = ETHOS_NOMEM;
    } else if (is_empty_document(view_unmarked(document.plain))) { // remarks stay above
        bool blank = is_empty_document(view_unmarked(text));
        str_add(out, blank ? view_of(text.data, text.size - view_unmarked(text).size) : text);
        if (!blank && !view_ends(text, VIEW("\n")))
            str_adds(out, "\n");
        str_release(&document.blanked);
        code = document_open(&document, VIEW("{}\n"), JSON_EDIT_STRICT);
    }
    if (code == ETHOS_OK)
        code = put_value(&document, what, json, path, value, out, error);
    str_release(&document.blanked);
    json_decref(json);
    return code == ETHOS_NOMEM || (code == ETHOS_OK && str_code(out)) ? err_nomem(error) : code;
}

/* ---- dropping ------------------------------------------------------------------------------ */

/* Whether blanks are all there is from here to there. */
static bool is_blank_between(const struct document *document, size_t from, size_t to)
{
    return trim_blanks(document, from, to) == from;
}

static bool opens_line(struct ethos_view text)
{
    while (text.size > 0 && memchr(" \t\r", *text.data, 3))
        text = view_from(text, 1);
    return text.size > 0 && *text.data == '\n';
}

/* Text and remarks without the blanks behind them; what comes next begins a line when a remark may reach to its end. */
static void copy_trimmed(const struct document *document, size_t from, size_t remarks, size_t to,
                         size_t next, struct str *out)
{
    size_t end = trim_blanks(document, remarks, to);
    str_add(out, view_of(document->text.data + from, end - from));
    if (end > remarks && !opens_line(view_from(document->text, next)))
        str_adds(out, "\n");
}

/* With the comma that belongs to it: the one before the last item, the one behind any other. Remarks stay. */
static void drop_item(const struct document *document, const struct node *node,
                      const struct json_item *item, const struct json_item *before, struct str *out)
{
    struct ethos_view text = document->text;
    size_t at = item->to, rest;
    struct json_item next;
    if (next_item(document->plain, json_is_object(node->json), &at, &next)) {
        size_t comma = next.gap - 1;
        bool bare = is_blank_between(document, item->to, comma) &&
                    is_blank_between(document, next.gap, next.from);
        rest = bare ? next.from : next.gap;
        if (bare)
            str_add(out, view_of(text.data, item->from));
        else {
            copy_trimmed(document, 0, item->gap, item->from, item->to, out);
            copy_trimmed(document, item->to, item->to, comma, rest, out);
        }
    } else if (before->to > 0) {
        size_t comma = item->gap - 1;
        rest = item->to;
        copy_trimmed(document, 0, before->to, comma, item->gap, out);
        copy_trimmed(document, item->gap, item->gap, item->from, rest, out);
    } else { // a trailing comma goes, too
        size_t comma = skip_remarks(text, item->to);
        bool trails = comma < at && text.data[comma] == ',';
        size_t after = trails ? comma + 1 : at;
        bool bare = is_blank_between(document, item->gap, item->from) &&
                    is_blank_between(document, item->to, trails ? comma : at) &&
                    is_blank_between(document, after, at);
        rest = bare ? at : after;
        copy_trimmed(document, 0, item->gap, item->from, bare ? rest : item->to, out);
        if (!bare)
            str_add(out, view_of(text.data + item->to, (trails ? comma : at) - item->to));
    }
    str_add(out, view_from(text, rest));
}

int json_edit_drop(struct ethos_view text, enum json_edit_form form, const char *what,
                   const char *const path[], struct str *out, struct ethos_error *error)
{
    json_t *json;
    struct json_item item, before;
    struct document document;
    int code = json_edit_parse(text, form, what, &json, error);
    if (code != ETHOS_OK)
        return code;
    code = document_open(&document, text, form);
    struct node node = root_of(document.plain, json);
    if (code != ETHOS_OK) {
        code = err_nomem(error);
    } else if (json_edit_at(json, path)) {
        str_clear(out);
        go_down(document.plain, path, &node, &item, &before);
        drop_item(&document, &node, &item, &before, out);
        code = str_code(out) ? err_nomem(error) : ETHOS_OK;
    } else {
        code = err_set(error, ETHOS_NOTFOUND, "%s: %s is not there", what, path[0]);
    }
    str_release(&document.blanked);
    json_decref(json);
    return code;
}
