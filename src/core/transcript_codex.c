/*
 * transcript_codex.c: lines of a Codex rollout.
 *
 *     {"timestamp":"...","type":"session_meta","payload":{"id":"...","cwd":"..."}}
 *     {"timestamp":"...","type":"response_item","payload":{"type":"message","role":"user",
 *      "content":[{"type":"input_text","text":"..."}]}}
 *     ... {"type":"function_call","name":"...","arguments":"JSON","call_id":"..."}
 *     ... {"type":"function_call_output","call_id":"...","output":"..."}
 *     {"timestamp":"...","type":"event_msg","payload":{"type":"user_message","message":"..."}}
 *
 * Two logs in one file: response_item is what the model saw, event_msg what the screen showed. The
 * first is read; the second only tells what was counted and which of the user's messages somebody
 * typed, because the program puts its own context there under the same role. Early versions wrote
 * the items without the envelope, after one line about the session.
 */
#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/transcript_parts.h"

static int take_message(struct reading *reading, const json_t *item)
{
    struct ethos_view role = json_view(item, "role");
    struct item *made;
    bool user = view_eq_str(role, "user");
    if (!user && !view_eq_str(role, "assistant")) {
        reading_note(reading, NOTE_PROGRAM);
        return ETHOS_OK;
    }
    return reading_content(reading, user ? 'u' : 'a', json_object_get(item, "content"), &made);
}

/* The arguments of a function, the input of another tool, or what a shell was to do. */
static int take_call(struct reading *reading, const json_t *item)
{
    static const char *const names[] = {"arguments", "input", "action"};
    struct ethos_view name = json_view(item, "name");
    const json_t *input = NULL;
    struct item *made;
    for (size_t i = 0; !input && i < sizeof(names) / sizeof(*names); i++)
        input = json_object_get(item, names[i]);
    int code = reading_add(reading, 'a', &made);
    return code ? code
                : reading_call(reading, made, json_view(item, "call_id"),
                               name.data ? name : VIEW("shell"), input);
}

/* The output is text, blocks of it, or an object around either. */
static int take_output(struct reading *reading, const json_t *item)
{
    const json_t *output = json_object_get(item, "output");
    const json_t *content = json_object_get(output, "content");
    return reading_result(reading, json_view(item, "call_id"), (struct ethos_view){0},
                          content ? content : output);
}

static int take_item(struct reading *reading, const json_t *item)
{
    struct ethos_view type = json_view(item, "type");
    if (view_eq_str(type, "message"))
        return take_message(reading, item);
    if (view_eq_str(type, "function_call") || view_eq_str(type, "custom_tool_call") ||
        view_eq_str(type, "local_shell_call"))
        return take_call(reading, item);
    if (view_eq_str(type, "function_call_output") || view_eq_str(type, "custom_tool_call_output") ||
        view_eq_str(type, "local_shell_call_output"))
        return take_output(reading, item);
    reading_note(reading, view_eq_str(type, "reasoning") ? NOTE_REASONING : NOTE_OTHER);
    return ETHOS_OK;
}

/* ---- the rest of the log --------------------------------------------------------------------- */

/*
 * Tokens belong to the answer before; what was counted is told again with every limit that
 * changes.
 */
static void take_tokens(struct reading *reading, const json_t *info)
{
    const json_t *last = json_object_get(info, "last_token_usage");
    const json_t *total = json_object_get(json_object_get(info, "total_token_usage"),
                                          "total_tokens");
    struct item *answer = reading->answer;
    if (!answer || !json_is_object(last) || json_integer_value(total) == reading->tokens)
        return;
    int64_t input = count_of(last, "input_tokens"), cached = count_of(last, "cached_input_tokens");
    reading->tokens = json_integer_value(total);
    answer->has_usage = true;
    answer->usage.input_tokens += input > cached ? input - cached : 0;
    answer->usage.output_tokens += count_of(last, "output_tokens");
    answer->usage.cache_read_tokens += cached;
}

static int take_event(struct reading *reading, const json_t *event)
{
    struct ethos_view typed = view_trim(json_view(event, "message"));
    reading_note(reading, NOTE_OTHER);
    if (view_eq_str(json_view(event, "type"), "token_count"))
        take_tokens(reading, json_object_get(event, "info"));
    if (!view_eq_str(json_view(event, "type"), "user_message") || typed.size == 0)
        return ETHOS_OK;
    return json_object_setn_new_nocheck(reading->typed, typed.data, typed.size, json_true())
               ? ETHOS_NOMEM
               : ETHOS_OK;
}

/* The first is its own; others were copied from the session that it was forked from. */
static int take_meta(struct reading *reading, const json_t *meta)
{
    struct ethos_session *session = &reading->about->session;
    int code = reading_session(reading, json_view(meta, "id"));
    if (code == ETHOS_OK && !session->id)
        code = reading_tell(reading, json_view(meta, "id"), &session->id);
    if (code == ETHOS_OK && !session->working_dir)
        code = reading_tell(reading, json_view(meta, "cwd"), &session->working_dir);
    if (code == ETHOS_OK && !session->provider)
        code = reading_tell(reading, json_view(meta, "model_provider"), &session->provider);
    return code;
}

int codex_line(struct reading *reading, const json_t *row)
{
    const json_t *payload = json_object_get(row, "payload");
    struct ethos_view type = json_view(row, "type");
    reading->time = json_object_get(row, "timestamp");
    if (!json_is_object(payload) && !type.data) {
        reading_note(reading, NOTE_OTHER);
        return take_meta(reading, row);
    }
    if (!json_is_object(payload))
        return take_item(reading, row);
    if (view_eq_str(type, "event_msg"))
        return take_event(reading, payload);
    if (view_eq_str(type, "response_item"))
        return take_item(reading, payload);
    reading_note(reading, NOTE_OTHER);
    if (view_eq_str(type, "turn_context"))
        return reading_tell(reading, json_view(payload, "model"), &reading->about->session.model);
    return view_eq_str(type, "session_meta") ? take_meta(reading, payload) : ETHOS_OK;
}

/* "<tag> ... </tag>" as a whole, or the heading of an instruction file. */
static bool looks_made(struct ethos_view text)
{
    if (view_starts(text, VIEW("# AGENTS.md instructions")))
        return true;
    if (text.size < 2 || text.data[0] != '<' || text.data[text.size - 1] != '>')
        return false;
    size_t name = 1;
    while (name < text.size && !memchr(" >\n", text.data[name], 3))
        name++;
    struct ethos_view tag = view_of(text.data + 1, name - 1);
    struct ethos_view end = view_of(text.data, text.size - 1);
    return tag.size > 0 && view_ends(end, tag) && end.size >= 2 * tag.size + 3 &&
           view_ends(view_of(end.data, end.size - tag.size), VIEW("</"));
}

/* Whether every part of a message is context that nobody typed. */
static bool is_made(const struct reading *reading, const struct item *item)
{
    for (const struct part *part = item->parts; part; part = part->next) {
        struct ethos_view text = view_trim(part->text);
        if (!looks_made(text) || json_object_getn(reading->typed, text.data, text.size))
            return false;
    }
    return true;
}

int codex_end(struct reading *reading)
{
    for (struct item *item = reading->items; item; item = item->next) {
        if (item->role != 'u' || !is_made(reading, item))
            continue;
        item->role = 0;
        reading->line = item->line;
        reading_note(reading, "context that the program added was left out");
    }
    return ETHOS_OK;
}
