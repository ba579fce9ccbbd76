/*
 * connection.c: one connection: had when it is needed, had again when it breaks, within a deadline.
 *
 * Nothing here waits in libpq: connecting goes step by step, with poll in between. A child of fork leaves the
 * connection to its parent and makes its own.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "postgres.h"

void pg_link_init(struct pg_link *self, const struct ethos_host *host,
                  const struct pg_settings *settings, const struct pg_target *target)
{
    *self = (struct pg_link){
        .host = host, .settings = settings, .target = target, .reach = settings->reach};
}

int64_t pg_until(uint32_t ms)
{
    return os_monotonic_ms() + ms;
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* In a child: whatever libpq says when it closes must not reach the server, who would hang up. */
static void mute(PGconn *conn)
{
    int null = os_openat(AT_FDCWD, "/dev/null", O_RDWR, 0), socket = PQsocket(conn);
    if (null >= 0 && socket >= 0)
        dup3(null, socket, O_CLOEXEC);
    if (null >= 0)
        os_close(null);
}

void pg_link_drop(struct pg_link *self)
{
    if (self->conn && self->pid != getpid())
        mute(self->conn);
    PQfinish(self->conn);
    self->conn = NULL;
    self->state = PG_DOWN;
    memset(self->prepared, 0, sizeof self->prepared);
    memset(self->shapes, 0, sizeof self->shapes);
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* What a server says unasked is not shown to anybody. Its last words come this way, too. */
static void note_server_notice(void *arg, const PGresult *notice)
{
    struct pg_link *self = arg;
    const char *state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
    if (state && strncmp(state, "57P", 3) == 0)
        self->dismissed = true;
}

/* Of two values of one keyword libpq takes the second. */
static PGconn *begin_connection(const struct pg_target *target, const struct pg_addresses *found)
{
    const char *keywords[PG_KEYWORDS + 4] = {0}, *values[PG_KEYWORDS + 4] = {0};
    const char *const also[][2] = {
        {"host", found->host.data}, {"hostaddr", found->address.data}, {"port", found->port.data}};
    memcpy(keywords, target->keywords, target->count * sizeof *keywords);
    memcpy(values, target->values, target->count * sizeof *values);
    for (size_t i = 0; found->count > 0 && i < 3; i++) {
        keywords[target->count + i] = also[i][0];
        values[target->count + i] = also[i][1];
    }
    return PQconnectStartParams(keywords, values, 0);
}

static int start_connection(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    struct pg_addresses found;
    int code = pg_addresses_find(&found, self, until, error);
    if (code == ETHOS_OK)
        self->conn = begin_connection(self->target, &found);
    pg_addresses_release(&found);
    if (code != ETHOS_OK)
        return code;
    self->pid = getpid();
    if (!self->conn)
        return err_nomem(error);
    PQsetNoticeReceiver(self->conn, note_server_notice, self);
    self->dismissed = false;
    PQsetErrorVerbosity(self->conn, PQERRORS_VERBOSE); /* with the code, which nothing else tells */
    self->state = PG_CONNECTING;
    self->wants = PGRES_POLLING_WRITING;
    return ETHOS_OK;
}

/* What poll is to wait for. */
static short events(const struct pg_link *self)
{
    return self->wants == PGRES_POLLING_READING ? POLLIN : POLLOUT;
}

static int finish_connection(struct pg_link *self, struct ethos_error *error)
{
    const char *encoding = PQparameterStatus(self->conn, "server_encoding");
    PQsetErrorVerbosity(self->conn, PQERRORS_DEFAULT);
    if (PQsetnonblocking(self->conn, 1) != 0)
        return pg_connect_error(self, error);
    if (encoding && strcmp(encoding, "UTF8") != 0) {
        int code = err_set(error, ETHOS_UNSUPPORTED, "postgres: database \"%s\" has encoding %s",
                           PQdb(self->conn), encoding);
        return err_hint(error, code, "make one with: createdb -T template0 -E UTF8 NAME");
    }
    self->state = PG_UP;
    return ETHOS_OK;
}

static int step_connection(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    if (!self->conn) {
        int code = start_connection(self, until, error);
        if (code != ETHOS_OK)
            return code;
    }
    while (self->state == PG_CONNECTING && PQstatus(self->conn) != CONNECTION_BAD) {
        struct pollfd fd = {PQsocket(self->conn), events(self), 0};
        if (os_poll(&fd, 1, 0) <= 0)
            return ETHOS_OK;
        self->wants = PQconnectPoll(self->conn);
        if (self->wants == PGRES_POLLING_OK)
            return finish_connection(self, error);
    }
    return PQstatus(self->conn) == CONNECTION_BAD ? pg_connect_error(self, error) : ETHOS_OK;
}

int pg_link_step(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    if (self->conn && self->pid != getpid())
        pg_link_drop(self);
    int code = step_connection(self, until, error);
    if (code != ETHOS_OK)
        pg_link_drop(self);
    return code;
}

static int time_left(int64_t until)
{
    int64_t left = until - os_monotonic_ms();
    return left > 0 ? (int)left : 0;
}

static int connect_once(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    int64_t own = pg_until(self->settings->connect_ms);
    int64_t end = reach_attempt(&self->reach, os_monotonic_ms(), own < until ? own : until);
    int code = pg_link_step(self, end, error);
    while (code == ETHOS_OK && self->state == PG_CONNECTING) {
        struct pollfd fd = {PQsocket(self->conn), events(self), 0};
        if (reach_poll(&self->reach, &fd, 1, time_left(end)) <= 0) {
            pg_note(self, "", "no answer to a connection within the deadline");
            pg_link_drop(self);
            return pg_error(self, error);
        }
        code = pg_link_step(self, end, error);
    }
    if (code != ETHOS_OK)
        return code;
    code = pg_hello(self, until, error);
    if (code != ETHOS_OK)
        pg_link_drop(self);
    else
        self->state = PG_READY;
    self->reach.waits |= code == ETHOS_OK;
    return code;
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* A server that hung up has said so by now. */
static bool stands(struct pg_link *self)
{
    if (self->state != PG_READY || self->pid != getpid())
        return false;
    struct pollfd fd = {PQsocket(self->conn), POLLIN, 0};
    while (!self->dismissed && os_poll(&fd, 1, 0) != 0) {
        if (!PQconsumeInput(self->conn) || PQisBusy(self->conn))
            return false;
    }
    return !self->dismissed;
}

bool pg_link_pause(struct pg_link *self, int64_t until)
{
    uint8_t chance = 0;
    unsigned longest = self->pause_ms ? self->pause_ms * 2 : PG_FIRST_PAUSE_MS;
    self->pause_ms = longest < PG_LONGEST_PAUSE_MS ? longest : PG_LONGEST_PAUSE_MS;
    os_random(&chance, sizeof chance); /* those who lost a server together do not return together */
    unsigned ms = self->pause_ms / 2 + self->pause_ms * chance / 512;
    if (time_left(until) <= (int)ms)
        return false;
    return reach_sleep(&self->reach, ms);
}

/* Again while there is time, after a server that was not there, or said that it is not ready. */
static int connect_again(struct pg_link *self, struct backend_reach reach, int64_t until,
                         struct ethos_error *error)
{
    int64_t began = os_monotonic_ms();
    self->pause_ms = 0;
    for (;;) {
        pg_link_drop(self);
        int code = connect_once(self, until, error);
        reach.waits |= *self->sqlstate != 0;
        if (code == ETHOS_BUSY && strcmp(self->sqlstate, "25006") == 0)
            return code; // there is no schema, and none can be made there: it will say the same again
        if (code != ETHOS_BUSY || !pg_link_pause(self, reach_again(&reach, began, until)))
            return code;
    }
}

static int connect_until(struct pg_link *self, struct backend_reach reach, int64_t until,
                         struct ethos_error *error)
{
    int64_t began = os_monotonic_ms();
    struct ethos_error local = {0};
    error = error ? error : &local;
    int code = connect_again(self, reach, until, error);
    if (code == ETHOS_BUSY)
        reach_failed(&self->reach, began, os_monotonic_ms(), error);
    return code;
}

int pg_link_ready(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    int code = reach_check(&self->reach, os_monotonic_ms(), error);
    if (code != ETHOS_OK || stands(self))
        return code;
    return connect_until(self, self->reach, until, error);
}

int pg_link_wait(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    const struct backend_reach reach = {.waits = true};
    return stands(self) ? ETHOS_OK : connect_until(self, reach, until, error);
}
