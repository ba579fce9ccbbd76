/*
 * append.c: a conversation kept by scripts and agents: which one goes on here, and what was
 * said next.
 *
 * A message that a model would refuse at its place is refused, and nothing is made for it.
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
    int code = id ? sessions_read_row(call, id, &row, error) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    return op_return_change(call, result, json_pack("{s:o}", "session", row ? row : json_null()),
                            error);
}

/* Which one it would be; none when one would be made. */
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
    struct ethos_turn *turn;
    char folder[PATH_MAX], id[ETHOS_UUID_SIZE];
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    code = sessions_folder_of_call(call, folder, error);
    if (code == ETHOS_OK && call->dry_run)
        code = preview_current(call, turn, folder, fresh, result, error);
    else if (code == ETHOS_OK &&
             (code = ethos_session_current(turn, folder, fresh, id, error)) == ETHOS_OK)
        code = return_session_id(call, id, result, error);
    ethos_turn_free(turn);
    return code;
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

/* Every call has a name; ids are looked at with the order. */
static int check_calls(const char *text, struct ethos_error *error)
{
    json_t *calls = NULL, *call;
    size_t index;
    int code = json_parse(view_str(text), "toolCalls", &calls, error);
    if (code == ETHOS_OK && json_array_size(calls) == 0)
        code = err_set(error, ETHOS_INVALID, "toolCalls: must be an array of calls");
    json_array_foreach (calls, index, call)
        if (code == ETHOS_OK && json_view(call, "name").size == 0)
            code = err_set(error, ETHOS_INVALID, "tool call %zu has no name", index + 1);
    json_decref(calls);
    return code;
}

/* What belongs to one role, and text where only a text can say something. */
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

/* What a caller can do about a message that does not fit. */
static int hint_order(const char *id, const struct ethos_message *message, int code,
                      struct ethos_error *error)
{
    if (code != ETHOS_INVALID)
        return code;
    if (id && has_role(message, "user"))
        return err_hint(error, code,
                        "add the reply first (--role assistant), or say that there was none"
                        " (--aborted)");
    return id ? err_hint(error, code, "ethos sessions show %s --last 3 shows how it stands", id)
              : err_hint(error, code, "a session begins with what the user says");
}

/* ---- its place -------------------------------------------------------------------------------- */

/* As the store looks at it: from the last user's message on, and only how it goes on. */
static int follow_order(void *arg, const struct ethos_message *message)
{
    struct transcript *transcript = arg;
    if (has_role(message, "user"))
        *transcript = (struct transcript){.arena = transcript->arena};
    return transcript_next(transcript, message, NULL) == ETHOS_NOMEM ? ETHOS_NOMEM : ETHOS_OK;
}

/* Whether the message may come next in a session (NULL: in a new one), without appending it. */
static int check_order(struct ethos *ethos, const char *id, const struct ethos_message *message,
                       struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct arena arena;
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    int code = ethos_sessions(ethos, &store, error);
    if (code == ETHOS_OK && id)
        code = sessions_walk_code(
            store->ops->messages(store, id, 0, follow_order, &transcript, error), error);
    if (code == ETHOS_OK)
        code = hint_order(id, message, transcript_next(&transcript, message, error), error);
    arena_release(&arena);
    return code;
}

/* Appends, after the messages that end an aborted turn. */
static int append_closing(struct ethos_sessions *store, const char *id,
                          const struct ethos_message *message, struct ethos_error *error)
{
    struct arena arena;
    struct ethos_message messages[TRANSCRIPT_MAX_CALLS + 1];
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    int code = sessions_walk_code(
        store->ops->messages(store, id, 0, follow_order, &transcript, error), error);
    if (code == ETHOS_OK) {
        size_t count = transcript_close(&transcript, messages);
        messages[count] = *message;
        code = store->ops->append(store, id, messages, count + 1, ETHOS_APPEND_CHECKED, error);
    }
    arena_release(&arena);
    return code;
}

/* Where a message goes. */
struct message_place {
    struct ethos_turn *turn; /* NULL when the session was named */
    char folder[PATH_MAX];
    char id[ETHOS_UUID_SIZE]; /* "": to be made */
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
    int code = op_flag(call, "aborted") ? ETHOS_OK : check_order(call->ethos, id, message, error);
    if (code != ETHOS_OK)
        return code;
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
    int code = ethos_sessions(call->ethos, &store, error);
    if (code != ETHOS_OK)
        return code;
    code = op_flag(call, "aborted")
               ? append_closing(store, id, message, error)
               : store->ops->append(store, id, message, 1, ETHOS_APPEND_CHECKED, error);
    code = hint_order(id, message, code, error);
    return code == ETHOS_OK ? return_session_id(call, id, result, error) : code;
}

int sessions_run_append(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct message_place place;
    const struct ethos_message message = named_message(call);
    int code = check_parts(&message, error);
    if (code == ETHOS_OK && op_flag(call, "aborted") && !has_role(&message, "user"))
        code = err_set(error, ETHOS_INVALID, "aborted: only for a message of the user");
    if (code != ETHOS_OK)
        return code;
    code = find_session_place(call, &place, error);
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
