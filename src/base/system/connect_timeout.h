/*
 * connect_timeout.h: how long a server is waited for that does not answer. For backends on a network.
 *
 * A person who types a command is told within a second that nobody listens, and a restart of that length
 * goes unnoticed. A server that answered before, or that says itself that it is not ready, is tried until
 * the deadline, and so is any for a host that is a server, whose clients wait. Where the host has another
 * answer, one short attempt is enough. Times are those of os_monotonic_ms.
 *
 * One that did not answer is left alone for a while (struct ethos_deadline): three times as long as it was
 * waited for, within limits. Until then every call gets the same error at once, unless it may wait longer
 * than the one that failed.
 */
#ifndef ETHOS_BASE_SYSTEM_CONNECT_TIMEOUT_H
#define ETHOS_BASE_SYSTEM_CONNECT_TIMEOUT_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/provider.h>

#include "base/system/os.h"

#define REACH_LEAST_PAUSE_MS 1000
#define REACH_MOST_PAUSE_MS 6000

struct backend_reach {
    bool once;  /* ETHOS_SETUP_REACH */
    bool waits; /* ETHOS_SETUP_STAYS; set it when the server has answered */
    uint32_t deadline_ms;
    struct ethos_deadline *shared; /* or NULL */
};

static inline struct backend_reach reach_make(const struct ethos_setup *setup)
{
    return (struct backend_reach){
        setup->flags & ETHOS_SETUP_REACH, setup->flags & ETHOS_SETUP_STAYS,
        setup->deadline_ms ? setup->deadline_ms : ETHOS_LOCK_DEADLINE_MS, setup->deadline};
}

/* The smaller of two limits, where 0 is no limit. */
static inline uint32_t reach_least(uint32_t ms, uint32_t limit)
{
    return limit > 0 && limit < ms ? limit : ms;
}

/* How long a call may take. */
static inline uint32_t reach_call_ms(const struct backend_reach *self)
{
    return reach_least(self->deadline_ms, self->shared ? self->shared->call_ms : 0);
}

/* The same for reading texts, unless one attempt is enough. */
static inline uint32_t reach_most_ms(const struct backend_reach *self)
{
    return reach_least(reach_call_ms(self), self->shared ? self->shared->read_ms : 0);
}

/* How long one connection may take, or a call that reads texts. */
static inline uint32_t reach_read_ms(const struct backend_reach *self)
{
    return reach_least(reach_most_ms(self), self->once ? ETHOS_ATTEMPT_MS : 0);
}

/* Until when to retry, in a call that began then and may take until then. */
static inline int64_t reach_again(const struct backend_reach *self, int64_t began, int64_t until)
{
    int64_t brief = began + ETHOS_REACH_MS;
    return self->once ? began : self->waits || brief > until ? until : brief;
}

/* Until when an attempt to connect or read that begins now may take. */
static inline int64_t reach_attempt(const struct backend_reach *self, int64_t now, int64_t until)
{
    int64_t brief = now + reach_read_ms(self);
    return brief < until ? brief : until;
}

/* os_poll; -1 if the host cancels the call. */
static inline int reach_poll(const struct backend_reach *self, struct pollfd *fds,
                             unsigned long count, int timeout_ms)
{
    const struct ethos_deadline *shared = self->shared;
    return shared && shared->wait ? shared->wait(shared->wait_arg, fds, count, timeout_ms)
                                  : os_poll(fds, count, timeout_ms);
}

/* os_sleep_ms; false if the host cancels the call. */
static inline bool reach_sleep(const struct backend_reach *self, unsigned ms)
{
    const struct ethos_deadline *shared = self->shared;
    if (shared && shared->wait)
        return shared->wait(shared->wait_arg, NULL, 0, (int)ms) == 0;
    os_sleep_ms(ms);
    return true;
}

/* ETHOS_BUSY with the error of the failed call, while the server is not tried again. */
static inline int reach_check(const struct backend_reach *self, int64_t now,
                              struct ethos_error *error)
{
    const struct ethos_deadline *shared = self->shared;
    if (!shared || now >= shared->retry_at_ms || reach_most_ms(self) > shared->tried_ms)
        return ETHOS_OK;
    if (error)
        *error = shared->error;
    return ETHOS_BUSY;
}

/* Records that a call that began then has had no answer until now. */
static inline void reach_failed(const struct backend_reach *self, int64_t began, int64_t now,
                                const struct ethos_error *error)
{
    struct ethos_deadline *shared = self->shared;
    int64_t pause = 3 * (now - began);
    if (!shared)
        return;
    if (pause < REACH_LEAST_PAUSE_MS)
        pause = REACH_LEAST_PAUSE_MS;
    shared->retry_at_ms = now + (pause < REACH_MOST_PAUSE_MS ? pause : REACH_MOST_PAUSE_MS);
    shared->tried_ms = reach_most_ms(self);
    shared->error = *error;
    shared->error.code = ETHOS_BUSY;
}

#endif
