/*
 * server_sent_events.h: parses server-sent events (text/event-stream), for clients. Pure.
 *
 * Bytes come in pieces of any size; lines end with LF, CR or CR LF. Only the fields `id` and `data` are used; one blank
 * after the colon is skipped. An event ends at an empty line.
 */
#ifndef ETHOS_CORE_FORMATS_SERVER_SENT_EVENTS_H
#define ETHOS_CORE_FORMATS_SERVER_SENT_EVENTS_H

#include <stdbool.h>

#include "base/str.h"

#define EVENT_ID_SIZE 128 /* bytes, with the terminator */

/* An event; its data lines are joined by LF. data is absent if it was longer than the limit. */
typedef void event_stream_fn(void *arg, struct ethos_view data);

struct event_stream {
    struct str line, data;
    bool has_data, too_long;
    bool after_cr;          /* an LF that comes next belongs to the previous line end */
    char id[EVENT_ID_SIZE]; /* the last id, or ""; without control characters */
    event_stream_fn *each;
    void *arg;
};

/* limit: bytes of a line, and of the data of an event. */
void event_stream_init(struct event_stream *self, size_t limit, event_stream_fn *each, void *arg);
void event_stream_release(struct event_stream *self);

/* Discards an incomplete event, for a new connection. The id stays. */
void event_stream_restart(struct event_stream *self);

void event_stream_feed(struct event_stream *self, struct ethos_view bytes);

#endif
