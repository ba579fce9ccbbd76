/*
 * unseen.c: which messages an index has not seen, and a message by its number.
 *
 * Every write to the messages also writes the full-text index that the schema has: so its counters, of messages
 * and words, tell whether anything but what was added since became of them. A number is a rowid: where others use
 * it anew or change it, the counters or the id of the last message that was seen say so.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "session/operations.h"
#include "session/rows.h"

/* A session that has new messages. */
struct added {
    const char *session;
    uint64_t count;
};

struct unseen_search {
    struct db *db;
    struct ethos_seen seen, now;
    bool same; /* what was seen is there as it was */
    struct arena arena;
    struct added *added;
    size_t count, room;
};

/* ---- the counters ---------------------------------------------------------------------------- */

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

static struct ethos_view blob(sqlite3_stmt *row, int column)
{
    const void *data = sqlite3_column_blob(row, column);
    return data ? view_of(data, (size_t)sqlite3_column_bytes(row, column)) : VIEW("");
}

/* What both statements begin with, but for the id: that of the last message. */
static void take_counters(sqlite3_stmt *row, struct ethos_seen *out)
{
    struct ethos_view counters = blob(row, 0);
    out->messages = read_varint(&counters);
    out->words = read_varint(&counters);
    out->last = sqlite3_column_int64(row, 1);
    out->id = hash_mix(0, blob(row, 2));
}

/* ---- what was added -------------------------------------------------------------------------- */

static int add_unseen_session(struct unseen_search *look, const char *session, uint64_t count)
{
    struct added *rows = arena_grow(&look->arena, look->added, look->count, &look->room,
                                    sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    look->added = rows;
    rows[look->count] = (struct added){arena_str(&look->arena, session), count};
    return rows[look->count++].session ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_unseen_message(struct unseen_search *look, const char *session)
{
    for (size_t i = look->count; i > 0; i--)
        if (strcmp(look->added[i - 1].session, session) == 0) {
            look->added[i - 1].count++;
            return ETHOS_OK;
        }
    return add_unseen_session(look, session, 1);
}

/* The first row is the last message that was seen; same stays false when it is another one. */
static int read_unseen_row(struct unseen_search *look, sqlite3_stmt *row, int64_t *messages,
                           int64_t *words)
{
    struct ethos_view size = blob(row, 4);
    bool first = look->now.last == 0;
    take_counters(row, &look->now);
    if (first) {
        look->same = look->now.last == look->seen.last && look->now.id == look->seen.id;
        return ETHOS_OK;
    }
    ++*messages;
    *words += read_varint(&size);
    return add_unseen_message(look, (const char *)sqlite3_column_text(row, 3));
}

static int find_added(struct unseen_search *look, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int64_t messages = look->seen.messages, words = look->seen.words;
    int code = db_prepare(look->db, DB_UNSEEN, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, look->seen.last);
    while ((code = db_step(look->db, statement, "read messages", error)) == SQLITE_ROW) {
        if (read_unseen_row(look, statement, &messages, &words) != ETHOS_OK) {
            code = err_nomem(error);
            break;
        }
        if (!look->same)
            break;
    }
    sqlite3_reset(statement);
    look->same = look->same && look->now.messages == messages && look->now.words == words;
    return code < 0 ? code : ETHOS_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int read_seen(struct unseen_search *look, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    look->now = (struct ethos_seen){0};
    int code = db_prepare(look->db, DB_SEEN, &statement, error);
    if (code == ETHOS_OK)
        code = db_step(look->db, statement, "read messages", error);
    if (code != SQLITE_ROW)
        return code < 0 ? code : ETHOS_OK;
    take_counters(statement, &look->now);
    sqlite3_reset(statement);
    return ETHOS_OK;
}

static int find_all(struct unseen_search *look, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    look->count = 0;
    int code = db_prepare(look->db, DB_BEGINNINGS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = db_step(look->db, statement, "list sessions", error)) == SQLITE_ROW)
        if (add_unseen_session(look, (const char *)sqlite3_column_text(statement, 0), 0) !=
            ETHOS_OK) {
            code = err_nomem(error);
            break;
        }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* A file without the full-text index, as one that cannot be changed, is compared every time. */
static bool is_without_counters(const struct db *self)
{
    return self->schema != SCHEMA_WHOLE && self->schema != SCHEMA_OLD;
}

static int find_unseen(struct unseen_search *look, struct ethos_error *error)
{
    bool blind = is_without_counters(look->db);
    int code = !blind && look->seen.last > 0 ? find_added(look, error) : ETHOS_OK;
    if (code != ETHOS_OK || look->same)
        return code;
    if (!blind)
        code = read_seen(look,
                         error); // before the sessions: what comes between is new the next time
    return code == ETHOS_OK ? find_all(look, error) : code;
}

int messages_unseen(struct ethos_sessions *sessions, struct ethos_seen *seen, int *out_all,
                    ethos_unseen_fn *each, void *arg, struct ethos_error *error)
{
    struct unseen_search look = {.db = db_of(sessions), .seen = *seen};
    *out_all = 0;
    int code = db_ready(look.db, false, error);
    if (code == ETHOS_NOTFOUND) { // nobody said anything yet
        *out_all = seen->last != 0;
        *seen = (struct ethos_seen){0};
        return ETHOS_OK;
    }
    arena_init(&look.arena);
    if (code == ETHOS_OK)
        code = find_unseen(&look, error);
    for (size_t i = 0; code == ETHOS_OK && i < look.count; i++)
        code = each(arg, look.added[i].session, look.added[i].count);
    if (code == ETHOS_OK) {
        *out_all = !look.same;
        *seen = look.now;
    }
    arena_release(&look.arena);
    return code;
}

/* ---- one ------------------------------------------------------------------------------------- */

int messages_one(struct ethos_sessions *sessions, int64_t number, ethos_message_fn *each, void *arg,
                 struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    sqlite3_stmt *statement;
    struct ethos_message message;
    int code = db_ready(self, false, error);
    if (code == ETHOS_OK)
        code = db_prepare(self, DB_ONE_MESSAGE, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    code = db_step(self, statement, "read a message", error);
    if (code == SQLITE_ROW) {
        message_row(statement, 0, &message);
        code = each(arg, &message);
    } else if (code == SQLITE_DONE) {
        code = err_set(error, ETHOS_NOTFOUND, "there is no such message");
    }
    sqlite3_reset(statement);
    return code;
}
