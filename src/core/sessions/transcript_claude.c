/*
 * transcript_claude.c: lines of a Claude Code session, and plain JSON lines.
 *
 *     {"type":"user","uuid":"...","timestamp":"...","sessionId":"...","isSidechain":false,
 *      "message":{"role":"user","content":"..." or [{"type":"text"|"tool_result", ...}]}}
 *     {"type":"assistant",...,
 *      "message":{"id":"msg_...","content":[{"type":"tool_use",...}],"usage":{...}}}
 *
 * One answer of the model is written as several lines with the same message.id, each repeating the
 * count of tokens, of which the last is right. Everything of another type is bookkeeping, but that
 * some of it is a title:
 *
 *     {"type":"custom-title","customTitle":"..."}          by a person
 *     {"type":"ai-title","aiTitle":"..."}                  by the program
 *     {"type":"summary","summary":"...","leafUuid":"..."}  if the file has that line; others are of
 *                                                          other sessions
 *
 * A slash command is written as a line of the user's, and so is what the program itself says to it
 * (transcript_claude_commands.c). Which commands go to the model only shows by who answers, so one that
 * nobody has answered yet is left out until then.
 */
#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

static bool has_true_member(const json_t *row, const char *name)
{
    return json_is_true(json_object_get(row, name));
}

/* Whether something stands before the line that stays there. */
static bool has_earlier_items(const struct transcript_reading *reading)
{
    bool only_command = reading->command && reading->latest == &reading->items;
    return reading->from || (reading->items && !only_command);
}

/* Why a line is no part of the conversation, or NULL. */
static const char *reason_to_skip(const struct transcript_reading *reading, const json_t *row)
{
    struct ethos_view type = json_view(row, "type");
    if ((!view_eq_str(type, "user") && !view_eq_str(type, "assistant")) ||
        !json_is_object(json_object_get(row, "message")))
        return NOTE_OTHER;
    if (has_true_member(row, "isSidechain"))
        return "a side chain was left out";
    if (has_true_member(row, "isMeta"))
        return NOTE_PROGRAM;
    if (has_true_member(row, "isCompactSummary") && has_earlier_items(reading))
        return "a summary of what stands before was left out";
    return NULL;
}

/* The tokens of one answer are counted once, where it was told last. */
static int take_usage(struct transcript_reading *reading, struct transcript_item *item,
                      const json_t *message)
{
    const json_t *usage = json_object_get(message, "usage");
    struct ethos_view response = json_view(message, "id");
    if (!json_is_object(usage))
        return ETHOS_OK;
    bool again = response.data && reading->response && view_eq_str(response, reading->response);
    reading->reaches_back |= again && !reading->counted;
    if (again && reading->counted) {
        reading->counted->has_usage = false;
        reading->counted->usage = (struct ethos_usage){0};
    }
    item->has_usage = true;
    item->usage = (struct ethos_usage){
        .input_tokens = member_count(usage, "input_tokens"),
        .output_tokens = member_count(usage, "output_tokens"),
        .cache_read_tokens = member_count(usage, "cache_read_input_tokens"),
        .cache_creation_tokens = member_count(usage, "cache_creation_input_tokens")};
    reading->counted = item;
    reading->response = arena_copy(reading->arena, response);
    return reading->response ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void drop_command(struct transcript_reading *reading, const char *what)
{
    branch_no_message(reading, reading->command_node);
    reading_take_back(reading, what);
}

/* What the program said to a command, which was none to the model then. */
static int take_local(struct transcript_reading *reading, bool answer)
{
    if (answer && reading->command) {
        drop_command(reading, "a command that the program answered itself was left out");
        reading->about->taken_back = true; // earlier it may have been another's
    }
    reading_note(reading, NOTE_PROGRAM);
    return ETHOS_OK;
}

/* As it was typed. */
static int take_command(struct transcript_reading *reading, struct ethos_view name,
                        struct ethos_view args, struct transcript_item **out)
{
    struct str typed;
    str_init(&typed, SIZE_MAX);
    str_add(&typed, name);
    str_adds(&typed, args.size > 0 ? " " : "");
    str_add(&typed, args);
    int code = str_code(&typed) ? ETHOS_NOMEM : reading_add(reading, 'u', out);
    if (code == ETHOS_OK)
        code = reading_text(reading, *out, str_view(&typed));
    str_release(&typed);
    reading->command = true;
    reading->command_node = reading->node;
    return code;
}

/* ---- what is told of the session ------------------------------------------------------------- */

/* A better title, or a later one as good. */
static int take_title(struct transcript_reading *reading, char rank, struct ethos_view title)
{
    reading->told = true;
    if (rank < reading->title_rank || view_blank(title))
        return ETHOS_OK;
    reading->title_rank = rank;
    return reading_title(reading, title);
}

static int take_summary(struct transcript_reading *reading, const json_t *row)
{
    struct ethos_view leaf = json_view(row, "leafUuid");
    json_t *summary = json_object_get(row, "summary");
    reading_note(reading, NOTE_OTHER);
    reading->summed = true;
    if (leaf.size == 0 || !json_is_string(summary))
        return ETHOS_OK;
    return json_object_setn_nocheck(reading->summaries, leaf.data, leaf.size, summary) ? ETHOS_NOMEM
                                                                                       : ETHOS_OK;
}

/* Lines that were copied by a fork may name the session they are from: the last is its own. */
static int take_about(struct transcript_reading *reading, const json_t *row)
{
    struct ethos_session *session = &reading->about->session;
    struct ethos_view model = json_view(json_object_get(row, "message"), "model");
    int code = reading_session(reading, json_view(row, "sessionId"));
    if (code == ETHOS_OK)
        code = reading_tell(reading, json_view(row, "sessionId"), &session->id);
    if (code == ETHOS_OK && !session->working_dir)
        code = reading_tell(reading, json_view(row, "cwd"), &session->working_dir);
    if (code == ETHOS_OK && !view_starts(model, VIEW("<"))) // <synthetic>: not by a model
        code = reading_tell(reading, model, &session->model);
    return code;
}

int claude_end(struct transcript_reading *reading)
{
    const char *leaf;
    json_t *summary;
    int code = ETHOS_OK;
    json_object_foreach (reading->summaries, leaf, summary) {
        struct ethos_view title = view_of(json_string_value(summary), json_string_length(summary));
        if (!json_object_get(reading->names, leaf))
            reading->reaches_back |= reading->from && !reading->from->titled;
        else if (code == ETHOS_OK)
            code = take_title(reading, 0, title);
    }
    if (reading->command)
        drop_command(reading, "a command that nobody answered so far was left out");
    branch_end(reading);
    return code;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The text of a user's line that has nothing else. */
static struct ethos_view user_text(const json_t *row)
{
    bool user = view_eq_str(json_view(row, "type"), "user");
    return user ? json_view(json_object_get(row, "message"), "content") : (struct ethos_view){0};
}

/* One that has a source is what was typed, whatever it looks like. */
static bool is_local(const json_t *row, bool *out_answer)
{
    return !json_object_get(row, "promptSource") && command_is_local(user_text(row), out_answer);
}

static int read_claude_message(struct transcript_reading *reading, const json_t *row)
{
    const json_t *message = json_object_get(row, "message");
    char role = view_eq_str(json_view(row, "type"), "user") ? 'u' : 'a';
    struct ethos_view name, args;
    struct transcript_item *item = NULL;
    reading->time = json_object_get(row, "timestamp");
    int code = command_typed(user_text(row), &name, &args)
                   ? take_command(reading, name, args, &item)
                   : reading_content(reading, role, json_object_get(message, "content"), &item);
    if (reading->made > 0)
        branch_message(reading, role == 'u' && item && reading->made == 1);
    return code == ETHOS_OK && item && role == 'a' ? take_usage(reading, item, message) : code;
}

int claude_line(struct transcript_reading *reading, const json_t *row)
{
    struct ethos_view type = json_view(row, "type");
    const char *reason = reason_to_skip(reading, row);
    bool is_new = false, answer;
    int code = branch_line(reading, row);
    if (code != ETHOS_OK)
        return code;
    if (view_eq_str(type, "custom-title"))
        return take_title(reading, 2, json_view(row, "customTitle"));
    if (view_eq_str(type, "ai-title"))
        return take_title(reading, 1, json_view(row, "aiTitle"));
    if (view_eq_str(type, "summary"))
        return take_summary(reading, row);
    if (reason) {
        reading_note(reading, reason);
        return ETHOS_OK;
    }
    if (is_local(row, &answer))
        return take_local(reading, answer);
    code = take_about(reading, row);
    if (code == ETHOS_OK)
        code = reading_is_new(reading, json_view(row, "uuid"), &is_new);
    return code == ETHOS_OK && is_new ? read_claude_message(reading, row) : code;
}

/* ---- plain JSON lines ------------------------------------------------------------------------ */

/* 0 for a name that is no role. */
static char role_of(struct ethos_view name)
{
    static const struct {
        const char *name;
        char role;
    } roles[] = {{"user", 'u'}, {"human", 'u'},    {"assistant", 'a'}, {"model", 'a'},
                 {"ai", 'a'},   {"system", 's'},   {"developer", 's'}, {"tool_result", 'r'},
                 {"tool", 'r'}, {"function", 'r'}, {"user_steer", 't'}};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
        if (view_eq_str(name, roles[i].name))
            return roles[i].role;
    }
    return 0;
}

/* A member under either of two names. */
static const json_t *either(const json_t *row, const char *name, const char *other)
{
    const json_t *value = json_object_get(row, name);
    return value && !json_is_null(value) ? value : json_object_get(row, other);
}

static struct ethos_view either_text(const json_t *row, const char *name, const char *other)
{
    const json_t *value = either(row, name, other);
    return view_of(json_string_value(value), json_string_length(value));
}

/* {"id","name","input"}, or {"id","function":{"name","arguments":"JSON"}}. */
static int take_call(struct transcript_reading *reading, struct transcript_item *item,
                     const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    const json_t *input = either(function ? function : call, "arguments", "input");
    return reading_call(reading, item, json_view(call, "id"),
                        json_view(function ? function : call, "name"), input);
}

int reading_calls(struct transcript_reading *reading, struct transcript_item *item,
                  const json_t *calls)
{
    size_t index;
    json_t *call;
    int code = ETHOS_OK;
    if (!item && json_array_size(calls) > 0)
        code = reading_add(reading, 'a', &item);
    json_array_foreach ((json_t *)calls, index, call) {
        code = code ? code : take_call(reading, item, call);
    }
    return code;
}

/* Some count anew, or number what they say: of one id, what says something else is another. */
static int jsonl_is_new(struct transcript_reading *reading, const json_t *row, bool *out)
{
    const json_t *calls = either(row, "tool_calls", "toolCalls");
    const json_t *content = json_object_get(row, "content");
    struct ethos_view id = json_view(row, "id");
    struct str twin;
    if (id.size == 0)
        return reading_is_new(reading, id, out);
    str_init(&twin, SIZE_MAX);
    str_add(&twin, id);
    str_addc(&twin, '\n');
    str_add(&twin, json_view(row, "role"));
    json_print(content ? content : json_null(), JSON_STYLE_LINE, &twin);
    json_print(calls ? calls : json_null(), JSON_STYLE_LINE, &twin);
    const char *name = str_code(&twin) ? NULL : reading_uuid(reading, str_view(&twin));
    str_release(&twin);
    int code = name ? reading_is_new(reading, view_str(name), out) : ETHOS_NOMEM;
    if (code != ETHOS_OK || !*out || json_object_getn(reading->names, id.data, id.size))
        return code;
    return reading_is_new(reading, id, out);
}

int jsonl_line(struct transcript_reading *reading, const json_t *row)
{
    char role = role_of(json_view(row, "role"));
    const json_t *content = json_object_get(row, "content");
    struct transcript_item *item = NULL;
    bool is_new = false;
    if (!role) {
        reading_note(reading, NOTE_OTHER);
        return ETHOS_OK;
    }
    int code = jsonl_is_new(reading, row, &is_new);
    if (code != ETHOS_OK || !is_new)
        return code;
    reading->time = either(row, "timestamp", "created_at");
    if (role == 'r')
        return reading_result(reading, either_text(row, "tool_call_id", "toolCallId"),
                              either_text(row, "tool_name", "toolName"), content);
    code = reading_content(reading, role, content, &item);
    if (code == ETHOS_OK && role == 'a')
        code = reading_calls(reading, item, either(row, "tool_calls", "toolCalls"));
    return code;
}
