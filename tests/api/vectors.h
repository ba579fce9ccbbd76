/*
 * vectors.h: every golden vector of updates and scopes, through the public interface, over any store.
 */
#ifndef TESTS_API_VECTORS_H
#define TESTS_API_VECTORS_H

#include "../memory/world.h"

#include <ethos/provider.h>

struct vectors_subject {
    const char *name;
    /* Opens a store, which the handle then owns. NULL: files, as configured. */
    int (*open)(const struct ethos_host *host, struct ethos_store **out_store,
                struct ethos_error *error);
};

/* Both fail the test that calls them. */
void vectors_updates(struct world *world, const struct vectors_subject *subject);
void vectors_scopes(struct world *world, const struct vectors_subject *subject);

#endif
