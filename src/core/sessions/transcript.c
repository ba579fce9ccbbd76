/*
 * transcript.c: whether the next message fits the ones before.
 *
 * Looked at in full before anything is kept, so that a refused message leaves no trace.
 */
#include "core/sessions/transcript.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/view.h"

#define STEER 't'
#define RESULT 'r'

/* ---- roles ----------------------------------------------------------------------------------- */

static char role_letter(const char *role)
{
    static const struct {
        const char *role;
        char letter;
    } roles[] = {{"system", 's'},
                 {"user", 'u'},
                 {"assistant", 'a'},
                 {"tool_result", RESULT},
                 {"user_steer", STEER}};
    for (size_t i = 0; role && i < sizeof(roles) / sizeof(*roles); i++) {
        if (strcmp(role, roles[i].role) == 0)
            return roles[i].letter;
    }
    return 0;
}

static const char *before_name(char last)
{
    switch (last) {
    case 's':
        return "a system message";
    case 'u':
        return "a user's message";
    case 'a':
        return "an assistant's message";
    case RESULT:
        return "a tool result";
    case STEER:
        return "a steer";
    default:
        return "nothing";
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The place of a call, or count. */
static size_t find_open_call(const char *const *calls, size_t count, struct ethos_view id)
{
    size_t at = 0;
    while (at < count && !view_eq_str(id, calls[at]))
        at++;
    return at;
}

/* The ids of an array of calls into `next`, in the arena. */
static int take_ids(const json_t *array, struct transcript *next, struct ethos_error *error)
{
    size_t index;
    json_t *call;
    if (!json_is_array(array))
        return err_set(error, ETHOS_INVALID, "tool calls are not a JSON array");
    if (json_array_size(array) > TRANSCRIPT_MAX_CALLS)
        return err_set(error, ETHOS_LIMIT, "%zu tool calls in one message, the maximum is %d",
                       json_array_size(array), TRANSCRIPT_MAX_CALLS);
    next->call_count = 0;
    json_array_foreach ((json_t *)array, index, call) {
        struct ethos_view id = json_view(call, "id");
        if (id.size == 0 || memchr(id.data, '\0', id.size))
            return err_set(error, ETHOS_INVALID, "tool call %zu has no id", index + 1);
        if (find_open_call(next->calls, next->call_count, id) < next->call_count)
            return err_set(error, ETHOS_INVALID, "two tool calls have the id '%s'", id.data);
        const char *copy = arena_copy(next->arena, id);
        if (!copy)
            return err_nomem(error);
        next->calls[next->call_count++] = copy;
    }
    next->open_count = next->call_count;
    return ETHOS_OK;
}

static int take_calls(const char *tool_calls, struct transcript *next, struct ethos_error *error)
{
    json_t *array = NULL;
    next->call_count = next->open_count = 0;
    if (!tool_calls)
        return ETHOS_OK;
    int code = json_parse(view_str(tool_calls), "tool calls", &array, error);
    if (code == ETHOS_OK && !json_is_null(array))
        code = take_ids(array, next, error);
    json_decref(array);
    return code;
}

/* An answer moves its call behind the open ones. */
static int answer_call(struct transcript *next, const char *id, struct ethos_error *error)
{
    if (!id || !*id)
        return err_set(error, ETHOS_INVALID, "a tool result without the id of its call");
    size_t at = find_open_call(next->calls, next->call_count, view_str(id));
    if (at == next->call_count)
        return err_set(error, ETHOS_INVALID, "a tool result for '%s', which was not called", id);
    if (at >= next->open_count)
        return err_set(error, ETHOS_INVALID, "a second tool result for '%s'", id);
    const char *call = next->calls[at];
    next->calls[at] = next->calls[--next->open_count];
    next->calls[next->open_count] = call;
    return ETHOS_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool may_follow(const struct transcript *self, char role)
{
    switch (role) {
    case 's':
        return self->last == 0;
    case 'u':
        return self->last == 0 || strchr("sar", self->last);
    case 'a':
        return self->last != 0 && strchr("urt", self->last);
    case RESULT:
        return true; // its id decides
    default:
        return self->last == RESULT || self->last == STEER || self->open_count > 0;
    }
}

static int check_order(const struct transcript *self, char role, const char *name,
                       struct ethos_error *error)
{
    if (!role)
        return err_set(error, ETHOS_INVALID, "'%s' is not a role", name ? name : "");
    if ((role == 'u' || role == 'a') && self->open_count > 0)
        return err_set(error, ETHOS_INVALID, "role %s while the tool call '%s' has no result", name,
                       self->calls[0]);
    if (role == 'u' && (self->last == 'u' || self->last == STEER))
        return err_set(error, ETHOS_INVALID, "the last message is already from the user");
    if (!may_follow(self, role))
        return err_set(error, ETHOS_INVALID, "role %s after %s", name, before_name(self->last));
    return ETHOS_OK;
}

int transcript_next(struct transcript *self, const struct ethos_message *message,
                    struct ethos_error *error)
{
    struct transcript next = *self;
    char role = role_letter(message->role);
    int code = check_order(self, role, message->role, error);
    if (code != ETHOS_OK)
        return code;
    if (role == RESULT)
        code = answer_call(&next, message->tool_call_id, error);
    else if (role != STEER)
        code = take_calls(role == 'a' ? message->tool_calls : NULL, &next, error);
    if (code != ETHOS_OK)
        return code;
    next.last = role;
    *self = next;
    return ETHOS_OK;
}

size_t transcript_close(const struct transcript *self,
                        struct ethos_message out[TRANSCRIPT_MAX_CALLS])
{
    for (size_t i = 0; i < self->open_count; i++)
        out[i] = (struct ethos_message){.role = "tool_result",
                                        .content = VIEW(TRANSCRIPT_NO_RESULT),
                                        .tool_call_id = self->calls[i]};
    if (self->open_count > 0 || (self->last != 'u' && self->last != STEER))
        return self->open_count;
    out[0] = (struct ethos_message){.role = "assistant", .content = VIEW(TRANSCRIPT_NO_REPLY)};
    return 1;
}
