/*
 * hook_events.c: the members that agents use, and the answers they understand.
 */
#include "core/agents/hook_events.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

#define MARK_BEGIN VIEW("<hook_context>")
#define MARK_END VIEW("</hook_context>")

/* ---- what happened --------------------------------------------------------------------------- */

/* The first of these members that is a text without NUL and not empty. */
static const char *first_text_member(const json_t *input, const char *const *names)
{
    for (; *names; names++) {
        struct ethos_view text = json_view(input, *names);
        if (text.size > 0 && !memchr(text.data, '\0', text.size))
            return text.data;
    }
    return NULL;
}

static const char *absolute_path(const char *path)
{
    return path && *path == '/' ? path : NULL;
}

static const char *id_of(const char *id)
{
    return id && strlen(id) <= HOOK_MAX_ID ? id : NULL;
}

/* Gemini CLI puts what hooks said at the start before the first prompt. */
static struct ethos_view without_context(struct ethos_view prompt)
{
    for (;;) {
        struct ethos_view rest = view_trim_start(prompt);
        const char *end = view_starts(rest, MARK_BEGIN)
                              ? memmem(rest.data, rest.size, MARK_END.data, MARK_END.size)
                              : NULL;
        if (!end)
            return prompt;
        prompt = view_trim_start(view_from(rest, (size_t)(end - rest.data) + MARK_END.size));
    }
}

/* The answer; every agent calls it by another name. */
static struct ethos_view reply_of(const json_t *input)
{
    static const char *const names[] = {"last_assistant_message", "prompt_response", "text"};
    struct ethos_view reply = {0};
    for (size_t i = 0; i < 3 && !reply.data; i++)
        reply = json_view(input, names[i]);
    return reply;
}

static const char *folder_member(const json_t *input)
{
    const char *folder = absolute_path(
        first_text_member(input, (const char *const[]){"cwd", NULL}));
    const json_t *root = json_array_get(json_object_get(input, "workspace_roots"), 0);
    return folder ? folder : absolute_path(json_string_value(root));
}

int hook_take(const struct agent *agent, const struct agent_event *event, json_t *input,
              struct hook *out, struct ethos_error *error)
{
    static const char *const sessions[] = {"session_id", "conversation_id", NULL};
    static const char *const turns[] = {"turn_id", "generation_id", "timestamp", NULL};
    static const char *const sources[] = {"source", NULL};
    static const char *const transcripts[] = {"transcript_path", NULL};
    *out = (struct hook){.agent = agent, .event = event, .input = input};
    if (!json_is_object(input))
        return err_set(error, ETHOS_INVALID, "input: must be a JSON object");
    const char *source = first_text_member(input, sources);
    out->session = id_of(first_text_member(input, sessions));
    out->turn = id_of(first_text_member(input, turns));
    out->folder = folder_member(input);
    out->transcript = absolute_path(first_text_member(input, transcripts));
    out->compacted = source && strcmp(source, "compact") == 0;
    out->resumed = source && strcmp(source, "resume") == 0;
    out->prompt = without_context(json_view(input, "prompt"));
    out->reply = reply_of(input);
    return ETHOS_OK;
}

int hook_read(const struct agent *agent, const struct agent_event *event, struct ethos_view input,
              struct hook *out, struct ethos_error *error)
{
    json_t *json = NULL;
    *out = (struct hook){.agent = agent, .event = event};
    int code = json_parse_wide(input, "input", &json, error);
    return code == ETHOS_OK ? hook_take(agent, event, json, out, error) : code;
}

void hook_release(struct hook *self)
{
    json_decref(self->input);
    self->input = NULL;
}

/* ---- the answer ------------------------------------------------------------------------------ */

int hook_answer(const struct agent *agent, const struct agent_event *event, struct ethos_view text,
                const char *message, struct str *out)
{
    if (text.size == 0)
        return str_adds(out, "{}\n");
    str_addc(out, '{');
    if (message && agent->messages) {
        str_adds(out, "\"systemMessage\":");
        json_quote(view_str(message), out);
        str_addc(out, ',');
    }
    if (agent->flat) {
        str_adds(out, event->action == AGENT_PROMPT ? "\"continue\":true," : "");
        str_adds(out, "\"additional_context\":");
    } else {
        str_printf(out, "\"hookSpecificOutput\":{\"hookEventName\":\"%s\",\"additionalContext\":",
                   event->name);
    }
    json_quote(text, out);
    return str_adds(out, agent->flat ? "}\n" : "}}\n");
}
