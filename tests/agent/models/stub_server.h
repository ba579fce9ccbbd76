/*
 * stub_server.h: a server on loopback that answers with given bytes, whatever it is asked.
 *
 * It answers one request after the other, with one reply each, and ends with the last reply or with stub_stop.
 */
#ifndef TESTS_AGENT_MODELS_STUB_SERVER_H
#define TESTS_AGENT_MODELS_STUB_SERVER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/str.h"

#define STUB_MAX_REPLIES 8

enum stub_then {
    STUB_CLOSES,   /* the connection */
    STUB_READS_ON, /* the next request may come on the same connection */
    STUB_IS_SILENT /* until the client closes it */
};

struct stub_reply {
    const char *bytes;
    enum stub_then then;
    int signal_fd; /* a byte is written to it once the reply was sent; 0: none */
};

struct stub {
    int port;
    struct stub_reply replies[STUB_MAX_REPLIES];
    size_t count;

    /* To be read after stub_stop. */
    struct str requests[STUB_MAX_REPLIES];
    size_t answered, connections;

    int listener, stop[2];
    pthread_t thread;
};

void stub_start(struct stub *self, const struct stub_reply *replies, size_t count);
void stub_stop(struct stub *self);
void stub_release(struct stub *self);

#endif
