/*
 * api_keys.h: whether a session store supports API keys.
 */
#ifndef ETHOS_OPS_ADMIN_API_KEYS_H
#define ETHOS_OPS_ADMIN_API_KEYS_H

#include <stdbool.h>

#include <ethos/session.h>

/* Whether the store has all five functions for API keys. */
bool op_store_has_keys(const struct ethos_sessions *store);

#endif
