/*
 * backends.h: where the texts of a home are: files below its root, or behind a backend that has to be asked.
 */
#ifndef ETHOS_MEMORY_BACKENDS_H
#define ETHOS_MEMORY_BACKENDS_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

/* Whether the texts of a provider are files below the root of the home. */
bool backends_here(const struct ethos *self, struct ethos_provider *provider);

/*
 * Every provider that serves a home, once each: its own first, then those that personalities are configured
 * with. They are the handle's, and live as long. A provider that does not open is passed over and its
 * failure returned at the end; a value of each other than 0 ends the walk and is returned at once.
 */
typedef int backends_fn(void *arg, struct ethos_provider *provider, bool here);
int backends_each(struct ethos *self, backends_fn *each, void *arg, struct ethos_error *error);

/*
 * Every scope of the providers that are not here and can tell; one that several have is told once for each.
 * Failures as above.
 */
typedef int backends_scope_fn(void *arg, struct ethos_provider *provider, const char *scope);
int backends_scopes(struct ethos *self, backends_scope_fn *each, void *arg,
                    struct ethos_error *error);

#endif
