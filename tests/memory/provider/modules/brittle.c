/*
 * brittle.c: a store that keeps nothing; listing crashes, removing never ends. What judges it must survive
 * both.
 */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include <ethos/provider.h>

static const struct ethos_store_ops ops;
static struct ethos_store only = {&ops, 0, 0};

static int brittle_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                        struct ethos_error *error)
{
    (void)setup, (void)error;
    *out_store = &only;
    return ETHOS_OK;
}

static void brittle_close(struct ethos_store *store)
{
    (void)store;
}

static int brittle_read(struct ethos_store *store, const char *scope, const char *key,
                        const struct ethos_read_how *how, struct ethos_text *out,
                        struct ethos_error *error)
{
    (void)store, (void)scope, (void)key, (void)how, (void)out, (void)error;
    return ETHOS_NOTFOUND;
}

static int brittle_write(struct ethos_store *store, const char *scope, const char *key,
                         const char *expect, struct ethos_view text,
                         const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                         struct ethos_error *error)
{
    (void)store, (void)scope, (void)key, (void)expect, (void)text, (void)origin, (void)error;
    out_revision[0] = 0;
    return ETHOS_OK;
}

static int brittle_remove(struct ethos_store *store, const char *scope, const char *key,
                          const char *expect, const struct ethos_origin *origin,
                          struct ethos_error *error)
{
    (void)store, (void)scope, (void)key, (void)expect, (void)origin, (void)error;
    while (pause())
        continue;
    return ETHOS_OK;
}

static int brittle_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each,
                        void *arg, struct ethos_error *error)
{
    (void)store, (void)scope, (void)each, (void)arg, (void)error;
    abort();
}

static const struct ethos_store_ops ops = {
    .abi = ETHOS_ABI,
    .name = "brittle",
    .open = brittle_open,
    .close = brittle_close,
    .read = brittle_read,
    .write = brittle_write,
    .remove = brittle_remove,
    .list = brittle_list,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "brittle",
    .store = &ops,
};
