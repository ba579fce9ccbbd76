/*
 * websocket.h: connections of an adapter to its platform, by libwebsockets, in a thread of their own.
 *
 * A table of functions, so that a test can be the platform. Names are looked up and connections begun in that thread,
 * one for each adapter: a name server that does not answer holds up nobody else. What happens is taken with next,
 * after wake was called; all else returns at once.
 */
#ifndef ETHOS_GATEWAY_WEBSOCKET_H
#define ETHOS_GATEWAY_WEBSOCKET_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/str.h"

#define WEBSOCKET_MAX_MESSAGE 4194304 /* bytes; a larger one ends its connection */
#define WEBSOCKET_MAX_URL 2048        /* bytes with terminator */

enum websocket_kind {
    WEBSOCKET_OPENED,
    WEBSOCKET_MESSAGE,
    WEBSOCKET_CLOSED /* the end of every connection and of every attempt, once */
};

struct websocket_event {
    enum websocket_kind kind;
    unsigned id;
    struct str text; /* of a message; release it */
    int code;        /* of a close: the peer's, or 0 */
    char why[160];   /* of a close: for the log, or "" */
};

struct websockets;

struct websockets_ops {
    /* The id of a new connection, never 0. */
    unsigned (*connect)(struct websockets *self, const char *url);
    void (*send)(struct websockets *self, unsigned id, struct ethos_view text);
    void (*close)(struct websockets *self, unsigned id, int code);
    bool (*next)(struct websockets *self, struct websocket_event *out);
    /* Those that were asked to close get a second for it. */
    void (*free)(struct websockets *self);
};

struct websockets {
    const struct websockets_ops *ops;
};

/* The one that is real. wake is called from its thread. direct: no proxy is used. */
int websockets_open(void (*wake)(void *arg), void *arg, bool direct, struct websockets **out,
                    struct ethos_error *error);

/*
 * Whether a platform's address may be given its token: wss at a host that is domain or below it, or, with loopback, any
 * address of this machine.
 */
bool websocket_url_is_trusted(const char *url, const char *domain, bool loopback);

#endif
