/*
 * sessions_sql.c: the statements of conversations.
 *
 * Order of sessions: pinned, updated_at, number, all descending; of messages: timestamp, number. A
 * change gives one row: its outcome (enum pg_outcome) and a count.
 */
#include "sessions.h"

#define AT(statement) [statement - PG_OF_SESSIONS]

/* What the row of a change says; $1 is the token. */
#define CALL(what, from)                                                                           \
    ", call AS (INSERT INTO @.session_call (token, what, sessions) SELECT $1, " what               \
    ", ARRAY[id] FROM " from ")"
#define DONE_IF_ANY(from)                                                                          \
    " SELECT CASE WHEN EXISTS (SELECT FROM " from ") THEN 0 ELSE 1 END, 0::int8" PG_DURABLE

/* $1 platform, $2 personality, $3 working directories, $4 start of the id, $5 part, folded. */
#define FILTERS(people)                                                                            \
    " WHERE ($1 IS NULL OR s.platform = $1) AND ($2 IS NULL OR s.personality_id = $2)"             \
    " AND ($3 IS NULL OR EXISTS (SELECT FROM unnest(string_to_array($3, E'\\n')) f(path) WHERE"    \
    " path = s.working_dir OR (path LIKE '_%/' AND starts_with(s.working_dir || '/', path))))"     \
    " AND ($4 IS NULL OR starts_with(s.id, $4))"                                                   \
    " AND ($5 IS NULL OR strpos(s.title_folded, $5) > 0 OR strpos(s.key_folded, $5) > 0)"          \
    " AND (" people " IS NULL OR coalesce(strpos(" people ", ',' || s.user_id || ',') > 0,"        \
    " starts_with(" people ", '*')))"
/* The sessions with a user, who is one of the people ("> 0") or none of them ("= 0"). */
#define OF_PEOPLE(people, how)                                                                     \
    "(SELECT id FROM @.session WHERE user_id IS NOT NULL"                                          \
    " AND strpos(" people ", ',' || user_id || ',') " how ")"
/* $6 since, $7 until. */
#define WITHIN(time) " AND ($6 IS NULL OR " time " >= $6) AND ($7 IS NULL OR " time " <= $7)"

/*
 * Where a session stood when the first page was read, when $12 was the newest message and $13 the
 * latest place. Those with newer messages have moved, and those with a later place, unless it is
 * beyond $9, where nobody's clock is: then what there was of them tells the place.
 */
#define PLACE                                                                                      \
    "CASE WHEN s.updated_at > $13 AND s.updated_at <= $9"                                          \
    " OR s.id IN (SELECT m.session_id FROM @.message m WHERE m.number > $12)"                      \
    " THEN coalesce((SELECT greatest(m.timestamp, s.created_at) FROM @.message m"                  \
    " WHERE m.session_id = s.id AND m.number <= $12 AND (m.timestamp <= $13 OR m.timestamp > $9)"  \
    " ORDER BY m.timestamp DESC LIMIT 1), s.created_at) ELSE s.updated_at END"

#define LIVE "m.deleted_at IS NULL"
#define OLD " FROM @.session WHERE NOT pinned AND updated_at < "

const char *const pg_session_statements[PG_STATEMENTS - PG_OF_SESSIONS] = {
    AT(PG_S_CREATE) =
        "WITH made AS (INSERT INTO @.session (id, key, platform, model, provider, personality_id,"
        " parent_session_id, working_dir, title, metadata, input_tokens, output_tokens,"
        " cache_read_tokens, cache_creation_tokens, estimated_cost_usd, api_call_count,"
        " compaction_count, turn_count, last_compaction_turn, pinned, created_at, updated_at,"
        " key_folded, title_folded, user_id) VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, "
        "$12, $13,"
        " $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)"
        " RETURNING id)" CALL("'created'", "made") DONE_IF_ANY("made"),
    AT(PG_S_GET) = "SELECT " PG_SESSION_COLUMNS " FROM @.session s WHERE s.id = $1",
    AT(PG_S_GET_BY_KEY) = "SELECT " PG_SESSION_COLUMNS " FROM @.session s WHERE s.key = $1",
    AT(PG_S_UPDATE) =
        "WITH changed AS (UPDATE @.session SET"
        " title = CASE WHEN $3 IS NULL THEN title ELSE nullif($3, '') END,"
        " title_folded = CASE WHEN $3 IS NULL THEN title_folded ELSE nullif($4, '') END,"
        " model = coalesce($5, model), provider = coalesce($6, provider),"
        " personality_id = coalesce($7, personality_id), metadata = coalesce($8, metadata),"
        " working_dir = coalesce($9, working_dir), pinned = coalesce($10, pinned),"
        " input_tokens = input_tokens + $11, output_tokens = output_tokens + $12,"
        " cache_read_tokens = cache_read_tokens + $13,"
        " cache_creation_tokens = cache_creation_tokens + $14,"
        " estimated_cost_usd = estimated_cost_usd + $15, api_call_count = api_call_count + $16,"
        " compaction_count = compaction_count + $17, last_compaction_turn ="
        " CASE WHEN $17 > 0 THEN turn_count ELSE last_compaction_turn END"
        " WHERE id = $2 RETURNING id)" CALL("'updated'", "changed") DONE_IF_ANY("changed"),
    AT(PG_S_REMOVE) = "WITH gone AS (DELETE FROM @.session WHERE id = $2 RETURNING id)" CALL(
        "'deleted'", "gone") DONE_IF_ANY("gone"),

    AT(PG_S_CALL) = "SELECT count FROM @.session_call WHERE token = $1",
    AT(PG_S_FORGET) = "DELETE FROM @.session_call WHERE at < now() - interval '" PG_CALLS_KEPT "'",

    /*
     * $2 session, $3 its version if that matters; hidden is from message $4 on, or the last $5
     * turns, at the time $6; then what is said: $7 to $22, by columns.
     */
    AT(PG_S_SAY) =
        "WITH s AS (SELECT id, version, last_time FROM @.session WHERE id = $2 FOR UPDATE),"
        " seen AS (SELECT version FROM @.session WHERE id = $2),"
        " fresh AS (SELECT s.id, s.last_time FROM s, seen WHERE ($3 IS NULL OR s.version = $3)"
        " AND ($4 IS NULL AND $5 IS NULL OR s.version = seen.version)),"
        " start AS (SELECT timestamp, number FROM (SELECT m.timestamp, m.number FROM @.message m"
        " JOIN fresh ON m.session_id = fresh.id WHERE ($4 IS NOT NULL OR $5 IS NOT NULL) AND " LIVE
        " AND (m.id = $4 OR $5 > 0 AND m.role = 'user') ORDER BY m.timestamp DESC, m.number DESC"
        " LIMIT coalesce($5, 1)) AS t ORDER BY timestamp, number LIMIT 1),"
        " hidden AS (UPDATE @.message m SET deleted_at = $6 FROM start, fresh"
        " WHERE m.session_id = fresh.id AND " LIVE
        " AND (m.timestamp, m.number) >= (start.timestamp, start.number) RETURNING m.role),"
        " go AS (SELECT * FROM fresh WHERE $4 IS NULL OR EXISTS (SELECT FROM start)),"
        " given AS (SELECT u.*, CASE WHEN u.keep THEN u.time ELSE greatest(go.last_time,"
        " max(u.time) OVER (ORDER BY u.place)) END AS at, go.id AS session_id FROM go,"
        " (SELECT id, role, content, call, tool, calls, blocks, trace, i, o, r, c, usd,"
        " time COLLATE \"C\" AS time, keep, terms, place FROM unnest($7, $8, $9, $10, $11, $12,"
        " $13, $14, $15, $16, $17, $18, $19, $20, $21, $22) WITH ORDINALITY AS u (id, role,"
        " content, call, tool, calls, blocks, trace, i, o, r, c, usd, time, keep, terms, place))"
        " AS u),"
        " added AS (INSERT INTO @.message (id, session_id, role, content, tool_call_id, tool_name,"
        " tool_calls, content_blocks, trace_id, input_tokens, output_tokens, cache_read_tokens,"
        " cache_creation_tokens, estimated_cost_usd, timestamp, terms)"
        " SELECT id, session_id, role, content, call, tool, calls, blocks, trace, i, o, r, c, usd,"
        " at, terms::tsvector FROM given ORDER BY place),"
        " last AS (SELECT max(at) AS at, max(time) AS time,"
        " count(*) FILTER (WHERE role = 'user') AS turns FROM given),"
        " raised AS (UPDATE @.session x SET version = x.version + 1,"
        " updated_at = CASE WHEN last.time IS NULL THEN x.updated_at"
        " ELSE greatest(x.updated_at, go.last_time, last.time) END,"
        " last_time = greatest(x.last_time, last.at),"
        " turn_count = greatest(0, x.turn_count -"
        " (SELECT count(*) FROM hidden WHERE role = 'user')) + last.turns"
        " FROM go, last WHERE x.id = go.id),"
        " call AS (INSERT INTO @.session_call (token, what, sessions, messages, roles, count)"
        " SELECT $1, 'updated', ARRAY[go.id], $7, $8, (SELECT count(*) FROM hidden) FROM go)"
        " SELECT CASE WHEN NOT EXISTS (SELECT FROM s) THEN 1"
        " WHEN NOT EXISTS (SELECT FROM fresh) THEN 2 WHEN NOT EXISTS (SELECT FROM go) THEN 3"
        " ELSE 0 END, (SELECT count(*) FROM hidden)" PG_DURABLE,
    /* The version, what was said since the last question, before message $2; is there such a one. */
    AT(PG_S_TAIL) =
        "SELECT s.version, t.role, t.tool_call_id, t.tool_name, t.tool_calls,"
        " $2 IS NULL OR b.id IS NOT NULL FROM @.session s"
        " LEFT JOIN @.message b ON b.id = $2 AND b.session_id = s.id AND b.deleted_at IS NULL"
        " LEFT JOIN LATERAL (SELECT m.timestamp, m.number FROM @.message m"
        " WHERE m.session_id = s.id AND " LIVE " AND m.role = 'user' AND (b.number IS NULL"
        " OR (m.timestamp, m.number) < (b.timestamp, b.number))"
        " ORDER BY m.timestamp DESC, m.number DESC LIMIT 1) AS q ON true"
        " LEFT JOIN LATERAL (SELECT * FROM @.message m WHERE m.session_id = s.id AND " LIVE
        " AND (b.number IS NULL OR (m.timestamp, m.number) < (b.timestamp, b.number))"
        " AND (q.number IS NULL OR (m.timestamp, m.number) >= (q.timestamp, q.number))) AS t"
        " ON true WHERE s.id = $1 ORDER BY t.timestamp, t.number",
    /* One row at least of a session that is there. */
    AT(PG_S_MESSAGES) = "SELECT " PG_MESSAGE_COLUMNS
                        " FROM @.session s LEFT JOIN LATERAL (SELECT * FROM @.message m"
                        " WHERE m.session_id = s.id AND " LIVE
                        " ORDER BY m.timestamp DESC, m.number DESC LIMIT $2)"
                        " AS m ON true WHERE s.id = $1 ORDER BY m.timestamp, m.number",
    AT(PG_S_TAKEN) = "SELECT u.place FROM unnest($1) WITH ORDINALITY AS u (id, place)"
                     " WHERE EXISTS (SELECT FROM @.message m WHERE m.id = u.id)"
                     " ORDER BY u.place LIMIT 1",

    /* After the session: its number and place, what tells later whether one has moved. */
    AT(PG_S_LIST) =
        "SELECT " PG_SESSION_COLUMNS ", s.number, s.updated_at,"
        " (SELECT max(number) FROM @.message),"
        " (SELECT max(updated_at) FROM @.session WHERE updated_at <= $9)"
        " FROM @.session s" FILTERS("$11") WITHIN(
            "s.updated_at") " ORDER BY s.pinned DESC, s.updated_at DESC, s.number DESC LIMIT $8"
                            " OFFSET $10",
    /* Behind a place: $10 pinned, $11 its number, $14 the place. */
    AT(PG_S_LIST_ON) =
        "WITH page AS MATERIALIZED (SELECT s.number AS at, s.pinned AS pin, " PLACE
        " AS place FROM @.session s" FILTERS(
            "$15") ") SELECT " PG_SESSION_COLUMNS ", p.at, p.place"
                   " FROM page p JOIN @.session s ON s.number = p.at"
                   " WHERE (p.pin, p.place, p.at) < ($10, $14, $11) AND p.at <> $11" WITHIN(
                       "p.place") " ORDER BY p.pin DESC, p.place DESC, p.at DESC LIMIT $8",

    /* $2 session, $3 the new one's id, $4 the ms of its key, $5 the time. */
    AT(PG_S_FORK) =
        "WITH made AS (INSERT INTO @.session (id, key, key_folded, platform, model, provider,"
        " personality_id, parent_session_id, working_dir, title, title_folded, metadata,"
        " turn_count, last_compaction_turn, created_at, updated_at, user_id, last_time)"
        " SELECT $3, key || ':fork:' || $4, key_folded || ':fork:' || $4, platform, model,"
        " provider, personality_id, id, working_dir, title, title_folded, metadata, turn_count,"
        " last_compaction_turn, $5, $5, user_id, coalesce((SELECT max(m.timestamp) FROM @.message m"
        " WHERE m.session_id = $2 AND " LIVE "), '') FROM @.session WHERE id = $2 RETURNING id),"
        " copied AS (INSERT INTO @.message (id, session_id, role, content, tool_call_id,"
        " tool_name, tool_calls, content_blocks, trace_id, input_tokens, output_tokens,"
        " cache_read_tokens, cache_creation_tokens, estimated_cost_usd, timestamp, terms)"
        " SELECT gen_random_uuid()::text, made.id, m.role, m.content, m.tool_call_id, m.tool_name,"
        " m.tool_calls, m.content_blocks, m.trace_id, m.input_tokens, m.output_tokens,"
        " m.cache_read_tokens, m.cache_creation_tokens, m.estimated_cost_usd, m.timestamp, m.terms"
        " FROM made, @.message m WHERE m.session_id = $2 AND " LIVE
        " ORDER BY m.timestamp, m.number RETURNING id, role, number),"
        " call AS (INSERT INTO @.session_call (token, what, sessions, messages, roles)"
        " SELECT $1, 'created', ARRAY[made.id],"
        " ARRAY(SELECT id FROM copied ORDER BY number),"
        " ARRAY(SELECT role FROM copied ORDER BY number) FROM made)" DONE_IF_ANY("made"),
    AT(PG_S_COUNT_OLD) = "SELECT count(*)" OLD "$1",
    AT(PG_S_PRUNE) = "WITH gone AS (DELETE" OLD "$2 RETURNING id),"
                     " call AS (INSERT INTO @.session_call (token, what, sessions, count)"
                     " SELECT $1, 'deleted', array_agg(id), count(*) FROM gone)"
                     " SELECT 0, (SELECT count(*) FROM gone)" PG_DURABLE,

    AT(PG_S_KEYS) = "SELECT prefix, hash, name, scopes, allowed_origins, agent, created_at,"
                    " last_used_at, revoked_at FROM @.api_key ORDER BY number",
    AT(PG_S_KEY_ADD) =
        "WITH made AS (INSERT INTO @.api_key (prefix, hash, name, scopes, allowed_origins,"
        " created_at, last_used_at, revoked_at, agent)"
        " VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING prefix),"
        " call AS (INSERT INTO @.session_call (token, what) SELECT $1, 'key' FROM made)"
        " SELECT 0, 0::int8" PG_DURABLE,
    AT(PG_S_KEY_REVOKE) = "UPDATE @.api_key SET revoked_at = coalesce(revoked_at, $2)"
                          " WHERE prefix = $1 RETURNING 1" PG_DURABLE,
    AT(PG_S_KEY_USED) =
        "UPDATE @.api_key SET last_used_at = $2 WHERE hash = $1 RETURNING 1" PG_DURABLE,
    AT(PG_S_KEYS_VERSION) =
        "SELECT (coalesce(sum(hashtextextended(ROW(prefix, hash, name, scopes, allowed_origins,"
        " agent, created_at, revoked_at)::text, 0)), 0) % 4611686018427387904)::int8"
        " FROM @.api_key",

    /*
     * $1 the words, $2 all next to each other, $3 the phrases letter by letter; $4 session, $5
     * role, $6 working directories, $7 since, $8 until; older than ($9, $10); $11 newest first; $12
     * rows from $13 on; $14 whose. After message and session: how many of those found are as typed, how many
     * there are, and the oldest of them.
     */
    AT(PG_S_SEARCH) = "WITH found AS MATERIALIZED (SELECT m.number, m.timestamp FROM @.message m"
                      " WHERE (m.terms @@ $1 OR m.terms IS NULL) AND " LIVE
                      " AND ($4 IS NULL OR m.session_id = $4) AND ($5 IS NULL OR m.role = $5)"
                      " AND ($6 IS NULL OR m.session_id IN (SELECT id FROM @.session, "
                      "unnest(string_to_array($6, E'\\n')) f(path) WHERE path = working_dir"
                      " OR (path LIKE '_%/' AND starts_with(working_dir || '/', path))))"
                      " AND ($7 IS NULL OR m.timestamp >= $7) AND ($8 IS NULL OR m.timestamp <= $8)"
                      " AND ($9 IS NULL OR (m.timestamp, m.number) < ($9, $10))"
                      " AND ($14 IS NULL OR CASE WHEN starts_with($14, '*') THEN m.session_id NOT "
                      "IN " OF_PEOPLE("$14", "= 0") " ELSE m.session_id IN " OF_PEOPLE(
                          "$14",
                          "> 0") " END)"
                                 " ORDER BY m.timestamp DESC, m.number DESC LIMIT 2000),"
                                 " scored AS MATERIALIZED (SELECT f.number, f.timestamp,"
                                 " CASE WHEN m.terms @@ $2 THEN 1 ELSE 0 END"
                                 " + CASE WHEN $3 IS NULL OR m.terms @@ $3 THEN 2 ELSE 0 END AS "
                                 "rank,"
                                 " CASE WHEN $11 THEN 0 ELSE coalesce(ts_rank(m.terms, $1, 2), 0) "
                                 "END AS score"
                                 " FROM found f JOIN @.message m USING (number)),"
                                 " page AS (SELECT * FROM scored ORDER BY CASE WHEN $11 THEN 0 "
                                 "ELSE rank END DESC,"
                                 " score DESC, timestamp DESC, number DESC LIMIT $12 OFFSET $13)"
                                 " SELECT " PG_MESSAGE_COLUMNS ", " PG_SESSION_COLUMNS
                                 ", (SELECT count(*) FROM scored WHERE rank = 3), (SELECT count(*) "
                                 "FROM found),"
                                 " (SELECT min(timestamp) FROM found),"
                                 " (SELECT number FROM found ORDER BY timestamp, number LIMIT 1)"
                                 " FROM page p JOIN @.message m ON m.number = p.number"
                                 " JOIN @.session s ON s.id = m.session_id"
                                 " ORDER BY CASE WHEN $11 THEN 0 ELSE p.rank END DESC, p.score "
                                 "DESC, p.timestamp DESC,"
                                 " p.number DESC",

    /*
     * What became visible since the snapshot $1, and the snapshot of now in the first row. A
     * change's sessions and messages one by one: kind 0 is a message, 1 a session.
     */
    AT(PG_S_FOLLOW) =
        "WITH fresh AS MATERIALIZED (SELECT * FROM @.session_call"
        " WHERE xid >= pg_snapshot_xmin($1::pg_snapshot)"
        " AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)),"
        " told AS (SELECT 0 AS kind, f.number, 'message' AS what, f.sessions[1] AS id, u.message,"
        " u.role, NULL::text AS updated_at, u.place FROM fresh f,"
        " unnest(f.messages, f.roles) WITH ORDINALITY AS u (message, role, place)"
        " UNION ALL SELECT 1, min(f.number),"
        " CASE WHEN s.id IS NULL THEN 'deleted' WHEN bool_or(f.what = 'created') THEN 'created'"
        " ELSE 'updated' END, u.id, NULL, NULL, min(s.updated_at), 0"
        " FROM fresh f, unnest(f.sessions) AS u (id) LEFT JOIN @.session s ON s.id = u.id"
        " GROUP BY u.id, s.id)"
        " SELECT pg_current_snapshot()::text, NULL, NULL, NULL, NULL, NULL, -1 AS kind,"
        " 0::int8 AS number, 0::int8 AS place"
        " UNION ALL SELECT NULL, what, id, updated_at, message, role, kind, number, place FROM told"
        " ORDER BY kind, number, place",

    /* In order, behind ($1 session, $2 time, $3 number). */
    AT(PG_S_SEQUENCES) =
        "SELECT m.session_id, m.role, m.tool_call_id, m.tool_calls, m.timestamp, m.number"
        " FROM @.message m WHERE " LIVE " AND (m.session_id, m.timestamp, m.number) > ($1, $2, $3)"
        " ORDER BY m.session_id, m.timestamp, m.number LIMIT $4",
    AT(PG_S_TERMS) = "SELECT number, content FROM @.message WHERE number > $1 ORDER BY number"
                     " LIMIT $2",
    /* Messages $1 whose words are not $2; put right if $3. */
    AT(PG_S_TERMS_FIX) =
        "WITH wrong AS (SELECT m.number, u.terms::tsvector AS terms"
        " FROM unnest($1, $2) AS u (number, terms) JOIN @.message m ON m.number = u.number"
        " WHERE m.terms IS DISTINCT FROM u.terms::tsvector),"
        " mended AS (UPDATE @.message m SET terms = wrong.terms FROM wrong"
        " WHERE $3 AND m.number = wrong.number) SELECT count(*) FROM wrong",

    /* Behind number $1. Of messages, those that may hold the bytes $3 (NULL: all), as they are or escaped. */
    AT(PG_S_SCAN_SESSIONS) = "SELECT number, id, title, metadata FROM @.session WHERE number > $1"
                             " ORDER BY number LIMIT $2",
    AT(PG_S_SCAN_MESSAGES) =
        "SELECT number, session_id, content, tool_name, tool_calls, content_blocks FROM @.message"
        " WHERE number > $1 AND ($3 IS NULL OR position($3 IN content) > 0 OR position($3 IN"
        " convert_to(concat_ws(' ', tool_name, tool_calls, content_blocks), 'UTF8')) > 0"
        " OR strpos(concat(tool_calls, content_blocks), chr(92)) > 0) ORDER BY number LIMIT $2",
    AT(PG_S_SCAN_KEYS) = "SELECT number, prefix, name FROM @.api_key WHERE number > $1"
                         " ORDER BY number LIMIT $2",
    AT(PG_S_PURGE_KEY) =
        "WITH changed AS (UPDATE @.api_key SET name = $3 WHERE prefix = $2 RETURNING prefix),"
        " call AS (INSERT INTO @.session_call (token, what) SELECT $1, 'key' FROM changed)"
        " SELECT 0, 0::int8" PG_DURABLE,
    /* $2 session, $3 title, $4 folded, $5 metadata; if they are still $6 and $7. */
    AT(PG_S_PURGE_SESSION) =
        "WITH changed AS (UPDATE @.session SET title = $3, title_folded = $4, metadata = $5"
        " WHERE id = $2 AND title IS NOT DISTINCT FROM $6 AND metadata IS NOT DISTINCT FROM $7"
        " RETURNING id)" CALL("'updated'", "changed") DONE_IF_ANY("changed"),
    /* $2 number, then what is left of it, and its words. */
    AT(PG_S_PURGE_MESSAGE) =
        "WITH changed AS (UPDATE @.message SET content = $3, tool_name = $4, tool_calls = $5,"
        " content_blocks = $6, terms = $7::tsvector WHERE number = $2 RETURNING session_id AS "
        "id)" CALL("'updated'", "changed") DONE_IF_ANY("changed"),
};
