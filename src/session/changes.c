/*
 * changes.c: what happened in the database since the last look, whoever did it.
 *
 * Rows are numbered as they come, so messages and sessions that are new cost what is new. What happens to
 * sessions that are there already (a title, a pin, a deletion) shows only by comparing, and the
 * schema has no index that would help: so the newest FOLLOWED sessions are compared with what is
 * remembered of them, PERIOD_MS after a change at the earliest, and for a fiftieth of the time at most.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "session/operations.h"
#include "session/rows.h"

#define FOLLOWED 16384 /* sessions that are remembered: the newest */
#define PERIOD_MS 500
#define SHARE 50    /* the time of a comparison, as often, passes before the next one */
#define RECENT 64   /* messages whose ids are known, to find the place again */
#define BATCH 10000 /* messages told in one call */
#define ID_SIZE 96  /* of a message; others make them longer than we do */

enum { COLUMN_ROW = SESSION_COLUMN_COUNT };

/* What is remembered of a session. An empty id: a free slot. */
struct known {
    char id[ETHOS_UUID_SIZE];
    int64_t row;
    uint64_t print; /* of all columns */
};

/* Open addressing; the size is a power of two and at most half of it is used. */
struct session_table {
    struct known *slots;
    size_t size, count;
    int64_t first, last; /* rows; 0 while there is none */
};

struct seen_sessions {
    bool begun;
    bool stale; /* something changed since the last comparison */
    int64_t version;
    int64_t next_ms; /* when to compare again, at the earliest */
    struct session_table table;
    struct place {
        char id[ID_SIZE];
        int64_t row;
    } recent[RECENT]; /* the newest messages, newest first */
    size_t recent_count;
};

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t add_to_fingerprint(uint64_t print, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        print = (print ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (print ^ 0xff) * 0x100000001b3u;
}

static struct known *find_session_slot(const struct session_table *table, const char *id)
{
    size_t at = (size_t)add_to_fingerprint(0xcbf29ce484222325u, id, strlen(id)) & (table->size - 1);
    while (*table->slots[at].id && strcmp(table->slots[at].id, id) != 0)
        at = (at + 1) & (table->size - 1);
    return &table->slots[at];
}

static const struct known *find_known_session(const struct session_table *table, const char *id)
{
    const struct known *slot = table->size ? find_session_slot(table, id) : NULL;
    return slot && *slot->id ? slot : NULL;
}

static bool grow_session_table(struct session_table *table)
{
    struct session_table larger = *table;
    larger.size = table->size ? 2 * table->size : 64;
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < table->size; i++) {
        if (*table->slots[i].id)
            *find_session_slot(&larger, table->slots[i].id) = table->slots[i];
    }
    free(table->slots);
    *table = larger;
    return true;
}

static int put_known_session(struct session_table *table, const struct known *known,
                             struct ethos_error *error)
{
    if (2 * (table->count + 1) > table->size && !grow_session_table(table))
        return err_nomem(error);
    struct known *slot = find_session_slot(table, known->id);
    table->count += !*slot->id;
    *slot = *known;
    if (!table->first || known->row < table->first)
        table->first = known->row;
    if (known->row > table->last)
        table->last = known->row;
    return ETHOS_OK;
}

static void clear_followed(struct seen_sessions *self)
{
    free(self->table.slots);
    *self = (struct seen_sessions){0};
}

void follow_free(struct db *self)
{
    if (self->follow)
        clear_followed(self->follow);
    free(self->follow);
    self->follow = NULL;
}

/* ---- one look -------------------------------------------------------------------------------- */

struct session_comparison {
    struct db *db;
    struct seen_sessions *follow;
    ethos_follow_fn *each; /* NULL: nobody is told */
    void *arg;
};

static void notify_follower(const struct session_comparison *look,
                            const struct ethos_followed *followed)
{
    if (look->each)
        look->each(look->arg, followed);
}

static void tell_lost(const struct session_comparison *look)
{
    notify_follower(look, &(struct ethos_followed){.what = "lost"});
}

/* False: an id that none of our calls could name. */
static bool read_known(sqlite3_stmt *statement, struct known *out)
{
    const char *id = (const char *)sqlite3_column_text(statement, 0);
    size_t size = id ? strlen(id) : 0;
    if (size == 0 || size >= sizeof out->id)
        return false;
    *out = (struct known){.row = sqlite3_column_int64(statement, COLUMN_ROW),
                          .print = 0xcbf29ce484222325u};
    memcpy(out->id, id, size);
    for (int i = 0; i < SESSION_COLUMN_COUNT; i++) {
        const char *text = (const char *)sqlite3_column_text(statement, i);
        out->print = add_to_fingerprint(out->print, text,
                                        text ? (size_t)sqlite3_column_bytes(statement, i) : 0);
    }
    return true;
}

static void tell_session(const struct session_comparison *look, sqlite3_stmt *statement,
                         const char *what)
{
    struct ethos_session session;
    session_row(statement, 0, &session);
    notify_follower(look, &(struct ethos_followed){
                              .what = what, .id = session.id, .updated_at = session.updated_at});
}

/* Compares a row with what `before` has of it; out gets it. An old row that nobody remembers is not news. */
static int compare_session_row(const struct session_comparison *look, sqlite3_stmt *statement,
                               const struct session_table *before, bool spoken,
                               struct session_table *out, struct ethos_error *error)
{
    struct known now;
    if (!read_known(statement, &now))
        return ETHOS_OK;
    const struct known *then = find_known_session(before, now.id);
    bool full = before->count >= FOLLOWED, old = full && now.row < before->first;
    if (then ? then->print != now.print : old && spoken)
        tell_session(look, statement, "updated");
    else if (!then && !old)
        tell_session(look, statement, "created");
    return old && spoken ? ETHOS_OK : put_known_session(out, &now, error);
}

/* ---- what is new ----------------------------------------------------------------------------- */

/* The message of a row; false: an id that is longer than anybody's. */
static bool read_message_id(sqlite3_stmt *statement, struct place *out)
{
    const char *id = (const char *)sqlite3_column_text(statement, 0);
    size_t size = id ? strlen(id) : 0;
    if (size == 0 || size >= ID_SIZE)
        return false;
    memcpy(out->id, id, size + 1);
    out->row = sqlite3_column_int64(statement, 1);
    return true;
}

static void remember_message(struct seen_sessions *self, sqlite3_stmt *statement)
{
    struct place place;
    if (!read_message_id(statement, &place))
        return;
    self->recent_count += self->recent_count < RECENT;
    memmove(&self->recent[1], &self->recent[0], (self->recent_count - 1) * sizeof place);
    self->recent[0] = place;
}

/* The row after which everything is new. -1: what was known is gone, and nobody can tell. */
static int find_last_seen_row(const struct session_comparison *look, int64_t *out,
                              struct ethos_error *error)
{
    const struct seen_sessions *self = look->follow;
    sqlite3_stmt *statement;
    *out = self->recent_count ? -1 : 0;
    for (size_t i = 0; *out < 0 && i < self->recent_count; i++) {
        int code = db_prepare(look->db, DB_FOLLOW_PLACE, &statement, error);
        if (code != ETHOS_OK)
            return code;
        db_bind(statement, 1, self->recent[i].id);
        code = db_step(look->db, statement, "follow messages", error);
        if (code < 0)
            return code;
        if (code == SQLITE_ROW)
            *out = sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
    }
    return ETHOS_OK;
}

/* The newest messages are known from now on; *out_row: the last of them. */
static int begin_messages(const struct session_comparison *look, int64_t *out_row,
                          struct ethos_error *error)
{
    struct seen_sessions *self = look->follow;
    sqlite3_stmt *statement;
    int code = db_prepare(look->db, DB_FOLLOW_LAST, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int(statement, 1, RECENT);
    self->recent_count = 0;
    *out_row = 0;
    while ((code = db_step(look->db, statement, "follow messages", error)) == SQLITE_ROW) {
        if (*out_row == 0)
            *out_row = sqlite3_column_int64(statement, 1);
        self->recent_count += read_message_id(statement, &self->recent[self->recent_count]);
    }
    return code < 0 ? code : ETHOS_OK;
}

/* Tells the messages after *place, which moves on. */
static int tell_messages(const struct session_comparison *look, int64_t *place, bool *out_more,
                         struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int count = 0, code = db_prepare(look->db, DB_FOLLOW_MESSAGES, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, *place);
    sqlite3_bind_int(statement, 2, BATCH);
    while ((code = db_step(look->db, statement, "follow messages", error)) == SQLITE_ROW) {
        const struct ethos_followed followed = {
            .what = "message",
            .message = (const char *)sqlite3_column_text(statement, 0),
            .id = (const char *)sqlite3_column_text(statement, 2),
            .role = (const char *)sqlite3_column_text(statement, 3),
        };
        if (followed.message && followed.id && followed.role)
            notify_follower(look, &followed);
        remember_message(look->follow, statement);
        *place = sqlite3_column_int64(statement, 1);
        count++;
    }
    *out_more = count == BATCH;
    return code < 0 ? code : ETHOS_OK;
}

/* Sessions with messages of these rows, and those that are new. */
static int tell_spoken(const struct session_comparison *look, int64_t from, int64_t to,
                       struct ethos_error *error)
{
    struct session_table *table = &look->follow->table;
    sqlite3_stmt *statement;
    int code = db_prepare(look->db, DB_FOLLOW_SPOKEN, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, to);
    sqlite3_bind_int64(statement, 3, table->last);
    while ((code = db_step(look->db, statement, "follow sessions", error)) == SQLITE_ROW) {
        code = compare_session_row(look, statement, table, true, table, error);
        if (code != ETHOS_OK) {
            sqlite3_reset(statement);
            return code;
        }
    }
    return code < 0 ? code : ETHOS_OK;
}

/* All that was known is gone, mostly with its session. Where those rows were there may be others by now. */
static int find_place_anew(const struct session_comparison *look, int64_t *out,
                           struct ethos_error *error)
{
    const struct seen_sessions *self = look->follow;
    int64_t oldest = self->recent[self->recent_count - 1].row;
    int code = begin_messages(look, out, error);
    if (code == ETHOS_OK && *out >= oldest)
        tell_lost(look);
    return code;
}

static int tell_new(const struct session_comparison *look, bool *out_more,
                    struct ethos_error *error)
{
    int64_t from, to;
    int code = find_last_seen_row(look, &from, error);
    if (code == ETHOS_OK && from < 0)
        code = find_place_anew(look, &from, error);
    to = from;
    if (code == ETHOS_OK)
        code = tell_messages(look, &to, out_more, error);
    return code == ETHOS_OK ? tell_spoken(look, from, to, error) : code;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int read_sessions(const struct session_comparison *look, struct session_table *out,
                         struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(look->db, DB_FOLLOW_SESSIONS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int(statement, 1, FOLLOWED);
    while ((code = db_step(look->db, statement, "follow sessions", error)) == SQLITE_ROW) {
        code = compare_session_row(look, statement, &look->follow->table, false, out, error);
        if (code != ETHOS_OK) {
            sqlite3_reset(statement);
            return code;
        }
    }
    return code < 0 ? code : ETHOS_OK;
}

/* What is not there any more, unless newer ones pushed it out of what is remembered. */
static void tell_deleted(const struct session_comparison *look, const struct session_table *now)
{
    const struct session_table *then = &look->follow->table;
    for (size_t i = 0; i < then->size; i++) {
        const struct known *known = &then->slots[i];
        bool beyond = now->count >= FOLLOWED && known->row < now->first;
        if (*known->id && !beyond && !find_known_session(now, known->id))
            notify_follower(look, &(struct ethos_followed){.what = "deleted", .id = known->id});
    }
}

static int compare_sessions(const struct session_comparison *look, struct ethos_error *error)
{
    struct seen_sessions *self = look->follow;
    struct session_table now = {0};
    int64_t start = os_monotonic_ms();
    int code = read_sessions(look, &now, error);
    if (code != ETHOS_OK) {
        free(now.slots);
        return code;
    }
    tell_deleted(look, &now);
    free(self->table.slots);
    self->table = now;
    self->stale = false;
    int64_t end = os_monotonic_ms(), rest = SHARE * (end - start);
    self->next_ms = end + (rest > PERIOD_MS ? rest : PERIOD_MS);
    return ETHOS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int remember_all_sessions(const struct session_comparison *look, struct ethos_error *error)
{
    const struct session_comparison quiet = {look->db, look->follow, NULL, NULL};
    int64_t row;
    int code = begin_messages(&quiet, &row, error);
    if (code == ETHOS_OK)
        code = compare_sessions(&quiet, error);
    look->follow->begun = code == ETHOS_OK;
    return code;
}

/* Whether anybody wrote since the last call. Without a connection of its own that cannot be known. */
static int has_changed(const struct session_comparison *look, bool *out, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(look->db, DB_FOLLOW_VERSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    code = db_step(look->db, statement, "follow it", error);
    if (code < 0)
        return code;
    int64_t version = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    *out = look->db->network || version != look->follow->version;
    look->follow->version = version;
    return ETHOS_OK;
}

static int notify_changes(const struct session_comparison *look, unsigned *out_wait_ms,
                          struct ethos_error *error)
{
    struct seen_sessions *self = look->follow;
    bool changed = false, more = false;
    int code = has_changed(look, &changed, error);
    if (code == ETHOS_OK && !self->begun)
        return remember_all_sessions(look, error);
    self->stale = self->stale || changed;
    if (code == ETHOS_OK && self->stale)
        code = tell_new(look, &more, error);
    int64_t rest = self->next_ms - os_monotonic_ms();
    if (code == ETHOS_OK && self->stale && rest <= 0)
        code = compare_sessions(look, error);
    if (code == ETHOS_OK && (self->stale || more))
        *out_wait_ms = more ? 1 : (unsigned)rest;
    return code;
}

/* Another database is in its place: what it has is not news, and what was known says nothing. */
static void start_over(const struct session_comparison *look)
{
    bool begun = look->follow->begun;
    clear_followed(look->follow);
    if (begun)
        tell_lost(look);
}

int sessions_follow(struct ethos_sessions *sessions, ethos_follow_fn *each, void *arg,
                    unsigned *out_wait_ms, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    if (!self->follow && !(self->follow = calloc(1, sizeof *self->follow)))
        return err_nomem(error);
    const struct session_comparison look = {self, self->follow, each, arg};
    *out_wait_ms = 0;
    if (self->connection && db_moved(self)) {
        db_shut(self);
        start_over(&look);
    }
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND) {
        look.follow->begun = true;
        return ETHOS_OK;
    }
    if (code == ETHOS_OK)
        code = notify_changes(&look, out_wait_ms, error);
    if (self->network)
        db_shut(self); // its lock would keep everybody out
    return code;
}
