/*
 * retry.h: whether and when a failed request is repeated. Pure.
 */
#ifndef ETHOS_AGENT_MODELS_RETRY_H
#define ETHOS_AGENT_MODELS_RETRY_H

#include <stdbool.h>

#include "agent/models/failure.h"

#define RETRY_ATTEMPTS 4        /* in all */
#define RETRY_MAX_WAIT_MS 60000 /* a server that asks for more is not waited for */
#define RETRY_HEADER_SIZE 64

/* What the server says about it; "" for nothing. */
struct retry_headers {
    char should_retry[RETRY_HEADER_SIZE]; /* x-should-retry */
    char after_ms[RETRY_HEADER_SIZE];     /* retry-after-ms */
    char after[RETRY_HEADER_SIZE];        /* retry-after: seconds, or a date */
};

/* How long the server asks to wait; 0: it does not say. */
int64_t retry_after_ms(const struct retry_headers *headers, int64_t now_ms);

/* Whether another attempt may succeed. can_connect: the connection was made. */
bool retry_is_useful(const struct failure *failure, const struct retry_headers *headers,
                     bool can_connect);

/* The wait after so many attempts, from 1. random: any byte. */
int64_t retry_wait_ms(unsigned attempt, const struct failure *failure, unsigned char random);

#endif
