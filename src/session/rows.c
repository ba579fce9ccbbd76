/*
 * rows.c: from columns to the structs of session.h.
 */
#include "session/rows.h"

/* Columns one after the other. */
struct column_reader {
    sqlite3_stmt *statement;
    int at;
};

static const char *next_text(struct column_reader *reader)
{
    return (const char *)sqlite3_column_text(reader->statement, reader->at++);
}

/* Of a column that a STRICT table never leaves empty; a foreign table might. */
static const char *next_word(struct column_reader *reader)
{
    const char *text = next_text(reader);
    return text ? text : "";
}

static int64_t next_number(struct column_reader *reader)
{
    return sqlite3_column_int64(reader->statement, reader->at++);
}

static struct ethos_usage next_usage(struct column_reader *reader)
{
    struct ethos_usage usage = {0};
    usage.input_tokens = next_number(reader);
    usage.output_tokens = next_number(reader);
    usage.cache_read_tokens = next_number(reader);
    usage.cache_creation_tokens = next_number(reader);
    usage.cost_usd = sqlite3_column_double(reader->statement, reader->at++);
    return usage;
}

void session_row(sqlite3_stmt *statement, int first, struct ethos_session *out)
{
    struct column_reader reader = {statement, first};
    out->id = next_word(&reader);
    out->key = next_word(&reader);
    out->platform = next_word(&reader);
    out->model = next_word(&reader);
    out->provider = next_word(&reader);
    out->personality = next_text(&reader);
    out->parent = next_text(&reader);
    out->working_dir = next_text(&reader);
    out->title = next_text(&reader);
    out->metadata = next_text(&reader);
    out->usage = next_usage(&reader);
    out->usage.api_calls = next_number(&reader);
    out->usage.compactions = next_number(&reader);
    out->turns = next_number(&reader);
    out->last_compaction_turn = next_number(&reader);
    out->pinned = next_number(&reader) != 0;
    out->created_at = next_word(&reader);
    out->updated_at = next_word(&reader);
    out->user = NULL; // people_fill
}

void message_row(sqlite3_stmt *statement, int first, struct ethos_message *out)
{
    struct column_reader reader = {statement, first};
    out->id = next_word(&reader);
    out->session = next_word(&reader);
    out->role = next_word(&reader);
    out->content.data = next_word(&reader);
    out->content.size = (size_t)sqlite3_column_bytes(statement, reader.at - 1);
    out->tool_call_id = next_text(&reader);
    out->tool_name = next_text(&reader);
    out->tool_calls = next_text(&reader);
    out->content_blocks = next_text(&reader);
    out->trace_id = next_text(&reader);
    out->has_usage = sqlite3_column_type(statement, reader.at) != SQLITE_NULL;
    out->usage = next_usage(&reader);
    out->timestamp = next_word(&reader);
    out->number = next_number(&reader);
}
