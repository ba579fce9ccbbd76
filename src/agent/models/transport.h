/*
 * transport.h: one HTTP exchange at a time with one server, over a connection that stays open between them.
 *
 * The body of the answer is handed over as it arrives. Redirects are not followed: what is sent is for this
 * server. Nothing that a transport reports contains the key.
 */
#ifndef ETHOS_AGENT_MODELS_TRANSPORT_H
#define ETHOS_AGENT_MODELS_TRANSPORT_H

#include "agent/models/endpoint.h"
#include "agent/models/failure.h"
#include "agent/models/retry.h"

/* Strings are borrowed, and live as long as the transport. */
struct transport_settings {
    const struct endpoint *endpoint;
    struct failure_context context;
    const char *key_header;     /* "x-api-key: " */
    const char *const *headers; /* further lines, up to NULL; or NULL */
    const char *ca_file;        /* or NULL: those of the system */
    int64_t connect_ms, first_byte_ms, idle_ms;
};

struct transport_request {
    const char *path;       /* after the base URL */
    struct ethos_view body; /* JSON; absent: GET */
    int abort_fd;           /* readable: the exchange ends; or -1 */

    /* The server accepted the request; or NULL. */
    void (*start)(void *arg);
    /* Of the body of a 2xx. False: enough is known, and the connection may be closed. */
    bool (*read)(void *arg, struct ethos_view bytes);
    /* Whether nothing more is needed, should the server keep the answer open; or NULL. */
    bool (*is_over)(const void *arg);
    void *arg;
};

struct transport_result {
    int http; /* status, or 0 */
    bool
        has_failed; /* failure says why; otherwise a 2xx was read to its end, or as far as wanted */
    struct failure failure;
    bool can_connect; /* the connection was made */
    struct retry_headers headers;
};

struct transport;

/* ETHOS_NOMEM. */
int transport_open(const struct transport_settings *settings, struct transport **out,
                   struct ethos_error *error);
void transport_close(struct transport *self);

void transport_send(struct transport *self, const struct transport_request *request,
                    struct transport_result *out);

/* A request's read that appends the body to a struct str. */
bool transport_append(void *str, struct ethos_view bytes);

#endif
