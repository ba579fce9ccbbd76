/*
 * registry.h: the backends by name, and how one becomes a provider.
 *
 * The only place that knows names. A backend is a provider, or a store that provider_over_store()
 * turns into one; it comes from the program itself, from a shared object, or from the caller of
 * ethos_open. Shared objects are those of this project, by their names, and any other by its absolute path.
 *
 * Ours lie in <prefix>/lib/ethos of a program <prefix>/bin/x or <prefix>/libexec/x, and in the
 * directory ethos beside libethos.so for whoever uses the library. Nobody looks there before the
 * configuration names one.
 */
#ifndef ETHOS_MEMORY_PROVIDER_REGISTRY_H
#define ETHOS_MEMORY_PROVIDER_REGISTRY_H

#include <ethos/provider.h>
#include <ethos/session.h>

#include "memory/home/secrets.h"

struct backend {
    const struct ethos_provider_ops *provider; /* one of the two */
    const struct ethos_store_ops *store;
    const struct ethos_sessions_ops *sessions; /* or NULL */
    void *library;                             /* from dlopen, or NULL */
};

/*
 * Finds a backend: by its name or by an absolute path. ETHOS_INVALID names an unknown one and the
 * nearest; ETHOS_NOTFOUND says what is to be installed; ETHOS_DENIED for a shared object that others may
 * write to; ETHOS_UNSUPPORTED for one of another ABI.
 */
int registry_find(const char *name, struct backend *out, struct ethos_error *error);

/* Names of the backends of this project, ended by NULL. */
extern const char *const registry_names[];

/* The options that a backend understands, or NULL. */
const struct ethos_option *registry_options(const struct backend *backend);

/* Threads that share the writes of their stores, and what stands for backend and settings there. */
struct registry_group {
    struct group *group; /* store/group_commit.h; NULL: nothing is shared */
    const char *name;
};

/*
 * Checks the settings against the option table of the backend and opens it; those of the setup are not
 * looked at. A store with fetch and commit becomes whole here.
 */
int registry_open(const struct backend *backend, const struct ethos_setup *setup,
                  const struct secrets_given *given, struct registry_group shared,
                  struct ethos_provider **out_provider, struct ethos_error *error);

/* The same up to the store, without what makes a provider of it. ETHOS_UNSUPPORTED: it has none. */
int registry_open_store(const struct backend *backend, const struct ethos_setup *setup,
                        const struct secrets_given *given, struct ethos_store **out_store,
                        struct ethos_error *error);

/* The same for its sessions, which it has. */
int registry_open_sessions(const struct backend *backend, const struct ethos_setup *setup,
                           const struct secrets_given *given, struct ethos_sessions **out_sessions,
                           struct ethos_error *error);

/* A store that the caller opened, checked as those of a backend are. Takes ownership, also on failure. */
int registry_adopt(const struct ethos_host *host, struct ethos_store *store, uint32_t deadline_ms,
                   struct ethos_provider **out_provider, struct ethos_error *error);

/* Unloads the shared object, after everything it made was closed. */
void registry_release(struct backend *backend);

/* Any store with the meaning from core. Takes ownership of the store, also on failure. */
int provider_over_store(const struct ethos_host *host, struct ethos_store *store,
                        struct ethos_provider **out_provider, struct ethos_error *error);

/* The store that such a provider is over, borrowed; NULL for any other one. */
struct ethos_store *provider_store(struct ethos_provider *provider);

#endif
