/*
 * agents_toml.c: our MCP server in a config.toml, as a table between two marks.
 *
 * Codex writes tables of its own behind the last one, and that may be between our marks: they are
 * not ours, and stay. "codex mcp add" writes all servers anew and loses the first mark on the way:
 * then the table is known by what it runs.
 */
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents_parts.h"
#include "core/block.h"
#include "core/toml.h"

#define SERVERS "mcp_servers"

static const struct block_marks marks = {"# BEGIN ethos", "# END ethos"};

static void write_table(const struct agent_wiring *wiring, struct str *out)
{
    str_adds(out, "[" SERVERS "." AGENT_SERVER "]\ncommand = ");
    json_quote(view_str(wiring->program), out);
    str_adds(out, "\nargs = [\"mcp\"]\n");
    if (wiring->home) {
        str_adds(out, "env = { ETHOS_HOME = ");
        json_quote(view_str(wiring->home), out);
        str_adds(out, " }\n");
    }
}

static int unbalanced(const char *what, struct ethos_error *error)
{
    err_set(error, ETHOS_INVALID, "%s: its ethos markers are unbalanced", what);
    return err_hint(error, ETHOS_INVALID, "leave one line \"%s\" and one \"%s\" below it",
                    marks.begin, marks.end);
}

/* ---- reading our table --------------------------------------------------------------------- */

/* What stands behind the equals sign. */
static struct ethos_view value_of(const struct toml_statement *row)
{
    const char *from = row->key.data + row->key.size, *end = row->whole.data + row->whole.size;
    while (from < end && *from != '=')
        from++;
    return view_trim(view_of(from + (from < end), (size_t)(end - from - (from < end))));
}

static json_t *parse(struct ethos_view value)
{
    json_t *json;
    return json_parse(value, "", &json, NULL) == ETHOS_OK ? json : NULL;
}

/* Inline: { ETHOS_HOME = "/x" } */
static json_t *parse_env(struct ethos_view value)
{
    const char *from = memchr(value.data, '"', value.size);
    const char *to = memrchr(value.data, '"', value.size);
    json_t *home = from && to > from ? parse(view_of(from, (size_t)(to - from) + 1)) : NULL;
    return home ? json_pack("{s:o}", "ETHOS_HOME", home) : NULL;
}

static void read_key(const struct toml_statement *row, json_t *server)
{
    struct ethos_view key = row->key, name = VIEW(""), value = value_of(row);
    toml_part(&key, &name);
    if (view_eq_str(name, "command") || view_eq_str(name, "args"))
        json_object_setn_new(server, name.data, name.size, parse(value));
    else if (view_eq_str(name, "env"))
        json_object_set_new(server, "env", parse_env(value));
}

json_t *agent_toml_server(struct ethos_view text)
{
    struct toml_statement row;
    size_t offset = 0;
    bool inside = false;
    json_t *server = json_object();
    while (toml_next(text, &offset, &row) > 0) {
        struct ethos_view key = row.key, first = VIEW(""), second = VIEW("");
        if (row.table)
            inside = toml_part(&key, &first) && toml_part(&key, &second) &&
                     !toml_part(&key, &(struct ethos_view){0}) && view_eq_str(first, SERVERS) &&
                     view_eq_str(second, AGENT_SERVER);
        else if (inside)
            read_key(&row, server);
    }
    if (agent_is_program(json_view(server, "command")) &&
        json_is_array(json_object_get(server, "args")))
        return server;
    json_decref(server);
    return NULL;
}

unsigned agent_toml_parts(struct ethos_view text)
{
    return toml_room(text, SERVERS, AGENT_SERVER) == TOML_TAKEN ? AGENT_MCP : 0;
}

bool agent_toml_touched(struct ethos_view text)
{
    struct block block;
    json_t *server = agent_toml_server(text);
    bool touched = server || (block_find(text, &marks, &block) == ETHOS_OK && block.found);
    json_decref(server);
    return touched;
}

/* ---- adding and removing ------------------------------------------------------------------- */

/* Whether the table runs this program with this home; whatever else it says is its reader's. */
static bool is_wired(struct ethos_view inner, const struct agent_wiring *wiring)
{
    json_t *server = agent_toml_server(inner);
    struct ethos_view home = json_view(json_object_get(server, "env"), "ETHOS_HOME");
    bool same = server && view_eq_str(json_view(server, "command"), wiring->program) &&
                view_eq(home, view_str(wiring->home));
    json_decref(server);
    return same;
}

/* Appends lines of a text, but no mark. */
static int add_unmarked(struct ethos_view text, struct str *out)
{
    struct ethos_view line, rest = text;
    for (struct ethos_view from = rest; view_line(&rest, &line); from = rest)
        if (!block_is_mark(line, &marks))
            str_add(out, view_of(from.data, from.size - rest.size));
    return str_code(out);
}

/* The table, wherever it stands, and what is left of the marks. */
static int take_out(struct ethos_view text, struct str *out)
{
    struct str rest;
    str_init(&rest, out->ceiling);
    str_clear(out);
    int code = toml_without(text, SERVERS, AGENT_SERVER, &rest);
    if (code == ETHOS_OK)
        code = add_unmarked(str_view(&rest), out);
    str_release(&rest);
    return code;
}

/* Our table in the block, with what others put into that. */
static int put_block(const struct agent_wiring *wiring, struct ethos_view text,
                     struct ethos_view inner, struct str *out)
{
    struct str lines;
    str_init(&lines, out->ceiling);
    write_table(wiring, &lines);
    size_t ours = lines.size;
    toml_without(inner, SERVERS, AGENT_SERVER, &lines);
    if (view_blank(view_from(str_view(&lines), ours)))
        str_truncate(&lines, ours);
    int code = str_code(&lines);
    if (code == ETHOS_OK)
        code = block_put(text, &marks, str_view(&lines), out);
    str_release(&lines);
    return code;
}

static int result_of(int code, const char *what, struct ethos_error *error)
{
    return code == ETHOS_OK        ? code
           : code == ETHOS_INVALID ? unbalanced(what, error)
                                   : err_nomem(error);
}

/* A table that lost its marks gets them back when it has to change. */
static int put_anew(const struct agent_wiring *wiring, struct ethos_view text, struct str *out)
{
    struct str rest;
    str_init(&rest, out->ceiling);
    int code = take_out(text, &rest);
    if (code == ETHOS_OK)
        code = put_block(wiring, str_view(&rest), VIEW(""), out);
    str_release(&rest);
    return code;
}

static int refuse(const char *what, struct ethos_error *error)
{
    return err_set(error, ETHOS_INVALID,
                   "%s: the table " SERVERS "." AGENT_SERVER " cannot be added to it", what);
}

int agent_toml_add(const struct agent_wiring *wiring, struct ethos_view text, const char *what,
                   bool renew, struct str *out, struct ethos_error *error)
{
    struct block block;
    int code = block_find(text, &marks, &block);
    bool whole = code == ETHOS_OK && block.found, ours = agent_toml_touched(text);
    enum toml_room room = toml_room(text, SERVERS, AGENT_SERVER);
    if (room == TOML_SHUT)
        return refuse(what, error);
    str_clear(out);
    if (code != ETHOS_OK && !ours)
        return unbalanced(what, error);
    if (room == TOML_TAKEN && (is_wired(text, wiring) || (!whole && !(renew && ours))))
        code = str_add(out, text);
    else if (whole || room == TOML_FREE)
        code = put_block(wiring, text, block.inner, out);
    else
        code = put_anew(wiring, text, out);
    if (code == ETHOS_OK && toml_room(str_view(out), SERVERS, AGENT_SERVER) != TOML_TAKEN)
        return refuse(what, error); // something was open before our lines
    return result_of(code, what, error);
}

int agent_toml_remove(struct ethos_view text, const char *what, struct str *out,
                      struct ethos_error *error)
{
    struct block block;
    struct str rest;
    int code = block_find(text, &marks, &block);
    bool whole = code == ETHOS_OK && block.found;
    if (!whole && agent_toml_touched(text))
        return result_of(take_out(text, out), what, error);
    if (code != ETHOS_OK)
        return unbalanced(what, error);
    str_init(&rest, out->ceiling);
    code = toml_without(block.inner, SERVERS, AGENT_SERVER, &rest);
    if (code == ETHOS_OK && view_blank(str_view(&rest))) {
        code = block_put(text, &marks, (struct ethos_view){0}, out);
    } else if (code == ETHOS_OK) {
        str_clear(out);
        str_add(out, block.before);
        str_add(out, str_view(&rest));
        code = str_add(out, block.after);
    }
    str_release(&rest);
    return result_of(code, what, error);
}
