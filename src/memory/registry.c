/*
 * registry.c: the backends by name, and how one becomes a provider.
 */
#include "memory/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/nearest.h"
#include "base/os.h"
#include "store/group.h"
#include "store/store.h"

static const struct {
    const char *name;
    const struct ethos_store_ops *store;
} builtin[] = {
    {"markdown", &store_files},
};

const char *const registry_names[] = {"markdown", NULL};

/* ---- shared objects ------------------------------------------------------------------------ */

/* Code that others may change is not run: owner is us or root, nobody else may write. */
static int check_library(const char *path, struct ethos_error *error)
{
    struct stat info;
    if (os_fstatat(AT_FDCWD, path, &info, 0) != 0)
        return err_errno(error, errno, path);
    if (!S_ISREG(info.st_mode))
        return err_set(error, ETHOS_INVALID, "%s: not a shared object", path);
    bool foreign = info.st_uid != 0 && info.st_uid != geteuid();
    if (!foreign && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "%s: others may change this shared object", path);
    return err_hint(error, code, "chmod go-w %s, and own it", path);
}

static int check_abi(uint32_t abi, const char *path, struct ethos_error *error)
{
    if (abi == ETHOS_ABI)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_UNSUPPORTED, "%s: made for another version (ABI %u, not %d)",
                       path, abi, ETHOS_ABI);
    return err_hint(error, code, "rebuild it against this version's headers");
}

/* The number comes first in every table: nothing else is looked at before it is right. */
static int check_module(const struct ethos_module *module, const char *path,
                        struct ethos_error *error)
{
    if (!module)
        return err_set(error, ETHOS_INVALID, "%s: does not define ethos_module", path);
    int code = check_abi(module->abi, path, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_provider_ops *provider = module->provider;
    const struct ethos_store_ops *store = module->store;
    if (!provider && !store)
        return err_set(error, ETHOS_INVALID, "%s: offers neither a provider nor a store", path);
    code = check_abi(provider ? provider->abi : store->abi, path, error);
    if (code != ETHOS_OK)
        return code;
    bool whole = provider ? provider->open && provider->close && provider->prefetch &&
                                provider->sync && provider->name
                          : store->open && store->close && store->read && store->write &&
                                store->remove && store->list && store->name;
    return whole ? ETHOS_OK
                 : err_set(error, ETHOS_INVALID, "%s: a mandatory function is missing", path);
}

static int load_library(const char *path, struct backend *out, struct ethos_error *error)
{
    int code = check_library(path, error);
    if (code != ETHOS_OK)
        return code;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(error, ETHOS_INVALID, "%s", dlerror());
    const struct ethos_module *module = dlsym(library, "ethos_module");
    code = check_module(module, path, error);
    if (code != ETHOS_OK) {
        dlclose(library);
        return code;
    }
    *out = (struct backend){module->provider, module->provider ? NULL : module->store, library};
    return ETHOS_OK;
}

/* ---- by name ------------------------------------------------------------------------------- */

int registry_find(const char *name, struct backend *out, struct ethos_error *error)
{
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++) {
        if (strcmp(name, builtin[i].name) == 0) {
            *out = (struct backend){NULL, builtin[i].store, NULL};
            return ETHOS_OK;
        }
    }
    if (name[0] == '/')
        return load_library(name, out, error);
    const char *nearest = nearest_name(name, registry_names);
    int code = err_set(error, ETHOS_INVALID, "unknown memory provider: %s", name);
    if (nearest)
        return err_hint(error, code, "did you mean %s?", nearest);
    return err_hint(error, code, "use markdown, or the absolute path of a shared object");
}

/* ---- options ------------------------------------------------------------------------------- */

static const struct ethos_option *find_option(const struct ethos_option *options, const char *name)
{
    for (; options && options->name; options++)
        if (strcmp(options->name, name) == 0)
            return options;
    return NULL;
}

static bool value_fits(const struct ethos_option *option, const char *value)
{
    char *end;
    switch (option->type) {
    case ETHOS_OPTION_INTEGER:
        errno = 0;
        strtoll(value, &end, 10);
        return !errno && end != value && !*end;
    case ETHOS_OPTION_BOOLEAN:
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case ETHOS_OPTION_STRING:
        break;
    }
    return true;
}

static int unknown_option(const struct ethos_option *options, const char *name,
                          struct ethos_error *error)
{
    const char *names[64];
    size_t count = 0;
    for (; options && options->name && count < 63; options++)
        names[count++] = options->name;
    names[count] = NULL;
    const char *nearest = nearest_name(name, names);
    int code = err_set(error, ETHOS_INVALID, "unknown option: memory.options.%s", name);
    return nearest ? err_hint(error, code, "did you mean memory.options.%s?", nearest) : code;
}

static int check_settings(const struct ethos_option *options, const struct ethos_setup *setup,
                          struct ethos_error *error)
{
    for (size_t i = 0; i < setup->setting_count; i++) {
        const struct ethos_setting *setting = &setup->settings[i];
        const struct ethos_option *option = find_option(options, setting->name);
        if (!option)
            return unknown_option(options, setting->name, error);
        if (!value_fits(option, setting->value))
            return err_set(error, ETHOS_INVALID, "memory.options.%s: '%s' is not %s", setting->name,
                           setting->value,
                           option->type == ETHOS_OPTION_INTEGER ? "a number" : "true or false");
    }
    return ETHOS_OK;
}

/* What a backend says is not taken on trust: a failure has a known code and a text, success a result. */
static int judge_open(int code, const void *opened, const char *name, struct ethos_error *error)
{
    if (code == ETHOS_OK && opened)
        return ETHOS_OK;
    bool known = code < ETHOS_OK && code >= ETHOS_INTERNAL;
    if (known && (!error || *error->text))
        return code;
    return err_set(error, known ? code : ETHOS_INVALID,
                   "%s: the memory provider failed to open (%d)", name, code);
}

int registry_open(const struct backend *backend, const struct ethos_setup *setup,
                  struct registry_group shared, struct ethos_provider **out_provider,
                  struct ethos_error *error)
{
    const struct ethos_option *options = backend->provider ? backend->provider->options
                                                           : backend->store->options;
    struct ethos_provider *provider = NULL;
    struct ethos_store *store = NULL;
    int code = check_settings(options, setup, error);
    if (code != ETHOS_OK)
        return code;
    if (error)
        *error = (struct ethos_error){0};
    if (backend->provider) {
        code = backend->provider->open(setup, &provider, error);
        code = judge_open(code, provider, backend->provider->name, error);
    } else {
        code = backend->store->open(setup, &store, error);
        code = judge_open(code, store, backend->store->name, error);
    }
    if (code == ETHOS_OK && store && shared.group)
        code = store_group_new(setup->host, store, shared.group, shared.name, setup->deadline_ms,
                               &store, error);
    if (code == ETHOS_OK && store)
        code = provider_over_store(setup->host, store, &provider, error);
    if (code == ETHOS_OK)
        *out_provider = provider;
    return code;
}

void registry_release(struct backend *backend)
{
    if (backend->library)
        dlclose(backend->library);
    *backend = (struct backend){0};
}
