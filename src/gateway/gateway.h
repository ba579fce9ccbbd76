/*
 * gateway.h: the gateway: platforms on one side, turns of the agent on the other, channels.db between them.
 *
 *   reception.c    receives a message: checks who wrote it and records it
 *   answering.c    starts turns for messages and queues the answers in the outbox
 *   delivery.c     sends the rows of the outbox, in order in each chat
 *   commands.c     slash commands
 *   links.c        links two identities as one person
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
    void (*log)(void *arg, const char *line); /* lines never contain texts of messages; or NULL */
    void (*wake)(void *arg);                  /* from another thread: call gateway_step soon */
    void *arg;
};

/* All adapters, up to NULL. */
extern const struct channel_adapter_ops *const channel_adapters[];

/* Locks the home and continues where the last gateway stopped. ETHOS_INVALID when no channel is enabled. */
int gateway_open(const struct gateway_setup *setup, int64_t now_ms, struct gateway **out,
                 struct ethos_error *error);

/* Waits for turns that run. */
void gateway_close(struct gateway *self);

/* Sets the time before answers are delivered to adapters. */
void gateway_set_time(struct gateway *self, int64_t now_ms, int64_t clock_ms);

/*
 * Does what is due. *out_wait_ms: call again after so many milliseconds at the latest. now_ms is wall time, clock_ms a
 * monotonic clock. Fails when channels.db cannot be used.
 */
int gateway_step(struct gateway *self, int64_t now_ms, int64_t clock_ms, int64_t *out_wait_ms,
                 struct ethos_error *error);

/* The machine was asleep: reconnects all adapters. */
void gateway_woken(struct gateway *self);

/* Stops receiving messages and starting turns. */
void gateway_drain(struct gateway *self);

/* The number of running turns. */
unsigned gateway_turns(struct gateway *self);

/* Whether no turn runs and nothing is being sent. */
bool gateway_is_idle(struct gateway *self);

#endif
