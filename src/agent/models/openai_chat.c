/*
 * openai_chat.c: chat completions, as OpenAI defined them and many servers speak them.
 *
 * Servers differ most in what they add. A message with calls is therefore echoed with every member of its calls
 * and of its reasoning; some servers refuse the next request without them.
 */
#include "agent/models/reply.h"

#include "base/json.h"
#include "base/view.h"

enum { LEFT_STREAM_OPTIONS = 1, LEFT_MAX_TOKENS = 2 };

/* ---- request ------------------------------------------------------------------------------------- */

static void write_chat_calls(struct str *out, const struct model_message *message)
{
    str_adds(out, ",\"tool_calls\":[");
    for (size_t i = 0; i < message->call_count; i++) {
        const struct model_call *call = &message->calls[i];
        struct str arguments;
        str_init(&arguments, WIRE_MAX_ANSWER);
        wire_add_arguments(&arguments, call->arguments);
        str_adds(out, i > 0 ? ",{\"id\":" : "{\"id\":");
        json_quote(call->id, out);
        str_adds(out, ",\"type\":\"function\",\"function\":{\"name\":");
        json_quote(call->name, out);
        str_adds(out, ",\"arguments\":");
        json_quote(str_view(&arguments), out);
        str_adds(out, "}}");
        if (str_code(&arguments) != ETHOS_OK)
            str_fail(out, str_code(&arguments));
        str_release(&arguments);
    }
    str_adds(out, "]");
}

static void write_chat_message(struct str *out, const struct wire_settings *settings,
                               const struct model_message *message)
{
    struct ethos_view echo = wire_find_echo(&wire_openai_chat, settings, message);
    if (echo.data) {
        str_add(out, echo);
        return;
    }
    if (message->role == MODEL_TOOL_RESULT) {
        str_adds(out, "{\"role\":\"tool\",\"tool_call_id\":");
        json_quote(message->call_id, out);
    } else {
        str_printf(out, "{\"role\":\"%s\"", message->role == MODEL_USER ? "user" : "assistant");
    }
    str_adds(out, ",\"content\":");
    if (message->call_count > 0 && message->text.size == 0)
        str_adds(out, "null");
    else
        json_quote(message->text, out);
    if (message->call_count > 0)
        write_chat_calls(out, message);
    str_adds(out, "}");
}

/* What changes least stands first. */
static int write_chat_request(const struct wire_settings *settings,
                              const struct model_request *request, struct str *body)
{
    str_adds(body, "{\"model\":");
    json_quote(view_str(settings->model), body);
    str_adds(body, ",\"stream\":true");
    if (!(settings->left_out & LEFT_STREAM_OPTIONS))
        str_adds(body, ",\"stream_options\":{\"include_usage\":true}");
    if (settings->max_output > 0 && !(settings->left_out & LEFT_MAX_TOKENS))
        str_printf(body, ",\"%s\":%lld",
                   settings->is_openai ? "max_completion_tokens" : "max_tokens",
                   (long long)settings->max_output);
    wire_add_functions(body, request);
    str_adds(body, ",\"messages\":[");
    if (request->system_count > 0) {
        str_adds(body, "{\"role\":\"system\",\"content\":");
        wire_add_system(body, request);
        str_adds(body, "}");
    }
    for (size_t i = 0; i < request->message_count; i++) {
        if (i > 0 || request->system_count > 0)
            str_adds(body, ",");
        write_chat_message(body, settings, &request->messages[i]);
    }
    str_adds(body, "]}");
    return str_code(body);
}

static unsigned refused_field(const struct wire_settings *settings, struct ethos_view text)
{
    if (view_contains(text, VIEW("stream_options")))
        return LEFT_STREAM_OPTIONS;
    if (settings->max_output > 0 && (view_contains(text, VIEW("max_tokens")) ||
                                     view_contains(text, VIEW("max_completion_tokens"))))
        return LEFT_MAX_TOKENS;
    return 0;
}

/* ---- answer: calls ------------------------------------------------------------------------------- */

/*
 * Calls are told apart by index, else by id, else by their position in the list. Of a piece that has a name, for a
 * call that has arguments already, the id decides whether it is another call: there are servers that count none.
 */
static struct reply_call *find_call(struct reply *reply, const json_t *piece, size_t position)
{
    const json_t *index = json_object_get(piece, "index");
    struct ethos_view id = json_view(piece, "id");
    bool is_named = json_view(json_object_get(piece, "function"), "name").size > 0;
    for (size_t i = reply->call_count; i-- > 0;) {
        struct reply_call *call = reply->calls[i];
        bool has_same_id = view_eq(id, str_view(&call->id));
        bool may_be_new = is_named && call->arguments.text.size > 0;
        if (json_is_integer(index)) {
            if (call->index != json_integer_value(index))
                continue;
            return may_be_new && id.size > 0 && !has_same_id ? NULL : call;
        }
        if (id.size > 0) {
            if (has_same_id)
                return call;
            continue;
        }
        if (call->position == position)
            return may_be_new ? NULL : call;
    }
    return NULL;
}

static void store_members(struct reply *reply, json_t *target, const json_t *source,
                          const char *const *except)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)source, name, value) {
        const char *const *at = except;
        while (*at && strcmp(*at, name) != 0)
            at++;
        if (!*at && !json_is_null(value))
            reply_set_member(reply, target, name, value);
    }
}

static void read_call_piece(struct reply *reply, const json_t *piece, size_t position)
{
    static const char *const call_members[] = {"index", "id", "function", NULL};
    static const char *const function_members[] = {"name", "arguments", NULL};
    const json_t *index = json_object_get(piece, "index");
    const json_t *function = json_object_get(piece, "function");
    struct reply_call *call = find_call(reply, piece, position);
    if (!call && !(call = reply_add_call(reply)))
        return;
    if (!call->members) {
        call->members = json_pack("{s:{}}", "function");
        if (!call->members)
            reply_fail_memory(reply);
        call->position = position;
        call->index = json_is_integer(index) ? json_integer_value(index) : -1;
    }
    store_members(reply, call->members, piece, call_members);
    store_members(reply, json_object_get(call->members, "function"), function, function_members);
    reply_name_call(reply, call, json_view(piece, "id"), json_view(function, "name"));
    reply_add_json_arguments(reply, call, json_object_get(function, "arguments"));
}

/* ---- answer: the rest ---------------------------------------------------------------------------- */

static void read_content(struct reply *reply, const json_t *content)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        reply_add_text(reply, view_of(json_string_value(content), json_string_length(content)));
    json_array_foreach (content, i, part)
        reply_add_text(reply, json_view(part, "text"));
}

/* A piece of reasoning_details continues the element before it, or is a new one. */
static bool continues_detail(const json_t *last, const json_t *piece)
{
    const json_t *index = json_object_get(piece, "index");
    if (!last || !json_equal(json_object_get(last, "type"), json_object_get(piece, "type")))
        return false;
    if (index)
        return json_equal(json_object_get(last, "index"), index);
    return view_eq_str(json_view(piece, "type"), "reasoning.text");
}

static void append_detail(struct reply *reply, json_t *last, const json_t *piece)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)piece, name, value) {
        const json_t *before = json_object_get(last, name);
        bool is_text = strcmp(name, "text") == 0 || strcmp(name, "summary") == 0;
        if (json_is_null(value))
            continue;
        if (is_text && json_is_string(before) && json_is_string(value))
            value = json_sprintf("%s%s", json_string_value(before), json_string_value(value));
        else
            json_incref(value);
        reply_set_member(reply, last, name, value);
        json_decref(value);
    }
}

static void read_details(struct reply *reply, const json_t *pieces)
{
    size_t i;
    json_t *piece, *details = json_object_get(reply->message, "reasoning_details");
    if (!details) {
        details = json_array();
        reply_set_member(reply, reply->message, "reasoning_details", details);
        json_decref(details);
    }
    json_array_foreach (pieces, i, piece) {
        json_t *last = json_array_get(details, json_array_size(details) - 1);
        if (reply->has_failed)
            return;
        if (continues_detail(last, piece))
            append_detail(reply, last, piece);
        else if (json_is_object(piece) && json_array_append_new(details, json_deep_copy(piece)))
            reply_fail_memory(reply);
    }
}

/* Members named reasoning... and extra_content go back with the calls, also when they are empty. */
static void read_reasoning(struct reply *reply, const json_t *delta)
{
    const char *name;
    json_t *value;
    if (!reply->message && !(reply->message = json_object())) {
        reply_fail_memory(reply);
        return;
    }
    json_object_foreach ((json_t *)delta, name, value) {
        bool is_reasoning = strncmp(name, "reasoning", 9) == 0;
        if (is_reasoning && json_is_string(value))
            reply_add_field(reply, name,
                            view_of(json_string_value(value), json_string_length(value)));
        else if (is_reasoning && json_is_array(value))
            read_details(reply, value);
        else if (strcmp(name, "extra_content") == 0 && !json_is_null(value))
            reply_set_member(reply, reply->message, name, value);
    }
    struct ethos_view thinking = json_view(delta, "reasoning_content");
    reply_add_thinking(reply, thinking.size > 0 ? thinking : json_view(delta, "reasoning"));
}

static void read_usage(struct reply *reply, const json_t *usage)
{
    const json_t *of_input = json_object_get(usage, "prompt_tokens_details");
    const json_t *of_output = json_object_get(usage, "completion_tokens_details");
    const json_t *cost = json_object_get(usage, "cost");
    struct model_usage *out = &reply->usage;
    *out = (struct model_usage){0};
    reply_count(reply, json_object_get(usage, "prompt_tokens"), &out->input, MODEL_KNOWS_INPUT);
    reply_count(reply, json_object_get(usage, "completion_tokens"), &out->output,
                MODEL_KNOWS_OUTPUT);
    reply_count(reply, json_object_get(usage, "prompt_cache_hit_tokens"), &out->cache_read,
                MODEL_KNOWS_CACHE);
    reply_count(reply, json_object_get(of_input, "cached_tokens"), &out->cache_read,
                MODEL_KNOWS_CACHE);
    reply_count(reply, json_object_get(of_input, "cache_write_tokens"), &out->cache_write,
                MODEL_KNOWS_CACHE);
    reply_count(reply, json_object_get(of_output, "reasoning_tokens"), &out->thinking, 0);
    int64_t cached = out->cache_read + out->cache_write;
    out->input = out->input > cached ? out->input - cached : 0;
    if (json_is_number(cost))
        reply_set_cost(reply, json_number_value(cost));
}

static void read_finish(struct reply *reply, struct ethos_view reason)
{
    if (!reason.data)
        return;
    reply_set_stop(reply, view_eq_str(reason, "length")           ? MODEL_STOP_LENGTH
                          : view_eq_str(reason, "content_filter") ? MODEL_STOP_REFUSED
                                                                  : MODEL_STOP_END);
}

static void read_chat_event(struct reply *reply, const json_t *event)
{
    const json_t *usage = json_object_get(event, "usage");
    const json_t *choice = json_array_get(json_object_get(event, "choices"), 0);
    const json_t *error = json_object_get(choice, "error");
    const json_t *delta = json_object_get(choice, "delta");
    size_t position;
    json_t *piece;
    if (!json_is_object(delta))
        delta = json_object_get(choice, "message");
    if (json_is_object(error)) {
        reply_fail_json(reply, error);
        return;
    }
    if (json_is_object(usage))
        read_usage(reply, usage);
    if (json_is_object(delta)) {
        read_reasoning(reply, delta);
        read_content(reply, json_object_get(delta, "content"));
        reply_add_text(reply, json_view(delta, "refusal"));
        json_array_foreach (json_object_get(delta, "tool_calls"), position, piece)
            read_call_piece(reply, piece, position);
    }
    read_finish(reply, json_view(choice, "finish_reason"));
}

/* ---- echo ---------------------------------------------------------------------------------------- */

static void write_chat_call_echo(struct str *out, const struct reply_call *call)
{
    static const char *const all[] = {NULL};
    static const char *const but_function[] = {"function", NULL};
    struct ethos_view arguments = str_view(&call->arguments.text);
    str_adds(out, "{\"id\":");
    json_quote(str_view(&call->id), out);
    str_adds(out, ",\"function\":{\"name\":");
    json_quote(str_view(&call->name), out);
    str_adds(out, ",\"arguments\":");
    json_quote(wire_is_object(arguments) ? arguments : VIEW("{}"), out);
    wire_add_members(out, json_object_get(call->members, "function"), all);
    str_adds(out, "}");
    if (!json_object_get(call->members, "type"))
        str_adds(out, ",\"type\":\"function\"");
    wire_add_members(out, call->members, but_function);
    str_adds(out, "}");
}

static void write_chat_echo(struct reply *reply, struct str *out)
{
    static const char *const all[] = {NULL};
    size_t start = out->size, count = 0;
    str_adds(out, "{\"role\":\"assistant\",\"content\":");
    if (reply->text.text.size > 0)
        json_quote(str_view(&reply->text.text), out);
    else
        str_adds(out, "null");
    for (size_t i = 0; i < reply->field_count; i++) {
        str_adds(out, ",");
        json_quote(view_str(reply->fields[i].name), out);
        str_adds(out, ":");
        json_quote(str_view(&reply->fields[i].value.text), out);
    }
    wire_add_members(out, reply->message, all);
    str_adds(out, ",\"tool_calls\":[");
    for (size_t i = 0; i < reply->call_count; i++) {
        if (!reply_has_call(reply, reply->calls[i]))
            continue;
        str_adds(out, count++ > 0 ? "," : "");
        write_chat_call_echo(out, reply->calls[i]);
    }
    str_adds(out, "]}");
    if (count == 0)
        str_truncate(out, start);
}

const struct wire wire_openai_chat = {
    .name = "openai-chat",
    .path = "/chat/completions",
    .list_path = "/models",
    .key_header = "Authorization: Bearer ",
    .framing = WIRE_EVENTS,
    .write_request = write_chat_request,
    .refused_field = refused_field,
    .read_event = read_chat_event,
    .write_echo = write_chat_echo,
};
