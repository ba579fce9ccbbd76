/*
 * sessions_check.c: what doctor is told of conversations: those that a model would refuse, and
 * words of messages that are not theirs. Reads a part at a time and keeps nobody waiting; mends the
 * words alone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "core/quote.h"
#include "core/transcript.h"
#include "sessions.h"

#define SHOWN 5 /* findings of one kind; the others are counted */

struct check {
    struct pg_sessions *sessions;
    bool fix;
    ethos_finding_fn *each;
    void *arg;
};

static void report(const struct check *check, enum ethos_severity severity, const char *subject,
                   const char *problem, const char *remedy)
{
    char subject_line[QUOTE_SIZE], problem_line[QUOTE_SIZE];
    const struct ethos_finding finding = {
        .severity = severity,
        .subject = quote_line(view_str(subject), subject_line),
        .problem = quote_line(view_str(problem), problem_line),
        .remedy = remedy,
    };
    check->each(check->arg, &finding);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* The session that is being read, and where the last part ended. */
struct sequence {
    char id[ETHOS_UUID_SIZE], time[64];
    int64_t number;
    struct arena arena;
    struct transcript transcript;
    bool wrong;
    size_t wrong_count;
};

static int take_message(const struct check *check, struct sequence *self, const PGresult *result,
                        int row, struct ethos_error *error)
{
    struct ethos_error why = {0};
    const char *id = pg_text(result, row, 0);
    if (strcmp(id, self->id) != 0) {
        arena_release(&self->arena);
        arena_init(&self->arena);
        self->transcript = (struct transcript){.arena = &self->arena};
        self->wrong = false;
        snprintf(self->id, sizeof self->id, "%s", id);
    }
    snprintf(self->time, sizeof self->time, "%s", pg_text(result, row, 4));
    self->number = pg_number(result, row, 5);
    const struct ethos_message message = {.role = pg_text(result, row, 1),
                                          .content = VIEW(""),
                                          .tool_call_id = pg_text(result, row, 2),
                                          .tool_calls = pg_text(result, row, 3)};
    int code = self->wrong ? ETHOS_OK : transcript_next(&self->transcript, &message, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    self->wrong = self->wrong || code != ETHOS_OK;
    if (code != ETHOS_OK && self->wrong_count++ < SHOWN)
        report(check, ETHOS_FINDING_WARNING, self->id, why.text, NULL);
    return ETHOS_OK;
}

static int check_some(const struct check *check, struct sequence *self, int *out_count,
                      struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, self->id);
    pg_add_text(&params, self->time);
    pg_add_number(&params, self->number);
    pg_add_number(&params, PG_CHECKED);
    int code = pg_sessions_ask(check->sessions, PG_S_SEQUENCES, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    *out_count = PQntuples(result);
    for (int i = 0; code == ETHOS_OK && i < *out_count; i++)
        code = take_message(check, self, result, i, error);
    PQclear(result);
    return code;
}

static int check_sequences(const struct check *check, struct ethos_error *error)
{
    struct sequence self = {.number = 0};
    char subject[64];
    int code = ETHOS_OK, count = PG_CHECKED;
    arena_init(&self.arena);
    while (code == ETHOS_OK && count == PG_CHECKED)
        code = check_some(check, &self, &count, error);
    arena_release(&self.arena);
    if (code != ETHOS_OK || self.wrong_count <= SHOWN)
        return code;
    snprintf(subject, sizeof subject, "%zu more sessions", self.wrong_count - SHOWN);
    report(check, ETHOS_FINDING_WARNING, subject, "have messages that a model would refuse", NULL);
    return ETHOS_OK;
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

static int compare(const struct check *check, struct pg_array *numbers, struct pg_array *terms,
                   int64_t *wrong, struct ethos_error *error)
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

static int compare_some(const struct check *check, int64_t *place, int64_t *wrong, int *out_count,
                        struct ethos_error *error)
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
        code = compare(check, &numbers, &terms, wrong, error);
    pg_array_release(&numbers);
    pg_array_release(&terms);
    str_release(&text);
    return code;
}

static int check_words(const struct check *check, struct ethos_error *error)
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
    report(check, check->fix ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, "postgres sessions",
           problem, check->fix ? "put right" : "ethos doctor --fix puts it right");
    return ETHOS_OK;
}

/* What keeps it from looking on is a finding, too; only for lack of memory it fails. */
int pg_sessions_check(struct ethos_sessions *sessions, int fix, ethos_finding_fn *each, void *arg,
                      struct ethos_error *error)
{
    const struct check check = {
        .sessions = pg_sessions_of(sessions), .fix = fix != 0, .each = each, .arg = arg};
    struct ethos_error why = {0};
    int code = check_sequences(&check, &why);
    if (code == ETHOS_OK)
        code = check_words(&check, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        report(&check, ETHOS_FINDING_ERROR, "postgres sessions", why.text,
               *why.hint ? why.hint : NULL);
    return ETHOS_OK;
}
