/*
 * search_catch.c: the index catches up with the messages.
 *
 * Rowids of messages grow, but a deleted tail gives them free again, and VACUUM renumbers. Ids
 * stay. So the index goes on after the row that has the id of the last message it knows; those it
 * knows and the database does not are taken out on the way. An edit in place leaves no trace: every
 * write compares some messages, anywhere, and a hit that turns out to be edited is compared as
 * well.
 */

#include "base/err.h"
#include "base/log.h"
#include "base/os.h"
#include "session/db.h"
#include "session/search_add.h"

#define BATCH INDEX_SHARD    /* messages of one write */
#define BATCH_BYTES 16777216 /* of their texts, about */
#define COMPARED 256         /* messages that every write compares */
#define GONE_LEAST 1000      /* and half of all: the index is made anew */

/* ---- what is no more ------------------------------------------------------------------------- */

static int bury_in_block(struct search *self, int64_t doc, struct ethos_error *error)
{
    struct index_block block;
    size_t at = (size_t)(doc % INDEX_BLOCK);
    int code = index_get_block(self, doc / INDEX_BLOCK, &block, error);
    if (code != ETHOS_OK)
        return code;
    if (at >= block.count)
        return index_break(self, error);
    index_set_entry(&block, at, (struct index_entry){.time = INDEX_GONE});
    return index_put_block(self, doc / INDEX_BLOCK, &block, error);
}

static int run_with(struct search *self, enum index_statement which, int64_t number,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, which, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    return index_run(self, statement, error);
}

/* Its words stay and lead to nothing. */
static int bury(struct search *self, int64_t doc, struct ethos_error *error)
{
    int code = run_with(self, INDEX_DROP_DOC, doc, error);
    if (code != ETHOS_OK || sqlite3_changes(self->connection) == 0)
        return code; // somebody else was faster
    code = bury_in_block(self, doc, error);
    return code == ETHOS_OK ? run_with(self, INDEX_BURY_IN_SHARD, doc / INDEX_SHARD, error) : code;
}

/* Too much of it leads to nothing. */
static int check_gone(struct search *self, struct ethos_error *error)
{
    int64_t docs = 0, gone = 0;
    struct index_shard shard;
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_SHARDS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = index_step(self, statement, error)) == SQLITE_ROW) {
        index_shard_row(statement, &shard);
        docs += shard.docs;
        gone += shard.gone;
    }
    if (code < 0)
        return code;
    return gone > GONE_LEAST && gone > docs / 2 ? index_break(self, error) : ETHOS_OK;
}

/* ---- where to go on -------------------------------------------------------------------------- */

/* The rowid of a message, 0 when it is no more. */
static int find_rowid(struct search *self, sqlite3_stmt *doc, int64_t *out,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, ASK_ROWID, &statement, error);
    *out = 0;
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_value(statement, 1, sqlite3_column_value(doc, 1));
    code = index_step(self, statement, error);
    if (code == SQLITE_ROW) {
        *out = sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    }
    return code < 0 ? code : ETHOS_OK;
}

/* The last message that the index knows: its number, -1 when there is none, and its rowid or 0. */
static int last_known(struct search *self, int64_t *out_doc, int64_t *out_rowid,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    *out_doc = -1;
    *out_rowid = 0;
    int code = index_prepare(self, INDEX_LAST_DOC, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code == SQLITE_ROW) {
        *out_doc = sqlite3_column_int64(statement, 0);
        code = find_rowid(self, statement, out_rowid, error);
        sqlite3_reset(statement);
    }
    return code < 0 ? code : ETHOS_OK;
}

/* In memory only the newest are kept. */
static int begin_of_all(struct search *self, int64_t *out_rowid, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, ASK_NEWEST, &statement, error);
    *out_rowid = 0;
    if (self->path || code != ETHOS_OK)
        return code;
    code = index_step(self, statement, error);
    if (code == SQLITE_ROW && sqlite3_column_int64(statement, 0) > INDEX_MEMORY)
        *out_rowid = sqlite3_column_int64(statement, 0) - INDEX_MEMORY;
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* The rowid after which the messages are new; within a write. */
static int find_place(struct search *self, int64_t *out_rowid, struct ethos_error *error)
{
    int64_t doc;
    int code;
    while ((code = last_known(self, &doc, out_rowid, error)) == ETHOS_OK) {
        if (doc < 0)
            return begin_of_all(self, out_rowid, error);
        if (*out_rowid > 0)
            return ETHOS_OK;
        if ((code = bury(self, doc, error)) != ETHOS_OK)
            return code;
    }
    return code;
}

/* Whether there is a message after rowid; the statement stands on it. */
static int first_newer(struct search *self, int64_t rowid, sqlite3_stmt **out, bool *out_more,
                       struct ethos_error *error)
{
    int code = index_prepare(self, ASK_NEWER, out, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(*out, 1, rowid);
    code = index_step(self, *out, error);
    *out_more = code == SQLITE_ROW;
    return code < 0 ? code : ETHOS_OK;
}

/* Without a lock: nearly always there is nothing to do. */
static int is_behind(struct search *self, bool *out, struct ethos_error *error)
{
    int64_t doc, rowid;
    sqlite3_stmt *statement;
    int code = last_known(self, &doc, &rowid, error);
    *out = doc >= 0 && rowid == 0;
    if (code != ETHOS_OK || *out)
        return code;
    code = first_newer(self, rowid, &statement, out, error);
    if (code == ETHOS_OK)
        sqlite3_reset(statement);
    return code;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A message of the index that is no more, or reads otherwise now. */
struct stale {
    int64_t doc;
    char *id; /* NULL: it is no more */
};

struct comparison {
    struct arena arena;
    struct stale *stale;
    size_t count, capacity;
    int64_t next; /* number from which to go on; -1 at the end */
};

static int note_stale(struct comparison *comparison, int64_t doc, const char *id,
                      struct ethos_error *error)
{
    struct stale *stale = arena_grow(&comparison->arena, comparison->stale, comparison->count,
                                     &comparison->capacity, sizeof *stale);
    if (!stale)
        return err_nomem(error);
    comparison->stale = stale;
    stale = &stale[comparison->count++];
    *stale = (struct stale){doc, arena_str(&comparison->arena, id)};
    return id && !stale->id ? err_nomem(error) : ETHOS_OK;
}

static int compare_one(struct search *self, struct comparison *comparison, sqlite3_stmt *known,
                       struct ethos_error *error)
{
    sqlite3_stmt *statement;
    struct adder_message message;
    int64_t doc = sqlite3_column_int64(known, 0);
    int code = index_prepare(self, ASK_MESSAGE, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_value(statement, 1, sqlite3_column_value(known, 1));
    code = index_step(self, statement, error);
    if (code < 0)
        return code;
    if (code == SQLITE_DONE)
        return note_stale(comparison, doc, NULL, error);
    adder_row(statement, &message);
    code = adder_sum(message.content) == sqlite3_column_int64(known, 2)
               ? ETHOS_OK
               : note_stale(comparison, doc, message.id, error);
    sqlite3_reset(statement);
    return code;
}

static int compare_some(struct search *self, struct comparison *comparison, int64_t from, int limit,
                        struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_DOCS, &statement, error), left = limit;
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int(statement, 2, limit);
    comparison->next = -1;
    while ((code = index_step(self, statement, error)) == SQLITE_ROW) {
        comparison->next = --left == 0 ? sqlite3_column_int64(statement, 0) + 1 : -1;
        if ((code = compare_one(self, comparison, statement, error)) != ETHOS_OK)
            break;
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

static int add_again(struct search *self, struct adder *adder, const char *id,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement;
    struct adder_message message;
    int code = index_prepare(self, ASK_MESSAGE, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
    code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    adder_row(statement, &message);
    code = adder_message(adder, &message, true, error);
    sqlite3_reset(statement);
    return code;
}

static int replace_stale(struct search *self, const struct comparison *comparison,
                         struct ethos_error *error)
{
    struct adder adder;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < comparison->count; i++)
        code = bury(self, comparison->stale[i].doc, error);
    if (code != ETHOS_OK || comparison->count == 0)
        return code;
    code = adder_begin(&adder, self, error);
    for (size_t i = 0; code == ETHOS_OK && i < comparison->count; i++) {
        if (comparison->stale[i].id)
            code = add_again(self, &adder, comparison->stale[i].id, error);
    }
    return adder_end(&adder, code, error);
}

/* Within a write: so many messages from a number on; *from becomes the next, -1 at the end. */
static int compare(struct search *self, int64_t *from, int limit, struct ethos_error *error)
{
    struct comparison comparison = {.count = 0};
    arena_init(&comparison.arena);
    int code = compare_some(self, &comparison, *from, limit, error);
    if (code == ETHOS_OK)
        code = replace_stale(self, &comparison, error);
    *from = comparison.next;
    arena_release(&comparison.arena);
    return code;
}

void index_refresh(struct search *self, const int64_t *docs, size_t count)
{
    int code = count > 0 ? index_begin(self, 0, NULL) : ETHOS_BUSY;
    if (code != ETHOS_OK)
        return;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        int64_t from = docs[i];
        code = compare(self, &from, 1, NULL);
    }
    index_end(self, code, NULL);
}

/* Some messages anywhere; all when there are few. */
static int compare_anywhere(struct search *self, struct ethos_error *error)
{
    struct index_shard last;
    uint64_t random = 0;
    int code = index_last_shard(self, &last, error);
    int64_t all = last.shard * INDEX_SHARD + last.docs, from = 0;
    if (code == ETHOS_OK && all > COMPARED && os_random(&random, sizeof random) == 0)
        from = (int64_t)(random % (uint64_t)all);
    return code == ETHOS_OK ? compare(self, &from, COMPARED, error) : code;
}

/* ---- catching up ----------------------------------------------------------------------------- */

static int add_newer(struct search *self, struct adder *adder, int64_t rowid,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement;
    struct adder_message message;
    bool more;
    size_t bytes = 0;
    int code = first_newer(self, rowid, &statement, &more, error);
    if (code != ETHOS_OK)
        return code;
    for (int left = BATCH; more && left > 0 && bytes < BATCH_BYTES; left--) {
        adder_row(statement, &message);
        bytes += message.content.size;
        if ((code = adder_message(adder, &message, false, error)) != ETHOS_OK ||
            (code = index_step(self, statement, error)) < 0)
            break;
        more = code == SQLITE_ROW;
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* One write: what is no more at the end, what is new, and some of the rest. */
static int catch_up_batch(struct search *self, struct ethos_error *error)
{
    struct adder adder;
    int64_t rowid;
    int code = check_gone(self, error);
    if (code == ETHOS_OK)
        code = compare_anywhere(self, error);
    if (code == ETHOS_OK)
        code = find_place(self, &rowid, error);
    if (code != ETHOS_OK)
        return code;
    code = adder_begin(&adder, self, error);
    if (code == ETHOS_OK)
        code = add_newer(self, &adder, rowid, error);
    return adder_end(&adder, code, error);
}

/* The messages as of one moment, so that no VACUUM comes between. */
static int with_messages(struct search *self, int (*work)(struct search *, struct ethos_error *),
                         struct ethos_error *error)
{
    sqlite3 *messages = self->db->connection;
    bool begin = sqlite3_get_autocommit(messages) != 0;
    int code = begin ? db_exec(self->db, "BEGIN", "search it", error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = work(self, error);
    if (begin && !sqlite3_get_autocommit(messages))
        sqlite3_exec(messages, "COMMIT", NULL, NULL, NULL);
    return code;
}

static int compare_all(struct search *self, struct ethos_error *error)
{
    for (int64_t from = 0; from >= 0;) {
        int code = index_begin(self, self->db->deadline_ms, error);
        if (code == ETHOS_OK)
            code = index_end(self, compare(self, &from, BATCH, error), error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static int count_rows(struct search *self, enum index_statement which, int64_t up_to, int64_t *out,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, which, &statement, error);
    if (code != ETHOS_OK)
        return code;
    if (which == ASK_COUNT)
        sqlite3_bind_int64(statement, 1, up_to);
    code = index_step(self, statement, error);
    *out = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* No message before the last known one is missing, as after rows were put back in another order. */
static int check_count(struct search *self, struct ethos_error *error)
{
    int64_t doc, rowid, messages = 0, docs = 0;
    int code = last_known(self, &doc, &rowid, error);
    if (code == ETHOS_OK)
        code = count_rows(self, ASK_COUNT, rowid, &messages, error);
    if (code == ETHOS_OK)
        code = count_rows(self, INDEX_COUNT_DOCS, 0, &docs, error);
    return code == ETHOS_OK && self->path && messages > docs ? index_break(self, error) : code;
}

int index_catch_up(struct search *self, bool whole, struct ethos_error *error)
{
    bool behind = false;
    int code;
    while ((code = is_behind(self, &behind, error)) == ETHOS_OK && behind) {
        index_let_go(self);
        code = index_begin(self, self->db->deadline_ms, error);
        if (code == ETHOS_OK)
            code = index_end(self, with_messages(self, catch_up_batch, error), error);
        if (code != ETHOS_OK)
            break;
    }
    if (code == ETHOS_BUSY && !self->broken && !whole) {
        log_line(self->db->host, ETHOS_LOG_WARN,
                 INDEX_FILE ": another program is at work on it: the newest messages are missing");
        return ETHOS_OK;
    }
    if (code == ETHOS_OK && whole)
        code = compare_all(self, error);
    return code == ETHOS_OK && whole ? with_messages(self, check_count, error) : code;
}

int index_compare(struct search *self, uint64_t *out_edited, struct ethos_error *error)
{
    int code = index_check_pages(self, error);
    for (int64_t from = 0; code == ETHOS_OK && from >= 0;) {
        struct comparison comparison = {.count = 0};
        arena_init(&comparison.arena);
        code = compare_some(self, &comparison, from, BATCH, error);
        for (size_t i = 0; i < comparison.count; i++)
            *out_edited += comparison.stale[i].id != NULL;
        from = comparison.next;
        arena_release(&comparison.arena);
    }
    return code == ETHOS_OK ? check_count(self, error) : code;
}
