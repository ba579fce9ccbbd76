/*
 * over_store.h: what the parts of the provider over a store share. Private to provider*.c.
 */
#ifndef ETHOS_MEMORY_OVER_STORE_H
#define ETHOS_MEMORY_OVER_STORE_H

#include <ethos/provider.h>

struct over_store {
    struct ethos_provider base;
    struct ethos_provider_ops ops; /* without what the store lacks */
    const struct ethos_host *host;
    struct ethos_store *store;
};

static inline struct ethos_store *over_inner(struct ethos_provider *self)
{
    return ((struct over_store *)self)->store;
}

/* provider_history.c: fills the slots of history and conflicts that the store has. */
void over_history_slots(struct ethos_provider_ops *ops, const struct ethos_store *store);

#endif
