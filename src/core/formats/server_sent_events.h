/*
 * server_sent_events.h: server-sent events (text/event-stream) as a client reads them. Pure.
 *
 * Bytes come in pieces of any size; lines end with LF, CR or CR LF. Of the fields, `id` and `data` mean
 * something here; one blank after the colon belongs to the form. An event ends at an empty line.
 */
#ifndef ETHOS_CORE_FORMATS_SERVER_SENT_EVENTS_H
#define ETHOS_CORE_FORMATS_SERVER_SENT_EVENTS_H

#include <stdbool.h>

#include "base/str.h"

#define EVENT_ID_SIZE 128 /* bytes, with the terminator */

/* An event with data; the lines of it are joined by LF. data absent: it was longer than the limit. */
typedef void event_stream_fn(void *arg, struct ethos_view data);

struct event_stream {
    struct str line, data;
    bool has_data, too_long;
    bool after_cr;          /* an LF that comes next belongs to the line before */
    char id[EVENT_ID_SIZE]; /* the last one; "" for none. Never a control character */
    event_stream_fn *each;
    void *arg;
};

/* limit: bytes of one line, and of the data of one event. */
void event_stream_init(struct event_stream *self, size_t limit, event_stream_fn *each, void *arg);
void event_stream_release(struct event_stream *self);

/* Forgets an event that has begun: the connection is another one. The id stays. */
void event_stream_restart(struct event_stream *self);

void event_stream_feed(struct event_stream *self, struct ethos_view bytes);

#endif
