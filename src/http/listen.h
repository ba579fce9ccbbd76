/*
 * listen.h: the sockets of the server.
 */
#ifndef ETHOS_HTTP_LISTEN_H
#define ETHOS_HTTP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include <ethos/types.h>

#define LISTEN_MAX 16

struct listeners {
    int fds[LISTEN_MAX];
    size_t count;
    unsigned port; /* 0 before the first one: any that is free */
    bool open;     /* to other machines */
    bool v6;       /* to this one by ::1 */
};

/*
 * Every address of a name or address. ETHOS_BUSY when the port is taken. optional: one that this machine
 * does not have is no failure.
 */
int listen_add(struct listeners *self, const char *host, bool optional, struct ethos_error *error);
void listen_close(struct listeners *self);

#endif
