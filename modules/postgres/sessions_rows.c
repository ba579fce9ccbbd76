/*
 * sessions_rows.c: rows of answers as the structs of ethos/session.h. Their strings live as long as
 * the answer.
 */
#include "base/err.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "sessions.h"

/* Columns one after the other. */
struct reader {
    const PGresult *result;
    int row, at;
};

static const char *next_text(struct reader *reader)
{
    return pg_text(reader->result, reader->row, reader->at++);
}

static int64_t next_number(struct reader *reader)
{
    return pg_number(reader->result, reader->row, reader->at++);
}

static struct ethos_usage next_usage(struct reader *reader)
{
    struct ethos_usage usage = {0};
    usage.input_tokens = next_number(reader);
    usage.output_tokens = next_number(reader);
    usage.cache_read_tokens = next_number(reader);
    usage.cache_creation_tokens = next_number(reader);
    usage.cost_usd = pg_double(reader->result, reader->row, reader->at++);
    return usage;
}

struct ethos_session pg_session_row(const PGresult *result, int row, int column)
{
    struct reader reader = {result, row, column};
    struct ethos_session out = {0};
    out.id = next_text(&reader);
    out.key = next_text(&reader);
    out.platform = next_text(&reader);
    out.model = next_text(&reader);
    out.provider = next_text(&reader);
    out.personality = next_text(&reader);
    out.parent = next_text(&reader);
    out.working_dir = next_text(&reader);
    out.title = next_text(&reader);
    out.metadata = next_text(&reader);
    out.usage = next_usage(&reader);
    out.usage.api_calls = next_number(&reader);
    out.usage.compactions = next_number(&reader);
    out.turns = next_number(&reader);
    out.last_compaction_turn = next_number(&reader);
    out.pinned = pg_bool(result, row, reader.at++);
    out.created_at = next_text(&reader);
    out.updated_at = next_text(&reader);
    out.user = next_text(&reader);
    return out;
}

struct ethos_message pg_message_row(const PGresult *result, int row, int column)
{
    struct reader reader = {result, row, column};
    struct ethos_message out = {0};
    out.id = next_text(&reader);
    out.session = next_text(&reader);
    out.role = next_text(&reader);
    out.content = pg_bytes(result, row, reader.at++);
    out.tool_call_id = next_text(&reader);
    out.tool_name = next_text(&reader);
    out.tool_calls = next_text(&reader);
    out.content_blocks = next_text(&reader);
    out.trace_id = next_text(&reader);
    out.has_usage = !PQgetisnull(result, row, reader.at);
    out.usage = next_usage(&reader);
    out.timestamp = next_text(&reader);
    return out;
}

int pg_add_people(struct pg_params *params, const struct ethos_people *people, struct str *text,
                  struct ethos_error *error)
{
    str_adds(text, people && people->owner ? "*," : ",");
    for (size_t i = 0; people && i < people->count; i++)
        str_printf(text, "%s,", people->ids[i]);
    pg_add_text(params, people ? text->data : NULL);
    return str_code(text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int pg_fold(const char *text, struct str *out, const char **out_folded, struct ethos_error *error)
{
    struct ethos_view rest = view_str(text);
    char bytes[4];
    uint32_t cp;
    *out_folded = NULL;
    if (!text)
        return ETHOS_OK;
    while (rest.size > 0) {
        rest = view_from(rest, utf8_decode(rest.data, rest.size, &cp, NULL));
        str_add(out, view_of(bytes, utf8_put(unicode_lower(cp), bytes)));
    }
    if (str_code(out) != ETHOS_OK)
        return err_nomem(error);
    *out_folded = out->data;
    return ETHOS_OK;
}
