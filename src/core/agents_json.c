/*
 * agents_json.c: our MCP server and our hooks in settings that are JSON.
 *
 *     {"mcpServers": {"ethos": {"command": "ethos", "args": ["mcp"]}},
 *      "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ethos hook ..."}]}]}}
 *
 * Cursor's hooks stand in the list itself, without the group around them. Which of the two an entry
 * is can be seen from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents_parts.h"
#include "core/json_edit.h"
#include "core/quote.h"

#define SERVERS "mcpServers"
#define HOOKS "hooks"

/* ---- finding ours -------------------------------------------------------------------------- */

/* A path into the settings. */
struct spot {
    const char *path[7];
    char group[24], number[24];
};

static bool is_server(const json_t *entry)
{
    size_t index;
    json_t *word;
    bool serves = false;
    json_array_foreach (json_object_get(entry, "args"), index, word)
        serves = serves || view_eq_str(view_str(json_string_value(word)), "mcp");
    return serves && agent_is_program(json_view(entry, "command"));
}

static bool find_server(const json_t *root, struct spot *out)
{
    const char *name;
    json_t *entry;
    json_object_foreach (json_object_get(root, SERVERS), name, entry) {
        *out = (struct spot){.path = {SERVERS, name}};
        if (is_server(entry))
            return true;
    }
    return false;
}

/*
 * "'/opt/ethos' --home '/x' hook codex Stop": the first word is our program, a later one is hook.
 */
static bool is_hook(struct ethos_view command)
{
    size_t end = 0;
    bool quoted = false;
    command = view_trim(command);
    for (; end < command.size && (quoted || command.data[end] != ' '); end++) {
        quoted = quoted != (command.data[end] == '\'' || command.data[end] == '"');
        end += !quoted && command.data[end] == '\\';
    }
    end = end < command.size ? end : command.size;
    struct ethos_view word = view_of(command.data, end);
    while (word.size > 0 && (view_ends(word, VIEW("'")) || view_ends(word, VIEW("\""))))
        word.size--;
    if (word.size > 0 && (word.data[0] == '\'' || word.data[0] == '"'))
        word = view_from(word, 1);
    return agent_is_program(word) && view_contains(view_from(command, end), VIEW(" hook "));
}

/* In one entry of an event: a command, or a group of them. */
static bool find_in_entry(const json_t *entry, struct spot *spot)
{
    size_t number;
    json_t *hook;
    if (is_hook(json_view(entry, "command"))) {
        spot->path[3] = NULL;
        return true;
    }
    json_array_foreach (json_object_get(entry, HOOKS), number, hook) {
        spot->path[3] = HOOKS;
        spot->path[4] = spot->number;
        snprintf(spot->number, sizeof spot->number, "%zu", number);
        if (is_hook(json_view(hook, "command")))
            return true;
    }
    return false;
}

/* event NULL: any. */
static bool find_hook(const json_t *root, const char *event, struct spot *out)
{
    const char *name;
    json_t *list, *entry;
    size_t group;
    json_object_foreach (json_object_get(root, HOOKS), name, list) {
        if (event && strcmp(event, name) != 0)
            continue;
        json_array_foreach (list, group, entry) {
            *out = (struct spot){.path = {HOOKS, name, out->group}};
            snprintf(out->group, sizeof out->group, "%zu", group);
            if (find_in_entry(entry, out))
                return true;
        }
    }
    return false;
}

/* ---- a draft that is edited step by step ---------------------------------------------------- */

struct draft {
    const char *what;
    struct str *text;
    struct str spare;
    json_t *json; /* of the text */
    struct ethos_error *error;
};

/* Takes the result of a step over. */
static int settle(struct draft *draft, int code)
{
    if (code == ETHOS_OK) {
        struct str done = draft->spare;
        draft->spare = *draft->text;
        *draft->text = done;
        json_decref(draft->json);
        draft->json = NULL;
        code = json_edit_parse(str_view(draft->text), draft->what, &draft->json, draft->error);
    }
    return code;
}

static int begin(struct draft *draft, struct ethos_view text, const char *what, struct str *out,
                 struct ethos_error *error)
{
    *draft = (struct draft){.what = what, .text = out, .error = error};
    str_init(&draft->spare, out->ceiling);
    str_clear(out);
    if (str_add(out, text) != ETHOS_OK)
        return err_nomem(error);
    return json_edit_parse(text, what, &draft->json, error);
}

static int end(struct draft *draft, int code)
{
    json_decref(draft->json);
    str_release(&draft->spare);
    return code;
}

/* Takes the value. */
static int put(struct draft *draft, const char *const path[], json_t *value)
{
    if (!value)
        return err_nomem(draft->error);
    int code = json_edit_put(str_view(draft->text), draft->what, path, value, &draft->spare,
                             draft->error);
    json_decref(value);
    return settle(draft, code);
}

static int drop(struct draft *draft, const char *const path[])
{
    return settle(draft, json_edit_drop(str_view(draft->text), draft->what, path, &draft->spare,
                                        draft->error));
}

/* ---- adding -------------------------------------------------------------------------------- */

/* The home of an entry; the default one is not named. */
static int set_home(json_t *entry, const char *home)
{
    json_t *env = json_object_get(entry, "env");
    if (!home) {
        json_object_del(env, "ETHOS_HOME");
        if (json_object_size(env) == 0)
            json_object_del(entry, "env");
        return 0;
    }
    if (!json_is_object(env) && json_object_set_new(entry, "env", env = json_object()) != 0)
        return -1;
    return json_object_set_new(env, "ETHOS_HOME", json_string(home));
}

static json_t *make_server(const struct agent_wiring *wiring)
{
    json_t *server = wiring->agent->typed
                         ? json_pack("{s:s, s:s, s:[s]}", "type", "stdio", "command",
                                     wiring->program, "args", "mcp")
                         : json_pack("{s:s, s:[s]}", "command", wiring->program, "args", "mcp");
    if (server && set_home(server, wiring->home) == 0)
        return server;
    json_decref(server);
    return NULL;
}

/* Another program, another home; whatever else somebody wrote there stays. */
static int renew_server(struct draft *draft, const struct agent_wiring *wiring,
                        const struct spot *spot)
{
    const json_t *was = json_edit_at(draft->json, spot->path);
    json_t *entry = json_deep_copy(was);
    if (!entry || json_object_set_new(entry, "command", json_string(wiring->program)) != 0 ||
        set_home(entry, wiring->home) != 0) {
        json_decref(entry);
        return err_nomem(draft->error);
    }
    if (!json_equal(entry, was))
        return put(draft, spot->path, entry);
    json_decref(entry);
    return ETHOS_OK;
}

static int add_server(struct draft *draft, const struct agent_wiring *wiring, bool renew)
{
    struct spot spot;
    static const char *const path[] = {SERVERS, AGENT_SERVER, NULL};
    if (find_server(draft->json, &spot))
        return renew ? renew_server(draft, wiring, &spot) : ETHOS_OK;
    if (!json_edit_at(draft->json, path))
        return put(draft, path, make_server(wiring));
    err_set(draft->error, ETHOS_EXISTS, "%s: " SERVERS "." AGENT_SERVER " is another program",
            draft->what);
    return err_hint(draft->error, ETHOS_EXISTS, "give it another name, then try again");
}

static json_t *make_command(const struct agent_wiring *wiring, const char *event)
{
    struct str line;
    str_init(&line, 65536);
    quote_shell(view_str(wiring->program), &line);
    if (wiring->home) {
        str_adds(&line, " --home ");
        quote_shell(view_str(wiring->home), &line);
    }
    str_printf(&line, " hook %s %s", wiring->agent->name, event);
    json_t *json = str_code(&line) ? NULL : json_text(str_view(&line));
    str_release(&line);
    return json;
}

static json_t *make_hook(const struct agent_wiring *wiring, const struct agent_event *event)
{
    const struct agent *agent = wiring->agent;
    json_t *command = make_command(wiring, event->name);
    int timeout = event->timeout * agent->unit;
    if (agent->flat)
        return json_pack("{s:o, s:i}", "command", command, "timeout", timeout);
    if (agent->named)
        return json_pack("{s:[{s:s, s:s, s:o, s:i}]}", HOOKS, "name", AGENT_SERVER, "type",
                         "command", "command", command, "timeout", timeout);
    return json_pack("{s:[{s:s, s:o, s:i}]}", HOOKS, "type", "command", "command", command,
                     "timeout", timeout);
}

static int renew_hook(struct draft *draft, const struct agent_wiring *wiring, struct spot *spot)
{
    json_t *command = make_command(wiring, spot->path[1]);
    const json_t *hook = json_edit_at(draft->json, spot->path);
    if (command && json_equal(json_object_get(hook, "command"), command)) {
        json_decref(command);
        return ETHOS_OK;
    }
    spot->path[spot->path[3] ? 5 : 3] = "command";
    return put(draft, spot->path, command);
}

/* Behind the hooks of others: some agents know those by their place. */
static int add_hooks(struct draft *draft, const struct agent_wiring *wiring, bool renew)
{
    struct spot spot;
    static const char *const version[] = {"version", NULL};
    int code = ETHOS_OK;
    if (wiring->agent->flat && !json_edit_at(draft->json, version))
        code = put(draft, version, json_integer(1));
    for (const struct agent_event *event = wiring->agent->events; code == ETHOS_OK && event->name;
         event++) {
        const char *const path[] = {HOOKS, event->name, "-", NULL};
        if (!find_hook(draft->json, event->name, &spot))
            code = put(draft, path, make_hook(wiring, event));
        else if (renew)
            code = renew_hook(draft, wiring, &spot);
    }
    return code;
}

int agent_json_add(const struct agent_wiring *wiring, unsigned parts, struct ethos_view text,
                   const char *what, bool renew, struct str *out, struct ethos_error *error)
{
    struct draft draft;
    int code = begin(&draft, text, what, out, error);
    if (code == ETHOS_OK && (parts & AGENT_MCP))
        code = add_server(&draft, wiring, renew);
    if (code == ETHOS_OK && (parts & AGENT_HOOKS))
        code = add_hooks(&draft, wiring, renew);
    return end(&draft, code);
}

/* ---- removing ------------------------------------------------------------------------------ */

/*
 * Whether a list or object holds this one thing and nothing that would mean something without it.
 */
static bool is_alone(const json_t *around)
{
    if (json_is_array(around))
        return json_array_size(around) == 1;
    size_t matcher = json_object_get(around, HOOKS) && json_object_get(around, "matcher") ? 1 : 0;
    return json_object_size(around) == 1 + matcher;
}

/* Drops what is at the spot, or as much around it as is there for nothing else. */
static int drop_spot(struct draft *draft, struct spot *spot, const json_t *before)
{
    size_t depth = 0;
    while (spot->path[depth])
        depth++;
    for (; depth > 1; depth--) {
        const char *last = spot->path[depth - 1];
        spot->path[depth - 1] = NULL;
        bool named = spot->path[depth - 2][0] > '9'; // the place of a group may be another's
        if (!is_alone(json_edit_at(draft->json, spot->path)) ||
            (named && before && json_edit_at(before, spot->path))) {
            spot->path[depth - 1] = last;
            break;
        }
    }
    return drop(draft, spot->path);
}

int agent_json_remove(struct ethos_view text, struct ethos_view before, const char *what,
                      struct str *out, struct ethos_error *error)
{
    struct draft draft;
    struct spot spot;
    json_t *was = NULL;
    int code = begin(&draft, text, what, out, error);
    if (code == ETHOS_OK && before.data && json_edit_parse(before, what, &was, NULL) != ETHOS_OK)
        was = NULL; // then nothing is known of it
    while (code == ETHOS_OK &&
           (find_server(draft.json, &spot) || find_hook(draft.json, NULL, &spot)))
        code = drop_spot(&draft, &spot, was);
    json_decref(was);
    return end(&draft, code);
}

/* ---- looking ------------------------------------------------------------------------------- */

unsigned agent_json_parts(const struct agent *agent, struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    unsigned parts = json ? AGENT_HOOKS : 0;
    for (const struct agent_event *event = agent->events; event->name; event++)
        if (!find_hook(json, event->name, &spot))
            parts = 0;
    if (find_server(json, &spot))
        parts |= AGENT_MCP;
    json_decref(json);
    return parts;
}

json_t *agent_json_server(struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    json_t *server = find_server(json, &spot) ? json_incref((json_t *)json_edit_at(json, spot.path))
                                              : NULL;
    json_decref(json);
    return server;
}

bool agent_json_touched(struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    bool touched = find_server(json, &spot) || find_hook(json, NULL, &spot);
    json_decref(json);
    return touched;
}

bool agent_hook(struct ethos_view text, const char *event, size_t *out_group, size_t *out_number)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    bool found = find_hook(json, event, &spot);
    if (found) {
        *out_group = strtoull(spot.group, NULL, 10);
        *out_number = strtoull(spot.number, NULL, 10);
    }
    json_decref(json);
    return found;
}
