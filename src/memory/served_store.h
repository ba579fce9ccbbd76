/*
 * served_store.h: gives other machines that keep their memory here access to the store of a home.
 *
 * It is the store that the home is configured with; personalities with their own backend are not
 * included.
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

/* Borrowed. ETHOS_UNSUPPORTED if the home's backend implements prefetch and sync itself. */
int served_store_open(struct ethos *self, struct lent *out, struct ethos_error *error);

/*
 * Whether a text may be served: memory and the archive. Some stores hold other texts beside them,
 * such as credentials. ETHOS_DENIED if not.
 */
int served_store_check_key(const char *scope, const char *key, struct ethos_error *error);

#endif
