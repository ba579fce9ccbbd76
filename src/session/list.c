/*
 * list.c: pages of sessions.
 *
 * A page goes on from the place where the last one ended, in the order as it was when the first page
 * was read: a session that somebody appends to meanwhile keeps its old place for this reader. So it is
 * neither left out for having moved to pages that were read already, nor shown twice.
 */
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "core/sessions/page_cursor.h"
#include "session/operations.h"
#include "session/owners.h"
#include "session/rows.h"

#define LIMIT 50
#define AHEAD_MS 60000 /* that somebody's clock may be ahead of ours */

enum { COLUMN_ROW = SESSION_COLUMN_COUNT, COLUMN_PLACE };

static void bind_query(sqlite3_stmt *statement, const struct ethos_session_query *query,
                       const struct form_span *span)
{
    db_bind(statement, 1, query->platform);
    db_bind(statement, 2, query->personality);
    db_bind(statement, 3, query->working_dir);
    db_bind(statement, 4, query->id_prefix);
    db_bind(statement, 5, query->text);
    db_bind(statement, 6, span->since);
    if (span->until)
        db_bind(statement, 14, span->until);
}

static void bind_cursor(sqlite3_stmt *statement, const struct cursor *cursor, const char *ahead)
{
    if (cursor->counted) {
        sqlite3_bind_int64(statement, 8, cursor->offset);
        return;
    }
    sqlite3_bind_int(statement, 8, cursor->pinned);
    db_bind(statement, 9, cursor->place);
    sqlite3_bind_int64(statement, 10, cursor->row);
    sqlite3_bind_int64(statement, 11, cursor->newest);
    db_bind(statement, 12, cursor->latest);
    db_bind(statement, 13, ahead);
}

/* Of a long list, asking for nothing in particular is a good deal faster without the conditions. */
static enum db_statement choose_list_statement(const struct ethos_session_query *query,
                                               const struct people_set *people,
                                               const struct cursor *cursor)
{
    bool some = !people->all || query->platform || query->personality || query->working_dir ||
                query->id_prefix || query->text || query->since || query->until;
    return !cursor->counted ? DB_LIST_ON : some ? DB_LIST_SOME : DB_LIST;
}

static void copy_place(sqlite3_stmt *statement, int column, char out[CURSOR_PLACE_SIZE])
{
    const char *place = (const char *)sqlite3_column_text(statement, column);
    size_t size = place ? strnlen(place, CURSOR_PLACE_SIZE - 1) : 0;
    if (size)
        memcpy(out, place, size);
    out[size] = 0;
}

/*
 * What there is when the first page is read, as of the moment of its statement, which is not done yet. The
 * first session is the latest, unless something else put it there, or later ones were left out.
 */
static int note_moment(struct db *self, const struct ethos_session *first, bool ended,
                       const char *ahead, struct cursor *cursor, struct ethos_error *error)
{
    bool known = !first->pinned && !ended && cursor->offset == 0 &&
                 strcmp(first->updated_at, ahead) <= 0;
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_LIST_MOMENT, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, known ? first->updated_at : NULL);
    db_bind(statement, 2, ahead);
    code = db_step(self, statement, "list sessions", error);
    if (code < 0)
        return code;
    cursor->newest = sqlite3_column_int64(statement, 0);
    copy_place(statement, 1, cursor->latest);
    cursor->counted = false;
    sqlite3_reset(statement);
    return ETHOS_OK;
}

/* The cursor that goes on behind this row. */
static void note_place(sqlite3_stmt *statement, int pinned, struct cursor *cursor)
{
    copy_place(statement, COLUMN_PLACE, cursor->place);
    cursor->pinned = pinned;
    cursor->row = sqlite3_column_int64(statement, COLUMN_ROW);
}

struct session_list {
    struct db *db;
    const struct ethos_session_query *query;
    struct form_span span;
    struct cursor cursor;
    char ahead[CLOCK_ISO_SIZE];
    ethos_session_fn *each;
    void *arg;
    bool more;
};

/* Gives `limit` rows; the one behind them, when there is one, says that there is another page. */
static int give_page(struct session_list *self, sqlite3_stmt *statement, unsigned limit,
                     struct ethos_error *error)
{
    struct ethos_session session;
    struct cursor *cursor = &self->cursor;
    for (unsigned i = 0; i < limit; i++) {
        int step = db_step(self->db, statement, "list sessions", error);
        if (step != SQLITE_ROW)
            return step < 0 ? step : ETHOS_OK;
        session_row(statement, 0, &session);
        int code = cursor->counted ? note_moment(self->db, &session, self->span.until, self->ahead,
                                                 cursor, error)
                                   : ETHOS_OK;
        if (code != ETHOS_OK)
            return code;
        note_place(statement, session.pinned, cursor);
        code = people_fill(self->db, &session, error);
        if (code != ETHOS_OK)
            return code;
        int stop = self->each(self->arg, &session);
        if (stop != 0)
            return stop;
    }
    int step = db_step(self->db, statement, "list sessions", error);
    self->more = step == SQLITE_ROW;
    return step < 0 ? step : ETHOS_OK;
}

static int run_pages(struct session_list *self, const struct people_set *people,
                     struct ethos_error *error)
{
    const struct ethos_host *host = self->db->host;
    unsigned limit = self->query->limit ? self->query->limit : LIMIT;
    sqlite3_stmt *statement;
    int code = db_prepare(self->db, choose_list_statement(self->query, people, &self->cursor),
                          &statement, error);
    if (code != ETHOS_OK)
        return code;
    clock_iso(host->now_ms(host->arg) + AHEAD_MS, self->ahead);
    bind_query(statement, self->query, &self->span);
    if (!people->all)
        sqlite3_bind_int(statement, 15, 1);
    sqlite3_bind_int64(statement, 7, (int64_t)limit + 1);
    bind_cursor(statement, &self->cursor, self->ahead);
    code = give_page(self, statement, limit, error);
    sqlite3_reset(statement);
    return code;
}

static int list_session_rows(struct session_list *self, struct ethos_error *error)
{
    struct arena arena;
    struct people_set people;
    arena_init(&arena);
    int code = people_find(self->db, self->query->people, &arena, &people, error);
    if (code == ETHOS_OK) {
        self->db->people = &people;
        code = run_pages(self, &people, error);
        self->db->people = NULL;
    }
    arena_release(&arena);
    return code;
}

int sessions_list(struct ethos_sessions *sessions, const struct ethos_session_query *query,
                  ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                  struct ethos_error *error)
{
    struct session_list self = {.db = db_of(sessions),
                                .query = query,
                                .cursor = {.counted = true},
                                .each = each,
                                .arg = arg};
    int code = query->cursor && *query->cursor ? cursor_read(query->cursor, &self.cursor, error)
                                               : ETHOS_OK;
    if (code == ETHOS_OK)
        code = form_span(query->since, query->until, self.db->host->now_ms(self.db->host->arg),
                         &self.span, error);
    if (code == ETHOS_OK)
        code = db_ready(self.db, false, error);
    if (code == ETHOS_OK)
        code = list_session_rows(&self, error);
    else if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK; // no database: no sessions
    if (code != ETHOS_OK)
        return code;
    if (self.more)
        cursor_write(&self.cursor, out_cursor);
    else
        out_cursor[0] = 0;
    return ETHOS_OK;
}
