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

/*
 * was: the settings from before ours came, or NULL; what has that name there already is not looked
 * at.
 */
static bool find_server(const json_t *root, const json_t *was, struct spot *out)
{
    const char *name;
    json_t *entry;
    json_object_foreach (json_object_get(root, SERVERS), name, entry) {
        *out = (struct spot){.path = {SERVERS, name}};
        if (is_server(entry) && !is_server(json_edit_at(was, out->path)))
            return true;
    }
    return false;
}

#define WORD_MAX 4096

/* The next word of a command, as a shell reads it. False at the end, and when it is too long. */
static bool next_word(struct ethos_view *rest, char out[WORD_MAX])
{
    size_t size = 0;
    char quote = 0;
    *rest = view_trim_start(*rest);
    if (rest->size == 0)
        return false;
    for (; rest->size > 0 && (quote || *rest->data != ' '); *rest = view_from(*rest, 1)) {
        char c = *rest->data;
        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
            continue;
        }
        if (c == '\\' && quote != '\'' && rest->size > 1) {
            *rest = view_from(*rest, 1);
            c = *rest->data;
        }
        if (size + 1 == WORD_MAX)
            return false;
        out[size++] = c;
    }
    out[size] = 0;
    return true;
}

/* "'/opt/ethos' --home '/x' hook codex Stop": the program is ours, a later word is hook. */
struct command {
    char program[WORD_MAX], home[WORD_MAX]; /* home "": not named */
};

static bool read_command(struct ethos_view text, struct command *out)
{
    char word[WORD_MAX];
    bool named = false;
    out->home[0] = 0;
    if (!next_word(&text, out->program) || !agent_is_program(view_str(out->program)))
        return false;
    while (next_word(&text, word)) {
        if (named)
            memcpy(out->home, word, sizeof word);
        else if (strcmp(word, "hook") == 0)
            return true;
        named = !named && strcmp(word, "--home") == 0;
    }
    return false;
}

static bool is_hook(struct ethos_view command)
{
    struct command words;
    return read_command(command, &words);
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

/* event NULL: any. was: as above; an event that had a hook of ours then is not looked at. */
static bool find_hook(const json_t *root, const char *event, const json_t *was, struct spot *out)
{
    const char *name;
    json_t *list, *entry;
    size_t group;
    json_object_foreach (json_object_get(root, HOOKS), name, list) {
        if ((event && strcmp(event, name) != 0) || (was && find_hook(was, name, NULL, out)))
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
    json_t *was;  /* from before ours came; NULL: not known */
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

static int begin(struct draft *draft, struct ethos_view text, struct ethos_view before,
                 const char *what, struct str *out, struct ethos_error *error)
{
    *draft = (struct draft){.what = what, .text = out, .error = error};
    str_init(&draft->spare, out->ceiling);
    str_clear(out);
    if (str_add(out, text) != ETHOS_OK)
        return err_nomem(error);
    int code = json_edit_parse(text, what, &draft->json, error);
    if (code != ETHOS_OK || !before.data)
        return code;
    return json_edit_parse(before, what, &draft->was, NULL) == ETHOS_NOMEM ? err_nomem(error)
                                                                           : ETHOS_OK;
}

static int end(struct draft *draft, int code)
{
    json_decref(draft->json);
    json_decref(draft->was);
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

static int add_server(struct draft *draft, const struct agent_wiring *wiring)
{
    struct spot spot;
    static const char *const path[] = {SERVERS, AGENT_SERVER, NULL};
    if (draft->was && find_server(draft->json, draft->was, &spot))
        return renew_server(draft, wiring, &spot);
    if (find_server(draft->json, NULL, &spot))
        return ETHOS_OK;
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
    if (wiring->agent->strict)
        str_adds(&line, " 2>/dev/null || :");
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
static int add_hooks(struct draft *draft, const struct agent_wiring *wiring)
{
    struct spot spot;
    static const char *const version[] = {"version", NULL};
    int code = ETHOS_OK;
    if (wiring->agent->flat && !json_edit_at(draft->json, version))
        code = put(draft, version, json_integer(1));
    for (const struct agent_event *event = wiring->agent->events; code == ETHOS_OK && event->name;
         event++) {
        const char *const path[] = {HOOKS, event->name, "-", NULL};
        if (!find_hook(draft->json, event->name, NULL, &spot))
            code = put(draft, path, make_hook(wiring, event));
        else if (draft->was && find_hook(draft->json, event->name, draft->was, &spot))
            code = renew_hook(draft, wiring, &spot);
    }
    return code;
}

int agent_json_add(const struct agent_wiring *wiring, unsigned parts, struct ethos_view text,
                   struct ethos_view before, const char *what, struct str *out,
                   struct ethos_error *error)
{
    struct draft draft;
    int code = begin(&draft, text, before, what, out, error);
    if (code == ETHOS_OK && (parts & AGENT_MCP))
        code = add_server(&draft, wiring);
    if (code == ETHOS_OK && (parts & AGENT_HOOKS))
        code = add_hooks(&draft, wiring);
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
static int drop_spot(struct draft *draft, struct spot *spot)
{
    size_t depth = 0;
    while (spot->path[depth])
        depth++;
    for (; depth > 1; depth--) {
        const char *last = spot->path[depth - 1];
        spot->path[depth - 1] = NULL;
        bool named = spot->path[depth - 2][0] > '9'; // the place of a group may be another's
        if (!is_alone(json_edit_at(draft->json, spot->path)) ||
            (named && json_edit_at(draft->was, spot->path))) {
            spot->path[depth - 1] = last;
            break;
        }
    }
    return drop(draft, spot->path);
}

/* Cursor wants to see a version beside hooks, which we added to those that were there. */
static int drop_version(struct draft *draft)
{
    static const char *const path[] = {"version", NULL};
    const json_t *hooks = json_object_get(draft->json, HOOKS);
    bool ours = draft->was && !json_object_get(draft->was, "version") &&
                (!hooks || json_equal(hooks, json_object_get(draft->was, HOOKS))) &&
                json_integer_value(json_object_get(draft->json, "version")) == 1;
    return ours ? drop(draft, path) : ETHOS_OK;
}

/* There are many ways to write nothing. */
static int restore_empty(struct draft *draft, struct ethos_view before)
{
    if (!json_is_object(draft->was) || json_object_size(draft->was) > 0 ||
        json_object_size(draft->json) > 0)
        return ETHOS_OK;
    str_clear(draft->text);
    return str_add(draft->text, before) ? err_nomem(draft->error) : ETHOS_OK;
}

int agent_json_remove(struct ethos_view text, struct ethos_view before, const char *what,
                      struct str *out, struct ethos_error *error)
{
    struct draft draft;
    struct spot spot;
    bool flat = false;
    int code = begin(&draft, text, before, what, out, error);
    while (code == ETHOS_OK && find_server(draft.json, draft.was, &spot))
        code = drop_spot(&draft, &spot);
    while (code == ETHOS_OK && find_hook(draft.json, NULL, draft.was, &spot)) {
        flat = !spot.path[3];
        code = drop_spot(&draft, &spot);
    }
    if (code == ETHOS_OK && flat)
        code = drop_version(&draft);
    if (code == ETHOS_OK)
        code = restore_empty(&draft, before);
    return end(&draft, code);
}

/* ---- looking ------------------------------------------------------------------------------- */

unsigned agent_json_parts(const struct agent *agent, struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    unsigned parts = json ? AGENT_HOOKS : 0;
    for (const struct agent_event *event = agent->events; event->name; event++)
        if (!find_hook(json, event->name, NULL, &spot))
            parts = 0;
    if (find_server(json, NULL, &spot))
        parts |= AGENT_MCP;
    json_decref(json);
    return parts;
}

json_t *agent_json_server(struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    json_t *server = find_server(json, NULL, &spot)
                         ? json_incref((json_t *)json_edit_at(json, spot.path))
                         : NULL;
    json_decref(json);
    return server;
}

bool agent_json_touched(struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    bool touched = find_server(json, NULL, &spot) || find_hook(json, NULL, NULL, &spot);
    json_decref(json);
    return touched;
}

/* ---- which memory is used ------------------------------------------------------------------- */

static const char *home_of_server(const json_t *entry)
{
    size_t index;
    json_t *word, *args = json_object_get(entry, "args");
    json_array_foreach (args, index, word)
        if (view_eq_str(view_str(json_string_value(word)), "--home"))
            return json_string_value(json_array_get(args, index + 1));
    return json_string_value(json_object_get(json_object_get(entry, "env"), "ETHOS_HOME"));
}

static int tell_server(const struct agent *agent, const char *name, const json_t *entry,
                       json_t *list)
{
    const char *home = home_of_server(entry);
    const struct agent_wiring wiring = {agent, json_string_value(json_object_get(entry, "command")),
                                        home};
    json_t *made = make_server(&wiring);
    if (!made)
        return -1;
    bool same = strcmp(name, AGENT_SERVER) == 0 && json_equal(made, entry);
    json_decref(made);
    return agent_tell_home(list, home, same);
}

static int tell_hook(const struct agent *agent, const char *event, const json_t *entry,
                     json_t *list)
{
    struct command words;
    read_command(json_view(entry, "command"), &words);
    const char *home = *words.home ? words.home : NULL;
    const struct agent_wiring wiring = {agent, words.program, home};
    json_t *made = make_command(&wiring, event);
    if (!made)
        return -1;
    bool same = json_equal(made, json_object_get(entry, "command"));
    json_decref(made);
    return agent_tell_home(list, home, same);
}

int agent_json_homes(const struct agent *agent, struct ethos_view text, json_t *list)
{
    json_t *json = json_edit_look(text), *entry;
    const char *name;
    struct spot spot;
    int failed = 0;
    json_object_foreach (json_object_get(json, SERVERS), name, entry)
        failed |= is_server(entry) ? tell_server(agent, name, entry, list) : 0;
    for (const struct agent_event *event = agent->events; event->name; event++)
        if (find_hook(json, event->name, NULL, &spot))
            failed |= tell_hook(agent, event->name, json_edit_at(json, spot.path), list);
    json_decref(json);
    return failed;
}

/* ---- one hook ------------------------------------------------------------------------------- */

bool agent_hook(struct ethos_view text, const char *event, size_t *out_group, size_t *out_number)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    bool found = find_hook(json, event, NULL, &spot);
    if (found) {
        *out_group = strtoull(spot.group, NULL, 10);
        *out_number = strtoull(spot.number, NULL, 10);
    }
    json_decref(json);
    return found;
}

int agent_hook_command(struct ethos_view text, const char *event, struct str *out_command,
                       struct str *out_program)
{
    json_t *json = json_edit_look(text);
    struct spot spot;
    struct command words;
    int code = ETHOS_NOTFOUND;
    if (find_hook(json, event, NULL, &spot)) {
        struct ethos_view command = json_view(json_edit_at(json, spot.path), "command");
        read_command(command, &words);
        str_add(out_command, command);
        str_adds(out_program, words.program);
        code = str_code(out_command) ? str_code(out_command) : str_code(out_program);
    }
    json_decref(json);
    return code;
}
