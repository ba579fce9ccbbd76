/*
 * conformance.h: what every store must do, whatever is behind it.
 *
 * A subject is one way to come by a store. The suite only looks through the store's own table, and
 * compares bytes and revisions; what ram does is right.
 */
#ifndef TESTS_STORE_CONFORMANCE_H
#define TESTS_STORE_CONFORMANCE_H

#include <ethos/provider.h>

struct conformance_subject {
    const char *name;
    /* Opens a store: over empty storage after reset, over what is there otherwise. */
    int (*open)(const struct ethos_host *host, struct ethos_store **out_store,
                struct ethos_error *error);
    void (*reset)(void); /* empties the storage while no store is open; NULL: closing does */
};

/* Runs the suite as one group of tests; returns how many failed. */
int conformance_run(const struct conformance_subject *subject);

#endif
