/*
 * hook.h: ethos hook AGENT EVENT: an agent tells what happened, and is answered.
 *
 * Whatever happens, one JSON object is printed, nothing else, and the exit status is 0: an agent takes
 * anything else for an order to stop. With ETHOS_DEBUG set, stderr says what went wrong.
 */
#ifndef ETHOS_HOOK_HOOK_H
#define ETHOS_HOOK_HOOK_H

#include "ops/surface.h"

#define HOOK_DEADLINE_MS 1000 /* after which the answer is {} */
#define HOOK_NOTHING "{}\n"   /* the answer that says nothing */

surface_fn hook_serve;

/* Whether the session store is needed for it. */
bool hook_elsewhere(const json_t *args);

#endif
