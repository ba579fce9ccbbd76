/*
 * idempotency.h: what makes a repeat of a sync known and its report the first one again.
 *
 * The store compares the digest and keeps the receipt; both mean something here only.
 */
#ifndef ETHOS_MEMORY_PROVIDER_IDEMPOTENCY_H
#define ETHOS_MEMORY_PROVIDER_IDEMPOTENCY_H

#include <ethos/provider.h>

#include "base/hash.h"

struct update_effect;

/* What the updates of one scope ask for: equal exactly when they are. ETHOS_NOMEM. */
int once_digest(const struct ethos_update *updates, size_t count, const char *scope,
                char out[HASH_HEX_SIZE]);

/* What is reported of a key besides its revision. */
void once_receipt(const struct update_effect *effect, uint64_t chars, char out[ETHOS_RECEIPT_SIZE]);

/* Sets those members of the outcome. Warnings and diffs belong to the first report alone. */
void once_recall(const char *receipt, struct ethos_outcome *outcome);

#endif
