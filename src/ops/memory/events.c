/*
 * events.c: changes of a home as JSON events, for /events and the streams of sessions.
 */
#include "ops/memory/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "memory/watch/watch.h"
#include "ops/memory/change_json.h"

/* ---- types and rights ------------------------------------------------------------------------ */

enum {
    EVENT_MEMORY,
    EVENT_NOTE,
    EVENT_SESSION,
    EVENT_CONFLICT,
    EVENT_PERSONALITIES,
    EVENT_USERS,
    EVENT_CONFIG,
    EVENT_HEALTH,
    EVENT_PENDING,
};

const struct op op_event_types[] = {
    [EVENT_MEMORY] = {.name = "memory.changed", .right = OP_MEMORY_READ},
    [EVENT_NOTE] = {.name = "note.changed", .right = OP_MEMORY_READ},
    [EVENT_SESSION] = {.name = "session.changed", .right = OP_SESSIONS_READ},
    [EVENT_CONFLICT] = {.name = "conflict.changed", .right = OP_MEMORY_READ},
    [EVENT_PERSONALITIES] = {.name = "personalities.changed", .right = OP_PERSONALITIES_READ},
    [EVENT_USERS] = {.name = "users.changed", .right = OP_MEMORY_READ},
    [EVENT_CONFIG] = {.name = "config.changed", .right = OP_OWNER},
    [EVENT_HEALTH] = {.name = "health.changed", .right = OP_OWNER},
    [EVENT_PENDING] = {.name = "pending.changed", .right = OP_MEMORY_READ},
    {.name = NULL},
};

static const struct op streams[] = {{.name = "/events", .right = OP_MEMORY_READ},
                                    {.name = "/sse/sessions", .right = OP_SESSIONS_READ}};

/* Whoever may read every text through store.* may also read the events about them. */
static unsigned stream_rights(unsigned rights)
{
    return rights & OP_RIGHT(OP_STORE) ? rights | OP_RIGHT(OP_MEMORY_READ) : rights;
}

unsigned op_event_kinds(unsigned rights)
{
    unsigned kinds = 0;
    rights = stream_rights(rights);
    for (unsigned i = 0; op_event_types[i].name; i++)
        if (op_allowed(&op_event_types[i], rights))
            kinds |= 1u << i;
    return kinds;
}

int op_event_check_allowed(bool session, unsigned rights, struct ethos_error *error)
{
    const struct op *stream = &streams[session];
    if (op_allowed(stream, stream_rights(rights)))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "%s: not allowed here", stream->name);
    if (rights & OP_LIMITED)
        return err_hint(error, code,
                        "a key that is limited with --only cannot use streams; poll instead");
    return err_hint(error, code, "the right %s is required", op_right_name(stream->right));
}

/* ---- objects --------------------------------------------------------------------------------- */

static json_t *event_json(unsigned type)
{
    return json_pack("{s:s}", "type", op_event_types[type].name);
}

/* Cuts the member line, which only hints at what changed. */
static void shorten_line(json_t **row)
{
    struct ethos_view line = json_view(*row, "line");
    if (!line.data || line.size <= OP_EVENT_LINE)
        return;
    size_t size = OP_EVENT_LINE;
    while (size > 0 && ((unsigned char)line.data[size] & 0xC0) == 0x80)
        size--;
    op_json_put(row, "line", json_text(view_of(line.data, size)));
}

static json_t *revision_or_null(const char *name)
{
    return name ? op_json_revision(name) : json_null();
}

static json_t *change_event_json(unsigned type, const struct watch_event *event)
{
    const struct ethos_change *change = event->change;
    json_t *row = event_json(type);
    op_json_put(&row, "scope", op_json_string(event->scope));
    op_json_put(&row, "key", op_json_string(event->key));
    op_json_put(&row, "revision", revision_or_null(change->after));
    op_json_put(&row, "before", revision_or_null(change->before));
    op_json_put(&row, "number",
                change->number ? json_integer((json_int_t)change->number) : json_null());
    op_json_put(&row, "time", op_json_time(change->time_ms));
    op_json_put(&row, "actor", op_json_string(change->actor));
    op_json_put(&row, "trust", op_json_string(change->trust));
    op_json_put(&row, "via", op_json_string(change->via));
    op_json_put(&row, "source", op_json_string(change->source));
    op_json_put(&row, "session", op_json_string(change->session));
    change_count(&row, change->diff);
    if (row)
        shorten_line(&row);
    return row;
}

static json_t *session_event_json(const struct watch_event *event)
{
    json_t *row = event_json(EVENT_SESSION);
    op_json_put(&row, "id", op_json_string(event->session));
    op_json_put(&row, "change", op_json_string(event->what));
    op_json_put(&row, "updatedAt", op_json_string(event->updated_at));
    return row;
}

static json_t *pending_event_json(const struct watch_event *event)
{
    json_t *row = event_json(EVENT_PENDING);
    op_json_put(&row, "scope", op_json_string(event->scope));
    return row;
}

static json_t *conflict_event_json(const struct watch_event *event)
{
    json_t *row = event_json(EVENT_CONFLICT);
    op_json_put(&row, "scope", op_json_string(event->scope));
    op_json_put(&row, "key", op_json_string(event->key));
    op_json_put(&row, "count", json_integer((json_int_t)event->count));
    return row;
}

/* ---- publishing ------------------------------------------------------------------------------ */

struct op_events {
    struct memory_watch *watch;
    bool unsure;
    const struct op_event_to *to; /* while events are dispatched */
    bool failed;                  /* an event could not be built */
};

static void publish_home_event(struct op_events *self, unsigned type, json_t *json)
{
    if (json)
        self->to->home(self->to->arg, type, json);
    self->failed = self->failed || !json;
    json_decref(json);
}

static void publish_session_event(struct op_events *self, const char *id, json_t *json)
{
    if (json)
        self->to->session(self->to->arg, id, json);
    self->failed = self->failed || !json;
    json_decref(json);
}

static void publish_change(struct op_events *self, unsigned type, const struct watch_event *event)
{
    const char *via = event->change->via;
    publish_home_event(self, type, change_event_json(type, event));
    if (via && strcmp(via, "external") == 0)
        publish_session_event(self, NULL,
                              json_pack("{s:s, s:s, s:s}", "type", "notification", "message",
                                        "Memory was edited outside.", "source", "memory"));
}

static void publish_message(struct op_events *self, const struct watch_event *event)
{
    publish_session_event(self, event->session,
                          json_pack("{s:s, s:o, s:o}", "type", "message_persisted", "messageId",
                                    op_json_string(event->message), "role",
                                    op_json_string(event->role)));
}

static void publish_event(void *arg, const struct watch_event *event)
{
    struct op_events *self = arg;
    self->unsure = self->unsure || event->kind >= WATCH_CONFLICT;
    switch (event->kind) {
    case WATCH_MEMORY:
        publish_change(self, EVENT_MEMORY, event);
        break;
    case WATCH_NOTE:
        publish_change(self, EVENT_NOTE, event);
        break;
    case WATCH_SESSION:
        publish_home_event(self, EVENT_SESSION, session_event_json(event));
        break;
    case WATCH_MESSAGE:
        publish_message(self, event);
        break;
    case WATCH_PENDING:
        publish_home_event(self, EVENT_PENDING, pending_event_json(event));
        break;
    case WATCH_CONFLICT:
        publish_home_event(self, EVENT_CONFLICT, conflict_event_json(event));
        break;
    case WATCH_PERSONALITIES:
        publish_home_event(self, EVENT_PERSONALITIES, event_json(EVENT_PERSONALITIES));
        break;
    case WATCH_USERS:
        publish_home_event(self, EVENT_USERS, event_json(EVENT_USERS));
        break;
    case WATCH_CONFIG:
        publish_home_event(self, EVENT_CONFIG, event_json(EVENT_CONFIG));
        break;
    case WATCH_LOST:
        self->to->lost(self->to->arg);
        break;
    }
}

int op_events_dispatch(struct op_events *self, const struct op_event_to *to,
                       struct ethos_error *error)
{
    self->to = to;
    self->failed = false;
    int code = watch_poll(self->watch, publish_event, self, error);
    if (self->failed)
        to->lost(to->arg); // an event is missing, so everything may have changed
    return code;
}

/* ---- opening --------------------------------------------------------------------------------- */

int op_events_open(struct ethos *ethos, struct op_events **out, struct ethos_error *error)
{
    struct op_events *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->unsure = true;
    int code = watch_open(ethos, &self->watch, error);
    if (code != ETHOS_OK) {
        free(self);
        return code;
    }
    *out = self;
    return ETHOS_OK;
}

void op_events_close(struct op_events *self)
{
    if (self)
        watch_close(self->watch);
    free(self);
}

int op_events_fd(const struct op_events *self)
{
    return watch_fd(self->watch);
}

int op_events_wait_ms(const struct op_events *self)
{
    return watch_wait_ms(self->watch);
}

bool op_events_is_remote(const struct op_events *self)
{
    return watch_elsewhere(self->watch);
}

/* ---- health ---------------------------------------------------------------------------------- */

bool op_events_should_check_health(struct op_events *self)
{
    bool unsure = self->unsure;
    self->unsure = false;
    return unsure;
}

json_t *op_event_health(struct ethos *ethos, json_t **last, unsigned *out_type)
{
    static const struct ethos_request request = {.workspace = ""};
    const struct op *op = op_find("admin.doctor");
    struct op_result result;
    json_t *args = json_object(), *row = NULL;
    struct op_call call = {.ethos = ethos, .request = &request, .args = args, .want_json = true};
    op_result_init(&result);
    if (op && args && op_run(op, &call, &result, NULL) == ETHOS_OK && result.json) {
        json_t *findings = json_object_get(result.json, "findings");
        if (*last && !json_equal(findings, *last)) {
            row = event_json(EVENT_HEALTH);
            op_json_put(&row, "ok", json_incref(json_object_get(result.json, "ok")));
            op_json_put(&row, "findings", json_integer((json_int_t)json_array_size(findings)));
        }
        json_decref(*last);
        *last = json_incref(findings);
    }
    op_result_release(&result);
    json_decref(args);
    *out_type = EVENT_HEALTH;
    return row;
}
