/*
 * watch.c: who changed what, by LISTEN on a connection of its own.
 *
 * Behind each commit the channel that has the schema's name is notified; what it says is the scope. One who died
 * between the two has not said it: so the versions of all scopes are compared, too, every PG_LOOK_MS, over the
 * same connection, whose silence is noticed by that. After the first call nothing here waits: a connection that
 * was lost is had again step by step, from call to call, and then any scope may have changed. Behind a pooler
 * nothing can be listened to: without directUrl the versions are compared every PG_POLL_MS.
 */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system/os.h"
#include "base/view.h"
#include "postgres.h"

/* ---- versions -------------------------------------------------------------------------------- */

/* Both are sorted by name, and no scope ever goes. */
static int compare_scopes(const PGresult *before, const PGresult *now, ethos_scope_fn *each,
                          void *arg)
{
    int code = ETHOS_OK, old = 0;
    for (int row = 0; code == ETHOS_OK && row < PQntuples(now); row++) {
        const char *name = pg_text(now, row, 0);
        while (old < PQntuples(before) && strcmp(pg_text(before, old, 0), name) < 0)
            old++;
        bool same = old < PQntuples(before) && strcmp(pg_text(before, old, 0), name) == 0 &&
                    pg_number(before, old, 1) == pg_number(now, row, 1);
        if (!same)
            code = each(arg, name);
    }
    return code;
}

/* Tells what is another one than last time, if there was one, and keeps these; else it is told again. */
static int take_versions(struct pg_watch *watch, PGresult *now, ethos_scope_fn *each, void *arg)
{
    int code = watch->versions ? compare_scopes(watch->versions, now, each, arg) : ETHOS_OK;
    PQclear(code == ETHOS_OK ? watch->versions : now);
    if (code == ETHOS_OK)
        watch->versions = now;
    else
        watch->look_ms = 0;
    return code;
}

/* ---- listening ------------------------------------------------------------------------------- */

static void say_down(struct pg_store *self, const char *why)
{
    char line[512];
    if (self->watch.told_down)
        return;
    self->watch.told_down = true;
    snprintf(line, sizeof line, "postgres: cannot listen for changes, retrying: %s", why);
    self->host->log(self->host->arg, ETHOS_LOG_WARN, line);
}

/* Drops what there is; the next attempt is later than the last one was. */
static void fall_back(struct pg_store *self, const char *why)
{
    struct pg_watch *watch = &self->watch;
    say_down(self, why);
    pg_link_drop(&watch->link);
    PQclear(watch->versions);
    watch->versions = NULL;
    watch->listening = watch->asking = false;
    watch->look_ms = 0;
    unsigned pause = watch->link.pause_ms ? watch->link.pause_ms * 2 : PG_FIRST_PAUSE_MS;
    watch->link.pause_ms = pause < PG_POLL_MS ? pause : PG_POLL_MS;
    watch->next_ms = os_monotonic_ms() + watch->link.pause_ms;
}

static void connect_step(struct pg_store *self)
{
    struct pg_watch *watch = &self->watch;
    struct pg_link *link = &watch->link;
    struct ethos_error error;
    char sql[32 + PG_MAX_SCHEMA];
    if (!link->conn) {
        if (os_monotonic_ms() < watch->next_ms)
            return;
        watch->give_up_ms = os_monotonic_ms() + self->settings.connect_ms;
    }
    if (pg_link_step(link, watch->give_up_ms, &error) != ETHOS_OK) {
        fall_back(self, error.text);
    } else if (link->state == PG_UP) {
        snprintf(sql, sizeof sql, "LISTEN \"%s\"", self->settings.schema);
        if (!PQsendQuery(link->conn, sql))
            fall_back(self, "nothing could be sent");
        else
            link->state = PG_READY;
    } else if (os_monotonic_ms() > watch->give_up_ms) {
        fall_back(self, "no answer to a connection within the deadline");
    }
}

/* Takes in what has come. True once the server has begun to notify us. */
static bool listen_step(struct pg_store *self)
{
    struct pg_watch *watch = &self->watch;
    PGconn *conn = watch->link.conn;
    if (PQflush(conn) < 0 || !PQconsumeInput(conn) || PQstatus(conn) != CONNECTION_OK) {
        fall_back(self, "the connection is lost");
        return false;
    }
    while (!watch->listening && !PQisBusy(conn)) {
        PGresult *result = PQgetResult(conn);
        watch->listening = !result;
        if (result && PQresultStatus(result) != PGRES_COMMAND_OK) {
            PQclear(result);
            fall_back(self, "LISTEN was refused");
            return false;
        }
        PQclear(result);
    }
    return watch->listening;
}

/* Asks for the versions when it is time, and takes them in when they are there. */
static int look_step(struct pg_store *self, ethos_scope_fn *each, void *arg)
{
    struct pg_watch *watch = &self->watch;
    PGconn *conn = watch->link.conn;
    struct pg_written room;
    struct pg_query query;
    int code = ETHOS_OK;
    bool due = os_monotonic_ms() >= watch->look_ms;
    if (due && watch->asking) {
        fall_back(self, "no answer for a while");
        return ETHOS_OK;
    }
    if (due && pg_query_of(&watch->link, PG_VERSIONS, NULL, &room, &query) == ETHOS_OK) {
        watch->asking = PQsendQueryParams(conn, query.sql, 0, NULL, NULL, NULL, NULL, 1) == 1;
        watch->look_ms = os_monotonic_ms() + PG_LOOK_MS;
    }
    while (watch->asking && PQflush(conn) >= 0 && !PQisBusy(conn)) {
        PGresult *result = PQgetResult(conn);
        watch->asking = result != NULL;
        if (PQresultStatus(result) == PGRES_TUPLES_OK && code == ETHOS_OK)
            code = take_versions(watch, result, each, arg);
        else
            PQclear(result);
    }
    return code;
}

/* As far as it goes without waiting. */
static bool step_watch(struct pg_store *self)
{
    struct pg_link *link = &self->watch.link;
    if (link->conn && link->pid != getpid())
        fall_back(self, "in a new process");
    if (link->state != PG_READY)
        connect_step(self);
    return link->state == PG_READY && listen_step(self);
}

static bool begin_listening(struct pg_store *self)
{
    int64_t until = pg_until(self->settings.deadline_ms);
    struct pg_link *link = &self->watch.link;
    bool listening = step_watch(self);
    while (!listening && os_monotonic_ms() < until) {
        struct pollfd fd = {link->conn ? PQsocket(link->conn) : -1, POLLIN, 0};
        os_poll(&fd, 1, PG_FIRST_PAUSE_MS);
        listening = step_watch(self);
    }
    return listening;
}

static int report_changed_scopes(struct pg_store *self, ethos_scope_fn *each, void *arg)
{
    PGnotify *notice;
    char last[ETHOS_MAX_SCOPE] = "";
    int code = ETHOS_OK;
    while (code == ETHOS_OK && (notice = PQnotifies(self->watch.link.conn))) {
        if (strcmp(last, notice->extra) != 0)
            code = each(arg, notice->extra);
        snprintf(last, sizeof last, "%s", notice->extra);
        PQfreemem(notice);
    }
    return code;
}

static unsigned wait_for_look(const struct pg_watch *watch)
{
    int64_t left = watch->look_ms - os_monotonic_ms();
    return left > 0 ? (unsigned)left : 1;
}

static int watch_by_listening(struct pg_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                              unsigned *out_wait_ms)
{
    struct pg_watch *watch = &self->watch;
    bool first = !watch->began, listened = watch->listening;
    int code = ETHOS_OK;
    if (first ? begin_listening(self) : step_watch(self)) {
        if (!first && !listened)
            code = each(arg, NULL);
        watch->told_down = false;
        watch->link.pause_ms = 0;
        if (code == ETHOS_OK)
            code = look_step(self, each, arg);
        if (code == ETHOS_OK && watch->listening)
            code = report_changed_scopes(self, each,
                                         arg); // the last: what came behind an answer is told, too
        *out_fd = watch->link.conn ? PQsocket(watch->link.conn) : -1;
        *out_wait_ms = code == ETHOS_OK ? wait_for_look(watch) : PG_FIRST_PAUSE_MS;
        return code;
    }
    *out_wait_ms = watch->link.conn ? PG_FIRST_PAUSE_MS : watch->link.pause_ms;
    return ETHOS_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int watch_by_looking(struct pg_store *self, ethos_scope_fn *each, void *arg)
{
    struct pg_watch *watch = &self->watch;
    const struct pg_params params = {0};
    struct ethos_error error;
    PGresult *now;
    int code = pg_ask(&self->link, PG_VERSIONS, &params, PG_POLL_PATIENCE_MS, &now, &error);
    if (code != ETHOS_OK) {
        say_down(self, error.text);
        return ETHOS_OK;
    }
    watch->told_down = false;
    if (!watch->versions && watch->began)
        code = each(arg, NULL);
    int told = take_versions(watch, now, each, arg);
    return code == ETHOS_OK ? told : code;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Whether a pooler stands between is known once the store itself has a connection. */
static enum pg_watching choose_watching(struct pg_store *self)
{
    uint32_t ms = self->watch.began ? PG_POLL_PATIENCE_MS : self->settings.deadline_ms;
    struct ethos_error error;
    if (self->settings.direct.count > 0)
        return PG_LISTENS;
    if (self->settings.pooled)
        return PG_LOOKS;
    if (pg_link_ready(&self->link, pg_until(ms), &error) == ETHOS_OK)
        return self->link.facts.pooled ? PG_LOOKS : PG_LISTENS;
    say_down(self, error.text);
    return PG_UNDECIDED;
}

int pg_store_watch(struct ethos_store *store, ethos_scope_fn *each, void *arg, int *out_fd,
                   unsigned *out_wait_ms, struct ethos_error *error)
{
    struct pg_store *self = (struct pg_store *)store;
    struct pg_watch *watch = &self->watch;
    int code = ETHOS_OK;
    (void)error;
    *out_fd = -1;
    *out_wait_ms = PG_POLL_MS;
    if (watch->how == PG_UNDECIDED)
        watch->how = choose_watching(self);
    if (watch->how == PG_LISTENS)
        code = watch_by_listening(self, each, arg, out_fd, out_wait_ms);
    else if (watch->how == PG_LOOKS)
        code = watch_by_looking(self, each, arg);
    watch->began = true;
    return code;
}

void pg_watch_release(struct pg_watch *self)
{
    pg_link_drop(&self->link);
    PQclear(self->versions);
    self->versions = NULL;
}
