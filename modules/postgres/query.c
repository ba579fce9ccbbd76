/*
 * query.c: one statement and its answer; what an error of the server means.
 *
 * A statement is done when the server is ready for the next one, not when its result is here: in between
 * it commits. Whoever hears an error on a connection that stands knows that nothing was done; when the
 * connection is gone, nothing is known, whatever was said before.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "postgres.h"

/* ---- the statements -------------------------------------------------------------------------- */

/* Of a text: all that is known of it but what it is in; $1 is the longest end, $2 whether the revision. */
#define GATHERED                                                                                   \
    "SELECT scope, key, length(content)::int8, time_ms, CASE WHEN $2 THEN revision END,"           \
    " CASE WHEN length(content) > $1 THEN substr(content, (length(content) - $1 + 1)::int4)"       \
    " ELSE content END FROM @.text WHERE "

#define OF(scope, key) "scope = $" #scope " AND key = $" #key

static const char *const statements[PG_STATEMENTS] = {
    [PG_GATHER] = GATHERED OF(3, 4),
    [PG_GATHER + 1] = GATHERED OF(3, 4) " OR " OF(5, 6),
    [PG_GATHER + 2] = GATHERED OF(3, 4) " OR " OF(5, 6) " OR " OF(7, 8),
    [PG_GATHER + 3] = GATHERED OF(3, 4) " OR " OF(5, 6) " OR " OF(7, 8) " OR " OF(9, 10),
    [PG_GATHER +
        4] = GATHERED OF(3, 4) " OR " OF(5, 6) " OR " OF(7, 8) " OR " OF(9, 10) " OR " OF(11, 12),
    [PG_GATHER_MANY] = GATHERED "(scope, key) IN (SELECT * FROM unnest($3, $4))",
    [PG_LIST] = "SELECT key, length(content)::int8, time_ms FROM @.text WHERE scope = $1"
                " ORDER BY key",
    [PG_SCOPES] = "SELECT name FROM @.scope ORDER BY name",
    [PG_FETCH] = "SELECT 0, name, version, NULL::text, NULL::bytea FROM @.scope WHERE name = $1"
                 " UNION ALL SELECT 1, key, time_ms, revision, content FROM @.text"
                 " WHERE scope = $1 AND key = ANY ($2)"
                 " UNION ALL SELECT 2, id, time_ms, NULL::text, record FROM @.operation"
                 " WHERE scope = $1 AND id = ANY ($3)",
#define ROW                                                                                        \
    "SELECT number, time_ms, key, actions, source, via, actor, session, session_key, \"user\","    \
    " op_id, event, undoes, before, after, bytes_before, bytes_after, diff, diff_whole, whole,"    \
    " base, trust, approved_by, edited_from FROM @.history WHERE scope = $1 AND "
    [PG_ROWS] = ROW "number < $2 ORDER BY number DESC LIMIT $3",
    [PG_ROWS_OF_KEY] = ROW "number < $2 AND key = $4 ORDER BY number DESC LIMIT $3",
#undef ROW
    [PG_COPIES] = "SELECT id, key, time_ms, content FROM @.copy WHERE scope = $1"
                  " AND ($2 IS NULL OR id = $2) ORDER BY time_ms, id",
    /* Of a commit: the version its scope has, and whether it was this one that made it or its rows. */
    [PG_SEEN] = "SELECT version, version = $2 AND token = $3 OR EXISTS (SELECT FROM @.history"
                " WHERE scope = $1 AND number > $4 AND number <= $2 AND token = $3)"
                " FROM @.scope WHERE name = $1",
    [PG_VERSIONS] = "SELECT name, version FROM @.scope ORDER BY name",
    /* Of the commit that had this token, unless another came, which is told then. Nothing waits for the disk. */
    [PG_TELL] = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('@', name)::text"
                " FROM @.scope WHERE name = $1 AND token = $2",
};

/* Whether the name is a string of its own, not part of SQL. */
static bool is_string(const char *template, const char *at)
{
    return at > template && at[-1] == '\'' && at[1] == '\'';
}

int pg_sql(const struct pg_settings *settings, const char *template, char out[PG_MAX_STATEMENT])
{
    char quoted[PG_MAX_SCHEMA + 3];
    size_t used = 0;
    snprintf(quoted, sizeof quoted, "\"%s\"", settings->schema);
    for (const char *from = template; *from;) {
        size_t taken = from[0] == '@' && from[1] == '@' ? 2 : 1;
        bool named = *from == '@' && taken == 1;
        const char *more = !named ? from : is_string(template, from) ? settings->schema : quoted;
        size_t size = named ? strlen(more) : taken;
        if (used + size >= PG_MAX_STATEMENT)
            return ETHOS_INTERNAL;
        memcpy(out + used, more, size);
        used += size;
        from += taken;
    }
    out[used] = 0;
    return ETHOS_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool in_pipeline(const struct pg_link *self)
{
    return PQpipelineStatus(self->conn) != PQ_PIPELINE_OFF;
}

static bool is_prepared(const struct pg_link *self, const struct pg_query *query)
{
    return query->name && !self->facts.pooled;
}

/* Prepares and executes in one go. */
static int send_one(struct pg_link *self, const struct pg_query *query)
{
    static const struct pg_params none;
    const struct pg_params *p = query->params ? query->params : &none;
    if (!is_prepared(self, query))
        return PQsendQueryParams(self->conn, query->sql, p->count, p->types, p->values, p->lengths,
                                 p->formats, 1);
    if (!*query->prepared &&
        !PQsendPrepare(self->conn, query->name, query->sql, p->count, p->types))
        return 0;
    return query->alone || PQsendQueryPrepared(self->conn, query->name, p->count, p->values,
                                               p->lengths, p->formats, 1);
}

static int send_query(struct pg_link *self, const struct pg_query *query)
{
    if (query->script)
        return PQsendQuery(self->conn, query->sql);
    bool several = query->also || (is_prepared(self, query) && !*query->prepared);
    if (!several || query->alone)
        return send_one(self, query);
    return PQenterPipelineMode(self->conn) && send_one(self, query) && PQpipelineSync(self->conn) &&
           (!query->also || (send_one(self, query->also) && PQpipelineSync(self->conn)));
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Until PQgetResult has something to say without waiting, or the deadline. */
static bool wait_for_result(struct pg_link *self, int64_t until)
{
    for (;;) {
        int unsent = PQflush(self->conn);
        if (unsent < 0 || !PQisBusy(self->conn))
            return true;
        int64_t left = until - os_monotonic_ms();
        struct pollfd fd = {PQsocket(self->conn), (short)(POLLIN | (unsent ? POLLOUT : 0)), 0};
        if (reach_poll(&self->reach, &fd, 1, left > 0 ? (int)left : 0) <= 0)
            return false;
        if ((fd.revents & ~POLLOUT) && !PQconsumeInput(self->conn))
            return true;
    }
}

/* Keeps the first error, else the last answer. True: go on. A statement that fails stays prepared. */
static bool take_result(struct pg_link *self, const struct pg_query *query, PGresult *result,
                        PGresult **kept, bool *failed)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK && is_prepared(self, query) &&
        (in_pipeline(self) || query->alone))
        *query->prepared = true;
    if (status == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        return false;
    }
    bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (*failed || (!good && status != PGRES_FATAL_ERROR)) {
        PQclear(result);
        return true;
    }
    if (!good) {
        const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        pg_note(self, state ? state : "", primary ? primary : PQresultErrorMessage(result));
        *failed = true;
    }
    PQclear(*kept);
    *kept = result;
    return true;
}

/* What the connection knows of statements, types and tables is no longer so. */
static bool is_stale(const char *state)
{
    return (strncmp(state, "42", 2) == 0 && strcmp(state, "42501") != 0) ||
           strcmp(state, "26000") == 0 || strcmp(state, "0A000") == 0 ||
           strcmp(state, "3F000") == 0;
}

/* All that comes up to the end of a transaction. False when it does not come in time. */
static bool collect_results(struct pg_link *self, const struct pg_query *query, int64_t until,
                            PGresult **kept, bool *failed)
{
    bool more = true;
    while (more) {
        if (!wait_for_result(self, until))
            return false;
        PGresult *result = PQgetResult(self->conn);
        if (result)
            more = take_result(self, query, result, kept, failed);
        else
            more = in_pipeline(self) && PQstatus(self->conn) == CONNECTION_OK;
    }
    return true;
}

/* Whatever it says; if it says nothing, the connection goes. */
static void collect_also(struct pg_link *self, const struct pg_query *query, int64_t until)
{
    PGresult *result = NULL;
    bool failed = false;
    char sqlstate[sizeof self->sqlstate], message[sizeof self->message];
    memcpy(sqlstate, self->sqlstate, sizeof sqlstate);
    memcpy(message, self->message, sizeof message);
    if (PQstatus(self->conn) == CONNECTION_OK &&
        !collect_results(self, query, until, &result, &failed))
        pg_link_drop(self);
    PQclear(result);
    memcpy(self->sqlstate, sqlstate, sizeof sqlstate);
    memcpy(self->message, message, sizeof message);
}

enum pg_answer pg_exchange(struct pg_link *self, const struct pg_query *query, int64_t until,
                           PGresult **out_result)
{
    PGresult *kept = NULL;
    *self->sqlstate = 0;
    bool failed = !send_query(self, query);
    if (failed) {
        pg_note(self, "", PQerrorMessage(self->conn));
    } else if (!collect_results(self, query, until, &kept, &failed)) {
        pg_note(self, "", "no answer within the deadline");
        pg_link_drop(self);
        PQclear(kept);
        return PG_LOST;
    }
    bool whole = PQstatus(self->conn) == CONNECTION_OK;
    if (whole && query->also && !query->alone && in_pipeline(self))
        collect_also(self, query->also, until);
    if (in_pipeline(self) && PQstatus(self->conn) == CONNECTION_OK)
        PQexitPipelineMode(self->conn);
    if (whole && !failed && kept) {
        *out_result = kept;
        return PG_ANSWERED;
    }
    PQclear(kept);
    bool refused = whole && *self->sqlstate;
    if (!refused || (self->state == PG_READY && is_stale(self->sqlstate)))
        pg_link_drop(self);
    return refused ? PG_REFUSED : PG_LOST;
}

typedef enum pg_answer exchange_fn(struct pg_link *self, struct pg_query *query, int64_t until,
                                   PGresult **out_result);

/*
 * libpq moves all that is left each time a socket takes a part of it: the less often, the better. And the
 * server's clock runs from the first message: what takes long to be sent is prepared before.
 */
enum pg_answer pg_exchange_large(struct pg_link *self, struct pg_query *query, int64_t until,
                                 PGresult **out_result)
{
    int most = PG_LARGE;
    setsockopt(PQsocket(self->conn), SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    if (!*query->prepared && !self->facts.pooled) {
        query->alone = true;
        enum pg_answer answer = pg_exchange(self, query, until, out_result);
        if (answer != PG_ANSWERED)
            return answer;
        PQclear(*out_result);
        query->alone = false;
    }
    return pg_exchange(self, query, until, out_result);
}

uint32_t pg_patience(const struct pg_settings *settings, size_t size)
{
    uint32_t ms = settings->deadline_ms > settings->statement_ms ? settings->deadline_ms
                                                                 : settings->statement_ms;
    return ms + (uint32_t)(size / PG_SLOWEST);
}

int pg_query_of(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
                struct pg_written *room, struct pg_query *out)
{
    const char *template = which < PG_OF_SESSIONS ? statements[which]
                                                  : pg_session_statements[which - PG_OF_SESSIONS];
    *out = (struct pg_query){
        .sql = room->sql, .name = room->name, .prepared = &self->prepared[which], .params = params};
    snprintf(room->name, sizeof room->name, "ethos_%d", which);
    if (self->prepared[which])
        return ETHOS_OK;
    int code = pg_sql(self->settings, template, room->sql);
    if (code != ETHOS_OK)
        pg_note(self, "54000", "a statement is too long");
    return code;
}

static enum pg_answer run_statement(struct pg_link *self, enum pg_statement which,
                                    const struct pg_params *params, exchange_fn *exchange,
                                    int64_t until, PGresult **out_result)
{
    struct pg_written room;
    struct pg_query query;
    if (pg_query_of(self, which, params, &room, &query) != ETHOS_OK)
        return PG_REFUSED;
    return exchange(self, &query, until, out_result);
}

static enum pg_answer exchange_small(struct pg_link *self, struct pg_query *query, int64_t until,
                                     PGresult **out_result)
{
    return pg_exchange(self, query, until, out_result);
}

enum pg_answer pg_say(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
                      int64_t until, PGresult **out_result)
{
    return run_statement(self, which, params, exchange_small, until, out_result);
}

enum pg_answer pg_say_sized(struct pg_link *self, enum pg_statement which,
                            const struct pg_params *params, size_t size, PGresult **out_result)
{
    return run_statement(self, which, params, size > PG_LARGE ? pg_exchange_large : exchange_small,
                         pg_until(pg_patience(self->settings, size)), out_result);
}

int pg_ask(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
           uint32_t ms, PGresult **out_result, struct ethos_error *error)
{
    int64_t began = os_monotonic_ms(), until = began + ms;
    struct ethos_error local = {0};
    error = error ? error : &local;
    for (;;) {
        int code = pg_link_ready(self, until, error);
        if (code != ETHOS_OK)
            return code;
        enum pg_answer answer = pg_say(self, which, params, until, out_result);
        if (answer == PG_ANSWERED)
            return ETHOS_OK;
        if ((answer == PG_REFUSED && !pg_may_pass(self)) || !pg_link_pause(self, until)) {
            code = pg_error(self, error);
            if (answer == PG_LOST)
                reach_failed(&self->reach, began, os_monotonic_ms(), error);
            return code;
        }
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

int pg_not_known(const char *subject, const char *reason, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_IO, "%s: it is unknown whether the change was made: %s",
                       subject, reason);
    return err_hint(error, code,
                    "check the text before you repeat the change; repeating it with the same "
                    "operation id is safe");
}

/* One line. Whatever holds the password is not shown at all. */
void pg_note(struct pg_link *self, const char *sqlstate, const char *message)
{
    const char *password = self->settings->password;
    struct ethos_view rest = view_str(message), line = {0};
    view_line(&rest, &line);
    if (*password && view_contains(line, view_str(password)))
        line = VIEW("(the reason is not shown: it holds the password)");
    snprintf(self->sqlstate, sizeof self->sqlstate, "%s", sqlstate);
    snprintf(self->message, sizeof self->message, "%.*s", VIEW_ARG(line));
}

/* What an error of the server means. A state of two letters stands for its whole class. */
static const struct {
    const char *state;
    int code;
    bool passes; /* tried again it may work */
    const char *hint;
} meanings[] = {
    {"57P01", ETHOS_BUSY, true, NULL},
    {"57P02", ETHOS_BUSY, true, NULL},
    {"57P03", ETHOS_BUSY, true, NULL},
    {"53300", ETHOS_BUSY, true, "raise max_connections, or put pgbouncer before the server"},
    {"40", ETHOS_CONFLICT, true, NULL},
    {"08", ETHOS_BUSY, true, NULL},
    {"26000", ETHOS_BUSY, true, "set memory.options.pooled: true"},
    {"42P05", ETHOS_BUSY, true, "set memory.options.pooled: true"},
    {"0A000", ETHOS_UNSUPPORTED, true, NULL},
    {"57014", ETHOS_BUSY, false, "see memory.options.statementTimeoutMs"},
    {"55P03", ETHOS_BUSY, false, NULL},
    {"53100", ETHOS_IO, false, "make room on the disk of the database server"},
    {"25006", ETHOS_BUSY, false,
     "write to the primary: add target_session_attrs=read-write to memory.options.url"},
    {"28", ETHOS_DENIED, false,
     "see memory.options.url and the password; pg_hba.conf on the server"},
    {"3D000", ETHOS_INVALID, false, "make it (createdb NAME), or correct memory.options.url"},
    {"22021", ETHOS_INVALID, false, "use UTF-8"},
    {"54000", ETHOS_LIMIT, false, NULL},
};

static size_t meaning_of(const char *state)
{
    size_t i = 0;
    while (i < sizeof meanings / sizeof *meanings &&
           strncmp(state, meanings[i].state, strlen(meanings[i].state)) != 0)
        i++;
    return i;
}

bool pg_may_pass(const struct pg_link *self)
{
    size_t i = meaning_of(self->sqlstate);
    return i < sizeof meanings / sizeof *meanings && meanings[i].passes;
}

static int missing_right(const struct pg_link *self, struct ethos_error *error)
{
    const char *role = self->conn ? PQuser(self->conn) : NULL;
    int code = err_set(error, ETHOS_DENIED, "postgres: %s (role %s)", self->message,
                       role ? role : "unknown");
    return err_hint(error, code,
                    "GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
                    "TABLES IN SCHEMA %s TO %s;",
                    self->settings->schema, role ? role : "ROLE", self->settings->schema,
                    role ? role : "ROLE");
}

int pg_error(const struct pg_link *self, struct ethos_error *error)
{
    size_t i = meaning_of(self->sqlstate);
    if (strcmp(self->sqlstate, "42501") == 0)
        return missing_right(self, error);
    if (!*self->sqlstate) {
        int code = err_set(error, ETHOS_BUSY, "postgres: %s", self->message);
        return err_hint(error, code, "is the server running? check memory.options.url");
    }
    if (i == sizeof meanings / sizeof *meanings)
        return err_set(error, ETHOS_IO, "postgres: %s (%s)", self->message, self->sqlstate);
    int code = err_set(error, meanings[i].code, "postgres: %s", self->message);
    return meanings[i].hint ? err_hint(error, code, "%s", meanings[i].hint) : code;
}

/* ---- errors of connecting -------------------------------------------------------------------- */

/* "...: FATAL:  28P01: password authentication failed": the code, and what comes after it. */
static const char *find_state(const char *message, char out[6])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (const char *at = message; (at = strstr(at, ":  ")); at++) {
        if (strspn(at + 3, digits) == 5 && at[8] == ':' && at[9] == ' ') {
            memcpy(out, at + 3, 5);
            out[5] = 0;
            return at + 10;
        }
    }
    *out = 0;
    return message;
}

int pg_connect_error(struct pg_link *self, struct ethos_error *error)
{
    const char *message = PQerrorMessage(self->conn);
    char state[6];
    const char *reason = find_state(message, state);
    if (!*state && PQconnectionNeedsPassword(self->conn)) {
        int code = err_set(error, ETHOS_DENIED, "postgres: the server requires a password");
        return err_hint(error, code, "set memory.options.passwordFile");
    }
    bool odd = strstr(message, "invalid response"), // nobody who speaks of TLS
        tls = !*state && !odd && (strstr(message, "SSL") || strstr(message, "certificate"));
    pg_note(self, state, reason);
    if (!tls)
        return pg_error(self, error);
    int code = err_set(error, ETHOS_DENIED, "postgres: %s", self->message);
    return err_hint(error, code, "check memory.options.sslmode, sslrootcert, sslcert, sslkey");
}
