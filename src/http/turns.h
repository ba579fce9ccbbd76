/*
 * turns.h: turns of conversations that the server runs: one at a time per session, a thread each, so many at once.
 *
 * A turn goes on without the client that sent it; its events are told to the stream of its session.
 */
#ifndef ETHOS_HTTP_TURNS_H
#define ETHOS_HTTP_TURNS_H

#include "ops/op.h"

#define TURNS_MAX_QUEUED 10        /* that wait in one session; the next one is answered BUSY */
#define TURNS_MAX_ATTACHED 2097152 /* bytes of text that is attached to a message */

struct http;
struct turns;

/* At most so many run at once. */
int turns_new(struct http *http, unsigned most, struct turns **out, struct ethos_error *error);

/* Aborts what runs, drops what waits, and returns when all threads have ended. NULL is fine. */
void turns_free(struct turns *self);

/* How the operations chat.* reach them. */
const struct op_chat *turns_chat(const struct turns *self);

#endif
