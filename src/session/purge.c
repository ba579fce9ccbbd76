/*
 * purge.c: a text goes out of conversations, and what is deleted leaves nothing behind.
 *
 *     scan      every row is read; those that hold the text are noted
 *     rewrite   one transaction: each is read again and gets marks
 *     erase     the full-text index is merged, which drops the words of old texts; the log is folded into
 *               the database and emptied; the search index, made of the same words, is discarded
 *
 * until a scan finds nothing. Freed pages are overwritten (secure_delete, database.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "session/operations.h"
#include "session/search/search.h"

#define ROUNDS 10
#define MAX_COLUMNS 32 /* of texts, in one table */
#define NAME_SIZE 128  /* of a column, quoted */
#define SQL_SIZE 8192
#define MERGE_INDEX "INSERT INTO messages_fts(messages_fts) VALUES('optimize')"

/* ---- nothing is left ------------------------------------------------------------------------ */

static int sessions_erase(struct db *self, struct ethos_error *error)
{
    int code = db_hold(self, error);
    if (code != ETHOS_OK)
        return code;
    code = db_exec(self, MERGE_INDEX, "merge its index", error);
    if (code == ETHOS_OK && !self->network) {
        db_checkpoint(self, SQLITE_CHECKPOINT_TRUNCATE);
        if (self->log_bytes > 0)
            code = err_hint(
                error,
                err_set(error, ETHOS_BUSY,
                        "%s-wal: another program is reading it, so it still contains deleted text",
                        self->path),
                "run the command again when no other program uses it");
    }
    db_unlock(self);
    return code == ETHOS_OK ? search_discard(self, error) : code;
}

void sessions_erase_deleted(struct db *self)
{
    struct ethos_error error = {0};
    if (sessions_erase(self, &error) != ETHOS_OK)
        log_line(self->host, ETHOS_LOG_WARN, "%s", error.text);
}

/* ---- tables --------------------------------------------------------------------------------- */

struct purged_column {
    char name[NAME_SIZE];
    bool json;
};

struct purged_table {
    const char *name, *owner; /* owner: the column that tells the session, or the key */
    const char *only;         /* the one column of texts, or NULL: all */
    struct purged_column columns[MAX_COLUMNS];
    int count;
};

/* What tells rows apart, or names folders and programs, stays; other programs may have more columns. */
static const char columns_sql[] =
    "SELECT '\"'||replace(name,'\"','\"\"')||'\"',name IN('tool_calls','content_blocks','metadata')"
    " FROM pragma_table_info(?1) WHERE upper(type)='TEXT' AND name=coalesce(?2,name) AND name NOT "
    "IN('id','key','session_id',"
    "'platform','model','provider','personality_id','parent_session_id','working_dir','role',"
    "'created_at','updated_at','timestamp','deleted_at','tool_call_id','trace_id','engine_name',"
    "'kept_from_message_id')";

static int read_columns(struct db *self, struct purged_table *table, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(self->connection, columns_sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(self, "read its tables", error);
    db_bind(statement, 1, table->name);
    db_bind(statement, 2, table->only);
    int code;
    table->count = 0;
    while ((code = db_step(self, statement, "read its tables", error)) == SQLITE_ROW &&
           table->count < MAX_COLUMNS) {
        struct purged_column *column = &table->columns[table->count++];
        snprintf(column->name, sizeof column->name, "%s",
                 (const char *)sqlite3_column_text(statement, 0));
        column->json = sqlite3_column_int(statement, 1) != 0;
    }
    sqlite3_finalize(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* "SELECT rowid,<owner>,<columns> FROM <table><where>" */
static int prepare_select(struct db *self, const struct purged_table *table, const char *where,
                          sqlite3_stmt **out, struct ethos_error *error)
{
    struct str sql;
    str_init(&sql, SQL_SIZE);
    str_printf(&sql, "SELECT rowid,%s", table->owner);
    for (int i = 0; i < table->count; i++)
        str_printf(&sql, ",%s", table->columns[i].name);
    str_printf(&sql, " FROM %s%s", table->name, where);
    int code = str_code(&sql) != ETHOS_OK ? err_nomem(error)
               : sqlite3_prepare_v2(self->connection, sql.data, -1, out, NULL) == SQLITE_OK
                   ? ETHOS_OK
                   : db_fail(self, "read its tables", error);
    str_release(&sql);
    return code;
}

static struct ethos_view column_value(sqlite3_stmt *statement, int at)
{
    const void *data = sqlite3_column_text(statement, at);
    return data ? view_of(data, (size_t)sqlite3_column_bytes(statement, at))
                : (struct ethos_view){0};
}

/* ---- scan ----------------------------------------------------------------------------------- */

struct purged_rows {
    struct arena arena;
    int64_t *list;
    size_t count, capacity;
};

struct purge_scan {
    struct db *db;
    const struct forget *forget;
    bool tell;
    struct str out;
};

static int row_holds(struct purge_scan *self, const struct purged_table *table, sqlite3_stmt *row,
                     bool *out)
{
    uint64_t count = 0;
    int code = ETHOS_OK;
    for (int i = 0; code == ETHOS_OK && i < table->count; i++) {
        struct ethos_view value = column_value(row, i + 2);
        uint64_t before = count;
        if (value.size == 0)
            continue;
        code = forget_value(self->forget, table->columns[i].json, value, DB_MAX_TEXT, &self->out,
                            &count);
        if (code == ETHOS_OK && self->tell && count > before)
            code = forget_tell_value(self->forget, table->columns[i].json,
                                     (const char *)sqlite3_column_text(row, 1), value, DB_MAX_TEXT);
    }
    *out = count > 0;
    return code;
}

static int scan_table(struct purge_scan *self, const struct purged_table *table,
                      struct purged_rows *rows, struct ethos_error *error)
{
    sqlite3_stmt *row = NULL;
    int code = prepare_select(self->db, table, "", &row, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = db_step(self->db, row, "read it", error)) == SQLITE_ROW) {
        bool held = false;
        code = row_holds(self, table, row, &held);
        int64_t *list = code == ETHOS_OK && held ? arena_grow(&rows->arena, rows->list, rows->count,
                                                              &rows->capacity, sizeof *list)
                                                 : rows->list;
        if (code == ETHOS_OK && held && !list)
            code = ETHOS_NOMEM;
        if (code != ETHOS_OK)
            break;
        rows->list = list;
        if (held)
            list[rows->count++] = sqlite3_column_int64(row, 0);
    }
    sqlite3_finalize(row);
    return code == ETHOS_NOMEM ? err_nomem(error) : code == SQLITE_DONE ? ETHOS_OK : code;
}

/* ---- rewrite -------------------------------------------------------------------------------- */

static int set_value(struct db *self, const struct purged_table *table, int column, int64_t rowid,
                     struct ethos_view value, struct ethos_error *error)
{
    char sql[2 * NAME_SIZE + 64];
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof sql, "UPDATE %s SET %s=?1 WHERE rowid=?2", table->name,
             table->columns[column].name);
    if (sqlite3_prepare_v2(self->connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(self, "rewrite it", error);
    sqlite3_bind_text(statement, 1, value.data, (int)value.size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, rowid);
    int code = db_run(self, statement, "rewrite it", NULL, error);
    sqlite3_finalize(statement);
    return code;
}

/* The row stands still: it is read again before each change. */
static int rewrite_row(struct purge_scan *self, const struct purged_table *table, sqlite3_stmt *row,
                       int64_t rowid, struct ethos_error *error)
{
    int code = SQLITE_ROW;
    for (int i = 0; code == SQLITE_ROW && i < table->count; i++) {
        uint64_t count = 0;
        sqlite3_reset(row);
        sqlite3_bind_int64(row, 1, rowid);
        code = db_step(self->db, row, "read it", error);
        struct ethos_view value = code == SQLITE_ROW ? column_value(row, i + 2)
                                                     : (struct ethos_view){0};
        if (value.size == 0)
            continue;
        int marked = forget_value(self->forget, table->columns[i].json, value, DB_MAX_TEXT,
                                  &self->out, &count);
        sqlite3_reset(row);
        if (marked != ETHOS_OK)
            return err_nomem(error);
        if (count > 0)
            marked = set_value(self->db, table, i, rowid, str_view(&self->out), error);
        if (marked != ETHOS_OK)
            return marked;
    }
    return code < 0 ? code : ETHOS_OK;
}

static int rewrite_rows(struct purge_scan *self, const struct purged_table *table,
                        const struct purged_rows *rows, struct ethos_error *error)
{
    sqlite3_stmt *row = NULL;
    int code = db_begin(self->db, error);
    if (code != ETHOS_OK)
        return code;
    code = prepare_select(self->db, table, " WHERE rowid=?1", &row, error);
    for (size_t i = 0; code == ETHOS_OK && i < rows->count; i++)
        code = rewrite_row(self, table, row, rows->list[i], error);
    sqlite3_finalize(row);
    return db_end(self->db, code, error);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int purge_table(struct purge_scan *self, struct purged_table *table, bool dry_run,
                       uint64_t *out_count, struct ethos_error *error)
{
    struct purged_rows rows = {0};
    arena_init(&rows.arena);
    int code = read_columns(self->db, table, error);
    if (code == ETHOS_OK && table->count > 0)
        code = scan_table(self, table, &rows, error);
    if (code == ETHOS_OK && !dry_run && rows.count > 0)
        code = rewrite_rows(self, table, &rows, error);
    *out_count += rows.count;
    arena_release(&rows.arena);
    return code;
}

static int purge_tables(struct purge_scan *self, bool dry_run, struct ethos_session_purge *total,
                        uint64_t *out_found, struct ethos_error *error)
{
    struct purged_table tables[] = {{.name = "sessions", .owner = "id"},
                                    {.name = "messages", .owner = "session_id"},
                                    {.name = "compressions", .owner = "session_id"},
                                    {.name = "api_keys", .owner = "prefix", .only = "name"},
                                    {.name = "browsers", .owner = "prefix", .only = "name"}};
    uint64_t counts[5] = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < 5; i++)
        code = purge_table(self, &tables[i], dry_run, &counts[i], error);
    total->sessions += counts[0];
    total->messages += counts[1];
    total->summaries += counts[2];
    total->keys += counts[3] + counts[4];
    *out_found = counts[0] + counts[1] + counts[2] + counts[3] + counts[4];
    return code;
}

int sessions_purge(struct ethos_sessions *sessions, const struct ethos_match *match, int dry_run,
                   struct ethos_session_purge *out_purge, struct ethos_error *error)
{
    struct forget forget;
    struct ethos_session_purge total = {0};
    struct purge_scan scan = {
        .db = db_of(sessions), .forget = &forget, .tell = dry_run && match->each};
    uint64_t found = 1;
    int code = forget_init(&forget, match, error);
    if (code == ETHOS_OK)
        code = db_ready(scan.db, false, error);
    if (code != ETHOS_OK) {
        *out_purge = total;
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
    str_init(&scan.out, DB_MAX_TEXT);
    for (int i = 0; code == ETHOS_OK && found > 0 && i < ROUNDS; i++) {
        code = purge_tables(&scan, dry_run, &total, &found, error);
        if (dry_run)
            break;
    }
    str_release(&scan.out);
    if (code == ETHOS_OK && !dry_run && found > 0)
        code = err_set(error, ETHOS_BUSY, "%s: another program keeps writing this text",
                       scan.db->path);
    if (code == ETHOS_OK && !dry_run) // also when an earlier run was cut short
        code = sessions_erase(scan.db, error);
    if (code == ETHOS_OK)
        *out_purge = total;
    return code;
}
