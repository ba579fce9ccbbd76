/*
 * workspaces.c: the operations workspaces.*: which folders share which memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/review/instructions.h"
#include "memory/workspace/workspace.h"
#include "ops/key_limits.h"
#include "ops/paging.h"
#include "ops/tables.h"

/* A turn about a folder, and the directory of its memory. */
struct folder_in_turn {
    struct ethos_turn *turn;
    const struct workspace *workspace;
    const char *id;
    bool named; /* the call names the workspace */
    int dir;    /* the directory of memory; -1 if there is no home yet */
};

static int open_folder_turn(struct op_call *call, struct folder_in_turn *out,
                            struct ethos_error *error)
{
    out->named = call->request->workspace;
    TRY(ethos_turn_new(call->ethos, call->request, &out->turn, error));
    out->workspace = service_workspace(out->turn);
    out->id = out->workspace ? workspace_id(&out->workspace->found) : NULL;
    return service_open_root(call->ethos, false, &out->dir, error);
}

static void close_folder_turn(const struct folder_in_turn *here)
{
    if (here->dir >= 0)
        os_close(here->dir);
    ethos_turn_free(here->turn);
}
#define CLEANUP_FOLDER_TURN __attribute__((cleanup(close_folder_turn)))

static int refuse_no_folder(const struct folder_in_turn *here, struct ethos_error *error)
{
    const struct ethos_error *why = ethos_turn_context(here->turn)->workspace_error;
    if (why) {
        *error = *why;
        return why->code;
    }
    int code = err_set(error, ETHOS_NOTFOUND,
                       here->named ? "no folder is named" : "the current directory is gone");
    return err_hint(error, code, "name the folder with -w DIR");
}

/* ---- list and where ------------------------------------------------------------------------- */

#define MOST_PATHS 100 /* folders of one workspace that are listed outside the command line */

/* Leaves the folders that were used last; morePaths counts the others. */
static void cut_paths(const struct op_call *call, json_t *row)
{
    json_t *paths = json_object_get(row, "paths");
    size_t more = json_array_size(paths) > MOST_PATHS ? json_array_size(paths) - MOST_PATHS : 0;
    if (call->whole_lists || more == 0)
        return;
    for (size_t i = 0; i < more; i++)
        json_array_remove(paths, 0);
    json_object_set_new(row, "morePaths", json_integer((json_int_t)more));
}

static int run_list_workspaces(struct op_call *call, struct op_result *result,
                               struct ethos_error *error)
{
    CLEANUP_FOLDER_TURN struct folder_in_turn here = {.dir = -1};
    size_t index;
    json_t *rows = NULL, *row;
    TRY(open_folder_turn(call, &here, error));
    TRY(workspace_list(here.dir, &rows, error));
    limits_filter(call, "workspace", "id", rows);
    json_auto_t *json = json_pack("{s:o, s:o}", "current", op_json_string(here.id), "workspaces",
                                  rows);
    TRY(pages_cut(call, &json, "workspaces", "id", PAGES_ROWS, error));
    json_array_foreach (json_object_get(json, "workspaces"), index, row)
        cut_paths(call, row);
    return op_return(result, json_incref(json), error);
}

/* The directory of the workspace's memory, or JSON null. */
static json_t *directory_json(const struct folder_in_turn *here)
{
    char *path = NULL;
    if (service_path(here->turn, here->workspace->found.scope, "MEMORY.md", &path, NULL) !=
        ETHOS_OK)
        return NULL;
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = 0;
    json_t *value = op_json_string(path);
    free(path);
    return value;
}

static int add_counts(const struct folder_in_turn *here, json_t **json, struct ethos_error *error)
{
    json_t *row;
    int code = here->dir < 0 ? ETHOS_NOTFOUND : workspace_show(here->dir, here->id, &row, error);
    bool there = code == ETHOS_OK;
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    static const char *const names[] = {"notes", "bytes", "paths"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        op_json_put(json, names[i],
                    there   ? json_incref(json_object_get(row, names[i]))
                    : i < 2 ? json_integer(0)
                            : json_array());
    if (there)
        json_decref(row);
    return ETHOS_OK;
}

static int return_workspace(const struct op_call *call, const struct folder_in_turn *here,
                            struct op_result *result, struct ethos_error *error)
{
    static const char *const words[] = {
        [WORKSPACE_NEW] = "new",     [WORKSPACE_PATH] = "path",   [WORKSPACE_MARKER] = "marker",
        [WORKSPACE_ALIAS] = "alias", [WORKSPACE_MOVED] = "moved", [WORKSPACE_NAMED] = "id"};
    const struct workspace *own = here->workspace;
    if (!own)
        return refuse_no_folder(here, error);
    json_t *json = json_object();
    op_json_put(&json, "path", op_json_string(ethos_turn_context(here->turn)->workspace));
    op_json_put(&json, "git",
                own->place.common.size ? json_text(str_view(&own->place.common)) : json_null());
    op_json_put(&json, "id", json_string(here->id));
    op_json_put(&json, "scope", json_string(own->found.scope));
    op_json_put(&json, "how", json_string(words[own->found.how]));
    op_json_put(&json, "memory", directory_json(here));
    int code = add_counts(here, &json, error);
    cut_paths(call, json);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

static int run_where(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_FOLDER_TURN struct folder_in_turn here = {.dir = -1};
    TRY(open_folder_turn(call, &here, error));
    return return_workspace(call, &here, result, error);
}

/* ---- adopt and forget ----------------------------------------------------------------------- */

static int adopt_workspace(struct op_call *call, const struct folder_in_turn *here,
                           struct op_result *result, struct ethos_error *error)
{
    const char *id = op_string(call, "id"), *root = ethos_turn_context(here->turn)->workspace;
    if (!here->workspace || !root)
        return refuse_no_folder(here, error);
    int code = workspace_adopt(here->dir, &here->workspace->place, id, op_flag(call, "replace"),
                               call->dry_run,
                               here->workspace->marker && !service_ephemeral(call->ethos),
                               service_now_ms(call->ethos), error);
    if (code != ETHOS_OK)
        return code;
    if (call->dry_run)
        str_printf(&result->text, "would attach %s to %s\n", root, id);
    bool other = strcmp(here->id, id) != 0 && here->workspace->found.how != WORKSPACE_NEW;
    return op_return_change(call, result,
                            json_pack("{s:s, s:o, s:o}", "id", id, "path",
                                      json_text(view_str(root)), "before",
                                      op_json_string(other ? here->id : NULL)),
                            error);
}

static int run_adopt(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_FOLDER_TURN struct folder_in_turn here = {.dir = -1};
    TRY(open_folder_turn(call, &here, error));
    return adopt_workspace(call, &here, result, error);
}

/* Returns the workspace as it was before. */
static int forget_workspace(struct op_call *call, int dir, struct op_result *result,
                            struct ethos_error *error)
{
    json_auto_t *row = NULL;
    const char *id = op_string(call, "id");
    bool memory = op_flag(call, "memory");
    TRY(workspace_show(dir, id, &row, error));
    if (!call->dry_run)
        TRY(workspace_forget(dir, id, memory, error));
    size_t folders = json_array_size(json_object_get(row, "paths"));
    if (call->dry_run)
        str_printf(&result->text, "would detach %zu folder%s from %s%s\n", folders,
                   folders == 1 ? "" : "s", id, memory ? " and delete its memory" : "");
    op_json_put(&row, "deleted", json_boolean(memory));
    return op_return_change(call, result, json_incref(row), error);
}

static int run_forget(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    TRY(service_open_root(call->ethos, false, &dir, error));
    return forget_workspace(call, dir, result, error);
}

/* ---- accept ---------------------------------------------------------------------------------- */

struct accepting {
    struct op_call *call;
    json_t *rows;
    struct ethos_error *error;
};

static int accept_file(void *arg, const struct instructions_file *file)
{
    struct accepting *self = arg;
    int code = file->accepted || self->call->dry_run
                   ? ETHOS_OK
                   : instructions_accept(self->call->ethos, file, self->error);
    op_json_push(&self->rows, json_pack("{s:s, s:b, s:o}", "file", file->name, "changed",
                                        !file->accepted, "text", json_text(file->text)));
    return code;
}

static int run_accept(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char top[PATH_MAX];
    const char *folder = op_string(call, "path") ? op_string(call, "path") : ".";
    struct accepting accepting = {call, json_array(), error};
    int code = instructions_find_top(folder, top, error);
    if (code == ETHOS_OK)
        code = instructions_each(call->ethos, top, folder, accept_file, &accepting, error);
    if (code != ETHOS_OK) {
        json_decref(accepting.rows);
        return code;
    }
    json_t *json = json_pack("{s:s, s:o}", "path", top, "files", accepting.rows);
    if (call->dry_run)
        op_json_put(&json, "dryRun", json_true());
    return op_return(result, json, error);
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define ARG_ID(words)                                                                              \
    {                                                                                              \
        "id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID", words                              \
    }
#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg list_args[] = {ARG_PAGE, ARG_END};
static const struct op_arg adopt_args[] = {
    ARG_ID("the workspace whose memory this folder will use"),
    {"replace", OP_FLAG, 0, NULL, NULL,
     "even if the folder has a memory, which is then detached but not deleted"},
    ARG_END};
static const struct op_arg accept_args[] = {
    {"path", OP_TEXT, OP_POSITIONAL, NULL, "DIR", "the project's folder (default: this one)"},
    ARG_END};
static const struct op_arg forget_args[] = {
    ARG_ID("the workspace"),
    {"memory", OP_FLAG, 0, NULL, NULL, "also delete its notes and history, permanently"},
    ARG_END};

const struct op ops_workspaces[] = {
    {"workspaces.list", "workspaces list", "List the folders that have a memory",
     "ethos workspaces list", list_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_list_workspaces},
    {"workspaces.where", "workspaces where",
     "Show which memory this folder uses and how it is found", "ethos workspaces where", NULL,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_where},
    {"workspaces.adopt", "workspaces adopt", "Give this folder the memory of a workspace",
     "ethos workspaces adopt my-project-8d1f0c2ab3e4", adopt_args, OP_OWNER,
     OP_WRITES | OP_IDEMPOTENT | OP_LOCAL, run_adopt},
    {"workspaces.accept", "workspaces accept",
     "Accept the instructions and skills of a project as they are", "ethos workspaces accept",
     accept_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL, run_accept},
    {"workspaces.forget", "workspaces forget", "Detach a memory from its folders, or delete it",
     "ethos workspaces forget my-project-8d1f0c2ab3e4", forget_args, OP_OWNER,
     OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL | OP_FINAL, run_forget},
    {0}};
