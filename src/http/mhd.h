/*
 * mhd.h: what the files that know libmicrohttpd share: server.c, admission.c, dispatch.c, response_cache.c, streams.c.
 * Nothing else includes this, or its header.
 *
 * A request is named when its line has come, judged when its headers have (admission.c), read, and then
 * answered in this thread or by a worker while its connection is suspended (dispatch.c). A stream is
 * suspended whenever it has nothing to say (streams.c).
 */
#ifndef ETHOS_HTTP_MHD_H
#define ETHOS_HTTP_MHD_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "http/server.h"

/* What a connection is waiting for, and so how long it may. */
enum connection_phase {
    PHASE_IDLE,
    PHASE_HEADERS,
    PHASE_BODY,
    PHASE_ANSWER,
    PHASE_REFUSED, /* nothing is asked any more; its body and its answer are on their way */
};

struct connection;

enum request_step { STEP_NEW, STEP_READ, STEP_REFUSED, STEP_WORK, STEP_DONE };

struct http_request {
    struct http_call call; /* first */
    struct http_reply reply;
    struct auth_found found; /* who asks; filled in when the gate needs it */
    struct worker_job job;
    struct http_server *server;
    struct MHD_Connection *mhd;
    struct connection *connection;
    enum request_step step;
    size_t line_size;
    struct ethos_view target; /* the host in its line; absent: only the header names one */
    bool last;                /* of its connection */
    const char *shared;       /* the origin whose pages may read the answer, or NULL */
    const char *accept;       /* the header, or NULL */
    bool conditional;         /* If-Match or If-None-Match is there */
    struct str body;          /* its memory, and that of the answer, serve the next request, too */
    size_t held;              /* of server->bodies */
    /* of a stream: */
    bool entered; /* it is in the list, and links are under the mutex, as is the next */
    bool left;    /* its peer has closed it: it does not count any more */
    struct http_request *next, **link;
    struct ethos_view rest; /* of what it gave last */
    bool waiting;
    bool ended;
    int64_t quiet_since;
};

struct connection {
    struct connection *next, **link;
    int fd;
    atomic_int phase;
    _Atomic int64_t since;          /* ms */
    uint64_t taken;                 /* by its peer, bytes, when it was last looked at */
    char line[HTTP_KEPT_LINE];      /* path and query as they came; "" when they are longer */
    char host[HTTP_KEPT_HOST];      /* the last header of that name that was ours; "" none */
    bool line_bad;                  /* they cannot be understood */
    const struct http_route *route; /* NULL: no such path */
    bool line_known; /* both hold, and for the next request too if its line is the same */
    bool gone;       /* it ends in a moment, and does not count any more */
    struct http_request request; /* there is one at a time */
};

struct http_server {
    struct http *http;
    struct MHD_Daemon *daemon;
    atomic_size_t bodies;  /* bytes that bodies take, but for what connections keep */
    pthread_mutex_t mutex; /* of all that follows */
    struct connection *connections;
    size_t connection_count; /* without those that are gone, as is the next */
    struct http_request *streams;
    size_t stream_count;
    int watch; /* epoll: the sockets of streams whose peers may close */
    uint64_t rings;
    bool ending;
};

static inline struct http_request *request_of(const struct http_call *call)
{
    return (struct http_request *)call;
}

/* server.c: the connection goes on to another phase; holding the mutex: its place is free. */
void connection_enter(struct connection *connection, enum connection_phase phase);
void connection_leave(struct http_server *self, struct connection *connection);

/* admission.c: the headers are here; then its body, piece by piece. What is refused has its answer. */
void request_begin(struct http_request *request, const char *url, const char *method);
void request_take(struct http_request *request, struct ethos_view piece);
void request_forget(struct http_request *request); /* its body */
void request_refuse(struct http_request *request, const struct http_error *error);

/* response_cache.c: sends an answer that was kept, if there is one and it would be made the same. */
bool again_answer(struct http_request *request, enum MHD_Result *out);

/* Whether the answer that was just made, by this thread, can serve again; then takes the response. */
bool again_wants(const struct http_request *request);
void again_keep(struct http_request *request, struct MHD_Response *response);

/* dispatch.c: of a connection that begins and ends; libmicrohttpd's callbacks. */
void request_init(struct http_request *request);
void request_release(struct http_request *request);
void *on_line(void *arg, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
                           const char *method, const char *version, const char *data, size_t *size,
                           void **context);
void on_end(void *arg, struct MHD_Connection *mhd, void **context,
            enum MHD_RequestTerminationCode why);

/* streams.c: bytes for libmicrohttpd; waking one that waits (holding the mutex); the end of one. */
ssize_t stream_read(void *arg, uint64_t at, char *out, size_t size);
void stream_wake(struct http_request *request);
void stream_leave(struct http_request *request);

/* Holding the mutex: finds streams whose peers have closed. They do not count from then on. */
void streams_sweep(struct http_server *self);

#endif
