/*
 * conversation.c: loading a session's messages for a model, and recording new ones.
 */
#include "agent/conversation.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/tools/toolbox.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/uuid.h"
#include "base/view.h"

#define BYTES_PER_TOKEN 4 /* of English text and code, about */
#define MESSAGE_TOKENS 8  /* overhead of a message in a request */
#define NO_ANSWER "(no answer: it was interrupted)"

/* ---- one message ------------------------------------------------------------------------------ */

static bool has_role(const struct ethos_message *message, const char *role)
{
    return strcmp(message->role, role) == 0;
}

/* Prints the arguments of a stored call, always as the same bytes. */
static int print_input(struct arena *arena, const json_t *input, struct ethos_view *out)
{
    struct str text;
    str_init(&text, MODEL_MAX_TEXT);
    int code = json_is_object(input) ? json_print(input, JSON_STYLE_LINE, &text)
                                     : str_adds(&text, "{}");
    char *copy = code == ETHOS_OK ? arena_copy(arena, str_view(&text)) : NULL;
    *out = view_of(copy, text.size);
    str_release(&text);
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

static int copy_view(struct arena *arena, struct ethos_view view, struct ethos_view *out)
{
    char *copy = arena_copy(arena, view);
    *out = view_of(copy, view.size);
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

static int read_calls(struct arena *arena, const char *text, struct model_message *out)
{
    json_t *calls = NULL, *call;
    size_t index, count;
    if (!text || json_parse_most(view_str(text), MODEL_MAX_TEXT, "calls", &calls, NULL) != ETHOS_OK)
        return ETHOS_OK;
    count = json_array_size(calls);
    struct model_call *rows = count > 0 ? arena_array(arena, count, sizeof *rows) : NULL;
    int code = rows || count == 0 ? ETHOS_OK : ETHOS_NOMEM;
    json_array_foreach (calls, index, call) {
        if (code == ETHOS_OK)
            code = copy_view(arena, json_view(call, "id"), &rows[index].id);
        if (code == ETHOS_OK)
            code = copy_view(arena, json_view(call, "name"), &rows[index].name);
        if (code == ETHOS_OK)
            code = print_input(arena, json_object_get(call, "input"), &rows[index].arguments);
    }
    out->calls = rows;
    out->call_count = count;
    json_decref(calls);
    return code;
}

/* Reads the content blocks that ethos added to a message. */
static int read_blocks(struct arena *arena, const char *text, struct model_message *out,
                       struct ethos_view *recalled)
{
    json_t *blocks = NULL, *block;
    size_t index;
    int code = ETHOS_OK;
    if (!text ||
        json_parse_most(view_str(text), MODEL_MAX_TEXT, "blocks", &blocks, NULL) != ETHOS_OK)
        return ETHOS_OK;
    json_array_foreach (blocks, index, block) {
        struct ethos_view type = json_view(block, "type");
        if (code == ETHOS_OK && view_eq_str(type, "ethos_recalled"))
            code = copy_view(arena, json_view(block, "text"), recalled);
        else if (code == ETHOS_OK && view_eq_str(type, "ethos_raw"))
            code = print_input(arena, json_object_get(block, "raw"), &out->raw);
        else if (view_eq_str(type, "ethos_failed"))
            out->is_error = true;
    }
    json_decref(blocks);
    return code;
}

/* Puts the recalled notes before the text of the message. */
static int join_recalled(struct arena *arena, struct ethos_view recalled, struct ethos_view *text)
{
    if (recalled.size == 0)
        return ETHOS_OK;
    char *joined = arena_printf(arena, "%.*s\n\n%.*s", VIEW_ARG(recalled), VIEW_ARG(*text));
    *text = view_str(joined);
    return joined ? ETHOS_OK : ETHOS_NOMEM;
}

/* Fences text from others, so that a model reads it as data. */
static int fence_view(struct conversation *self, const char *source, enum trust trust,
                      struct ethos_view *text)
{
    struct str out;
    str_init(&out, 4 * (size_t)MODEL_MAX_TEXT);
    int code = fence_text(*text, self->fence, source, trust, &out);
    if (code == ETHOS_OK)
        code = copy_view(&self->arena, str_view(&out), text);
    str_release(&out);
    return code;
}

/* Fences the files attached below the person's own text. */
static int fence_attached(struct conversation *self, struct ethos_view *text)
{
    struct ethos_view said = attachment_said(*text),
                      attached = view_trim(view_from(*text, said.size));
    if (attached.size == 0)
        return ETHOS_OK;
    int code = fence_view(self, "attachment", TRUST_UNTRUSTED, &attached);
    if (code != ETHOS_OK)
        return code;
    char *joined = arena_printf(&self->arena, "%.*s\n\n%.*s", VIEW_ARG(said), VIEW_ARG(attached));
    *text = view_str(joined);
    return joined ? ETHOS_OK : ETHOS_NOMEM;
}

/* Fences a tool's result by how far it is trusted. Messages without blocks are from earlier versions. */
static int fence_result(struct conversation *self, const struct ethos_message *message,
                        struct ethos_view *text)
{
    const char *blocks = message->content_blocks ? message->content_blocks : "";
    const char *tool = message->tool_name ? message->tool_name : "tool";
    if (strstr(blocks, CONVERSATION_OWN))
        return fence_view(self, tool, TRUST_AGENT, text);
    bool foreign = strstr(blocks, CONVERSATION_FOREIGN) ||
                   (!*blocks && toolbox_is_foreign(view_str(tool)));
    return foreign ? fence_view(self, tool, TRUST_UNTRUSTED, text) : ETHOS_OK;
}

static int append_model_message(struct conversation *self, const struct ethos_message *message)
{
    struct arena *arena = &self->arena;
    struct ethos_view recalled = {0};
    struct model_message made = {.role = has_role(message, "assistant")     ? MODEL_ASSISTANT
                                         : has_role(message, "tool_result") ? MODEL_TOOL_RESULT
                                                                            : MODEL_USER};
    struct model_message *rows = arena_grow(arena, self->messages, self->count, &self->capacity,
                                            sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->messages = rows;
    int code = copy_view(arena, message->content, &made.text);
    if (code == ETHOS_OK && made.role == MODEL_ASSISTANT)
        code = read_calls(arena, message->tool_calls, &made);
    if (code == ETHOS_OK)
        code = read_blocks(arena, message->content_blocks, &made, &recalled);
    if (code == ETHOS_OK && made.role == MODEL_USER)
        code = fence_attached(self, &made.text);
    if (code == ETHOS_OK && recalled.size > 0)
        code = fence_view(self, "recall", TRUST_AGENT, &recalled);
    if (code == ETHOS_OK)
        code = join_recalled(arena, recalled, &made.text);
    if (code == ETHOS_OK && made.role == MODEL_TOOL_RESULT && !made.is_error)
        code = fence_result(self, message, &made.text);
    if (code == ETHOS_OK && message->tool_call_id)
        code = copy_view(arena, view_str(message->tool_call_id), &made.call_id);
    if (code == ETHOS_OK && message->tool_name)
        code = copy_view(arena, view_str(message->tool_name), &made.tool_name);
    if (made.role == MODEL_ASSISTANT && made.text.size == 0 && made.call_count == 0)
        made.text = VIEW(NO_ANSWER);
    if (code == ETHOS_OK)
        rows[self->count++] = made;
    return code;
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* From the last user's message on is what decides how a session goes on. */
static int follow_transcript(struct conversation *self, const struct ethos_message *message)
{
    if (has_role(message, "user"))
        self->transcript = (struct transcript){.arena = &self->arena};
    return transcript_next(&self->transcript, message, NULL) == ETHOS_NOMEM ? ETHOS_NOMEM
                                                                            : ETHOS_OK;
}

static int read_session_message(void *arg, const struct ethos_message *message)
{
    struct conversation *self = arg;
    if (follow_transcript(self, message) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (has_role(message, "system") || (self->count == 0 && !has_role(message, "user")))
        return 0; // cut at a user's message
    return append_model_message(self, message);
}

int conversation_load(struct ethos_sessions *store, const char *session, struct conversation *out,
                      struct ethos_error *error)
{
    *out = (struct conversation){.store = store, .session = session};
    arena_init(&out->arena);
    out->transcript.arena = &out->arena;
    fence_number(session, out->fence);
    int code = store->ops->messages(store, session, AGENT_MAX_HISTORY, read_session_message, out,
                                    error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    return code;
}

void conversation_release(struct conversation *self)
{
    arena_release(&self->arena);
    *self = (struct conversation){0};
}

/* ---- recording -------------------------------------------------------------------------------- */

int conversation_append(struct conversation *self, const struct ethos_message *message,
                        struct ethos_error *error)
{
    struct ethos_message rows[TRANSCRIPT_MAX_CALLS + 1];
    char id[UUID_SIZE];
    size_t count = has_role(message, "user") ? transcript_close(&self->transcript, rows) : 0;
    rows[count++] = *message;
    if (!message->id && uuid_make(id) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    if (!message->id)
        rows[count - 1].id = id;
    int code = self->store->ops->append(self->store, self->session, rows, count,
                                        ETHOS_APPEND_CHECKED, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        code = follow_transcript(self, &rows[i]);
        if (code == ETHOS_OK)
            code = append_model_message(self, &rows[i]);
        if (code != ETHOS_OK)
            err_nomem(error);
    }
    return code;
}

/* ---- what fits -------------------------------------------------------------------------------- */

int64_t conversation_estimate(size_t bytes)
{
    return (int64_t)(bytes / BYTES_PER_TOKEN) + MESSAGE_TOKENS;
}

static int64_t estimate_message(const struct model_message *message)
{
    size_t bytes = message->raw.size > 0 ? message->raw.size : message->text.size;
    for (size_t i = 0; message->raw.size == 0 && i < message->call_count; i++)
        bytes += message->calls[i].name.size + message->calls[i].arguments.size;
    return conversation_estimate(bytes);
}

/* The last question is sent, whatever its size: the model says that it is too long, if it is. */
size_t conversation_first(const struct conversation *self, int64_t tokens)
{
    size_t first = self->count;
    int64_t used = 0;
    for (size_t i = self->count; i-- > 0;) {
        used += estimate_message(&self->messages[i]);
        if (used > tokens && first < self->count)
            break;
        if (self->messages[i].role == MODEL_USER)
            first = i;
    }
    return first;
}

size_t conversation_find_middle(const struct conversation *self, size_t first)
{
    size_t middle = first + (self->count - first) / 2, last = self->count;
    for (size_t i = first + 1; i < self->count; i++)
        if (self->messages[i].role == MODEL_USER) {
            last = i;
            if (i >= middle)
                return i;
        }
    return last;
}

int agent_attach(struct ethos_view name, struct ethos_view text, struct str *out)
{
    return attachment_add(name, text, out);
}
