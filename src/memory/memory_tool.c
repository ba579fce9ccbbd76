/*
 * memory_tool.c: runs the commands of the memory tool on the tree of a scope.
 *
 * Whether a path is a file, a directory or nothing is read from the list of all files, which never
 * shows half of a transaction. Texts are changed under the lock: an edit is a pure function that
 * the store calls, so that two callers lose nothing; deleting or renaming a directory is one update
 * of all its files. A file that appears between listing and update counts as created afterwards,
 * one that disappears as deleted before; if it becomes a directory, or the reverse, so that nothing
 * could be done, the command starts over.
 */
#include <stdlib.h>
#include <string.h>

#include <ethos/ethos.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/agents/memory_tool.h"
#include "memory/handle_internal.h"

struct tool {
    struct ethos_turn *turn;
    char scope[ETHOS_MAX_SCOPE];
    struct tool_call call;
    struct tool_reply reply;
    const struct ethos_sync_how *how;
    struct arena arena;
    struct tool_row *rows;
    size_t count, room;
    struct str text; /* of the edited file */
    bool asked;      /* the store has called the edit function */
    bool refused;    /* set by that function */
};

#define TRIES 8 /* attempts while others keep changing the tree */

/* ---- the tree -------------------------------------------------------------------------------- */

static int add_tool_row(void *arg, const struct ethos_entry *entry)
{
    struct tool *tool = arg;
    if (!scope_key_shown(tool->scope, entry->key))
        return ETHOS_OK;
    struct tool_row *rows = arena_grow(&tool->arena, tool->rows, tool->count, &tool->room,
                                       sizeof *rows);
    const char *key = rows ? arena_str(&tool->arena, entry->key) : NULL;
    if (!key)
        return ETHOS_NOMEM;
    tool->rows = rows;
    rows[tool->count++] = (struct tool_row){key, entry->bytes};
    return ETHOS_OK;
}

static int list_tree_files(struct tool *tool, struct ethos_error *error)
{
    struct ethos_provider *provider = tool->turn->provider;
    int code = ETHOS_BUSY; // while others change what is listed
    for (int i = 0; code == ETHOS_BUSY && i < TRIES; i++) {
        tool->count = 0;
        code = provider->ops->list(provider, tool->scope, add_tool_row, tool, error);
    }
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static enum tool_kind kind_of(const struct tool *tool, const struct tool_path *path)
{
    return tool_kind_of(tool->rows, tool->count, path->key);
}

/* Whether the listed files allow the command; if not, the reply says why. */
typedef bool possible_fn(struct tool *tool);

static int check_tree(struct tool *tool, possible_fn *possible, bool *out,
                      struct ethos_error *error)
{
    int code = list_tree_files(tool, error);
    *out = code == ETHOS_OK && possible(tool);
    return code;
}

/* ---- view ------------------------------------------------------------------------------------- */

static int view_path(struct tool *tool, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_provider *provider = tool->turn->provider;
    const struct ethos_host *host = tool->turn->ethos->host;
    struct ethos_text text = {0};
    int code = ETHOS_NOTFOUND;
    if (tool->call.path.key[0])
        code = provider->ops->read(provider, tool->scope, tool->call.path.key, &whole, &text,
                                   error);
    if (code == ETHOS_OK)
        tool_view_file(&tool->call, view_of(text.data, text.size), &tool->reply);
    host->resize(host->arg, text.data, 0);
    if (code == ETHOS_OK)
        return ETHOS_OK;
    int listed = list_tree_files(tool, error);
    if (listed != ETHOS_OK)
        return listed;
    bool directory = kind_of(tool, &tool->call.path) == TOOL_DIRECTORY;
    if (directory)
        tool_view_directory(&tool->call, tool->rows, tool->count, &tool->reply);
    else if (code == ETHOS_NOTFOUND)
        tool_missing(&tool->call, &tool->reply);
    return directory || code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* ---- create, str_replace, insert -------------------------------------------------------------- */

static int refuse_call(struct tool *tool)
{
    tool->refused = true;
    return ETHOS_INVALID; // the reply says why
}

static int edit_file(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct tool *tool = arg;
    struct ethos_view old = view_of(edits->old.data, edits->old.size);
    (void)count;
    tool->asked = true;
    tool->refused = false;
    if (!tool_edit(&tool->call, old, &tool->text, &tool->reply))
        return refuse_call(tool);
    if (str_code(&tool->text) != ETHOS_OK)
        return err_set(error, str_code(&tool->text), "%s: too large", edits->key);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = str_view(&tool->text);
    edits->actions = "replace";
    return ETHOS_OK;
}

static bool can_create(struct tool *tool)
{
    const struct tool_path *path = &tool->call.path;
    if (kind_of(tool, path) != TOOL_NOTHING)
        return tool_refuse(&tool->reply, "Error: File %.*s already exists", VIEW_ARG(path->shown));
    return tool_reachable(tool->rows, tool->count, path, &tool->reply);
}

static int run_edit_command(struct tool *tool, struct ethos_error *error)
{
    struct ethos_edit edits = {.key = tool->call.path.key};
    bool possible = true;
    int code = ETHOS_OK;
    if (tool->call.command == TOOL_CREATE)
        code = check_tree(tool, can_create, &possible, error);
    else if (!edits.key[0])
        possible = tool_missing(&tool->call, &tool->reply);
    if (code != ETHOS_OK || !possible)
        return code;
    str_init(&tool->text, ETHOS_MAX_STORE_BYTES);
    code = handle_update(tool->turn, tool->scope, &edits, 1, edit_file, tool, tool->how, error);
    str_release(&tool->text);
    if (code == ETHOS_OK || tool->refused || tool->call.command == TOOL_CREATE ||
        list_tree_files(tool, NULL) != ETHOS_OK)
        return code;
    // A directory cannot be edited, and a file has nothing below it.
    tool->refused = kind_of(tool, &tool->call.path) == TOOL_DIRECTORY ||
                    !tool_reachable(tool->rows, tool->count, &tool->call.path, &tool->reply);
    if (tool->refused)
        tool_missing(&tool->call, &tool->reply);
    return code;
}

/* ---- delete and rename ------------------------------------------------------------------------ */

static bool can_delete(struct tool *tool)
{
    if (!tool->call.path.key[0])
        return tool_refuse(&tool->reply, "Cannot delete the /memories directory itself");
    return kind_of(tool, &tool->call.path) != TOOL_NOTHING ||
           tool_missing(&tool->call, &tool->reply);
}

static bool can_rename(struct tool *tool)
{
    const struct tool_path *from = &tool->call.path, *to = &tool->call.new_path;
    if (!from->key[0])
        return tool_refuse(&tool->reply, "Cannot rename the /memories directory itself");
    if (kind_of(tool, to) != TOOL_NOTHING)
        return tool_refuse(&tool->reply, "Error: The destination %.*s already exists",
                           VIEW_ARG(to->shown));
    if (kind_of(tool, from) == TOOL_NOTHING)
        return tool_missing(&tool->call, &tool->reply);
    if (tool_below(to->key, from->key))
        return tool_refuse(&tool->reply, "Error: The destination %.*s is inside %.*s",
                           VIEW_ARG(to->shown), VIEW_ARG(from->shown));
    return tool_reachable(tool->rows, tool->count, to, &tool->reply);
}

/* The first half are files that are removed; the second, of a rename, their new names. */
static int edit_tree(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct tool *tool = arg;
    bool renames = tool->call.command == TOOL_RENAME, any = false;
    size_t files = renames ? count / 2 : count;
    (void)error;
    tool->asked = true;
    tool->refused = false;
    for (size_t i = 0; i < files; i++) {
        struct ethos_edit *from = &edits[i], *to = renames ? &edits[files + i] : NULL;
        if (to && to->old.data) {
            tool_refuse(&tool->reply, "Error: The destination %.*s already exists",
                        VIEW_ARG(tool->call.new_path.shown));
            return refuse_call(tool);
        }
        if (!from->old.data)
            continue; // somebody else removed it first
        any = true;
        from->verdict = ETHOS_EDIT_DROP;
        from->actions = "delete";
        if (!to)
            continue;
        to->verdict = ETHOS_EDIT_PUT;
        to->text = view_of(from->old.data, from->old.size);
        to->actions = "replace";
    }
    if (!any) {
        tool_missing(&tool->call, &tool->reply);
        return refuse_call(tool);
    }
    tool_done(&tool->call, &tool->reply);
    return ETHOS_OK;
}

/* The key of a file after the rename. NULL if it is too long (see the reply) or out of memory. */
static const char *make_renamed_key(struct tool *tool, const char *key)
{
    CLEANUP_STR struct str name;
    const char *rest = key + strlen(tool->call.path.key), *result = NULL;
    str_init(&name, ETHOS_MAX_KEY);
    str_adds(&name, tool->call.new_path.key);
    str_adds(&name, rest);
    if (str_code(&name) == ETHOS_LIMIT)
        tool->refused = !tool_refuse(&tool->reply,
                                     "Error: The path %.*s%s would have more than %d bytes",
                                     VIEW_ARG(tool->call.new_path.shown), rest, ETHOS_MAX_KEY);
    else if (str_code(&name) == ETHOS_OK)
        result = arena_copy(&tool->arena, str_view(&name));
    return result;
}

/* Fills edits with the keys below the path. ETHOS_INVALID: the reply says why not. */
static int name_edits(struct tool *tool, struct ethos_edit *edits, size_t files,
                      struct ethos_error *error)
{
    size_t at = 0;
    for (size_t i = 0; i < tool->count; i++) {
        const char *key = tool->rows[i].key;
        if (!tool_below(key, tool->call.path.key))
            continue;
        edits[at].key = key;
        if (tool->call.command == TOOL_RENAME)
            edits[files + at].key = make_renamed_key(tool, key);
        if (tool->call.command == TOOL_RENAME && !edits[files + at].key)
            return tool->refused ? ETHOS_INVALID : err_nomem(error);
        at++;
    }
    return ETHOS_OK;
}

static int change_tree(struct tool *tool, struct ethos_error *error)
{
    size_t files = 0;
    for (size_t i = 0; i < tool->count; i++)
        files += tool_below(tool->rows[i].key, tool->call.path.key);
    if (files > TOOL_MAX_FILES) {
        tool_refuse(&tool->reply,
                    "Error: %.*s has %zu files, more than the %d of one command. Take its "
                    "subdirectories one by one",
                    VIEW_ARG(tool->call.path.shown), files, TOOL_MAX_FILES);
        return ETHOS_OK;
    }
    size_t count = tool->call.command == TOOL_RENAME ? 2 * files : files;
    struct ethos_edit *edits = arena_array(&tool->arena, count, sizeof *edits);
    if (!edits)
        return err_nomem(error);
    memset(edits, 0, count * sizeof *edits);
    TRY(name_edits(tool, edits, files, error));
    return handle_update(tool->turn, tool->scope, edits, count, edit_tree, tool, tool->how, error);
}

static int delete_or_rename(struct tool *tool, struct ethos_error *error)
{
    bool possible;
    TRY(check_tree(tool, tool->call.command == TOOL_DELETE ? can_delete : can_rename, &possible,
                   error));
    return possible ? change_tree(tool, error) : ETHOS_OK;
}

/* ---- the call --------------------------------------------------------------------------------- */

static int attempt_call(struct tool *tool, struct ethos_error *error)
{
    enum tool_command command = tool->call.command;
    tool->asked = false;
    return command == TOOL_VIEW                               ? view_path(tool, error)
           : command == TOOL_DELETE || command == TOOL_RENAME ? delete_or_rename(tool, error)
                                                              : run_edit_command(tool, error);
}

/* Whether a failed command can start over, because nothing has been done. */
static bool is_undone(struct tool *tool)
{
    enum tool_command command = tool->call.command;
    if (!tool->asked)
        return true;
    if (command == TOOL_STR_REPLACE || command == TOOL_INSERT ||
        list_tree_files(tool, NULL) != ETHOS_OK)
        return false;
    enum tool_kind kind = kind_of(tool, &tool->call.path);
    return command == TOOL_CREATE ? kind != TOOL_FILE : kind != TOOL_NOTHING;
}

static int run_with_retries(struct tool *tool, struct ethos_error *error)
{
    struct ethos_error local = {0};
    int64_t until = os_monotonic_ms() +
                    ETHOS_LOCK_DEADLINE_MS / 2; // waiting for a lock counts, too
    int tries = 0, code;
    bool again; // a path whose kind has changed is a system error, or others are changing it
    do {
        code = attempt_call(tool, &local);
        again = (code == ETHOS_IO || code == ETHOS_BUSY) && !tool->refused && is_undone(tool);
    } while (again && ++tries < TRIES && os_monotonic_ms() < until);
    if (code == ETHOS_OK || tool->refused)
        return ETHOS_OK;
    if (code == ETHOS_DENIED || code == ETHOS_LIMIT || code == ETHOS_EXISTS) {
        tool_refuse(&tool->reply, "Error: %s", local.text); // the model may try something else
        return ETHOS_OK;
    }
    if (error)
        *error = local;
    return code;
}

static int return_reply(struct tool *tool, struct ethos_reply **out, struct ethos_error *error)
{
    struct ethos_reply *reply = str_code(&tool->reply.text) == ETHOS_OK ? calloc(1, sizeof *reply)
                                                                        : NULL;
    if (!reply)
        return err_nomem(error);
    reply->is_error = tool->reply.is_error;
    reply->text = str_steal(&tool->reply.text, &reply->size);
    if (reply->text) {
        *out = reply;
        return ETHOS_OK;
    }
    free(reply);
    return err_nomem(error);
}

static int resolve_tool_scope(const struct ethos_turn *turn, const char *scope,
                              char out[ETHOS_MAX_SCOPE], struct ethos_error *error)
{
    struct scope_target target;
    int code = scope_target(&turn->context, NULL, scope ? scope : turn->context.memory_scope,
                            "MEMORY.md", true, &target, error);
    if (code == ETHOS_OK && scope_is_tree(target.scope))
        memcpy(out, target.scope, sizeof target.scope);
    else if (code == ETHOS_OK)
        scope_tree(target.scope, out);
    return code;
}

int ethos_memory_tool(struct ethos_turn *turn, const char *scope, struct ethos_view json,
                      const struct ethos_sync_how *how, struct ethos_reply **out_reply,
                      struct ethos_error *error)
{
    static const struct ethos_origin by_tool = {.via = "memory-tool"};
    static const struct ethos_sync_how plain = {.origin = &by_tool};
    struct tool tool = {.turn = turn, .how = how ? how : &plain};
    json_t *object = NULL;
    if (tool.how->origin && tool.how->origin->op_id)
        return err_set(error, ETHOS_INVALID, "memory tool: does not take an operation id");
    int code = resolve_tool_scope(turn, scope, tool.scope, error);
    if (code == ETHOS_OK)
        code = json_parse_wide(json, "memory tool", &object, error);
    if (code == ETHOS_OK && !json_is_object(object))
        code = err_set(error, ETHOS_INVALID, "memory tool: a command is a JSON object");
    if (code == ETHOS_OK) {
        arena_init(&tool.arena);
        tool_reply_init(&tool.reply);
        if (tool_parse(object, &tool.call, &tool.reply))
            code = run_with_retries(&tool, error);
        if (code == ETHOS_OK)
            code = return_reply(&tool, out_reply, error);
        tool_reply_release(&tool.reply);
        arena_release(&tool.arena);
    }
    json_decref(object);
    return code;
}

void ethos_reply_free(struct ethos_reply *reply)
{
    if (!reply)
        return;
    free(reply->text);
    free(reply);
}
