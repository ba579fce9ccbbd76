/*
 * api_keys.h: what surfaces need to know of a session store that may keep keys.
 */
#ifndef ETHOS_OPS_ADMIN_API_KEYS_H
#define ETHOS_OPS_ADMIN_API_KEYS_H

#include <stdbool.h>

#include <ethos/session.h>

/* Whether the store keeps API keys: it has all five functions for them, or none. */
bool op_store_has_keys(const struct ethos_sessions *store);

#endif
