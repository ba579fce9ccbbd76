/*
 * missing_slots.h: completes backends that leave out optional slots.
 *
 * Optional slots of a provider or a session store may be NULL. When one is opened, each of them
 * gets a function that returns ETHOS_UNSUPPORTED, "this backend (NAME) cannot ...", so that callers
 * need not check. SLOT_PROVIDER and SLOT_SESSIONS say whether the backend has its own function.
 */
#ifndef ETHOS_MEMORY_PROVIDER_MISSING_SLOTS_H
#define ETHOS_MEMORY_PROVIDER_MISSING_SLOTS_H

#include <ethos/provider.h>
#include <ethos/session.h>

/* The functions for missing slots; mandatory ones are NULL. */
extern const struct ethos_provider_ops slots_no_provider;
extern const struct ethos_sessions_ops slots_no_sessions;

/* Whether the backend has the slot itself. */
#define SLOT_PROVIDER(provider, slot)                                                              \
    ((provider)->ops->slot && (provider)->ops->slot != slots_no_provider.slot)
#define SLOT_SESSIONS(sessions, slot)                                                              \
    ((sessions)->ops->slot && (sessions)->ops->slot != slots_no_sessions.slot)

/* The first mandatory member that a table lacks, or NULL. */
const char *slots_provider_lacks(const struct ethos_provider_ops *ops);
const char *slots_store_lacks(const struct ethos_store_ops *ops);
const char *slots_sessions_lack(const struct ethos_sessions_ops *ops);

/* Completes a table of our own. */
void slots_fill(struct ethos_provider_ops *ops);

/*
 * Checks the table of an opened backend, and replaces it by a completed copy if a slot is missing;
 * closing releases the copy. A failure closes the backend: ETHOS_INVALID names the missing
 * mandatory member.
 */
int slots_complete(struct ethos_provider *provider, struct ethos_error *error);
int slots_complete_sessions(struct ethos_sessions *sessions, struct ethos_error *error);

#endif
