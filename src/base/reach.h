/*
 * reach.h: for how long one who is not there is tried. For backends that are reached over a network.
 *
 * A person who types a command is told within a second that nobody listens, and a restart of that length
 * goes unnoticed. Whoever was there before, or says himself that he is not ready, is worth the whole
 * deadline, and so is anybody to a server, whose clients wait. Where the host has another answer, one
 * attempt is enough, and it is a short one. Times are those of os_monotonic_ms.
 */
#ifndef ETHOS_BASE_REACH_H
#define ETHOS_BASE_REACH_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/provider.h>

struct reach {
    bool once;  /* ETHOS_SETUP_REACH */
    bool waits; /* ETHOS_SETUP_STAYS; to be set when somebody has answered */
};

static inline struct reach reach_make(const struct ethos_setup *setup)
{
    return (struct reach){setup->flags & ETHOS_SETUP_REACH, setup->flags & ETHOS_SETUP_STAYS};
}

/* Until when it is tried again, in a call that began then and has until then. */
static inline int64_t reach_again(const struct reach *self, int64_t began, int64_t until)
{
    int64_t brief = began + ETHOS_REACH_MS;
    return self->once ? began : self->waits || brief > until ? until : brief;
}

/* Until when an attempt to connect, or to read, that begins now may take. */
static inline int64_t reach_attempt(const struct reach *self, int64_t now, int64_t until)
{
    int64_t brief = now + ETHOS_ATTEMPT_MS;
    return self->once && brief < until ? brief : until;
}

/* Why somebody was not there just now: told to the next call instead of waiting for him a second time. */
struct reach_excuse {
    struct ethos_error error;
    int64_t until;
};

static inline int reach_excuse(struct reach_excuse *self, int64_t now, struct ethos_error *error)
{
    int code = now < self->until ? self->error.code : ETHOS_OK;
    if (code != ETHOS_OK && error)
        *error = self->error;
    self->until = 0;
    return code;
}

#endif
