/*
 * events.h: what the streams share: the watcher's thread, its hub, and the hubs of sessions.
 *
 * http/internal.h has what others need: events_start, events_stop, and how a handler finds this.
 */
#ifndef ETHOS_HTTP_HANDLERS_EVENTS_H
#define ETHOS_HTTP_HANDLERS_EVENTS_H

#include "http/handlers/event_ring.h"
#include "http/internal.h"

#define EVENTS_RUN_SIZE 17   /* hex digits and the terminator: another one for every start */
#define EVENTS_RETRY_MS 3000 /* after which a client that was cut off comes back */
#define EVENTS_MAX_FRAME 16777216

struct sse;

/* One stream: a place in a hub, a greeting before it, a sign of life when nothing happens. */
struct events_reader {
    struct http_stream base; /* first */
    struct hub *hub;
    unsigned kinds;
    uint64_t at;
    int64_t told_ms;         /* when something was last given */
    struct hub_batch *batch; /* what was given last */
    struct str greeting;     /* what is given first */
    bool greeted;
    void (*left)(struct events_reader *self); /* or NULL: before it is freed */
    void *owner;
};

/* A reader of a hub; the caller fills in the greeting. NULL without memory. */
struct events_reader *events_reader_new(struct hub *hub, unsigned kinds, uint64_t at);

/* Answers with it; takes it. NULL answers that there is no memory. */
void events_answer(struct http_call *call, struct events_reader *reader);

/* What the client has seen: Last-Event-ID, else the query lastEventId; NULL: nothing. */
const char *events_last_id(const struct http_call *call);

/* ---- session_stream.c ------------------------------------------------------------------------------------- */

struct sse *sse_of(struct events *events);

int sse_new(struct sse **out, struct ethos_error *error);
void sse_free(struct sse *self);

/* Tells a session's stream of what was recorded, if somebody listens or did lately; id NULL: all of them. */
void sse_note(struct sse *self, const char *session, struct ethos_view json);

/*
 * The same for what is told nowhere else: it is kept for those to come. json is one of the types of the
 * wire. Any thread; http_ring wakes the streams.
 */
int sse_tell(struct sse *self, const char *session, struct ethos_view json);

/* Forgets the streams that nobody has followed for a while. */
void sse_sweep(struct sse *self);

#endif
