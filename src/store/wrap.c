/*
 * wrap.c: what the decorators share: a store in front of another store.
 */
#include "store/wrap.h"

#include <string.h>

#include "base/err.h"

int wrap_new(const struct ethos_host *host, const struct ethos_store_ops *ops, size_t size,
             struct ethos_store *inner, struct wrap **out_wrap, struct ethos_error *error)
{
    struct wrap *wrap = host->resize(host->arg, NULL, size);
    if (!wrap) {
        inner->ops->close(inner);
        return err_nomem(error);
    }
    memset(wrap, 0, size);
    wrap->store.ops = &wrap->ops;
    wrap->host = host;
    wrap->inner = inner;
    wrap->ops = *ops;
    wrap->store.capabilities = inner->capabilities;
    if (!inner->ops->update)
        wrap->ops.update = NULL;
    if (!inner->ops->locate)
        wrap->ops.locate = NULL;
    if (!inner->ops->check)
        wrap->ops.check = NULL;
    *out_wrap = wrap;
    return ETHOS_OK;
}

void wrap_close(struct ethos_store *self)
{
    if (!self)
        return;
    struct wrap *wrap = (struct wrap *)self;
    wrap->inner->ops->close(wrap->inner);
    wrap->host->resize(wrap->host->arg, wrap, 0);
}

int wrap_locate(struct ethos_store *self, const char *scope, const char *key, char *path,
                size_t size, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->locate(inner, scope, key, path, size, error);
}

int wrap_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->check(inner, fix, each, arg, error);
}
