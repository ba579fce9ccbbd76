/*
 * database.c: the connection to channels.db.
 */
#include "channel/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/err.h"
#include "base/system/lock.h"
#include "base/system/os.h"

#define BUSY_MS 10000
#define MAX_TEXT 8388608 /* bytes of one value */
#define CACHE_KIB "128"  /* of pages, as SQL has it */
#define SCHEMA 3         /* user_version */

struct channel_db {
    sqlite3 *connection;
    unsigned depth; /* of transactions that are begun */
};

static const char schema[] =
    "CREATE TABLE cursor(adapter TEXT NOT NULL,name TEXT NOT NULL,value TEXT NOT NULL,"
    "PRIMARY KEY(adapter,name)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE inbox(id INTEGER PRIMARY KEY,adapter TEXT NOT NULL,chat TEXT NOT NULL,"
    "msg TEXT NOT NULL,thread TEXT NOT NULL,sender TEXT NOT NULL,name TEXT NOT NULL,"
    "direct INTEGER NOT NULL,role TEXT NOT NULL,text TEXT,subject TEXT,time_ms INTEGER NOT NULL,"
    "received_ms INTEGER NOT NULL,ended_ms INTEGER,turn TEXT NOT NULL UNIQUE,state TEXT NOT NULL,"
    "UNIQUE(adapter,chat,msg)) STRICT;"
    "CREATE INDEX inbox_open ON inbox(id) WHERE state IN ('new','running');"
    "CREATE TABLE outbox(id INTEGER PRIMARY KEY,turn TEXT NOT NULL,part INTEGER NOT NULL,"
    "adapter TEXT NOT NULL,chat TEXT NOT NULL,thread TEXT NOT NULL,reply_to TEXT,direct INTEGER "
    "NOT NULL,"
    "text TEXT,subject TEXT,shown TEXT,remote TEXT,final INTEGER NOT NULL,sends_preview INTEGER "
    "NOT NULL "
    "DEFAULT 0,"
    "attempts INTEGER NOT NULL DEFAULT 0,not_before_ms INTEGER NOT NULL DEFAULT 0,"
    "created_ms INTEGER NOT NULL,sent_ms INTEGER,ended_ms INTEGER,state TEXT NOT NULL,"
    "UNIQUE(turn,part)) STRICT;"
    "CREATE INDEX outbox_open ON outbox(id) WHERE state IN ('queued','sending','live');"
    "CREATE TABLE contact(platform TEXT NOT NULL,sender TEXT NOT NULL,name TEXT NOT NULL,"
    "role TEXT NOT NULL,adapter TEXT NOT NULL,chat TEXT NOT NULL,since_ms INTEGER NOT NULL,"
    "told_ms INTEGER NOT NULL DEFAULT 0,tries INTEGER NOT NULL DEFAULT 0,"
    "tries_ms INTEGER NOT NULL DEFAULT 0,PRIMARY KEY(platform,sender)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE code(hash TEXT PRIMARY KEY,purpose TEXT NOT NULL,platform TEXT NOT NULL,"
    "sender TEXT NOT NULL,created_ms INTEGER NOT NULL,begins TEXT NOT NULL DEFAULT '') STRICT, "
    "WITHOUT ROWID;"
    "CREATE TABLE link(id INTEGER PRIMARY KEY,a_platform TEXT NOT NULL,a_sender TEXT NOT NULL,"
    "b_platform TEXT NOT NULL,b_sender TEXT NOT NULL,confirmed TEXT NOT NULL,"
    "created_ms INTEGER NOT NULL) STRICT;"
    "PRAGMA user_version=3";

/* What brings a database of the first version, of the second ... to the next one. */
static const char *const upgrades[SCHEMA - 1] = {
    "ALTER TABLE code ADD COLUMN begins TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN sent_ms INTEGER"};

static int report_sqlite_error(struct channel_db *self, struct ethos_error *error)
{
    int result = sqlite3_errcode(self->connection) & 0xFF;
    int code = result == SQLITE_NOMEM                                ? ETHOS_NOMEM
               : result == SQLITE_BUSY || result == SQLITE_LOCKED    ? ETHOS_BUSY
               : result == SQLITE_CORRUPT || result == SQLITE_NOTADB ? ETHOS_CORRUPT
               : result == SQLITE_TOOBIG                             ? ETHOS_LIMIT
               : result == SQLITE_CONSTRAINT                         ? ETHOS_EXISTS
                                                                     : ETHOS_IO;
    return err_set(error, code, CHANNEL_DB_FILE ": %s", sqlite3_errmsg(self->connection));
}

static int execute_sql(struct channel_db *self, const char *sql, struct ethos_error *error)
{
    return sqlite3_exec(self->connection, sql, NULL, NULL, NULL) == SQLITE_OK
               ? ETHOS_OK
               : report_sqlite_error(self, error);
}

/* ---- open -------------------------------------------------------------------------------------- */

/* SQLite would make it readable for others; its log files get the mode of the database. */
static int create_database_file(const char *path, bool create, struct ethos_error *error)
{
    int fd = os_openat(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | (create ? O_CREAT : 0),
                       0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    os_close(fd);
    return ETHOS_OK;
}

static int upgrade_tables(struct channel_db *self, int64_t version, struct ethos_error *error)
{
    char line[64];
    int code = ETHOS_OK;
    if (version == SCHEMA)
        return code;
    for (; code == ETHOS_OK && version < SCHEMA; version++)
        code = execute_sql(self, upgrades[version - 1], error);
    snprintf(line, sizeof line, "PRAGMA user_version=%d", SCHEMA);
    return code == ETHOS_OK ? execute_sql(self, line, error) : code;
}

/* Of two that open a new one at once the second finds the tables. */
static int create_tables(struct channel_db *self, struct ethos_error *error)
{
    int64_t version = 0;
    int code = execute_sql(self, "PRAGMA journal_mode=WAL", error);
    if (code == ETHOS_OK)
        code = channel_db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    code = channel_db_number(self, 0, &version, error, "PRAGMA user_version", "");
    if (code == ETHOS_OK && version > SCHEMA) {
        code = err_set(error, ETHOS_UNSUPPORTED,
                       CHANNEL_DB_FILE " was written by a newer version of ethos");
        err_hint(error, code, "install that version");
    } else if (code == ETHOS_OK && version == 0) {
        code = execute_sql(self, schema, error);
    } else if (code == ETHOS_OK) {
        code = upgrade_tables(self, version, error);
    }
    return channel_db_end(self, code, error);
}

int channel_db_open(const char *folder, bool create, struct channel_db **out,
                    struct ethos_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" CHANNEL_DB_FILE, folder);
    int code = create_database_file(path, create, error);
    struct channel_db *self = code == ETHOS_OK ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return code == ETHOS_OK ? err_nomem(error) : code;
    if (sqlite3_open_v2(path, &self->connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        code = self->connection ? report_sqlite_error(self, error) : err_nomem(error);
    } else {
        sqlite3_db_config(self->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(self->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_limit(self->connection, SQLITE_LIMIT_LENGTH, MAX_TEXT);
        sqlite3_busy_timeout(self->connection, BUSY_MS);
        code = execute_sql(self, "PRAGMA synchronous=FULL;PRAGMA cache_size=-" CACHE_KIB, error);
    }
    if (code == ETHOS_OK)
        code = create_tables(self, error);
    if (code == ETHOS_OK)
        *out = self;
    else
        channel_db_close(self);
    return code;
}

void channel_db_close(struct channel_db *self)
{
    if (!self)
        return;
    sqlite3_close(self->connection);
    free(self);
}

int channel_db_lock(const char *folder, int *out_fd, struct ethos_error *error)
{
    char path[PATH_MAX], holder[LOCK_HOLDER_SIZE];
    snprintf(path, sizeof path, "%s/" CHANNEL_DB_LOCK, folder);
    int fd = os_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    if (os_flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *out_fd = fd;
        return ETHOS_OK;
    }
    int why = errno;
    lock_holder(fd, holder);
    os_close(fd);
    if (why != EWOULDBLOCK)
        return err_errno(error, why, path);
    int code = err_set(error, ETHOS_BUSY, "a gateway of this home is running: %s", holder);
    return err_hint(error, code, "end that one first; a home has one gateway");
}

/* ---- statements -------------------------------------------------------------------------------- */

static void bind_values(sqlite3_stmt *statement, const char *types, va_list args)
{
    for (int at = 1; *types; types++, at++) {
        if (*types == 'i') {
            sqlite3_bind_int64(statement, at, va_arg(args, int64_t));
        } else if (*types == 'v') {
            struct ethos_view text = va_arg(args, struct ethos_view);
            sqlite3_bind_text64(statement, at, text.data, text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
        } else {
            sqlite3_bind_text(statement, at, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
        }
    }
}

static int prepare_statement(struct channel_db *self, sqlite3_stmt **out, struct ethos_error *error,
                             const char *sql, const char *types, va_list args)
{
    if (sqlite3_prepare_v2(self->connection, sql, -1, out, NULL) != SQLITE_OK)
        return report_sqlite_error(self, error);
    bind_values(*out, types, args);
    return ETHOS_OK;
}

int channel_db_prepare(struct channel_db *self, sqlite3_stmt **out, struct ethos_error *error,
                       const char *sql, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int code = prepare_statement(self, out, error, sql, types, args);
    va_end(args);
    return code;
}

int channel_db_step(struct channel_db *self, sqlite3_stmt *statement, struct ethos_error *error)
{
    int result = sqlite3_step(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE ? result
                                                         : report_sqlite_error(self, error);
}

int channel_db_run(struct channel_db *self, int64_t *out_changed, struct ethos_error *error,
                   const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list args;
    va_start(args, types);
    int code = prepare_statement(self, &statement, error, sql, types, args);
    va_end(args);
    int result = code == ETHOS_OK ? channel_db_step(self, statement, error) : code;
    if (result >= 0 && out_changed)
        *out_changed = sqlite3_changes64(self->connection);
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int channel_db_number(struct channel_db *self, int64_t fallback, int64_t *out,
                      struct ethos_error *error, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list args;
    va_start(args, types);
    int code = prepare_statement(self, &statement, error, sql, types, args);
    va_end(args);
    int result = code == ETHOS_OK ? channel_db_step(self, statement, error) : code;
    if (result >= 0)
        *out = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : fallback;
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int64_t channel_db_last_id(struct channel_db *self)
{
    return sqlite3_last_insert_rowid(self->connection);
}

const char *channel_db_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

void channel_db_copy_text(sqlite3_stmt *statement, int column, char *out, size_t size)
{
    snprintf(out, size, "%s", channel_db_text(statement, column));
}

/* ---- transactions ------------------------------------------------------------------------------ */

int channel_db_begin(struct channel_db *self, struct ethos_error *error)
{
    int code = self->depth == 0 ? execute_sql(self, "BEGIN IMMEDIATE", error) : ETHOS_OK;
    self->depth += code == ETHOS_OK;
    return code;
}

int channel_db_end(struct channel_db *self, int code, struct ethos_error *error)
{
    if (--self->depth > 0)
        return code;
    if (code == ETHOS_OK)
        code = execute_sql(self, "COMMIT", error);
    if (code != ETHOS_OK && !sqlite3_get_autocommit(self->connection))
        sqlite3_exec(self->connection, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

int64_t channel_db_version(struct channel_db *self)
{
    int64_t version = 0;
    channel_db_number(self, 0, &version, NULL, "PRAGMA data_version", "");
    return version;
}

/* ---- cursors ----------------------------------------------------------------------------------- */

int channel_db_cursor_store(struct channel_db *self, const char *adapter, const char *name,
                            const char *value, struct ethos_error *error)
{
    return channel_db_run(self, NULL, error,
                          "INSERT INTO cursor(adapter,name,value) VALUES(?1,?2,?3)"
                          " ON CONFLICT DO UPDATE SET value=excluded.value",
                          "ttt", adapter, name, value);
}

int channel_db_cursor_read(struct channel_db *self, const char *adapter, const char *name,
                           char out[CHANNEL_MAX_CURSOR], struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    *out = '\0';
    int code = channel_db_prepare(self, &statement, error,
                                  "SELECT value FROM cursor WHERE adapter=?1 AND name=?2", "tt",
                                  adapter, name);
    int result = code == ETHOS_OK ? channel_db_step(self, statement, error) : code;
    if (result == SQLITE_ROW)
        snprintf(out, CHANNEL_MAX_CURSOR, "%s", channel_db_text(statement, 0));
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}
