/*
 * cost.h: what an answer cost, in 1e-9 USD. Pure.
 */
#ifndef ETHOS_AGENT_MODELS_COST_H
#define ETHOS_AGENT_MODELS_COST_H

#include "agent/models/model.h"

#define COST_UNKNOWN (-1)

/* In 1e-9 USD per million tokens ("3.00" USD per million is 3e9), or COST_UNKNOWN. */
struct model_prices {
    int64_t input, output;
    int64_t cache_read, cache_write; /* COST_UNKNOWN: as input */
};

/* A price as servers write it: USD per token, a decimal number. COST_UNKNOWN when it is none. */
int64_t cost_parse_per_token(struct ethos_view text);

/* Adds the cost to a usage that has none: by the prices, else 0 for a local model, else it stays unknown. */
void cost_set(struct model_usage *usage, const struct model_prices *prices, bool is_local);

/* Adds what another attempt used. The cost of the sum is known if that of both is. */
void cost_add(struct model_usage *usage, const struct model_usage *other);

#endif
