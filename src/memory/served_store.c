/*
 * served_store.c: gives other machines access to the store of a home.
 */
#include "memory/served_store.h"

#include <string.h>

#include "base/err.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/offline/offline.h"
#include "memory/provider/registry.h"

int served_store_open(struct ethos *self, struct lent *out, struct ethos_error *error)
{
    const char *name;
    struct ethos_provider *provider;
    TRY(service_provider_for(self, NULL, &name, &provider, error));
    TRY(offline_behind(provider, &provider, error));
    *out = (struct lent){provider_store(provider), self->host};
    if (out->store)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_UNSUPPORTED, "%s: cannot be served: not a store", name);
    return err_hint(error, code, "serve a home whose memory.provider is a store");
}

int served_store_check_key(const char *scope, const char *key, struct ethos_error *error)
{
    int code = scope_parse(scope, NULL, NULL, error);
    if (code == ETHOS_OK)
        code = scope_key_check(scope, key, error);
    if (code != ETHOS_OK || scope_key_is_stored(scope, key))
        return code;
    return err_set(error, ETHOS_DENIED, "reserved memory key: %s", key);
}
