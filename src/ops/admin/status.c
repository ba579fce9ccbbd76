/*
 * status.c: the operation admin.status: which agents use this memory, how much of it prompts show, when it was last read
 * and written, and what needs a decision. It combines the results of other operations.
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

#define RECENT 100 /* changes searched for the last one of each agent */
#define URL_SIZE 512

/* Runs another operation and gives its JSON; takes args. */
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

/* The newest change of an actor whose name starts so: codex is codex-mcp-client when it uses the tools. */
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
    json_auto_t *rows = NULL;
    json_t *row, *list = NULL;
    TRY(install_list(&rows, error));
    list = json_array();
    json_array_foreach (rows, index, row) {
        const char *name = json_string_value(json_object_get(row, "agent"));
        const json_t *change = find_last_change(changes, name);
        json_t *own = json_incref(row);
        op_json_put(&own, "lastRead", op_json_time(hooks_last_read(call->ethos, name)));
        op_json_put(&own, "lastWrite",
                    change ? json_incref(json_object_get(change, "time")) : json_null());
        op_json_push(&list, own);
    }
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

/* ---- the operation ---------------------------------------------------------------------------- */

static int add_prompt(const struct op_call *call, json_t **status, struct ethos_error *error)
{
    static const char *const names[] = {"personality", "user",    "backend", "chars",
                                        "budget",      "omitted", "hooks"};
    json_auto_t *shown = NULL;
    TRY(run_inner_op(call, "memory.list", json_object(), &shown, error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        op_json_put(status, names[i], json_incref(json_object_get(shown, names[i])));
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
    return code == ETHOS_NOMEM ? code : ETHOS_OK; // there may be no project
}

/* Lists whose rows need a decision. */
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
    json_auto_t *list = NULL;
    TRY(run_inner_op(call, need->operation, json_object(), &list, error));
    size_t count = json_array_size(json_object_get(list, need->rows));
    if (count > 0)
        op_json_push(needs,
                     json_pack("{s:o, s:s}", "problem",
                               json_sprintf("%zu %s", count, count == 1 ? need->one : need->many),
                               "remedy", need->remedy));
    return ETHOS_OK;
}

/* Adds pending decisions, and the findings of doctor. */
static int add_needs(const struct op_call *call, json_t **status, struct ethos_error *error)
{
    size_t index;
    json_auto_t *needs = json_array();
    json_auto_t *health = NULL;
    json_t *finding;
    for (size_t i = 0; i < sizeof counted_needs / sizeof *counted_needs; i++)
        TRY(add_counted_need(call, &counted_needs[i], &needs, error));
    TRY(run_inner_op(call, "meta.health", json_object(), &health, error));
    json_array_foreach (json_object_get(health, "findings"), index, finding)
        op_json_push(&needs, json_incref(finding));
    op_json_put(status, "needs", json_incref(needs));
    return ETHOS_OK;
}

static int run_status(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_auto_t *timeline = NULL;
    json_auto_t *status = json_pack("{s:s, s:o}", "version", ethos_version(), "home",
                                    op_json_string(service_home(call->ethos)));
    TRY(run_inner_op(call, "memory.timeline", json_pack("{s:i}", "limit", RECENT), &timeline,
                     error));
    const json_t *changes = json_object_get(timeline, "items");
    json_t *last = json_array_get(changes, 0);
    TRY(add_prompt(call, &status, error));
    if (add_folder(call, &status) != ETHOS_OK)
        return err_nomem(error);
    TRY(add_agents(call, changes, &status, error));
    TRY(add_needs(call, &status, error));
    op_json_put(&status, "lastChange", last ? json_incref(last) : json_null());
    op_json_put(&status, "server", find_server(call));
    return op_return(result, json_incref(status), error);
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
