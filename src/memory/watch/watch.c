/*
 * watch.c: a look at what changed: events mark, and what is marked is read and told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "memory/provider/missing_slots.h"
#include "memory/watch/internal.h"

/* ---- opening --------------------------------------------------------------------------------- */

static int follow_sessions(struct memory_watch *self, struct ethos_error *error);

int watch_open(struct ethos *ethos, struct memory_watch **out, struct ethos_error *error)
{
    struct memory_watch *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->ethos = ethos;
    self->root = -1;
    self->several = -1;
    self->events = os_watch();
    self->blind = self->events < 0;
    self->opened_ms = service_now_ms(ethos);
    places_scan(self);
    remote_find_backends(self);
    if (self->lost) {
        watch_close(self);
        return err_nomem(error);
    }
    follow_sessions(self, NULL); // begins; a database that cannot be read is tried again
    self->begun = true;
    *out = self;
    return ETHOS_OK;
}

void watch_close(struct memory_watch *self)
{
    if (!self)
        return;
    places_clear(self);
    outside_forget(self, NULL);
    remote_release(self);
    if (self->several >= 0)
        os_close(self->several);
    if (self->events >= 0)
        os_close(self->events);
    free(self->places);
    free(self);
}

/* ---- for the parts --------------------------------------------------------------------------- */

void watch_report(struct memory_watch *self, const struct watch_event *event)
{
    if (self->each)
        self->each(self->arg, event);
}

void watch_fail(struct memory_watch *self, int code, const struct ethos_error *error)
{
    if (self->code != ETHOS_OK)
        return;
    self->code = code;
    self->error = *error;
}

int watch_turn(struct memory_watch *self, const char *scope, struct ethos_turn **out,
               struct ethos_error *error)
{
    enum scope_kind kind;
    const char *id;
    int code = scope_parse(scope, &kind, &id, error);
    const struct ethos_request request = {
        .personality = code == ETHOS_OK && kind == SCOPE_PERSONALITY ? id : NULL, .workspace = ""};
    return code == ETHOS_OK ? ethos_turn_new(self->ethos, &request, out, error) : code;
}

/* A provider outlives the turn: it is the handle's. */
int watch_provider(struct memory_watch *self, const struct watched *scope,
                   struct ethos_provider **out, struct ethos_error *error)
{
    struct ethos_turn *turn;
    *out = scope->from;
    if (*out)
        return ETHOS_OK;
    TRY(watch_turn(self, scope->scope, &turn, error));
    *out = service_provider(turn, scope->scope, NULL);
    ethos_turn_free(turn);
    return ETHOS_OK;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void report_session_change(void *arg, const struct ethos_followed *followed)
{
    struct memory_watch *self = arg;
    const struct watch_event event = {
        .kind = strcmp(followed->what, "lost") == 0      ? WATCH_LOST
                : strcmp(followed->what, "message") == 0 ? WATCH_MESSAGE
                                                         : WATCH_SESSION,
        .session = followed->id,
        .what = followed->what,
        .updated_at = followed->updated_at,
        .message = followed->message,
        .role = followed->role,
    };
    watch_report(self, &event);
}

/* A program without a session store has none to follow. */
static int follow_sessions(struct memory_watch *self, struct ethos_error *error)
{
    struct ethos_sessions *sessions;
    unsigned wait_ms = 0;
    self->sessions = false;
    self->sessions_ms = 0;
    int code = ethos_sessions(self->ethos, &sessions, error);
    if (code != ETHOS_OK || !SLOT_SESSIONS(sessions, follow))
        return code == ETHOS_UNSUPPORTED ? ETHOS_OK : code;
    code = sessions->ops->follow(sessions, report_session_change, self, &wait_ms, error);
    if (code != ETHOS_OK)
        wait_ms = WATCH_RETRY_MS;
    if (wait_ms)
        self->sessions_ms = os_monotonic_ms() + wait_ms;
    return code;
}

/* ---- one look -------------------------------------------------------------------------------- */

static bool is_time_due(int64_t due_ms, int64_t now)
{
    return due_ms && due_ms <= now;
}

/* Everything is looked at; what there is to find is found, though not what was between. */
static void rescan_all(struct memory_watch *self)
{
    places_scan(self);
    self->sessions = true;
    for (struct watched *scope = self->scopes; scope; scope = scope->next) {
        scope->dirty = scope->recount = true;
        outside_touch_all(self, scope);
    }
    remote_mark_all(self);
}

/* The root came, went or moved, or events were lost. */
static void reopen_root(struct memory_watch *self)
{
    bool known = self->root >= 0;
    if (self->restart) {
        places_clear(self);
        places_scan(self);
        self->personalities = self->users = self->config = self->sessions = true;
    }
    bool lost = self->lost || (self->restart && known);
    self->restart = self->lost = false;
    if (lost) {
        watch_report(self, &(struct watch_event){.kind = WATCH_LOST});
        rescan_all(self);
    }
}

/* What cannot be watched. */
static void poll_all(struct memory_watch *self, int64_t now)
{
    if (now - self->poll_ms < WATCH_PERIOD_MS)
        return;
    self->poll_ms = now;
    if (self->blind) {
        self->sessions = true;
        places_poll(self);
    }
    for (struct watched *scope = self->scopes; scope; scope = scope->next) {
        if (!scope->gone && !scope->elsewhere && (self->blind || scope->polled))
            outside_poll(self, scope);
        scope->dirty = scope->dirty || self->blind;
        scope->recount = scope->recount || self->blind;
    }
}

static void report_queues(struct memory_watch *self)
{
    for (struct watched *scope = self->scopes; scope; scope = scope->next) {
        if (scope->asks && !scope->gone)
            watch_report(self, &(struct watch_event){.kind = WATCH_PENDING, .scope = scope->scope});
        scope->asks = false;
    }
}

static void report_settings(struct memory_watch *self)
{
    const struct {
        bool *mark;
        enum watch_kind kind;
    } marks[] = {{&self->config, WATCH_CONFIG},
                 {&self->personalities, WATCH_PERSONALITIES},
                 {&self->users, WATCH_USERS}};
    if (self->config || self->personalities)
        places_settings(self);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (*marks[i].mark)
            watch_report(self, &(struct watch_event){.kind = marks[i].kind});
        *marks[i].mark = false;
    }
}

static void check_watched_scope(struct memory_watch *self, struct watched *scope, int64_t now)
{
    struct ethos_error error;
    int code = ETHOS_OK;
    if (scope->dirty || is_time_due(scope->due_ms, now))
        code = changes_read_new(self, scope, &error);
    if (code == ETHOS_OK && scope->recount) {
        scope->recount = false;
        code = copies_compare(self, scope, true, &error);
        scope->recount = code != ETHOS_OK;
    }
    if (code == ETHOS_OK)
        return;
    scope->due_ms = now + WATCH_RETRY_MS;
    watch_fail(self, code, &error);
}

static void check_all_scopes(struct memory_watch *self)
{
    struct ethos_error error;
    int64_t now = os_monotonic_ms();
    for (struct watched *scope = self->scopes; scope; scope = scope->next)
        if (!scope->gone && !scope->elsewhere)
            check_watched_scope(self, scope, now);
    outside_check_due(self);
    remote_poll(self);
    if (!self->sessions && !is_time_due(self->sessions_ms, now))
        return;
    int code = follow_sessions(self, &error);
    if (code != ETHOS_OK)
        watch_fail(self, code, &error);
}

int watch_poll(struct memory_watch *self, watch_fn *each, void *arg, struct ethos_error *error)
{
    self->each = each;
    self->arg = arg;
    self->code = ETHOS_OK;
    places_sweep(self);
    places_read(self);
    if (self->restart || self->lost)
        reopen_root(self);
    poll_all(self, os_monotonic_ms());
    report_settings(self);
    report_queues(self);
    check_all_scopes(self);
    self->each = NULL;
    if (self->code != ETHOS_OK && error)
        *error = self->error;
    return self->code;
}

/* ---- waiting --------------------------------------------------------------------------------- */

int watch_fd(const struct memory_watch *self)
{
    return self->several >= 0 ? self->several : self->events;
}

static void set_earlier_due(int64_t *due, int64_t other)
{
    if (other > 0 && (*due < 0 || other < *due))
        *due = other;
}

int watch_wait_ms(const struct memory_watch *self)
{
    int64_t now = os_monotonic_ms(), due = outside_due(self);
    bool polled = self->blind;
    set_earlier_due(&due, self->sessions_ms);
    set_earlier_due(&due, remote_due(self));
    for (const struct watched *scope = self->scopes; scope; scope = scope->next) {
        if (scope->gone || scope->elsewhere)
            continue;
        set_earlier_due(&due, scope->dirty || scope->recount ? (scope->due_ms ? scope->due_ms : now)
                                                             : scope->due_ms);
        polled = polled || scope->polled;
    }
    if (polled)
        set_earlier_due(&due, self->poll_ms + WATCH_PERIOD_MS);
    if (self->restart || self->lost || self->personalities || self->users || self->config ||
        self->sessions)
        due = now;
    return due < 0 ? -1 : due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
}
