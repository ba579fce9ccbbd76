/*
 * sessions_search.c: which messages fit a query.
 *
 * The server proposes by its index of words and puts the newest SEARCH_RANKED in order; every
 * message that it gives is asked by core/search/query before it is shown, so that the same is found as
 * anywhere else.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "core/sessions/normalize.h"
#include "core/sessions/search_hits.h"
#include "sessions.h"

#define SPARE 10 /* more than the limit are asked for: some may turn out not to fit */
_Static_assert(SEARCH_RANKED == 2000, "sessions_sql.c knows it");

enum {
    COLUMN_SESSION = PG_MESSAGE_COUNT,
    COLUMN_BEST = PG_MESSAGE_COUNT + PG_SESSION_COUNT,
    COLUMN_FOUND,
    COLUMN_TIME,
    COLUMN_NUMBER
};

struct search_run {
    struct pg_sessions *sessions;
    struct search_show show;
    struct str words, whole, exact, best, people;
};

/* The newest SEARCH_RANKED that are older than a place. */
struct window {
    const char *words; /* what they have */
    bool bounded;      /* there is a place */
    char time[CLOCK_ISO_SIZE];
    int64_t number;
    int64_t offset; /* of the rows that come next */
    /* out */
    int64_t best, found;
    bool ended; /* there are no more rows */
};

/* ---- windows --------------------------------------------------------------------------------- */

static const char *bound(int64_t ms, int64_t none, char out[CLOCK_ISO_SIZE])
{
    if (ms == none)
        return NULL;
    clock_iso(ms, out);
    return out;
}

static int query_window(struct search_run *run, const struct window *window, PGresult **out_result,
                        struct ethos_error *error)
{
    const struct ethos_search *search = run->show.search;
    struct pg_params params = {0};
    char since[CLOCK_ISO_SIZE], until[CLOCK_ISO_SIZE];
    pg_add_written(&params, PG_TSQUERY, window->words);
    pg_add_written(&params, PG_TSQUERY, run->whole.data);
    pg_add_written(&params, PG_TSQUERY, run->exact.size ? run->exact.data : NULL);
    pg_add_text(&params, search->session);
    pg_add_text(&params, search->role);
    pg_add_text(&params, search->working_dir);
    pg_add_text(&params, bound(run->show.since, INT64_MIN + 1, since));
    pg_add_text(&params, bound(run->show.until, INT64_MAX, until));
    pg_add_text(&params, window->bounded ? window->time : NULL);
    pg_add_number(&params, window->number);
    pg_add_bool(&params, search->newest != 0);
    pg_add_number(&params, (int64_t)(run->show.limit - run->show.shown_count) + SPARE);
    pg_add_number(&params, window->offset);
    str_clear(&run->people);
    int code = pg_add_people(&params, search->people, &run->people, error);
    if (code != ETHOS_OK)
        return code;
    return pg_sessions_ask(run->sessions, PG_S_SEARCH, &params, out_result, error);
}

/* Notes what an answer says of its window, and of the one behind. */
static void measure(const PGresult *result, struct window *window, struct window *next)
{
    int count = PQntuples(result);
    window->ended = count == 0;
    window->offset += count;
    if (count == 0)
        return;
    const char *time = pg_text(result, 0, COLUMN_TIME);
    window->best = pg_number(result, 0, COLUMN_BEST);
    window->found = pg_number(result, 0, COLUMN_FOUND);
    *next = (struct window){.words = window->words,
                            .bounded = strlen(time) < sizeof next->time,
                            .number = pg_number(result, 0, COLUMN_NUMBER)};
    if (next->bounded)
        memcpy(next->time, time, strlen(time) + 1);
}

static int show_rows(struct search_run *run, const PGresult *result, struct ethos_error *error)
{
    int code = ETHOS_OK;
    run->sessions->giving = true;
    for (int i = 0; code == ETHOS_OK && i < PQntuples(result) && !search_show_full(&run->show);
         i++) {
        struct ethos_message message = pg_message_row(result, i, 0);
        const struct ethos_session session = pg_session_row(result, i, COLUMN_SESSION);
        code = search_show(&run->show, &message, &session, error);
    }
    run->sessions->giving = false;
    return code;
}

/*
 * Above SEARCH_RANKED the newest are ranked; if too few of those are as typed, older ones that are
 * come first.
 */
static bool want_best(const struct search_run *run, const struct window *window)
{
    return !run->show.search->newest && window->found == SEARCH_RANKED &&
           window->best < (int64_t)run->show.limit;
}

/*
 * Window after window, until enough was shown; first: what comes before all of them is not known
 * yet.
 */
static int show_windows(struct search_run *run, const char *words, bool first,
                        struct ethos_error *error)
{
    struct window window = {.words = words}, next = {.bounded = false};
    int code = ETHOS_OK;
    while (code == ETHOS_OK && !search_show_full(&run->show)) {
        PGresult *result;
        code = query_window(run, &window, &result, error);
        if (code != ETHOS_OK)
            break;
        measure(result, &window, &next);
        if (first && want_best(run, &window))
            code = show_windows(run, run->best.data, false, error);
        first = false;
        if (code == ETHOS_OK)
            code = show_rows(run, result, error);
        PQclear(result);
        if (window.ended && (window.found < SEARCH_RANKED || !next.bounded))
            break;
        if (window.ended)
            window = next;
    }
    return code;
}

/* ---- from outside ---------------------------------------------------------------------------- */

/* What is not UTF-8 is in no row, and the server would not even look. */
static bool can_fit(const struct ethos_search *search)
{
    const char *texts[] = {search->session, search->role, search->working_dir};
    return form_texts(texts, sizeof texts / sizeof *texts, NULL) == ETHOS_OK;
}

static int write_queries(struct search_run *run, struct ethos_error *error)
{
    int codes[] = {pg_terms_query(&run->show.query, &run->words),
                   pg_terms_whole(&run->show.query, &run->whole),
                   pg_terms_exact(&run->show.query, &run->exact)};
    str_printf(&run->best, "(%s)&(%s)", run->words.data, run->whole.data);
    if (run->exact.size)
        str_printf(&run->best, "&(%s)", run->exact.data);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i] != ETHOS_OK || str_code(&run->best) != ETHOS_OK)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

int pg_search(struct ethos_sessions *sessions, const struct ethos_search *search,
              ethos_hit_fn *each, void *arg, struct ethos_error *error)
{
    struct search_run run = {.sessions = pg_sessions_of(sessions)};
    struct str *const texts[] = {&run.words, &run.whole, &run.exact, &run.best, &run.people};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        str_init(texts[i], SIZE_MAX);
    int code = search_show_begin(&run.show, search, pg_sessions_now(run.sessions), each, arg,
                                 error);
    if (code == ETHOS_OK && run.show.query.count > 0 && can_fit(search)) {
        code = write_queries(&run, error);
        if (code == ETHOS_OK)
            code = show_windows(&run, run.words.data, true, error);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        str_release(texts[i]);
    return search_show_end(&run.show, code);
}
