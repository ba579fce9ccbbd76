/*
 * main_serve.c: the program ethos-serve: ethos with the server, and what only the server links. Here its
 * two surfaces meet: what is posted to /mcp is answered by the one, for whom the other let in.
 */
#include "base/view.h"
#include "cli/cli.h"
#include "http/http.h"
#include "mcp/mcp.h"
#include "ops/tables.h"

const struct op *const op_tables[] = {OP_TABLES, ops_markdown, NULL};

/* ---- /mcp ------------------------------------------------------------------------------------ */

static int run_for_model(void *arg, const struct op *op, struct op_call *call,
                         struct op_result *result, struct ethos_error *error)
{
    return http_run_call(arg, op, OP_RIGHTS_AGENT, call, result, error);
}

/* Several messages, the answer last: as a stream that has an end. */
static void answer_as_stream(struct http_call *call, struct ethos_view lines)
{
    struct ethos_view line;
    call->type = "text/event-stream";
    http_answer_header(call, "X-Accel-Buffering", "no");
    while (view_line(&lines, &line)) {
        str_adds(&call->out, "event: message\ndata: ");
        str_add(&call->out, line);
        str_adds(&call->out, "\n\n");
    }
}

static void answer(struct http_call *call, struct ethos_view lines)
{
    struct ethos_view rest = lines, last = {0};
    const char *accept = http_header(call, "accept");
    bool json = !accept || strstr(accept, "application/json") || strstr(accept, "*/*") ||
                strstr(accept, "application/*");
    bool stream = accept && strstr(accept, "text/event-stream");
    bool some = view_last_line(&rest, &last);
    if (some && stream && (rest.size > 0 || !json)) {
        answer_as_stream(call, lines);
    } else if (some) {
        call->type = "application/json";
        str_add(&call->out, last);
    }
}

static void answer_mcp(struct http_call *call)
{
    static const struct http_error none = {406, "NOT_ACCEPTABLE", "The answer is JSON or a stream",
                                           "Accept application/json and text/event-stream."};
    const struct mcp mcp = {
        .rights = op_rights_both(call->rights, OP_RIGHTS_AGENT),
        .no_project = !http_has_workspace(call),
        .no_log = true, // lines of log name files of this machine
        .run = run_for_model,
        .run_arg = call,
    };
    const struct mcp_post post = {call->body, http_header(call, "mcp-protocol-version"),
                                  http_header(call, "mcp-method"), http_header(call, "mcp-name")};
    struct mcp_session session = {.mcp = &mcp};
    struct str lines;
    const char *accept = http_header(call, "accept");
    if (accept && !strstr(accept, "json") && !strstr(accept, "text/event-stream") &&
        !strstr(accept, "*")) {
        http_answer_error(call, &none, NULL);
        return;
    }
    str_init(&lines, 2 * (size_t)MCP_MAX_REPLY);
    call->status = mcp_post(&session, &post, &lines);
    if (str_code(&lines) == ETHOS_OK)
        answer(call, str_view(&lines));
    else
        str_fail(&call->out, str_code(&lines));
    str_release(&lines);
}

const struct http_parts http_parts = {.mcp = answer_mcp};

/* ---- the program ----------------------------------------------------------------------------- */

static int serve(const struct surface_start *start, struct ethos_error *error)
{
    int code = mcp_check(error);
    return code == ETHOS_OK ? http_serve(start, error) : code;
}

static const struct surface surfaces[] = {{.name = "admin.serve", .run = serve}, {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
