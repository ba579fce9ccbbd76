/*
 * conformance.h: what every backend must do, whatever is behind it.
 *
 * A subject is one way to come by a store, or by a provider. The suite only looks through its own table,
 * and compares bytes and revisions; what store_ram does is right. Each rule has scopes of its own that nobody
 * wrote before, but for "global": so one may run against a database that is in use, though it leaves
 * there what it wrote.
 *
 * The tests of this project run it over its stores (conformance_run), `ethos conformance` over the
 * shared object of somebody else (command.c).
 */
#ifndef ETHOS_CONFORMANCE_CONFORMANCE_H
#define ETHOS_CONFORMANCE_CONFORMANCE_H

#include <stdbool.h>

#include <ethos/provider.h>

#include "conformance/rule.h"

/* How allocations are made to fail: the nth from now on, 0 for none; and how many there were since. */
struct conformance_memory {
    void (*fail_at)(unsigned long n);
    unsigned long (*count)(void);
};

struct conformance_subject {
    const char *name;
    /* Opens a store: over empty storage after reset, over what is there otherwise. */
    int (*open)(const struct ethos_host *host, struct ethos_store **out_store,
                struct ethos_error *error);
    /* For a provider, instead. */
    int (*open_provider)(const struct ethos_host *host, struct ethos_provider **out_provider,
                         struct ethos_error *error);
    void (*reset)(void); /* empties the storage while no store is open; NULL: need not be */
    const struct conformance_memory *memory; /* NULL: what is asked of the host fails */
    bool in_process;    /* its storage is memory of this process, which others do not see */
    bool own_revisions; /* they are not the hashes that the stores of this project have */
};

/* The rules for a store, those for a provider; NULL after the last. */
const struct rule *conformance_rule(size_t index);
const struct rule *conformance_provider_rule(size_t index);

/* Runs one, with a store or provider of its own. */
enum rule_result conformance_check(const struct conformance_subject *subject,
                                   const struct rule *rule, char why[RULE_WHY_SIZE]);

/* Runs all as one group of tests, in the Test Anything Protocol; returns how many are broken. */
int conformance_run(const struct conformance_subject *subject);

#endif
