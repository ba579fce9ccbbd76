/*
 * scope_router.h: the provider of a personality that has its own backend.
 *
 * What the personality learns is in its own backend. Profiles belong to people, not to the
 * personality, and stay in the home's backend: every scope of a user, and USER.md of the home. The
 * home's backend is opened when a profile is first needed; if it cannot be opened, only that
 * profile is missing.
 */
#ifndef ETHOS_MEMORY_SCOPE_ROUTER_H
#define ETHOS_MEMORY_SCOPE_ROUTER_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

struct scope_router;

/*
 * One router per backend, owned by the handle. own_profile: USER.md of the personality's own scope
 * is the profile (userScope: personality) and stays with it.
 */
int split_find(struct ethos *ethos, struct ethos_provider *own, bool own_profile,
               struct ethos_provider **out, struct ethos_error *error);
void split_free_all(struct ethos *ethos);

/*
 * The provider that serves a text (key NULL: any text of the scope): one of the two backends; any
 * other provider serves itself. If the home's cannot be opened, the router is returned, whose calls
 * say why.
 */
struct ethos_provider *split_at(struct ethos_provider *provider, const char *scope,
                                const char *key);

#endif
