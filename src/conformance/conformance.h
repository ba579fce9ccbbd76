/*
 * conformance.h: the conformance suite: rules that every backend must follow.
 *
 * A subject is a way to open a store or a provider. The suite uses only its function table, and compares bytes and
 * revisions; store_ram is the reference. Each rule uses new scopes, except "global", so the suite can run against a
 * database that is in use, although it leaves behind what it wrote.
 *
 * The tests of this project run it over its stores (conformance_run), and `ethos conformance` over shared objects
 * (command.c).
 */
#ifndef ETHOS_CONFORMANCE_CONFORMANCE_H
#define ETHOS_CONFORMANCE_CONFORMANCE_H

#include <stdbool.h>

#include <ethos/provider.h>

#include "conformance/rule.h"

/* Makes the nth allocation from now on fail (0: none), and counts allocations since. */
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
    void (*reset)(void); /* empties the storage while no store is open; NULL: not needed */
    const struct conformance_memory *memory; /* NULL: allocations of the host fail */
    bool in_process;                         /* its storage is memory of this process */
    bool own_revisions; /* its revisions are not the hashes that the stores of this project use */
};

/* The rules for stores and for providers; NULL after the last one. */
const struct rule *conformance_rule(size_t index);
const struct rule *conformance_provider_rule(size_t index);

/* Runs a rule with its own store or provider. */
enum rule_result conformance_check(const struct conformance_subject *subject,
                                   const struct rule *rule, char why[RULE_WHY_SIZE]);

/* Runs all rules for stores, reports in the Test Anything Protocol, and returns how many are broken. */
int conformance_run(const struct conformance_subject *subject);

#endif
