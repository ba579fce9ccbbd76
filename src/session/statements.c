/*
 * statements.c: the texts of the statements that are kept.
 *
 * Order of sessions: pinned, updated_at, rowid, all descending; of messages: timestamp, rowid.
 */
#include "session/database.h"
#include "session/rows.h"

/* ?1 platform, ?2 personality, ?3 working directories, ?4 start of the id, ?5 text, ?15 whose. */
#define FILTERS                                                                                    \
    " WHERE (?1 IS NULL OR s.platform=?1) AND (?2 IS NULL OR s.personality_id=?2)"                 \
    " AND (?3 IS NULL OR within(?3,s.working_dir)) AND (?4 IS NULL OR "                            \
    "substr(s.id,1,length(?4))=?4)"                                                                \
    " AND (?5 IS NULL OR holds(s.title,?5) OR holds(s.key,?5))"                                    \
    " AND (?15 IS NULL OR owned(s.id))"

/* ?6 since, ?14 until. */
#define WITHIN(time) " AND (?6 IS NULL OR " time ">=?6) AND (?14 IS NULL OR " time "<=?14)"

/*
 * Where a session stood when the first page was read, when ?11 was the newest message and ?12 the latest
 * place. Those with newer messages have moved, and those with a later place, unless it is beyond ?13,
 * where nobody's clock is: then what there was of them tells the place.
 */
#define PLACE                                                                                      \
    "CASE WHEN s.updated_at>?12 AND s.updated_at<=?13"                                             \
    " OR s.id IN (SELECT m.session_id FROM messages m WHERE m.rowid>?11)"                          \
    " THEN coalesce((SELECT max(m.timestamp,s.created_at) FROM messages m"                         \
    " WHERE m.session_id=s.id AND m.rowid<=?11 AND (m.timestamp<=?12 OR m.timestamp>?13)"          \
    " ORDER BY m.timestamp DESC LIMIT 1),s.created_at) ELSE s.updated_at END"

#define LIST(filters)                                                                              \
    "SELECT " SESSION_COLUMNS ",s.rowid,s.updated_at FROM sessions s" filters                      \
    " ORDER BY s.pinned<>0 DESC,s.updated_at DESC,s.rowid DESC LIMIT ?7 OFFSET ?8"

#define BEHIND " WHERE (pin,place,at)<(?8,?9,?10) AND at<>?10" WITHIN("place")

#define LIVE " WHERE m.session_id=?1 AND m.deleted_at IS NULL"
#define FROM_ON                                                                                    \
    LIVE " AND (m.timestamp,m.rowid)>=(SELECT timestamp,rowid FROM messages WHERE rowid=?2)"
#define OLDEST_FIRST " ORDER BY m.timestamp,m.rowid"
#define NEWEST_FIRST " ORDER BY m.timestamp DESC,m.rowid DESC"
#define OLD " FROM sessions WHERE pinned=0 AND updated_at<?1"

const char *const db_statements[DB_STATEMENTS] = {
    [DB_BEGIN] = "BEGIN IMMEDIATE",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",

    [DB_INSERT_SESSION] =
        "INSERT INTO sessions(id,key,platform,model,provider,personality_id,parent_session_id,"
        "working_dir,title,metadata,input_tokens,output_tokens,cache_read_tokens,"
        "cache_creation_tokens,estimated_cost_usd,api_call_count,compaction_count,turn_count,"
        "last_compaction_turn,pinned,created_at,updated_at)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22)",
    [DB_SESSION] = "SELECT " SESSION_COLUMNS " FROM sessions s WHERE s.id=?1",
    [DB_SESSION_BY_KEY] = "SELECT " SESSION_COLUMNS " FROM sessions s WHERE s.key=?1",
    [DB_UPDATE_SESSION] =
        "UPDATE sessions SET title=CASE WHEN ?2 IS NULL THEN title ELSE nullif(?2,'') END,"
        "model=coalesce(?3,model),provider=coalesce(?4,provider),"
        "personality_id=coalesce(?5,personality_id),metadata=coalesce(?6,metadata),"
        "working_dir=coalesce(?7,working_dir),pinned=coalesce(?8,pinned),"
        "input_tokens=input_tokens+?9,output_tokens=output_tokens+?10,"
        "cache_read_tokens=cache_read_tokens+?11,"
        "cache_creation_tokens=cache_creation_tokens+?12,"
        "estimated_cost_usd=estimated_cost_usd+?13,api_call_count=api_call_count+?14,"
        "compaction_count=compaction_count+?15,"
        "last_compaction_turn=CASE WHEN ?15>0 THEN turn_count ELSE last_compaction_turn END"
        " WHERE id=?1",
    [DB_DELETE_SESSION] = "DELETE FROM sessions WHERE id=?1",

    /* After the session: its rowid, its place in the order. */
    [DB_LIST] = LIST(""),
    [DB_LIST_SOME] = LIST(FILTERS WITHIN("s.updated_at")),
    /* From a place on: ?8 pinned, ?9 place, ?10 rowid. */
    [DB_LIST_ON] = "WITH page AS MATERIALIZED (SELECT s.rowid AS at,s.pinned<>0 AS pin," PLACE
                   " AS place FROM sessions s" FILTERS ") SELECT " SESSION_COLUMNS
                   ",at,place FROM page CROSS JOIN sessions s ON s.rowid=at" BEHIND
                   " ORDER BY pin DESC,place DESC,at DESC LIMIT ?7",
    /* What tells later whether a session has moved: ?1 the latest place if known, else up to ?2. */
    [DB_LIST_MOMENT] = "SELECT (SELECT max(rowid) FROM messages),"
                       "coalesce(?1,(SELECT max(updated_at) FROM sessions WHERE updated_at<=?2))",

    [DB_COUNT_OLD] = "SELECT count(*)" OLD,
    [DB_DELETE_OLD] = "DELETE" OLD,
    [DB_FORK_SESSION] =
        "INSERT INTO sessions(id,key,platform,model,provider,personality_id,parent_session_id,"
        "working_dir,title,metadata,turn_count,last_compaction_turn,created_at,updated_at)"
        " SELECT ?2,?3,platform,model,provider,personality_id,id,working_dir,title,metadata,"
        "turn_count,last_compaction_turn,?4,?4 FROM sessions WHERE id=?1",

    [DB_LAST_TIME] =
        "SELECT (SELECT m.timestamp FROM messages m WHERE m.session_id=s.id" NEWEST_FIRST
        " LIMIT 1) FROM sessions s WHERE s.id=?1",
    [DB_INSERT_MESSAGE] =
        "INSERT INTO messages(id,session_id,role,content,tool_call_id,tool_name,tool_calls,"
        "content_blocks,trace_id,input_tokens,output_tokens,cache_read_tokens,"
        "cache_creation_tokens,estimated_cost_usd,timestamp)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
    [DB_RAISE_SESSION] =
        "UPDATE sessions SET updated_at=max(updated_at,?2),turn_count=turn_count+?3 WHERE id=?1",
    [DB_MESSAGES] = "SELECT " MESSAGE_COLUMNS " FROM messages m" LIVE OLDEST_FIRST,
    [DB_LAST_MESSAGES] = "SELECT " MESSAGE_COLUMNS
                         " FROM messages m WHERE m.rowid IN (SELECT m.rowid"
                         " FROM messages m" LIVE NEWEST_FIRST " LIMIT ?2)" OLDEST_FIRST,
    [DB_TAIL] =
        "SELECT m.role,m.tool_call_id,m.tool_name,m.tool_calls FROM messages m" LIVE NEWEST_FIRST,
    [DB_TURNS] = "SELECT m.rowid FROM messages m" LIVE " AND m.role='user'" NEWEST_FIRST,
    [DB_MESSAGE] = "SELECT m.rowid FROM messages m" LIVE " AND m.id=?2",
    [DB_TAKEN] = "SELECT 1 FROM messages WHERE id=?1",
    [DB_LOWER_SESSION] = "UPDATE sessions SET turn_count=max(0,turn_count-(SELECT count(*)"
                         " FROM messages m" FROM_ON " AND m.role='user')) WHERE id=?1",
    [DB_HIDE] = "UPDATE messages AS m SET deleted_at=?3" FROM_ON,
    [DB_DELETE_HIDDEN] = "DELETE FROM messages WHERE id=?1 AND deleted_at IS NOT NULL",
    [DB_SEQUENCES] = "SELECT m.session_id,m.role,m.tool_call_id,m.tool_calls FROM messages m"
                     " WHERE m.deleted_at IS NULL ORDER BY m.session_id,m.timestamp,m.rowid",

    [DB_KEYS] = "SELECT prefix,hash,name,scopes,allowed_origins,agent,created_at,last_used_at,"
                "revoked_at FROM api_keys ORDER BY rowid",
    [DB_INSERT_KEY] =
        "INSERT INTO api_keys(prefix,hash,name,scopes,allowed_origins,created_at,last_used_at,"
        "revoked_at,agent) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [DB_REVOKE_KEY] = "UPDATE api_keys SET revoked_at=coalesce(revoked_at,?2) WHERE prefix=?1",
    [DB_USE_KEY] = "UPDATE api_keys SET last_used_at=?2 WHERE hash=?1",
    [DB_BROWSERS] = "SELECT prefix,hash,name,scopes,allowed_origins,agent,created_at,last_used_at,"
                    "revoked_at FROM browsers ORDER BY rowid",
    [DB_INSERT_BROWSER] =
        "INSERT INTO browsers(prefix,hash,name,scopes,allowed_origins,created_at,last_used_at,"
        "revoked_at,agent) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    [DB_REVOKE_BROWSER] = "UPDATE browsers SET revoked_at=coalesce(revoked_at,?2) WHERE prefix=?1",
    [DB_USE_BROWSER] = "UPDATE browsers SET last_used_at=?2 WHERE hash=?1",

    [DB_FOLLOW_VERSION] = "PRAGMA data_version",
    [DB_FOLLOW_LAST] = "SELECT id,rowid FROM messages ORDER BY rowid DESC LIMIT ?1",
    [DB_FOLLOW_PLACE] = "SELECT rowid FROM messages WHERE id=?1",
    [DB_FOLLOW_MESSAGES] = "SELECT m.id,m.rowid,m.session_id,m.role FROM messages m"
                           " WHERE m.rowid>?1 ORDER BY m.rowid LIMIT ?2",
    /* Sessions of the messages after ?1 up to ?2, and those after ?3. */
    [DB_FOLLOW_SPOKEN] = "SELECT " SESSION_COLUMNS ",s.rowid FROM sessions s WHERE s.rowid IN"
                         " (SELECT o.rowid FROM sessions o WHERE o.id IN (SELECT m.session_id"
                         " FROM messages m WHERE m.rowid>?1 AND m.rowid<=?2)"
                         " UNION SELECT n.rowid FROM sessions n WHERE n.rowid>?3)"
                         " ORDER BY s.rowid",
    [DB_FOLLOW_SESSIONS] = "SELECT " SESSION_COLUMNS
                           ",s.rowid FROM sessions s ORDER BY s.rowid DESC LIMIT ?1",

    /* The counters of the full-text index, and the messages from ?1 on with the size that it has of each. */
    [DB_UNSEEN] = "SELECT f.block,m.rowid,m.id,m.session_id,d.sz FROM messages_fts_data f"
                  " LEFT JOIN messages m ON m.rowid>=?1"
                  " LEFT JOIN messages_fts_docsize d ON d.id=m.rowid WHERE f.id=1 ORDER BY m.rowid",
    [DB_SEEN] = "SELECT f.block,m.rowid,m.id FROM messages_fts_data f LEFT JOIN messages m"
                " WHERE f.id=1 ORDER BY m.rowid DESC LIMIT 1",
    [DB_BEGINNINGS] = "SELECT id FROM sessions ORDER BY created_at,rowid",
    [DB_ONE_MESSAGE] = "SELECT " MESSAGE_COLUMNS
                       " FROM messages m WHERE m.rowid=?1 AND m.deleted_at IS NULL",
};
