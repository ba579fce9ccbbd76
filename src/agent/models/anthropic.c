/*
 * anthropic.c: Anthropic's Messages API.
 *
 * An answer is a list of blocks. They are echoed all and in order: thinking with its signature, and whatever else the
 * server may add, must come back as it was.
 */
#include "agent/models/reply.h"

#include <ctype.h>

#include "base/json.h"
#include "base/view.h"

#define MAX_OUTPUT 32000      /* tokens; the API wants a limit */
#define SMALL_MAX_OUTPUT 4096 /* what the oldest models allow */
#define MARKED_MESSAGES 2     /* of the user, at whose ends the prompt may be cached */
#define MAX_BLOCKS 512

enum { LEFT_MAX_TOKENS = 1 };

/* ---- request ------------------------------------------------------------------------------------- */

#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

/* A name or an id that another server gave: the API accepts letters, digits, _ and - alone. */
static void write_name(struct str *out, struct ethos_view name)
{
    str_adds(out, "\"");
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.data[i];
        str_addc(out, c < 0x80 && (isalnum(c) || c == '-') ? (char)c : '_');
    }
    str_adds(out, "\"");
}

static void write_text_block(struct str *out, struct ethos_view text, bool is_marked)
{
    str_adds(out, "{\"type\":\"text\",\"text\":");
    json_quote(text, out);
    str_adds(out, is_marked ? CACHE_MARK "}" : "}");
}

static void write_tool_use(struct str *out, const struct model_call *call)
{
    str_adds(out, "{\"type\":\"tool_use\",\"id\":");
    write_name(out, call->id);
    str_adds(out, ",\"name\":");
    write_name(out, call->name);
    str_adds(out, ",\"input\":");
    wire_add_arguments(out, call->arguments);
    str_adds(out, "}");
}

static void write_tool_result(struct str *out, const struct model_message *message, bool is_marked)
{
    str_adds(out, "{\"type\":\"tool_result\",\"tool_use_id\":");
    write_name(out, message->call_id);
    str_adds(out, ",\"content\":");
    json_quote(message->text, out);
    if (message->is_error)
        str_adds(out, ",\"is_error\":true");
    str_adds(out, is_marked ? CACHE_MARK "}" : "}");
}

static void write_assistant(struct str *out, const struct wire_settings *settings,
                            const struct model_message *message)
{
    struct ethos_view echo = wire_find_echo(&wire_anthropic, settings, message);
    bool has_text = !view_blank(message->text);
    if (echo.data) {
        str_add(out, echo);
        return;
    }
    str_adds(out, "{\"role\":\"assistant\",\"content\":[");
    if (has_text)
        write_text_block(out, message->text, false);
    for (size_t i = 0; i < message->call_count; i++) {
        str_adds(out, has_text || i > 0 ? "," : "");
        write_tool_use(out, &message->calls[i]);
    }
    str_adds(out, "]}");
}

/* Results of tools come first, and what the person said after them is part of the same message. */
static void write_user(struct str *out, const struct model_message *messages, size_t count,
                       bool is_marked)
{
    if (count > 1 && view_blank(messages[count - 1].text) && messages[count - 1].role == MODEL_USER)
        count--;
    str_adds(out, "{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;
        str_adds(out, i > 0 ? "," : "");
        if (messages[i].role == MODEL_TOOL_RESULT)
            write_tool_result(out, &messages[i], is_last && is_marked);
        else
            write_text_block(out, messages[i].text, is_last && is_marked);
    }
    str_adds(out, "]}");
}

/* The end of the messages that are one message of the API. */
static size_t find_role_end(const struct model_request *request, size_t start)
{
    const struct model_message *messages = request->messages;
    size_t end = start;
    while (end < request->message_count && messages[end].role == MODEL_TOOL_RESULT)
        end++;
    if (end == start || (end < request->message_count && messages[end].role == MODEL_USER))
        end++;
    return end;
}

/* The API refuses a message without content; an answer that was aborted at once is one. */
static bool is_empty_message(const struct wire_settings *settings,
                             const struct model_message *message)
{
    return message->role != MODEL_TOOL_RESULT && message->call_count == 0 &&
           view_blank(message->text) && !wire_find_echo(&wire_anthropic, settings, message).data;
}

static size_t count_user_messages(const struct wire_settings *settings,
                                  const struct model_request *request)
{
    size_t count = 0;
    for (size_t i = 0; i < request->message_count; i = find_role_end(request, i))
        count += request->messages[i].role != MODEL_ASSISTANT &&
                 !is_empty_message(settings, &request->messages[i]);
    return count;
}

static void write_messages(struct str *out, const struct wire_settings *settings,
                           const struct model_request *request)
{
    size_t to_come = count_user_messages(settings, request);
    bool is_first = true;
    for (size_t start = 0, end; start < request->message_count; start = end) {
        const struct model_message *message = &request->messages[start];
        end = find_role_end(request, start);
        if (is_empty_message(settings, message))
            continue;
        str_adds(out, is_first ? "" : ",");
        is_first = false;
        if (message->role == MODEL_ASSISTANT)
            write_assistant(out, settings, message);
        else
            write_user(out, message, end - start, to_come-- <= MARKED_MESSAGES);
    }
}

static void write_system(struct str *out, const struct model_request *request)
{
    size_t count = request->system_count;
    bool is_first = true;
    while (count > 0 && view_blank(request->system[count - 1]))
        count--;
    for (size_t i = 0; i < count; i++) {
        if (view_blank(request->system[i]))
            continue;
        str_adds(out, is_first ? ",\"system\":[" : ",");
        write_text_block(out, request->system[i], i + 1 == count);
        is_first = false;
    }
    str_adds(out, is_first ? "" : "]");
}

static void write_tools(struct str *out, const struct model_request *request)
{
    for (size_t i = 0; i < request->tool_count; i++) {
        const struct model_tool *tool = &request->tools[i];
        str_adds(out, i == 0 ? ",\"tools\":[{\"name\":" : ",{\"name\":");
        json_quote(tool->name, out);
        str_adds(out, ",\"description\":");
        json_quote(tool->description, out);
        str_adds(out, ",\"input_schema\":");
        str_add(out, tool->schema);
        str_adds(out, "}");
    }
    str_adds(out, request->tool_count > 0 ? "]" : "");
}

/* In the order in which the API caches: tools, system, messages. */
static int write_anthropic_request(const struct wire_settings *settings,
                                   const struct model_request *request, struct str *body)
{
    int64_t fallback = settings->left_out & LEFT_MAX_TOKENS ? SMALL_MAX_OUTPUT : MAX_OUTPUT;
    str_adds(body, "{\"model\":");
    json_quote(view_str(settings->model), body);
    str_printf(body, ",\"max_tokens\":%lld,\"stream\":true",
               (long long)(settings->max_output > 0 ? settings->max_output : fallback));
    write_tools(body, request);
    write_system(body, request);
    str_adds(body, ",\"messages\":[");
    write_messages(body, settings, request);
    str_adds(body, "]}");
    return str_code(body);
}

static unsigned refused_field(const struct wire_settings *settings, struct ethos_view text)
{
    return settings->max_output == 0 && view_contains(text, VIEW("max_tokens")) ? LEFT_MAX_TOKENS
                                                                                : 0;
}

/* ---- answer: blocks ------------------------------------------------------------------------------ */

/* reply->message is the list of blocks; the texts of the last one are the fields of the reply until it ends. */
static json_t *find_last_block(const struct reply *reply)
{
    size_t count = json_array_size(reply->message);
    return count > 0 ? json_array_get(reply->message, count - 1) : NULL;
}

static void finish_block(struct reply *reply)
{
    json_t *block = find_last_block(reply);
    for (size_t i = 0; i < reply->field_count; i++) {
        json_t *text = json_text(str_view(&reply->fields[i].value.text));
        reply_set_member(reply, block, reply->fields[i].name, text);
        json_decref(text);
    }
    reply_clear_fields(reply);
}

/* What a block begins with, or a delta of it. */
static void read_piece(struct reply *reply, const json_t *piece)
{
    json_t *block = find_last_block(reply);
    struct ethos_view text = json_view(piece, "text"), thinking = json_view(piece, "thinking");
    if (block && text.size > 0)
        reply_add_field(reply, "text", text);
    if (block && thinking.size > 0)
        reply_add_field(reply, "thinking", thinking);
    if (block && json_view(piece, "signature").size > 0)
        reply_set_member(reply, block, "signature", json_object_get(piece, "signature"));
    reply_add_text(reply, text);
    reply_add_thinking(reply, thinking);
}

static bool has_block_type(const json_t *object, const char *type)
{
    return view_eq_str(json_view(object, "type"), type);
}

static void start_call(struct reply *reply, const json_t *index, const json_t *block)
{
    const json_t *input = json_object_get(block, "input");
    struct reply_call *call = reply_add_call(reply);
    if (!call)
        return;
    call->index = json_is_integer(index) ? json_integer_value(index) : -1;
    reply_name_call(reply, call, json_view(block, "id"), json_view(block, "name"));
    if (json_object_size(input) > 0)
        reply_add_json_arguments(reply, call, input);
}

static void start_block(struct reply *reply, const json_t *index, const json_t *block)
{
    finish_block(reply);
    if (!json_is_object(block))
        return;
    if (!reply->message)
        reply->message = json_array();
    if (json_array_size(reply->message) == MAX_BLOCKS)
        reply_fail(reply, MODEL_PROTOCOL, "the answer has too many parts");
    else if (json_array_append_new(reply->message, json_copy((json_t *)block)) != 0)
        reply_fail_memory(reply);
    else if (has_block_type(block, "tool_use"))
        start_call(reply, index, block);
    else
        read_piece(reply, block);
}

static void read_delta(struct reply *reply, const json_t *index, const json_t *delta)
{
    int64_t number = json_is_integer(index) ? json_integer_value(index) : -1;
    struct ethos_view piece = json_view(delta, "partial_json");
    if (!has_block_type(delta, "input_json_delta")) {
        read_piece(reply, delta);
        return;
    }
    for (size_t i = reply->call_count; i-- > 0;)
        if (reply->calls[i]->index == number) {
            reply_add_arguments(reply, reply->calls[i], piece);
            return;
        }
}

/* ---- answer: the rest ---------------------------------------------------------------------------- */

/* Counts that are absent or null stay as they were. */
static void read_usage(struct reply *reply, const json_t *usage)
{
    struct model_usage *out = &reply->usage;
    reply_count(reply, json_object_get(usage, "input_tokens"), &out->input, MODEL_KNOWS_INPUT);
    reply_count(reply, json_object_get(usage, "output_tokens"), &out->output, MODEL_KNOWS_OUTPUT);
    reply_count(reply, json_object_get(usage, "cache_read_input_tokens"), &out->cache_read,
                MODEL_KNOWS_CACHE);
    reply_count(reply, json_object_get(usage, "cache_creation_input_tokens"), &out->cache_write,
                MODEL_KNOWS_CACHE);
}

static void read_stop(struct reply *reply, struct ethos_view reason)
{
    static const struct {
        const char *reason;
        enum model_stop stop;
    } stops[] = {{"max_tokens", MODEL_STOP_LENGTH},
                 {"model_context_window_exceeded", MODEL_STOP_WINDOW},
                 {"refusal", MODEL_STOP_REFUSED},
                 {"pause_turn", MODEL_STOP_PAUSED}};
    enum model_stop stop = MODEL_STOP_END;
    if (!reason.data)
        return;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (view_eq_str(reason, stops[i].reason))
            stop = stops[i].stop;
    reply_set_stop(reply, stop);
}

/* An answer that is no stream. */
static void read_whole_message(struct reply *reply, const json_t *message)
{
    size_t i;
    json_t *block;
    json_array_foreach (json_object_get(message, "content"), i, block)
        start_block(reply, NULL, block);
    read_usage(reply, json_object_get(message, "usage"));
    read_stop(reply, json_view(message, "stop_reason"));
}

static void read_anthropic_event(struct reply *reply, const json_t *event)
{
    const json_t *index = json_object_get(event, "index");
    if (has_block_type(event, "message_start")) {
        read_usage(reply, json_object_get(json_object_get(event, "message"), "usage"));
    } else if (has_block_type(event, "content_block_start")) {
        start_block(reply, index, json_object_get(event, "content_block"));
    } else if (has_block_type(event, "content_block_delta")) {
        read_delta(reply, index, json_object_get(event, "delta"));
    } else if (has_block_type(event, "content_block_stop")) {
        finish_block(reply);
    } else if (has_block_type(event, "message_delta")) {
        read_stop(reply, json_view(json_object_get(event, "delta"), "stop_reason"));
        read_usage(reply, json_object_get(event, "usage"));
    } else if (has_block_type(event, "message_stop")) {
        reply_complete(reply);
    } else if (has_block_type(event, "message")) {
        read_whole_message(reply, event);
    }
}

/* ---- echo ---------------------------------------------------------------------------------------- */

static void write_call_echo(struct str *out, const struct reply_call *call, const json_t *block)
{
    static const char *const written[] = {"type", "id", "name", "input", NULL};
    const struct model_call neutral = {str_view(&call->id), str_view(&call->name),
                                       str_view(&call->arguments.text)};
    write_tool_use(out, &neutral);
    str_truncate(out, out->size - 1);
    wire_add_members(out, block, written);
    str_adds(out, "}");
}

/* Thinking that was cut off has no signature, and the API refuses text that is blank. */
static bool can_echo(const json_t *block)
{
    if (has_block_type(block, "text"))
        return !view_blank(json_view(block, "text"));
    return !has_block_type(block, "thinking") || json_view(block, "signature").size > 0;
}

/* Thinking at the end is left out: a message may not end with it. */
static void write_anthropic_echo(struct reply *reply, struct str *out)
{
    size_t start = out->size, end = start, call_count = 0, i;
    bool has_more = false; /* than text */
    json_t *block;
    finish_block(reply);
    str_adds(out, "{\"role\":\"assistant\",\"content\":[");
    json_array_foreach (reply->message, i, block) {
        bool is_call = has_block_type(block, "tool_use");
        const struct reply_call *call = is_call ? reply->calls[call_count++] : NULL;
        if (is_call ? !reply_has_call(reply, call) : !can_echo(block))
            continue;
        str_adds(out, out->data[out->size - 1] == '[' ? "" : ",");
        if (is_call)
            write_call_echo(out, call, block);
        else
            json_print(block, JSON_STYLE_LINE, out);
        has_more |= !has_block_type(block, "text");
        if (is_call || has_block_type(block, "text"))
            end = out->size;
    }
    str_truncate(out, end);
    if (!has_more)
        str_truncate(out, start);
    else if (end > start)
        str_adds(out, "]}");
}

static const char *const headers[] = {"anthropic-version: 2023-06-01", NULL};

const struct wire wire_anthropic = {
    .name = "anthropic",
    .path = "/v1/messages",
    .list_path = "/v1/models?limit=1000",
    .key_header = "x-api-key: ",
    .headers = headers,
    .framing = WIRE_EVENTS,
    .write_request = write_anthropic_request,
    .refused_field = refused_field,
    .read_event = read_anthropic_event,
    .write_echo = write_anthropic_echo,
};
