/*
 * http_client.h: requests of adapters to their platforms, many at a time, in the thread that waits for them.
 *
 * A table of functions, so that a test can be the platform. Nothing that a client reports names the address: those of
 * some platforms carry the token.
 */
#ifndef ETHOS_GATEWAY_HTTP_CLIENT_H
#define ETHOS_GATEWAY_HTTP_CLIENT_H

#include <stdbool.h>

#include <ethos/types.h>

#define HTTP_CLIENT_MAX_BODY 8388608 /* bytes of an answer */
#define HTTP_CLIENT_CONNECT_MS 10000

/* Borrowed for the length of the call that starts it. */
struct http_client_request {
    const char *url;
    const char *method;        /* NULL: POST */
    const char *authorization; /* "Bearer ...", or NULL */
    const char *user_agent;    /* NULL: ours */
    struct ethos_view body;    /* JSON; a GET has none */
    int64_t timeout_ms;        /* for all of it */
    bool is_loopback;          /* this machine: plain http is fine, and no proxy is asked */
    bool
        fresh; /* over a connection of its own: a request over one that was kept may be sent twice */
};

struct http_client_answer {
    int status;    /* 0: none came, or not all of it */
    bool has_left; /* some of the request may have reached the platform */
    struct ethos_view body;
    const char *problem;       /* with status 0 */
    struct ethos_view headers; /* "Name: value" lines */
};

/* A header of an answer, its name in whatever case; the empty view when it has none. */
struct ethos_view http_client_header(const struct http_client_answer *answer, const char *name);

typedef void http_client_fn(void *arg, const struct http_client_answer *answer);

struct http_client;

struct http_client_ops {
    /* *out_id is never 0. The answer comes later, never from within; once, unless it is called off. */
    int (*start)(struct http_client *self, const struct http_client_request *request,
                 http_client_fn *each, void *arg, uint64_t *out_id, struct ethos_error *error);
    void (*cancel)(struct http_client *self, uint64_t id); /* 0: nothing */
};

struct http_client {
    const struct http_client_ops *ops;
};

/* The one that is real. */
int http_client_open(struct http_client **out, struct ethos_error *error);
void http_client_close(struct http_client *self); /* calls everything off */

/* Gives the answers that are there. */
void http_client_deliver(struct http_client *self);

/* Waits for answers, for fd (-1: none), or for http_client_wake; at most timeout_ms. */
void http_client_wait(struct http_client *self, int fd, int timeout_ms);
void http_client_wake(struct http_client *self); /* from any thread */

#endif
