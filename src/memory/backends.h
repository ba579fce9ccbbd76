/*
 * backends.h: the backends of a home: files below its root, or remote ones.
 */
#ifndef ETHOS_MEMORY_BACKENDS_H
#define ETHOS_MEMORY_BACKENDS_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

/* Whether the texts of a provider are files below the root of the home. */
bool backends_here(const struct ethos *self, struct ethos_provider *provider);

/*
 * Calls each with every provider of the home once: first the home's own, then those that
 * personalities configure. The handle owns them. A provider that cannot be opened is skipped, and
 * its failure is returned at the end; if each returns a value other than 0, the walk ends with that
 * value.
 */
typedef int backends_fn(void *arg, struct ethos_provider *provider, bool here);
int backends_each(struct ethos *self, backends_fn *each, void *arg, struct ethos_error *error);

/*
 * Calls each with every scope of the remote providers that can list them; a scope of several
 * providers is passed once for each. Failures as above.
 */
typedef int backends_scope_fn(void *arg, struct ethos_provider *provider, const char *scope);
int backends_scopes(struct ethos *self, backends_scope_fn *each, void *arg,
                    struct ethos_error *error);

#endif
