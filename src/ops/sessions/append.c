/*
 * append.c: the operations sessions.current, sessions.new and sessions.append, with which scripts and agents record
 * conversations.
 *
 * A message that a model would not accept at its position is refused, and no session is created for it.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "core/sessions/transcript.h"
#include "memory/sessions/lookup.h"
#include "ops/sessions/sessions.h"

/* ---- current ---------------------------------------------------------------------------------- */

static int return_session_id(const struct op_call *call, const char *id, struct op_result *result,
                             struct ethos_error *error)
{
    json_t *row = NULL;
    if (id)
        TRY(sessions_read_row(call, id, &row, error));
    return op_return_change(call, result, json_pack("{s:o}", "session", row ? row : json_null()),
                            error);
}

/* Reports the session that would be used, or that one would be created. */
static int preview_current(const struct op_call *call, struct ethos_turn *turn, const char *folder,
                           bool fresh, struct op_result *result, struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    int code = fresh ? ETHOS_NOTFOUND : sessions_current(turn, folder, id, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    if (code == ETHOS_OK)
        str_printf(&result->text, "would go on with %s\n", id);
    else
        str_printf(&result->text, "would begin a session in %s\n", folder);
    return return_session_id(call, code == ETHOS_OK ? id : NULL, result, error);
}

static int run_current(struct op_call *call, bool fresh, struct op_result *result,
                       struct ethos_error *error)
{
    char folder[PATH_MAX], id[ETHOS_UUID_SIZE];
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(sessions_folder_of_call(call, folder, error));
    if (call->dry_run)
        return preview_current(call, turn, folder, fresh, result, error);
    TRY(ethos_session_current(turn, folder, fresh, id, error));
    return return_session_id(call, id, result, error);
}

int sessions_run_current(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_current(call, op_flag(call, "new"), result, error);
}

int sessions_run_new(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_current(call, true, result, error);
}

/* ---- the message ------------------------------------------------------------------------------ */

static bool has_role(const struct ethos_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

/* Every call needs a name; their ids are checked with the order of messages. */
static int check_calls(const char *text, struct ethos_error *error)
{
    json_auto_t *calls = NULL;
    json_t *call;
    size_t index;
    TRY(json_parse(view_str(text), "toolCalls", &calls, error));
    if (json_array_size(calls) == 0)
        return err_set(error, ETHOS_INVALID, "toolCalls: must be an array of calls");
    json_array_foreach (calls, index, call)
        if (json_view(call, "name").size == 0)
            return err_set(error, ETHOS_INVALID, "tool call %zu has no name", index + 1);
    return ETHOS_OK;
}

/* Checks members that only one role may have, and that there is a text where one is needed. */
static int check_parts(const struct ethos_message *message, struct ethos_error *error)
{
    bool result = has_role(message, "tool_result");
    if ((message->tool_call_id || message->tool_name) && !result)
        return err_set(error, ETHOS_INVALID, "only a tool_result has toolCallId and toolName");
    if (message->tool_calls && !has_role(message, "assistant"))
        return err_set(error, ETHOS_INVALID, "only an assistant has toolCalls");
    if (view_blank(message->content) && !result && !message->tool_calls)
        return err_set(error, ETHOS_INVALID, "nothing to append: the text is blank");
    return message->tool_calls ? check_calls(message->tool_calls, error) : ETHOS_OK;
}

static struct ethos_message named_message(const struct op_call *call)
{
    const char *role = op_string(call, "role");
    return (struct ethos_message){.role = role ? role : "user",
                                  .content = op_text(call, "content"),
                                  .tool_call_id = op_string(call, "toolCallId"),
                                  .tool_name = op_string(call, "toolName"),
                                  .tool_calls = op_string(call, "toolCalls")};
}

/* Hints what to do about a message at the wrong position. */
static int hint_order(const char *id, const struct ethos_message *message, int code,
                      struct ethos_error *error)
{
    if (code != ETHOS_INVALID)
        return code;
    if (id && has_role(message, "user"))
        return err_hint(
            error, code,
            "add the reply first (--role assistant), or use --aborted if there was none");
    return id ? err_hint(error, code, "ethos sessions show %s --last 3 shows the last messages", id)
              : err_hint(error, code, "a session begins with a message of the user");
}

/* ---- its position ----------------------------------------------------------------------------- */

/* Follows the order of messages as the store does: from the last message of the user on. */
static int follow_order(void *arg, const struct ethos_message *message)
{
    struct transcript *transcript = arg;
    if (has_role(message, "user"))
        *transcript = (struct transcript){.arena = transcript->arena};
    return transcript_next(transcript, message, NULL) == ETHOS_NOMEM ? ETHOS_NOMEM : ETHOS_OK;
}

/* Checks whether the message may come next in a session (NULL: in a new one). */
static int check_order(struct ethos *ethos, const char *id, const struct ethos_message *message,
                       struct ethos_error *error)
{
    struct ethos_sessions *store;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    TRY(ethos_sessions(ethos, &store, error));
    if (id)
        TRY(sessions_walk_code(store->ops->messages(store, id, 0, follow_order, &transcript, error),
                               error));
    return hint_order(id, message, transcript_next(&transcript, message, error), error);
}

/* Ends an aborted turn with the messages that it lacks, then appends. */
static int append_closing(struct ethos_sessions *store, const char *id,
                          const struct ethos_message *message, struct ethos_error *error)
{
    struct ethos_message messages[TRANSCRIPT_MAX_CALLS + 1];
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    TRY(sessions_walk_code(store->ops->messages(store, id, 0, follow_order, &transcript, error),
                           error));
    size_t count = transcript_close(&transcript, messages);
    messages[count] = *message;
    return store->ops->append(store, id, messages, count + 1, ETHOS_APPEND_CHECKED, error);
}

/* The session that a message is appended to. */
struct message_place {
    struct ethos_turn *turn; /* NULL when the session was named */
    char folder[PATH_MAX];
    char id[ETHOS_UUID_SIZE]; /* "": to be created */
};

static int find_session_place(const struct op_call *call, struct message_place *out,
                              struct ethos_error *error)
{
    const char *name = op_string(call, "session");
    *out->id = '\0';
    out->turn = NULL;
    if (name)
        return sessions_find_named(call, name, out->id, error);
    int code = ethos_turn_new(call->ethos, call->request, &out->turn, error);
    if (code == ETHOS_OK)
        code = sessions_folder_of_call(call, out->folder, error);
    if (code != ETHOS_OK)
        return code;
    code = sessions_current(out->turn, out->folder, out->id, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int preview_append(const struct op_call *call, const struct message_place *place,
                          const struct ethos_message *message, struct op_result *result,
                          struct ethos_error *error)
{
    const char *id = *place->id ? place->id : NULL;
    if (!op_flag(call, "aborted"))
        TRY(check_order(call->ethos, id, message, error));
    if (!id)
        str_printf(&result->text, "would begin a session in %s\n", place->folder);
    str_printf(&result->text, "would append %zu byte%s as %s%s%s\n", message->content.size,
               message->content.size == 1 ? "" : "s", message->role, id ? " to " : "",
               id ? id : "");
    return return_session_id(call, id, result, error);
}

static int append_message(const struct op_call *call, const char *id,
                          const struct ethos_message *message, struct op_result *result,
                          struct ethos_error *error)
{
    struct ethos_sessions *store;
    TRY(ethos_sessions(call->ethos, &store, error));
    int code = op_flag(call, "aborted")
                   ? append_closing(store, id, message, error)
                   : store->ops->append(store, id, message, 1, ETHOS_APPEND_CHECKED, error);
    TRY(hint_order(id, message, code, error));
    return return_session_id(call, id, result, error);
}

int sessions_run_append(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct message_place place = {.turn = NULL};
    const struct ethos_message message = named_message(call);
    TRY(check_parts(&message, error));
    if (op_flag(call, "aborted") && !has_role(&message, "user"))
        return err_set(error, ETHOS_INVALID, "aborted: only for a message of the user");
    int code = find_session_place(call, &place, error);
    if (code == ETHOS_OK && call->dry_run) {
        code = preview_append(call, &place, &message, result, error);
    } else if (code == ETHOS_OK) {
        if (!*place.id)
            code = check_order(call->ethos, NULL, &message, error);
        if (code == ETHOS_OK && place.turn)
            code = ethos_session_current(place.turn, place.folder, 0, place.id, error);
        if (code == ETHOS_OK)
            code = append_message(call, place.id, &message, result, error);
    }
    ethos_turn_free(place.turn);
    return code;
}
