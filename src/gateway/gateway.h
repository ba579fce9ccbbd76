/*
 * gateway.h: the gateway: platforms on one side, turns of the agent on the other, channels.db between them.
 *
 *   reception.c    a message that was received: who wrote it, what becomes of it
 *   answering.c    messages become turns, outcomes become rows of the outbox
 *   delivery.c     rows of the outbox are sent, one after the other in each chat
 *   commands.c     what begins with a slash
 *   links.c        two identities become one person
 *   run.c          the loop of ethos gateway
 *
 * Everything runs in the caller's thread but the turns (turn_threads.h). Time comes in by gateway_step, so that a test
 * can have another clock.
 */
#ifndef ETHOS_GATEWAY_GATEWAY_H
#define ETHOS_GATEWAY_GATEWAY_H

#include "gateway/adapters/adapter.h"
#include "gateway/turn_threads.h"

struct gateway;

struct gateway_setup {
    const struct ethos_options *options;
    const struct channel_adapter_ops *const *adapters; /* up to NULL */
    struct http_client *http;
    turn_model_fn *open_model; /* NULL: the configured one */
    void *model_arg;
    void (*log)(void *arg, const char *line); /* a line without content of messages; or NULL */
    void (*wake)(void *arg);                  /* from another thread: call gateway_step soon */
    void *arg;
};

/* All adapters there are, up to NULL. */
extern const struct channel_adapter_ops *const channel_adapters[];

/* Takes the lock of the home, and goes on where the last one ended. ETHOS_INVALID when no channel is enabled. */
int gateway_open(const struct gateway_setup *setup, int64_t now_ms, struct gateway **out,
                 struct ethos_error *error);

/* Waits for turns that run. */
void gateway_close(struct gateway *self);

/* Before answers are given to its adapters: the time at which they came. */
void gateway_set_time(struct gateway *self, int64_t now_ms, int64_t clock_ms);

/*
 * Does what is due; returns after how many milliseconds it wants to be called again, if nothing happens before.
 * now_ms is wall time, clock_ms of a clock that never goes back. ETHOS_OK, or why channels.db cannot be used.
 */
int gateway_step(struct gateway *self, int64_t now_ms, int64_t clock_ms, int64_t *out_wait_ms,
                 struct ethos_error *error);

/* The machine slept. */
void gateway_woken(struct gateway *self);

/* No more messages are received and no more turns begun, from now on. */
void gateway_drain(struct gateway *self);

/* Turns that run. */
unsigned gateway_turns(struct gateway *self);

/* Whether no turn runs and nothing is being sent. */
bool gateway_is_idle(struct gateway *self);

#endif
