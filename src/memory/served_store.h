/*
 * served_store.h: the store of a home, for other machines that keep their memory in it.
 *
 * It is the one that the home is configured with; personalities with a backend of their own are not part of it.
 */
#ifndef ETHOS_MEMORY_SERVED_STORE_H
#define ETHOS_MEMORY_SERVED_STORE_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

struct lent {
    struct ethos_store *store;
    const struct ethos_host *host; /* of its texts */
};

/* Borrowed. ETHOS_UNSUPPORTED when the home's backend answers prefetch and sync itself. */
int served_store_open(struct ethos *self, struct lent *out, struct ethos_error *error);

/*
 * Whether a text may be lent: what is memory, and the archive. Others lie beside them in some stores,
 * credentials among them. ETHOS_DENIED.
 */
int served_store_check_key(const char *scope, const char *key, struct ethos_error *error);

#endif
