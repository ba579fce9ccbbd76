/*
 * rows.h: converts columns to the structs of session.h. Private to src/session.
 *
 * The strings of a row are valid until the next step of its statement.
 */
#ifndef ETHOS_SESSION_ROWS_H
#define ETHOS_SESSION_ROWS_H

#include <sqlite3.h>

#include <ethos/session.h>

/* What session_row and message_row expect, from their first column on; s and m name the tables. */
#define SESSION_COLUMNS                                                                            \
    "s.id,s.key,s.platform,s.model,s.provider,s.personality_id,s.parent_session_id,s.working_dir," \
    "s.title,s.metadata,s.input_tokens,s.output_tokens,s.cache_read_tokens,"                       \
    "s.cache_creation_tokens,s.estimated_cost_usd,s.api_call_count,s.compaction_count,"            \
    "s.turn_count,s.last_compaction_turn,s.pinned,s.created_at,s.updated_at"
#define SESSION_COLUMN_COUNT 22

#define MESSAGE_COLUMNS                                                                            \
    "m.id,m.session_id,m.role,m.content,m.tool_call_id,m.tool_name,m.tool_calls,m.content_blocks," \
    "m.trace_id,m.input_tokens,m.output_tokens,m.cache_read_tokens,m.cache_creation_tokens,"       \
    "m.estimated_cost_usd,m.timestamp,m.rowid"
#define MESSAGE_COLUMN_COUNT 16

void session_row(sqlite3_stmt *statement, int first, struct ethos_session *out);
void message_row(sqlite3_stmt *statement, int first, struct ethos_message *out);

#endif
