/*
 * offline.h: a provider in front of one that may be out of reach: what is known is shown, what is to be
 * changed waits.
 *
 *     memory.options.offline: fail | cached        what reading does meanwhile
 *     memory.options.onOffline: refuse | queue     what sync does meanwhile
 *
 * Out of reach is what answers ETHOS_BUSY, which means that nothing was or will be done; also when it is
 * opened. It is asked once and briefly (ETHOS_SETUP_REACH), and then left alone for a while
 * (base/system/connect_timeout.h): whoever comes meanwhile does not wait. ETHOS_IO and every other failure
 * pass as they are.
 *
 * In <root>/offline/<place>/, a place being a backend with its settings, secrets left out:
 *
 *     place           what that is, for people
 *     known/          texts as they were when prefetch last had them, one file each; may be deleted
 *     queue/          calls of sync that wait, one file each, in order
 *     refused/        calls that the backend refused for good, with the reason
 *
 * cached: prefetch keeps the texts of its sections (a tail where a tail was read), the file's time saying
 * when they were so; they are written when they changed and not made durable: a torn one is not known.
 * Every other read only refreshes what is kept already. What comes from there has known_ms set. A purge
 * takes the texts of its scope away; one made on another machine does as soon as they are read again.
 *
 * queue: a call that asks for what stands there now (if_match, a dry run) is refused, as is one
 * whose texts are no UTF-8; every other one is durable before it is told as ETHOS_OUTCOME_QUEUED. A file
 * is JSON that `ethos sync` takes, too; its name holds the order and a checksum. Of a call that
 * was done for some scopes the rest waits. Before anything else is asked of the backend the
 * calls are made, in order, one process at a time, each with its operation id: one that died in between
 * is made again, and nothing happens twice (a backend without operation ids may do it twice). A reader
 * gives that half of its deadline and then reads; a writer all of it, and then is queued behind.
 * ETHOS_BUSY, ETHOS_IO and ETHOS_NOMEM leave a call where it is, and so does every failure of a backend
 * that cannot be read either (it refuses the password, or is another one). What is left is the call's own fault, and
 * for good: it is put aside, and a person applies it (ethos sync < FILE) or deletes it.
 *
 * Files instead of one that grows: nothing is ever torn, striking off is one unlink, and what was put aside
 * can be applied as it is.
 *
 * What is forgotten (offline_forget) goes from all of these, at every place: lines of calls, and texts of the
 * scope as a whole.
 */
#ifndef ETHOS_MEMORY_OFFLINE_OFFLINE_H
#define ETHOS_MEMORY_OFFLINE_OFFLINE_H

#include <stdbool.h>

#include "memory/provider/registry.h"

#define OFFLINE_MAX_CALLS 10000    /* queued at one place */
#define OFFLINE_MAX_BYTES 67108864 /* of all of them */
#define OFFLINE_MAX_REFUSED 1000   /* files that doctor reports */

/* The two options, for checking settings; NULL for a backend that keeps files here. */
const struct ethos_option *offline_options(const struct backend *backend);

/*
 * registry_open, with this provider in front if an option requires it or calls are queued. It then
 * succeeds even if the backend is unreachable. backend and shared.name must outlive the provider;
 * setup and given are copied.
 */
int offline_open(const struct backend *backend, const struct ethos_setup *setup,
                 const struct secrets_given *given, struct registry_group shared,
                 struct ethos_provider **out_provider, struct ethos_error *error);

/*
 * The backend of a provider: itself if nothing is in front; otherwise it is opened and the queue is
 * sent. ETHOS_BUSY if it is unreachable. Borrowed.
 */
int offline_behind(struct ethos_provider *provider, struct ethos_provider **out_provider,
                   struct ethos_error *error);

/*
 * Sends the calls queued for a backend with these settings, before it is opened directly.
 * ETHOS_BUSY reports how many are left; with `look` they are only counted.
 */
int offline_sync_now(const struct backend *backend, const struct ethos_setup *setup,
                     const struct secrets_given *given, bool look, struct ethos_error *error);

/*
 * Removes a text of a scope from queue and cache of every place of setup->root; with dry_run it is
 * only searched. Adds to *calls how many queued or refused calls contained it. Contacts no backend.
 */
int offline_forget(const struct ethos_setup *setup, const char *scope,
                   const struct ethos_match *match, bool dry_run, uint64_t *calls,
                   struct ethos_error *error);

/* The queue of a provider's backend; empty if nothing is in front. */
struct offline_waiting {
    size_t calls;
    int64_t since_ms; /* of the oldest */
};
void offline_waiting(struct ethos_provider *provider, struct offline_waiting *out);

/* Reports queued changes, since when, and refused ones, at every place of a root, for doctor. */
int offline_check(const char *root, ethos_finding_fn *each, void *arg, struct ethos_error *error);

#endif
