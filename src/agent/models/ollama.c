/*
 * ollama.c: Ollama's own API.
 *
 * Why not the one it shares with OpenAI: only here a request can say how large the context window is. Without that
 * Ollama chooses a small one, and leaves out the oldest messages without an error.
 */
#include "agent/models/reply.h"

#include <stdio.h>

#include "base/json.h"
#include "base/view.h"

#define BYTES_PER_TOKEN 4 /* an estimate */

/* ---- request ------------------------------------------------------------------------------------- */

static void write_ollama_calls(struct str *out, const struct model_message *message)
{
    for (size_t i = 0; i < message->call_count; i++) {
        const struct model_call *call = &message->calls[i];
        str_adds(out, i == 0 ? ",\"tool_calls\":[{\"id\":" : ",{\"id\":");
        json_quote(call->id, out);
        str_adds(out, ",\"function\":{\"name\":");
        json_quote(call->name, out);
        str_adds(out, ",\"arguments\":");
        wire_add_arguments(out, call->arguments);
        str_adds(out, "}}");
    }
    str_adds(out, message->call_count > 0 ? "]" : "");
}

static void write_ollama_message(struct str *out, const struct wire_settings *settings,
                                 const struct model_message *message)
{
    struct ethos_view echo = wire_find_echo(&wire_ollama, settings, message);
    if (echo.data) {
        str_add(out, echo);
        return;
    }
    if (message->role == MODEL_TOOL_RESULT) {
        str_adds(out, "{\"role\":\"tool\",\"tool_name\":");
        json_quote(message->tool_name, out);
        str_adds(out, ",\"tool_call_id\":");
        json_quote(message->call_id, out);
    } else {
        str_printf(out, "{\"role\":\"%s\"", message->role == MODEL_USER ? "user" : "assistant");
    }
    str_adds(out, ",\"content\":");
    json_quote(message->text, out);
    write_ollama_calls(out, message);
    str_adds(out, "}");
}

/* num_ctx stays the same within a model's life: another one makes Ollama load the model again. */
static int write_ollama_request(const struct wire_settings *settings,
                                const struct model_request *request, struct str *body)
{
    str_adds(body, "{\"model\":");
    json_quote(view_str(settings->model), body);
    str_printf(body,
               ",\"stream\":true,\"truncate\":false,\"shift\":false,\"options\":{\"num_ctx\":%lld",
               (long long)settings->num_ctx);
    if (settings->max_output > 0)
        str_printf(body, ",\"num_predict\":%lld", (long long)settings->max_output);
    str_adds(body, "}");
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
        write_ollama_message(body, settings, &request->messages[i]);
    }
    str_adds(body, "]}");
    return str_code(body);
}

/* ---- answer -------------------------------------------------------------------------------------- */

/* Calls come whole. */
static void read_whole_call(struct reply *reply, const json_t *piece)
{
    const json_t *function = json_object_get(piece, "function");
    struct reply_call *call = reply_add_call(reply);
    if (!call)
        return;
    reply_name_call(reply, call, json_view(piece, "id"), json_view(function, "name"));
    reply_add_json_arguments(reply, call, json_object_get(function, "arguments"));
    call->members = json_copy((json_t *)function);
    if (function && !call->members)
        reply_fail_memory(reply);
}

/* A server that cut the prompt does not say so; the number of tokens that it read shows it. */
static void check_prompt(struct reply *reply)
{
    char line[160];
    int64_t expected = (int64_t)(reply->settings->request_bytes / BYTES_PER_TOKEN);
    if (reply->usage.input == 0 || reply->usage.input >= expected / 2)
        return;
    snprintf(line, sizeof line,
             "%s read %lld of about %lld tokens and has not seen the oldest messages; "
             "raise model.numCtx",
             reply->settings->provider, (long long)reply->usage.input, (long long)expected);
    reply_show_status(reply, line);
}

/* Counts that are 0 are left out by the server. */
static void read_last_event(struct reply *reply, const json_t *event)
{
    reply_count(reply, json_object_get(event, "prompt_eval_count"), &reply->usage.input, 0);
    reply_count(reply, json_object_get(event, "eval_count"), &reply->usage.output, 0);
    reply->usage.known |= MODEL_KNOWS_INPUT | MODEL_KNOWS_OUTPUT;
    reply_set_stop(reply, view_eq_str(json_view(event, "done_reason"), "length") ? MODEL_STOP_LENGTH
                                                                                 : MODEL_STOP_END);
    check_prompt(reply);
    reply_complete(reply);
}

static void read_ollama_event(struct reply *reply, const json_t *event)
{
    const json_t *message = json_object_get(event, "message");
    size_t i;
    json_t *piece;
    reply_add_thinking(reply, json_view(message, "thinking"));
    reply_add_text(reply, json_view(message, "content"));
    json_array_foreach (json_object_get(message, "tool_calls"), i, piece)
        read_whole_call(reply, piece);
    if (json_is_true(json_object_get(event, "done")))
        read_last_event(reply, event);
}

/* ---- echo ---------------------------------------------------------------------------------------- */

static void write_ollama_call_echo(struct str *out, const struct reply_call *call)
{
    static const char *const written[] = {"name", "arguments", NULL};
    str_adds(out, "{\"id\":");
    json_quote(str_view(&call->id), out);
    str_adds(out, ",\"function\":{\"name\":");
    json_quote(str_view(&call->name), out);
    str_adds(out, ",\"arguments\":");
    wire_add_arguments(out, str_view(&call->arguments.text));
    wire_add_members(out, call->members, written);
    str_adds(out, "}}");
}

/* Models that think before they call want to see why they did. */
static void write_ollama_echo(struct reply *reply, struct str *out)
{
    size_t start = out->size, count = 0;
    str_adds(out, "{\"role\":\"assistant\",\"content\":");
    json_quote(str_view(&reply->text.text), out);
    if (reply->thinking.text.size > 0) {
        str_adds(out, ",\"thinking\":");
        json_quote(str_view(&reply->thinking.text), out);
    }
    str_adds(out, ",\"tool_calls\":[");
    for (size_t i = 0; i < reply->call_count; i++) {
        if (!reply_has_call(reply, reply->calls[i]))
            continue;
        str_adds(out, count++ > 0 ? "," : "");
        write_ollama_call_echo(out, reply->calls[i]);
    }
    str_adds(out, "]}");
    if (count == 0)
        str_truncate(out, start);
}

const struct wire wire_ollama = {
    .name = "ollama",
    .path = "/api/chat",
    .list_path = "/api/tags",
    .window_path = "/api/show",
    .key_header = "Authorization: Bearer ",
    .framing = WIRE_LINES,
    .sets_window = true,
    .write_request = write_ollama_request,
    .read_event = read_ollama_event,
    .write_echo = write_ollama_echo,
};
