/*
 * personalities.c: the operations personalities.*: list and show personalities, and switch to one. Creating and changing
 * them is in personalities_edit.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/text/slug.h"
#include "base/text/suggest.h"
#include "base/view.h"
#include "core/formats/toolset_yaml.h"
#include "core/memory/scope.h"
#include "memory/backends.h"
#include "memory/handle.h"
#include "ops/admin/builtin_personalities.h"
#include "ops/admin/config_edit.h"
#include "ops/admin/personalities.h"
#include "ops/admin/personality_json.h"
#include "ops/key_limits.h"
#include "ops/paging.h"
#include "ops/tables.h"

#define FOLDER PERSONALITIES_FOLDER
#define DEFAULT_ID "default"
#define LIST_PAGE 200 /* rows, unless a limit is given */
#define MEANT_EDITS 2 /* at most, between an id and a similar one */

/* ---- ids ----------------------------------------------------------------------------------- */

struct id_list {
    int folder;
    json_t *ids; /* in order; NULL when out of memory */
};

static void insert_id(json_t **ids, const char *id)
{
    size_t at = json_array_size(*ids);
    while (at > 0 && strcmp(json_string_value(json_array_get(*ids, at - 1)), id) > 0)
        at--;
    op_json_insert(ids, at, json_string(id));
}

static int collect_id(void *arg, const char *name)
{
    struct id_list *list = arg;
    struct stat info;
    if (!scope_id_ok(view_str(name)))
        return 0;
    if (os_fstatat(list->folder, name, &info, 0) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(info.st_mode))
        return 0;
    insert_id(&list->ids, name);
    return 0;
}

int personalities_ids(struct op_call *call, json_t **out_ids, struct ethos_error *error)
{
    int home;
    struct id_list list = {-1, NULL};
    int code = service_open_home(call->ethos, false, &home, error);
    if (code != ETHOS_OK)
        return code;
    list.ids = json_array();
    if (home >= 0) {
        list.folder = os_open_beneath(home, FOLDER, O_RDONLY | O_DIRECTORY, 0);
        bool absent = list.folder < 0 && errno == ENOENT;
        if (!absent && (list.folder < 0 || os_list(list.folder, collect_id, &list) != 0))
            code = err_errno(error, errno, FOLDER);
        if (list.folder >= 0)
            os_close(list.folder);
        os_close(home);
    }
    if (code == ETHOS_OK && !list.ids)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        *out_ids = list.ids;
    else
        json_decref(list.ids);
    return code;
}

static bool contains_id(const json_t *ids, const char *id)
{
    size_t index;
    const json_t *value;
    json_array_foreach ((json_t *)ids, index, value) {
        if (strcmp(json_string_value(value), id) == 0)
            return true;
    }
    return false;
}

static int add_remembered_personality(void *arg, struct ethos_provider *provider, const char *scope)
{
    json_t **ids = arg;
    enum scope_kind kind;
    const char *id;
    (void)provider;
    if (scope_parse(scope, &kind, &id, NULL) == ETHOS_OK && kind == SCOPE_PERSONALITY &&
        !contains_id(*ids, id))
        insert_id(ids, id);
    return ETHOS_OK;
}

/*
 * The ids of personalities with a directory or with memory; in a backend of files these are the same. Backends that do
 * not answer are left out.
 */
static int list_all_ids(struct op_call *call, json_t **out_ids, struct ethos_error *error)
{
    int code = personalities_ids(call, out_ids, error);
    if (code == ETHOS_OK)
        code = backends_scopes(call->ethos, add_remembered_personality, out_ids, NULL) ==
                       ETHOS_NOMEM
                   ? err_nomem(error)
                   : ETHOS_OK; // a backend that does not answer is skipped
    return code == ETHOS_OK && !*out_ids ? err_nomem(error) : code;
}

static bool has_directory(struct op_call *call, const char *id)
{
    char path[PERSONALITIES_PATH_SIZE];
    struct stat info;
    CLEANUP_FD int home = -1;
    if (service_open_home(call->ethos, false, &home, NULL) != ETHOS_OK || home < 0)
        return false;
    snprintf(path, sizeof path, FOLDER "/%s", id);
    return os_fstatat(home, path, &info, 0) == 0;
}

/* Remembers the candidate if it is the most similar so far. */
static void keep_if_nearer(const char *id, const char *candidate, size_t *best, char *out)
{
    size_t edits = nearest_edits(view_str(id), view_str(candidate));
    if (edits >= *best || edits >= strlen(id))
        return;
    *best = edits;
    snprintf(out, ETHOS_MAX_ID + 1, "%s", candidate);
}

void personalities_find_similar(struct op_call *call, const char *id,
                                char out_meant[ETHOS_MAX_ID + 1])
{
    json_t *ids = NULL;
    const json_t *value;
    size_t index, best = MEANT_EDITS + 1;
    *out_meant = 0;
    if (!scope_id_ok(view_str(id)) || strcmp(id, DEFAULT_ID) == 0 || has_directory(call, id) ||
        list_all_ids(call, &ids, NULL) != ETHOS_OK)
        return;
    if (!contains_id(ids, id)) {
        json_array_foreach (ids, index, value)
            keep_if_nearer(id, json_string_value(value), &best, out_meant);
        keep_if_nearer(id, DEFAULT_ID, &best, out_meant);
    }
    json_decref(ids);
}

static int open_active_turn(struct op_call *call, const char **out, struct ethos_turn **out_turn,
                            struct ethos_error *error)
{
    TRY(ethos_turn_new(call->ethos, call->request, out_turn, error));
    *out = ethos_turn_context(*out_turn)->personality;
    return ETHOS_OK;
}

int personalities_file(struct op_call *call, const char *id, const char *name, struct str *out,
                       bool *out_there, struct ethos_error *error)
{
    int home;
    char path[PERSONALITIES_PATH_SIZE];
    int code = service_open_home(call->ethos, false, &home, error);
    if (code != ETHOS_OK || home < 0)
        return code;
    snprintf(path, sizeof path, FOLDER "/%s/%s", id, name);
    code = home_read(home, path, ETHOS_MAX_READ_BYTES, out, NULL, error);
    os_close(home);
    if (out_there)
        *out_there = code == ETHOS_OK;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* If there is a toolset.yaml, it overrides the tools of config.yaml. */
static int set_toolset_member(struct op_call *call, const char *id, json_t **row,
                              struct ethos_error *error)
{
    struct str text;
    bool there = false;
    str_init(&text, ETHOS_MAX_READ_BYTES);
    int code = personalities_file(call, id, PERSONALITIES_TOOLSET, &text, &there, error);
    if (code == ETHOS_OK && there)
        op_json_put(row, "toolset", toolset_read(str_view(&text)));
    str_release(&text);
    return code;
}

/* The built-in personality with this id if it is not in the home yet; else NULL. */
static const struct builtin_personality *unused_builtin(struct op_call *call, const char *id)
{
    const struct builtin_personality *builtin = builtin_personality_find(id);
    return builtin && !has_directory(call, id) ? builtin : NULL;
}

/* Adds the members that a built-in personality will have once it is used. */
static void set_builtin_members(const struct builtin_personality *builtin, json_t **row)
{
    if (!builtin)
        return;
    op_json_put(row, "name", json_string(builtin->name));
    op_json_put(row, "description", json_string(builtin->description));
    if (builtin->toolset)
        op_json_put(row, "toolset", toolset_read(view_str(builtin->toolset)));
    op_json_put(row, "builtin", json_true());
}

int personalities_row(struct op_call *call, const char *id, const char *active, json_t **out,
                      struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(call->ethos, id, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    const char *user_scope = config_get(home, own, "userScope");
    const char *memory_scope = config_get(home, own, "memoryScope");
    json_t *row = personality_json(id, own);
    op_json_put(&row, "active", json_boolean(active && strcmp(id, active) == 0));
    op_json_put(&row, "memoryScope", json_string(memory_scope));
    op_json_put(&row, "userScope", json_string(user_scope));
    op_json_put(&row, "memoryProvider", op_json_string(config_get(home, own, "memory.provider")));
    code = set_toolset_member(call, id, &row, error);
    set_builtin_members(unused_builtin(call, id), &row);
    if (code == ETHOS_OK && row) {
        *out = row;
        return ETHOS_OK;
    }
    json_decref(row);
    return code == ETHOS_OK ? err_nomem(error) : code;
}

/* {"items": [{"id"}], "nextCursor"}: a page of the personalities that the caller may see. */
static int page_of_ids(struct op_call *call, const char *active, json_t **out,
                       struct ethos_error *error)
{
    json_t *ids = NULL, *items = json_array();
    int code = list_all_ids(call, &ids, error);
    if (code == ETHOS_OK && !contains_id(ids, active))
        op_json_insert(&ids, 0, json_string(active));
    if (code == ETHOS_OK && !ids)
        code = err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < json_array_size(ids); i++)
        op_json_push(&items, json_pack("{s:O}", "id", json_array_get(ids, i)));
    json_decref(ids);
    limits_filter(call, "personality", "id", items);
    *out = json_pack("{s:o}", "items", items);
    return code == ETHOS_OK ? pages_cut(call, out, "items", "id", LIST_PAGE, error) : code;
}

/* Replaces each id by its row. */
static int replace_ids_by_rows(struct op_call *call, const char *active, json_t *items,
                               struct ethos_error *error)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *id = json_string_value(json_object_get(json_array_get(items, i), "id"));
        json_t *row = NULL;
        TRY(personalities_row(call, id, active, &row, error));
        if (json_array_set_new(items, i, row) != 0)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

/* The built-in personalities that are not in the home yet. */
static json_t *unused_builtins(struct op_call *call)
{
    json_t *list = json_array();
    for (const struct builtin_personality *row = builtin_personalities; row->id; row++)
        if (!has_directory(call, row->id))
            op_json_push(&list,
                         json_pack("{s:s, s:s}", "id", row->id, "description", row->description));
    return list;
}

static int run_list_personalities(struct op_call *call, struct op_result *result,
                                  struct ethos_error *error)
{
    const char *active;
    json_auto_t *json = NULL;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(open_active_turn(call, &active, &turn, error));
    TRY(page_of_ids(call, active, &json, error));
    TRY(replace_ids_by_rows(call, active, json_object_get(json, "items"), error));
    op_json_put(&json, "defaultId", json_string(active));
    op_json_put(&json, "builtIn", unused_builtins(call));
    return op_return(result, json_incref(json), error);
}

int personalities_missing(const char *id, struct ethos_error *error)
{
    return err_hint(error, err_set(error, ETHOS_NOTFOUND, "no such personality: %s", id),
                    "ethos personality list shows them");
}

int personalities_require(struct op_call *call, const char *id, bool exists,
                          struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    json_t *ids = NULL;
    int code = scope_make(SCOPE_PERSONALITY, id, scope, error);
    if (code == ETHOS_OK)
        code = personalities_ids(call, &ids, error);
    bool found = contains_id(ids, id);
    json_decref(ids);
    if (code != ETHOS_OK || found == exists || (exists && strcmp(id, "default") == 0))
        return code;
    return exists ? personalities_missing(id, error)
                  : err_set(error, ETHOS_EXISTS, "the personality %s already exists", id);
}

/* The same for reading: a personality with memory but no directory, or a built-in one, will do. */
static int require_readable(struct op_call *call, const char *id, struct ethos_error *error)
{
    json_t *ids = NULL;
    int code = personalities_require(call, id, true, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    if (unused_builtin(call, id))
        return ETHOS_OK;
    bool known = list_all_ids(call, &ids, NULL) == ETHOS_OK && contains_id(ids, id);
    json_decref(ids);
    return known ? ETHOS_OK : code;
}

/* ---- one personality ----------------------------------------------------------------------- */

int personalities_soul(struct op_call *call, const char *id, struct str *out,
                       struct ethos_error *error)
{
    return personalities_file(call, id, PERSONALITIES_SOUL, out, NULL, error);
}

/* The policy of mcp.yaml; NULL if there is no such file, or when out of memory. */
static json_t *file_policy_json(struct op_call *call, const char *id)
{
    struct str text;
    bool there = false;
    str_init(&text, ETHOS_MAX_READ_BYTES);
    int code = personalities_file(call, id, PERSONALITIES_MCP, &text, &there, NULL);
    json_t *policy = code == ETHOS_OK && there ? mcp_policy_read(str_view(&text)) : NULL;
    str_release(&text);
    return policy;
}

/* {"servers": {name: {"tools": [...]}}} from mcp.yaml, else from the setting mcp_tools; JSON null without either. */
static json_t *policy_json(struct op_call *call, const char *id)
{
    const struct config *home, *own;
    json_t *tools = NULL, *servers = NULL, *list;
    const char *name, *text = NULL;
    json_t *policy = file_policy_json(call, id);
    if (policy)
        return policy;
    if (service_config(call->ethos, id, &home, &own, NULL) == ETHOS_OK)
        text = config_own(own, "mcp_tools");
    if (!text || !*text || json_parse(view_str(text), "", &tools, NULL) != ETHOS_OK)
        return json_null();
    if (json_is_object(tools)) {
        servers = json_object();
        json_object_foreach (tools, name, list)
            op_json_put(&servers, name,
                        json_is_array(list) ? json_pack("{s:O}", "tools", list)
                                            : json_incref(list));
    }
    json_decref(tools);
    return servers ? json_pack("{s:o}", "servers", servers) : json_null();
}

/* The personality that the call names, or the active one, and a turn of it. */
struct personality_view {
    struct ethos_turn *active_turn, *turn;
    const char *id, *active;
    struct str soul;
};

static int open_personality_view(struct op_call *call, struct personality_view *out,
                                 struct ethos_error *error)
{
    struct ethos_request request = *call->request;
    const char *id = op_string(call, "id");
    *out = (struct personality_view){0};
    str_init(&out->soul, ETHOS_MAX_READ_BYTES);
    int code = open_active_turn(call, &out->active, &out->active_turn, error);
    if (code == ETHOS_OK && id && strcmp(id, out->active) != 0)
        code = require_readable(call, id, error);
    if (id)
        request.personality = id;
    if (code == ETHOS_OK)
        code = ethos_turn_new(call->ethos, &request, &out->turn, error);
    if (code != ETHOS_OK)
        return code;
    out->id = ethos_turn_context(out->turn)->personality;
    const struct builtin_personality *builtin = unused_builtin(call, out->id);
    return builtin ? str_add(&out->soul, view_str(builtin->soul))
                   : personalities_soul(call, out->id, &out->soul, error);
}

static void close_personality_view(struct personality_view *shown)
{
    str_release(&shown->soul);
    ethos_turn_free(shown->turn);
    ethos_turn_free(shown->active_turn);
}

static int run_show_personality(struct op_call *call, struct op_result *result,
                                struct ethos_error *error)
{
    struct personality_view shown;
    json_t *row;
    int code = open_personality_view(call, &shown, error);
    if (code == ETHOS_OK)
        code = personalities_row(call, shown.id, shown.active, &row, error);
    if (code == ETHOS_OK)
        code = op_return(
            result,
            json_pack("{s:o, s:o, s:o, s:o}", "personality", row, "soulMd",
                      json_text(str_view(&shown.soul)), "mcpPolicy", policy_json(call, shown.id),
                      "memory",
                      op_json_path(shown.turn, ethos_turn_context(shown.turn)->memory_scope,
                                   "MEMORY.md")),
            error);
    close_personality_view(&shown);
    return code;
}

/* ---- the character sheet ------------------------------------------------------------------- */

static void append_code_list(struct str *out, const char *title, const json_t *list)
{
    size_t index;
    json_t *item;
    if (json_array_size(list) > 0)
        str_printf(out, "\n## %s\n\n", title);
    json_array_foreach (list, index, item)
        str_printf(out, "- `%s`\n", json_string_value(item));
}

/* Describes a personality on one page: purpose, soul, tools and memory. */
static void print_sheet(const json_t *row, struct ethos_view soul, struct str *out)
{
    const char *about = json_string_value(json_object_get(row, "description"));
    str_printf(out, "# %s\n", json_string_value(json_object_get(row, "name")));
    if (about)
        str_printf(out, "\n%s\n", about);
    soul = view_trim(soul);
    if (soul.size > 0)
        str_printf(out, "\n## Soul\n\n%.*s\n", VIEW_ARG(soul));
    append_code_list(out, "Tools", json_object_get(row, "toolset"));
    append_code_list(out, "Capabilities", json_object_get(row, "capabilities"));
    append_code_list(out, "MCP servers", json_object_get(row, "mcp_servers"));
    str_printf(out, "\n## Memory\n\n- MEMORY.md: %s\n- USER.md: %s\n",
               strcmp(json_string_value(json_object_get(row, "memoryScope")), "global") == 0
                   ? "shared with the others"
                   : "its own",
               json_string_value(json_object_get(row, "userScope")));
}

static int run_show_sheet(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct personality_view shown;
    json_t *row = NULL;
    struct str sheet;
    str_init(&sheet, ETHOS_MAX_STORE_BYTES);
    int code = open_personality_view(call, &shown, error);
    if (code == ETHOS_OK)
        code = personalities_row(call, shown.id, shown.active, &row, error);
    if (code == ETHOS_OK) {
        print_sheet(row, str_view(&shown.soul), &sheet);
        result->has_text = !call->want_json;
        str_add(&result->text, view_of(sheet.data, call->want_json ? 0 : sheet.size));
        code = str_code(&sheet) == ETHOS_OK && str_code(&result->text) == ETHOS_OK
                   ? op_return(result,
                               json_pack("{s:o, s:n}", "markdown", json_text(str_view(&sheet)),
                                         "posture"),
                               error)
                   : err_nomem(error);
    }
    json_decref(row);
    str_release(&sheet);
    close_personality_view(&shown);
    return code;
}

/* ---- use ----------------------------------------------------------------------------------- */

static int create_builtin(struct op_call *call, struct ethos_error *error)
{
    struct op_result made;
    op_result_init(&made);
    int code = personalities_run_create(call, &made, error);
    op_result_release(&made);
    return code;
}

static int run_use_personality(struct op_call *call, struct op_result *result,
                               struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    const struct settings_change change = {"personality", id};
    int code = require_readable(call, id, error);
    if (code == ETHOS_NOTFOUND)
        err_hint(error, code, "to create it: ethos personality create %s", id);
    TRY(code);
    if (unused_builtin(call, id))
        TRY(create_builtin(call, error));
    TRY(settings_write(call, "", &change, 1, result, error));
    return op_return_change(call, result, json_pack("{s:s}", "active", id), error);
}

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }
#define ARG_NEW_ID(name)                                                                           \
    {                                                                                              \
        name, OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "NEW", "letters, digits, - and _"        \
    }
#define ARG_MEMBERS                                                                                \
    {"name", OP_TEXT, 0, NULL, "NAME", "its name"},                                                \
        {"description", OP_TEXT, OP_NULL, NULL, "TEXT", "what it is for"},                         \
        {"memoryScope",                                                                            \
         OP_CHOICE,                                                                                \
         0,                                                                                        \
         "per-personality|global",                                                                 \
         "SCOPE",                                                                                  \
         "its own MEMORY.md, or the shared one"},                                                  \
        {"soulMd", OP_TEXT, 0, NULL, "TEXT", "the text of its SOUL.md: who it is"},                \
    {                                                                                              \
        "fields", OP_TEXT, OP_JSON, NULL, "JSON",                                                  \
            "further members, for other programs: {\"toolset\": [\"read\"], \"model\": \"x\"}"     \
    }

static const struct op_arg list_args[] = {
    ARG_LIMIT("1|1000000", "at most this many (default: all; other surfaces: 200)"), ARG_CURSOR,
    ARG_END};
static const struct op_arg show_args[] = {
    {"id", OP_TEXT, OP_POSITIONAL, NULL, "ID", "a personality (default: the active one)"}, ARG_END};
static const struct op_arg create_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "letters, digits, - and _"},
    {"from", OP_TEXT, 0, NULL, "ID",
     "copy the settings of this personality, or of the built-in engineer, researcher or reviewer"},
    ARG_MEMBERS,
    ARG_END};
static const struct op_arg one_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "a personality"}, ARG_END};
static const struct op_arg update_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "a personality"},
    ARG_MEMBERS,
    ARG_END};
static const struct op_arg duplicate_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "a personality"},
    ARG_NEW_ID("newId"),
    ARG_END};

const struct op ops_personalities[] = {
    {"personalities.list", "personality list", "List the personalities", "ethos personality list",
     list_args, OP_PERSONALITIES_READ, OP_IDEMPOTENT | OP_QUICK, run_list_personalities},
    {"personalities.get", "personality show", "Show one personality",
     "ethos personality show engineer", show_args, OP_PERSONALITIES_READ, OP_IDEMPOTENT | OP_QUICK,
     run_show_personality},
    {"personalities.characterSheet", "personality sheet", "Describe a personality on one page",
     "ethos personality sheet engineer", show_args, OP_PERSONALITIES_READ, OP_IDEMPOTENT | OP_QUICK,
     run_show_sheet},
    {"personalities.create", "personality create", "Create a personality",
     "ethos personality create engineer", create_args, OP_OWNER, OP_WRITES,
     personalities_run_create},
    {"personalities.update", "personality update", "Change a personality",
     "ethos personality update engineer --description 'Builds things'", update_args, OP_OWNER,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, personalities_run_update},
    {"personalities.duplicate", "personality copy", "Copy a personality without its memory",
     "ethos personality copy engineer reviewer", duplicate_args, OP_OWNER, OP_WRITES,
     personalities_run_duplicate},
    {"personalities.delete", "personality delete", "Delete a personality; its files are moved away",
     "ethos personality delete engineer", one_args, OP_OWNER, OP_WRITES | OP_DESTRUCTIVE,
     personalities_run_delete},
    {"personalities.use", "personality use", "Switch to a personality",
     "ethos personality use engineer", one_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL,
     run_use_personality},
    {0}};
