/*
 * check.h: what every session store tells the doctor: which conversations a model would refuse.
 *
 * Memory does not grow with how much there is to look at.
 */
#ifndef ETHOS_CORE_SESSIONS_CHECK_H
#define ETHOS_CORE_SESSIONS_CHECK_H

#include <ethos/provider.h>

#include "base/arena.h"
#include "core/sessions/transcript.h"

#define SESSION_CHECK_SHOWN 5 /* findings of one kind; the others are counted */

/* Tells a finding, each member as one line; remedy may be NULL. */
void session_finding(ethos_finding_fn *each, void *arg, enum ethos_severity severity,
                     const char *subject, const char *problem, const char *remedy);

/* The session that is being read. */
struct session_check {
    ethos_finding_fn *each;
    void *arg;
    struct arena arena;
    struct transcript transcript;
    char id[128];
    size_t messages;
    bool wrong; /* said so already */
    size_t wrong_count;
};

void session_check_begin(struct session_check *self, ethos_finding_fn *each, void *arg);

/* The next message, session by session, in order. Fails for lack of memory only. */
int session_check_take(struct session_check *self, const char *id,
                       const struct ethos_message *message, struct ethos_error *error);

/* Tells how many more there were, when `whole`. */
void session_check_end(struct session_check *self, bool whole);

#endif
