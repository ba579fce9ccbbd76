/*
 * database_copy.c: consistent copies of SQLite databases.
 *
 * SQLite's backup API reads all pages in one transaction: in WAL mode neither writers nor checkpoints
 * wait for it, and it does not wait for them. Nothing is written to the source; its log is left for the next
 * writer to fold in, under the lock that belongs to it (database.h).
 */
#include "session/database_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

#define OPEN_FLAGS                                                                                 \
    (SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE)

static int fail_copy(const char *path, sqlite3 *connection, int result, struct ethos_error *error)
{
    int primary = result & 0xFF;
    const char *why = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(result);
    if (primary == SQLITE_NOMEM)
        return err_nomem(error);
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return err_hint(
            error, err_set(error, ETHOS_BUSY, "%s: another program is using the database", path),
            "try again when it is done");
    int code = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB ? ETHOS_CORRUPT : ETHOS_IO;
    return err_set(error, code, "%s: %s", path, why);
}

static int open_source(const char *path, uint32_t deadline_ms, sqlite3 **out,
                       struct ethos_error *error)
{
    int result = sqlite3_open_v2(path, out, OPEN_FLAGS | SQLITE_OPEN_READWRITE, NULL);
    if (result != SQLITE_OK)
        return fail_copy(path, *out, result, error);
    sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(*out, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_wal_autocheckpoint(*out, 0);
    sqlite3_busy_timeout(*out, deadline_ms > INT_MAX ? INT_MAX : (int)deadline_ms);
    result = sqlite3_exec(*out, "PRAGMA mmap_size=0;PRAGMA query_only=1", NULL, NULL, NULL);
    return result == SQLITE_OK ? ETHOS_OK : fail_copy(path, *out, result, error);
}

/* The file is made here, so that nobody else can read it for a moment. */
static int open_target(const char *path, sqlite3 **out, struct ethos_error *error)
{
    int fd = os_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    os_close(fd);
    int result = sqlite3_open_v2(path, out, OPEN_FLAGS | SQLITE_OPEN_READWRITE, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_exec(*out, "PRAGMA synchronous=FULL;PRAGMA journal_mode=MEMORY", NULL,
                              NULL, NULL);
    return result == SQLITE_OK ? ETHOS_OK : fail_copy(path, *out, result, error);
}

static int copy_pages(const char *from, sqlite3 *source, sqlite3 *target, uint32_t deadline_ms,
                      struct ethos_error *error)
{
    int64_t end = os_monotonic_ms() + deadline_ms;
    sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
    if (!backup)
        return fail_copy(from, target, sqlite3_errcode(target), error);
    int result;
    while ((result = sqlite3_backup_step(backup, -1)) == SQLITE_BUSY || result == SQLITE_LOCKED) {
        if (os_monotonic_ms() >= end)
            break;
        os_sleep_ms(20);
    }
    int finished = sqlite3_backup_finish(backup);
    if (result == SQLITE_DONE)
        return finished == SQLITE_OK ? ETHOS_OK : fail_copy(from, target, finished, error);
    return fail_copy(from, NULL, result, error);
}

/* ---- checking -------------------------------------------------------------------------------- */

/* As a file that nobody changes, so that nothing is made beside it. */
static int open_still(const char *path, sqlite3 **out)
{
    char uri[3 * PATH_MAX + 32] = "file:";
    size_t size = strlen(uri);
    if (strlen(path) >= PATH_MAX)
        return SQLITE_CANTOPEN;
    for (const char *at = path; *at; at++)
        size += (size_t)snprintf(uri + size, 4, strchr("%?#", *at) ? "%%%02X" : "%c", *at);
    snprintf(uri + size, sizeof uri - size, "?immutable=1");
    return sqlite3_open_v2(uri, out, OPEN_FLAGS | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

static int check_database_copy(const char *path, struct ethos_error *error)
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *statement = NULL;
    int result = open_still(path, &connection);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(connection, "PRAGMA integrity_check(1)", -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    const char *word = result == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0)
                                            : NULL;
    int code = ETHOS_OK;
    if (result != SQLITE_ROW)
        code = fail_copy(path, connection, result, error);
    else if (!word || strcmp(word, "ok") != 0)
        code = err_set(error, ETHOS_CORRUPT, "%s: the database is damaged: %s", path,
                       word ? word : "it cannot be checked");
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return code;
}

static int sync_file(const char *path, struct ethos_error *error)
{
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    int code = os_fsync(fd) == 0 ? ETHOS_OK : err_errno(error, errno, path);
    os_close(fd);
    return code;
}

static int copy(const char *from, const char *to, uint32_t deadline_ms, struct ethos_error *error)
{
    sqlite3 *source = NULL, *target = NULL;
    int code = open_source(from, deadline_ms, &source, error);
    if (code == ETHOS_OK)
        code = open_target(to, &target, error);
    bool made = code != ETHOS_OK && target; // not a file that stood there
    if (code == ETHOS_OK) {
        code = copy_pages(from, source, target, deadline_ms, error);
        made = true;
    }
    sqlite3_close(source);
    sqlite3_close(target);
    if (code == ETHOS_OK)
        code = sync_file(to, error);
    if (code == ETHOS_OK)
        code = check_database_copy(to, error);
    if (code != ETHOS_OK && made)
        os_unlinkat(AT_FDCWD, to, 0);
    return code;
}

/* ---- entries of a vector database -------------------------------------------------------------- */

#define ENTRIES                                                                                    \
    "SELECT scope_id, key, content, created_at FROM memory_entries ORDER BY created_at, key"

static struct ethos_view read_text_column(sqlite3_stmt *statement, int at)
{
    const char *text = (const char *)sqlite3_column_text(statement, at);
    return view_of(text ? text : "", (size_t)sqlite3_column_bytes(statement, at));
}

static int entries(const char *path, uint32_t deadline_ms, vector_entry_fn *each, void *arg,
                   struct ethos_error *error)
{
    sqlite3 *connection = NULL;
    sqlite3_stmt *statement = NULL;
    int code = open_source(path, deadline_ms, &connection, error), result = SQLITE_OK;
    if (code == ETHOS_OK)
        result = sqlite3_prepare_v2(connection, ENTRIES, -1, &statement, NULL);
    if (code == ETHOS_OK && (result & 0xFF) == SQLITE_ERROR)
        code = err_hint(
            error, err_set(error, ETHOS_INVALID, "%s: it contains no memory of ethos-vector", path),
            "give the file memory.db, which has the table memory_entries");
    while (code == ETHOS_OK && result == SQLITE_OK) {
        int step = sqlite3_step(statement);
        if (step == SQLITE_DONE)
            break;
        if (step != SQLITE_ROW) {
            code = fail_copy(path, connection, step, error);
            break;
        }
        const struct vector_entry entry = {
            read_text_column(statement, 0), read_text_column(statement, 1),
            read_text_column(statement, 2), read_text_column(statement, 3)};
        code = each(arg, &entry);
    }
    if (code == ETHOS_OK && result != SQLITE_OK)
        code = fail_copy(path, connection, result, error);
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return code;
}

const struct session_copier session_sqlite_copier = {copy, check_database_copy, entries};
