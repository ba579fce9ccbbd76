/*
 * database.c: one connection to sessions.db: finding the file, settings, one writer at a time, errors.
 *
 * The file itself is never opened by us once it is there: closing a descriptor of it would take away
 * the locks that SQLite holds on it in this process.
 */
#include "session/database.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/lock.h"
#include "base/system/os.h"
#include "session/owners.h"
#include "session/schema.h"
#include "session/search/search.h"
#include "session/sql_functions.h"

#define MOVES 3 /* times that a file may be replaced under us while we begin */

/* ---- errors --------------------------------------------------------------------------------- */

/* reason NULL: SQLite's own words. What is not listed is ETHOS_INTERNAL in SQLite's words. */
static const struct meaning {
    int result, code;
    const char *reason, *hint;
} meanings[] = {
    {SQLITE_BUSY, ETHOS_BUSY, "another program is using the database", "try again when it is done"},
    {SQLITE_LOCKED, ETHOS_BUSY, "another program is using the database",
     "try again when it is done"},
    {SQLITE_FULL, ETHOS_IO, "no space left", "free some disk space, then try again"},
    {SQLITE_READONLY, ETHOS_IO, "it can only be read",
     "check owner and permissions of the file and its directory"},
    {SQLITE_IOERR, ETHOS_IO, NULL, "check the disk and the system log"},
    {SQLITE_CANTOPEN, ETHOS_IO, "a file that belongs to it can be neither opened nor made",
     "check owner and permissions, or copy " DB_FILES " to where they can be written"},
    {SQLITE_PERM, ETHOS_IO, NULL, "check owner and permissions of the file and its directory"},
    {SQLITE_PROTOCOL, ETHOS_BUSY, "another program is using the database", "try again"},
    {SQLITE_CORRUPT, ETHOS_CORRUPT, "the database is damaged",
     "keep a copy, then try: sqlite3 sessions.db .recover"},
    {SQLITE_NOTADB, ETHOS_CORRUPT, "is not a database",
     "move " DB_FILES " away; a new one is made when needed"},
    {SQLITE_ERROR, ETHOS_CORRUPT, NULL, "its tables do not fit this program"},
    {SQLITE_AUTH, ETHOS_DENIED, NULL, "its triggers call what this program forbids"},
    {SQLITE_NOMEM, ETHOS_NOMEM, "out of memory", NULL},
    {SQLITE_TOOBIG, ETHOS_LIMIT, "too large", NULL},
    {SQLITE_CONSTRAINT, ETHOS_INVALID, NULL, NULL},
    {SQLITE_INTERRUPT, ETHOS_LIMIT, "took too long", NULL},
};

static const struct meaning *meaning_of(int result)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].result == result)
            return &meanings[i];
    }
    return NULL;
}

int db_fail(struct db *self, const char *what, struct ethos_error *error)
{
    int result = sqlite3_extended_errcode(self->connection), primary = result & 0xFF;
    int number = sqlite3_system_errno(self->connection);
    const struct meaning *meaning = meaning_of(primary);
    const char *reason = meaning ? meaning->reason : NULL;
    if (!self->connection || primary == SQLITE_NOMEM)
        return err_nomem(error);
    if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && number != 0 && number != ENOENT)
        return err_errno(error, number, self->path); // what is missing is not the database
    if (result == SQLITE_CONSTRAINT_UNIQUE || result == SQLITE_CONSTRAINT_PRIMARYKEY)
        return err_set(error, ETHOS_EXISTS, "%s: cannot %s: it exists already", self->path, what);
    if (primary == SQLITE_NOTADB)
        return err_hint(error, err_set(error, ETHOS_CORRUPT, "%s: %s", self->path, reason), "%s",
                        meaning->hint);
    int code = err_set(error, meaning ? meaning->code : ETHOS_INTERNAL, "%s: cannot %s: %s",
                       self->path, what, reason ? reason : sqlite3_errmsg(self->connection));
    return meaning && meaning->hint ? err_hint(error, code, "%s", meaning->hint) : code;
}

/* ---- statements ----------------------------------------------------------------------------- */

int db_prepare(struct db *self, enum db_statement which, sqlite3_stmt **out,
               struct ethos_error *error)
{
    sqlite3_stmt **kept = &self->kept[which];
    if (*kept && sqlite3_stmt_busy(*kept))
        return err_set(error, ETHOS_INTERNAL, "a callback of the session store called the store");
    if (*kept) {
        sqlite3_reset(*kept);
        sqlite3_clear_bindings(*kept);
    } else if (sqlite3_prepare_v3(self->connection, db_statements[which], -1,
                                  SQLITE_PREPARE_PERSISTENT, kept, NULL) != SQLITE_OK) {
        return db_fail(self, "read its tables", error);
    }
    *out = *kept;
    return ETHOS_OK;
}

void db_bind(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

int db_step(struct db *self, sqlite3_stmt *statement, const char *what, struct ethos_error *error)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        return result;
    int code = result == SQLITE_DONE ? result : db_fail(self, what, error);
    sqlite3_reset(statement);
    return code;
}

int db_run(struct db *self, sqlite3_stmt *statement, const char *what, int64_t *out_changes,
           struct ethos_error *error)
{
    int code = db_step(self, statement, what, error);
    if (code < 0)
        return code;
    sqlite3_reset(statement);
    if (out_changes)
        *out_changes = sqlite3_changes64(self->connection);
    return ETHOS_OK;
}

int db_exec(struct db *self, const char *sql, const char *what, struct ethos_error *error)
{
    if (sqlite3_exec(self->connection, sql, NULL, NULL, NULL) == SQLITE_OK)
        return ETHOS_OK;
    return db_fail(self, what, error);
}

int db_number(struct db *self, const char *sql, int64_t *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = ETHOS_OK;
    if (sqlite3_prepare_v2(self->connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(self, "read it", error);
    code = db_step(self, statement, "read it", error);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* ---- finding the file ------------------------------------------------------------------------ */

static void free_path(struct db *self)
{
    self->path = self->host->resize(self->host->arg, self->path, 0);
}

static int set_path(struct db *self, const char *root, struct ethos_error *error)
{
    size_t size = strlen(root) + sizeof "/" DB_FILE;
    self->path = self->host->resize(self->host->arg, NULL, size);
    if (!self->path)
        return err_nomem(error);
    snprintf(self->path, size, "%s/" DB_FILE, strcmp(root, "/") == 0 ? "" : root);
    return ETHOS_OK;
}

/* Where memory is not shared between the programs that use a file, WAL must not be used. */
static bool is_network(const char *root)
{
    static const uint64_t types[] = {
        NFS_SUPER_MAGIC, SMB_SUPER_MAGIC,  SMB2_SUPER_MAGIC, CIFS_SUPER_MAGIC, FUSE_SUPER_MAGIC,
        V9FS_MAGIC,      CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC,  CODA_SUPER_MAGIC, OCFS2_SUPER_MAGIC};
    uint64_t type = 0;
    int dir = os_openat(AT_FDCWD, root, O_RDONLY | O_DIRECTORY, 0);
    bool known = dir >= 0 && os_fstatfs(dir, &type) == 0;
    if (dir >= 0)
        os_close(dir);
    for (size_t i = 0; known && i < sizeof types / sizeof *types; i++) {
        if (types[i] == type)
            return true;
    }
    return false;
}

static int create_database_file(struct db *self, struct ethos_error *error)
{
    int code = db_lock(self, error);
    if (code != ETHOS_OK)
        return code;
    int fd = os_openat(AT_FDCWD, self->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST)
        code = err_errno(error, errno, self->path);
    if (fd >= 0)
        os_close(fd);
    db_unlock(self);
    return code;
}

/* Whether there is something in the file that SQLite keeps beside the database under this ending. */
static bool has_beside(const struct db *self, const char *ending)
{
    char path[PATH_MAX + 16];
    struct stat st;
    snprintf(path, sizeof path, "%s%s", self->path, ending);
    return os_fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0;
}

/* SQLite would delete a log that finds no database, and what was said with it. */
static int refuse_log(struct db *self, const char *state, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CORRUPT, "%s: is %s, but there are messages in " DB_FILE "-wal",
                       self->path, state);
    return err_hint(error, code, "put it back, or move " DB_FILES " away together");
}

static int check_file(struct db *self, bool create, struct ethos_error *error)
{
    struct stat st;
    bool logged = has_beside(self, "-wal"); // first: a database is there before its log
    if (os_fstatat(AT_FDCWD, self->path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT && logged)
            return refuse_log(self, "missing", error);
        return errno == ENOENT && create ? create_database_file(self, error)
                                         : err_errno(error, errno, self->path);
    }
    if (S_ISREG(st.st_mode) && st.st_size == 0 && logged)
        return refuse_log(self, "empty", error);
    if (S_ISLNK(st.st_mode))
        return err_hint(error, err_set(error, ETHOS_DENIED, "%s: is a symbolic link", self->path),
                        "replace it by a regular file");
    return S_ISREG(st.st_mode) ? ETHOS_OK
                               : err_errno(error, S_ISDIR(st.st_mode) ? EISDIR : ENXIO, self->path);
}

static int find_file(struct db *self, bool create, struct ethos_error *error)
{
    char root[PATH_MAX];
    if ((create && dir_make_home(self->root) != 0) || os_realpath(self->root, root) != 0)
        return err_errno(error, errno, self->root);
    int code = set_path(self, root, error);
    if (code == ETHOS_OK)
        code = check_file(self, create, error);
    self->network = self->network || is_network(root);
    return code;
}

/* ---- opening -------------------------------------------------------------------------------- */

static int note_log(void *arg, sqlite3 *connection, const char *name, int pages)
{
    struct db *self = arg;
    (void)connection;
    (void)name;
    self->log_bytes = pages * self->page_bytes;
    return SQLITE_OK;
}

static void configure(struct db *self)
{
    static const struct {
        int option, value;
    } options[] = {
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    };
    uint32_t wait = self->deadline_ms;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sqlite3_db_config(self->connection, options[i].option, options[i].value, NULL);
    sqlite3_busy_timeout(self->connection, wait > INT_MAX ? INT_MAX : (int)wait);
    sqlite3_limit(self->connection, SQLITE_LIMIT_LENGTH, DB_MAX_TEXT);
    sqlite3_wal_autocheckpoint(self->connection, 0);
    sqlite3_wal_hook(self->connection, note_log, self);
}

static int open_database_file(struct db *self)
{
    const int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                      SQLITE_OPEN_EXRESCODE;
    return sqlite3_open_v2(self->path, &self->connection, flags | SQLITE_OPEN_READWRITE, NULL);
}

/* As a file that nobody changes: without a log, which could not be made. */
static int open_still(struct db *self)
{
    const int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                      SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    char uri[3 * PATH_MAX + 32] = "file:";
    size_t size = strlen(uri);
    for (const char *at = self->path; *at; at++)
        size += (size_t)snprintf(uri + size, 4, strchr("%?#", *at) ? "%%%02X" : "%c", *at);
    snprintf(uri + size, sizeof uri - size, "?immutable=1");
    return sqlite3_open_v2(uri, &self->connection, flags, NULL);
}

static int connect_database(struct db *self, int (*open)(struct db *self),
                            struct ethos_error *error)
{
    if (open(self) != SQLITE_OK)
        return db_fail(self, "open it", error);
    configure(self);
    if (functions_set(self->connection) != SQLITE_OK || people_function(self) != SQLITE_OK)
        return db_fail(self, "open it", error);
    self->read_only = sqlite3_db_readonly(self->connection, "main") == 1;
    const char *sql = self->fast
                          ? "PRAGMA mmap_size=0;PRAGMA secure_delete=ON;PRAGMA synchronous=NORMAL"
                          : "PRAGMA mmap_size=0;PRAGMA secure_delete=ON;PRAGMA synchronous=FULL";
    int code = self->network ? db_exec(self, "PRAGMA locking_mode=EXCLUSIVE", "open it", error)
                             : ETHOS_OK;
    if (code == ETHOS_OK)
        code = db_exec(self, sql, "open it", error);
    return code == ETHOS_OK ? db_number(self, "PRAGMA page_size", &self->page_bytes, error) : code;
}

static const char *wanted_mode(const struct db *self)
{
    return self->network ? "delete" : "wal";
}

static bool mode_fits(struct db *self)
{
    sqlite3_stmt *statement = NULL;
    bool fits = false;
    if (sqlite3_prepare_v2(self->connection, "PRAGMA journal_mode", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const char *mode = (const char *)sqlite3_column_text(statement, 0);
        fits = mode && strcmp(mode, wanted_mode(self)) == 0;
    }
    sqlite3_finalize(statement);
    return fits;
}

/* Holding the lock: the journal mode, which is no part of a transaction, then the tables. */
static int make_ready(struct db *self, bool whole, struct ethos_error *error)
{
    char sql[40];
    snprintf(sql, sizeof sql, "PRAGMA journal_mode=%s", wanted_mode(self));
    int code = db_exec(self, sql, "choose its journal", error);
    if (code != ETHOS_OK || whole)
        return code;
    code = db_exec(self, "BEGIN IMMEDIATE", "begin", error);
    if (code == ETHOS_OK)
        code = schema_make(self, error);
    if (code == ETHOS_OK)
        code = db_exec(self, "COMMIT", "commit", error);
    if (code != ETHOS_OK)
        sqlite3_exec(self->connection, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* Holding the lock, before the first write. */
static int prepare_first_write(struct db *self, struct ethos_error *error)
{
    bool whole = self->schema == SCHEMA_WHOLE;
    if (self->settled || (whole && mode_fits(self))) {
        self->settled = true;
        return ETHOS_OK;
    }
    int code = make_ready(self, whole, error);
    if (code != ETHOS_OK)
        return code;
    self->schema = SCHEMA_WHOLE;
    self->settled = true;
    return ETHOS_OK;
}

/* Where no log can be made, a database without one is read as it is. */
static int connect_anyhow(struct db *self, struct ethos_error *error)
{
    int code = connect_database(self, open_database_file, error);
    int result = code == ETHOS_OK ? SQLITE_OK : sqlite3_errcode(self->connection) & 0xFF;
    if ((result != SQLITE_CANTOPEN && result != SQLITE_READONLY) || has_beside(self, "-wal") ||
        has_beside(self, "-journal"))
        return code;
    sqlite3_close(self->connection);
    self->connection = NULL;
    return connect_database(self, open_still, error);
}

/* Nothing is made for a reader: what is missing is stood in for, and no tables are no database. */
static int inspect_database(struct db *self, bool create, struct ethos_error *error)
{
    int code = schema_look(self, &self->schema, error);
    if (code != ETHOS_OK || create || self->schema == SCHEMA_WHOLE)
        return code;
    return self->schema == SCHEMA_NONE ? err_errno(error, ENOENT, self->path)
                                       : schema_stand_in(self, error);
}

int db_ready(struct db *self, bool create, struct ethos_error *error)
{
    if (self->connection)
        return ETHOS_OK;
    int code = find_file(self, create, error);
    self->opened++;
    if (code == ETHOS_OK)
        code = connect_anyhow(self, error);
    if (code == ETHOS_OK)
        code = inspect_database(self, create, error);
    if (code != ETHOS_OK)
        db_shut(self);
    return code;
}

void db_disconnect(sqlite3 **connection, sqlite3_stmt **kept, int count, int *lock)
{
    for (int i = 0; i < count; i++) {
        sqlite3_finalize(kept[i]);
        kept[i] = NULL;
    }
    sqlite3_close(*connection);
    *connection = NULL;
    if (*lock >= 0)
        os_close(*lock);
    *lock = -1;
}

/*
 * Who wrote leaves the messages in the file itself, where a copy of it has them. Somebody who holds the
 * lock is writing, and does that later; and who is in a hurry leaves a short log to the next one.
 */
static void fold_log(struct db *self)
{
    if (self->log_bytes <= (self->brief ? DB_BRIEF_BYTES : 0) || self->network ||
        os_flock(self->lock, LOCK_EX | LOCK_NB) != 0)
        return;
    sqlite3_busy_timeout(self->connection, 0);
    db_checkpoint(self, SQLITE_CHECKPOINT_TRUNCATE);
}

void db_shut(struct db *self)
{
    people_close(self);
    fold_log(self);
    search_close(self);
    db_disconnect(&self->connection, self->kept, DB_STATEMENTS, &self->lock);
    self->log_bytes = 0;
    self->settled = false;
    free_path(self);
}

/* ---- one writer ------------------------------------------------------------------------------ */

static int open_lock(struct db *self, int create, struct ethos_error *error)
{
    char path[PATH_MAX + sizeof DB_LOCK];
    snprintf(path, sizeof path, "%.*s" DB_LOCK, (int)(strlen(self->path) - strlen(DB_FILE)),
             self->path);
    self->lock = os_openat(AT_FDCWD, path, O_RDWR | create | O_NOFOLLOW | O_NONBLOCK, 0600);
    return self->lock >= 0 ? ETHOS_OK : err_errno(error, errno, path);
}

int db_check_lock(struct db *self, struct ethos_error *error)
{
    int code = self->lock >= 0 ? ETHOS_OK : open_lock(self, 0, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

int db_lock(struct db *self, struct ethos_error *error)
{
    char holder[LOCK_HOLDER_SIZE];
    int code = self->lock >= 0 ? ETHOS_OK : open_lock(self, O_CREAT, error);
    if (code != ETHOS_OK || lock_wait(self->lock, self->deadline_ms, LOCK_ALONE_MS) == 0)
        return code;
    if (errno != EAGAIN)
        return err_errno(error, errno, self->path);
    lock_holder(self->lock, holder);
    code = err_set(error, ETHOS_BUSY, "%s is locked by %s", self->path, holder);
    return err_hint(error, code, "try again when it is done");
}

void db_unlock(struct db *self)
{
    os_flock(self->lock, LOCK_UN);
}

bool db_moved(struct db *self)
{
    int moved = 0;
    sqlite3_file_control(self->connection, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

static int run_prepared_statement(struct db *self, enum db_statement which, const char *what,
                                  struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, which, &statement, error);
    return code == ETHOS_OK ? db_run(self, statement, what, NULL, error) : code;
}

int db_hold(struct db *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (int i = 0; i < MOVES; i++) {
        if ((code = db_ready(self, true, error)) != ETHOS_OK ||
            (code = db_lock(self, error)) != ETHOS_OK)
            return code;
        if (!db_moved(self))
            break;
        db_shut(self); // and with it the lock
        code = err_set(error, ETHOS_BUSY, DB_FILE " is being replaced");
    }
    if (code == ETHOS_OK)
        code = prepare_first_write(self, error);
    if (code != ETHOS_OK && self->lock >= 0)
        db_unlock(self);
    return code;
}

int db_begin(struct db *self, struct ethos_error *error)
{
    int code = db_hold(self, error);
    if (code != ETHOS_OK)
        return code;
    code = run_prepared_statement(self, DB_BEGIN, "begin", error);
    if (code != ETHOS_OK)
        db_unlock(self);
    return code;
}

void db_checkpoint(struct db *self, int mode)
{
    if (sqlite3_wal_checkpoint_v2(self->connection, "main", mode, NULL, NULL) == SQLITE_OK)
        self->log_bytes = 0;
}

int db_end(struct db *self, int code, struct ethos_error *error)
{
    if (code == ETHOS_OK)
        code = run_prepared_statement(self, DB_COMMIT, "commit", error);
    if (code != ETHOS_OK && !sqlite3_get_autocommit(self->connection) &&
        run_prepared_statement(self, DB_ROLLBACK, "roll back", NULL) != ETHOS_OK) {
        db_shut(self); // without memory even that may fail; closing takes it back, and the lock
        return code;
    }
    if (code == ETHOS_OK && self->log_bytes > DB_CHECKPOINT_BYTES)
        db_checkpoint(self, SQLITE_CHECKPOINT_PASSIVE);
    db_unlock(self);
    return code;
}
