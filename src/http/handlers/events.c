/*
 * events.c: /events, and the thread that watches the home and feeds it.
 *
 * A second thread looks at the health of the home, which may take seconds: only while somebody follows, when
 * something happened that it depends on, and every HEALTH_MS at most.
 */
#include "http/handlers/events.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "ops/memory/events.h"

#define GATHER_MS 10         /* after something was told, before looking again */
#define RETRY_MS 5000        /* before a home that could not be watched is tried again */
#define SWEEP_MS 10000       /* between two looks for streams that nobody follows */
#define HEALTH_MS 300000     /* between two looks at the health of the home */
#define HEALTH_FIRST_MS 5000 /* after the start; programs that start and end are not kept waiting */

struct events {
    struct http *http;
    char run[EVENTS_RUN_SIZE];
    struct hub *hub;
    struct sse *sse;
    int stop; /* eventfd: readable at the end */
    pthread_t watcher, doctor;
    bool watching, checking; /* the threads were started */
    bool told;               /* something, since the streams were woken; the watcher's */
    atomic_size_t followers; /* streams of /events */
    atomic_bool unsure;      /* of the health */
    atomic_bool elsewhere;   /* memory may be on another machine */
};

/* ---- a reader -------------------------------------------------------------------------------- */

/* A sign of life, when nothing was given for that long. */
static bool is_quiet(struct events_reader *self, int64_t now)
{
    return now - self->told_ms >= HTTP_HEARTBEAT_MS;
}

/* The greeting first; then what the hub has. */
static bool next_batch(struct http_stream *stream, struct ethos_view *out)
{
    struct events_reader *self = (struct events_reader *)stream;
    int64_t now = os_monotonic_ms();
    *out = str_view(&self->greeting);
    if (self->greeted) {
        hub_release(self->batch);
        str_release(&self->greeting);
        if (!hub_read(self->hub, &self->at, self->kinds, &self->batch))
            return false;
        *out = self->batch           ? hub_bytes(self->batch)
               : is_quiet(self, now) ? VIEW(":\n\n")
                                     : VIEW("");
    }
    self->greeted = true;
    if (out->size)
        self->told_ms = now;
    return true;
}

static void close_reader(struct http_stream *stream)
{
    struct events_reader *self = (struct events_reader *)stream;
    hub_release(self->batch);
    if (self->left)
        self->left(self);
    str_release(&self->greeting);
    free(self);
}

struct events_reader *events_reader_new(struct hub *hub, unsigned kinds, uint64_t at)
{
    struct events_reader *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->base = (struct http_stream){next_batch, close_reader};
    self->hub = hub;
    self->kinds = kinds;
    self->at = at;
    self->told_ms = os_monotonic_ms();
    str_init(&self->greeting, 4096);
    return self;
}

void events_answer(struct http_call *call, struct events_reader *reader)
{
    struct ethos_error error;
    if (!reader || str_code(&reader->greeting) != ETHOS_OK) {
        if (reader)
            close_reader(&reader->base);
        err_nomem(&error);
        http_answer_failure(call, &error);
        return;
    }
    http_answer_header(call, "X-Accel-Buffering", "no");
    http_answer_stream(call, &reader->base);
}

const char *events_last_id(const struct http_call *call)
{
    const char *header = http_header(call, "last-event-id");
    return header ? header : http_query(call, "lastEventId");
}

void events_tell_session(struct events *self, const char *session, const json_t *event)
{
    struct str text;
    str_init(&text, HUB_BYTES);
    if (event && json_print(event, JSON_STYLE_LINE, &text) == ETHOS_OK)
        sse_tell(self->sse, session, str_view(&text));
    str_release(&text);
    http_ring(self->http);
}

void http_tell_session(void *arg, const json_t *told)
{
    struct http_call *call = arg;
    const char *session = json_view(told, "sessionId").data;
    if (session)
        events_tell_session(http_events_of(call), session, json_object_get(told, "event"));
}

/* ---- /events ----------------------------------------------------------------------------------- */

/* The place that an id names; false: it is of another run, or none. */
static bool parse_id(const struct events *self, const char *id, uint64_t *out)
{
    char *end;
    size_t run = strlen(self->run);
    if (strncmp(id, self->run, run) != 0 || id[run] != '-' || id[run + 1] < '0' ||
        id[run + 1] > '9')
        return false;
    errno = 0;
    *out = strtoull(id + run + 1, &end, 10);
    return errno == 0 && *end == 0;
}

static void write_greeting(const struct events *self, struct events_reader *reader, bool reset)
{
    struct str *out = &reader->greeting;
    str_printf(out,
               "retry: %d\nid: %s-%" PRIu64 "\ndata: {\"type\":\"hello\",\"version\":\"%s\","
               "\"run\":\"%s\"}\n\n",
               EVENTS_RETRY_MS, self->run, reader->at, ethos_version(), self->run);
    if (reset)
        str_printf(out, "id: %s-%" PRIu64 "\ndata: {\"type\":\"reset\"}\n\n", self->run,
                   reader->at);
}

static void free_reader(struct events_reader *reader)
{
    struct events *self = reader->owner;
    atomic_fetch_sub(&self->followers, 1);
}

void http_events(struct http_call *call)
{
    struct events *self = http_events_of(call);
    struct ethos_error error;
    const char *last = events_last_id(call);
    uint64_t at = hub_head(self->hub), place = 0;
    if (op_event_check_allowed(false, call->rights, &error) != ETHOS_OK) {
        http_answer_failure(call, &error);
        return;
    }
    bool resumed = last && parse_id(self, last, &place) && place <= at &&
                   hub_reach(self->hub, place) == place;
    struct events_reader *reader = events_reader_new(self->hub, op_event_kinds(call->rights),
                                                     resumed ? place : at);
    if (reader) {
        write_greeting(self, reader, last && !resumed);
        reader->owner = self;
        reader->left = free_reader;
        atomic_fetch_add(&self->followers, 1);
    }
    events_answer(call, reader);
}

/* ---- feeding ----------------------------------------------------------------------------------- */

/* Also by the doctor's thread. */
static void add_event(struct events *self, unsigned kind, const json_t *json)
{
    struct str text;
    str_init(&text, EVENTS_MAX_FRAME);
    if (json_print(json, JSON_STYLE_LINE, &text) == ETHOS_OK)
        hub_add(self->hub, self->run, kind, str_view(&text));
    else
        hub_add(self->hub, self->run, HUB_ALL, VIEW("{\"type\":\"reset\"}"));
    str_release(&text);
}

static void tell_home(void *arg, unsigned type, const json_t *json)
{
    struct events *self = arg;
    add_event(self, 1u << type, json);
    self->told = true;
}

static void report_lost_events(void *arg)
{
    struct events *self = arg;
    hub_add(self->hub, self->run, HUB_ALL, VIEW("{\"type\":\"reset\"}"));
    self->told = true;
}

static void publish_session_event(void *arg, const char *id, const json_t *json)
{
    struct events *self = arg;
    struct str text;
    str_init(&text, EVENTS_MAX_FRAME);
    if (json_print(json, JSON_STYLE_LINE, &text) == ETHOS_OK)
        sse_note(self->sse, id, str_view(&text));
    str_release(&text);
    self->told = true;
}

/* Waits for the home, for the time, or for the end. True: the end. */
static bool wait_for_change(const struct events *self, int fd, int timeout_ms)
{
    struct pollfd ready[] = {{self->stop, POLLIN, 0}, {fd, POLLIN, 0}};
    return os_poll(ready, fd >= 0 ? 2 : 1, timeout_ms) > 0 && ready[0].revents;
}

static int sooner_timeout(int a, int b)
{
    return a >= 0 && a < b ? a : b;
}

/* Looks, tells, waits. A failure is said once, until all is well again. */
static void follow_home(struct events *self, struct op_events *source)
{
    const struct op_event_to to = {tell_home, report_lost_events, publish_session_event, self};
    int64_t swept = os_monotonic_ms();
    int last = ETHOS_OK;
    atomic_store(&self->elsewhere, op_events_is_remote(source));
    if (atomic_load(&self->followers) > 0) { // who came before has missed what was before
        report_lost_events(self);
        http_ring(self->http);
    }
    while (!wait_for_change(self, op_events_fd(source),
                            sooner_timeout(op_events_wait_ms(source), SWEEP_MS))) {
        struct ethos_error error = {0};
        int code = op_events_dispatch(source, &to, &error);
        if (code != ETHOS_OK && code != last)
            http_log(self->http, ETHOS_LOG_WARN, "events: %s", error.text);
        last = code;
        atomic_store(&self->elsewhere, op_events_is_remote(source));
        if (op_events_should_check_health(source))
            atomic_store(&self->unsure, true);
        if (self->told)
            http_ring(self->http);
        self->told = false;
        if (os_monotonic_ms() - swept >= SWEEP_MS) {
            sse_sweep(self->sse);
            swept = os_monotonic_ms();
        }
        if (wait_for_change(self, -1, GATHER_MS))
            return;
    }
}

static void *run_watch_thread(void *arg)
{
    struct events *self = arg;
    struct ethos_error error;
    bool said = false;
    do {
        struct ethos *ethos = NULL;
        struct op_events *source = NULL;
        int code = http_open(self->http, &ethos, &error);
        if (code == ETHOS_OK)
            code = op_events_open(ethos, &source, &error);
        if (code == ETHOS_OK)
            follow_home(self, source);
        else if (!said)
            http_log(self->http, ETHOS_LOG_WARN, "events: %s", error.text);
        said = true;
        op_events_close(source);
        ethos_close(ethos);
    } while (!wait_for_change(self, -1, RETRY_MS));
    return NULL;
}

/* ---- health ------------------------------------------------------------------------------------ */

static void look_at_health(struct events *self, struct ethos *ethos, json_t **last)
{
    unsigned type;
    json_t *event = op_event_health(ethos, last, &type);
    if (!event)
        return;
    add_event(self, 1u << type, event);
    http_ring(self->http);
    json_decref(event);
}

static void *run_doctor_thread(void *arg)
{
    struct events *self = arg;
    json_t *last = NULL;
    int wait = HEALTH_FIRST_MS;
    while (!wait_for_change(self, -1, wait)) {
        struct ethos *ethos = NULL;
        wait = HEALTH_FIRST_MS;
        if (!atomic_load(&self->followers) || !atomic_exchange(&self->unsure, false))
            continue;
        if (http_open(self->http, &ethos, NULL) == ETHOS_OK)
            look_at_health(self, ethos, &last);
        ethos_close(ethos);
        wait = HEALTH_MS;
    }
    json_decref(last);
    return NULL;
}

/* ---- starting and ending ------------------------------------------------------------------------- */

static int name_run(struct events *self, struct ethos_error *error)
{
    unsigned char random[(EVENTS_RUN_SIZE - 1) / 2];
    if (os_random(random, sizeof random) != 0)
        return err_errno(error, errno, "random");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(self->run + 2 * i, 3, "%02x", random[i]);
    return ETHOS_OK;
}

static int open_event_parts(struct events *self, struct ethos_error *error)
{
    int code = name_run(self, error);
    if (code == ETHOS_OK)
        code = hub_new(HUB_EVENTS, HUB_BYTES, &self->hub, error);
    if (code == ETHOS_OK)
        code = sse_new(&self->sse, error);
    self->stop = code == ETHOS_OK ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (code == ETHOS_OK && self->stop < 0)
        code = err_errno(error, errno, "events");
    if (code == ETHOS_OK)
        self->watching = pthread_create(&self->watcher, NULL, run_watch_thread, self) == 0;
    if (code == ETHOS_OK)
        self->checking = pthread_create(&self->doctor, NULL, run_doctor_thread, self) == 0;
    return code == ETHOS_OK && !(self->watching && self->checking)
               ? err_set(error, ETHOS_IO, "events: cannot create a thread")
               : code;
}

int events_start(struct http *http, struct events **out, struct ethos_error *error)
{
    struct events *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->http = http;
    self->stop = -1;
    atomic_init(&self->elsewhere, true); // until somebody has looked
    int code = open_event_parts(self, error);
    if (code == ETHOS_OK)
        *out = self;
    else
        events_stop(self);
    return code;
}

bool events_elsewhere(const struct events *self)
{
    return self && atomic_load(&self->elsewhere);
}

void events_stop(struct events *self)
{
    const uint64_t one = 1;
    if (!self)
        return;
    if (self->stop >= 0)
        (void)!write(self->stop, &one, sizeof one);
    if (self->watching)
        pthread_join(self->watcher, NULL);
    if (self->checking)
        pthread_join(self->doctor, NULL);
    if (self->stop >= 0)
        close(self->stop);
    sse_free(self->sse);
    hub_free(self->hub);
    free(self);
}

struct sse *sse_of(struct events *events)
{
    return events->sse;
}
