/*
 * memory.c: the tools of memory, those of MCP by the same names (ops/tools).
 *
 * memory_write is tried at once without writing anything, so that the model learns of a mistake while it can mend
 * it, and queued; the others act at once.
 */
#include <stdio.h>
#include <string.h>

#include "agent/tools/internal.h"
#include "agent/tools/updates.h"
#include "base/err.h"
#include "base/view.h"
#include "ops/redact_args.h"
#include "ops/tools/tools.h"

/* ---- operations -------------------------------------------------------------------------------- */

struct running_tool {
    struct toolbox *box;
    bool queued; /* memory_write: nothing is written yet */
};

static int run_op(void *arg, const struct op *op, json_t *args, bool members,
                  struct op_result *result, struct ethos_error *error)
{
    const struct running_tool *running = arg;
    const struct toolbox_setup *setup = &running->box->setup;
    struct op_call call = {.ethos = setup->ethos,
                           .request = setup->request,
                           .args = args,
                           .want_json = true,
                           .members = members,
                           .guarded = true,
                           .dry_run = setup->dry_run || running->queued,
                           .only = setup->only,
                           .via = setup->via,
                           .actor = setup->actor,
                           .trust = running->box->trust,
                           .blind = setup->proposes};
    op_result_init(result);
    int code = op_run_as(op, setup->rights | (setup->only ? OP_LIMITED : 0), &call, result, error);
    json_decref(args);
    return code;
}

/* Who only proposes has no right to read. */
static struct tool_access access_of(struct running_tool *running)
{
    const struct toolbox_setup *setup = &running->box->setup;
    return (struct tool_access){.rights = setup->proposes ? OP_RIGHT(OP_MEMORY_WRITE) | OP_AGENT
                                                          : setup->rights,
                                .run = run_op,
                                .run_arg = running};
}

static int add_memory_tools(struct toolbox *self, struct ethos_error *error)
{
    struct running_tool running = {.box = self};
    const struct tool_access access = access_of(&running);
    int code = ETHOS_OK;
    for (const struct tool *tool = tools_table; code == ETHOS_OK && tool->name; tool++)
        if (tool_is_offered(&access, tool))
            code = toolbox_add(self, tool->name, tool->description,
                               tool_input_schema(&access, tool), error);
    return code;
}

static bool is_memory_tool(const char *name)
{
    for (const struct tool *tool = tools_table; tool->name; tool++)
        if (strcmp(tool->name, name) == 0)
            return true;
    return false;
}

/* ---- calls ------------------------------------------------------------------------------------- */

static const char *text_member(const json_t *args, const char *name)
{
    return json_string_value(json_object_get(args, name));
}

/* A replace of a text that the prompt showed whole carries the revision that was shown. */
static void fill_revision(const struct toolbox *box, const struct tool_call *call, json_t *args)
{
    const struct toolbox_setup *setup = &box->setup;
    if (!call->way->needs_match || json_object_get(args, "ifMatch") || !setup->shown_revision)
        return;
    const char *shown = setup->shown_revision(setup->shown_arg, text_member(args, "store"),
                                              text_member(args, "key"));
    if (shown)
        json_object_set_new(args, "ifMatch", json_string(shown));
}

/* A repeat of a turn does nothing twice. */
static void add_op_id(const struct toolbox_call *call, const struct op *op, json_t *args)
{
    char id[ETHOS_MAX_OPID + 1];
    const char *turn = call->box->setup.turn_id;
    for (const struct op_arg *arg = op->args; turn && arg && arg->name; arg++)
        if (strcmp(arg->name, "opId") == 0) {
            snprintf(id, sizeof id, "%s:%.64s", turn, call->id);
            if (strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-") ==
                strlen(id))
                json_object_set_new(args, "opId", json_string(id));
            return;
        }
}

static void note_changes(const struct toolbox_call *call, const struct op_result *result)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(result->json, "written"), index, row) {
        const char *scope = text_member(row, "scope"), *key = text_member(row, "key");
        bool listing = key && strcmp(key, "MEMORY.md") == 0; // the line of a note in the index
        if (scope && key && !listing)
            updates_note_change(call->box->setup.updates, scope, key);
    }
}

static bool is_pending(const struct tool_call *tool_call)
{
    return view_eq_str(json_view(tool_call->result.json, "status"), "pending");
}

/* What waits is told at the end of the turn. */
static void note_pending(const struct toolbox_call *call, const struct tool_call *tool_call)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(tool_call->result.json, "pending"), index, row)
        json_array_append(call->box->pending, row);
}

/* An update that was tried and would wait is proposed at once, so that the model is told under which id. */
static int queue_or_propose(const struct toolbox_call *call, struct tool_call *tool_call,
                            struct running_tool *running, json_t *queued)
{
    if (!is_pending(tool_call))
        return updates_add(call->box->setup.updates, tool_call->way->action, queued,
                           &tool_call->error);
    running->queued = false;
    int code = tool_run(tool_call, json_incref(queued));
    if (code == ETHOS_OK && is_pending(tool_call))
        note_pending(call, tool_call);
    else if (code == ETHOS_OK)
        note_changes(call, &tool_call->result); // the owner changed the mode just now
    return code;
}

/* What is queued is written without passing the operation again. */
static int copy_without_secrets(const struct toolbox_call *call, const struct op *op,
                                const json_t *args, json_t **out, struct ethos_error *error)
{
    int code = redact_args(op, call->box->setup.ethos, args, out, error);
    if (code == ETHOS_OK && !*out)
        *out = json_deep_copy(args);
    return code;
}

/* A message that was found, and that holds somebody else's text or an answer to it. */
static bool has_untrusted(const json_t *json)
{
    const char *name;
    json_t *member, *row;
    size_t index;
    json_array_foreach (json, index, row)
        if (has_untrusted(row))
            return true;
    json_object_foreach ((json_t *)json, name, member)
        if (strcmp(name, "untrusted") == 0 ? json_is_true(member) : has_untrusted(member))
            return true;
    return false;
}

static bool run_tool(const struct toolbox_call *call, struct tool_call *tool_call,
                     struct running_tool *running)
{
    json_t *args = NULL, *queued = NULL;
    bool queues = running->queued, dry = call->box->setup.dry_run;
    int code = tool_prepare(tool_call, call->args, &args);
    if (code == ETHOS_OK) {
        fill_revision(call->box, tool_call, args);
        if (queues)
            code = copy_without_secrets(call, tool_call->op, args, &queued, &tool_call->error);
        else
            add_op_id(call, tool_call->op, args);
        if (code == ETHOS_OK)
            code = tool_run(tool_call, args);
        else
            json_decref(args);
    }
    if (code == ETHOS_OK && queues && !dry)
        code = queue_or_propose(call, tool_call, running, queued);
    else if (code == ETHOS_OK && !dry && is_pending(tool_call))
        note_pending(call, tool_call);
    else if (code == ETHOS_OK && !dry)
        note_changes(call, &tool_call->result);
    json_decref(queued);
    bool shown = code == ETHOS_OK || tool_is_partial(tool_call, code);
    if (shown && tool_is_read_only(tool_call->tool))
        *call->text = has_untrusted(tool_call->result.json) ? TOOLBOX_FOREIGN : TOOLBOX_OWN;
    if (shown)
        tool_print_result(tool_call, call->out);
    else
        tool_print_error(tool_call, code, call->out);
    return shown;
}

static bool call_memory_tool(const struct toolbox_call *call)
{
    struct running_tool running = {call->box, strcmp(call->name, "memory_write") == 0};
    const struct tool_access access = access_of(&running);
    struct tool_call tool_call = {.access = &access, .tool = tool_find(&access, call->name)};
    if (!tool_call.tool)
        return toolbox_refuse(call, "%s is not available here", call->name);
    op_result_init(&tool_call.result);
    bool done = run_tool(call, &tool_call, &running);
    op_result_release(&tool_call.result);
    return done;
}

const struct tool_group memory_tools = {add_memory_tools, is_memory_tool, call_memory_tool, false};
