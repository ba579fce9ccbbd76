/*
 * sessions_changes.c: what happened since the last look, by whomever.
 *
 * A look remembers the snapshot that it had. The next one reads the rows of session_call that this
 * one did not see: by their transactions, not by numbers or times, so that none is missed that was
 * committed later than one which came after it. Whoever does not look for as long as rows are kept,
 * is told that something was lost.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/system/os.h"
#include "sessions.h"

static int query_changes(struct pg_sessions *self, PGresult **out_result, struct ethos_error *error)
{
    struct pg_params params = {0};
    pg_add_text(&params, self->snapshot);
    return pg_sessions_ask(self, PG_S_FOLLOW, &params, out_result, error);
}

static int keep_snapshot(struct pg_sessions *self, const char *snapshot, struct ethos_error *error)
{
    const struct ethos_host *host = self->store->host;
    size_t size = strlen(snapshot) + 1;
    char *kept = host->resize(host->arg, self->snapshot, size);
    if (!kept)
        return err_nomem(error);
    self->snapshot = memcpy(kept, snapshot, size);
    return ETHOS_OK;
}

/* Whether transactions are numbered from another beginning: this is another server. */
static bool went_back(const char *before, const char *now)
{
    return strtoull(now, NULL, 10) < strtoull(before, NULL, 10);
}

static void tell_all(struct pg_sessions *self, const PGresult *result, ethos_follow_fn *each,
                     void *arg)
{
    self->giving = true;
    for (int i = 1; i < PQntuples(result); i++) {
        const struct ethos_followed followed = {.what = pg_text(result, i, 1),
                                                .id = pg_text(result, i, 2),
                                                .updated_at = pg_text(result, i, 3),
                                                .message = pg_text(result, i, 4),
                                                .role = pg_text(result, i, 5)};
        each(arg, &followed);
    }
    self->giving = false;
}

int pg_follow(struct ethos_sessions *sessions, ethos_follow_fn *each, void *arg,
              unsigned *out_wait_ms, struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    PGresult *result;
    int64_t now = os_monotonic_ms();
    *out_wait_ms = PG_FOLLOW_MS;
    int code = query_changes(self, &result, error);
    if (code != ETHOS_OK)
        return code;
    const char *snapshot = pg_text(result, 0, 0);
    bool lost = self->snapshot && (went_back(self->snapshot, snapshot) ||
                                   now - self->looked_ms > PG_CALLS_KEPT_MS - PG_FOLLOW_MS);
    if (lost)
        each(arg, &(struct ethos_followed){.what = "lost"});
    else if (self->snapshot)
        tell_all(self, result, each, arg);
    code = keep_snapshot(self, snapshot, error);
    self->looked_ms = now;
    PQclear(result);
    return code;
}
