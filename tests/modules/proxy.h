/*
 * proxy.h: stands between a client and a server, and cuts the wire when a test wants it.
 *
 * Both ends are a socket file or a port of the loopback. A cut is armed for requests that hold a
 * mark: what a client sends in one piece. It closes both sides.
 */
#ifndef TESTS_MODULES_PROXY_H
#define TESTS_MODULES_PROXY_H

#include <stdbool.h>

struct proxy;

struct proxy_end {
    const char *path; /* NULL: */
    unsigned port;    /* of the loopback; in front 0: any */
};

enum proxy_cut {
    PROXY_CUT_REQUEST, /* the server never gets it */
    PROXY_CUT_ANSWER,  /* the server answers, the client never sees it */
    PROXY_CUT_SILENT   /* the same, but the connections stay, and say nothing more */
};

/* Ends the program when it cannot listen. The paths are copied. */
struct proxy *proxy_start(struct proxy_end front, struct proxy_end back);
unsigned proxy_port(const struct proxy *self);

/* The next `times` requests that hold the mark (a string that stays valid) are cut. */
void proxy_arm(struct proxy *self, enum proxy_cut cut, const char *mark, unsigned times);

/* Requests that were cut so far. */
unsigned proxy_cuts(struct proxy *self);

/* Bytes of answers that clients got so far. */
unsigned long proxy_answered(struct proxy *self);

/* While it is shut, nobody is let in. */
void proxy_shut(struct proxy *self, bool shut);

void proxy_stop(struct proxy *self);

#endif
