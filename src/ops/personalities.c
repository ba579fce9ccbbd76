/*
 * personalities.c: the operations personalities.*: which roles there are, and which one is active.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/os.h"
#include "base/view.h"
#include "core/scope.h"
#include "core/slug.h"
#include "memory/service.h"
#include "ops/settings.h"
#include "ops/tables.h"

#define FOLDER "personalities"

/* ---- what there is ------------------------------------------------------------------------- */

struct id_list {
    int folder;
    json_t *ids; /* in order; NULL when out of memory */
};

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
    size_t at = json_array_size(list->ids);
    while (at > 0 && strcmp(json_string_value(json_array_get(list->ids, at - 1)), name) > 0)
        at--;
    op_json_insert(&list->ids, at, json_string(name));
    return 0;
}

/* The ids of every directory of personalities/, in order. */
static int list_ids(struct op_call *call, json_t **out_ids, struct ethos_error *error)
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

static bool has_id(const json_t *ids, const char *id)
{
    size_t index;
    const json_t *value;
    json_array_foreach ((json_t *)ids, index, value) {
        if (strcmp(json_string_value(value), id) == 0)
            return true;
    }
    return false;
}

static int active_id(struct op_call *call, const char **out, struct ethos_turn **out_turn,
                     struct ethos_error *error)
{
    int code = ethos_turn_new(call->ethos, call->request, out_turn, error);
    if (code == ETHOS_OK)
        *out = ethos_turn_context(*out_turn)->personality;
    return code;
}

static int personality_json(struct op_call *call, const char *id, const char *active, json_t **out,
                            struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(call->ethos, id, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    const char *name = config_own(own, "name");
    const char *user_scope = config_get(home, own, "userScope");
    const char *memory_scope = config_get(home, own, "memoryScope");
    bool shared = strcmp(memory_scope, "global") == 0;
    *out = json_pack("{s:s, s:o, s:o, s:b, s:s, s:s, s:s}", "id", id, "name",
                     op_json_string(name ? name : id), "description",
                     op_json_string(config_own(own, "description")), "active",
                     strcmp(id, active) == 0, "memoryScope", memory_scope, "userScope",
                     user_scope ? user_scope
                     : shared   ? "global"
                                : "user",
                     "provider", config_get(home, own, "memory.provider"));
    return *out ? ETHOS_OK : err_nomem(error);
}

static int run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    const char *active;
    int code = active_id(call, &active, &turn, error);
    if (code != ETHOS_OK)
        return code;
    json_t *ids = NULL;
    json_t *items = json_array();
    code = list_ids(call, &ids, error);
    if (code == ETHOS_OK && !has_id(ids, active))
        op_json_insert(&ids, 0, json_string(active));
    if (code == ETHOS_OK && !ids)
        code = err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < json_array_size(ids); i++) {
        json_t *row;
        code = personality_json(call, json_string_value(json_array_get(ids, i)), active, &row,
                                error);
        if (code == ETHOS_OK)
            op_json_push(&items, row);
    }
    if (code == ETHOS_OK)
        code = op_return(result, json_pack("{s:O, s:s}", "items", items, "defaultId", active),
                         error);
    json_decref(ids);
    json_decref(items);
    ethos_turn_free(turn);
    return code;
}

static int require_personality(struct op_call *call, const char *id, bool exists,
                               struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    json_t *ids = NULL;
    int code = scope_make(SCOPE_PERSONALITY, id, scope, error);
    if (code == ETHOS_OK)
        code = list_ids(call, &ids, error);
    bool found = has_id(ids, id);
    json_decref(ids);
    if (code != ETHOS_OK || found == exists || (exists && strcmp(id, "default") == 0))
        return code;
    if (exists) {
        code = err_set(error, ETHOS_NOTFOUND, "no such personality: %s", id);
        return err_hint(error, code, "make it: ethos personality create %s", id);
    }
    return err_set(error, ETHOS_EXISTS, "there is a personality %s already", id);
}

static int run_show(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_request request = *call->request;
    struct ethos_turn *active_turn, *turn;
    const char *active;
    int code = active_id(call, &active, &active_turn, error);
    if (code != ETHOS_OK)
        return code;
    const char *id = op_string(call, "id");
    if (id && strcmp(id, active) != 0)
        code = require_personality(call, id, true, error);
    if (id)
        request.personality = id;
    if (code == ETHOS_OK)
        code = ethos_turn_new(call->ethos, &request, &turn, error);
    if (code == ETHOS_OK) {
        const struct ethos_context *context = ethos_turn_context(turn);
        json_t *json;
        code = personality_json(call, context->personality, active, &json, error);
        if (code == ETHOS_OK) {
            op_json_put(&json, "memory", op_json_path(turn, context->memory_scope, "MEMORY.md"));
            code = op_return(result, json, error);
        }
        ethos_turn_free(turn);
    }
    ethos_turn_free(active_turn);
    return code;
}

/* ---- changing ------------------------------------------------------------------------------ */

static int run_create(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    const char *name = op_string(call, "name");
    const char *scope = op_string(call, "memoryScope");
    struct settings_change changes[2] = {{"name", name ? name : id}, {"memoryScope", scope}};
    char path[ETHOS_MAX_ID + 32];
    int code = require_personality(call, id, false, error);
    if (code != ETHOS_OK)
        return code;
    snprintf(path, sizeof path, "personalities/%s", id);
    code = settings_write(call, path, changes, scope ? 2 : 1, result, error);
    if (code != ETHOS_OK)
        return code;
    return op_return_change(call, result,
                            json_pack("{s:s, s:b}", "id", id, "created", !call->dry_run), error);
}

static int run_use(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    const struct settings_change change = {"personality", id};
    int code = require_personality(call, id, true, error);
    if (code == ETHOS_OK)
        code = settings_write(call, "", &change, 1, result, error);
    if (code != ETHOS_OK)
        return code;
    return op_return_change(call, result, json_pack("{s:s}", "active", id), error);
}

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg no_args[] = {ARG_END};
static const struct op_arg show_args[] = {
    {"id", OP_TEXT, OP_POSITIONAL, NULL, "ID", "a personality; the active one when left out"},
    ARG_END};
static const struct op_arg create_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "letters, digits, - and _"},
    {"name", OP_TEXT, 0, NULL, "NAME", "how it is called"},
    {"memoryScope", OP_CHOICE, 0, "per-personality|global", "SCOPE",
     "its own MEMORY.md, or the shared one"},
    ARG_END};
static const struct op_arg use_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", "a personality"}, ARG_END};

const struct op ops_personalities[] = {
    {"personalities.list", "personality list", "List the personalities", "ethos personality list",
     no_args, OP_PERSONALITIES_READ, OP_IDEMPOTENT, run_list},
    {"personalities.get", "personality show", "Show one personality",
     "ethos personality show engineer", show_args, OP_PERSONALITIES_READ, OP_IDEMPOTENT, run_show},
    {"personalities.create", "personality create", "Make a personality",
     "ethos personality create engineer", create_args, OP_OWNER, OP_WRITES, run_create},
    {"personalities.use", "personality use", "Make a personality the active one",
     "ethos personality use engineer", use_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL,
     run_use},
    {0}};
