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
 *
 * A summary that the model made of the conversation is an item like an answer; that it is one is told
 * after it, by a line that has its text at the end:
 *
 *     {"timestamp":"...","type":"compacted","payload":{"message":"..."}}
 */
#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

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

/* Whether any part of a message does not look like context that nobody typed. */
static bool is_question(const struct transcript_item *item)
{
    const struct text_block *part = item->parts;
    while (part && looks_made(view_trim(part->text)))
        part = part->next;
    return part;
}

static int read_codex_message(struct transcript_reading *reading, const json_t *item)
{
    struct ethos_view role = json_view(item, "role");
    struct transcript_item *made = NULL;
    bool user = view_eq_str(role, "user");
    if (!user && !view_eq_str(role, "assistant")) {
        reading_note(reading, NOTE_PROGRAM);
        return ETHOS_OK;
    }
    int code = reading_content(reading, user ? 'u' : 'a', json_object_get(item, "content"), &made);
    if (made)
        made->firm = user;
    if (made && user && is_question(made)) {
        reading->unasked = false;
        reading->question = reading->line;
        reading->shown = NULL;
    }
    return code;
}

/* The arguments of a function, the input of another tool, or what a shell was to do. */
static int take_call(struct transcript_reading *reading, const json_t *item)
{
    static const char *const names[] = {"arguments", "input", "action"};
    struct ethos_view name = json_view(item, "name");
    const json_t *input = NULL;
    struct transcript_item *made;
    for (size_t i = 0; !input && i < sizeof(names) / sizeof(*names); i++)
        input = json_object_get(item, names[i]);
    int code = reading_add(reading, 'a', &made);
    return code ? code
                : reading_call(reading, made, json_view(item, "call_id"),
                               name.data ? name : VIEW("shell"), input);
}

/* The output is text, blocks of it, or an object around either. */
static int take_output(struct transcript_reading *reading, const json_t *item)
{
    const json_t *output = json_object_get(item, "output");
    const json_t *content = json_object_get(output, "content");
    return reading_result(reading, json_view(item, "call_id"), (struct ethos_view){0},
                          content ? content : output);
}

static int take_item(struct transcript_reading *reading, const json_t *item)
{
    struct ethos_view type = json_view(item, "type");
    if (view_eq_str(type, "message"))
        return read_codex_message(reading, item);
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
static void take_tokens(struct transcript_reading *reading, const json_t *info)
{
    const json_t *last = json_object_get(info, "last_token_usage");
    const json_t *total = json_object_get(json_object_get(info, "total_token_usage"),
                                          "total_tokens");
    struct transcript_item *answer = reading->answer;
    if (!json_is_object(last) || json_integer_value(total) == reading->tokens)
        return;
    reading->reaches_back |= !answer;
    if (!answer)
        return;
    int64_t input = member_count(last, "input_tokens"),
            cached = member_count(last, "cached_input_tokens");
    reading->tokens = json_integer_value(total);
    answer->has_usage = true;
    answer->usage.input_tokens += input > cached ? input - cached : 0;
    answer->usage.output_tokens += member_count(last, "output_tokens");
    answer->usage.cache_read_tokens += cached;
}

/* What somebody typed; it need not be the last that was. */
static int take_typed(struct transcript_reading *reading, struct ethos_view text)
{
    struct ethos_view typed = view_trim(text);
    reading->shown = reading->shown ? reading->shown : "";
    if (typed.size == 0)
        return ETHOS_OK;
    if (looks_made(typed)) // and makes others of this text typed, wherever they are
        reading->reaches_back = reading->reaches_on = true;
    return json_object_setn_new_nocheck(reading->typed, typed.data, typed.size, json_true())
               ? ETHOS_NOMEM
               : ETHOS_OK;
}

static int take_shown(struct transcript_reading *reading, struct ethos_view text)
{
    reading->shown = arena_copy(reading->arena, view_trim(text));
    return reading->shown ? ETHOS_OK : ETHOS_NOMEM;
}

/* The same of both, as later versions write it. */
static int take_completed(struct transcript_reading *reading, const json_t *item)
{
    struct ethos_view type = json_view(item, "type");
    size_t index;
    json_t *part;
    int code = ETHOS_OK;
    json_array_foreach (json_object_get(item, "content"), index, part) {
        struct ethos_view text = json_view(part, "text");
        if (code == ETHOS_OK && view_eq_str(type, "UserMessage"))
            code = take_typed(reading, text);
        else if (code == ETHOS_OK && view_eq_str(type, "AgentMessage"))
            code = take_shown(reading, text);
    }
    return code;
}

static int take_event(struct transcript_reading *reading, const json_t *event)
{
    struct ethos_view type = json_view(event, "type");
    reading_note(reading, NOTE_OTHER);
    if (view_eq_str(type, "token_count"))
        take_tokens(reading, json_object_get(event, "info"));
    else if (view_eq_str(type, "task_started"))
        reading->unasked = true;
    else if (view_eq_str(type, "user_message"))
        return take_typed(reading, json_view(event, "message"));
    else if (view_eq_str(type, "agent_message"))
        return take_shown(reading, json_view(event, "message"));
    else if (view_eq_str(type, "item_completed"))
        return take_completed(reading, json_object_get(event, "item"));
    return ETHOS_OK;
}

/* ---- summaries ------------------------------------------------------------------------------- */

/* The text of the last item, if that is an answer that nobody asked for or saw; else absent. */
static struct ethos_view unseen_answer(const struct transcript_reading *reading)
{
    const struct transcript_item *item = reading->answer;
    if (!item || *reading->latest != item || item->calls || !item->parts || item->parts->next)
        return (struct ethos_view){0};
    struct ethos_view text = view_trim(item->parts->text);
    bool seen = reading->shown ? view_eq_str(text, reading->shown) : !reading->unasked;
    return seen ? (struct ethos_view){0} : text;
}

/* What it cost stays counted, with the answer before; but nothing goes back over a question. */
static void drop_summary(struct transcript_reading *reading)
{
    const struct transcript_item *summary = reading->answer;
    reading_take_back(reading, "a summary of what stands before was left out");
    if (reading->answer && reading->answer->line > reading->question) {
        reading->answer->has_usage |= summary->has_usage;
        transcript_add_usage(&reading->answer->usage, &summary->usage);
    }
}

static void take_compacted(struct transcript_reading *reading, struct ethos_view message)
{
    struct ethos_view text = unseen_answer(reading), whole = view_trim(message);
    if (text.size == 0 || !view_ends(whole, text))
        return;
    struct ethos_view before = view_of(whole.data, whole.size - text.size);
    if (before.size > 0 && !view_ends(before, VIEW("\n")))
        return;
    drop_summary(reading);
    reading->about->taken_back = true; // earlier it may have been taken for an answer
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The first is its own; others were copied from the session that it was forked from. */
static int take_meta(struct transcript_reading *reading, const json_t *meta)
{
    struct ethos_session *session = &reading->about->session;
    reading->reaches_back = true; // the first that tells is right
    int code = reading_session(reading, json_view(meta, "id"));
    if (code == ETHOS_OK && !session->id)
        code = reading_tell(reading, json_view(meta, "id"), &session->id);
    if (code == ETHOS_OK && !session->working_dir)
        code = reading_tell(reading, json_view(meta, "cwd"), &session->working_dir);
    if (code == ETHOS_OK && !session->provider)
        code = reading_tell(reading, json_view(meta, "model_provider"), &session->provider);
    return code;
}

int codex_line(struct transcript_reading *reading, const json_t *row)
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
    if (view_eq_str(type, "compacted"))
        take_compacted(reading, json_view(payload, "message"));
    if (view_eq_str(type, "turn_context"))
        return reading_tell(reading, json_view(payload, "model"), &reading->about->session.model);
    return view_eq_str(type, "session_meta") ? take_meta(reading, payload) : ETHOS_OK;
}

/* Whether every part of a message is context that nobody typed. */
static bool is_made(const struct transcript_reading *reading, const struct transcript_item *item)
{
    for (const struct text_block *part = item->parts; part; part = part->next) {
        struct ethos_view text = view_trim(part->text);
        if (!looks_made(text) || json_object_getn(reading->typed, text.data, text.size))
            return false;
    }
    return true;
}

int codex_end(struct transcript_reading *reading)
{
    if (reading->unasked && unseen_answer(reading).size > 0)
        reading_take_back(reading, "an answer that may be a summary was left out so far");
    for (struct transcript_item *item = reading->items; item; item = item->next) {
        if (item->role != 'u' || !is_made(reading, item))
            continue;
        item->role = 0;
        reading->line = item->line;
        reading_note(reading, "context that the program added was left out");
    }
    return ETHOS_OK;
}
