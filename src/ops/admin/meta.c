/*
 * meta.c: the operations meta.*: information about this home and this program. meta.health is in doctor.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/backends.h"
#include "memory/handle.h"
#include "memory/provider/missing_slots.h"
#include "memory/workspace/workspace.h"
#include "ops/admin/install.h"
#include "ops/tables.h"
#include "ops/write_report.h"
#include "store/store.h"

/* ---- the home ------------------------------------------------------------------------------ */

struct memory_search_state {
    int root;
    bool found;
    bool files; /* a backend stores memory in files */
    int errnum; /* why the files cannot be searched; 0: they can */
};

/* Whether a scope ever had memory. Stops the walk. */
static int find_memory_file(void *arg, const char *scope, const char *dir)
{
    static const char *const names[] = {"memory-history.jsonl", "MEMORY.md", "USER.md"};
    struct memory_search_state *search = arg;
    struct stat info;
    char path[ETHOS_MAX_ID + 128];
    (void)scope;
    for (size_t i = 0; !search->found && !search->errnum && i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        search->found = os_fstatat(search->root, path, &info, 0) == 0;
        if (!search->found && errno != ENOENT && errno != ENOTDIR)
            search->errnum = errno;
    }
    return search->found || search->errnum ? 1 : 0;
}

static int stop_at_scope(void *arg, const char *scope)
{
    (void)arg, (void)scope;
    return 1;
}

/* A remote backend that cannot list its scopes, or cannot be reached, counts as used: somebody configured it. */
static int check_backend_for_memory(void *arg, struct ethos_provider *provider, bool here)
{
    struct memory_search_state *search = arg;
    search->files = search->files || here;
    search->found = !here && (!SLOT_PROVIDER(provider, scopes) ||
                              provider->ops->scopes(provider, stop_at_scope, NULL, NULL) != 0);
    return search->found;
}

static int find_memory_files(struct op_call *call, struct memory_search_state *search,
                             struct ethos_error *error)
{
    int code = service_open_root(call->ethos, false, &search->root, error);
    if (code == ETHOS_OK)
        code = store_files_scopes(search->root, find_memory_file, search, error);
    if (search->root >= 0)
        os_close(search->root);
    if (search->errnum)
        return err_errno(error, search->errnum, service_root(call->ethos));
    return search->found ? ETHOS_OK : code;
}

/* *out: whether there is no memory yet. */
static int find_first_run(struct op_call *call, bool *out, struct ethos_error *error)
{
    struct memory_search_state search = {.root = -1};
    int code = ETHOS_OK;
    if (backends_each(call->ethos, check_backend_for_memory, &search, NULL) == ETHOS_NOMEM)
        return err_nomem(error);
    if (!search.found && search.files)
        code = find_memory_files(call, &search, error);
    *out = !search.found;
    return code;
}

/* {name, title, found, installed, command}, from a row of install_list. */
static json_t *agent_row(const json_t *row)
{
    char command[64];
    snprintf(command, sizeof command, "ethos install %s",
             json_string_value(json_object_get(row, "agent")));
    bool installed = json_is_true(json_object_get(row, "mcp"));
    return json_pack("{s:O, s:O, s:O, s:b, s:s}", "name", json_object_get(row, "agent"), "title",
                     json_object_get(row, "title"), "found", json_object_get(row, "found"),
                     "installed", installed, "command", command);
}

static int list_meta_agents(json_t **out, struct ethos_error *error)
{
    size_t index;
    json_t *rows, *row;
    int code = install_list(&rows, error);
    if (code != ETHOS_OK)
        return code;
    *out = json_array();
    json_array_foreach (rows, index, row)
        op_json_push(out, agent_row(row));
    json_decref(rows);
    return *out ? ETHOS_OK : err_nomem(error);
}

static json_t *workspace_json(const struct ethos_turn *turn)
{
    const struct workspace *workspace = service_workspace(turn);
    return op_json_string(workspace ? workspace_id(&workspace->found) : NULL);
}

static int run_home(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    bool first = false;
    json_t *agents = NULL;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    const struct ethos_context *context = ethos_turn_context(turn);
    report_workspace(context, result);
    TRY(find_first_run(call, &first, error));
    TRY(list_meta_agents(&agents, error));
    return op_return(result,
                     json_pack("{s:o, s:s, s:s, s:s, s:o, s:b, s:o}", "home",
                               op_json_string(service_home(call->ethos)), "version",
                               ethos_version(), "personality", context->personality, "user",
                               context->user, "workspace", workspace_json(turn), "firstRun", first,
                               "agents", agents),
                     error);
}

/* ---- the program --------------------------------------------------------------------------- */

static bool is_op_available(const char *name)
{
    const struct op *op = op_find(name);
    return op && op_is_in_program(op);
}

/* The first three names are those that other programs expect. */
static int run_capabilities(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    bool chat = call->chat && call->chat->has_model(call->chat->arg, call->ethos);
    return op_return(result,
                     json_pack("{s:{s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b}}", "capabilities",
                               "byok", false, "voice_stt", false, "voice_tts", false, "chat", chat,
                               "pending", false, "sessions", is_op_available("sessions.list"),
                               "markdown", is_op_available("markdown.render"), "chunks",
                               is_op_available("memory.chunks.list"), "recall",
                               is_op_available("memory.recall")),
                     error);
}

const struct op ops_meta[] = {{"meta.home", NULL,
                               "Show the memory location, its owner and the connected agents", NULL,
                               NULL, OP_OWNER, OP_IDEMPOTENT, run_home},
                              {"meta.capabilities", NULL, "List what this server can do", NULL,
                               NULL, OP_ANYBODY, OP_IDEMPOTENT | OP_QUICK, run_capabilities},
                              {0}};
