/*
 * status.c: what uses this memory, what of it is in prompts, when it was read and written, what needs a person. Put
 * together from other operations.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/home/directory.h"
#include "memory/hooks/hooks.h"
#include "ops/admin/install.h"
#include "ops/admin/login.h"
#include "ops/admin/status.h"
#include "ops/tables.h"

#define RECENT 100 /* changes that are looked at for who wrote last */
#define URL_SIZE 512

/* Runs an operation for its JSON; takes args. */
static int run_inner_op(const struct op_call *call, const char *name, json_t *args, json_t **out,
                        struct ethos_error *error)
{
    struct op_call inner = *call;
    struct op_result result;
    inner.args = args;
    inner.want_json = true;
    op_result_init(&result);
    int code = args ? op_run(op_find(name), &inner, &result, error) : err_nomem(error);
    if (code == ETHOS_OK) {
        *out = result.json;
        result.json = NULL;
    }
    op_result_release(&result);
    json_decref(args);
    return code;
}

/* ---- agents ---------------------------------------------------------------------------------- */

/* The newest change of an actor whose name begins so: codex is codex-mcp-client where it uses the tools. */
static const json_t *find_last_change(const json_t *changes, const char *actor)
{
    size_t index;
    json_t *row;
    json_array_foreach (changes, index, row)
        if (view_starts(json_view(row, "actor"), view_str(actor)))
            return row;
    return NULL;
}

static int add_agents(const struct op_call *call, const json_t *changes, json_t **status,
                      struct ethos_error *error)
{
    size_t index;
    json_t *rows, *row, *list = json_array();
    int code = install_list(&rows, error);
    if (code != ETHOS_OK) {
        json_decref(list);
        return code;
    }
    json_array_foreach (rows, index, row) {
        const char *name = json_string_value(json_object_get(row, "agent"));
        const json_t *change = find_last_change(changes, name);
        json_t *own = json_incref(row);
        op_json_put(&own, "lastRead", op_json_time(hooks_last_read(call->ethos, name)));
        op_json_put(&own, "lastWrite",
                    change ? json_incref(json_object_get(change, "time")) : json_null());
        op_json_push(&list, own);
    }
    json_decref(rows);
    op_json_put(status, "agents", list);
    return ETHOS_OK;
}

/* ---- the server ------------------------------------------------------------------------------- */

static json_t *find_server(const struct op_call *call)
{
    char url[URL_SIZE];
    long pid = 0;
    struct login *login;
    struct ethos_error error;
    if (service_ephemeral(call->ethos) || !op_home_exists(service_home(call->ethos)) ||
        login_open(service_home(call->ethos), &login, &error) != ETHOS_OK)
        return json_null();
    int code = login_server(login, url, sizeof url, &pid, &error);
    login_close(login);
    bool runs = code == ETHOS_OK && pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
    return op_json_string(runs ? url : NULL);
}

/* ---- the whole -------------------------------------------------------------------------------- */

static int add_prompt(const struct op_call *call, json_t **status, struct ethos_error *error)
{
    json_t *shown;
    int code = run_inner_op(call, "memory.list", json_object(), &shown, error);
    if (code != ETHOS_OK)
        return code;
    static const char *const names[] = {"personality", "user",    "backend", "chars",
                                        "budget",      "omitted", "hooks"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        op_json_put(status, names[i], json_incref(json_object_get(shown, names[i])));
    json_decref(shown);
    return ETHOS_OK;
}

static int add_folder(const struct op_call *call, json_t **status)
{
    json_t *where = NULL;
    struct ethos_error error;
    int code = run_inner_op(call, "workspaces.where", json_object(), &where, &error);
    op_json_put(status, "folder",
                code == ETHOS_OK ? json_pack("{s:O, s:O}", "path", json_object_get(where, "path"),
                                             "notes", json_object_get(where, "notes"))
                                 : json_null());
    json_decref(where);
    return code == ETHOS_NOMEM ? code : ETHOS_OK; // outside of any project there is none
}

/* What a list has rows of needs a person. */
static const struct counted_need {
    const char *operation, *rows, *one, *many, *remedy;
} counted_needs[] = {
    {"pending.list", "pending", "change waits for approval", "changes wait for approval",
     "ethos pending"},
    {"conflicts.list", "conflicts", "change that could not be merged",
     "changes that could not be merged", "ethos conflicts list"},
};

static int add_counted_need(const struct op_call *call, const struct counted_need *need,
                            json_t **needs, struct ethos_error *error)
{
    json_t *list;
    int code = run_inner_op(call, need->operation, json_object(), &list, error);
    if (code != ETHOS_OK)
        return code;
    size_t count = json_array_size(json_object_get(list, need->rows));
    if (count > 0)
        op_json_push(needs,
                     json_pack("{s:o, s:s}", "problem",
                               json_sprintf("%zu %s", count, count == 1 ? need->one : need->many),
                               "remedy", need->remedy));
    json_decref(list);
    return ETHOS_OK;
}

/* What doctor would say without asking anybody. */
static int add_needs(const struct op_call *call, json_t **status, struct ethos_error *error)
{
    size_t index;
    json_t *health, *finding, *needs = json_array();
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < sizeof counted_needs / sizeof *counted_needs; i++)
        code = add_counted_need(call, &counted_needs[i], &needs, error);
    if (code == ETHOS_OK)
        code = run_inner_op(call, "meta.health", json_object(), &health, error);
    if (code == ETHOS_OK) {
        json_array_foreach (json_object_get(health, "findings"), index, finding)
            op_json_push(&needs, json_incref(finding));
        json_decref(health);
    }
    op_json_put(status, "needs", needs);
    return code;
}

static int run_status(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_t *timeline = NULL;
    json_t *status = json_pack("{s:s, s:o}", "version", ethos_version(), "home",
                               op_json_string(service_home(call->ethos)));
    int code = run_inner_op(call, "memory.timeline", json_pack("{s:i}", "limit", RECENT), &timeline,
                            error);
    const json_t *changes = json_object_get(timeline, "items");
    if (code == ETHOS_OK)
        code = add_prompt(call, &status, error);
    if (code == ETHOS_OK && add_folder(call, &status) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = add_agents(call, changes, &status, error);
    if (code == ETHOS_OK)
        code = add_needs(call, &status, error);
    if (code == ETHOS_OK) {
        json_t *last = json_array_get(changes, 0);
        op_json_put(&status, "lastChange", last ? json_incref(last) : json_null());
        op_json_put(&status, "server", find_server(call));
    }
    json_decref(timeline);
    if (code == ETHOS_OK)
        return op_return(result, status, error);
    json_decref(status);
    return code;
}

bool op_home_exists(const char *home)
{
    struct stat info;
    char *path = NULL;
    bool there = home_path(home, &path, NULL) == ETHOS_OK &&
                 os_fstatat(AT_FDCWD, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
    free(path);
    return there;
}

const struct op ops_status[] = {
    {"admin.status", "status", "Show who uses this memory and what needs you", "ethos status", NULL,
     OP_OWNER, OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_status},
    {0}};
