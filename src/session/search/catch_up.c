/*
 * catch_up.c: the index catches up with the messages.
 *
 * Every write to the messages also writes the full-text index that the schema has: so the counters
 * and the version of that one, with the last message, are the state of the messages, and as long as
 * it is the one that the index saw there is nothing to do. Otherwise the index goes on after the
 * last message that has both the id and the rowid it knows. If what came and went there does not
 * account for the counters, everything is compared, in the order of rowids: a deleted tail gives
 * them free again, an import brings ids back, and VACUUM and other programs may do anything.
 *
 * What leaves no trace is an edit of a role or a time, or of a text by another with as many words
 * right before an append. So every write compares some messages, anywhere, and a hit that turns out
 * to be edited is compared as well.
 */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "session/database.h"
#include "session/search/add.h"

#define BATCH INDEX_SHARD    /* messages of one commit */
#define BATCH_BYTES 16777216 /* of their texts, about */
#define COMPARED 256         /* messages that every write compares */
#define GONE_LEAST 1000      /* and half of all: the index is made anew */

/* ---- the state of the messages --------------------------------------------------------------- */

struct state {
    bool known; /* else everything is compared */
    int64_t stamp, messages, words;
};

/* A number as FTS5 writes it: seven bits to a byte, high ones first. */
static int64_t read_varint(struct ethos_view *bytes)
{
    uint64_t number = 0;
    while (bytes->size > 0) {
        unsigned char byte = (unsigned char)*bytes->data;
        *bytes = view_from(*bytes, 1);
        number = number << 7 | (byte & 0x7F);
        if (byte < 0x80)
            break;
    }
    return (int64_t)number;
}

static struct ethos_view blob(sqlite3_stmt *statement, int column)
{
    const void *data = sqlite3_column_blob(statement, column);
    return data ? view_of(data, (size_t)sqlite3_column_bytes(statement, column)) : VIEW("");
}

/* A statement about FTS5; NULL where it is missing, as in a file that cannot be changed. */
static int prepare_fulltext(struct search_index *self, enum index_statement which,
                            sqlite3_stmt **out, struct ethos_error *error)
{
    int code = index_prepare(self, which, out, error);
    if (code == ETHOS_OK || code == ETHOS_NOMEM)
        return code;
    *out = NULL;
    return ETHOS_OK;
}

static int state_of_messages(struct search_index *self, struct state *out,
                             struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = prepare_fulltext(self, ASK_STATE, &statement, error);
    *out = (struct state){.known = false};
    if (code == ETHOS_OK && statement)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    struct ethos_view counters = blob(statement, 0);
    uint64_t stamp = 0;
    for (int i = 0; i < 4; i++)
        stamp = (stamp << 21 | stamp >> 43) ^
                (uint64_t)hash_crc32c(blob(statement, i)) * 0x9E3779B1;
    out->known = true;
    out->stamp = (int64_t)stamp;
    out->messages = read_varint(&counters);
    out->words = read_varint(&counters);
    sqlite3_reset(statement);
    return ETHOS_OK;
}

/* What it was when the index agreed with the messages. */
static int state_of_index(struct search_index *self, struct state *out, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self, INDEX_STATE, &statement, error);
    *out = (struct state){.known = false};
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    *out = (struct state){.known = true,
                          .stamp = sqlite3_column_int64(statement, 0),
                          .messages = sqlite3_column_int64(statement, 1),
                          .words = sqlite3_column_int64(statement, 2)};
    sqlite3_reset(statement);
    return ETHOS_OK;
}

static int put_state(struct search_index *self, const struct state *state,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = state->known ? index_prepare(self, INDEX_PUT_STATE, &statement, error) : ETHOS_OK;
    if (code != ETHOS_OK || !state->known)
        return code;
    sqlite3_bind_int64(statement, 1, state->stamp);
    sqlite3_bind_int64(statement, 2, state->messages);
    sqlite3_bind_int64(statement, 3, state->words);
    return index_run(self, statement, error);
}

static int both_states(struct search_index *self, struct state *now, struct state *then,
                       struct ethos_error *error)
{
    int code = state_of_messages(self, now, error);
    return code == ETHOS_OK ? state_of_index(self, then, error) : code;
}

static bool is_same_state(const struct state *now, const struct state *then)
{
    return now->known && then->known && now->stamp == then->stamp;
}

/* Whether what the index took in and out is what became of the messages. */
static bool accounts_for(const struct index_gain *gain, const struct state *now,
                         const struct state *then)
{
    return now->known && gain->touched > 0 && now->messages - then->messages == gain->messages &&
           now->words - then->words == gain->words;
}

/* ---- what is no more ------------------------------------------------------------------------- */

static int bury_in_block(struct search_index *self, int64_t doc, struct ethos_error *error)
{
    struct index_block block;
    size_t at = (size_t)(doc % INDEX_BLOCK);
    int code = index_get_block(self, doc / INDEX_BLOCK, &block, error);
    if (code != ETHOS_OK)
        return code;
    if (at >= block.count)
        return index_break(self, error);
    index_set_entry(&block, at, (struct index_message){.time = INDEX_GONE});
    return index_put_block(self, doc / INDEX_BLOCK, &block, error);
}

static int prepare_with(struct search_index *self, enum index_statement which, int64_t number,
                        sqlite3_stmt **out, struct ethos_error *error)
{
    int code = index_prepare(self, which, out, error);
    if (code == ETHOS_OK)
        sqlite3_bind_int64(*out, 1, number);
    return code;
}

/* Its words stay and lead to nothing. */
static int bury(struct search_index *self, int64_t doc, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = prepare_with(self, INDEX_DROP_DOC, doc, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK; // another program changed it first
    self->gain.touched++;
    self->gain.messages--;
    self->gain.words -= sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    code = bury_in_block(self, doc, error);
    if (code == ETHOS_OK)
        code = prepare_with(self, INDEX_BURY_IN_SHARD, doc / INDEX_SHARD, &statement, error);
    return code == ETHOS_OK ? index_run(self, statement, error) : code;
}

/* Too much of it leads to nothing. */
static int check_gone(struct search_index *self, struct ethos_error *error)
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

/* ---- adding ---------------------------------------------------------------------------------- */

static int index_message_row(struct search_index *self, struct adder *adder, sqlite3_stmt *row,
                             struct ethos_error *error)
{
    struct adder_message message = {.size = 0};
    sqlite3_stmt *statement;
    adder_row(row, &message);
    int code = prepare_fulltext(self, ASK_SIZE, &statement, error);
    if (code == ETHOS_OK && statement) {
        sqlite3_bind_int64(statement, 1, message.row);
        code = index_step(self, statement, error);
        if (code == SQLITE_ROW) {
            struct ethos_view size = blob(statement, 0);
            message.size = read_varint(&size);
            sqlite3_reset(statement);
        }
    }
    return code < 0 ? code : adder_message(adder, &message, error);
}

/* The message of a rowid, if there is one. */
static int add_one(struct search_index *self, struct adder *adder, int64_t row,
                   struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = prepare_with(self, ASK_MESSAGE, row, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    code = index_message_row(self, adder, statement, error);
    sqlite3_reset(statement);
    return code;
}

/* The messages after *from, of which the index knows none; *from becomes the last, if all: *end. */
static int add_newer(struct search_index *self, struct adder *adder, int64_t *from, bool *end,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement;
    size_t bytes = 0;
    int code = prepare_with(self, ASK_NEWER, *from, &statement, error);
    if (code != ETHOS_OK)
        return code;
    *end = false;
    for (int left = BATCH; code >= 0 && left > 0 && bytes < BATCH_BYTES; left--) {
        code = index_step(self, statement, error);
        *end = code == SQLITE_DONE;
        if (code != SQLITE_ROW)
            break;
        *from = sqlite3_column_int64(statement, 0);
        bytes += (size_t)sqlite3_column_bytes(statement, 5);
        code = index_message_row(self, adder, statement, error);
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Numbers of messages that are no more or read otherwise now; rowids of those that are to come. */
struct comparison {
    struct arena arena;
    int64_t *stale, *fresh;
    size_t stale_count, stale_capacity, fresh_count, fresh_capacity;
    uint64_t edited; /* of both */
    size_t bytes;    /* of the fresh ones, about */
    int64_t next;    /* the last rowid that was compared */
    bool end;        /* the index knows none after it */
};

static int append_number(struct arena *arena, int64_t **list, size_t *count, size_t *capacity,
                         int64_t number, struct ethos_error *error)
{
    int64_t *grown = arena_grow(arena, *list, *count, capacity, sizeof **list);
    if (!grown)
        return err_nomem(error);
    *list = grown;
    grown[(*count)++] = number;
    return ETHOS_OK;
}

/* Both stand on the same rowid, which another message may have been given since. */
static bool is_as_known(sqlite3_stmt *known, sqlite3_stmt *is, bool *out_edited)
{
    struct adder_message message = {.size = 0};
    adder_row(is, &message);
    bool same = view_eq_str(blob(known, 2), message.id);
    *out_edited = same && adder_sum(&message) != sqlite3_column_int64(known, 3);
    return same && !*out_edited;
}

/* known, is: what stands on the next rowid, or NULL. */
static int compare_one(struct comparison *comparison, sqlite3_stmt *known, sqlite3_stmt *is,
                       struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool edited = false;
    comparison->next = sqlite3_column_int64(known ? known : is, known ? 1 : 0);
    if (known && is && is_as_known(known, is, &edited))
        return ETHOS_OK;
    comparison->edited += edited;
    if (known)
        code = append_number(&comparison->arena, &comparison->stale, &comparison->stale_count,
                             &comparison->stale_capacity, sqlite3_column_int64(known, 0), error);
    if (code == ETHOS_OK && is) {
        comparison->bytes += (size_t)sqlite3_column_bytes(is, 5);
        code = append_number(&comparison->arena, &comparison->fresh, &comparison->fresh_count,
                             &comparison->fresh_capacity, comparison->next, error);
    }
    return code;
}

/* Both lists in the order of rowids, up to the end of what the index knows. */
static int merge(struct search_index *self, struct comparison *comparison, sqlite3_stmt *known,
                 sqlite3_stmt *is, int limit, struct ethos_error *error)
{
    int has_known = index_step(self, known, error), code = ETHOS_OK;
    int has = has_known == SQLITE_ROW ? index_step(self, is, error) : SQLITE_DONE;
    for (; code == ETHOS_OK && has_known == SQLITE_ROW && has >= 0; limit--) {
        int64_t row = sqlite3_column_int64(known, 1);
        int64_t other = has == SQLITE_ROW ? sqlite3_column_int64(is, 0) : INT64_MAX;
        if (limit <= 0 || comparison->bytes > BATCH_BYTES)
            return ETHOS_OK;
        code = compare_one(comparison, row <= other ? known : NULL,
                           has == SQLITE_ROW && other <= row ? is : NULL, error);
        if (code == ETHOS_OK && has == SQLITE_ROW && other <= row)
            has = index_step(self, is, error);
        if (code == ETHOS_OK && row <= other)
            has_known = index_step(self, known, error);
    }
    comparison->end = has_known == SQLITE_DONE;
    return code < 0 ? code : has_known < 0 ? has_known : has < 0 ? has : ETHOS_OK;
}

static int compare_from(struct search_index *self, struct comparison *comparison, int64_t from,
                        int limit, struct ethos_error *error)
{
    sqlite3_stmt *known, *is;
    int code = prepare_with(self, INDEX_DOCS, from, &known, error);
    if (code == ETHOS_OK)
        code = prepare_with(self, ASK_NEWER, from, &is, error);
    if (code != ETHOS_OK)
        return code;
    comparison->next = from;
    code = merge(self, comparison, known, is, limit, error);
    sqlite3_reset(known);
    sqlite3_reset(is);
    return code;
}

static int put_right(struct search_index *self, const struct comparison *comparison,
                     struct ethos_error *error)
{
    struct adder adder;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < comparison->stale_count; i++)
        code = bury(self, comparison->stale[i], error);
    if (code != ETHOS_OK || comparison->fresh_count == 0)
        return code;
    code = adder_begin(&adder, self, error);
    for (size_t i = 0; code == ETHOS_OK && i < comparison->fresh_count; i++)
        code = add_one(self, &adder, comparison->fresh[i], error);
    return adder_end(&adder, code, error);
}

/* Within a write: so many messages after *from, which becomes the last of them; *end: of the index. */
static int compare_next_rows(struct search_index *self, int64_t *from, bool *end, int limit,
                             struct ethos_error *error)
{
    struct comparison comparison = {.end = false};
    arena_init(&comparison.arena);
    int code = compare_from(self, &comparison, *from, limit, error);
    if (code == ETHOS_OK)
        code = put_right(self, &comparison, error);
    *from = comparison.next;
    *end = comparison.end;
    arena_release(&comparison.arena);
    return code;
}

/* ---- where to go on -------------------------------------------------------------------------- */

/* The last message that the index knows up to a rowid; *out_agrees: it is still there. */
static int last_known(struct search_index *self, int64_t up_to, int64_t *out_row, bool *out_agrees,
                      struct ethos_error *error)
{
    sqlite3_stmt *known, *is;
    int code = prepare_with(self, INDEX_DOC_UP_TO, up_to, &known, error);
    if (code == ETHOS_OK)
        code = index_step(self, known, error);
    *out_row = self->first;
    *out_agrees = true;
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    *out_row = sqlite3_column_int64(known, 0);
    code = prepare_with(self, ASK_ID, *out_row, &is, error);
    if (code == ETHOS_OK)
        code = index_step(self, is, error);
    *out_agrees = code == SQLITE_ROW && view_eq(blob(known, 1), blob(is, 0));
    sqlite3_reset(known);
    if (code == SQLITE_ROW)
        sqlite3_reset(is);
    return code < 0 ? code : ETHOS_OK;
}

/* The rowid up to which nothing parted, in strides that grow. */
static int find_last_common_row(struct search_index *self, int64_t *out, struct ethos_error *error)
{
    bool agrees = false;
    int64_t up_to = INT64_MAX;
    int code = ETHOS_OK;
    for (int64_t stride = 1; code == ETHOS_OK && !agrees; stride *= 2) {
        code = last_known(self, up_to, out, &agrees, error);
        up_to = *out > self->first + stride ? *out - stride : self->first;
    }
    return code;
}

/* In memory only the newest are kept. */
static int find_first(struct search_index *self, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    self->first = INT64_MIN;
    if (self->path)
        return ETHOS_OK;
    int code = index_prepare(self, ASK_NEWEST, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    int64_t newest = sqlite3_column_int64(statement, 0);
    self->first = newest > INDEX_MEMORY ? newest - INDEX_MEMORY : INT64_MIN;
    sqlite3_reset(statement);
    return ETHOS_OK;
}

/* Some messages anywhere; all when there are few. */
static int compare_anywhere(struct search_index *self, struct ethos_error *error)
{
    uint64_t random = 0;
    int64_t last, from = self->first;
    bool ignored;
    int code = last_known(self, INT64_MAX, &last, &ignored, error);
    if (code == ETHOS_OK && last > COMPARED && os_random(&random, sizeof random) == 0)
        from = (int64_t)(random % (uint64_t)last);
    return code == ETHOS_OK ? compare_next_rows(self, &from, &ignored, COMPARED, error) : code;
}

/* ---- catching up ----------------------------------------------------------------------------- */

/* One commit: what parted after *from, or what is new. */
static int catch_up_batch(struct search_index *self, int64_t *from, bool *end,
                          struct ethos_error *error)
{
    struct adder adder;
    bool known = true;
    int code = check_gone(self, error);
    *end = false;
    if (code == ETHOS_OK)
        code = compare_next_rows(self, from, &known, BATCH, error);
    if (code != ETHOS_OK || !known)
        return code;
    code = adder_begin(&adder, self, error);
    if (code == ETHOS_OK)
        code = add_newer(self, &adder, from, end, error);
    return adder_end(&adder, code, error);
}

static int catch_up_from(struct search_index *self, int64_t from, struct ethos_error *error)
{
    bool end = false;
    int code = catch_up_batch(self, &from, &end, error);
    while (code == ETHOS_OK && !end) {
        code = index_go_on(self, error);
        if (code == ETHOS_OK)
            code = catch_up_batch(self, &from, &end, error);
    }
    return code;
}

/* *out: what is new is all there is, as far as the counters and a look at some others tell. */
static int catch_up_at_end(struct search_index *self, const struct state *now,
                           const struct state *then, bool *out, struct ethos_error *error)
{
    int64_t from = self->first;
    self->gain = (struct index_gain){.touched = 0};
    int code = find_last_common_row(self, &from, error);
    if (code == ETHOS_OK)
        code = catch_up_from(self, from, error);
    *out = code == ETHOS_OK && accounts_for(&self->gain, now, then);
    if (!*out)
        return code;
    int64_t touched = self->gain.touched;
    code = compare_anywhere(self, error);
    *out = self->gain.touched == touched;
    return code;
}

static int catch_up_wholly(struct search_index *self, struct ethos_error *error)
{
    struct state now, then;
    int code = both_states(self, &now, &then, error);
    if (code == ETHOS_OK && !then.known)
        code = find_first(self, error);
    if (code == ETHOS_OK)
        code = catch_up_from(self, self->first, error);
    return code == ETHOS_OK ? put_state(self, &now, error) : code;
}

static int index_missing_messages(struct search_index *self, struct ethos_error *error)
{
    struct state now, then;
    int code = both_states(self, &now, &then, error);
    if (code != ETHOS_OK || is_same_state(&now, &then))
        return code; // another program was faster
    bool enough = false;
    if (then.known)
        code = catch_up_at_end(self, &now, &then, &enough, error);
    if (code != ETHOS_OK)
        return code;
    return enough ? put_state(self, &now, error) : catch_up_wholly(self, error);
}

/* The messages as of one moment, so that nothing comes between. */
static int with_messages(struct search_index *self,
                         int (*work)(struct search_index *, struct ethos_error *),
                         struct ethos_error *error)
{
    sqlite3 *messages = self->db->connection;
    bool begin = sqlite3_get_autocommit(messages) != 0;
    int code = begin ? db_exec(self->db, "BEGIN", "search it", error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = work(self, error);
    if (begin && sqlite3_exec(messages, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(messages, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

int index_catch_up(struct search_index *self, bool whole, struct ethos_error *error)
{
    struct state now, then;
    int code = both_states(self, &now, &then, error); // without a lock: nearly always that is all
    if (code != ETHOS_OK || (!whole && is_same_state(&now, &then)))
        return code;
    index_let_go(self);
    code = index_begin(self, self->db->deadline_ms, error);
    if (code == ETHOS_OK)
        code = index_end(
            self, with_messages(self, whole ? catch_up_wholly : index_missing_messages, error),
            error);
    if (code != ETHOS_BUSY || self->broken || whole)
        return code;
    log_line(self->db->host, ETHOS_LOG_WARN,
             INDEX_FILE ": another program is at work on it: the newest messages are missing");
    return ETHOS_OK;
}

/* ---- one by one ------------------------------------------------------------------------------ */

/* A hit that was not as expected: the message of its rowid takes its place. */
static int refresh(struct search_index *self, int64_t doc, struct ethos_error *error)
{
    struct comparison one = {.end = false};
    sqlite3_stmt *statement;
    int64_t row;
    int code = prepare_with(self, INDEX_DOC, doc, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self, statement, error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    row = sqlite3_column_int64(statement, 2);
    sqlite3_reset(statement);
    one.stale = &doc;
    one.fresh = &row;
    one.stale_count = one.fresh_count = 1;
    return put_right(self, &one, error);
}

void index_refresh(struct search_index *self, const int64_t *docs, size_t count)
{
    int code = count > 0 ? index_begin(self, 0, NULL) : ETHOS_BUSY;
    if (code != ETHOS_OK)
        return;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = refresh(self, docs[i], NULL);
    index_end(self, code, NULL);
}

int index_compare(struct search_index *self, uint64_t *out_edited, struct ethos_error *error)
{
    struct state now, then;
    uint64_t missing = 0;
    bool end = false;
    int code = index_check_pages(self, error);
    if (code == ETHOS_OK)
        code = both_states(self, &now, &then, error);
    for (int64_t from = INT64_MIN; code == ETHOS_OK && !end;) {
        struct comparison comparison = {.end = false};
        arena_init(&comparison.arena);
        code = compare_from(self, &comparison, from, BATCH, error);
        *out_edited += comparison.edited;
        missing += comparison.fresh_count - comparison.edited;
        from = comparison.next;
        end = comparison.end;
        arena_release(&comparison.arena);
    }
    return code == ETHOS_OK && missing > 0 && is_same_state(&now, &then) ? index_break(self, error)
                                                                         : code;
}
