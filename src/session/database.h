/*
 * database.h: one connection to sessions.db. Private to src/session.
 *
 * Opened at first use. Settings: WAL (DELETE with exclusive locking on a network file system), foreign
 * keys, synchronous FULL (NORMAL for durability: fast), no harmful functions (sql_functions.h), no mmap, no automatic
 * checkpoint; busy_timeout as the deadline. What the schema lacks is made before the
 * first write (schema.h), an unknown user_version is refused.
 */
#ifndef ETHOS_SESSION_DATABASE_H
#define ETHOS_SESSION_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include <ethos/provider.h>
#include <ethos/session.h>

#include "session/schema.h"

#define DB_FILE "sessions.db"
#define DB_LOCK "sessions.db-lock"
#define DB_FILES DB_FILE ", " DB_FILE "-wal and " DB_FILE "-shm" /* files that belong together */
#define DB_CHECKPOINT_BYTES 4194304 /* size of the log from which a writer checkpoints it */
#define DB_BRIEF_BYTES 262144       /* size of the log that the next reader must read first */
#define DB_MAX_TEXT 67108864        /* bytes of one value, and of one row */

#define DB_REBUILD_INDEX "INSERT INTO messages_fts(messages_fts) VALUES('rebuild')"

/* Prepared statements, by number; their SQL is in a table in statements.c. */
enum db_statement {
    DB_BEGIN,
    DB_COMMIT,
    DB_ROLLBACK,
    DB_INSERT_SESSION,
    DB_SESSION,
    DB_SESSION_BY_KEY,
    DB_UPDATE_SESSION,
    DB_DELETE_SESSION,
    DB_LIST,
    DB_LIST_SOME,
    DB_LIST_ON,
    DB_LIST_MOMENT,
    DB_COUNT_OLD,
    DB_DELETE_OLD,
    DB_FORK_SESSION,
    DB_LAST_TIME,
    DB_INSERT_MESSAGE,
    DB_RAISE_SESSION,
    DB_MESSAGES,
    DB_LAST_MESSAGES,
    DB_TAIL,
    DB_TURNS,
    DB_MESSAGE,
    DB_TAKEN,
    DB_LOWER_SESSION,
    DB_HIDE,
    DB_DELETE_HIDDEN,
    DB_SEQUENCES,
    DB_KEYS,
    DB_INSERT_KEY,
    DB_REVOKE_KEY,
    DB_USE_KEY,
    DB_BROWSERS,
    DB_INSERT_BROWSER,
    DB_REVOKE_BROWSER,
    DB_USE_BROWSER,
    DB_FOLLOW_VERSION,
    DB_FOLLOW_LAST,
    DB_FOLLOW_PLACE,
    DB_FOLLOW_MESSAGES,
    DB_FOLLOW_SPOKEN,
    DB_FOLLOW_SESSIONS,
    DB_UNSEEN,
    DB_SEEN,
    DB_BEGINNINGS,
    DB_ONE_MESSAGE,
    DB_STATEMENTS
};

extern const char *const db_statements[DB_STATEMENTS];

struct db {
    struct ethos_sessions base;
    const struct ethos_host *host;
    char *root;
    char *path; /* of the database; NULL until it is open */
    int lock;   /* descriptor of DB_LOCK, -1 until the first write */
    uint32_t deadline_ms;
    bool fast, brief, network, read_only;
    bool settled; /* nothing has to be created before a write */
    enum schema_state schema;
    sqlite3 *connection; /* NULL until first use */
    int64_t page_bytes;
    int64_t log_bytes; /* of the write-ahead log after the last commit */
    sqlite3_stmt *kept[DB_STATEMENTS];
    struct search_index *search;     /* owned by search/search.c: NULL until first use */
    uint64_t opened;                 /* how often it was opened */
    struct seen_sessions *follow;    /* changes.c's own: NULL until first use */
    sqlite3 *users;                  /* owned by owners.c: NULL while there is no such file */
    int users_log;                   /* pages of its log after the last write */
    char user[ETHOS_MAX_ID + 1];     /* of the current session */
    const struct people_set *people; /* whose sessions the current list shows */
};

static inline struct db *db_of(struct ethos_sessions *sessions)
{
    return (struct db *)sessions;
}

/* Opens it if needed. create false: read only; ETHOS_NOTFOUND if there is no database. */
int db_ready(struct db *self, bool create, struct ethos_error *error);

/* Closes the connection; the next call opens it again. Checkpoints if it wrote. */
void db_shut(struct db *self);

/* The part of that which the search index needs too. */
void db_disconnect(sqlite3 **connection, sqlite3_stmt **kept, int count, int *lock);

/* The lock on DB_LOCK, which every write and every checkpoint holds. */
int db_lock(struct db *self, struct ethos_error *error);
void db_unlock(struct db *self);

/* ETHOS_OK if the lock can be acquired eventually or created; does not wait for it. */
int db_check_lock(struct db *self, struct ethos_error *error);

/* Prepares to write and acquires the lock, which db_unlock releases. */
int db_hold(struct db *self, struct ethos_error *error);

/*
 * A write: db_hold, BEGIN IMMEDIATE; then commit (with a checkpoint when due) or roll back, unlock.
 */
int db_begin(struct db *self, struct ethos_error *error);
int db_end(struct db *self, int code, struct ethos_error *error);

/* Whether another file has replaced the open one under its name. */
bool db_moved(struct db *self);

/* Checkpoints the log. The caller holds the lock. */
void db_checkpoint(struct db *self, int mode);

/*
 * A prepared statement, reset and without bindings. ETHOS_INTERNAL if it is in use: a callback
 * called the store.
 */
int db_prepare(struct db *self, enum db_statement which, sqlite3_stmt **out,
               struct ethos_error *error);

/* NULL binds NULL. An error is reported by the next step. */
void db_bind(sqlite3_stmt *statement, int at, const char *text);

/*
 * One step: SQLITE_ROW or SQLITE_DONE (then it is reset), or one of our codes, which are negative.
 */
int db_step(struct db *self, sqlite3_stmt *statement, const char *what, struct ethos_error *error);

/* Runs a statement without result rows; *out_changes (may be NULL): rows it changed. */
int db_run(struct db *self, sqlite3_stmt *statement, const char *what, int64_t *out_changes,
           struct ethos_error *error);

/* Runs SQL text without result rows. */
int db_exec(struct db *self, const char *sql, const char *what, struct ethos_error *error);

/* The first value of the first row of an SQL query, 0 if there is none. */
int db_number(struct db *self, const char *sql, int64_t *out, struct ethos_error *error);

/* Sets the error from the connection: BUSY, IO (full, read-only), CORRUPT, NOMEM, EXISTS, LIMIT. */
int db_fail(struct db *self, const char *what, struct ethos_error *error);

#endif
