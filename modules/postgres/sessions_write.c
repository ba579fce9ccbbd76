/*
 * sessions_write.c: one change: sent until it is known what became of it.
 *
 * The row of session_call that a change writes is in the same statement, and its token is unique:
 * of two that were sent the later one fails, whichever comes first. So a change whose answer was
 * lost is sent again, and when that is not done the token tells whether it was because the first
 * one had been.
 */
#include <errno.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/system/uuid.h"
#include "sessions.h"

int pg_sessions_enter(const struct pg_sessions *self, struct ethos_error *error)
{
    if (self->giving)
        return err_set(error, ETHOS_INTERNAL, "a callback of the session store called the store");
    return ETHOS_OK;
}

int pg_sessions_ask(struct pg_sessions *self, enum pg_statement which,
                    const struct pg_params *params, PGresult **out_result,
                    struct ethos_error *error)
{
    int code = pg_sessions_enter(self, error);
    return code == ETHOS_OK ? pg_store_ask(self->store, which, params, out_result, error) : code;
}

int pg_change_init(struct pg_change *self, enum pg_statement which, const char *subject,
                   struct ethos_error *error)
{
    *self = (struct pg_change){.which = which, .subject = subject};
    if (uuid_make(self->token) != 0)
        return err_errno(error, errno, "random");
    pg_add_text(&self->params, self->token);
    return ETHOS_OK;
}

static void forget_some(struct pg_sessions *self)
{
    struct pg_link *link = &self->store->link;
    uint8_t chance = 1;
    PGresult *result;
    os_random(&chance, sizeof chance);
    if (chance % PG_FORGET_CHANCE == 0 &&
        pg_say(link, PG_S_FORGET, NULL, pg_until(link->settings->statement_ms), &result) ==
            PG_ANSWERED)
        PQclear(result);
}

static enum pg_answer send_change_once(struct pg_sessions *self, struct pg_change *change)
{
    PGresult *result;
    enum pg_answer answer = pg_say_sized(&self->store->link, change->which, &change->params,
                                         change->size, &result);
    if (answer != PG_ANSWERED)
        return answer;
    change->outcome = (enum pg_outcome)pg_number(result, 0, 0);
    change->count = pg_number(result, 0, 1);
    PQclear(result);
    return answer;
}

/* Was not done, after an answer that was lost; code: why not. */
static int check_lost_write(struct pg_sessions *self, struct pg_change *change, int code,
                            uint32_t ms, struct ethos_error *error)
{
    struct pg_link *link = &self->store->link;
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, change->token);
    if (pg_ask(link, PG_S_CALL, &params, ms, &result, error) != ETHOS_OK)
        return pg_not_known(change->subject, link->message, error);
    if (PQntuples(result) > 0) {
        change->outcome = PG_DONE;
        change->count = pg_number(result, 0, 0);
        code = ETHOS_OK;
    }
    PQclear(result);
    return code;
}

/* Until it is known what became of it, or the deadline. */
static int send_until_known(struct pg_sessions *self, struct pg_change *change,
                            struct ethos_error *error)
{
    struct pg_link *link = &self->store->link;
    uint32_t ms = self->store->settings.deadline_ms;
    uint32_t patience = ms > PG_RESOLVE_MS ? ms : PG_RESOLVE_MS;
    int64_t until = pg_until(ms);
    for (bool lost = false;;) {
        int code = (lost ? pg_link_wait : pg_link_ready)(link, until, error);
        if (code != ETHOS_OK)
            return lost ? pg_not_known(change->subject, link->message, error) : code;
        enum pg_answer answer = send_change_once(self, change);
        bool taken = answer == PG_REFUSED && strcmp(link->sqlstate, "23505") == 0;
        if (answer == PG_ANSWERED || taken) {
            code = taken ? ETHOS_EXISTS : ETHOS_OK;
            bool done = !taken && change->outcome == PG_DONE;
            return done || !lost ? code : check_lost_write(self, change, code, patience, error);
        }
        if (answer == PG_LOST && !lost) {
            until = pg_until(patience);
            lost = true;
        }
        if ((answer == PG_REFUSED && !pg_may_pass(link)) || !pg_link_pause(link, until))
            return lost ? pg_not_known(change->subject, link->message, error)
                        : pg_error(link, error);
    }
}

int pg_change_send(struct pg_sessions *self, struct pg_change *change, struct ethos_error *error)
{
    int code = pg_sessions_enter(self, error);
    if (code == ETHOS_OK)
        code = send_until_known(self, change, error);
    if (code == ETHOS_OK)
        forget_some(self);
    return code;
}
