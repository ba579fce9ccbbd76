/*
 * chat.c: the operations chat.*: there is no model to talk to yet, and they say so.
 */
#include "base/err.h"
#include "ops/tables.h"

static int run_send(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    (void)call;
    (void)result;
    int code = err_set(error, ETHOS_UNSUPPORTED, "no model configured");
    return err_hint(error, code, "talk to an agent that uses this memory: ethos install");
}

/* Nothing runs, so nothing is left to end. */
static int run_abort(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    (void)call;
    return op_return(result, json_pack("{s:b}", "ok", 1), error);
}

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg send_args[] = {
    {"text", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "what to say"},
    {"sessionId", OP_TEXT, 0, NULL, "ID", "in which session (default: a new one)"},
    {"clientId", OP_TEXT, 0, NULL, "ID", "who waits for the answer"},
    ARG_END};
static const struct op_arg abort_args[] = {
    {"sessionId", OP_TEXT, OP_REQUIRED, NULL, "ID", "the session whose turn is to end"}, ARG_END};

const struct op ops_chat[] = {{"chat.send", NULL, "Say something to the model", NULL, send_args,
                               OP_CHAT_SEND, OP_WRITES, run_send},
                              {"chat.abort", NULL, "End the turn that runs in a session", NULL,
                               abort_args, OP_CHAT_SEND, OP_WRITES | OP_IDEMPOTENT, run_abort},
                              {0}};
