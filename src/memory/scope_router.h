/*
 * scope_router.h: the provider of a personality that has a backend of its own.
 *
 * What the personality learns is in its backend; who the people are is not a matter of the personality, and
 * their profiles stay in the home's: every scope of a user, and USER.md of the home. The home's backend is opened
 * when a profile is first asked for, and when it does not open, that profile alone is missing.
 */
#ifndef ETHOS_MEMORY_SCOPE_ROUTER_H
#define ETHOS_MEMORY_SCOPE_ROUTER_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

struct scope_router;

/*
 * One for each backend, owned by the handle. own_profile: USER.md of the personality's own scope is the profile
 * (userScope: personality), and stays with it.
 */
int split_find(struct ethos *ethos, struct ethos_provider *own, bool own_profile,
               struct ethos_provider **out, struct ethos_error *error);
void split_free_all(struct ethos *ethos);

/*
 * The provider that has a text (key NULL: any of the scope): one of the two, or of any other provider itself.
 * When the home's does not open, it is the split one, whose calls say why.
 */
struct ethos_provider *split_at(struct ethos_provider *provider, const char *scope,
                                const char *key);

#endif
