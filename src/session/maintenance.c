/*
 * maintenance.c: what concerns whole sessions: fork, prune, vacuum, settle.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/uuid.h"
#include "session/operations.h"
#include "session/owners.h"
#include "session/rows.h"
#include "session/search/search.h"

#define KEY_BYTES 65536 /* of a session's key */
#define SQL_BYTES 1048576

/* ---- fork ------------------------------------------------------------------------------------ */

/* <key>:fork:<ms>, the first ms from now on that is free. */
static int find_free_fork_key(struct db *self, const char *id, struct str *out,
                              struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int64_t ms = self->host->now_ms(self->host->arg);
    int code = db_prepare(self, DB_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    code = db_step(self, statement, "read a session", error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : form_no_session(id, error);
    str_printf(out, "%s:fork:", (const char *)sqlite3_column_text(statement, 1));
    sqlite3_reset(statement);
    code = db_prepare(self, DB_SESSION_BY_KEY, &statement, error);
    for (size_t stem = out->size; code == ETHOS_OK || code == SQLITE_ROW; ms++) {
        str_truncate(out, stem);
        if (str_printf(out, "%" PRId64, ms) != ETHOS_OK)
            return err_set(error, str_code(out), "the key of a session is too long to fork it");
        sqlite3_reset(statement);
        db_bind(statement, 1, out->data);
        code = db_step(self, statement, "read a session", error);
    }
    return code < 0 ? code : ETHOS_OK;
}

static int copy_session(struct db *self, const char *id, const char *new_id, const char *key,
                        struct ethos_error *error)
{
    sqlite3_stmt *statement;
    char now[CLOCK_ISO_SIZE];
    int code = session_time(self, NULL, now, error);
    if (code == ETHOS_OK)
        code = db_prepare(self, DB_FORK_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    db_bind(statement, 2, new_id);
    db_bind(statement, 3, key);
    db_bind(statement, 4, now);
    return db_run(self, statement, "fork a session", NULL, error);
}

/* Appends ",name" for every column of a message but its ids, those of other programs included. */
static int add_columns(struct db *self, struct str *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    static const char sql[] = "SELECT ',\"'||replace(name,'\"','\"\"')||'\"' FROM"
                              " pragma_table_info('messages') WHERE name NOT IN('id','session_id')";
    if (sqlite3_prepare_v2(self->connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(self, "read its tables", error);
    int code;
    while ((code = db_step(self, statement, "read its tables", error)) == SQLITE_ROW)
        str_adds(out, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return code < 0 ? code : str_code(out) != ETHOS_OK ? err_nomem(error) : ETHOS_OK;
}

static int run_copy(struct db *self, const char *sql, const char *id, const char *new_id,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(self->connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(self, "fork a session", error);
    db_bind(statement, 1, id);
    db_bind(statement, 2, new_id);
    int code = db_run(self, statement, "fork a session", NULL, error);
    sqlite3_finalize(statement);
    return code;
}

static int copy_messages(struct db *self, const char *id, const char *new_id,
                         struct ethos_error *error)
{
    struct str columns, sql;
    str_init(&columns, SQL_BYTES);
    str_init(&sql, SQL_BYTES);
    int code = add_columns(self, &columns, error);
    str_printf(&sql,
               "INSERT INTO messages(id,session_id%s) SELECT new_id(),?2%s FROM messages"
               " WHERE session_id=?1 AND deleted_at IS NULL ORDER BY timestamp,rowid",
               columns.data, columns.data);
    if (code == ETHOS_OK)
        code = str_code(&sql) != ETHOS_OK ? err_nomem(error)
                                          : run_copy(self, sql.data, id, new_id, error);
    str_release(&columns);
    str_release(&sql);
    return code;
}

int sessions_fork(struct ethos_sessions *sessions, const char *id, char out_id[ETHOS_UUID_SIZE],
                  struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    char new_id[ETHOS_UUID_SIZE];
    struct str key;
    int code = session_begin(self, id, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&key, KEY_BYTES);
    code = find_free_fork_key(self, id, &key, error);
    if (code == ETHOS_OK && uuid_make(new_id) != 0)
        code = err_errno(error, errno, "random");
    if (code == ETHOS_OK)
        code = copy_session(self, id, new_id, key.data, error);
    if (code == ETHOS_OK)
        code = copy_messages(self, id, new_id, error);
    if (code == ETHOS_OK)
        code = people_copy(self, id, new_id, error);
    str_release(&key);
    code = db_end(self, code, error);
    if (code == ETHOS_OK)
        memcpy(out_id, new_id, sizeof new_id);
    return code;
}

/* ---- prune ----------------------------------------------------------------------------------- */

static int count_old(struct db *self, const char *before, int64_t *out_count,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_COUNT_OLD, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, before);
    code = db_step(self, statement, "count sessions", error);
    if (code < 0)
        return code;
    *out_count = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return ETHOS_OK;
}

static int delete_old(struct db *self, const char *before, int64_t *out_count,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    code = db_prepare(self, DB_DELETE_OLD, &statement, error);
    if (code == ETHOS_OK) {
        db_bind(statement, 1, before);
        code = db_run(self, statement, "delete sessions", out_count, error);
    }
    code = db_end(self, code, error);
    if (code == ETHOS_OK && *out_count > 0) {
        sessions_erase_deleted(self);
        people_drop(self, NULL);
    }
    return code;
}

int sessions_prune(struct ethos_sessions *sessions, const char *before, int dry_run,
                   uint64_t *out_count, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    char time[CLOCK_ISO_SIZE];
    int64_t count = 0;
    int code = before ? session_time(self, before, time, error)
                      : err_set(error, ETHOS_INVALID, "the time before which to prune is missing");
    if (code == ETHOS_OK)
        code = db_ready(self, false, error);
    if (code == ETHOS_OK)
        code = dry_run ? count_old(self, time, &count, error)
                       : delete_old(self, time, &count, error);
    else if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK; // no database: nothing is old
    if (code == ETHOS_OK)
        *out_count = (uint64_t)count;
    return code;
}

/* ---- vacuum ---------------------------------------------------------------------------------- */

/* VACUUM may number rows anew, and the full-text index knows messages by their numbers. */
int sessions_vacuum(struct ethos_sessions *sessions, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    if (code == ETHOS_OK)
        code = db_hold(self, error);
    if (code != ETHOS_OK)
        return code;
    code = db_exec(self, "VACUUM", "give space back", error);
    if (code == ETHOS_OK)
        code = db_exec(self, DB_REBUILD_INDEX, "rebuild its index", error);
    if (code == ETHOS_OK && !self->network)
        db_checkpoint(self, SQLITE_CHECKPOINT_TRUNCATE);
    db_unlock(self);
    return code;
}

/* ---- settle ---------------------------------------------------------------------------------- */

int sessions_settle(struct ethos_sessions *self, struct ethos_error *error)
{
    int code = search_settle(db_of(self), error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}
