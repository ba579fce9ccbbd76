/*
 * chat.c: the operations chat.*: send a message to the agent, or abort its turn. The program with the agent runs the turn
 * (struct op_chat) and sends its events to the stream of the session.
 */
#include "base/base64.h"
#include "base/err.h"
#include "base/system/uuid.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/attachment.h"
#include "core/sessions/normalize.h"
#include "memory/handle.h"
#include "ops/key_limits.h"
#include "ops/tables.h"

#include <stdio.h>
#include <string.h>

#define MAX_MESSAGE 8388608 /* bytes, with attachments */
#define MAX_SESSION 127     /* bytes of a session's id */
#define NO_MODEL "No model is configured here; ethos serve uses the one that ethos setup chooses"

static int check_session(const char *id, struct ethos_error *error)
{
    for (const char *at = id; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("/?#%\\", *at) || (unsigned char)*at >= 0x7F)
            return err_set(error, ETHOS_INVALID, "sessionId: not the id of a session");
    return *id && strlen(id) <= MAX_SESSION
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "sessionId: must have 1 to %d bytes", MAX_SESSION);
}

/* ---- attachments ------------------------------------------------------------------------------- */

static bool is_text_type(struct ethos_view type)
{
    return view_starts(type, VIEW("text/")) || view_eq_str(type, "application/json") ||
           view_eq_str(type, "application/xml") || view_eq_str(type, "application/yaml");
}

/* Appends a text file below the message, with its name. Other kinds of files are refused. */
static int add_attachment(const json_t *row, struct str *text, struct ethos_error *error)
{
    struct str bytes;
    struct ethos_view name = json_view(row, "name"), type = json_view(row, "mimeType");
    if (name.size == 0)
        name = VIEW("attachment");
    if (!is_text_type(type)) {
        int code = err_set(error, ETHOS_INVALID, "attachments: %.*s is %.*s",
                           (int)(name.size < 80 ? name.size : 80), name.data,
                           (int)(type.size < 80 ? type.size : 80), type.data);
        return err_hint(error, code, "attach text files");
    }
    str_init(&bytes, MAX_MESSAGE);
    int code = base64_decode(json_view(row, "data"), &bytes);
    if (code != ETHOS_OK || !utf8_valid(str_view(&bytes)))
        code = err_set(error, ETHOS_INVALID, "attachments: %.*s is not a text in base64",
                       (int)(name.size < 80 ? name.size : 80), name.data);
    else
        attachment_add(name, str_view(&bytes), text);
    str_release(&bytes);
    return code;
}

static int add_attachments(const json_t *rows, struct str *text, struct ethos_error *error)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        TRY(add_attachment(row, text, error));
    return ETHOS_OK;
}

/* ---- sessions ---------------------------------------------------------------------------------- */

struct allowed_session {
    const char *only;
    bool holds;
};

static int check_session_personality(void *arg, const struct ethos_session *row)
{
    struct allowed_session *allowed = arg;
    allowed->holds = row->personality &&
                     limits_allow(allowed->only, "personality", row->personality);
    return 0;
}

/*
 * A limited key may continue conversations of its personalities only; none if it is limited to a user or a workspace,
 * because conversations need not record those.
 */
static int check_session_limits(const struct op_call *call, const char *session,
                                struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct allowed_session allowed = {.only = call->only};
    if (!call->only || !session)
        return ETHOS_OK;
    int code = ethos_sessions(call->ethos, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->get(store, session, check_session_personality, &allowed, error);
    if (code == ETHOS_OK && (!allowed.holds || !limits_allow(call->only, "user", NULL) ||
                             !limits_allow(call->only, "workspace", NULL)))
        code = form_no_session(session, error);
    return code;
}

/* Creates a session, for a message that does not name one. */
static int begin_session(struct op_call *call, char out[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct ethos_turn *turn;
    char id[UUID_SIZE], key[UUID_SIZE + 8];
    if (uuid_make(id) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
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

static int report_no_model(const struct op_call *call, const char *session,
                           struct ethos_error *error)
{
    json_auto_t *event = json_pack("{s:s, s:{s:s, s:s, s:s}}", "sessionId", session, "event",
                                   "type", "error", "error", NO_MODEL, "code", "SETUP_REQUIRED");
    if (event && call->tell)
        call->tell(call->progress_arg, event);
    return event ? ETHOS_OK : err_nomem(error);
}

/* A program without the agent reports that in the stream, where the client waits for the answer. */
static int start_turn(const struct op_call *call, const char *session, const char *turn,
                      struct ethos_view text, struct ethos_error *error)
{
    const struct op_chat_turn sent = {.session = session,
                                      .turn = turn,
                                      .text = text,
                                      .request = call->request,
                                      .actor = call->actor,
                                      .only = call->only,
                                      .rights = OP_RIGHTS_AGENT,
                                      .dry_run = call->dry_run || op_flag(call, "dryRun")};
    return call->chat ? call->chat->send(call->chat->arg, &sent, error)
                      : report_no_model(call, session, error);
}

static int run_send(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char made[ETHOS_UUID_SIZE], uuid[UUID_SIZE] = "";
    const char *session = op_string(call, "sessionId"), *turn = call->id ? call->id : uuid;
    CLEANUP_STR struct str text;
    str_init(&text, MAX_MESSAGE);
    str_add(&text, op_text(call, "text"));
    if (session)
        TRY(check_session(session, error));
    TRY(check_session_limits(call, session, error));
    TRY(add_attachments(json_object_get(call->args, "attachments"), &text, error));
    if (str_code(&text) != ETHOS_OK)
        return err_set(error, ETHOS_LIMIT, "text: at most %d bytes with attachments", MAX_MESSAGE);
    if (!session)
        TRY(begin_session(call, made, error));
    if (!call->id && uuid_make(uuid) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    TRY(start_turn(call, session ? session : made, turn, str_view(&text), error));
    return op_return(result,
                     json_pack("{s:s, s:s}", "sessionId", session ? session : made, "turnId", turn),
                     error);
}

/* Succeeds even if no turn is running. */
static int run_abort(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    TRY(check_session_limits(call, op_string(call, "sessionId"), error));
    if (call->chat)
        call->chat->abort(call->chat->arg, op_string(call, "sessionId"));
    return op_return(result, json_pack("{s:b}", "ok", 1), error);
}

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg send_args[] = {
    {"text", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "what to say"},
    {"sessionId", OP_TEXT, 0, NULL, "ID", "in which session (default: a new one)"},
    {"clientId", OP_TEXT, 0, NULL, "ID", "the client that waits for the answer"},
    {"dryRun", OP_FLAG, 0, NULL, NULL, "tools report what they would do and change nothing"},
    {"attachments", OP_VALUE, 0, NULL, "FILES",
     "text files: {type, data, mimeType, name}, data in base64"},
    ARG_END};
static const struct op_arg abort_args[] = {
    {"sessionId", OP_TEXT, OP_REQUIRED, NULL, "ID", "the session whose turn to abort"}, ARG_END};

const struct op ops_chat[] = {{"chat.send", NULL, "Send a message to the model", NULL, send_args,
                               OP_CHAT_SEND, OP_WRITES | OP_DATABASE, run_send},
                              {"chat.abort", NULL, "Abort the running turn of a session", NULL,
                               abort_args, OP_CHAT_SEND, OP_WRITES | OP_IDEMPOTENT, run_abort},
                              {0}};
