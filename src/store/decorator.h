/*
 * decorator.h: shared by stores that forward to another store.
 *
 * The struct of a decorator begins with struct store_wrapper. Its table offers what the inner store
 * offers: the same capabilities, and no optional slot that the inner store lacks. History,
 * conflicts, scopes and watch are forwarded, and so is gather unless the decorator implements it.
 */
#ifndef ETHOS_STORE_DECORATOR_H
#define ETHOS_STORE_DECORATOR_H

#include <ethos/provider.h>

struct store_wrapper {
    struct ethos_store store;
    struct ethos_store_ops ops;
    const struct ethos_host *host;
    struct ethos_store *inner;
};

/* Creates a zeroed object of size bytes that owns inner. If memory runs out, inner is closed. */
int wrap_new(const struct ethos_host *host, const struct ethos_store_ops *ops, size_t size,
             struct ethos_store *inner, struct store_wrapper **out_wrap, struct ethos_error *error);

/* For the close, locate and check slots of the decorator. */
void wrap_close(struct ethos_store *self);
int wrap_locate(struct ethos_store *self, const char *scope, const char *key, char *path,
                size_t size, struct ethos_error *error);
int wrap_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error);

/*
 * The inner store; also copies whether it is durable, which a backend determines again when it
 * reconnects.
 */
static inline struct ethos_store *wrap_inner(struct ethos_store *self)
{
    struct ethos_store *inner = ((struct store_wrapper *)self)->inner;
    self->capabilities &= ~(uint32_t)ETHOS_STORE_DURABLE;
    self->capabilities |= inner->capabilities & ETHOS_STORE_DURABLE;
    return inner;
}

#endif
