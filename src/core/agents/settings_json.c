/*
 * settings_json.c: our MCP server and our hooks in settings that are JSON.
 *
 *     {"mcpServers": {"ethos": {"command": "ethos", "args": ["mcp"]}},
 *      "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "ethos hook ..."}]}]}}
 *
 * Cursor's hooks stand in the list itself, without the group around them. Servers have other names around them
 * elsewhere, and opencode has a command and its arguments in one list. What an entry is can be seen from it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/agents/json_edit.h"
#include "core/agents/settings_internal.h"

#define HOOKS "hooks"
#define LOADS "alwaysLoad" /* Claude Code: not behind its tool search */

/* ---- finding ours -------------------------------------------------------------------------- */

/* Where an entry of ours stands in the settings. */
struct entry_path {
    const char *path[7];
    char group[24], number[24];
};

/* What may stand around servers, in the files of any program. */
static const char *const members[] = {"mcpServers", "servers", "context_servers", "mcp", NULL};

static const char *servers_of(const struct agent *agent)
{
    return agent->servers ? agent->servers : members[0];
}

static const char *program_of(const json_t *entry)
{
    const json_t *command = json_object_get(entry, "command");
    return json_string_value(json_is_array(command) ? json_array_get(command, 0) : command);
}

static const json_t *words_of(const json_t *entry)
{
    const json_t *command = json_object_get(entry, "command");
    return json_is_array(command) ? command : json_object_get(entry, "args");
}

static bool is_server(const json_t *entry)
{
    size_t index;
    json_t *word;
    bool serves = false;
    json_array_foreach (words_of(entry), index, word)
        serves = serves || view_eq_str(view_str(json_string_value(word)), "mcp");
    return serves && agent_is_program(view_str(program_of(entry)));
}

/*
 * was: the settings from before ours came, or NULL; what has that name there already is not looked
 * at.
 */
static bool find_json_server(const json_t *root, const json_t *was, struct entry_path *out)
{
    const char *name;
    json_t *entry;
    for (size_t i = 0; members[i]; i++)
        json_object_foreach (json_object_get(root, members[i]), name, entry) {
            *out = (struct entry_path){.path = {members[i], name}};
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
static bool find_in_entry(const json_t *entry, struct entry_path *target)
{
    size_t number;
    json_t *hook;
    if (is_hook(json_view(entry, "command"))) {
        target->path[3] = NULL;
        return true;
    }
    json_array_foreach (json_object_get(entry, HOOKS), number, hook) {
        target->path[3] = HOOKS;
        target->path[4] = target->number;
        snprintf(target->number, sizeof target->number, "%zu", number);
        if (is_hook(json_view(hook, "command")))
            return true;
    }
    return false;
}

/* event NULL: any. was: as above; an event that had a hook of ours then is not looked at. */
static bool find_hook(const json_t *root, const char *event, const json_t *was,
                      struct entry_path *out)
{
    const char *name;
    json_t *list, *entry;
    size_t group;
    json_object_foreach (json_object_get(root, HOOKS), name, list) {
        if ((event && strcmp(event, name) != 0) || (was && find_hook(was, name, NULL, out)))
            continue;
        json_array_foreach (list, group, entry) {
            *out = (struct entry_path){.path = {HOOKS, name, out->group}};
            snprintf(out->group, sizeof out->group, "%zu", group);
            if (find_in_entry(entry, out))
                return true;
        }
    }
    return false;
}

static bool lists_tool(const json_t *list, const json_t *tool)
{
    size_t index;
    json_t *other;
    json_array_foreach (list, index, other)
        if (json_equal(other, tool))
            return true;
    return false;
}

/* The last of an agent's list: what was added last leaves no trace when it goes first. */
static bool find_tool_of(const struct agent *agent, const json_t *root, const json_t *was,
                         struct entry_path *out)
{
    *out = (struct entry_path){.path = {agent->allowed[0], agent->allowed[1], out->group}};
    const char *const path[] = {agent->allowed[0], agent->allowed[1], NULL};
    const json_t *list = json_edit_at(root, path), *earlier = json_edit_at(was, path);
    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *tool = json_array_get(list, i);
        if (view_starts(view_str(json_string_value(tool)), view_str(agent->tool_prefix)) &&
            !lists_tool(earlier, tool)) {
            snprintf(out->group, sizeof out->group, "%zu", i);
            return true;
        }
    }
    return false;
}

/* A tool of ours that may be called without asking. agent NULL: in the list of any agent. */
static bool find_tool(const struct agent *agent, const json_t *root, const json_t *was,
                      struct entry_path *out)
{
    if (agent)
        return agent->tool_prefix && find_tool_of(agent, root, was, out);
    for (agent = agents; agent->name; agent++)
        if (agent->tool_prefix && find_tool_of(agent, root, was, out))
            return true;
    return false;
}

/* Whether a path is that of a workspace's notes, whatever home it is in. */
static bool is_notes_folder(struct ethos_view path)
{
    return view_contains(path, VIEW("/workspaces/")) && view_ends(path, VIEW("/memory"));
}

/* What says where an agent keeps its own memory. That it keeps none is ours when it was not so before. */
static bool find_own_memory(const struct agent *agent, const json_t *root, const json_t *was,
                            struct entry_path *out)
{
    const json_t *folder = json_object_get(root, agent->own_folder);
    const json_t *on = json_object_get(root, agent->own_switch);
    bool ours = is_notes_folder(view_str(json_string_value(folder))) &&
                !json_equal(folder, json_object_get(was, agent->own_folder));
    *out = (struct entry_path){.path = {ours ? agent->own_folder : agent->own_switch}};
    return ours ||
           (was && json_is_false(on) && !json_equal(on, json_object_get(was, agent->own_switch)));
}

/* Whether settings for nothing else say anything of it. */
static bool is_own_memory_set(const json_t *root)
{
    struct entry_path target;
    for (const struct agent *agent = agents; agent->name; agent++)
        if (agent->own_folder && (find_own_memory(agent, root, NULL, &target) ||
                                  json_is_false(json_object_get(root, agent->own_switch))))
            return true;
    return false;
}

static bool find_any_own_memory(const json_t *root, const json_t *was, struct entry_path *out)
{
    for (const struct agent *agent = agents; agent->name; agent++)
        if (agent->own_folder && find_own_memory(agent, root, was, out))
            return true;
    return false;
}

/* ---- a draft that is edited step by step ---------------------------------------------------- */

struct draft {
    enum json_edit_form form;
    const char *what;
    struct str *text;
    struct str spare;
    json_t *json; /* of the text */
    json_t *was;  /* from before ours came; NULL: not known */
    struct ethos_error *error;
};

/* Takes the result of a step over. */
static int apply_step(struct draft *draft, int code)
{
    if (code == ETHOS_OK) {
        struct str done = draft->spare;
        draft->spare = *draft->text;
        *draft->text = done;
        json_decref(draft->json);
        draft->json = NULL;
        code = json_edit_parse(str_view(draft->text), draft->form, draft->what, &draft->json,
                               draft->error);
    }
    return code;
}

static int begin_draft(struct draft *draft, const struct agent_file *file, struct ethos_view text,
                       struct ethos_view before, const char *what, struct str *out,
                       struct ethos_error *error)
{
    *draft = (struct draft){.form = file->form == AGENT_JSONC ? JSON_EDIT_REMARKS
                                                              : JSON_EDIT_STRICT,
                            .what = what,
                            .text = out,
                            .error = error};
    str_init(&draft->spare, out->ceiling);
    str_clear(out);
    if (str_add(out, text) != ETHOS_OK)
        return err_nomem(error);
    int code = json_edit_parse(text, draft->form, what, &draft->json, error);
    if (code != ETHOS_OK || !before.data)
        return code;
    return json_edit_parse(before, draft->form, what, &draft->was, NULL) == ETHOS_NOMEM
               ? err_nomem(error)
               : ETHOS_OK;
}

static int end_draft(struct draft *draft, int code)
{
    json_decref(draft->json);
    json_decref(draft->was);
    str_release(&draft->spare);
    return code;
}

/* Takes the value. */
static int put_setting(struct draft *draft, const char *const path[], json_t *value)
{
    if (!value)
        return err_nomem(draft->error);
    int code = json_edit_put(str_view(draft->text), draft->form, draft->what, path, value,
                             &draft->spare, draft->error);
    json_decref(value);
    return apply_step(draft, code);
}

static int drop_setting(struct draft *draft, const char *const path[])
{
    return apply_step(draft, json_edit_drop(str_view(draft->text), draft->form, draft->what, path,
                                            &draft->spare, draft->error));
}

/* ---- adding -------------------------------------------------------------------------------- */

/* The home of an entry; the default one is not named. */
static int set_home(const struct agent *agent, json_t *entry, const char *home)
{
    const char *name = agent->joined ? "environment" : "env";
    json_t *env = json_object_get(entry, name);
    if (!home) {
        json_object_del(env, "ETHOS_HOME");
        if (json_object_size(env) == 0)
            json_object_del(entry, name);
        return 0;
    }
    if (!json_is_object(env) && json_object_set_new(entry, name, env = json_object()) != 0)
        return -1;
    return json_object_set_new(env, "ETHOS_HOME", json_string(home));
}

static json_t *make_server(const struct agent_wiring *wiring)
{
    const struct agent *agent = wiring->agent;
    json_t *server = json_object();
    int failed = !server ||
                 (agent->type && json_object_set_new(server, "type", json_string(agent->type)));
    failed = failed ||
             (agent->joined
                  ? json_object_set_new(server, "command",
                                        json_pack("[s, s]", wiring->program, "mcp")) ||
                        json_object_set_new(server, "enabled", json_true())
                  : json_object_set_new(server, "command", json_string(wiring->program)) ||
                        json_object_set_new(server, "args", json_pack("[s]", "mcp")));
    failed = failed ||
             (agent->filters && json_object_set_new(server, "tools", json_pack("[s]", "*")));
    failed = failed || set_home(agent, server, wiring->home) ||
             (agent->loads && json_object_set_new(server, LOADS, json_true()));
    if (!failed)
        return server;
    json_decref(server);
    return NULL;
}

/* Another program, another home; whatever else somebody wrote there stays. */
static int renew_server(struct draft *draft, const struct agent_wiring *wiring,
                        const struct entry_path *target)
{
    const json_t *was = json_edit_at(draft->json, target->path);
    json_t *entry = json_deep_copy(was), *command = json_object_get(entry, "command");
    int failed = json_is_array(command)
                     ? json_array_set_new(command, 0, json_string(wiring->program))
                     : json_object_set_new(entry, "command", json_string(wiring->program));
    if (failed || set_home(wiring->agent, entry, wiring->home) != 0 ||
        (wiring->agent->loads && !json_object_get(entry, LOADS) &&
         json_object_set_new(entry, LOADS, json_true()) != 0)) {
        json_decref(entry);
        return err_nomem(draft->error);
    }
    if (!json_equal(entry, was))
        return put_setting(draft, target->path, entry);
    json_decref(entry);
    return ETHOS_OK;
}

static int add_server(struct draft *draft, const struct agent_wiring *wiring)
{
    struct entry_path target;
    const char *const path[] = {servers_of(wiring->agent), AGENT_SERVER, NULL};
    if (draft->was && find_json_server(draft->json, draft->was, &target))
        return renew_server(draft, wiring, &target);
    if (find_json_server(draft->json, NULL, &target))
        return ETHOS_OK;
    if (!json_edit_at(draft->json, path))
        return put_setting(draft, path, make_server(wiring));
    err_set(draft->error, ETHOS_EXISTS, "%s: %s." AGENT_SERVER " is another program", draft->what,
            path[0]);
    return err_hint(draft->error, ETHOS_EXISTS, "rename it, then try again");
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

static int renew_hook(struct draft *draft, const struct agent_wiring *wiring,
                      struct entry_path *target)
{
    json_t *command = make_command(wiring, target->path[1]);
    const json_t *hook = json_edit_at(draft->json, target->path);
    if (command && json_equal(json_object_get(hook, "command"), command)) {
        json_decref(command);
        return ETHOS_OK;
    }
    target->path[target->path[3] ? 5 : 3] = "command";
    return put_setting(draft, target->path, command);
}

/* Behind the hooks of others: some agents know those by their place. */
static int add_hooks(struct draft *draft, const struct agent_wiring *wiring)
{
    struct entry_path target;
    static const char *const version[] = {"version", NULL};
    int code = ETHOS_OK;
    if (wiring->agent->flat && !json_edit_at(draft->json, version))
        code = put_setting(draft, version, json_integer(1));
    for (const struct agent_event *event = wiring->agent->events; code == ETHOS_OK && event->name;
         event++) {
        const char *const path[] = {HOOKS, event->name, "-", NULL};
        if (!find_hook(draft->json, event->name, NULL, &target))
            code = put_setting(draft, path, make_hook(wiring, event));
        else if (draft->was && find_hook(draft->json, event->name, draft->was, &target))
            code = renew_hook(draft, wiring, &target);
    }
    return code;
}

static int add_allowed_tools(struct draft *draft, const struct agent_wiring *wiring)
{
    const char *const *allowed = wiring->agent->allowed;
    const char *const list[] = {allowed[0], allowed[1], NULL};
    const char *const end[] = {allowed[0], allowed[1], "-", NULL};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && wiring->tools && wiring->tools[i]; i++) {
        json_t *tool = json_sprintf("%s%s", wiring->agent->tool_prefix, wiring->tools[i]);
        if (tool && lists_tool(json_edit_at(draft->json, list), tool))
            json_decref(tool);
        else
            code = put_setting(draft, end, tool);
    }
    return code;
}

static int refuse_own_memory(const struct draft *draft, const char *member, const char *what)
{
    err_set(draft->error, ETHOS_EXISTS, "%s: %s %s already", draft->what, member, what);
    return err_hint(draft->error, ETHOS_EXISTS, "remove it, then try again");
}

static int add_own_memory(struct draft *draft, const struct agent_wiring *wiring)
{
    struct entry_path target;
    const struct agent *agent = wiring->agent;
    const char *const folder[] = {agent->own_folder, NULL}, *const on[] = {agent->own_switch, NULL};
    bool share = *wiring->own_memory;
    json_t *wanted = share ? json_string(wiring->own_memory) : json_false();
    if (json_equal(wanted, json_edit_at(draft->json, share ? folder : on))) {
        json_decref(wanted);
        return ETHOS_OK;
    }
    int code = ETHOS_OK;
    while (code == ETHOS_OK && find_own_memory(agent, draft->json, draft->was, &target))
        code = drop_setting(draft, target.path); // as it was asked for before
    if (code == ETHOS_OK && share && json_edit_at(draft->json, folder))
        code = refuse_own_memory(draft, agent->own_folder, "names another folder");
    if (code == ETHOS_OK && share && json_is_false(json_edit_at(draft->json, on)))
        code = refuse_own_memory(draft, agent->own_switch, "is false");
    if (code == ETHOS_OK)
        return put_setting(draft, share ? folder : on, wanted);
    json_decref(wanted);
    return code;
}

int agent_json_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
                   struct ethos_view text, struct ethos_view before, const char *what,
                   struct str *out, struct ethos_error *error)
{
    struct draft draft;
    int code = begin_draft(&draft, file, text, before, what, out, error);
    if (code == ETHOS_OK && (parts & AGENT_MCP))
        code = add_server(&draft, wiring);
    if (code == ETHOS_OK && (parts & AGENT_HOOKS))
        code = add_hooks(&draft, wiring);
    if (code == ETHOS_OK && (parts & AGENT_TOOLS))
        code = add_allowed_tools(&draft, wiring);
    if (code == ETHOS_OK && (parts & AGENT_OWN_MEMORY) && wiring->own_memory)
        code = add_own_memory(&draft, wiring);
    return end_draft(&draft, code);
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

/* Drops an entry, or as much around it as is there for nothing else. */
static int drop_entry(struct draft *draft, struct entry_path *target)
{
    size_t depth = 0;
    while (target->path[depth])
        depth++;
    for (; depth > 1; depth--) {
        const char *last = target->path[depth - 1];
        target->path[depth - 1] = NULL;
        bool named = target->path[depth - 2][0] > '9'; // the place of a group may be another's
        if (!is_alone(json_edit_at(draft->json, target->path)) ||
            (named && json_edit_at(draft->was, target->path))) {
            target->path[depth - 1] = last;
            break;
        }
    }
    return drop_setting(draft, target->path);
}

/* Cursor wants to see a version beside hooks, which we added to those that were there. */
static int drop_version(struct draft *draft)
{
    static const char *const path[] = {"version", NULL};
    const json_t *hooks = json_object_get(draft->json, HOOKS);
    bool ours = draft->was && !json_object_get(draft->was, "version") &&
                (!hooks || json_equal(hooks, json_object_get(draft->was, HOOKS))) &&
                json_integer_value(json_object_get(draft->json, "version")) == 1;
    return ours ? drop_setting(draft, path) : ETHOS_OK;
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

int agent_json_remove(const struct agent_file *file, struct ethos_view text,
                      struct ethos_view before, const char *what, struct str *out,
                      struct ethos_error *error)
{
    struct draft draft;
    struct entry_path target;
    bool flat = false;
    int code = begin_draft(&draft, file, text, before, what, out, error);
    while (code == ETHOS_OK && find_json_server(draft.json, draft.was, &target))
        code = drop_entry(&draft, &target);
    while (code == ETHOS_OK && find_hook(draft.json, NULL, draft.was, &target)) {
        flat = !target.path[3];
        code = drop_entry(&draft, &target);
    }
    while (code == ETHOS_OK && find_tool(NULL, draft.json, draft.was, &target))
        code = drop_entry(&draft, &target);
    while (code == ETHOS_OK && (file->parts & AGENT_OWN_MEMORY) &&
           find_any_own_memory(draft.json, draft.was, &target))
        code = drop_entry(&draft, &target);
    if (code == ETHOS_OK && flat)
        code = drop_version(&draft);
    if (code == ETHOS_OK)
        code = restore_empty(&draft, before);
    return end_draft(&draft, code);
}

/* ---- looking ------------------------------------------------------------------------------- */

unsigned agent_json_parts(const struct agent *agent, struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct entry_path target;
    unsigned parts = json && agent->events->name ? AGENT_HOOKS : 0;
    for (const struct agent_event *event = agent->events; event->name; event++)
        if (!find_hook(json, event->name, NULL, &target))
            parts = 0;
    if (find_json_server(json, NULL, &target))
        parts |= AGENT_MCP;
    if (find_tool(agent, json, NULL, &target))
        parts |= AGENT_TOOLS;
    if (agent->own_folder && find_own_memory(agent, json, NULL, &target))
        parts |= AGENT_OWN_MEMORY;
    json_decref(json);
    return parts;
}

int agent_own_folder(const struct agent *agent, struct ethos_view text, struct str *out)
{
    json_t *json = agent->own_folder ? json_edit_look(text) : NULL;
    struct ethos_view folder = json_view(json, agent->own_folder);
    int code = !json_is_false(json_object_get(json, agent->own_switch)) && is_notes_folder(folder)
                   ? str_add(out, folder)
                   : ETHOS_OK;
    json_decref(json);
    return code;
}

/* Whatever the form of the entry, {"command": ..., "args": [...], "env": {...}}. */
static json_t *plain_server(const json_t *entry)
{
    const json_t *command = json_object_get(entry, "command");
    json_t *args = json_array(), *word;
    size_t index;
    json_array_foreach ((json_t *)words_of(entry), index, word)
        if (!json_is_array(command) || index > 0)
            json_array_append(args, word);
    const json_t *env = json_object_get(entry, json_is_array(command) ? "environment" : "env");
    return json_pack("{s:s, s:o, s:O*}", "command", program_of(entry), "args", args, "env", env);
}

json_t *agent_json_server(struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct entry_path target;
    json_t *server = find_json_server(json, NULL, &target)
                         ? plain_server(json_edit_at(json, target.path))
                         : NULL;
    json_decref(json);
    return server;
}

bool agent_json_touched(unsigned parts, struct ethos_view text)
{
    json_t *json = json_edit_look(text);
    struct entry_path target;
    bool touched = find_json_server(json, NULL, &target) || find_hook(json, NULL, NULL, &target) ||
                   find_tool(NULL, json, NULL, &target) ||
                   ((parts & AGENT_OWN_MEMORY) && is_own_memory_set(json));
    json_decref(json);
    return touched;
}

/* ---- which memory is used ------------------------------------------------------------------- */

static const char *home_of_server(const json_t *entry)
{
    size_t index;
    json_t *word;
    const json_t *words = words_of(entry), *env = json_object_get(entry, "env");
    json_array_foreach ((json_t *)words, index, word)
        if (view_eq_str(view_str(json_string_value(word)), "--home"))
            return json_string_value(json_array_get(words, index + 1));
    if (!env)
        env = json_object_get(entry, "environment");
    return json_string_value(json_object_get(env, "ETHOS_HOME"));
}

static int tell_server(const struct agent *agent, const char *name, const json_t *entry,
                       json_t *list)
{
    const char *home = home_of_server(entry);
    const struct agent_wiring wiring = {.agent = agent, .program = program_of(entry), .home = home};
    json_t *made = make_server(&wiring);
    if (!made)
        return -1;
    if (!json_object_get(entry, LOADS)) // as earlier versions wrote it
        json_object_del(made, LOADS);
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
    const struct agent_wiring wiring = {.agent = agent, .program = words.program, .home = home};
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
    struct entry_path target;
    int failed = 0;
    for (size_t i = 0; members[i]; i++)
        json_object_foreach (json_object_get(json, members[i]), name, entry)
            failed |= is_server(entry) ? tell_server(agent, name, entry, list) : 0;
    for (const struct agent_event *event = agent->events; event->name; event++)
        if (find_hook(json, event->name, NULL, &target))
            failed |= tell_hook(agent, event->name, json_edit_at(json, target.path), list);
    json_decref(json);
    return failed;
}

/* ---- one hook ------------------------------------------------------------------------------- */

bool agent_hook(struct ethos_view text, const char *event, size_t *out_group, size_t *out_number)
{
    json_t *json = json_edit_look(text);
    struct entry_path target;
    bool found = find_hook(json, event, NULL, &target);
    if (found) {
        *out_group = strtoull(target.group, NULL, 10);
        *out_number = strtoull(target.number, NULL, 10);
    }
    json_decref(json);
    return found;
}

int agent_hook_command(struct ethos_view text, const char *event, struct str *out_command,
                       struct str *out_program)
{
    json_t *json = json_edit_look(text);
    struct entry_path target;
    struct command words;
    int code = ETHOS_NOTFOUND;
    if (find_hook(json, event, NULL, &target)) {
        struct ethos_view command = json_view(json_edit_at(json, target.path), "command");
        read_command(command, &words);
        str_add(out_command, command);
        str_adds(out_program, words.program);
        code = str_code(out_command) ? str_code(out_command) : str_code(out_program);
    }
    json_decref(json);
    return code;
}
