/*
 * memory_tool.c: the operation memory.tool: runs one command of Anthropic's memory tool.
 *
 * A mistake of the model is not a failure of the operation: the reply tells the model what is wrong. With --json,
 * isError marks such a reply.
 */
#include "base/err.h"
#include "base/view.h"
#include "ops/tables.h"
#include "ops/write_report.h"

static void add_diff(void *arg, const struct ethos_outcome *outcome)
{
    if (outcome->diff)
        str_adds(arg, outcome->diff);
}

static int return_tool_reply(const struct op_call *call, const struct ethos_reply *reply,
                             struct op_result *result, struct ethos_error *error)
{
    struct ethos_view text = view_of(reply->text, reply->size);
    if (!call->want_json && result->text.size == 0) {
        result->has_text = true;
        return str_add(&result->text, text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    }
    json_t *json = json_pack("{s:o, s:b}", "text", json_text(text), "isError", reply->is_error);
    return op_return_change(call, result, json, error);
}

static int run_tool(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    if (call->trust == TRUST_OWNER) // the command is a model's, whoever runs it
        call->trust = TRUST_AGENT;
    const struct ethos_origin origin = {.actor = call->actor ? call->actor : "agent",
                                        .via = "memory-tool",
                                        .trust = trust_name(call->trust),
                                        .session = call->request->session};
    const struct ethos_sync_how how = {
        .origin = &origin,
        .flags = call->dry_run ? (unsigned)(ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF) : 0u,
        .each = add_diff,
        .arg = &result->text};
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    struct ethos_reply *reply = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    int code = ethos_memory_tool(turn, op_string(call, "scope"), op_text(call, "input"), &how,
                                 &reply, error);
    if (code == ETHOS_OK)
        code = return_tool_reply(call, reply, result, error);
    ethos_reply_free(reply);
    return code;
}

static const struct op_arg tool_args[] = {
    {"input", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN | OP_FILE, NULL, "FILE",
     "the command as JSON in a file; - or nothing reads a pipe"},
    {"scope", OP_TEXT, 0, NULL, "SCOPE", "whose files: personality, user, workspace, global"},
    ARG_END};

const struct op ops_memory_tool[] = {
    {"memory.tool", "memory-tool", "Run a command of Anthropic's memory tool",
     "echo '{\"command\":\"view\",\"path\":\"/memories\"}' | ethos memory-tool", tool_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE, run_tool},
    {NULL, NULL, NULL, NULL, NULL, OP_OWNER, 0, NULL}};
