/*
 * tools.c: the tools of memory (ops/tools) in the words of the protocol.
 *
 * A tool that cannot do what it was asked answers with a result, not with an error of the protocol: the
 * model reads the result, and can do better.
 */
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "mcp/internal.h"

int mcp_check(struct ethos_error *error)
{
    return tools_check(error);
}

static int run_op(void *arg, const struct op *op, json_t *args, bool members,
                  struct op_result *result, struct ethos_error *error)
{
    return mcp_run_as(arg, op, args, members, result, error);
}

static struct tool_access mcp_access(struct mcp_request *request)
{
    const struct mcp *mcp = request->session->mcp;
    return (struct tool_access){mcp->rights, mcp->team, mcp->no_project, run_op, request};
}

/* ---- how they look --------------------------------------------------------------------------- */

/* All four are given: what is left out counts as dangerous. */
static json_t *hints(const struct tool_access *access, const struct tool *tool)
{
    unsigned any = 0, all = ~0u;
    for (size_t i = 0; i < TOOL_MAX_WAYS; i++) {
        const struct op *op = tool_way_op(access, &tool->ways[i]);
        any |= op ? op->effect : 0;
        all &= op ? op->effect : ~0u;
    }
    return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", tool->title, "readOnlyHint",
                     !(any & OP_WRITES), "destructiveHint", (any & OP_DESTRUCTIVE) != 0,
                     "idempotentHint", (all & OP_IDEMPOTENT) != 0, "openWorldHint", 0);
}

static json_t *tool_json(struct mcp_request *request, const struct tool *tool)
{
    const struct tool_access access = mcp_access(request);
    json_t *json = json_pack("{s:s, s:s, s:o}", "name", tool->name, "description",
                             tool->description, "inputSchema", tool_input_schema(&access, tool));
    if (mcp_has(request, MCP_2025_03_26))
        op_json_put(&json, "annotations", hints(&access, tool));
    if (mcp_has(request, MCP_2025_06_18)) {
        op_json_put(&json, "title", json_string(tool->title));
        op_json_put(&json, "outputSchema", tool_output_schema(tool));
    }
    return json;
}

json_t *offer_tools(struct mcp_request *request)
{
    const struct tool_access access = mcp_access(request);
    json_t *tools = json_array();
    for (const struct tool *tool = tools_table; tool->name; tool++)
        if (tool_is_offered(&access, tool))
            op_json_push(&tools, tool_json(request, tool));
    return tools;
}

/* ---- results --------------------------------------------------------------------------------- */

static json_t *text_block(struct ethos_view text)
{
    return json_pack("[{s:s, s:o}]", "type", "text", "text", json_text(text));
}

static json_t *tool_failure(const struct tool_call *call, int code)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    tool_print_error(call, code, &text);
    json_t *json = json_pack("{s:o, s:b}", "content", text_block(str_view(&text)), "isError", 1);
    str_release(&text);
    return json;
}

/* Given twice, for those who read text and for those who read JSON; made once. */
static json_t *tool_result(struct mcp_request *request, const struct tool_call *call)
{
    struct str *text = &request->text, *members = &request->members;
    tool_print_result(call, text);
    str_fail(members, str_code(text));
    str_adds(members, "\"content\":[{\"type\":\"text\",\"text\":");
    json_print_text(str_view(text), members); // JSON has no byte that is escaped by a number
    str_adds(members, "}]");
    if (mcp_has(request, MCP_2025_06_18)) {
        str_adds(members, ",\"structuredContent\":");
        str_add(members, str_view(text));
    }
    str_adds(members, ",\"isError\":false");
    if (str_code(members) == ETHOS_LIMIT)
        return mcp_refuse(request, MCP_INTERNAL, "the answer is too large");
    return str_code(members) != ETHOS_OK      ? NULL
           : mcp_has(request, MCP_2026_07_28) ? json_object()
                                              : json_true(); // nobody adds to it
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The arguments of a call; found once for messages that are written alike, unless a word chooses. */
static int prepare_arguments(struct mcp_request *request, struct tool_call *call,
                             const json_t *given, json_t **out)
{
    struct mcp_known_form *alike = request->alike;
    if (call->op) {
        *out = json_incref(alike->args);
        return ETHOS_OK;
    }
    int code = tool_prepare(call, given, out);
    if (code == ETHOS_OK && alike && !call->way->action) {
        alike->tool = call->tool;
        alike->way = call->way;
        alike->op = call->op;
        alike->args = json_incref(*out);
    }
    return code;
}

bool offer_here(const struct mcp_session *session, const char *name)
{
    struct mcp_request request = {.session = (struct mcp_session *)session};
    const struct tool_access access = mcp_access(&request);
    const struct tool *tool = tool_find(&access, name);
    for (size_t i = 0; tool && i < TOOL_MAX_WAYS; i++) {
        const struct op *op = tool_way_op(&access, &tool->ways[i]);
        if (op && (!op_is_in_program(op) || op_needs_other_program(op)))
            return false;
    }
    return true;
}

json_t *offer_call(struct mcp_request *request, const char *name, const json_t *arguments)
{
    const struct tool_access access = mcp_access(request);
    struct tool_call call = {.access = &access};
    json_t *args;
    if (request->alike && request->alike->tool) {
        call.tool = request->alike->tool;
        call.way = request->alike->way;
        call.op = request->alike->op;
    } else if (!(call.tool = tool_find(&access, name))) {
        return mcp_unknown(request, "tool", name);
    }
    op_result_init(&call.result);
    int code = prepare_arguments(request, &call, arguments, &args);
    if (code == ETHOS_OK)
        code = tool_run(&call, args);
    json_t *json = code == ETHOS_OK || tool_is_partial(&call, code) ? tool_result(request, &call)
                                                                    : tool_failure(&call, code);
    if (code == ETHOS_OK) {
        request->again = call.result.again;
        call.result.again = NULL;
    }
    op_result_release(&call.result);
    return json;
}
