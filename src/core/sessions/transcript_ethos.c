/*
 * transcript_ethos.c: conversations that we exported ourselves.
 *
 *     {"session":{"id":"...","key":"...",...},"messages":[
 *     {"id":"...","role":"user","content":"...",...},
 *     {"id":"...","role":"assistant",...}
 *     ]}
 *
 * Written that way, a document of any size is read line by line, and one that was cut off as far as
 * it goes. Any other form of the same JSON is read as a whole.
 */
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

#define OPENING VIEW("\"messages\":[")

/* ---- messages -------------------------------------------------------------------------------- */

static char role_letter(struct ethos_view role)
{
    static const char *const names[] = {"user", "assistant", "tool_result", "system", "user_steer"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (view_eq_str(role, names[i]))
            return "uarst"[i];
    }
    return 0;
}

/*
 * A member that is kept as JSON text; null is none, a string what was no JSON when it was
 * exported.
 */
static int take_json(struct transcript_reading *reading, const json_t *row, const char *name,
                     const char **out)
{
    const json_t *value = json_object_get(row, name);
    if (!value || json_is_null(value))
        return ETHOS_OK;
    *out = json_is_string(value) ? arena_str(reading->arena, json_string_value(value))
                                 : reading_json(reading, value);
    return *out ? ETHOS_OK : ETHOS_NOMEM;
}

static struct ethos_usage usage_of(const json_t *usage)
{
    double cost = json_number_value(json_object_get(usage, "estimatedCostUsd"));
    return (struct ethos_usage){.input_tokens = member_count(usage, "inputTokens"),
                                .output_tokens = member_count(usage, "outputTokens"),
                                .cache_read_tokens = member_count(usage, "cacheReadTokens"),
                                .cache_creation_tokens = member_count(usage, "cacheCreationTokens"),
                                .cost_usd = cost > 0 ? cost : 0,
                                .api_calls = member_count(usage, "apiCallCount"),
                                .compactions = member_count(usage, "compactionCount")};
}

static int take_rest(struct transcript_reading *reading, struct transcript_item *item,
                     const json_t *row)
{
    const json_t *usage = json_object_get(row, "usage");
    item->own = true;
    item->has_usage = json_is_object(usage);
    if (item->has_usage)
        item->usage = usage_of(usage);
    int code = reading_tell(reading, json_view(row, "traceId"), &item->trace_id);
    if (code == ETHOS_OK)
        code = take_json(reading, row, "contentBlocks", &item->content_blocks);
    if (code == ETHOS_OK && item->calls)
        code = take_json(reading, row, "toolCalls", &item->tool_calls);
    return code;
}

/* Also an empty message is one: it was there. */
static int add_ethos_message(struct transcript_reading *reading, char role, const json_t *row,
                             struct transcript_item **out)
{
    const json_t *content = json_object_get(row, "content");
    struct ethos_view text = json_view(row, "content");
    int code;
    if (role == 'r') {
        struct transcript_item **place = reading->last;
        code = reading_result(reading, json_view(row, "toolCallId"), json_view(row, "toolName"),
                              content);
        *out = *place;
        return code;
    }
    code = reading_add(reading, role, out);
    if (code == ETHOS_OK)
        code = reading_text(reading, *out, text);
    if (code == ETHOS_OK && role == 'a')
        code = reading_calls(reading, *out, json_object_get(row, "toolCalls"));
    return code;
}

static int read_ethos_message(struct transcript_reading *reading, const json_t *row)
{
    char role = role_letter(json_view(row, "role"));
    struct transcript_item *item = NULL;
    bool is_new = false;
    if (!role || !json_is_string(json_object_get(row, "content"))) {
        reading_note(reading, NOTE_OTHER);
        return ETHOS_OK;
    }
    int code = reading_is_new(reading, json_view(row, "id"), &is_new);
    if (code != ETHOS_OK || !is_new)
        return code;
    reading->time = json_object_get(row, "timestamp");
    code = add_ethos_message(reading, role, row, &item);
    return code ? code : take_rest(reading, item, row);
}

/* ---- the session ----------------------------------------------------------------------------- */

/* A time that is none is as if it were not there. */
static int take_start(struct transcript_reading *reading, struct ethos_view text)
{
    char iso[CLOCK_ISO_SIZE];
    int64_t ms;
    if (text.size < 10 || !clock_parse(text, 0, false, &ms, NULL) || text.data[4] != '-')
        return ETHOS_OK;
    clock_iso(ms, iso);
    return reading_tell(reading, view_str(iso), &reading->about->session.created_at);
}

static int take_session(struct transcript_reading *reading, const json_t *row)
{
    struct ethos_session *session = &reading->about->session;
    const struct {
        const char *name, **out;
    } texts[] = {{"id", &session->id},
                 {"key", &session->key},
                 {"platform", &session->platform},
                 {"model", &session->model},
                 {"provider", &session->provider},
                 {"personalityId", &session->personality},
                 {"parentSessionId", &session->parent},
                 {"workingDir", &session->working_dir},
                 {"title", &session->title}};
    int code = reading_session(reading, json_view(row, "id"));
    for (size_t i = 0; code == ETHOS_OK && i < sizeof(texts) / sizeof(*texts); i++)
        code = reading_tell(reading, json_view(row, texts[i].name), texts[i].out);
    if (code == ETHOS_OK)
        code = take_json(reading, row, "metadata", &session->metadata);
    if (code == ETHOS_OK)
        code = take_start(reading, json_view(row, "createdAt"));
    session->pinned = json_is_true(json_object_get(row, "pinned"));
    session->usage = usage_of(json_object_get(row, "usage"));
    session->last_compaction_turn = member_count(row, "lastCompactionTurn");
    return code;
}

/* ---- documents ------------------------------------------------------------------------------- */

bool ethos_begins(struct ethos_view text)
{
    static const char *const parts[] = {"{", "\"session\"", ":", "{"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        text = view_trim_start(text);
        if (!view_starts(text, view_str(parts[i])))
            return false;
        text = view_from(text, strlen(parts[i]));
    }
    return true;
}

static int read_whole(struct transcript_reading *reading, struct ethos_view text)
{
    size_t index;
    json_t *row, *document = NULL;
    reading->line = 1;
    int code = reading_parse(reading, text, &document);
    if (code == ETHOS_OK)
        code = take_session(reading, json_object_get(document, "session"));
    else if (code != ETHOS_NOMEM)
        code = ETHOS_OK; // nothing of it can be read
    reading->line = 0;
    json_array_foreach (json_object_get(document, "messages"), index, row) {
        if (code != ETHOS_OK)
            break;
        reading_begin(reading, json_view(row, "content"));
        code = read_ethos_message(reading, row);
    }
    json_decref(document);
    return code;
}

/* The first line, with what it lacks. */
static int read_opening(struct transcript_reading *reading, struct ethos_view line)
{
    struct str text;
    json_t *document = NULL;
    reading->line = 1;
    str_init(&text, SIZE_MAX);
    str_add(&text, line);
    str_adds(&text, "]}");
    int code = str_code(&text) ? ETHOS_NOMEM : reading_parse(reading, str_view(&text), &document);
    str_release(&text);
    if (code == ETHOS_OK)
        code = take_session(reading, json_object_get(document, "session"));
    else if (code != ETHOS_NOMEM)
        reading_note(reading, "what is said of the session cannot be read and was left out");
    reading->line = 0;
    json_decref(document);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int read_ethos_row(struct transcript_reading *reading, struct ethos_view line)
{
    json_t *row = NULL;
    line = view_trim(line);
    if (line.size == 0 || view_eq_str(line, "]}"))
        return ETHOS_OK;
    if (view_ends(line, VIEW(",")))
        line.size--;
    reading_begin(reading, line);
    int code = reading_parse(reading, line, &row);
    if (code == ETHOS_OK)
        code = read_ethos_message(reading, row);
    else if (code != ETHOS_NOMEM)
        reading_note(reading, "a message that cannot be read was left out");
    json_decref(row);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

int ethos_read_document(struct transcript_reading *reading, struct ethos_view text)
{
    struct ethos_view rest = text, line = {0};
    view_line(&rest, &line);
    if (!view_ends(view_trim_end(line), OPENING))
        return read_whole(reading, text);
    int code = read_opening(reading, line);
    while (code == ETHOS_OK && view_line(&rest, &line))
        code = read_ethos_row(reading, line);
    return code;
}
