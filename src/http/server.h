/*
 * server.h: the inside of the server: connections, requests, threads. For the files that make it up.
 */
#ifndef ETHOS_HTTP_SERVER_H
#define ETHOS_HTTP_SERVER_H

#include <pthread.h>
#include <sys/socket.h>

#include "base/system/uuid.h"
#include "http/access_rules.h"
#include "http/auth.h"
#include "http/internal.h"
#include "http/workers.h"

#define HTTP_THREADS 2        /* of libmicrohttpd: they parse, and do what is quick */
#define HTTP_MAX_GONE 4096    /* connections whose peers have closed, and that end in a moment */
#define HTTP_CONNECTION 32768 /* bytes that a connection may take: line, headers, buffers */
#define HTTP_MAX_ANSWER 268435456    /* bytes */
#define HTTP_KEPT_BYTES 16384        /* of a buffer that a connection keeps for its next request */
#define HTTP_KEPT_LINE 256           /* bytes of a line whose answer may be kept */
#define HTTP_KEPT_HOST 64            /* bytes of a Host header that need not be judged twice */
#define HTTP_MAX_REPLY_HEADERS 65536 /* bytes: all further headers of an answer */

struct http_server; /* server.c: what knows libmicrohttpd */

struct op_validator;
struct shared_handles;
struct openapi;

struct http {
    struct ethos_options options;
    struct ethos_request request;
    bool dry_run;
    struct gate_rules rules;
    struct auth *auth;
    struct workers *workers;
    struct events *events;
    struct turns *turns;
    const struct op_chat *chat; /* of turns */
    struct http_server *server;
    struct seats *seats;
    struct shared_handles *share;          /* of all handles: their updates share writes */
    _Atomic(struct openapi *) openapi;     /* NULL until first asked for */
    int bell;                              /* eventfd: http_ring was called */
    unsigned max_connections, max_workers; /* fewer than usual when there are few descriptors */
};

/* ---- request.c: a call and its answer, without libmicrohttpd ------------------------------------------ */

/* What an answer has beside status, type and body. */
struct http_reply {
    struct str headers;      /* name NUL value NUL ... */
    struct ethos_view bytes; /* instead of call->out: not copied; absent: none */
    struct http_stream *stream;
    bool is_stream; /* it was one, even when it has been closed since */
    /* of the request: */
    void *connection;
    const struct http_route *route; /* NULL: no such path */
    struct op_validator *again;     /* of the operation that made the answer, or NULL */
};

void call_init(struct http_call *call, struct http_reply *reply);
void call_release(struct http_call *call);

/* Another one in its place; the memory of its buffers serves again, unless it is much. */
void call_again(struct http_call *call);

/* The client's id, when it is one, else a fresh one. */
void call_name(struct http_call *call, const char *given);

/* Whether a path that was decoded is one that can name something. */
bool call_path_ok(const char *path);

/* Whether a request line can be decoded: whole escapes, none of NUL, nothing but printable ASCII. */
bool call_line_ok(const char *line);

/* The method of a name; false: none of ours. */
const char *call_method_name(enum http_method method);
bool http_method_parse(const char *name, enum http_method *out);

/* Runs the handler, in this thread. */
void call_run(struct http_call *call);

/* Replaces whatever answer there is. */
void call_refuse(struct http_call *call, const struct http_error *error);

/* ---- seats ---------------------------------------------------------------------------------------------- */

int seats_new(struct http *http, struct seats **out, struct ethos_error *error);
void seats_free(struct seats *self);                          /* when no other thread is left */
struct http_seat *seats_take(struct seats *self);             /* of this thread; NULL: no memory */
void seats_name(struct http_seat *seat, char out[UUID_SIZE]); /* a fresh UUID */

/* What the thread last let in. */
struct auth_last *seats_last(struct http_seat *seat);

/* Something else of the thread's own, NULL until it is put there; it ends with the seat. */
void *seats_own(const struct http_seat *seat);
void seats_put(struct http_seat *seat, void *own, void (*release)(void *own));

/* ---- handlers/openapi.c: when no request is left ----------------------------------------------------------------- */

void openapi_free(struct http *http);

/* ---- server.c --------------------------------------------------------------------------------------------- */

int server_start(struct http *http, struct http_server **out, struct ethos_error *error);

/* Takes over a connection that was accepted. */
void server_take(struct http_server *self, int fd, const struct sockaddr *address, socklen_t size);

/* Ends the connection that has asked nothing for longest, if there is one: no descriptor is left for another. */
void server_make_room(struct http_server *self);

/* Wakes the streams that wait. How many streams there are. */
size_t server_ring(struct http_server *self);

/* A descriptor that is readable when streams were closed by their peers; then server_sweep ends those. */
int server_watch(const struct http_server *self);
void server_sweep(struct http_server *self);

/* Once a second: closes what takes too long, wakes what was quiet for long. */
void server_tick(struct http_server *self);

/* Takes nothing new, lets open requests finish, ends streams. The workers go on until then. */
void server_finish(struct http_server *self);

/* When the workers are gone. */
void server_free(struct http_server *self);

#endif
