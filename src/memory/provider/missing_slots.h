/*
 * missing_slots.h: what a backend leaves out.
 *
 * Optional slots of a provider or a session store may be NULL. When one is opened, each of them gets a function
 * that answers ETHOS_UNSUPPORTED, "this backend (NAME) cannot ...": no caller has to look before it calls. Who
 * has another way asks SLOT_PROVIDER or SLOT_SESSIONS whether the backend's own function is there.
 */
#ifndef ETHOS_MEMORY_PROVIDER_MISSING_SLOTS_H
#define ETHOS_MEMORY_PROVIDER_MISSING_SLOTS_H

#include <ethos/provider.h>
#include <ethos/session.h>

/* What stands for a missing slot; the mandatory ones are NULL. */
extern const struct ethos_provider_ops slots_no_provider;
extern const struct ethos_sessions_ops slots_no_sessions;

/* Whether the backend has the slot itself. */
#define SLOT_PROVIDER(provider, slot)                                                              \
    ((provider)->ops->slot && (provider)->ops->slot != slots_no_provider.slot)
#define SLOT_SESSIONS(sessions, slot)                                                              \
    ((sessions)->ops->slot && (sessions)->ops->slot != slots_no_sessions.slot)

/* The name of the first mandatory member that the table of something open lacks, or NULL. */
const char *slots_provider_lacks(const struct ethos_provider_ops *ops);
const char *slots_store_lacks(const struct ethos_store_ops *ops);
const char *slots_sessions_lack(const struct ethos_sessions_ops *ops);

/* Fills the missing slots of a table of our own. */
void slots_fill(struct ethos_provider_ops *ops);

/*
 * Checks the table of what was opened, and puts a filled copy in its place where a slot is missing; its close
 * takes that away again. A failure closes it: ETHOS_INVALID names the mandatory member that is missing.
 */
int slots_complete(struct ethos_provider *provider, struct ethos_error *error);
int slots_complete_sessions(struct ethos_sessions *sessions, struct ethos_error *error);

#endif
