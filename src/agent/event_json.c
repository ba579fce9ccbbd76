/*
 * event_json.c: events of a turn in the form of the SDK's stream.
 */
#include <string.h>

#include "agent/agent.h"
#include "base/view.h"
#include "ops/op.h"

static json_t *tool_start_json(const struct agent_event *event)
{
    json_t *args = NULL;
    if (json_parse_most(event->text, MODEL_MAX_TEXT, "arguments", &args, NULL) != ETHOS_OK)
        args = json_text(event->text);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "tool_start", "toolCallId",
                     json_text(event->id), "toolName", json_text(event->name), "args", args);
}

static json_t *usage_json(const struct agent_event *event)
{
    return json_pack(
        "{s:s, s:I, s:I, s:f}", "type", "usage", "inputTokens",
        (json_int_t)(event->usage.input + event->usage.cache_read + event->usage.cache_write),
        "outputTokens", (json_int_t)event->usage.output, "estimatedCostUsd",
        (double)event->usage.nano_usd / 1e9);
}

static json_t *remembered_json(const struct agent_event *event)
{
    struct str summary;
    str_init(&summary, 65536);
    agent_describe_changes(event->changes, &summary);
    json_t *json = json_pack("{s:s, s:o, s:O}", "type", "memory.captured", "summary",
                             json_text(str_view(&summary)), "changes", event->changes);
    str_release(&summary);
    return json;
}

static json_t *pending_json(const struct agent_event *event)
{
    struct str text;
    str_init(&text, 256);
    agent_describe_pending(event->changes, &text);
    json_t *json = json_pack("{s:s, s:o, s:s, s:O}", "type", "notification", "message",
                             json_text(str_view(&text)), "source", "memory", "pending",
                             event->changes);
    str_release(&text);
    return json;
}

json_t *agent_event_json(const struct agent_event *event)
{
    switch (event->kind) {
    case AGENT_START:
        return json_pack("{s:s, s:s, s:s, s:s, s:o}", "type", "run_start", "provider",
                         event->provider, "model", event->model, "source", "personality", "traceId",
                         json_text(event->id));
    case AGENT_CONTEXT:
        return NULL;
    case AGENT_TEXT:
        return json_pack("{s:s, s:o}", "type", "text_delta", "text", json_text(event->text));
    case AGENT_THINKING:
        return json_pack("{s:s, s:o}", "type", "thinking_delta", "thinking",
                         json_text(event->text));
    case AGENT_STATUS:
        return json_pack("{s:s, s:o}", "type", "notification", "message", json_text(event->text));
    case AGENT_TOOL_START:
        return tool_start_json(event);
    case AGENT_TOOL_END:
        return json_pack("{s:s, s:o, s:o, s:b, s:I, s:o}", "type", "tool_end", "toolCallId",
                         json_text(event->id), "toolName", json_text(event->name), "ok", event->ok,
                         "durationMs", (json_int_t)event->duration_ms, "result",
                         json_text(event->text));
    case AGENT_MESSAGE:
        return json_pack("{s:s, s:o, s:o}", "type", "message_persisted", "messageId",
                         json_text(event->id), "role", json_text(event->name));
    case AGENT_USAGE:
        return usage_json(event);
    case AGENT_DONE:
        return json_pack("{s:s, s:o, s:I, s:o, s:b}", "type", "done", "text",
                         json_text(event->text), "turnCount", (json_int_t)event->turns, "traceId",
                         json_text(event->id), "remembers", event->remembers);
    case AGENT_ERROR:
        return json_pack("{s:s, s:o, s:o, s:o}", "type", "error", "error", json_text(event->text),
                         "code", json_text(event->name), "traceId", json_text(event->id));
    case AGENT_PENDING:
        return pending_json(event);
    case AGENT_REMEMBERED:
        return remembered_json(event);
    case AGENT_RESTART:
        return json_pack("{s:s, s:s}", "type", "notification", "message",
                         "the answer starts over; disregard the text before");
    }
    return NULL;
}

/* ---- what was remembered, in words ------------------------------------------------------------- */

static void describe_lines(const json_t *lines, const char *verb, const char *key, struct str *out)
{
    size_t count = json_array_size(lines);
    if (count > 0)
        str_printf(out, "%s%s %zu %s in %s", out->size > 0 ? ", " : "", verb, count,
                   count == 1 ? "line" : "lines", key);
}

int agent_describe_changes(const json_t *changes, struct str *out)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)changes, index, row) {
        const char *key = json_string_value(json_object_get(row, "key"));
        const json_t *added = json_object_get(row, "added"),
                     *removed = json_object_get(row, "removed");
        describe_lines(added, "remembered", key, out);
        describe_lines(removed, "removed", key, out);
        if (json_array_size(added) == 0 && json_array_size(removed) == 0)
            str_printf(out, "%schanged %s", out->size > 0 ? ", " : "", key);
    }
    return str_code(out);
}

int agent_describe_pending(const json_t *pending, struct str *out)
{
    size_t count = json_array_size(pending);
    return str_printf(out, "%zu change%s for approval", count, count == 1 ? " waits" : "s wait");
}
