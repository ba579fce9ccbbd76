/*
 * webhook.h: requests that a platform makes to us, on a port of this machine, for whoever puts a proxy with TLS before it.
 *
 * A thread of libmicrohttpd takes them; they wait, each with its connection, until the gateway's thread has answered.
 */
#ifndef ETHOS_GATEWAY_WEBHOOK_H
#define ETHOS_GATEWAY_WEBHOOK_H

#include <stdbool.h>

#include <ethos/types.h>

#define WEBHOOK_MAX_BODY 1048576 /* bytes */
#define WEBHOOK_HEADERS 2        /* that are looked at */

struct webhook;

/* Lives until it is answered. */
struct webhook_request {
    unsigned id;
    struct ethos_view
        headers[WEBHOOK_HEADERS]; /* as they were named; the empty view where there is none */
    struct ethos_view body;
};

/* Listens on 127.0.0.1. wake is called from another thread when there is a request. */
int webhook_open(unsigned port, const char *const names[WEBHOOK_HEADERS], void (*wake)(void *arg),
                 void *arg, struct webhook **out, struct ethos_error *error);
void webhook_close(struct webhook *self); /* those that wait are answered with 503 */

/* One that nobody has taken yet. */
bool webhook_next(struct webhook *self, struct webhook_request *out);

/* text is plain text, or NULL. */
void webhook_answer(struct webhook *self, unsigned id, unsigned status, const char *text);

#endif
