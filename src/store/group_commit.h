/*
 * group_commit.h: group commit: the updates of many handles, each with a thread of its own, share
 * writes.
 *
 * A group is what these handles share. In front of the store of each stands a store that hands its
 * updates to the group: the first one about a scope is done at once, by its own thread; what comes
 * while that goes on waits, and then one of those who wait does all of it with one batch. Nobody
 * waits for company. Scopes do not wait for each other. Everything but update goes straight to the
 * inner store.
 *
 * What that means for a callback: it may run in another thread, while its own is asleep until
 * update returns. So it may use whatever its caller owns, and must not use what belongs to a
 * thread (thread-local variables, thread-bound connections) nor call a store. What it leaves,
 * `old` included, is its caller's as ever.
 */
#ifndef ETHOS_STORE_GROUP_COMMIT_H
#define ETHOS_STORE_GROUP_COMMIT_H

#include <stdbool.h>

#include <ethos/provider.h>

struct group;

#define GROUP_CALLS 256 /* updates in one batch */
#define GROUP_EDITS 512 /* keys in one batch, unless one update has more */

int group_new(struct group **out_group, struct ethos_error *error);

/* Call it after all its stores are closed. */
void group_free(struct group *group);

/* The number of updates that wait for a write to end. */
size_t group_count_waiting(struct group *group);

/*
 * Puts a store in front of inner, which it owns and closes (NULL and out of memory: inner is closed
 * too). Updates are combined if host and `name` are the same: name stands for the backend and all
 * its settings, so that any of these inner stores can do the work of another. An update that has
 * not begun within deadline_ms is ETHOS_BUSY.
 */
int store_group_new(const struct ethos_host *host, struct ethos_store *inner, struct group *group,
                    const char *name, uint32_t deadline_ms, struct ethos_store **out_store,
                    struct ethos_error *error);

/*
 * Whether a report that one thread makes for all was made before; sets whether it is from now on.
 */
bool group_set_reported(struct group *self, bool told);

#endif
