/*
 * check.h: finds conversations that a model would reject, for every session store.
 *
 * Memory use does not depend on the number of messages.
 */
#ifndef ETHOS_CORE_SESSIONS_CHECK_H
#define ETHOS_CORE_SESSIONS_CHECK_H

#include <ethos/provider.h>

#include "base/arena.h"
#include "core/sessions/transcript.h"

#define SESSION_CHECK_SHOWN 5 /* findings of one kind; further ones are counted */

/* Reports a finding; each member is one line; remedy may be NULL. */
void session_finding(ethos_finding_fn *each, void *arg, enum ethos_severity severity,
                     const char *subject, const char *problem, const char *remedy);

/* The session being read. */
struct session_check {
    ethos_finding_fn *each;
    void *arg;
    struct arena arena;
    struct transcript transcript;
    char id[128];
    size_t messages;
    bool wrong; /* already reported */
    size_t wrong_count;
};

void session_check_begin(struct session_check *self, ethos_finding_fn *each, void *arg);

/* Checks the next message, session by session, in order. Fails only if memory runs out. */
int session_check_take(struct session_check *self, const char *id,
                       const struct ethos_message *message, struct ethos_error *error);

/* Reports how many more findings there were, if `whole`. */
void session_check_end(struct session_check *self, bool whole);

#endif
