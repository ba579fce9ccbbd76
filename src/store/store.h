/*
 * store.h: the stores built into the program, all behind struct ethos_store_ops (ethos/provider.h).
 *
 *   ram           the reference: what the contract means, in the fewest lines
 *   files/files   the default: markdown files under a home directory
 *   trace         forwards to another store and logs each call (never content)
 *   fault         forwards to another store and fails the calls a test chooses
 *   group_commit  forwards to another store, updates of several threads in one batch
 *   rows          makes a whole store of a database that has fetch and commit
 */
#ifndef ETHOS_STORE_STORE_H
#define ETHOS_STORE_STORE_H

#include <stdbool.h>

#include <ethos/provider.h>

extern const struct ethos_store_ops store_ram;

/* Uses root, allow, deadline_ms and ETHOS_SETUP_FAST of its setup. The first write makes root. */
extern const struct ethos_store_ops store_files;

/*
 * For followers of the files store's history: whether the change of a record is not in its file
 * yet. dir is the directory of its scope.
 */
struct history_record;
bool store_files_is_pending(int dir, const struct history_record *record);

/*
 * The scopes of the files store that may have files below a root: "global" first, then every
 * personality, user, team and workspace as its directory lists them; trees of the memory tool are
 * not listed. dir: below the root, "." is the root itself. Returns the code of the walk, ETHOS_OK
 * at its end; root -1: there is nothing.
 */
typedef int store_files_scope_fn(void *arg, const char *scope, const char *dir);
int store_files_scopes(int root, store_files_scope_fn *each, void *arg, struct ethos_error *error);

/*
 * For backups of the files store: calls each with the directory of a scope, after recovery and
 * under its lock, so that history and texts belong together. locked false: nobody has written
 * there yet. each must not call the store; STORE_FILES_AGAIN makes it be called again with the
 * directory opened anew. A scope without a directory is ETHOS_OK.
 */
#define STORE_FILES_AGAIN 1
typedef int store_files_snapshot_fn(void *arg, int dir, const char *path, bool locked,
                                    struct ethos_error *error);
int store_files_snapshot(struct ethos_store *store, const char *scope,
                         store_files_snapshot_fn *each, void *arg, struct ethos_error *error);

/* Both take ownership of inner and close it; NULL and no memory: inner is closed too. */
int store_trace_new(const struct ethos_host *host, struct ethos_store *inner,
                    struct ethos_store **out_store, struct ethos_error *error);

/*
 * fail(arg, call, number) is asked before each call ("read", "write", "remove", "list", "update",
 * "batch", "gather"; numbers count from 1 over all calls) and returns the code to fail with, or
 * ETHOS_OK.
 */
typedef int store_fault_fn(void *arg, const char *call, unsigned long number);
int store_fault_new(const struct ethos_host *host, struct ethos_store *inner, store_fault_fn *fail,
                    void *arg, struct ethos_store **out_store, struct ethos_error *error);

/*
 * Makes every slot of the contract out of fetch, commit, rows and copies of inner. Takes ownership
 * of inner and closes it, also on failure. An update whose scope keeps changing is retried until
 * deadline_ms, then ETHOS_BUSY.
 */
int store_rows_new(const struct ethos_host *host, struct ethos_store *inner, uint32_t deadline_ms,
                   struct ethos_store **out_store, struct ethos_error *error);

/*
 * update of any store: its own, or a compare-and-swap loop over read and write, one key after the
 * other. When a later key has changed, the earlier ones are restored and everything starts again;
 * ETHOS_BUSY when the text keeps changing. An operation id is ETHOS_UNSUPPORTED without
 * ETHOS_STORE_ONCE. `old` of every edit starts all zero and is the caller's to free, also after a
 * failure.
 */
int store_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error);

/* batch of any store: its own, or one update after the other. */
void store_batch(struct ethos_store *store, const char *scope, struct ethos_edit_call *calls,
                 size_t count);

/* gather of any store: its own, or one read after the other. */
int store_gather(struct ethos_store *store, const struct ethos_read_how *how,
                 struct ethos_section *sections, size_t count, struct ethos_error *error);

#endif
