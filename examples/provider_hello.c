/*
 * provider_hello.c: the smallest legal memory provider.
 *
 * It answers prefetch and sync itself, in the memory of the process. What it leaves out on purpose:
 *
 *   - persistence: everything is gone when the process ends
 *   - scopes: all personalities and users share one text
 *   - replace, remove and delete: refused with ETHOS_UNSUPPORTED
 *   - every other slot: NULL; commands that need one say "this backend (hello) cannot ..."
 *   - dry runs and diffs: not announced, so the host never asks
 *
 * Whoever wants a database behind the usual meaning should implement a store instead: see
 * ethos/provider.h; a store needs none of the rules of add, replace and remove.
 *
 *     cc -shared -fPIC provider_hello.c -o provider_hello.so
 *     ethos config set memory.provider "$PWD/provider_hello.so"
 */
#include <ethos/provider.h>

#include <string.h>

struct hello {
    struct ethos_provider base; /* first, so that the host finds the table */
    const struct ethos_host *host;
    char *text;
    size_t size;
};

static int hello_open(const struct ethos_setup *setup, struct ethos_provider **out_provider,
                      struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct hello *self = host->resize(host->arg, NULL, sizeof *self);
    if (!self) {
        if (error)
            error->code = ETHOS_NOMEM;
        return ETHOS_NOMEM;
    }
    memset(self, 0, sizeof *self);
    self->base.ops = ethos_module.provider;
    self->host = host;
    *out_provider = &self->base;
    return ETHOS_OK;
}

static void hello_close(struct ethos_provider *provider)
{
    struct hello *self = (struct hello *)provider;
    self->host->resize(self->host->arg, self->text, 0);
    self->host->resize(self->host->arg, self, 0);
}

/* The host guards, cuts and renders; a provider hands over the raw text. */
static int hello_prefetch(struct ethos_provider *provider, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections,
                          size_t count, struct ethos_error *error)
{
    const struct hello *self = (const struct hello *)provider;
    struct ethos_section *memory = &sections[ETHOS_SECTION_MEMORY];
    struct ethos_text *text = &memory->text;
    (void)how;
    (void)error;
    if (count <= ETHOS_SECTION_MEMORY || self->size == 0)
        return ETHOS_OK;
    if (text->capacity < self->size) {
        char *grown = self->host->resize(self->host->arg, text->data, self->size);
        if (!grown)
            return ETHOS_NOMEM;
        text->data = grown;
        text->capacity = self->size;
    }
    memcpy(text->data, self->text, self->size);
    text->size = self->size;
    text->offset = 0;
    text->total = self->size;
    text->mtime_ms = -1;
    text->revision[0] = 0;
    strncpy(memory->scope, context->memory_scope, sizeof memory->scope - 1);
    strncpy(memory->key, "MEMORY.md", sizeof memory->key - 1);
    memory->code = ETHOS_OK;
    return ETHOS_OK;
}

static int append(struct hello *self, struct ethos_view line)
{
    char *grown = self->host->resize(self->host->arg, self->text, self->size + line.size + 1);
    if (!grown)
        return ETHOS_NOMEM;
    memcpy(grown + self->size, line.data, line.size);
    grown[self->size + line.size] = '\n';
    self->text = grown;
    self->size += line.size + 1;
    return ETHOS_OK;
}

static int hello_sync(struct ethos_provider *provider, const struct ethos_context *context,
                      const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct hello *self = (struct hello *)provider;
    (void)context;
    (void)how;
    for (size_t i = 0; i < count; i++) {
        if (updates[i].action == ETHOS_ACTION_ADD)
            continue;
        if (error) {
            error->code = ETHOS_UNSUPPORTED;
            strncpy(error->text, "hello: only add is supported", sizeof error->text - 1);
            error->text[sizeof error->text - 1] = 0;
            error->hint[0] = 0;
        }
        return ETHOS_UNSUPPORTED;
    }
    for (size_t i = 0; i < count; i++) {
        int code = append(self, updates[i].text);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static const struct ethos_provider_ops hello_ops = {
    .abi = ETHOS_ABI,
    .name = "hello",
    .open = hello_open,
    .close = hello_close,
    .prefetch = hello_prefetch,
    .sync = hello_sync,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "hello",
    .provider = &hello_ops,
};
