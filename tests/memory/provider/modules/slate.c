/*
 * slate.c: a store in a module: one text in all, with options of every type. Without an update
 * function, so that the host loops over read and write. Refuses to open when told to fail or given a wrong pin.
 */
#include <ethos/provider.h>

#include <string.h>

#define NAMES 300 /* bytes: scope, a newline, key */

struct slate {
    struct ethos_store base;
    const struct ethos_host *host;
    char name[NAMES];
    char *text;
    size_t size;
    unsigned long writes;
    char prefix[32];
};

static const struct ethos_option options[] = {
    {"prefix", ETHOS_OPTION_STRING, NULL, "put before every text that is read"},
    {"size", ETHOS_OPTION_INTEGER, "10", "not used"},
    {"fail", ETHOS_OPTION_BOOLEAN, "false", "refuse to open"},
    {"pin", ETHOS_OPTION_SECRET, NULL, "1234, or it does not open"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

static int fail(struct ethos_error *error, int code, const char *text)
{
    if (error) {
        error->code = code;
        strncpy(error->text, text, sizeof error->text - 1);
        error->text[sizeof error->text - 1] = 0;
        error->hint[0] = 0;
    }
    return code;
}

static int slate_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                      struct ethos_error *error)
{
    struct slate *self = setup->host->resize(setup->host->arg, NULL, sizeof *self);
    if (!self)
        return fail(error, ETHOS_NOMEM, "out of memory");
    memset(self, 0, sizeof *self);
    self->base.ops = ethos_module.store;
    self->host = setup->host;
    for (size_t i = 0; i < setup->setting_count; i++) {
        const struct ethos_setting *setting = &setup->settings[i];
        if (strcmp(setting->name, "prefix") == 0)
            strncpy(self->prefix, setting->value, sizeof self->prefix - 1);
        if (strcmp(setting->name, "pin") == 0 && strcmp(setting->value, "1234") != 0) {
            setup->host->resize(setup->host->arg, self, 0);
            return fail(error, ETHOS_DENIED, "slate: wrong pin");
        }
        if (strcmp(setting->name, "fail") == 0 && strcmp(setting->value, "true") == 0) {
            setup->host->resize(setup->host->arg, self, 0);
            return fail(error, ETHOS_IO, "slate: told to fail");
        }
    }
    *out_store = &self->base;
    return ETHOS_OK;
}

static void slate_close(struct ethos_store *store)
{
    struct slate *self = (struct slate *)store;
    self->host->resize(self->host->arg, self->text, 0);
    self->host->resize(self->host->arg, self, 0);
}

static int is_here(const struct slate *self, const char *scope, const char *key)
{
    size_t size = strlen(scope);
    return self->text && strncmp(self->name, scope, size) == 0 && self->name[size] == '\n' &&
           strcmp(self->name + size + 1, key) == 0;
}

static void revision_of(const struct slate *self, char out[ETHOS_REVISION_SIZE])
{
    unsigned long n = self->writes;
    char *at = out;
    memset(out, 0, ETHOS_REVISION_SIZE);
    do
        *at++ = (char)('0' + n % 10);
    while (n /= 10);
}

static int slate_read(struct ethos_store *store, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out,
                      struct ethos_error *error)
{
    struct slate *self = (struct slate *)store;
    size_t prefix = strlen(self->prefix);
    (void)how;
    if (!is_here(self, scope, key))
        return fail(error, ETHOS_NOTFOUND, "slate: not here");
    if (out->capacity < prefix + self->size + 1) {
        char *grown = self->host->resize(self->host->arg, out->data, prefix + self->size + 1);
        if (!grown)
            return fail(error, ETHOS_NOMEM, "out of memory");
        out->data = grown;
        out->capacity = prefix + self->size + 1;
    }
    memcpy(out->data, self->prefix, prefix);
    memcpy(out->data + prefix, self->text, self->size);
    out->size = prefix + self->size;
    out->data[out->size] = 0;
    out->offset = 0;
    out->total = out->size;
    out->mtime_ms = -1;
    revision_of(self, out->revision);
    return ETHOS_OK;
}

static int slate_write(struct ethos_store *store, const char *scope, const char *key,
                       const char *expect, struct ethos_view text,
                       const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                       struct ethos_error *error)
{
    struct slate *self = (struct slate *)store;
    char now[ETHOS_REVISION_SIZE] = "absent";
    (void)origin;
    if (is_here(self, scope, key))
        revision_of(self, now);
    if (expect && strcmp(expect, now) != 0)
        return fail(error, ETHOS_CONFLICT, "slate: changed");
    char *copy = self->host->resize(self->host->arg, NULL, text.size + 1);
    if (!copy)
        return fail(error, ETHOS_NOMEM, "out of memory");
    memcpy(copy, text.data, text.size);
    self->host->resize(self->host->arg, self->text, 0);
    self->text = copy;
    self->size = text.size;
    self->writes++;
    memset(self->name, 0, sizeof self->name);
    strncpy(self->name, scope, ETHOS_MAX_SCOPE);
    self->name[strlen(scope)] = '\n';
    strncpy(self->name + strlen(scope) + 1, key, ETHOS_MAX_KEY);
    revision_of(self, out_revision);
    return ETHOS_OK;
}

static int slate_remove(struct ethos_store *store, const char *scope, const char *key,
                        const char *expect, const struct ethos_origin *origin,
                        struct ethos_error *error)
{
    struct slate *self = (struct slate *)store;
    (void)expect;
    (void)origin;
    if (!is_here(self, scope, key))
        return fail(error, ETHOS_NOTFOUND, "slate: not here");
    self->host->resize(self->host->arg, self->text, 0);
    self->text = NULL;
    return ETHOS_OK;
}

static int slate_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each, void *arg,
                      struct ethos_error *error)
{
    (void)store;
    (void)scope;
    (void)each;
    (void)arg;
    (void)error;
    return ETHOS_OK;
}

static const struct ethos_store_ops slate_ops = {
    .abi = ETHOS_ABI,
    .name = "slate",
    .options = options,
    .open = slate_open,
    .close = slate_close,
    .read = slate_read,
    .write = slate_write,
    .remove = slate_remove,
    .list = slate_list,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "slate",
    .store = &slate_ops,
};
