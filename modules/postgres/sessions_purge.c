/*
 * sessions_purge.c: a text goes out of conversations.
 *
 *     scan      every session and message is read; of those that hold the text, what is left of them
 *     rewrite   each by a statement of its own
 *     erase     rows that were replaced are vacuumed, and the index of words is made anew: words that no
 *               message has any more stay in it otherwise
 *
 * until a scan finds nothing. To make the index anew without keeping anybody waiting, the server waits for all
 * transactions that began before: so the last scan sees what they wrote.
 *
 * Bytes of a row that was replaced stay in the server's files until their page is written again, and in its log and
 * backups: the report of a purge says so.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "sessions.h"

#define ROUNDS 10
#define ROWS 200 /* read at once */

struct purging {
    struct pg_sessions *sessions;
    const struct forget *forget;
    bool dry_run;
    struct ethos_view bytes; /* that whatever holds the text has; absent: that is not known */
    uint64_t found;          /* rows, in this round */
};

/* ---- one row --------------------------------------------------------------------------------- */

/* A column of a row that may hold the text, and what is left of it. */
struct value {
    struct ethos_view old, now;
    bool json;
    struct str out;
};

static void values_release(struct value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_release(&values[i].out);
}

/* Marks them; *out_held: one of them held the text. In a dry run its lines are told, as those of the session. */
static int mark_values(const struct purging *self, const char *session, struct value *values,
                       size_t count, bool *out_held)
{
    *out_held = false;
    for (size_t i = 0; i < count; i++) {
        struct value *value = &values[i];
        uint64_t marks = 0;
        value->now = value->old;
        if (value->old.size == 0)
            continue;
        if (forget_value(self->forget, value->json, value->old, PG_MAX_MESSAGE, &value->out,
                         &marks) != ETHOS_OK)
            return ETHOS_NOMEM;
        if (marks == 0)
            continue;
        *out_held = true;
        value->now = str_view(&value->out);
        if (self->dry_run && forget_tell_value(self->forget, value->json, session, value->old,
                                               PG_MAX_MESSAGE) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static void add_text_param(struct pg_params *params, struct ethos_view text)
{
    pg_add_bytes(params, PG_TEXT, text);
}

/* ---- messages -------------------------------------------------------------------------------- */

enum { CONTENT, TOOL, CALLS, BLOCKS, COLUMNS };

static int rewrite_message(struct purging *self, int64_t number, const struct value *values,
                           struct ethos_error *error)
{
    struct pg_change change;
    struct str terms;
    bool whole = true;
    int code = pg_change_init(&change, PG_S_PURGE_MESSAGE, "a message", error);
    if (code != ETHOS_OK)
        return code;
    str_init(&terms, PG_MAX_MESSAGE);
    if (pg_terms(values[CONTENT].now, &terms, &whole) != ETHOS_OK)
        code = err_nomem(error);
    pg_add_number(&change.params, number);
    pg_add_bytes(&change.params, PG_BYTEA, values[CONTENT].now);
    for (int i = TOOL; i < COLUMNS; i++)
        add_text_param(&change.params, values[i].now);
    pg_add_text(&change.params, whole ? terms.data : NULL);
    for (int i = 0; i < COLUMNS; i++)
        change.size += values[i].now.size;
    if (code == ETHOS_OK)
        code = pg_change_send(self->sessions, &change, error);
    str_release(&terms);
    return code;
}

static int purge_message(struct purging *self, const PGresult *result, int row,
                         struct ethos_error *error)
{
    struct value values[COLUMNS];
    bool held;
    for (int i = 0; i < COLUMNS; i++) {
        values[i] = (struct value){.old = pg_bytes(result, row, 2 + i),
                                   .json = i == CALLS || i == BLOCKS};
        str_init(&values[i].out, PG_MAX_MESSAGE);
    }
    int code = mark_values(self, pg_text(result, row, 1), values, COLUMNS, &held);
    if (code != ETHOS_OK)
        err_nomem(error);
    self->found += held;
    if (code == ETHOS_OK && held && !self->dry_run)
        code = rewrite_message(self, pg_number(result, row, 0), values, error);
    values_release(values, COLUMNS);
    return code;
}

/* ---- sessions -------------------------------------------------------------------------------- */

enum { TITLE, METADATA, OF_SESSION };

static int rewrite_session(struct purging *self, const char *id, const struct value *values,
                           struct ethos_error *error)
{
    struct pg_change change;
    struct str folded;
    const char *title = NULL;
    int code = pg_change_init(&change, PG_S_PURGE_SESSION, id, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&folded, SIZE_MAX);
    code = pg_fold(values[TITLE].now.data, &folded, &title, error);
    pg_add_text(&change.params, id);
    add_text_param(&change.params, values[TITLE].now);
    pg_add_text(&change.params, title);
    add_text_param(&change.params, values[METADATA].now);
    add_text_param(&change.params, values[TITLE].old);
    add_text_param(&change.params, values[METADATA].old);
    if (code == ETHOS_OK)
        code = pg_change_send(self->sessions, &change, error);
    str_release(&folded);
    return code;
}

static int purge_session(struct purging *self, const PGresult *result, int row,
                         struct ethos_error *error)
{
    struct value values[OF_SESSION];
    const char *id = pg_text(result, row, 1);
    bool held;
    for (int i = 0; i < OF_SESSION; i++) {
        values[i] = (struct value){.old = pg_bytes(result, row, 2 + i), .json = i == METADATA};
        str_init(&values[i].out, PG_MAX_MESSAGE);
    }
    int code = mark_values(self, id, values, OF_SESSION, &held);
    if (code != ETHOS_OK)
        err_nomem(error);
    self->found += held;
    if (code == ETHOS_OK && held && !self->dry_run)
        code = rewrite_session(self, id, values, error);
    values_release(values, OF_SESSION);
    return code;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int purge_key(struct purging *self, const PGresult *result, int row,
                     struct ethos_error *error)
{
    struct value name = {.old = pg_bytes(result, row, 2)};
    const char *prefix = pg_text(result, row, 1);
    struct pg_change change;
    bool held;
    str_init(&name.out, PG_MAX_MESSAGE);
    int code = mark_values(self, prefix, &name, 1, &held);
    if (code != ETHOS_OK)
        err_nomem(error);
    self->found += held;
    if (code == ETHOS_OK && held && !self->dry_run) {
        code = pg_change_init(&change, PG_S_PURGE_KEY, prefix, error);
        pg_add_text(&change.params, prefix);
        add_text_param(&change.params, name.now);
        if (code == ETHOS_OK)
            code = pg_change_send(self->sessions, &change, error);
    }
    str_release(&name.out);
    return code;
}

/* ---- tables ---------------------------------------------------------------------------------- */

typedef int row_fn(struct purging *self, const PGresult *result, int row,
                   struct ethos_error *error);

static int purge_table(struct purging *self, enum pg_statement which, row_fn *purge,
                       uint64_t *out_count, struct ethos_error *error)
{
    int64_t place = 0;
    int code = ETHOS_OK, count = ROWS;
    self->found = 0;
    while (code == ETHOS_OK && count == ROWS) {
        struct pg_params params = {0};
        PGresult *result;
        pg_add_number(&params, place);
        pg_add_number(&params, ROWS);
        if (which == PG_S_SCAN_MESSAGES)
            pg_add_bytes(&params, PG_BYTEA, self->bytes);
        code = pg_sessions_ask(self->sessions, which, &params, &result, error);
        if (code != ETHOS_OK)
            break;
        count = PQntuples(result);
        for (int i = 0; code == ETHOS_OK && i < count; i++) {
            place = pg_number(result, i, 0);
            code = purge(self, result, i, error);
        }
        PQclear(result);
    }
    *out_count += self->found;
    return code;
}

/* Case and normal forms are for forget_holds alone; other texts hold exactly these bytes, or an escape. */
static struct ethos_view bytes_of(const struct ethos_match *match)
{
    bool known = !(match->flags & ETHOS_MATCH_ANY_CASE);
    for (size_t i = 0; i < match->text.size; i++)
        known = known && (unsigned char)match->text.data[i] < 0x80;
    return known ? match->text : (struct ethos_view){0};
}

/* Behind a pooler this may take no longer than a statement may. */
static int erase(struct pg_sessions *self, struct ethos_error *error)
{
    static const char *const steps[] = {
        "SET statement_timeout = 0", "DROP INDEX IF EXISTS @.message_terms_ccnew",
        "VACUUM @.session, @.message", "REINDEX INDEX CONCURRENTLY @.message_terms"};
    const char *schema = self->store->settings.schema;
    int code = pg_sessions_steps(self, steps, sizeof steps / sizeof *steps, error);
    return code == ETHOS_DENIED
               ? err_hint(error, code,
                          "messages were rewritten; whoever owns the tables runs: VACUUM "
                          "\"%s\".message; REINDEX INDEX \"%s\".message_terms",
                          schema, schema)
               : code;
}

int pg_sessions_purge(struct ethos_sessions *sessions, const struct ethos_match *match, int dry_run,
                      struct ethos_session_purge *out_purge, struct ethos_error *error)
{
    struct forget forget;
    struct ethos_session_purge total = {0};
    struct purging purging = {.sessions = pg_sessions_of(sessions),
                              .forget = &forget,
                              .dry_run = dry_run != 0,
                              .bytes = bytes_of(match)};
    uint64_t found = 1;
    int code = forget_init(&forget, match, error);
    for (int i = 0; code == ETHOS_OK && found > 0 && i < ROUNDS; i++) {
        uint64_t before = total.sessions + total.messages + total.keys;
        code = purge_table(&purging, PG_S_SCAN_SESSIONS, purge_session, &total.sessions, error);
        if (code == ETHOS_OK)
            code = purge_table(&purging, PG_S_SCAN_MESSAGES, purge_message, &total.messages, error);
        if (code == ETHOS_OK)
            code = purge_table(&purging, PG_S_SCAN_KEYS, purge_key, &total.keys, error);
        found = total.sessions + total.messages + total.keys - before;
        if (dry_run)
            break;
        if (code == ETHOS_OK && found > 0)
            code = erase(pg_sessions_of(sessions), error);
    }
    if (code == ETHOS_OK && !dry_run && found > 0)
        code = err_hint(
            error, err_set(error, ETHOS_BUSY, "postgres: another program keeps writing this text"),
            "stop the program that writes it, then try again");
    *out_purge = total;
    return code;
}
