/*
 * toolset_yaml.c: reads and edits toolset.yaml and mcp.yaml line by line.
 */
#include "core/formats/toolset_yaml.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "base/yaml.h"

#define MAX_NAME 256     /* bytes of a tool's or a server's name */
#define MAX_INDENT 79    /* of the items of a list */
#define MAX_FLOW_DEPTH 8 /* lists and objects in brackets within each other */

/* ---- lines ----------------------------------------------------------------------------------- */

/* Reads the next line with its line end, and moves *rest behind it. */
static bool next_raw_line(struct ethos_view *rest, struct ethos_view *out)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t size = end ? (size_t)(end - rest->data) + 1 : rest->size;
    *out = view_of(rest->data, size);
    *rest = view_from(*rest, size);
    return true;
}

static size_t indent_of(struct ethos_view line)
{
    size_t size = 0;
    while (size < line.size && line.data[size] == ' ')
        size++;
    return size;
}

/* A scalar without blanks, comment and quotes. */
static struct ethos_view scalar_value(struct ethos_view text)
{
    text = view_trim(text);
    bool quoted = text.size > 1 && (text.data[0] == '"' || text.data[0] == '\'');
    const char *close = quoted ? memchr(text.data + 1, text.data[0], text.size - 1) : NULL;
    if (close)
        return view_of(text.data + 1, (size_t)(close - text.data) - 1);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '#' && (i == 0 || text.data[i - 1] == ' ' || text.data[i - 1] == '\t'))
            return view_trim(view_of(text.data, i));
    return text;
}

/* Whether the line is "- name"; *out is the name. */
static bool is_item(struct ethos_view line, struct ethos_view *out)
{
    struct ethos_view text = view_trim(line);
    if (text.size < 2 || text.data[0] != '-' || (text.data[1] != ' ' && text.data[1] != '\t'))
        return false;
    *out = scalar_value(view_from(text, 1));
    return out->size > 0;
}

/* Whether the line is "name: value"; the value is empty if it is on the following lines. */
static bool is_member(struct ethos_view line, struct ethos_view *name, struct ethos_view *value)
{
    struct ethos_view text = view_trim(line), item;
    if (text.size == 0 || text.data[0] == '#' || is_item(line, &item))
        return false;
    const char *colon = memchr(text.data, ':', text.size);
    if (!colon || colon == text.data)
        return false;
    *name = scalar_value(view_of(text.data, (size_t)(colon - text.data)));
    *value = scalar_value(view_from(text, (size_t)(colon - text.data) + 1));
    return name->size > 0;
}

static bool is_blank_or_comment(struct ethos_view line)
{
    struct ethos_view text = view_trim(line);
    return text.size == 0 || text.data[0] == '#';
}

/* ---- lists and objects in brackets ------------------------------------------------------------- */

/* Skips blanks, line ends and comments. */
static void skip_flow_blanks(struct ethos_view *rest)
{
    while (rest->size > 0) {
        const char *end;
        if (strchr(" \t\r\n", *rest->data) && *rest->data)
            *rest = view_from(*rest, 1);
        else if (*rest->data == '#')
            *rest = (end = memchr(rest->data, '\n', rest->size))
                        ? view_from(*rest, (size_t)(end - rest->data))
                        : view_of(rest->data, 0);
        else
            return;
    }
}

/* Reads a text within brackets: quoted, or up to the character that ends it. */
static bool flow_text(struct ethos_view *rest, struct ethos_view *out)
{
    char quote = rest->size > 0 ? *rest->data : 0;
    if (quote == '"' || quote == '\'') {
        const char *close = memchr(rest->data + 1, quote, rest->size - 1);
        if (!close)
            return false;
        *out = view_of(rest->data + 1, (size_t)(close - rest->data) - 1);
        *rest = view_from(*rest, out->size + 2);
        return !memchr(out->data, '\\', out->size) && (rest->size == 0 || *rest->data != quote);
    }
    size_t size = 0;
    while (size < rest->size && !memchr(",[]{}\n", rest->data[size], 6)) {
        char at = rest->data[size], next = size + 1 < rest->size ? rest->data[size + 1] : ' ';
        bool blank = size == 0 || rest->data[size - 1] == ' ' || rest->data[size - 1] == '\t';
        if ((at == '#' && blank) || (at == ':' && memchr(" \t\r\n,]}", next, 7)))
            break;
        size++;
    }
    *out = view_trim(view_of(rest->data, size));
    *rest = view_from(*rest, size);
    return out->size > 0;
}

static bool flow_member(json_t *object, struct ethos_view name, json_t *value)
{
    char key[MAX_NAME + 1];
    bool fits = name.size <= MAX_NAME;
    snprintf(key, sizeof key, "%.*s", fits ? (int)name.size : 0, name.data);
    return json_object_set_new(object, key, value) == 0 && fits;
}

/* Reads a list, an object or a text; NULL if it is malformed, or when out of memory. */
static json_t *flow_value(struct ethos_view *rest, int depth)
{
    struct ethos_view text;
    char open = rest->size > 0 ? *rest->data : 0, close = open == '[' ? ']' : '}';
    if (open != '[' && open != '{')
        return flow_text(rest, &text) ? json_text(text) : NULL;
    json_t *value = open == '[' ? json_array() : json_object();
    bool good = value && depth < MAX_FLOW_DEPTH;
    *rest = view_from(*rest, 1);
    skip_flow_blanks(rest);
    while (good && rest->size > 0 && *rest->data != close) {
        if (open == '{') {
            good = flow_text(rest, &text);
            skip_flow_blanks(rest);
            good = good && rest->size > 0 && *rest->data == ':';
            *rest = view_from(*rest, good);
            skip_flow_blanks(rest);
        }
        json_t *item = good ? flow_value(rest, depth + 1) : NULL;
        good = item && (open == '[' ? json_array_append_new(value, item) == 0
                                    : flow_member(value, text, item));
        skip_flow_blanks(rest);
        bool comma = rest->size > 0 && *rest->data == ',';
        good = good && rest->size > 0 && (comma || *rest->data == close);
        *rest = view_from(*rest, good && comma);
        skip_flow_blanks(rest);
    }
    if (!good || rest->size == 0) {
        json_decref(value);
        return NULL;
    }
    *rest = view_from(*rest, 1);
    return value;
}

/* Reads a value that starts with a bracket and may continue on further lines; *rest then starts after them. */
static json_t *flow_read(struct ethos_view value, struct ethos_view *rest)
{
    struct ethos_view line,
        text = view_of(value.data, (size_t)(rest->data + rest->size - value.data));
    if (value.size == 0 || (*value.data != '[' && *value.data != '{'))
        return NULL;
    json_t *read = flow_value(&text, 0);
    if (read && text.data > rest->data) {
        next_raw_line(&text, &line);
        *rest = text;
    }
    return read;
}

static bool is_flow(struct ethos_view value)
{
    return value.size > 0 && (*value.data == '[' || *value.data == '{');
}

/* Appends the texts of a list; false when out of memory. */
static bool append_flow_names(json_t *list, const json_t *flow)
{
    size_t index;
    json_t *item;
    json_array_foreach ((json_t *)flow, index, item)
        if (json_is_string(item) && json_array_append(list, item) != 0)
            return false;
    return true;
}

/* Whether the text is valid YAML; a plain list is parsed as a member. */
static bool is_yaml(struct ethos_view text, bool list)
{
    struct arena arena;
    struct yaml_table table;
    struct str whole;
    arena_init(&arena);
    str_init(&whole, SIZE_MAX);
    if (list)
        str_adds(&whole, "list:\n");
    bool good = str_add(&whole, text) == ETHOS_OK &&
                yaml_parse(str_view(&whole), "", &arena, &table, NULL) == ETHOS_OK;
    str_release(&whole);
    arena_release(&arena);
    return good;
}

static int refuse_lines(const char *file, struct ethos_error *error)
{
    return err_hint(error,
                    err_set(error, ETHOS_INVALID, "%s: its lines cannot be edited safely", file),
                    "edit it by hand");
}

/* Checks a name, which must not need quotes in a list. */
static int check_name(const json_t *item, const char *what, struct ethos_error *error)
{
    struct ethos_view name = view_of(json_string_value(item), json_string_length(item));
    bool good = json_is_string(item) && name.size > 0 && name.size <= MAX_NAME;
    for (size_t i = 0; good && i < name.size; i++)
        good = name.data[i] > ' ' && name.data[i] != 0x7F && !strchr("#'\"", name.data[i]);
    return good ? ETHOS_OK
                : err_set(error, ETHOS_INVALID, "%s: must be a list of names without spaces", what);
}

static int check_names(const json_t *names, const char *what, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    int code = json_is_array(names) ? ETHOS_OK : check_name(NULL, what, error);
    json_array_foreach ((json_t *)names, index, item) {
        if (code == ETHOS_OK)
            code = check_name(item, what, error);
    }
    return code;
}

static bool contains_name(const json_t *names, struct ethos_view name)
{
    size_t index;
    json_t *item;
    json_array_foreach ((json_t *)names, index, item)
        if (view_eq(view_of(json_string_value(item), json_string_length(item)), name))
            return true;
    return false;
}

static void push_text(json_t **list, struct ethos_view text)
{
    json_t *value = json_text(text);
    if (*list && json_array_append_new(*list, value) != 0) {
        json_decref(*list);
        *list = NULL;
    }
}

static void ensure_newline(struct str *out)
{
    if (out->size > 0 && out->data[out->size - 1] != '\n')
        str_adds(out, "\n");
}

/* ---- toolset.yaml ---------------------------------------------------------------------------- */

json_t *toolset_read(struct ethos_view text)
{
    struct ethos_view line, name, value;
    json_t *names = json_array();
    while (names && next_raw_line(&text, &line)) {
        if (is_item(line, &name) && !is_flow(name)) {
            push_text(&names, name);
        } else if (!is_blank_or_comment(line)) {
            struct ethos_view begin = view_trim(line);
            if (!is_flow(begin) && is_member(line, &name, &value))
                begin = value;
            json_t *flow = flow_read(begin, &text);
            if (!append_flow_names(names, flow)) {
                json_decref(names);
                names = NULL;
            }
            json_decref(flow);
        }
    }
    return names;
}

/* Whether the file can be edited by line: items with one indentation, below at most one member. */
static bool has_plain_lines(struct ethos_view text, size_t *out_indent, bool *out_member)
{
    struct ethos_view line, name, value;
    bool items = false, good = true;
    *out_indent = 0;
    *out_member = false;
    while (good && next_raw_line(&text, &line)) {
        if (is_item(line, &name)) {
            struct ethos_view raw = view_trim(view_from(view_trim(line), 1)); // with its quotes
            good = !strchr("[{&*!|>@`%", *raw.data) && (!items || indent_of(line) == *out_indent);
            *out_indent = indent_of(line);
            items = true;
        } else if (!is_blank_or_comment(line)) {
            good = !items && !*out_member && indent_of(line) == 0 &&
                   is_member(line, &name, &value) && value.size == 0;
            *out_member = true;
        }
    }
    return good;
}

static void add_items(const json_t *names, const json_t *but, const char *indent, struct str *out)
{
    size_t index;
    json_t *item;
    json_array_foreach ((json_t *)names, index, item) {
        struct ethos_view name = view_of(json_string_value(item), json_string_length(item));
        if (contains_name(but, name))
            continue;
        str_printf(out, "%s- ", indent);
        yaml_quote_string(name, out);
        str_addc(out, '\n');
    }
}

/* Copies the lines that stay; *kept collects their names. With `head`, only the lines before the list. */
static void copy_remaining_lines(struct ethos_view text, const json_t *names, bool head,
                                 json_t **kept, struct str *out)
{
    struct ethos_view line, name;
    while (next_raw_line(&text, &line)) {
        bool item = is_item(line, &name);
        if (item && head)
            return;
        if (item && (!contains_name(names, name) || contains_name(*kept, name)))
            continue;
        if (item)
            push_text(kept, name);
        str_add(out, line);
    }
    ensure_newline(out);
}

static int edit_toolset(struct ethos_view text, const json_t *names, struct str *out,
                        struct ethos_error *error)
{
    char indent[MAX_INDENT + 1] = "";
    size_t width;
    bool member;
    if (!has_plain_lines(text, &width, &member) || width > MAX_INDENT)
        return refuse_lines("toolset.yaml", error);
    memset(indent, ' ', width);
    json_t *kept = json_array(), *all = NULL;
    copy_remaining_lines(text, names, false, &kept, out);
    add_items(names, kept, indent, out);
    all = toolset_read(str_view(out));
    if (all && !json_equal(all, names)) {
        str_clear(out);
        copy_remaining_lines(text, names, true, &kept, out);
        add_items(names, NULL, indent, out);
        json_decref(all);
        all = toolset_read(str_view(out));
    }
    int code = kept && all && str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK &&
        (!json_equal(all, names) || (is_yaml(text, !member) && !is_yaml(str_view(out), !member))))
        code = refuse_lines("toolset.yaml", error);
    json_decref(kept);
    json_decref(all);
    return code;
}

int toolset_edit(struct ethos_view text, const json_t *names, struct str *out,
                 struct ethos_error *error)
{
    struct str edited;
    int code = check_names(names, "toolset", error);
    json_t *before = toolset_read(text);
    str_init(&edited, SIZE_MAX);
    if (code == ETHOS_OK && !before)
        code = err_nomem(error);
    if (code == ETHOS_OK && json_equal(before, names))
        str_add(&edited, text);
    else if (code == ETHOS_OK)
        code = edit_toolset(text, names, &edited, error);
    if (code == ETHOS_OK && str_code(&edited) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        str_add(out, str_view(&edited));
    json_decref(before);
    str_release(&edited);
    return code == ETHOS_OK && str_code(out) != ETHOS_OK ? err_nomem(error) : code;
}

/* ---- mcp.yaml: reading ------------------------------------------------------------------------- */

static json_t *find_or_add_member(json_t *object, struct ethos_view name, bool list)
{
    char key[MAX_NAME + 1];
    if (!object || name.size > MAX_NAME)
        return NULL;
    memcpy(key, name.data, name.size);
    key[name.size] = 0;
    json_t *value = json_object_get(object, key);
    bool fits = list ? json_is_array(value) : json_is_object(value);
    if (!fits && json_object_set_new(object, key, list ? json_array() : json_object()) != 0)
        return NULL;
    return json_object_get(object, key);
}

/* The position in the file: what the following lines belong to. */
struct policy_position {
    size_t server_at, member_at, tool_at; /* indentations; 0: none yet */
    json_t *server, *reject, *tool, *list;
};

/* Sets a member from a value in brackets, in which `enabled` is a text. */
static void set_flow_member(json_t *server, const char *name, json_t *flow)
{
    if (strcmp(name, "tools") == 0 && json_is_array(flow))
        append_flow_names(find_or_add_member(server, view_str(name), true), flow);
    else if (strcmp(name, "reject_args") == 0 && json_is_object(flow))
        json_object_set(server, name, flow);
    else if (strcmp(name, "enabled") == 0 && json_is_string(flow))
        json_object_set_new(server, name,
                            json_boolean(strcmp(json_string_value(flow), "false") != 0));
}

static void set_server_flow(json_t *server, const json_t *flow)
{
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *)flow, name, member)
        set_flow_member(server, name, member);
}

static void set_servers_flow(json_t *servers, const json_t *flow)
{
    const char *name;
    json_t *server;
    json_object_foreach ((json_t *)flow, name, server)
        set_server_flow(find_or_add_member(servers, view_str(name), false), server);
}

static void read_server_member(struct policy_position *at, size_t indent, struct ethos_view name,
                               struct ethos_view value, struct ethos_view *rest)
{
    at->member_at = indent;
    at->list = at->reject = at->tool = NULL;
    json_t *flow = flow_read(value, rest);
    if (flow && view_eq_str(name, "tools"))
        set_flow_member(at->server, "tools", flow);
    else if (flow && view_eq_str(name, "reject_args"))
        set_flow_member(at->server, "reject_args", flow);
    else if (view_eq_str(name, "tools"))
        at->list = find_or_add_member(at->server, name, true);
    if (at->list && value.size > 0 && !yaml_is_null(value) && !is_flow(value))
        push_text(&at->list, value); // a single name
    json_decref(flow);
    if (is_flow(value))
        return;
    if (view_eq_str(name, "reject_args"))
        at->reject = find_or_add_member(at->server, name, false);
    else if (view_eq_str(name, "enabled"))
        json_object_set_new(at->server, "enabled", json_boolean(!view_eq_str(value, "false")));
}

static void read_below(struct policy_position *at, size_t indent, struct ethos_view name,
                       struct ethos_view value, struct ethos_view *rest)
{
    json_t *flow = flow_read(value, rest);
    if (at->reject && (!at->tool || indent <= at->tool_at)) {
        at->tool_at = indent;
        at->tool = find_or_add_member(at->reject, name, false);
        at->list = NULL;
        if (at->tool && json_is_object(flow))
            json_object_update(at->tool, flow);
    } else if (at->tool) {
        at->list = find_or_add_member(at->tool, name, true);
        append_flow_names(at->list, flow);
    }
    json_decref(flow);
}

static void read_server(struct policy_position *at, json_t *servers, struct ethos_view name,
                        struct ethos_view value, struct ethos_view *rest)
{
    json_t *flow = flow_read(value, rest);
    at->server = find_or_add_member(servers, name, false);
    set_server_flow(at->server, flow);
    json_decref(flow);
}

/* Reads a value in brackets that belongs to the member on the previous line. */
static void read_flow_line(struct policy_position *at, struct ethos_view line,
                           struct ethos_view *rest)
{
    json_t *flow = flow_read(view_trim(line), rest);
    if (at->list)
        append_flow_names(at->list, flow);
    else if (at->server && !at->member_at)
        set_server_flow(at->server, flow);
    json_decref(flow);
}

static void read_policy_line(struct policy_position *at, json_t *servers, struct ethos_view line,
                             struct ethos_view *rest)
{
    struct ethos_view name, value;
    size_t indent = indent_of(line);
    if (is_item(line, &name)) {
        if (at->list)
            push_text(&at->list, name);
        return;
    }
    if (is_flow(view_trim(line))) {
        read_flow_line(at, line, rest);
        return;
    }
    if (!is_member(line, &name, &value))
        return;
    if (!at->server_at || indent <= at->server_at) {
        *at = (struct policy_position){.server_at = indent};
        read_server(at, servers, name, value, rest);
    } else if (!at->member_at || indent <= at->member_at) {
        if (at->server)
            read_server_member(at, indent, name, value, rest);
    } else {
        read_below(at, indent, name, value, rest);
    }
}

json_t *mcp_policy_read(struct ethos_view text)
{
    struct ethos_view line, name, value;
    struct policy_position at = {0};
    bool within = false;
    json_t *policy = json_object(), *servers = NULL;
    while (policy && next_raw_line(&text, &line)) {
        if (is_blank_or_comment(line))
            continue;
        if (indent_of(line) == 0) {
            within = is_member(line, &name, &value) && view_eq_str(name, "servers");
            at = (struct policy_position){0};
            servers = within ? find_or_add_member(policy, name, false) : servers;
            json_t *flow = within ? flow_read(value, &text) : NULL;
            set_servers_flow(servers, flow);
            json_decref(flow);
        } else if (within && servers) {
            read_policy_line(&at, servers, line, &text);
        }
    }
    return policy;
}

/* ---- mcp.yaml: editing --------------------------------------------------------------------------- */

struct editing {
    const json_t *tools; /* by server */
    struct str *out;
    json_t *done;                /* servers whose list is written */
    size_t server_at, member_at; /* indentations; 0: none yet */
    const json_t *wanted;        /* the new list of the current server; NULL: leave it */
    char server[MAX_NAME + 1];
    bool in_list;   /* the lines belong to the list that changes */
    size_t item_at; /* indentation of its items; 0: none yet */
    json_t *kept;   /* the names in it that stay */
    bool stuck;     /* the file cannot be edited by line */
};

static void write_items(struct editing *at, size_t width)
{
    char indent[80] = "";
    memset(indent, ' ', width < sizeof indent ? width : sizeof indent - 1);
    ensure_newline(at->out);
    add_items(at->wanted, at->kept, indent, at->out);
}

/* Adds what is missing at the end of a server, or of its list. */
static void finish_server(struct editing *at)
{
    size_t member_at = at->member_at ? at->member_at : at->server_at + 2;
    if (at->wanted && json_is_array(at->wanted)) {
        ensure_newline(at->out);
        if (!at->in_list)
            str_printf(at->out, "%*stools:\n", (int)member_at, "");
        write_items(at, at->item_at ? at->item_at : member_at + 2);
    }
    if (at->wanted)
        json_object_set_new(at->done, at->server, json_true());
    json_decref(at->kept);
    at->kept = NULL;
    at->wanted = NULL;
    at->in_list = false;
}

static void begin_server(struct editing *at, struct ethos_view name, size_t indent)
{
    finish_server(at);
    at->server_at = indent;
    at->member_at = at->item_at = 0;
    if (name.size > MAX_NAME)
        return;
    memcpy(at->server, name.data, name.size);
    at->server[name.size] = 0;
    at->wanted = json_object_get(at->tools, at->server);
}

/* Edits a line of the list; false if the list has ended before it. */
static bool edit_item(struct editing *at, struct ethos_view line)
{
    struct ethos_view name;
    bool item = is_item(line, &name);
    if (!item && !is_blank_or_comment(line) && indent_of(line) <= at->member_at)
        return false;
    at->stuck |= !item && !is_blank_or_comment(line);
    bool stays = item ? contains_name(at->wanted, name) && !contains_name(at->kept, name)
                      : json_is_array(at->wanted);
    if (item)
        at->item_at = indent_of(line);
    if (item && stays)
        push_text(&at->kept, name);
    if (stays)
        str_add(at->out, line);
    return true;
}

static void edit_line(struct editing *at, struct ethos_view line)
{
    struct ethos_view name, value;
    size_t indent = indent_of(line);
    bool member = is_member(line, &name, &value);
    if (at->in_list && edit_item(at, line))
        return;
    if (at->in_list)
        finish_server(at);
    if (member && (!at->server_at || indent <= at->server_at)) {
        begin_server(at, name, indent);
        at->stuck |= at->wanted && value.size > 0;
    } else if (member && (!at->member_at || indent <= at->member_at)) {
        at->member_at = indent;
        at->in_list = at->wanted && view_eq_str(name, "tools");
        at->stuck |= at->in_list && value.size > 0;
        if (at->in_list && (at->kept = json_array()) && !json_is_array(at->wanted))
            return; // the list is removed
    }
    str_add(at->out, line);
}

/* Adds servers with a list that are not in the file. */
static void add_servers(struct editing *at, bool headed)
{
    const char *name;
    json_t *list;
    size_t indent = at->server_at ? at->server_at : 2;
    json_object_foreach ((json_t *)at->tools, name, list) {
        if (json_object_get(at->done, name) || !json_is_array(list))
            continue;
        ensure_newline(at->out);
        if (!headed)
            str_adds(at->out, "servers:\n");
        headed = true;
        str_printf(at->out, "%*s", (int)indent, "");
        yaml_quote_string(view_str(name), at->out);
        str_adds(at->out, ":\n");
        begin_server(at, view_str(name), indent);
        finish_server(at);
    }
}

static int check_tools(const json_t *tools, struct ethos_error *error)
{
    const char *name;
    json_t *list;
    int code = json_is_object(tools)
                   ? ETHOS_OK
                   : err_set(error, ETHOS_INVALID, "mcp_tools: must be an object");
    json_object_foreach ((json_t *)tools, name, list) {
        json_t *key = json_string(name);
        if (code == ETHOS_OK)
            code = strchr(name, ':') ? check_name(NULL, "mcp_tools", error)
                                     : check_name(key, "mcp_tools", error);
        if (code == ETHOS_OK && !json_is_null(list))
            code = check_names(list, "mcp_tools", error);
        json_decref(key);
    }
    return code;
}

static bool has_same_names(const json_t *a, const json_t *b)
{
    size_t index;
    json_t *item;
    json_array_foreach ((json_t *)a, index, item)
        if (!contains_name(b, view_of(json_string_value(item), json_string_length(item))))
            return false;
    json_array_foreach ((json_t *)b, index, item)
        if (!contains_name(a, view_of(json_string_value(item), json_string_length(item))))
            return false;
    return json_is_array(a) == json_is_array(b);
}

/* Whether a server has the wanted tools, and everything else as before. */
static bool is_server_as_wanted(const json_t *before, const json_t *after, const json_t *wanted)
{
    json_t *old = json_copy((json_t *)before), *new = json_copy((json_t *)after);
    bool fits = has_same_names(json_object_get(after, "tools"),
                               json_is_null(wanted) ? NULL : wanted);
    json_object_del(old, "tools");
    json_object_del(new, "tools");
    fits &= json_object_size(old) == 0 ? json_object_size(new) == 0 : json_equal(old, new);
    json_decref(old);
    json_decref(new);
    return fits;
}

/* Whether the edited file has the wanted tools and nothing else changed. Unusual indentation may be misread. */
static bool is_edit_as_wanted(struct ethos_view before, struct ethos_view after,
                              const json_t *tools)
{
    json_t *old = mcp_policy_read(before), *new = mcp_policy_read(after), *server, *wanted;
    const json_t *were = json_object_get(old, "servers"), *are = json_object_get(new, "servers");
    const char *name;
    bool fits = old && new;
    json_object_foreach ((json_t *)were, name, server)
        if (!json_object_get(tools, name))
            fits &= json_equal(server, json_object_get(are, name)) == 1;
    json_object_foreach ((json_t *)are, name, server)
        fits &= json_object_get(were, name) || json_object_get(tools, name);
    json_object_foreach ((json_t *)tools, name, wanted)
        fits &= is_server_as_wanted(json_object_get(were, name), json_object_get(are, name),
                                    wanted);
    json_decref(old);
    json_decref(new);
    return fits;
}

/* Appends the file with the tools set. */
static int edit_policy(struct ethos_view text, const json_t *tools, struct str *out,
                       struct ethos_error *error)
{
    struct ethos_view line, name, value;
    struct editing at = {.tools = tools, .out = out, .done = json_object()};
    bool within = false;
    while (next_raw_line(&text, &line)) {
        if (indent_of(line) == 0 && !is_blank_or_comment(line)) {
            if (within) {
                finish_server(&at);
                add_servers(&at, true);
            }
            within = is_member(line, &name, &value) && view_eq_str(name, "servers");
            at.server_at = at.member_at = at.item_at = 0;
            at.stuck |= within && value.size > 0;
            str_add(out, line);
        } else if (within) {
            edit_line(&at, line);
        } else {
            str_add(out, line);
        }
    }
    finish_server(&at);
    add_servers(&at, within);
    bool whole = at.done && str_code(out) == ETHOS_OK;
    json_decref(at.done);
    if (!whole)
        return err_nomem(error);
    return at.stuck ? refuse_lines("mcp.yaml", error) : ETHOS_OK;
}

int mcp_policy_edit(struct ethos_view text, const json_t *tools, struct str *out,
                    struct ethos_error *error)
{
    struct str edited;
    str_init(&edited, SIZE_MAX);
    int code = check_tools(tools, error);
    if (code == ETHOS_OK && is_edit_as_wanted(text, text, tools))
        code = str_add(&edited, text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    else if (code == ETHOS_OK)
        code = edit_policy(text, tools, &edited, error);
    if (code == ETHOS_OK && (!is_edit_as_wanted(text, str_view(&edited), tools) ||
                             (is_yaml(text, false) && !is_yaml(str_view(&edited), false))))
        code = refuse_lines("mcp.yaml", error);
    if (code == ETHOS_OK)
        str_add(out, str_view(&edited));
    str_release(&edited);
    return code == ETHOS_OK && str_code(out) != ETHOS_OK ? err_nomem(error) : code;
}
