/*
 * settings_toml.c: our MCP server in a config.toml, as a table between two marks.
 *
 * Codex writes tables of its own behind the last one, and that may be between our marks: they are
 * not ours, and stay. "codex mcp add" writes all servers anew and loses the first mark on the way:
 * then the table is known by what it runs.
 */
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents/settings_internal.h"
#include "core/agents/toml.h"
#include "core/formats/managed_block.h"

#define SERVERS "mcp_servers"
#define APPROVAL "default_tools_approval_mode"
#define APPROVE APPROVAL " = \"approve\"" /* tools that change something run without asking, too */

static const struct block_marks marks = {"# BEGIN ethos", "# END ethos", false};

static void write_table(const struct agent_wiring *wiring, struct str *out)
{
    str_adds(out, "[" SERVERS "." AGENT_SERVER "]\ncommand = ");
    toml_quote(view_str(wiring->program), out);
    str_adds(out, "\nargs = [\"mcp\"]\n");
    if (wiring->all_tools)
        str_adds(out, APPROVE "\n");
    if (wiring->home) {
        str_adds(out, "env = { ETHOS_HOME = ");
        toml_quote(view_str(wiring->home), out);
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

static json_t *parse_toml_value(struct ethos_view value)
{
    json_t *json;
    if (value.size >= 2 && value.data[0] == '\'' && view_ends(value, VIEW("'")))
        return json_text(view_of(value.data + 1, value.size - 2));
    return json_parse(value, "", &json, NULL) == ETHOS_OK ? json : NULL;
}

static struct ethos_view last_key_name(struct ethos_view key)
{
    struct ethos_view name = VIEW("");
    toml_part(&key, &name);
    return name;
}

static void set(json_t *object, struct ethos_view key, json_t *value)
{
    struct ethos_view name = last_key_name(key);
    json_object_setn_new(object, name.data, name.size, value);
}

static json_t *env_of(json_t *server)
{
    json_t *env = json_object_get(server, "env");
    if (!env && json_object_set_new(server, "env", env = json_object()) != 0)
        return NULL;
    return env;
}

/* Inline: { ETHOS_HOME = "/x" } */
static void read_env(struct ethos_view value, json_t *server)
{
    struct ethos_view key, rest = value;
    if (!view_starts(value, VIEW("{")) || !view_ends(value, VIEW("}")))
        return;
    rest = view_of(value.data + 1, value.size - 2);
    env_of(server);
    while (toml_member(&rest, &key, &value))
        set(env_of(server), key, parse_toml_value(value));
}

/* The tables of ours that a statement may stand in. */
enum settings_table { ELSEWHERE, SERVER, ENV };

static enum settings_table table_of(struct ethos_view key)
{
    struct ethos_view first = VIEW(""), second = VIEW(""), third = VIEW("");
    if (!toml_part(&key, &first) || !toml_part(&key, &second) || !view_eq_str(first, SERVERS) ||
        !view_eq_str(second, AGENT_SERVER))
        return ELSEWHERE;
    return !toml_part(&key, &third) ? SERVER : view_eq_str(third, "env") ? ENV : ELSEWHERE;
}

/* more: whether it says anything besides what is told of it. */
static void read_key(const struct toml_statement *row, json_t *server, bool *more)
{
    struct ethos_view name = last_key_name(row->key), value = toml_value(row);
    if (view_eq_str(name, "command") || view_eq_str(name, "args") || view_eq_str(name, APPROVAL))
        set(server, name, parse_toml_value(value));
    else if (view_eq_str(name, "env"))
        read_env(value, server);
    else
        *more = true;
}

static json_t *read_server(struct ethos_view text, bool *more)
{
    struct toml_statement row;
    size_t offset = 0;
    enum settings_table table = ELSEWHERE;
    json_t *server = json_object();
    *more = false;
    while (toml_next(text, &offset, &row) > 0) {
        if (row.table)
            table = table_of(row.key);
        if (row.table && table == ENV)
            env_of(server);
        else if (row.table)
            continue;
        else if (table == SERVER)
            read_key(&row, server, more);
        else if (table == ENV)
            set(env_of(server), row.key, parse_toml_value(toml_value(&row)));
    }
    if (agent_is_program(json_view(server, "command")) &&
        json_is_array(json_object_get(server, "args")))
        return server;
    json_decref(server);
    return NULL;
}

json_t *agent_toml_server(struct ethos_view text)
{
    bool more;
    return read_server(text, &more);
}

int agent_toml_homes(struct ethos_view text, json_t *list)
{
    bool more;
    json_t *server = read_server(text, &more);
    if (!server)
        return 0;
    const json_t *args = json_object_get(server, "args"), *env = json_object_get(server, "env");
    const char *home = json_string_value(json_object_get(env, "ETHOS_HOME"));
    bool made = !more && json_array_size(args) == 1 && json_object_size(env) == (home ? 1 : 0);
    int failed = agent_tell_home(list, home, made);
    json_decref(server);
    return failed;
}

/* ---- another program of our name ------------------------------------------------------------ */

/* Takes a part off a key, those of the table that it stands in first. */
static bool next_part(struct ethos_view *table, struct ethos_view *key, struct ethos_view *out)
{
    return toml_part(table, out) || toml_part(key, out);
}

static bool runs_other(struct ethos_view name, struct ethos_view value)
{
    json_t *json = view_eq_str(name, "command") ? parse_toml_value(value) : NULL;
    const char *program = json_string_value(json);
    bool other = program ? !agent_is_program(view_str(program)) : view_eq_str(name, "url");
    json_decref(json);
    return other;
}

/* Written as a table, with dots, or inline. */
static bool row_is_other(struct ethos_view table, const struct toml_statement *row)
{
    struct ethos_view key = row->key, name = VIEW(""), value = toml_value(row);
    if (!next_part(&table, &key, &name) || !view_eq_str(name, SERVERS) ||
        !next_part(&table, &key, &name) || !view_eq_str(name, AGENT_SERVER))
        return false;
    if (next_part(&table, &key, &name))
        return runs_other(name, value);
    struct ethos_view rest = view_starts(value, VIEW("{")) && view_ends(value, VIEW("}"))
                                 ? view_of(value.data + 1, value.size - 2)
                                 : VIEW("");
    while (toml_member(&rest, &name, &value))
        if (runs_other(last_key_name(name), value))
            return true;
    return false;
}

/* Whether the server of our name certainly is not ours. */
static bool is_foreign_server(struct ethos_view text)
{
    struct toml_statement row;
    struct ethos_view table = VIEW("");
    size_t offset = 0;
    while (toml_next(text, &offset, &row) > 0) {
        if (row.table)
            table = row.key;
        else if (row_is_other(table, &row))
            return true;
    }
    return false;
}

static int refuse_name(const char *what, struct ethos_error *error)
{
    err_set(error, ETHOS_EXISTS, "%s: " SERVERS "." AGENT_SERVER " is another program", what);
    return err_hint(error, ETHOS_EXISTS, "rename it, then try again");
}

unsigned agent_toml_parts(struct ethos_view text)
{
    return toml_room(text, SERVERS, AGENT_SERVER) == TOML_TAKEN && !is_foreign_server(text)
               ? AGENT_MCP
               : 0;
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
                view_eq(home, view_str(wiring->home)) &&
                (!wiring->all_tools || json_object_get(server, APPROVAL));
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
static int remove_own_tables(struct ethos_view text, struct str *out)
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

/* Whether keys come before the first table: behind a table of ours they would become its keys. */
static bool opens_with_key(struct ethos_view text)
{
    struct toml_statement row;
    size_t offset = 0;
    int found = toml_next(text, &offset, &row);
    return found < 0 || (found > 0 && !row.table);
}

/* Our table in a new block at the end; what others put into the old one stays where it is. */
static int move_block(const struct agent_wiring *wiring, struct ethos_view text, struct str *out)
{
    struct str rest, lines;
    str_init(&rest, out->ceiling);
    str_init(&lines, out->ceiling);
    write_table(wiring, &lines);
    int code = remove_own_tables(text, &rest);
    if (code == ETHOS_OK)
        code = str_code(&lines);
    if (code == ETHOS_OK)
        code = block_put(str_view(&rest), &marks, str_view(&lines), out);
    str_release(&rest);
    str_release(&lines);
    return code;
}

/* Our table in the block, with what others put into that. */
static int put_block(const struct agent_wiring *wiring, struct ethos_view text,
                     const struct block *block, struct str *out)
{
    struct str lines;
    str_init(&lines, out->ceiling);
    write_table(wiring, &lines);
    size_t ours = lines.size;
    toml_without(block->inner, SERVERS, AGENT_SERVER, &lines);
    struct ethos_view others = view_from(str_view(&lines), ours);
    bool moves = block->found &&
                 (opens_with_key(others) || (view_blank(others) && opens_with_key(block->after)));
    if (view_blank(others))
        str_truncate(&lines, ours);
    int code = str_code(&lines);
    if (code == ETHOS_OK)
        code = moves ? move_block(wiring, text, out)
                     : block_put(text, &marks, str_view(&lines), out);
    str_release(&lines);
    return code;
}

static int settings_result(int code, const char *what, struct ethos_error *error)
{
    return code == ETHOS_OK        ? code
           : code == ETHOS_INVALID ? unbalanced(what, error)
                                   : err_nomem(error);
}

/* ---- another program, another home ---------------------------------------------------------- */

static const char *newline_of(struct ethos_view text)
{
    return view_ends(text, VIEW("\r\n")) ? "\r\n" : "\n";
}

static void write_key(const char *name, const char *value, struct str *out)
{
    str_printf(out, "%s = ", name);
    toml_quote(view_str(value), out);
}

/* Inline; its other members stay. */
static void renew_env(struct ethos_view value, const char *home, struct str *out)
{
    struct ethos_view key, rest = view_of(value.data + 1, value.size - 2);
    const char *comma = "";
    str_adds(out, "env = { ");
    while (toml_member(&rest, &key, &value)) {
        if (view_eq_str(last_key_name(key), "ETHOS_HOME"))
            continue;
        str_adds(out, comma); // not str_printf: a value may hold a NUL byte
        str_add(out, key);
        str_adds(out, " = ");
        str_add(out, value);
        comma = ", ";
    }
    str_adds(out, home ? comma : "");
    if (home)
        write_key("ETHOS_HOME", home, out);
    str_adds(out, " }");
}

/* has: the table as it is; a home belongs where its other variables are. */
static void renew_row(const struct toml_statement *row, enum settings_table table,
                      const json_t *has, const struct agent_wiring *wiring, struct str *out)
{
    struct ethos_view name = last_key_name(row->key), value = toml_value(row);
    const char *newline = newline_of(row->whole);
    if (!row->table && table == SERVER && view_eq_str(name, "command")) {
        write_key("command", wiring->program, out);
        str_adds(out, newline);
        if (wiring->all_tools && !json_object_get(has, APPROVAL)) {
            str_adds(out, APPROVE);
            str_adds(out, newline);
        }
        if (wiring->home && !json_object_get(has, "env")) {
            renew_env(VIEW("{}"), wiring->home, out);
            str_adds(out, newline);
        }
    } else if (!row->table && table == SERVER && view_eq_str(name, "env") &&
               view_starts(value, VIEW("{")) && view_ends(value, VIEW("}"))) {
        renew_env(value, wiring->home, out);
        str_adds(out, newline);
    } else if (row->table || table != ENV || !view_eq_str(name, "ETHOS_HOME")) {
        str_add(out, row->whole);
    }
    if (row->table && table == ENV && wiring->home) {
        write_key("ETHOS_HOME", wiring->home, out);
        str_adds(out, newline);
    }
}

/* Our table where it stands; what others added to it stays. */
static int renew(const struct agent_wiring *wiring, struct ethos_view text, struct str *out)
{
    struct toml_statement row;
    size_t offset = 0, kept = 0;
    enum settings_table table = ELSEWHERE;
    json_t *server = agent_toml_server(text);
    while (toml_next(text, &offset, &row) > 0) {
        size_t from = (size_t)(row.whole.data - text.data);
        table = row.table ? table_of(row.key) : table;
        str_add(out, view_of(text.data + kept, from - kept));
        renew_row(&row, table, server, wiring, out);
        kept = from + row.whole.size;
    }
    json_decref(server);
    return str_add(out, view_from(text, kept));
}

/* ---- the file ------------------------------------------------------------------------------- */

static int refuse_settings(const char *what, struct ethos_error *error)
{
    return err_set(error, ETHOS_INVALID,
                   "%s: the table " SERVERS "." AGENT_SERVER " cannot be added to it", what);
}

/* Whether the table was there before us. */
static bool is_theirs(struct ethos_view before)
{
    return !before.data || toml_room(before, SERVERS, AGENT_SERVER) == TOML_TAKEN;
}

int agent_toml_add(const struct agent_wiring *wiring, struct ethos_view text,
                   struct ethos_view before, const char *what, struct str *out,
                   struct ethos_error *error)
{
    struct block block;
    int code = block_find(text, &marks, &block);
    enum toml_room room = toml_room(text, SERVERS, AGENT_SERVER);
    json_t *server = agent_toml_server(text);
    bool known = server, other = is_foreign_server(text),
         inside = code == ETHOS_OK && toml_room(block.inner, SERVERS, AGENT_SERVER) == TOML_TAKEN;
    json_decref(server);
    bool binary = text.size > 0 && memchr(text.data, '\0', text.size);
    if (room == TOML_SHUT || binary)
        return refuse_settings(what, error);
    if (other && (!inside || is_theirs(before)))
        return refuse_name(what, error);
    str_clear(out);
    if (code != ETHOS_OK && !known)
        return unbalanced(what, error);
    if (room == TOML_FREE || (inside && (!known || other) && !is_theirs(before)))
        code = put_block(wiring, text, &block, out);
    else if (known && !is_theirs(before) && !is_wired(text, wiring))
        code = renew(wiring, text, out);
    else
        code = str_add(out, text);
    if (code == ETHOS_OK && agent_toml_parts(str_view(out)) != AGENT_MCP)
        return refuse_settings(
            what,
            error); // something was open before our lines, or sets our keys elsewhere
    return settings_result(code, what, error);
}

/* What others put between our marks stays. */
static int remove_block(struct ethos_view text, const struct block *block, struct ethos_view before,
                        struct str *out)
{
    struct str rest;
    str_init(&rest, out->ceiling);
    int code = toml_without(block->inner, SERVERS, AGENT_SERVER, &rest);
    if (code == ETHOS_OK && view_blank(str_view(&rest))) {
        code = agent_drop_block(text, before, &marks, out);
    } else if (code == ETHOS_OK) {
        str_clear(out);
        str_add(out, block_lead(block));
        toml_without(block->inner, SERVERS, AGENT_SERVER, out);
        code = str_add(out, block->after);
    }
    str_release(&rest);
    return code;
}

int agent_toml_remove(struct ethos_view text, struct ethos_view before, const char *what,
                      struct str *out, struct ethos_error *error)
{
    struct block block;
    int code = block_find(text, &marks, &block);
    if (before.data && is_theirs(before)) {
        str_clear(out);
        code = str_add(out, text);
    } else if (code == ETHOS_OK && block.found) {
        code = remove_block(text, &block, before, out);
    } else if (agent_toml_touched(text)) {
        code = remove_own_tables(text, out);
    } else if (code == ETHOS_OK) {
        str_clear(out);
        code = str_add(out, text);
    }
    return settings_result(code, what, error);
}
