/*
 * sessions_check.c: what doctor is told of conversations: those that a model would refuse, and
 * words of messages that are not theirs. Reads a part at a time and keeps nobody waiting; mends the
 * words alone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/view.h"
#include "core/sessions/check.h"
#include "sessions.h"

struct session_terms_check {
    struct pg_sessions *sessions;
    bool fix;
    ethos_finding_fn *each;
    void *arg;
};

static void report_session_finding(const struct session_terms_check *check,
                                   enum ethos_severity severity, const char *problem,
                                   const char *remedy)
{
    session_finding(check->each, check->arg, severity, "postgres sessions", problem, remedy);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Where the last part ended. */
struct check_position {
    char id[ETHOS_UUID_SIZE], time[64];
    int64_t number;
};

static int take_message(struct session_check *sequence, struct check_position *place,
                        const PGresult *result, int row, struct ethos_error *error)
{
    const struct ethos_message message = {.role = pg_text(result, row, 1),
                                          .content = VIEW(""),
                                          .tool_call_id = pg_text(result, row, 2),
                                          .tool_calls = pg_text(result, row, 3)};
    snprintf(place->id, sizeof place->id, "%s", pg_text(result, row, 0));
    snprintf(place->time, sizeof place->time, "%s", pg_text(result, row, 4));
    place->number = pg_number(result, row, 5);
    return session_check_take(sequence, place->id, &message, error);
}

static int check_some(const struct session_terms_check *check, struct session_check *sequence,
                      struct check_position *place, int *out_count, struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, place->id);
    pg_add_text(&params, place->time);
    pg_add_number(&params, place->number);
    pg_add_number(&params, PG_CHECKED);
    int code = pg_sessions_ask(check->sessions, PG_S_SEQUENCES, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    *out_count = PQntuples(result);
    for (int i = 0; code == ETHOS_OK && i < *out_count; i++)
        code = take_message(sequence, place, result, i, error);
    PQclear(result);
    return code;
}

static int check_sequences(const struct session_terms_check *check, struct ethos_error *error)
{
    struct session_check sequence;
    struct check_position place = {.number = 0};
    int code = ETHOS_OK, count = PG_CHECKED;
    session_check_begin(&sequence, check->each, check->arg);
    while (code == ETHOS_OK && count == PG_CHECKED)
        code = check_some(check, &sequence, &place, &count, error);
    session_check_end(&sequence, code == ETHOS_OK);
    return code;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int add_terms(struct pg_array *terms, struct str *text, struct ethos_view content,
                     struct ethos_error *error)
{
    bool whole;
    str_clear(text);
    if (pg_terms(content, text, &whole) != ETHOS_OK)
        return err_nomem(error);
    pg_array_text(terms, whole ? text->data : NULL);
    return ETHOS_OK;
}

static int compare_terms(const struct session_terms_check *check, struct pg_array *numbers,
                         struct pg_array *terms, int64_t *wrong, struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    if (pg_array_end(numbers) != ETHOS_OK || pg_array_end(terms) != ETHOS_OK)
        return err_nomem(error);
    pg_add_bytes(&params, PG_INT8S, str_view(&numbers->bytes));
    pg_add_bytes(&params, PG_TEXTS, str_view(&terms->bytes));
    pg_add_bool(&params, check->fix);
    int code = pg_sessions_ask(check->sessions, PG_S_TERMS_FIX, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    *wrong += pg_number(result, 0, 0);
    PQclear(result);
    return ETHOS_OK;
}

static int compare_some(const struct session_terms_check *check, int64_t *place, int64_t *wrong,
                        int *out_count, struct ethos_error *error)
{
    struct pg_params params = {0};
    struct pg_array numbers, terms;
    struct str text;
    PGresult *result;
    pg_add_number(&params, *place);
    pg_add_number(&params, PG_CHECKED);
    int code = pg_sessions_ask(check->sessions, PG_S_TERMS, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&text, PG_MAX_MESSAGE);
    pg_array_init(&numbers, PG_INT8);
    pg_array_init(&terms, PG_TEXT);
    *out_count = PQntuples(result);
    for (int i = 0; code == ETHOS_OK && i < *out_count; i++) {
        *place = pg_number(result, i, 0);
        pg_array_number(&numbers, *place);
        code = add_terms(&terms, &text, pg_bytes(result, i, 1), error);
    }
    PQclear(result);
    if (code == ETHOS_OK && *out_count > 0)
        code = compare_terms(check, &numbers, &terms, wrong, error);
    pg_array_release(&numbers);
    pg_array_release(&terms);
    str_release(&text);
    return code;
}

static int check_words(const struct session_terms_check *check, struct ethos_error *error)
{
    int64_t place = 0, wrong = 0;
    int code = ETHOS_OK, count = PG_CHECKED;
    char problem[120];
    while (code == ETHOS_OK && count == PG_CHECKED)
        code = compare_some(check, &place, &wrong, &count, error);
    if (code != ETHOS_OK || wrong == 0)
        return code;
    snprintf(problem, sizeof problem, "the words of %" PRId64 " message%s are not as they read",
             wrong, wrong == 1 ? "" : "s");
    report_session_finding(check, check->fix ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, problem,
                           check->fix ? "put right" : "ethos doctor --fix repairs it");
    return ETHOS_OK;
}

/* What keeps it from looking on is a finding, too; only for lack of memory it fails. */
int pg_sessions_check(struct ethos_sessions *sessions, int fix, ethos_finding_fn *each, void *arg,
                      struct ethos_error *error)
{
    const struct session_terms_check check = {
        .sessions = pg_sessions_of(sessions), .fix = fix != 0, .each = each, .arg = arg};
    struct ethos_error why = {0};
    int code = check_sequences(&check, &why);
    if (code == ETHOS_OK)
        code = check_words(&check, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        report_session_finding(&check, ETHOS_FINDING_ERROR, why.text, *why.hint ? why.hint : NULL);
    return ETHOS_OK;
}
