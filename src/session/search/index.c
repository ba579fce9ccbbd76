/*
 * index.c: the file of the index: opening, making it anew, statements, one writer at a time.
 */
#include "session/search/index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/lock.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "session/database.h"
#include "session/rows.h"
#include "session/search/search.h"

#define APPLICATION 0x45534931 /* "ESI1" */
#define VERSION 2
#define LOG_PAGES 1000 /* after which whoever wrote folds the log in */

static const char *const texts[INDEX_STATEMENTS] = {
    [INDEX_BEGIN] = "BEGIN IMMEDIATE",
    [INDEX_COMMIT] = "COMMIT",
    [INDEX_ROLLBACK] = "ROLLBACK",
    [INDEX_SHARDS] = "SELECT shard,docs,gone,words,oldest,newest FROM shards ORDER BY newest DESC",
    [INDEX_LAST_SHARD] =
        "SELECT shard,docs,gone,words,oldest,newest FROM shards ORDER BY shard DESC LIMIT 1",
    [INDEX_PUT_SHARD] = "INSERT OR REPLACE INTO shards(shard,docs,gone,words,oldest,newest)"
                        " VALUES(?1,?2,?3,?4,?5,?6)",
    [INDEX_BURY_IN_SHARD] = "UPDATE shards SET gone=gone+1 WHERE shard=?1",
    [INDEX_BLOCK_OF] = "SELECT docs FROM blocks WHERE block=?1",
    [INDEX_PUT_BLOCK] = "INSERT OR REPLACE INTO blocks(block,docs) VALUES(?1,?2)",
    [INDEX_DOC] = "SELECT id,sum,row FROM docs WHERE doc=?1",
    [INDEX_DOCS] = "SELECT doc,row,id,sum FROM docs WHERE row>?1 ORDER BY row",
    [INDEX_DOC_UP_TO] = "SELECT row,id FROM docs WHERE row<=?1 ORDER BY row DESC LIMIT 1",
    [INDEX_PUT_DOC] = "INSERT INTO docs(doc,row,id,sum,size) VALUES(?1,?2,?3,?4,?5)",
    [INDEX_DROP_DOC] = "DELETE FROM docs WHERE doc=?1 RETURNING size",
    [INDEX_STATE] = "SELECT stamp,messages,words FROM state",
    [INDEX_PUT_STATE] = "INSERT OR REPLACE INTO state(one,stamp,messages,words)"
                        " VALUES(1,?1,?2,?3)",
    [INDEX_TERM] = "SELECT first,docs FROM postings WHERE shard=?1 AND term=?2 ORDER BY first",
    [INDEX_RANGE] = "SELECT first,docs,term FROM postings WHERE shard=?1 AND term>=?2 AND term<?3",
    [INDEX_LAST_CHUNK] = "SELECT first,last,docs FROM postings WHERE shard=?1 AND term=?2"
                         " ORDER BY first DESC LIMIT 1",
    [INDEX_PUT_CHUNK] = "INSERT INTO postings(shard,term,first,last,docs) VALUES(?1,?2,?3,?4,?5)",
    [INDEX_SET_CHUNK] =
        "UPDATE postings SET last=?4,docs=?5 WHERE shard=?1 AND term=?2 AND first=?3",

    [INDEX_HOLD] = "SELECT 1 FROM shards UNION ALL SELECT 1",

    // What FTS5 keeps of the messages: how many, how many words; and which version of it this is.
    [ASK_STATE] = "SELECT (SELECT block FROM messages_fts_data WHERE id=1),"
                  "(SELECT block FROM messages_fts_data WHERE id=10),"
                  "(SELECT max(rowid) FROM messages),"
                  "(SELECT id FROM messages ORDER BY rowid DESC LIMIT 1)",
    [ASK_SIZE] = "SELECT sz FROM messages_fts_docsize WHERE id=?1",
    [ASK_ID] = "SELECT id FROM messages WHERE rowid=?1",
    [ASK_NEWER] = "SELECT rowid,id,session_id,role,timestamp,content FROM messages WHERE rowid>?1"
                  " ORDER BY rowid",
    [ASK_MESSAGE] = "SELECT rowid,id,session_id,role,timestamp,content FROM messages"
                    " WHERE rowid=?1",
    [ASK_HIT] = "SELECT " MESSAGE_COLUMNS "," SESSION_COLUMNS ",m.deleted_at IS NOT NULL"
                " FROM messages m JOIN sessions s ON s.id=m.session_id WHERE m.id=?1",
    [ASK_FOLDERS] = "SELECT id,working_dir FROM sessions WHERE working_dir IS NOT NULL ORDER BY id",
    [ASK_NEWEST] = "SELECT max(rowid) FROM messages",
    [ASK_HOLD] = "SELECT 1 FROM messages UNION ALL SELECT 1",
};

static const char schema[] =
    "CREATE TABLE shards(shard INTEGER PRIMARY KEY,docs INTEGER NOT NULL,gone INTEGER NOT NULL,"
    "words INTEGER NOT NULL,oldest INTEGER NOT NULL,newest INTEGER NOT NULL) STRICT;"
    "CREATE TABLE blocks(block INTEGER PRIMARY KEY,docs BLOB NOT NULL) STRICT;"
    "CREATE TABLE docs(doc INTEGER PRIMARY KEY,row INTEGER NOT NULL UNIQUE,id TEXT NOT NULL,"
    "sum INTEGER NOT NULL,size INTEGER NOT NULL) STRICT;"
    "CREATE TABLE state(one INTEGER PRIMARY KEY,stamp INTEGER NOT NULL,messages INTEGER NOT NULL,"
    "words INTEGER NOT NULL) STRICT;"
    "CREATE TABLE postings(shard INTEGER NOT NULL,term BLOB NOT NULL,first INTEGER NOT NULL,"
    "last INTEGER NOT NULL,docs BLOB NOT NULL,PRIMARY KEY(shard,term,first)) STRICT,"
    "WITHOUT ROWID";

/* ---- errors and statements ------------------------------------------------------------------- */

int index_break(struct search_index *self, struct ethos_error *error)
{
    int result = sqlite3_errcode(self->connection) & 0xFF;
    if (result == SQLITE_NOMEM)
        return err_nomem(error);
    if (result == SQLITE_BUSY || result == SQLITE_LOCKED)
        return err_set(error, ETHOS_BUSY, INDEX_FILE ": another program is using it");
    self->broken = true;
    return err_set(error, ETHOS_CORRUPT, INDEX_FILE ": %s",
                   result == SQLITE_OK || result >= SQLITE_ROW ? "does not fit the messages"
                                                               : sqlite3_errmsg(self->connection));
}

static bool is_ours(const struct search_index *self, sqlite3_stmt *statement)
{
    return sqlite3_db_handle(statement) == self->connection;
}

int index_prepare(struct search_index *self, enum index_statement which, sqlite3_stmt **out,
                  struct ethos_error *error)
{
    bool ask = which >= INDEX_ASK;
    sqlite3_stmt **kept = &self->kept[which];
    if (*kept && sqlite3_stmt_busy(*kept))
        return err_set(error, ETHOS_INTERNAL, "a callback of the session store called the store");
    if (*kept) {
        sqlite3_reset(*kept);
        sqlite3_clear_bindings(*kept);
    } else if (sqlite3_prepare_v3(ask ? self->db->connection : self->connection, texts[which], -1,
                                  SQLITE_PREPARE_PERSISTENT, kept, NULL) != SQLITE_OK) {
        return ask ? db_fail(self->db, "read its tables", error) : index_break(self, error);
    }
    *out = *kept;
    return ETHOS_OK;
}

int index_step(struct search_index *self, sqlite3_stmt *statement, struct ethos_error *error)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return result;
    if (result != SQLITE_DONE)
        result = is_ours(self, statement) ? index_break(self, error)
                                          : db_fail(self->db, "search it", error);
    sqlite3_reset(statement);
    return result;
}

int index_run(struct search_index *self, sqlite3_stmt *statement, struct ethos_error *error)
{
    int code = index_step(self, statement, error);
    if (code < 0)
        return code;
    sqlite3_reset(statement);
    return ETHOS_OK;
}

static int run_index_statement(struct search_index *self, enum index_statement which,
                               struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, which, &statement, error);
    return code == ETHOS_OK ? index_run(self, statement, error) : code;
}

/* ---- one writer ------------------------------------------------------------------------------ */

static int take_lock(struct search_index *self, uint32_t wait_ms, struct ethos_error *error)
{
    if (self->lock < 0 || lock_wait(self->lock, wait_ms, LOCK_GATE_MS) == 0)
        return ETHOS_OK;
    if (errno != EAGAIN)
        return err_errno(error, errno, self->path);
    return err_set(error, ETHOS_BUSY, "%s is locked", self->path);
}

static void give_lock(struct search_index *self)
{
    if (self->lock >= 0)
        os_flock(self->lock, LOCK_UN);
}

int index_begin(struct search_index *self, uint32_t wait_ms, struct ethos_error *error)
{
    int code = take_lock(self, wait_ms, error);
    if (code != ETHOS_OK)
        return code;
    code = run_index_statement(self, INDEX_BEGIN, error);
    if (code != ETHOS_OK)
        give_lock(self);
    return code;
}

int index_go_on(struct search_index *self, struct ethos_error *error)
{
    int code = run_index_statement(self, INDEX_COMMIT, error);
    return code == ETHOS_OK ? run_index_statement(self, INDEX_BEGIN, error) : code;
}

int index_end(struct search_index *self, int code, struct ethos_error *error)
{
    if (code == ETHOS_OK)
        code = run_index_statement(self, INDEX_COMMIT, error);
    if (code != ETHOS_OK && !sqlite3_get_autocommit(self->connection))
        run_index_statement(self, INDEX_ROLLBACK, NULL);
    give_lock(self);
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int read_number(struct search_index *self, const char *sql, int64_t *out)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(self->connection, sql, -1, &statement, NULL);
    if (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result == SQLITE_ROW ? ETHOS_OK : ETHOS_CORRUPT;
}

static int exec(struct search_index *self, const char *sql, struct ethos_error *error)
{
    if (sqlite3_exec(self->connection, sql, NULL, NULL, NULL) == SQLITE_OK)
        return ETHOS_OK;
    return index_break(self, error);
}

static int make_tables(struct search_index *self, struct ethos_error *error)
{
    char sql[sizeof schema + 100];
    snprintf(sql, sizeof sql, "PRAGMA application_id=%d;PRAGMA user_version=%d;%s", APPLICATION,
             VERSION, schema);
    int code = exec(self, "BEGIN IMMEDIATE", error);
    return code == ETHOS_OK ? index_end(self, exec(self, sql, error), error) : code;
}

/* Ours and of this version, or still empty; made under the lock, which is given back. */
static int check_index_tables(struct search_index *self, struct ethos_error *error)
{
    int64_t application = 0, version = 0, tables = 0;
    if (read_number(self, "PRAGMA application_id", &application) != ETHOS_OK ||
        read_number(self, "PRAGMA user_version", &version) != ETHOS_OK ||
        read_number(self, "SELECT count(*) FROM sqlite_master", &tables) != ETHOS_OK)
        return index_break(self, error);
    if (application == APPLICATION && version == VERSION && tables > 0)
        return ETHOS_OK;
    return application == 0 && tables == 0 ? make_tables(self, error) : index_break(self, error);
}

int index_check_pages(struct search_index *self, struct ethos_error *error)
{
    int64_t sound = 0;
    int code = read_number(self, "SELECT quick_check='ok' FROM pragma_quick_check(1)", &sound);
    return code == ETHOS_OK && sound ? ETHOS_OK : index_break(self, error);
}

static int prepare_index_write(struct search_index *self, struct ethos_error *error)
{
    const struct db *db = self->db;
    sqlite3_busy_timeout(self->connection, (int)(db->deadline_ms % INT_MAX));
    sqlite3_db_config(self->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(self->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(self->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(self->connection, LOG_PAGES);
    int code = exec(self, "PRAGMA mmap_size=0;PRAGMA cell_size_check=1;PRAGMA synchronous=NORMAL",
                    error);
    if (code == ETHOS_OK && self->path && !db->network)
        code = exec(self, "PRAGMA journal_mode=WAL", error);
    return code == ETHOS_OK ? check_index_tables(self, error) : code;
}

/* The directory of sessions.db and a name; from malloc. */
static char *path_of(const struct db *db, const char *name)
{
    char *path = NULL;
    int root = (int)(strlen(db->path) - strlen(DB_FILE));
    return asprintf(&path, "%.*s%s", root, db->path, name) < 0 ? NULL : path;
}

bool index_exists(const struct db *self)
{
    struct stat st;
    char path[PATH_MAX + sizeof INDEX_FILE];
    snprintf(path, sizeof path, "%.*s" INDEX_FILE, (int)(strlen(self->path) - strlen(DB_FILE)),
             self->path);
    return os_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nobody but the owner reads it: SQLite gives what belongs to a file the mode of that file. */
static int create_index_file(const struct search_index *self)
{
    int fd = os_openat(AT_FDCWD, self->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0)
        os_close(fd);
    return fd >= 0 || errno == EEXIST ? 0 : -1;
}

/* False where nothing can be written. */
static bool open_lock(struct search_index *self)
{
    char *path = path_of(self->db, INDEX_FILE "-lock");
    self->path = path_of(self->db, INDEX_FILE);
    if (path && self->path)
        self->lock = os_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
    free(path);
    return self->lock >= 0;
}

static int connect_index(struct search_index *self, struct ethos_error *error)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    if (create_index_file(self) != 0)
        return ETHOS_UNSUPPORTED;
    int result = sqlite3_open_v2(self->path, &self->connection, flags, NULL);
    if ((result & 0xFF) == SQLITE_NOMEM)
        return err_nomem(error);
    if (result != SQLITE_OK || sqlite3_db_readonly(self->connection, "main") == 1)
        return ETHOS_UNSUPPORTED;
    return prepare_index_write(self, error);
}

/* ETHOS_UNSUPPORTED where nothing can be written. */
static int open_index_file(struct search_index *self, struct ethos_error *error)
{
    if (!open_lock(self))
        return ETHOS_UNSUPPORTED;
    int code = take_lock(self, self->db->deadline_ms, error);
    if (code != ETHOS_OK)
        return code;
    code = connect_index(self, error);
    give_lock(self);
    return code;
}

static void shut(struct search_index *self)
{
    db_disconnect(&self->connection, self->kept, INDEX_STATEMENTS, &self->lock);
    free(self->path);
    self->path = NULL;
}

static int open_memory(struct search_index *self, struct ethos_error *error)
{
    shut(self);
    log_line(self->db->host, ETHOS_LOG_WARN,
             INDEX_FILE " cannot be written: the newest %d messages are searched", INDEX_MEMORY);
    if (sqlite3_open_v2(":memory:", &self->connection,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                            SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return index_break(self, error);
    return prepare_index_write(self, error);
}

int index_open(struct db *db, bool in_memory, struct ethos_error *error)
{
    struct search_index *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    *self = (struct search_index){.db = db, .lock = -1};
    db->search = self;
    int code = in_memory ? ETHOS_UNSUPPORTED : open_index_file(self, error);
    if (code == ETHOS_UNSUPPORTED)
        code = open_memory(self, error);
    if (code != ETHOS_OK && !self->broken)
        index_close(db);
    return code;
}

void index_close(struct db *db)
{
    if (!db->search)
        return;
    shut(db->search);
    free(db->search);
    db->search = NULL;
}

bool index_has_moved(const struct search_index *self)
{
    int moved = 0;
    if (self->path)
        sqlite3_file_control(self->connection, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

static void remove_files(const struct search_index *self)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s", self->path, suffixes[i]) < 0)
            return;
        os_unlinkat(AT_FDCWD, path, 0);
        free(path);
    }
}

void index_discard(struct db *db)
{
    struct search_index *self = db->search;
    if (self && self->path && self->lock >= 0 && !index_has_moved(self) &&
        take_lock(self, db->deadline_ms, NULL) == ETHOS_OK) {
        remove_files(self);
        log_line(db->host, ETHOS_LOG_INFO, INDEX_FILE " is made anew");
        give_lock(self);
    }
    index_close(db);
}

/* ---- shards ---------------------------------------------------------------------------------- */

void index_shard_row(sqlite3_stmt *statement, struct index_shard *out)
{
    out->shard = sqlite3_column_int64(statement, 0);
    out->docs = sqlite3_column_int64(statement, 1);
    out->gone = sqlite3_column_int64(statement, 2);
    out->words = sqlite3_column_int64(statement, 3);
    out->oldest = sqlite3_column_int64(statement, 4);
    out->newest = sqlite3_column_int64(statement, 5);
}

int index_last_shard(struct search_index *self, struct index_shard *out, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_LAST_SHARD, &statement, error);
    *out = (struct index_shard){.oldest = INT64_MAX, .newest = INT64_MIN};
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code == SQLITE_ROW) {
        index_shard_row(statement, out);
        sqlite3_reset(statement);
    }
    return code < 0 ? code : ETHOS_OK;
}

int index_put_shard(struct search_index *self, const struct index_shard *shard,
                    struct ethos_error *error)
{
    const int64_t values[] = {shard->shard, shard->docs,   shard->gone,
                              shard->words, shard->oldest, shard->newest};
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_PUT_SHARD, &statement, error);
    if (code != ETHOS_OK)
        return code;
    for (int i = 0; i < 6; i++)
        sqlite3_bind_int64(statement, i + 1, values[i]);
    return index_run(self, statement, error);
}

int index_get_block(struct search_index *self, int64_t number, struct index_block *out,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_BLOCK_OF, &statement, error);
    out->count = 0;
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    code = index_step(self, statement, error);
    if (code == SQLITE_ROW) {
        const void *data = sqlite3_column_blob(statement, 0);
        size_t size = (size_t)sqlite3_column_bytes(statement, 0);
        out->count = (size < sizeof out->bytes ? size : sizeof out->bytes) / INDEX_ENTRY_SIZE;
        if (out->count)
            memcpy(out->bytes, data, out->count * INDEX_ENTRY_SIZE);
        sqlite3_reset(statement);
    }
    return code < 0 ? code : ETHOS_OK;
}

int index_put_block(struct search_index *self, int64_t number, const struct index_block *block,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_PUT_BLOCK, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_blob(statement, 2, block->bytes, (int)(block->count * INDEX_ENTRY_SIZE),
                      SQLITE_STATIC);
    return index_run(self, statement, error);
}

struct index_message index_message(const struct index_block *block, size_t at)
{
    struct index_message entry = {.time = INDEX_GONE};
    const char *bytes = block->bytes + at * INDEX_ENTRY_SIZE;
    if (at < block->count) {
        memcpy(&entry.time, bytes, sizeof entry.time);
        memcpy(&entry.words, bytes + sizeof entry.time, sizeof entry.words);
    }
    return entry;
}

void index_set_entry(struct index_block *block, size_t at, struct index_message entry)
{
    char *bytes = block->bytes + at * INDEX_ENTRY_SIZE;
    memcpy(bytes, &entry.time, sizeof entry.time);
    memcpy(bytes + sizeof entry.time, &entry.words, sizeof entry.words);
    block->count = at < block->count ? block->count : at + 1;
}

/* ---- staying as of now ----------------------------------------------------------------------- */

/* A statement that is under way keeps its connection from looking for what is new. */
int index_hold(struct search_index *self, struct ethos_error *error)
{
    static const enum index_statement holds[] = {INDEX_HOLD, ASK_HOLD};
    for (size_t i = 0; i < 2; i++) {
        sqlite3_stmt *statement = self->kept[holds[i]];
        if (statement && sqlite3_stmt_busy(statement))
            continue;
        int code = index_prepare(self, holds[i], &statement, error);
        if (code == ETHOS_OK)
            code = index_step(self, statement, error);
        if (code < 0)
            return code;
    }
    return ETHOS_OK;
}

void index_let_go(struct search_index *self)
{
    sqlite3_reset(self->kept[INDEX_HOLD]);
    sqlite3_reset(self->kept[ASK_HOLD]);
}

int64_t index_time(const char *text)
{
    int64_t ms = 0;
    return clock_parse(view_str(text), 0, false, &ms, NULL) ? ms : 0;
}
