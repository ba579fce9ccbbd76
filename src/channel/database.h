/*
 * database.h: channels.db: what was received and what is to be sent, so that every message is answered once.
 *
 *   cursor   how far an adapter has read
 *   inbox    messages, by adapter, chat and number: inbox.h
 *   outbox   what is sent, by turn and part: outbox.h
 *   contact  who may talk, and codes: contacts.h
 *
 * One connection serves one thread. The gateway and the commands beside it open their own.
 */
#ifndef ETHOS_CHANNEL_DATABASE_H
#define ETHOS_CHANNEL_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>

#include <ethos/types.h>

#define CHANNEL_DB_FILE "channels.db"
#define CHANNEL_DB_LOCK "channels.db-lock" /* held by the one gateway of a home */

struct channel_db;

/* folder is the home. create false: ETHOS_NOTFOUND when there is no database. */
int channel_db_open(const char *folder, bool create, struct channel_db **out,
                    struct ethos_error *error);
void channel_db_close(struct channel_db *self);

/* The lock of the gateway, released by closing the descriptor. ETHOS_BUSY names the holder. */
int channel_db_lock(const char *folder, int *out_fd, struct ethos_error *error);

/* A transaction, with one writer; within another it is part of that. end commits when code is ETHOS_OK, else rolls back. */
int channel_db_begin(struct channel_db *self, struct ethos_error *error);
int channel_db_end(struct channel_db *self, int code, struct ethos_error *error);

/* A number that changes when another connection has committed. */
int64_t channel_db_version(struct channel_db *self);

/*
 * A statement with its values bound, one letter each: 't' const char * (NULL is NULL), 'v' struct ethos_view,
 * 'i' int64_t. ETHOS_OK; the caller finalises it.
 */
int channel_db_prepare(struct channel_db *self, sqlite3_stmt **out, struct ethos_error *error,
                       const char *sql, const char *types, ...);

/* Runs one that gives no rows; *out_changed (may be NULL) is how many rows it changed. */
int channel_db_run(struct channel_db *self, int64_t *out_changed, struct ethos_error *error,
                   const char *sql, const char *types, ...);

/* Steps: SQLITE_ROW or SQLITE_DONE, or a code of ours, which is negative. */
int channel_db_step(struct channel_db *self, sqlite3_stmt *statement, struct ethos_error *error);

/* The first value of the first row, fallback when there is none. */
int channel_db_number(struct channel_db *self, int64_t fallback, int64_t *out,
                      struct ethos_error *error, const char *sql, const char *types, ...);

int64_t channel_db_last_id(struct channel_db *self);

/* Text of a column; "" for NULL. */
const char *channel_db_text(sqlite3_stmt *statement, int column);
void channel_db_copy_text(sqlite3_stmt *statement, int column, char *out, size_t size);

/* ---- cursors ----------------------------------------------------------------------------------- */

#define CHANNEL_MAX_CURSOR 256 /* bytes with terminator */

int channel_db_cursor_store(struct channel_db *self, const char *adapter, const char *name,
                            const char *value, struct ethos_error *error);

/* "" when there is none. */
int channel_db_cursor_read(struct channel_db *self, const char *adapter, const char *name,
                           char out[CHANNEL_MAX_CURSOR], struct ethos_error *error);

#endif
