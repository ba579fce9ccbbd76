/*
 * sessions_maintenance.c: what concerns whole sessions: fork, prune, vacuum, settle.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/uuid.h"
#include "core/sessions/normalize.h"
#include "sessions.h"

/* The first ms from now on whose key is free. */
int pg_fork(struct ethos_sessions *sessions, const char *id, char out_id[ETHOS_UUID_SIZE],
            struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    struct pg_change change;
    int64_t now_ms = pg_sessions_now(self);
    char new_id[ETHOS_UUID_SIZE], now[CLOCK_ISO_SIZE], ms[24];
    int code = pg_change_init(&change, PG_S_FORK, id, error);
    if (code == ETHOS_OK && uuid_make(new_id) != 0)
        code = err_errno(error, errno, "random");
    if (code != ETHOS_OK)
        return code;
    clock_iso(now_ms, now);
    pg_add_text(&change.params, id);
    pg_add_text(&change.params, new_id);
    int count = change.params.count;
    for (int i = 0; i < PG_ATTEMPTS; i++) {
        snprintf(ms, sizeof ms, "%" PRId64, now_ms + i);
        change.params.count = count;
        pg_add_text(&change.params, ms);
        pg_add_text(&change.params, now);
        code = pg_change_send(self, &change, error);
        if (code != ETHOS_EXISTS)
            break;
    }
    if (code == ETHOS_EXISTS)
        return err_set(error, ETHOS_BUSY, "%s: too many forks at the same time", id);
    if (code == ETHOS_OK && change.outcome == PG_NO_SESSION)
        return form_no_session(id, error);
    if (code == ETHOS_OK)
        memcpy(out_id, new_id, sizeof new_id);
    return code;
}

/* ---- prune ----------------------------------------------------------------------------------- */

static int count_old(struct pg_sessions *self, const char *before, uint64_t *out_count,
                     struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, before);
    int code = pg_sessions_ask(self, PG_S_COUNT_OLD, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    *out_count = (uint64_t)pg_number(result, 0, 0);
    PQclear(result);
    return ETHOS_OK;
}

int pg_prune(struct ethos_sessions *sessions, const char *before, int dry_run, uint64_t *out_count,
             struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    struct pg_change change;
    char time[CLOCK_ISO_SIZE];
    int code = before ? form_time(before, pg_sessions_now(self), time, error)
                      : err_set(error, ETHOS_INVALID, "the time before which to prune is missing");
    if (code == ETHOS_OK && dry_run)
        return count_old(self, time, out_count, error);
    if (code == ETHOS_OK)
        code = pg_change_init(&change, PG_S_PRUNE, "old sessions", error);
    if (code != ETHOS_OK)
        return code;
    pg_add_text(&change.params, time);
    code = pg_change_send(self, &change, error);
    if (code == ETHOS_OK)
        *out_count = (uint64_t)change.count;
    return code;
}

/* ---- vacuum, settle -------------------------------------------------------------------------- */

int pg_sessions_steps(struct pg_sessions *self, const char *const *steps, size_t count,
                      struct ethos_error *error)
{
    struct pg_link *link = &self->store->link;
    char sql[PG_MAX_STATEMENT];
    PGresult *result;
    int code = pg_sessions_enter(self, error);
    if (code == ETHOS_OK)
        code = pg_link_ready(link, pg_until(self->store->settings.deadline_ms), error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = link->facts.pooled ? 1 : 0; code == ETHOS_OK && i < count; i++) {
        pg_sql(link->settings, steps[i], sql);
        if (pg_exchange(link, &(struct pg_query){.sql = sql}, pg_until(PG_VACUUM_MS), &result) ==
            PG_ANSWERED)
            PQclear(result);
        else
            code = pg_error(link, error);
    }
    pg_link_drop(link); // and with it what was set
    return code;
}

/* Takes the time that it takes; behind a pooler no longer than a statement may. */
int pg_vacuum(struct ethos_sessions *sessions, struct ethos_error *error)
{
    static const char *const steps[] = {"SET statement_timeout = 0",
                                        "VACUUM (ANALYZE) @.session, @.message, @.session_call"};
    return pg_sessions_steps(pg_sessions_of(sessions), steps, sizeof steps / sizeof *steps, error);
}

/* Words are indexed with the message. */
int pg_settle(struct ethos_sessions *sessions, struct ethos_error *error)
{
    return pg_sessions_enter(pg_sessions_of(sessions), error);
}
