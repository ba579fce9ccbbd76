/*
 * rows.c: from columns to the structs of session.h, and ids.
 */
#include "session/rows.h"

#include <stdint.h>
#include <stdio.h>

#include "base/os.h"

/* Columns one after the other. */
struct reader {
    sqlite3_stmt *statement;
    int at;
};

static const char *next_text(struct reader *reader)
{
    return (const char *)sqlite3_column_text(reader->statement, reader->at++);
}

/* Of a column that a STRICT table never leaves empty; a foreign table might. */
static const char *next_word(struct reader *reader)
{
    const char *text = next_text(reader);
    return text ? text : "";
}

static int64_t next_number(struct reader *reader)
{
    return sqlite3_column_int64(reader->statement, reader->at++);
}

static struct ethos_usage next_usage(struct reader *reader)
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
    struct reader reader = {statement, first};
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
}

void message_row(sqlite3_stmt *statement, int first, struct ethos_message *out)
{
    struct reader reader = {statement, first};
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
}

int uuid_make(char out[ETHOS_UUID_SIZE])
{
    uint8_t b[16];
    if (os_random(b, sizeof b) != 0)
        return -1;
    b[6] = (uint8_t)((b[6] & 0x0F) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3F) | 0x80);
    snprintf(out, ETHOS_UUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return 0;
}
