/*
 * index.h: the words of all messages, in <root>/sessions-search.db. Private to
 * src/session/search/.
 *
 * Derived from sessions.db and deletable at any time; what is damaged or strange is made anew.
 * Messages get numbers as they come, INDEX_SHARD of them are a shard, and a shard's words are found
 * together:
 *
 *   shards    per shard: its messages ever, those gone since, their words, the span of their times
 *   blocks    per INDEX_BLOCK numbers: time and length of each message
 *   docs      number, rowid, id and checksum of a message, and its words as FTS5 counts them
 *   state     of the messages, when the index agreed with them (catch_up.c)
 *   postings  (shard, term, first): messages with a term (postings.h); a term is a folded word, or
 *             a mark and a stem, a role or the id of a session
 *
 * So a word that every message has is read from the newest shards alone, and a prefix, whatever it
 * begins, costs the words of one shard at a time.
 *
 * Writers take turns through a lock file of their own. Where the file cannot be written, the newest
 * INDEX_MEMORY messages are indexed in memory, and the log says so.
 */
#ifndef ETHOS_SESSION_SEARCH_INDEX_H
#define ETHOS_SESSION_SEARCH_INDEX_H

#include <sqlite3.h>
#include <stdbool.h>

#include <ethos/types.h>

struct db;

#define INDEX_FILE "sessions-search.db"
#define INDEX_SHARD 16384  /* messages */
#define INDEX_BLOCK 256    /* messages */
#define INDEX_MEMORY 20000 /* messages indexed if no file can be written */

/* First bytes of terms that are not words. */
#define INDEX_STEM '\1'
#define INDEX_ROLE '\2'
#define INDEX_SESSION '\3'

#define INDEX_GONE INT64_MIN /* instead of a time: the message was deleted */

/* Of the index, or of sessions.db from ASK on. */
enum index_statement {
    INDEX_BEGIN,
    INDEX_COMMIT,
    INDEX_ROLLBACK,
    INDEX_SHARDS,
    INDEX_LAST_SHARD,
    INDEX_PUT_SHARD,
    INDEX_BURY_IN_SHARD,
    INDEX_BLOCK_OF,
    INDEX_PUT_BLOCK,
    INDEX_DOC,
    INDEX_DOCS,
    INDEX_DOC_UP_TO,
    INDEX_PUT_DOC,
    INDEX_DROP_DOC,
    INDEX_STATE,
    INDEX_PUT_STATE,
    INDEX_TERM,
    INDEX_RANGE,
    INDEX_LAST_CHUNK,
    INDEX_PUT_CHUNK,
    INDEX_SET_CHUNK,
    INDEX_HOLD,
    INDEX_ASK,
    ASK_STATE = INDEX_ASK,
    ASK_SIZE,
    ASK_ID,
    ASK_NEWER,
    ASK_MESSAGE,
    ASK_HIT,
    ASK_FOLDERS,
    ASK_NEWEST,
    ASK_HOLD,
    INDEX_STATEMENTS
};

/* What was added to and removed from the index since counting began. */
struct index_gain {
    int64_t touched, messages, words;
};

struct search_index {
    struct db *db;
    sqlite3 *connection;
    char *path;    /* NULL: in memory */
    int lock;      /* descriptor, or -1 */
    bool broken;   /* the index failed, not the database: it must be rebuilt */
    int64_t first; /* only messages after this rowid are indexed */
    struct index_gain gain;
    sqlite3_stmt *kept[INDEX_STATEMENTS];
};

/* ---- the file ------------------------------------------------------------------------------- */

/* Whether there is a file, valid or not. */
bool index_exists(const struct db *self);

/* Opens self->search, which is then set, or failed and broken; in_memory: does not try the file. */
int index_open(struct db *self, bool in_memory, struct ethos_error *error);
void index_close(struct db *self);

/* Closes and removes the file, unless another process did already. */
void index_discard(struct db *self);

/* Whether the open file was removed or replaced. */
bool index_has_moved(const struct search_index *self);

/* A prepared statement, reset. */
int index_prepare(struct search_index *self, enum index_statement which, sqlite3_stmt **out,
                  struct ethos_error *error);

/* SQLITE_ROW or SQLITE_DONE (then it is reset), or one of our codes, which are negative. */
int index_step(struct search_index *self, sqlite3_stmt *statement, struct ethos_error *error);
int index_run(struct search_index *self, sqlite3_stmt *statement, struct ethos_error *error);

/* Sets broken unless SQLite's integrity check succeeds. */
int index_check_pages(struct search_index *self, struct ethos_error *error);

/*
 * Handles an error of the index: sets broken, unless memory ran out or the lock was not available.
 */
int index_break(struct search_index *self, struct ethos_error *error);

/*
 * A write: the lock, BEGIN; then commit or roll back, unlock. ETHOS_BUSY after wait_ms, which is
 * not an error of the index.
 */
int index_begin(struct search_index *self, uint32_t wait_ms, struct ethos_error *error);
int index_end(struct search_index *self, int code, struct ethos_error *error);

/* Commits and begins again, keeping the lock. */
int index_go_on(struct search_index *self, struct ethos_error *error);

/* ---- shards --------------------------------------------------------------------------------- */

struct index_shard {
    int64_t shard;
    int64_t docs, gone, words;
    int64_t oldest, newest; /* ms */
};

/* The last one; docs 0 and shard 0 if there is none. */
int index_last_shard(struct search_index *self, struct index_shard *out, struct ethos_error *error);
int index_put_shard(struct search_index *self, const struct index_shard *shard,
                    struct ethos_error *error);
void index_shard_row(sqlite3_stmt *statement, struct index_shard *out);

/* Time and length of a message. */
struct index_message {
    int64_t time; /* ms, or INDEX_GONE */
    uint32_t words;
};
#define INDEX_ENTRY_SIZE 12 /* bytes, in this machine's byte order */

/* Those of consecutive messages, as stored. */
struct index_block {
    char bytes[INDEX_BLOCK * INDEX_ENTRY_SIZE];
    size_t count;
};

/* Empty if there is none. */
int index_get_block(struct search_index *self, int64_t number, struct index_block *out,
                    struct ethos_error *error);
int index_put_block(struct search_index *self, int64_t number, const struct index_block *block,
                    struct ethos_error *error);

/* INDEX_GONE for messages that are not in the block. */
struct index_message index_message(const struct index_block *block, size_t at);
void index_set_entry(struct index_block *block, size_t at, struct index_message entry);

/* ---- keeping it up to date ------------------------------------------------------------------ */

/*
 * Adds messages that the index does not have yet. whole: also compares all indexed ones, otherwise
 * only some. If another program holds the lock past the deadline, this is logged, and the index
 * stays behind.
 */
int index_catch_up(struct search_index *self, bool whole, struct ethos_error *error);

/*
 * Compares the whole index with the messages and writes nothing; *out_edited: messages that have
 * changed. Sets broken if it is damaged or lacks a message although it is up to date.
 */
int index_compare(struct search_index *self, uint64_t *out_edited, struct ethos_error *error);

/* Indexes these messages again, unless another process is writing. Failures are harmless. */
void index_refresh(struct search_index *self, const int64_t *docs, size_t count);

/*
 * Until released, index and messages stay as they are now for this connection, and reading them is
 * cheaper.
 */
int index_hold(struct search_index *self, struct ethos_error *error);
void index_let_go(struct search_index *self);

/* A stored time in ms; 0 if it is not a time. */
int64_t index_time(const char *text);

#endif
