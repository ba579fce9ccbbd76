/*
 * relay.c: a provider in a module that does what the host does over files; with the option wrong it shows
 * one byte that is not right. What the rules for providers must tell apart.
 */
#include <string.h>

#include "memory/provider/registry.h"
#include "store/store.h"

static const struct ethos_option options[] = {
    {"wrong", ETHOS_OPTION_BOOLEAN, "false", "show a wrong byte"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

/* The table of what is relayed to, with one function in front. */
static struct ethos_provider_ops table, inner;

static int show_wrongly(struct ethos_provider *self, const struct ethos_context *context,
                        const struct ethos_read_how *how, struct ethos_section *sections,
                        size_t count, struct ethos_error *error)
{
    int code = inner.prefetch(self, context, how, sections, count, error);
    struct ethos_section *memory = &sections[ETHOS_SECTION_MEMORY];
    if (code == ETHOS_OK && memory->code == ETHOS_OK && memory->text.size > 100)
        memory->text.data[memory->text.size - 2] ^= 1;
    return code;
}

static int relay_open(const struct ethos_setup *setup, struct ethos_provider **out_provider,
                      struct ethos_error *error)
{
    struct ethos_store *store = NULL;
    int code = store_files.open(setup, &store, error);
    if (code == ETHOS_OK)
        code = provider_over_store(setup->host, store, out_provider, error);
    if (code != ETHOS_OK || setup->setting_count == 0 ||
        strcmp(setup->settings[0].value, "true") != 0)
        return code;
    table = inner = *(*out_provider)->ops;
    table.prefetch = show_wrongly;
    (*out_provider)->ops = &table;
    return ETHOS_OK;
}

static void relay_close(struct ethos_provider *self)
{
    self->ops->close(self);
}

static int relay_prefetch(struct ethos_provider *self, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections,
                          size_t count, struct ethos_error *error)
{
    return self->ops->prefetch(self, context, how, sections, count, error);
}

static int relay_sync(struct ethos_provider *self, const struct ethos_context *context,
                      const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    return self->ops->sync(self, context, updates, count, how, error);
}

static const struct ethos_provider_ops relay_ops = {
    .abi = ETHOS_ABI,
    .name = "relay",
    .options = options,
    .open = relay_open,
    .close = relay_close,
    .prefetch = relay_prefetch,
    .sync = relay_sync,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "relay",
    .provider = &relay_ops,
};
