/*
 * sessions_list.c: pages of sessions, in the order as it was when the first page was read.
 *
 * A page and what tells later whether a session has moved are read as of one moment, in one
 * statement.
 */
#include "base/err.h"
#include "core/sessions/normalize.h"
#include "core/sessions/page_cursor.h"
#include "sessions.h"

#define LIMIT 50
#define AHEAD_MS 60000 /* that somebody's clock may be ahead of ours */

enum { COLUMN_NUMBER = PG_SESSION_COUNT, COLUMN_PLACE, COLUMN_NEWEST, COLUMN_LATEST };

struct pages {
    struct pg_sessions *sessions;
    const struct ethos_session_query *query;
    struct form_span span;
    struct cursor cursor;
    unsigned limit;
    bool more;
};

static void copy_place(const char *place, char out[CURSOR_PLACE_SIZE])
{
    size_t size = place ? strnlen(place, CURSOR_PLACE_SIZE - 1) : 0;
    if (size)
        memcpy(out, place, size);
    out[size] = 0;
}

static void add_query(struct pg_params *params, const struct pages *self, const char *part)
{
    const struct ethos_session_query *query = self->query;
    const char *texts[] = {
        query->platform,  query->personality, query->working_dir, query->id_prefix, part,
        self->span.since, self->span.until};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pg_add_text(params, texts[i]);
    pg_add_number(params, (int64_t)self->limit + 1);
}

static void add_cursor_params(struct pg_params *params, const struct cursor *cursor,
                              const char *ahead)
{
    pg_add_text(params, ahead);
    if (cursor->counted) {
        pg_add_number(params, cursor->offset);
        return;
    }
    pg_add_bool(params, cursor->pinned);
    pg_add_number(params, cursor->row);
    pg_add_number(params, cursor->newest);
    pg_add_text(params, cursor->latest);
    pg_add_text(params, cursor->place);
}

static int query_page(struct pages *self, const char *part, PGresult **out_result,
                      struct ethos_error *error)
{
    struct pg_params params = {0};
    struct str people;
    char ahead[CLOCK_ISO_SIZE];
    str_init(&people, SIZE_MAX);
    clock_iso(pg_sessions_now(self->sessions) + AHEAD_MS, ahead);
    add_query(&params, self, part);
    add_cursor_params(&params, &self->cursor, ahead);
    int code = pg_add_people(&params, self->query->people, &people, error);
    if (code == ETHOS_OK)
        code = pg_sessions_ask(self->sessions, self->cursor.counted ? PG_S_LIST : PG_S_LIST_ON,
                               &params, out_result, error);
    str_release(&people);
    return code;
}

/* What is not UTF-8 is in no row, and the server would not even look. */
static bool can_fit(const struct ethos_session_query *query)
{
    const char *texts[] = {query->platform, query->personality, query->working_dir,
                           query->id_prefix, query->text};
    return form_texts(texts, sizeof texts / sizeof *texts, NULL) == ETHOS_OK;
}

/* Gives `limit` rows; the one behind them, when there is one, says that there is another page. */
static int give_page(struct pages *self, const PGresult *result, ethos_session_fn *each, void *arg)
{
    struct cursor *cursor = &self->cursor;
    int code = ETHOS_OK, count = PQntuples(result);
    self->more = count > 0 && (unsigned)count > self->limit;
    for (int i = 0; code == ETHOS_OK && i < count - self->more; i++) {
        const struct ethos_session session = pg_session_row(result, i, 0);
        if (cursor->counted) {
            cursor->newest = pg_number(result, i, COLUMN_NEWEST);
            copy_place(pg_text(result, i, COLUMN_LATEST), cursor->latest);
            cursor->counted = false;
        }
        copy_place(pg_text(result, i, COLUMN_PLACE), cursor->place);
        cursor->pinned = session.pinned;
        cursor->row = pg_number(result, i, COLUMN_NUMBER);
        self->sessions->giving = true;
        code = each(arg, &session);
        self->sessions->giving = false;
    }
    return code;
}

static int list_sessions(struct pages *self, ethos_session_fn *each, void *arg,
                         struct ethos_error *error)
{
    struct str folded;
    const char *part;
    PGresult *result;
    str_init(&folded, SIZE_MAX);
    int code = pg_fold(self->query->text, &folded, &part, error);
    if (code == ETHOS_OK)
        code = query_page(self, part, &result, error);
    str_release(&folded);
    if (code != ETHOS_OK)
        return code;
    code = give_page(self, result, each, arg);
    PQclear(result);
    return code;
}

int pg_sessions_list(struct ethos_sessions *sessions, const struct ethos_session_query *query,
                     ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                     struct ethos_error *error)
{
    struct pages self = {.sessions = pg_sessions_of(sessions),
                         .query = query,
                         .cursor = {.counted = true},
                         .limit = query->limit ? query->limit : LIMIT};
    int code = query->cursor && *query->cursor ? cursor_read(query->cursor, &self.cursor, error)
                                               : ETHOS_OK;
    if (code == ETHOS_OK)
        code = form_span(query->since, query->until, pg_sessions_now(self.sessions), &self.span,
                         error);
    if (code == ETHOS_OK && can_fit(query))
        code = list_sessions(&self, each, arg, error);
    if (code != ETHOS_OK)
        return code;
    out_cursor[0] = 0;
    if (self.more)
        cursor_write(&self.cursor, out_cursor);
    return ETHOS_OK;
}
