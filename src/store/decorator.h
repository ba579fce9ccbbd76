/*
 * decorator.h: what the decorators share: a store in front of another store.
 *
 * A decorator's own struct begins with struct wrap. Its table is a copy that offers what the inner
 * store offers: the same capabilities, and no optional call the inner one lacks. History,
 * conflicts, scopes and watching go straight through, and so does gather where the decorator has none.
 */
#ifndef ETHOS_STORE_DECORATOR_H
#define ETHOS_STORE_DECORATOR_H

#include <ethos/provider.h>

struct wrap {
    struct ethos_store store;
    struct ethos_store_ops ops;
    const struct ethos_host *host;
    struct ethos_store *inner;
};

/* A zeroed object of size bytes that owns inner. Without memory for it, inner is closed. */
int wrap_new(const struct ethos_host *host, const struct ethos_store_ops *ops, size_t size,
             struct ethos_store *inner, struct wrap **out_wrap, struct ethos_error *error);

/* For the close, locate and check slots of the decorator. */
void wrap_close(struct ethos_store *self);
int wrap_locate(struct ethos_store *self, const char *scope, const char *key, char *path,
                size_t size, struct ethos_error *error);
int wrap_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error);

/* Whether changes are durable is found out anew by a backend that was reached late, or again. */
static inline struct ethos_store *wrap_inner(struct ethos_store *self)
{
    struct ethos_store *inner = ((struct wrap *)self)->inner;
    self->capabilities &= ~(uint32_t)ETHOS_STORE_DURABLE;
    self->capabilities |= inner->capabilities & ETHOS_STORE_DURABLE;
    return inner;
}

#endif
