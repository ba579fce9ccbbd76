/*
 * over_store.h: the parts that the files of the provider over a store share. Private to
 * over_store*.c.
 */
#ifndef ETHOS_MEMORY_PROVIDER_OVER_STORE_H
#define ETHOS_MEMORY_PROVIDER_OVER_STORE_H

#include <ethos/provider.h>

#define PROFILE_KEY "USER.md"
#define LOG_KEY "MEMORY.md"

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

static inline void over_free_text(const struct ethos_host *host, struct ethos_text *text)
{
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/* over_store_prefetch.c */
int over_prefetch(struct ethos_provider *self, const struct ethos_context *context,
                  const struct ethos_read_how *how, struct ethos_section *sections, size_t count,
                  struct ethos_error *error);

/*
 * over_store_history.c: fills the slots for history, conflicts, scopes and watching that the store
 * has.
 */
void over_history_slots(struct ethos_provider_ops *ops, const struct ethos_store *store);

#endif
