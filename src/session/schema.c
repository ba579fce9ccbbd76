/*
 * schema.c: the tables of sessions.db, as the memory format gives them.
 */
#include "session/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "session/database.h"

#define VERSION 1 /* for ever: others refuse a larger one */

#define USAGE(null)                                                                                \
    "input_tokens INTEGER" null ",output_tokens INTEGER" null ",cache_read_tokens INTEGER" null    \
    ",cache_creation_tokens INTEGER" null ",estimated_cost_usd REAL" null
#define ZERO " NOT NULL DEFAULT 0"
#define OF_SESSION "TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE"
#define INDEX(name, on)                                                                            \
    {                                                                                              \
        name, "CREATE INDEX " name " ON " on                                                       \
    }
#define FORGET                                                                                     \
    "INSERT INTO messages_fts(messages_fts,rowid,content) VALUES('delete',old.rowid,old.content);"
#define LEARN "INSERT INTO messages_fts(rowid,content) VALUES(new.rowid,new.content);"
#define TRIGGER(name, event, body)                                                                 \
    {                                                                                              \
        name, "CREATE TRIGGER " name " AFTER " event " ON messages BEGIN " body " END"             \
    }

/* In the order in which they can be made. */
static const struct object {
    const char *name, *sql;
} objects[] = {
    {"sessions",
     "CREATE TABLE sessions(id TEXT PRIMARY KEY,key TEXT NOT NULL UNIQUE,platform TEXT NOT NULL,"
     "model TEXT NOT NULL,provider TEXT NOT NULL,personality_id TEXT,parent_session_id TEXT,"
     "working_dir TEXT,title TEXT," USAGE(
         ZERO) ",api_call_count INTEGER" ZERO ",compaction_count INTEGER" ZERO
               ",metadata TEXT,created_at TEXT NOT NULL,"
               "updated_at TEXT NOT NULL,turn_count INTEGER" ZERO
               ",last_compaction_turn INTEGER" ZERO ",pinned INTEGER" ZERO ") STRICT"},
    {"messages",
     "CREATE TABLE messages(id TEXT PRIMARY KEY,session_id " OF_SESSION ",role TEXT NOT NULL,"
     "content TEXT NOT NULL,tool_call_id TEXT,tool_name TEXT,tool_calls TEXT," USAGE(
         "") ",timestamp TEXT NOT NULL,trace_id TEXT,content_blocks TEXT,deleted_at TEXT) STRICT"},
    {"compressions",
     "CREATE TABLE compressions(id TEXT PRIMARY KEY,session_id " OF_SESSION ","
     "created_at TEXT NOT NULL,engine_name TEXT NOT NULL,original_count INTEGER NOT NULL,"
     "kept_count INTEGER NOT NULL,summary_text TEXT,summary_tokens INTEGER NOT NULL,"
     "pre_total_tokens INTEGER NOT NULL,post_total_tokens INTEGER NOT NULL,"
     "duration_ms INTEGER NOT NULL,kept_from_message_id TEXT) STRICT"},
    INDEX("idx_sessions_key", "sessions(key)"),
    INDEX("idx_sessions_platform", "sessions(platform)"),
    INDEX("idx_messages_session", "messages(session_id,timestamp)"),
    INDEX("idx_compressions_session", "compressions(session_id,created_at)"),
    {"messages_fts", "CREATE VIRTUAL TABLE messages_fts USING fts5(content,content='messages',"
                     "content_rowid='rowid',tokenize='porter ascii')"},
    TRIGGER("messages_ai", "INSERT", LEARN),
    TRIGGER("messages_ad", "DELETE", FORGET),
    TRIGGER("messages_au", "UPDATE OF content", FORGET LEARN),
};
#define OBJECTS (sizeof objects / sizeof *objects)
#define TABLES_NEEDED 2  /* to read: those of sessions and messages */
#define FIRST_OF_INDEX 7 /* objects from here on are the full-text index and what feeds it */

/* Columns that came later than their table. */
static const struct added_column {
    const char *table, *name, *type;
} columns[] = {
    {"sessions", "turn_count", "INTEGER" ZERO},
    {"sessions", "last_compaction_turn", "INTEGER" ZERO},
    {"sessions", "pinned", "INTEGER" ZERO},
    {"messages", "trace_id", "TEXT"},
    {"messages", "content_blocks", "TEXT"},
    {"messages", "deleted_at", "TEXT"},
    {"compressions", "kept_from_message_id", "TEXT"},
};
#define COLUMNS (sizeof columns / sizeof *columns)

/* 1 or 0, or a code of ours. */
static int has_object(struct db *self, const char *name, struct ethos_error *error)
{
    char sql[160];
    int64_t count = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_master WHERE name='%s'", name);
    int code = db_number(self, sql, &count, error);
    return code != ETHOS_OK ? code : count > 0;
}

static int has_column(struct db *self, const struct added_column *column, struct ethos_error *error)
{
    int rc = sqlite3_table_column_metadata(self->connection, "main", column->table, column->name,
                                           NULL, NULL, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return 1;
    return rc == SQLITE_ERROR ? 0 : db_fail(self, "read its tables", error);
}

static int check_version(struct db *self, struct ethos_error *error)
{
    int64_t version = 0;
    int code = db_number(self, "PRAGMA user_version", &version, error);
    if (code != ETHOS_OK || (version >= 0 && version <= VERSION))
        return code;
    bool newer = version > VERSION;
    code = err_set(error, ETHOS_UNSUPPORTED, "%s: written by %s: schema %" PRId64 ", %s %d",
                   self->path, newer ? "a newer version" : "another program", version,
                   "this program knows", VERSION);
    return err_hint(error, code, "%sthe file was left as it is",
                    newer ? "update this program; " : "");
}

int schema_look(struct db *self, enum schema_state *out, struct ethos_error *error)
{
    int has = check_version(self, error);
    *out = SCHEMA_WHOLE;
    for (size_t i = 0; has >= 0 && *out > SCHEMA_PART && i < OBJECTS; i++) {
        has = has_object(self, objects[i].name, error);
        if (has == 0)
            *out = i < TABLES_NEEDED ? SCHEMA_NONE : SCHEMA_PART;
    }
    for (size_t i = 0; has >= 0 && *out == SCHEMA_WHOLE && i < COLUMNS; i++) {
        has = has_column(self, &columns[i], error);
        if (has == 0)
            *out = SCHEMA_OLD;
    }
    return has < 0 ? has : ETHOS_OK;
}

static int stand_in_for(struct db *self, const char *table, struct ethos_error *error)
{
    char sql[400];
    int head = snprintf(sql, sizeof sql, "CREATE TEMP VIEW %s AS SELECT rowid,*", table),
        size = head;
    for (size_t i = 0; i < COLUMNS; i++) {
        int has = strcmp(columns[i].table, table) == 0 ? has_column(self, &columns[i], error) : 1;
        if (has < 0)
            return has;
        if (has == 0)
            size += snprintf(sql + size, sizeof sql - (size_t)size, ",%s AS %s",
                             strcmp(columns[i].type, "TEXT") == 0 ? "NULL" : "0", columns[i].name);
    }
    snprintf(sql + size, sizeof sql - (size_t)size, " FROM main.%s", table);
    return size > head ? db_exec(self, sql, "read its tables", error) : ETHOS_OK;
}

int schema_stand_in(struct db *self, struct ethos_error *error)
{
    int code = db_exec(self, "PRAGMA temp_store=MEMORY", "read its tables", error);
    for (size_t i = 0; code == ETHOS_OK && i < TABLES_NEEDED; i++)
        code = stand_in_for(self, objects[i].name, error);
    return code;
}

static int make_objects(struct db *self, bool *out_indexed, struct ethos_error *error)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        int has = has_object(self, objects[i].name, error);
        if (has == 0) {
            has = db_exec(self, objects[i].sql, "make its tables", error);
            *out_indexed = *out_indexed && i < FIRST_OF_INDEX;
        }
        if (has < 0)
            return has;
    }
    return ETHOS_OK;
}

static int make_columns(struct db *self, struct ethos_error *error)
{
    char sql[160];
    for (size_t i = 0; i < COLUMNS; i++) {
        int has = has_column(self, &columns[i], error);
        snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s %s", columns[i].table,
                 columns[i].name, columns[i].type);
        if (has == 0)
            has = db_exec(self, sql, "add a column", error);
        if (has < 0)
            return has;
    }
    return ETHOS_OK;
}

int schema_make(struct db *self, struct ethos_error *error)
{
    bool indexed = true;
    int code = check_version(self, error); // another program may have been faster
    if (code == ETHOS_OK)
        code = db_exec(self, "DROP VIEW IF EXISTS temp.sessions;DROP VIEW IF EXISTS temp.messages",
                       "make its tables", error);
    int had = code == ETHOS_OK ? has_object(self, objects[0].name, error) : code;
    if (had < 0)
        return had;
    code = make_objects(self, &indexed, error);
    if (code == ETHOS_OK)
        code = make_columns(self, error);
    if (code == ETHOS_OK && !indexed)
        code = db_exec(self, DB_REBUILD_INDEX, "rebuild its index", error);
    if (code == ETHOS_OK && !had)
        code = db_exec(self, "PRAGMA user_version=1", "set its version", error);
    return code;
}
