/*
 * db.h: one connection to sessions.db. Private to src/session.
 *
 * Opened at first use. Settings: WAL (DELETE with exclusive locking on a network file system), foreign
 * keys, synchronous FULL (NORMAL for durability: fast), trusted_schema off, no mmap, no automatic
 * checkpoint, none on close; busy_timeout as the deadline. The schema is made when missing, columns of
 * later versions are added when missing, a user_version above 1 is refused.
 */
#ifndef ETHOS_SESSION_DB_H
#define ETHOS_SESSION_DB_H

#include <sqlite3.h>
#include <stdbool.h>

#include <ethos/provider.h>
#include <ethos/session.h>

#define DB_FILE "sessions.db"
#define DB_LOCK "sessions.db-lock"
#define DB_CHECKPOINT_BYTES 4194304 /* of the log, above which whoever wrote folds it in */

/* Statements that are kept, by number; their texts are in one table in db.c. */
enum db_statement {
    DB_INSERT_SESSION,
    DB_INSERT_MESSAGE,
    /* ... one per statement that is used more than once */
    DB_STATEMENTS
};

struct db {
    struct ethos_sessions base;
    const struct ethos_host *host;
    char *path;
    int lock; /* descriptor of DB_LOCK, -1 until the first write */
    uint32_t deadline_ms;
    bool fast, read_only;
    sqlite3 *connection; /* NULL until first use */
    sqlite3_stmt *kept[DB_STATEMENTS];
};

/* Opens when needed. create false: ETHOS_NOTFOUND when there is no database. */
int db_ready(struct db *self, bool create, struct ethos_error *error);

/* A kept statement, reset and without bindings. */
int db_prepare(struct db *self, enum db_statement which, sqlite3_stmt **out,
               struct ethos_error *error);

/* A write: lock, BEGIN IMMEDIATE; then commit (checkpoint when due) or roll back, unlock. */
int db_begin(struct db *self, struct ethos_error *error);
int db_end(struct db *self, int code, struct ethos_error *error);

/* The error of the connection as ours: BUSY, IO (full, read-only), CORRUPT, NOMEM. */
int db_fail(struct db *self, const char *what, struct ethos_error *error);

#endif
