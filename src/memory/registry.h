/*
 * registry.h: the backends by name, and how one becomes a provider.
 *
 * The only place that knows names. A backend is a provider, or a store that provider_over_store()
 * turns into one; it comes from the program itself, from a shared object named by its absolute path,
 * or from the caller of ethos_open.
 */
#ifndef ETHOS_MEMORY_REGISTRY_H
#define ETHOS_MEMORY_REGISTRY_H

#include <ethos/provider.h>

struct backend {
    const struct ethos_provider_ops *provider; /* one of the two */
    const struct ethos_store_ops *store;
    void *library; /* from dlopen, or NULL */
};

/*
 * Finds a backend: "markdown" or an absolute path that ends in .so. ETHOS_INVALID names an unknown
 * one and the nearest; ETHOS_DENIED for a shared object that others may write to; ETHOS_UNSUPPORTED
 * for one of another ABI.
 */
int registry_find(const char *name, struct backend *out, struct ethos_error *error);

/* Names of the built-in backends, ended by NULL. */
extern const char *const registry_names[];

/* Threads that share the writes of their stores, and what stands for backend and settings there. */
struct registry_group {
    struct group *group; /* store/group.h; NULL: nothing is shared */
    const char *name;
};

/* Checks the settings against the option table of the backend and opens it. */
int registry_open(const struct backend *backend, const struct ethos_setup *setup,
                  struct registry_group shared, struct ethos_provider **out_provider,
                  struct ethos_error *error);

/* Unloads the shared object, after every provider it made was closed. */
void registry_release(struct backend *backend);

/* Any store with the meaning from core. Takes ownership of the store, also on failure. */
int provider_over_store(const struct ethos_host *host, struct ethos_store *store,
                        struct ethos_provider **out_provider, struct ethos_error *error);

#endif
