/*
 * idempotency.h: recognises a repeated sync and reproduces its first report.
 *
 * The store compares the digest and keeps the receipt; both are opaque to it.
 */
#ifndef ETHOS_MEMORY_PROVIDER_IDEMPOTENCY_H
#define ETHOS_MEMORY_PROVIDER_IDEMPOTENCY_H

#include <ethos/provider.h>

#include "base/hash.h"

struct update_effect;

/* A digest of the updates of one scope, equal exactly if they are equal. ETHOS_NOMEM. */
int once_digest(const struct ethos_update *updates, size_t count, const char *scope,
                char out[HASH_HEX_SIZE]);

/* What is reported about a key besides its revision. */
void once_receipt(const struct update_effect *effect, uint64_t chars, char out[ETHOS_RECEIPT_SIZE]);

/* Fills in those members of the outcome. Only the first report has warnings and diffs. */
void once_recall(const char *receipt, struct ethos_outcome *outcome);

#endif
