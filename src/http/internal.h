/*
 * internal.h: what the files of this surface share, beside what handlers see (http.h).
 */
#ifndef ETHOS_HTTP_INTERNAL_H
#define ETHOS_HTTP_INTERNAL_H

#include "http/http.h"

#include <ethos/provider.h>

/* ---- handlers, by the file that has them -------------------------------------------------------- */

http_fn http_rpc;      /* handlers/rpc.c: /rpc/ */
http_fn http_api;      /* handlers/api.c: /api/ */
http_fn http_openapi;  /* handlers/openapi.c: /openapi.json */
http_fn http_events;   /* handlers/events.c: /events */
http_fn http_sse;      /* handlers/session_stream.c: /sse/sessions/ */
http_fn http_exchange; /* handlers/login.c: /auth/exchange */
http_fn http_logout;   /* handlers/login.c: /auth/logout */
http_fn http_code;     /* handlers/login.c: /auth/code */
http_fn http_page;     /* handlers/dashboard_page.c: the dashboard's page */
http_fn http_asset;    /* handlers/assets.c: its files */
http_fn http_stranger; /* handlers/assets.c: what / is without a credential */

/* Which of their requests are quick. */
bool http_rpc_quick(const struct http_call *call);
bool http_api_quick(const struct http_call *call);

/* Which may have a larger body. */
size_t http_rpc_larger(const struct http_call *call);

/* ---- handles ------------------------------------------------------------------------------------- */

/* That of this thread's seat, opened when first needed. Borrowed, for the length of the call. */
/* Tells the stream of a session something: {sessionId, event}. op_tell_fn; arg is the call. handlers/events.c */
void http_tell_session(void *arg, const json_t *told);

int http_ethos(struct http_call *call, struct ethos **out, struct ethos_error *error);

/* One more, as the command line asked for: for a thread of one's own. Close it. */
int http_open(struct http *http, struct ethos **out, struct ethos_error *error);

/* Says something to the person who started the server. */
void http_log(struct http *http, enum ethos_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- handlers/events.c -------------------------------------------------------------------------------------- */

/*
 * The hub and the watcher's thread: made before the first request comes, stopped after the last stream was
 * closed. A home that cannot be watched is no failure: streams are open then and tell nothing.
 */
struct events;
int events_start(struct http *http, struct events **out, struct ethos_error *error);
void events_stop(struct events *self); /* NULL is none */

/* Tells the stream of a session an event of the wire, as JSON; from any thread. */
void events_tell_session(struct events *self, const char *session, const json_t *event);

/* Whether memory is, or may be, on another machine: then nothing about it is quick. */
bool events_elsewhere(const struct events *self);

/* What events_start gave. */
struct events *http_events_of(const struct http_call *call);

#endif
