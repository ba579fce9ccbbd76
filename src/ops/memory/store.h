/*
 * store.h: what the operations store.* share: the home's store and the text that the arguments name.
 *
 * They give the contract of ethos/provider.h to another machine, in the forms of core/memory/wire.h: by exact
 * scope and key, byte for byte. What the store refused is the answer {"error": ...} with its code beside it,
 * because a code of HTTP does not tell all of ours apart.
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

/* Zeroes *out first. A failure is in out->error. */
int store_call_begin(const struct op_call *call, struct store_call *out);

/* ETHOS_UNSUPPORTED unless the store has what `slot` says. */
int store_call_require(struct store_call *self, bool slot);

/* The answer of an operation: json (taken) when code is ETHOS_OK, else the error of the lending. */
int store_call_end(struct store_call *self, int code, json_t *json, struct op_result *result,
                   struct ethos_error *error);

void store_call_free_text(const struct store_call *self, struct ethos_text *text);

/* A text of the arguments. ETHOS_INVALID names a bad one. */
int store_call_bytes(struct store_call *self, const struct op_call *call, const char *name,
                     struct str *scratch, struct ethos_view *out);

/* The origin of the arguments, checked; all members NULL when none was sent. */
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
