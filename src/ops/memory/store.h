/*
 * store.h: what the operations store.* share: the store of the home, and the text that the arguments name.
 *
 * store.* offers the contract of ethos/provider.h to other machines, in the forms of core/memory/wire.h: by exact scope
 * and key, byte for byte. An error of the store is returned as {"error": ...}, because HTTP status codes do not
 * distinguish all of our codes.
 */
#ifndef ETHOS_OPS_MEMORY_STORE_H
#define ETHOS_OPS_MEMORY_STORE_H

#include "memory/served_store.h"
#include "ops/op.h"

#define STORE_PAGE 10000 /* rows of a list, unless a limit is given */

struct store_call {
    struct ethos_store *store;
    const struct ethos_host *host;
    const char *scope, *key; /* of the arguments, checked; key may be NULL */
    struct ethos_error error;
};

/* Opens the store and checks scope and key. Zeroes *out first; out->error tells why it failed. */
int store_call_begin(const struct op_call *call, struct store_call *out);

/* ETHOS_UNSUPPORTED if the optional function `slot` is missing. */
int store_call_require(struct store_call *self, bool slot);

/* Returns json, which it takes, if code is ETHOS_OK; else the error of the call. */
int store_call_end(struct store_call *self, int code, json_t *json, struct op_result *result,
                   struct ethos_error *error);

void store_call_free_text(const struct store_call *self, struct ethos_text *text);

/* Reads a text argument. ETHOS_INVALID names a bad one. */
int store_call_bytes(struct store_call *self, const struct op_call *call, const char *name,
                     struct str *scratch, struct ethos_view *out);

/* Reads and checks the argument "origin"; all members are NULL if it is missing. */
int store_call_origin(struct store_call *self, const struct op_call *call,
                      struct ethos_origin *out);

/* store_history.c */
op_fn store_run_history, store_run_version, store_run_set_aside, store_run_conflicts,
    store_run_conflict_read, store_run_conflict_drop, store_run_keep;

/* store_import_commits.c */
op_fn store_run_import_commit;

/* store_swap.c */
op_fn store_run_swap;

#endif
