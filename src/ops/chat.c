/*
 * chat.c: the operations chat.*. There is no model to talk to yet: a turn begins, and the stream of its session
 * says at once why it ends.
 */
#include "base/err.h"
#include "base/uuid.h"
#include "base/view.h"
#include "memory/service.h"
#include "ops/tables.h"

#include <stdio.h>
#include <string.h>

#define MAX_SESSION 127 /* bytes of a session's id */
#define NO_MODEL "No model is configured. Talk to an agent that uses this memory: ethos install"

static int check_session(const char *id, struct ethos_error *error)
{
    for (const char *at = id; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("/?#%\\", *at) || (unsigned char)*at >= 0x7F)
            return err_set(error, ETHOS_INVALID, "sessionId: not the id of a session");
    return *id && strlen(id) <= MAX_SESSION
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "sessionId: must have 1 to %d bytes", MAX_SESSION);
}

/* A session of its own, for who did not name one. */
static int begin_session(struct op_call *call, char out[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct ethos_turn *turn;
    char id[UUID_SIZE], key[UUID_SIZE + 8];
    if (uuid_make(id) != 0)
        return err_set(error, ETHOS_IO, "the system gives no random numbers");
    snprintf(out, ETHOS_UUID_SIZE, "%s", id);
    if (call->dry_run)
        return ETHOS_OK;
    int code = ethos_sessions(call->ethos, &store, error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    snprintf(key, sizeof key, "web:%s", id);
    const struct ethos_session session = {.id = id,
                                          .key = key,
                                          .platform = "web",
                                          .personality = ethos_turn_context(turn)->personality};
    code = store->ops->create(store, &session, out, error);
    ethos_turn_free(turn);
    return code;
}

static int tell_end(const struct op_call *call, const char *session, struct ethos_error *error)
{
    json_t *told = json_pack("{s:s, s:{s:s, s:s, s:s}}", "sessionId", session, "event", "type",
                             "error", "error", NO_MODEL, "code", "SETUP_REQUIRED");
    if (!told)
        return err_nomem(error);
    if (call->tell)
        call->tell(call->progress_arg, told);
    json_decref(told);
    return ETHOS_OK;
}

static int run_send(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char made[ETHOS_UUID_SIZE], turn[UUID_SIZE] = "";
    const char *session = op_string(call, "sessionId");
    int code = session ? check_session(session, error) : begin_session(call, made, error);
    if (code == ETHOS_OK && !call->id && uuid_make(turn) != 0)
        code = err_set(error, ETHOS_IO, "the system gives no random numbers");
    if (code == ETHOS_OK)
        code = tell_end(call, session ? session : made, error);
    if (code != ETHOS_OK)
        return code;
    return op_return(result,
                     json_pack("{s:s, s:s}", "sessionId", session ? session : made, "turnId",
                               call->id ? call->id : turn),
                     error);
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
                               OP_CHAT_SEND, OP_WRITES | OP_DATABASE, run_send},
                              {"chat.abort", NULL, "End the turn that runs in a session", NULL,
                               abort_args, OP_CHAT_SEND, OP_WRITES | OP_IDEMPOTENT, run_abort},
                              {0}};
