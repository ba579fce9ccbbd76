/*
 * transcript_read.c: the lines of a transcript, each to the reader of its format.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/transcript_internal.h"

#define BYTE_ORDER_MARK VIEW("\xEF\xBB\xBF") /* some editors put it before the text */

struct format {
    const char *name;
    int (*line)(struct transcript_reading *reading,
                const json_t *row);                 /* NULL: a document of ours */
    int (*end)(struct transcript_reading *reading); /* or NULL */
};

static const struct format formats[] = {{"jsonl", jsonl_line, NULL},
                                        {"claude-code", claude_line, claude_end},
                                        {"codex", codex_line, codex_end},
                                        {"ethos", NULL, NULL}};

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; name && i < sizeof(formats) / sizeof(*formats); i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void reading_begin(struct transcript_reading *reading, struct ethos_view text)
{
    reading->line++;
    reading->text = text;
    reading->name = (struct ethos_view){0};
    reading->time = NULL;
    reading->made = 0;
    reading->told = false;
}

static int parse_clean(struct ethos_view text, json_t **out, bool *out_replaced)
{
    struct str clean;
    *out_replaced = !utf8_valid(text);
    if (!*out_replaced)
        return json_parse_wide(text, "line", out, NULL);
    str_init(&clean, SIZE_MAX);
    int code = utf8_sanitize(text, &clean);
    if (code == ETHOS_OK)
        code = json_parse_wide(str_view(&clean), "line", out, NULL);
    str_release(&clean);
    return code;
}

int reading_parse(struct transcript_reading *reading, struct ethos_view text, json_t **out)
{
    bool replaced;
    int code = parse_clean(text, out, &replaced);
    if (code == ETHOS_OK && replaced)
        reading_note(reading, "bytes that are no text were replaced");
    return code;
}

/* Why a line could not be read. A last one without its end was being written. */
static const char *reason_of(int code, const struct ethos_view *rest, struct ethos_view line)
{
    bool torn = rest->size == 0 && line.data + line.size == rest->data;
    if (code == ETHOS_LIMIT)
        return "a line that is too long or too deep was left out";
    return torn ? "the last line is cut off and was left out"
                : "a line that is no JSON was left out";
}

static int read_transcript_line(struct transcript_reading *reading, const struct format *format,
                                struct ethos_view line, const struct ethos_view *rest)
{
    json_t *row = NULL;
    reading_begin(reading, line);
    if (view_blank(line))
        return ETHOS_OK;
    int code = reading_parse(reading, line, &row);
    if (code == ETHOS_OK) {
        code = format->line(reading, row);
        if (code == ETHOS_OK && reading->made == 0 && !reading->told)
            reading_note(reading, "an empty message was left out");
    } else if (code != ETHOS_NOMEM) {
        reading_note(reading, reason_of(code, rest, line));
        code = ETHOS_OK;
    }
    json_decref(row);
    return code;
}

static int read_transcript_lines(struct transcript_reading *reading, const struct format *format,
                                 struct ethos_view text)
{
    struct ethos_view rest = text, line;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        reading->offset = (size_t)(line.data - reading->whole.data);
        code = read_transcript_line(reading, format, line, &rest);
    }
    return code == ETHOS_OK && format->end ? format->end(reading) : code;
}

/* ---- which format ---------------------------------------------------------------------------- */

static const char *guess_row(const json_t *row)
{
    struct ethos_view type = json_view(row, "type");
    if (json_is_object(json_object_get(row, "session")) &&
        json_is_array(json_object_get(row, "messages")))
        return "ethos";
    if (json_is_object(json_object_get(row, "payload")) || json_object_get(row, "record_type"))
        return "codex";
    if (json_is_object(json_object_get(row, "message")) || json_object_get(row, "sessionId") ||
        json_object_get(row, "leafUuid") || view_eq_str(type, "ai-title") ||
        json_object_get(row, "snapshot"))
        return "claude-code";
    if (view_eq_str(type, "message") || view_eq_str(type, "function_call"))
        return "codex";
    return json_is_string(json_object_get(row, "role")) ? "jsonl" : NULL;
}

/*
 * The first line that tells decides; a document of ours may have many that are none for
 * themselves.
 */
static int guess(struct ethos_view text, const struct format **out)
{
    struct ethos_view rest = text, line;
    const char *name = NULL;
    bool first = true, replaced;
    while (!name && view_line(&rest, &line)) {
        json_t *row = NULL;
        int code = parse_clean(line, &row, &replaced);
        if (code == ETHOS_NOMEM)
            return code;
        name = !row && first && ethos_begins(text) ? "ethos" : guess_row(row);
        first = first && view_blank(line);
        json_decref(row);
    }
    *out = find_format(name);
    return ETHOS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_items(struct transcript_reading *reading, const struct format *format,
                      struct ethos_view text)
{
    bool kept = false;
    reading->names = json_object();
    reading->typed = json_object();
    reading->summaries = json_object();
    reading->places = json_object();
    bool whole = reading->names && reading->typed && reading->summaries && reading->places;
    int code = whole ? ETHOS_OK : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = format->line ? read_transcript_lines(reading, format, text)
                            : ethos_read_document(reading, text);
    json_decref(reading->names);
    json_decref(reading->typed);
    json_decref(reading->summaries);
    json_decref(reading->places);
    if (code == ETHOS_OK && !format->line)
        code = transcript_keep(reading, &kept);
    return code != ETHOS_OK || kept ? code : transcript_order(reading);
}

static int read_chosen(struct transcript_reading *reading, const struct format *format,
                       struct ethos_view text, transcript_out_fn *each, struct ethos_error *error)
{
    struct ethos_session *session = &reading->about->session;
    int code = read_items(reading, format, text);
    if (code != ETHOS_OK)
        return code;
    if (reading->from && !place_fits(reading))
        return err_set(error, ETHOS_CONFLICT, "what stands before the place must be read, too");
    if (!reading->items)
        return err_set(error, ETHOS_INVALID, "no message could be read from the transcript");
    reading->about->format = format->name;
    if (!reading->ordered)
        return err_set(error, ETHOS_INVALID, "none of its messages can stand alone");
    if (!session->created_at)
        session->created_at = reading->ordered->timestamp;
    place_find(reading);
    return transcript_give(reading, each);
}

int transcript_read(struct ethos_view text, const char *format, struct arena *arena,
                    struct transcript_about *out_about, transcript_out_fn *each,
                    transcript_note_fn *note, void *arg, struct ethos_error *error)
{
    struct transcript_reading reading = {.arena = arena,
                                         .note = note,
                                         .arg = arg,
                                         .last = &reading.items,
                                         .about = out_about,
                                         .whole = text};
    const struct format *chosen = find_format(format);
    *out_about = (struct transcript_about){0};
    if (view_starts(text, BYTE_ORDER_MARK))
        text = view_from(text, BYTE_ORDER_MARK.size);
    int code = format ? ETHOS_OK : guess(text, &chosen);
    if (code == ETHOS_OK && !chosen)
        return format ? err_set(error, ETHOS_INVALID, "'%s' is not a transcript format", format)
                      : err_set(error, ETHOS_INVALID, "not a transcript in a known format");
    if (code == ETHOS_OK)
        code = read_chosen(&reading, chosen, text, each, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

int transcript_read_on(struct ethos_view text, const struct transcript_place *from,
                       const char *format, struct arena *arena, struct transcript_about *out_about,
                       transcript_out_fn *each, transcript_note_fn *note, void *arg,
                       struct ethos_error *error)
{
    struct transcript_reading reading = {.arena = arena,
                                         .note = note,
                                         .arg = arg,
                                         .last = &reading.items,
                                         .about = out_about,
                                         .whole = text,
                                         .from = from,
                                         .line = from->lines,
                                         .response = from->response,
                                         .tokens = from->tokens};
    const struct format *chosen = find_format(format);
    *out_about = (struct transcript_about){.session.id = from->session};
    if (!chosen || !chosen->line)
        return err_set(error, ETHOS_CONFLICT, "nothing has such a place");
    int code = read_chosen(&reading, chosen, text, each, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}
