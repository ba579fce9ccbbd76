/*
 * owners.c: whose a session is.
 */
#include "session/owners.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"
#include "session/database.h"
#include "session/operations.h"

#define SCHEMA                                                                                     \
    "CREATE TABLE IF NOT EXISTS session_users(session_id TEXT NOT NULL PRIMARY KEY,"               \
    "user_id TEXT NOT NULL) STRICT, WITHOUT ROWID;PRAGMA user_version=1"
#define LOG_PAGES 256 /* of the log, above which whoever wrote folds it in */

/* ---- the file -------------------------------------------------------------------------------- */

static int fail_owners_database(const struct db *self, struct ethos_error *error)
{
    int result = self->users ? sqlite3_errcode(self->users) & 0xFF : SQLITE_NOMEM;
    int code = result == SQLITE_NOMEM                                ? ETHOS_NOMEM
               : result == SQLITE_BUSY || result == SQLITE_LOCKED    ? ETHOS_BUSY
               : result == SQLITE_CORRUPT || result == SQLITE_NOTADB ? ETHOS_CORRUPT
                                                                     : ETHOS_IO;
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    return err_set(error, code, PEOPLE_FILE ": %s", sqlite3_errmsg(self->users));
}

static bool make_path(const struct db *self, char out[PATH_MAX])
{
    int size = (int)(strlen(self->path) - strlen(DB_FILE));
    return snprintf(out, PATH_MAX, "%.*s" PEOPLE_FILE, size, self->path) < PATH_MAX;
}

static bool has_moved(const struct db *self)
{
    int moved = 0;
    sqlite3_file_control(self->users, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

static int exec(const struct db *self, const char *sql, struct ethos_error *error)
{
    return sqlite3_exec(self->users, sql, NULL, NULL, NULL) == SQLITE_OK
               ? ETHOS_OK
               : fail_owners_database(self, error);
}

static int note_log(void *arg, sqlite3 *connection, const char *name, int pages)
{
    struct db *self = arg;
    (void)connection;
    (void)name;
    self->users_log = pages;
    return SQLITE_OK;
}

/* With the settings of sessions.db; see database.h. */
static int connect_owners_database(struct db *self, const char *path, bool create,
                                   struct ethos_error *error)
{
    const int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                      SQLITE_OPEN_EXRESCODE;
    int result = sqlite3_open_v2(path, &self->users, flags | SQLITE_OPEN_READWRITE, NULL);
    if (result != SQLITE_OK)
        return fail_owners_database(self, error);
    sqlite3_db_config(self->users, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(self->users, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(self->users, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(self->users,
                         self->deadline_ms > INT_MAX ? INT_MAX : (int)self->deadline_ms);
    sqlite3_wal_autocheckpoint(self->users, 0);
    sqlite3_wal_hook(self->users, note_log, self);
    int code = exec(self,
                    self->fast ? "PRAGMA mmap_size=0;PRAGMA synchronous=NORMAL"
                               : "PRAGMA mmap_size=0;PRAGMA synchronous=FULL",
                    error);
    if (code == ETHOS_OK && self->network)
        code = exec(self, "PRAGMA locking_mode=EXCLUSIVE", error);
    if (code == ETHOS_OK && create)
        code = exec(self, self->network ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL",
                    error);
    return code == ETHOS_OK && create ? exec(self, SCHEMA, error) : code;
}

/* Whether the table is there: whoever makes the file makes it a moment later, with the version last. */
static int is_ready(const struct db *self, bool *out_ready, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    *out_ready = false;
    if (sqlite3_prepare_v2(self->users, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
        return fail_owners_database(self, error);
    int result = sqlite3_step(statement);
    *out_ready = result == SQLITE_ROW && sqlite3_column_int(statement, 0) > 0;
    sqlite3_finalize(statement);
    return result == SQLITE_ROW ? ETHOS_OK : fail_owners_database(self, error);
}

/* create: under the lock of sessions.db. Without a file and without that, self->users stays NULL. */
static int open_users(struct db *self, bool create, struct ethos_error *error)
{
    char path[PATH_MAX];
    struct stat info;
    if (self->users && has_moved(self))
        people_close(self);
    if (self->users)
        return ETHOS_OK;
    if (!make_path(self, path))
        return err_set(error, ETHOS_LIMIT, PEOPLE_FILE ": its path is too long");
    if (os_fstatat(AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            return err_errno(error, errno, path);
        if (!create)
            return ETHOS_OK;
        int fd = os_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_errno(error, errno, path);
        os_close(fd);
    }
    bool ready = true;
    int code = connect_owners_database(self, path, create, error);
    if (code == ETHOS_OK && !create)
        code = is_ready(self, &ready, error);
    if (code != ETHOS_OK || !ready)
        people_close(self);
    return code;
}

/* Who wrote leaves the rows in the file itself, where a copy of it has them. */
static void fold_log(struct db *self)
{
    if (self->users_log == 0 || self->network || self->lock < 0 ||
        os_flock(self->lock, LOCK_EX | LOCK_NB) != 0)
        return;
    sqlite3_busy_timeout(self->users, 0);
    sqlite3_wal_checkpoint_v2(self->users, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    os_flock(self->lock, LOCK_UN);
}

void people_close(struct db *self)
{
    if (self->users)
        fold_log(self);
    sqlite3_close(self->users);
    self->users = NULL;
    self->users_log = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int prepare_owners_statement(const struct db *self, const char *sql, sqlite3_stmt **out,
                                    struct ethos_error *error)
{
    return sqlite3_prepare_v2(self->users, sql, -1, out, NULL) == SQLITE_OK
               ? ETHOS_OK
               : fail_owners_database(self, error);
}

int people_open(struct db *self, struct ethos_error *error)
{
    return open_users(self, false, error);
}

int people_fill(struct db *self, struct ethos_session *session, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    session->user = NULL;
    if (!self->users)
        return ETHOS_OK;
    int code = prepare_owners_statement(
        self, "SELECT user_id FROM session_users WHERE session_id=?1", &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_text(statement, 1, session->id, -1, SQLITE_STATIC);
    int step = sqlite3_step(statement);
    if (step == SQLITE_ROW) {
        const char *user = (const char *)sqlite3_column_text(statement, 0);
        snprintf(self->user, sizeof self->user, "%s", user ? user : "");
        session->user = self->user;
    } else if (step != SQLITE_DONE) {
        code = fail_owners_database(self, error);
    }
    sqlite3_finalize(statement);
    return code;
}

static bool is_person(const struct ethos_people *people, const char *user)
{
    for (size_t i = 0; user && i < people->count; i++)
        if (strcmp(people->ids[i], user) == 0)
            return true;
    return false;
}

static int add_owned_session(struct people_set *set, struct arena *arena, size_t *capacity,
                             const char *session)
{
    const char **ids = arena_grow(arena, set->ids, set->count, capacity, sizeof *ids);
    const char *id = arena_str(arena, session);
    if (!ids || !id)
        return ETHOS_NOMEM;
    set->ids = ids;
    ids[set->count++] = id;
    return ETHOS_OK;
}

/* The rows of these people, or for the owner those of all others. */
static int read_owned_sessions(struct db *self, const struct ethos_people *people,
                               struct arena *arena, struct people_set *out,
                               struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    size_t capacity = 0;
    int step = SQLITE_DONE;
    int code = prepare_owners_statement(
        self, "SELECT session_id,user_id FROM session_users ORDER BY session_id", &statement,
        error);
    while (code == ETHOS_OK && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        bool own = is_person(people, (const char *)sqlite3_column_text(statement, 1));
        const char *id = (const char *)sqlite3_column_text(statement, 0);
        if (id && own != out->except && add_owned_session(out, arena, &capacity, id) != ETHOS_OK)
            code = err_nomem(error);
    }
    if (code == ETHOS_OK && step != SQLITE_DONE)
        code = fail_owners_database(self, error);
    sqlite3_finalize(statement);
    return code;
}

int people_find(struct db *self, const struct ethos_people *people, struct arena *arena,
                struct people_set *out, struct ethos_error *error)
{
    *out = (struct people_set){.all = !people, .except = people && people->owner};
    int code = open_users(self, false, error);
    if (code == ETHOS_OK && people && self->users)
        code = read_owned_sessions(self, people, arena, out, error);
    out->all = out->all || (out->except && out->count == 0);
    return code;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

bool people_has(const struct people_set *self, const char *session)
{
    if (self->all)
        return true;
    bool listed = self->count > 0 &&
                  bsearch(session, self->ids, self->count, sizeof *self->ids, by_text) != NULL;
    return listed != self->except;
}

static void owned(sqlite3_context *context, int count, sqlite3_value **values)
{
    const struct db *self = sqlite3_user_data(context);
    const char *id = (const char *)sqlite3_value_text(values[0]);
    (void)count;
    sqlite3_result_int(context, !self->people || (id && people_has(self->people, id)));
}

int people_function(struct db *self)
{
    return sqlite3_create_function(self->connection, "owned", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                   self, owned, NULL, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int run_owners_statement(struct db *self, const char *sql, const char *first,
                                const char *second, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = prepare_owners_statement(self, sql, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
    if (second)
        sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) != SQLITE_DONE)
        code = fail_owners_database(self, error);
    sqlite3_finalize(statement);
    if (code == ETHOS_OK && self->users_log > LOG_PAGES)
        sqlite3_wal_checkpoint_v2(self->users, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return code;
}

int people_put(struct db *self, const char *session, const char *user, struct ethos_error *error)
{
    if (!user)
        return ETHOS_OK;
    int code = open_users(self, true, error);
    if (code != ETHOS_OK)
        return code;
    return run_owners_statement(
        self, "INSERT OR REPLACE INTO session_users(session_id,user_id) VALUES(?1,?2)", session,
        user, error);
}

int people_copy(struct db *self, const char *session, const char *copy, struct ethos_error *error)
{
    struct ethos_session of = {.id = session};
    int code = open_users(self, false, error);
    if (code == ETHOS_OK)
        code = people_fill(self, &of, error);
    return code == ETHOS_OK ? people_put(self, copy, of.user, error) : code;
}

static void drop_gone(struct db *self)
{
    sqlite3_stmt *statement = NULL;
    if (prepare_owners_statement(self, "SELECT session_id FROM session_users", &statement, NULL) !=
        ETHOS_OK)
        return;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(statement, 0);
        if (id && session_exists(self, id, NULL) == 0)
            run_owners_statement(self, "DELETE FROM session_users WHERE session_id=?1", id, NULL,
                                 NULL);
    }
    sqlite3_finalize(statement);
}

void people_drop(struct db *self, const char *session)
{
    if (open_users(self, false, NULL) != ETHOS_OK || !self->users ||
        db_lock(self, NULL) != ETHOS_OK)
        return;
    if (session)
        run_owners_statement(self, "DELETE FROM session_users WHERE session_id=?1", session, NULL,
                             NULL);
    else
        drop_gone(self);
    db_unlock(self);
}
