/*
 * hook.h: ethos hook AGENT EVENT: handles an event of an agent and prints an answer.
 *
 * Always prints exactly one JSON object and exits with status 0, because an agent takes anything
 * else for an order to stop. With ETHOS_DEBUG set, errors go to stderr.
 */
#ifndef ETHOS_HOOK_HOOK_H
#define ETHOS_HOOK_HOOK_H

#include "ops/surface.h"

#define HOOK_DEADLINE_MS 1000 /* after this the answer is {} */
#define HOOK_NOTHING "{}\n"   /* the empty answer */

surface_fn hook_serve;

/* Whether it needs the session store. */
bool hook_elsewhere(const json_t *args);

#endif
