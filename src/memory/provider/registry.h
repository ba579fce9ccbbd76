/*
 * registry.h: finds and opens backends by name.
 *
 * The only place that knows names. A backend is a provider, or a store that provider_over_store()
 * turns into one; it is built in, in a shared object, or passed to ethos_open. Shared objects of
 * this project are named by a word, any other by its absolute path.
 *
 * Ours are in <prefix>/lib/ethos of a program <prefix>/bin/x or <prefix>/libexec/x, and in the
 * directory ethos beside libethos.so for users of the library. They are loaded only if the
 * configuration names them.
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
 * Finds a backend by its name or absolute path. ETHOS_INVALID names an unknown one and the nearest;
 * ETHOS_NOTFOUND says what to install; ETHOS_DENIED for a shared object that others may write to;
 * ETHOS_UNSUPPORTED for another ABI.
 */
int registry_find(const char *name, struct backend *out, struct ethos_error *error);

/* Names of the backends of this project, ended by NULL. */
extern const char *const registry_names[];

/* The options that a backend understands, or NULL. */
const struct ethos_option *registry_options(const struct backend *backend);

/* Threads that share the writes of their stores, and the key of backend and settings there. */
struct registry_group {
    struct group *group; /* store/group_commit.h; NULL: nothing is shared */
    const char *name;
};

/*
 * Checks the settings against the option table of the backend and opens it; the settings in setup
 * are ignored. A store with fetch and commit is completed here.
 */
int registry_open(const struct backend *backend, const struct ethos_setup *setup,
                  const struct secrets_given *given, struct registry_group shared,
                  struct ethos_provider **out_provider, struct ethos_error *error);

/* Likewise, but returns the store. ETHOS_UNSUPPORTED: it has none. */
int registry_open_store(const struct backend *backend, const struct ethos_setup *setup,
                        const struct secrets_given *given, struct ethos_store **out_store,
                        struct ethos_error *error);

/* Likewise for its sessions, which it must have. */
int registry_open_sessions(const struct backend *backend, const struct ethos_setup *setup,
                           const struct secrets_given *given, struct ethos_sessions **out_sessions,
                           struct ethos_error *error);

/* Checks a store that the caller opened. Takes ownership, also on failure. */
int registry_adopt(const struct ethos_host *host, struct ethos_store *store, uint32_t deadline_ms,
                   struct ethos_provider **out_provider, struct ethos_error *error);

/* Unloads the shared object, after everything it opened was closed. */
void registry_release(struct backend *backend);

/*
 * Makes a provider of any store, with the rules of core. Takes ownership of the store, also on
 * failure.
 */
int provider_over_store(const struct ethos_host *host, struct ethos_store *store,
                        struct ethos_provider **out_provider, struct ethos_error *error);

/* The store of such a provider, borrowed; NULL for any other. */
struct ethos_store *provider_store(struct ethos_provider *provider);

#endif
