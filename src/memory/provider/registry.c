/*
 * registry.c: finds and opens backends by name.
 */
#include "memory/provider/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/installed.h"
#include "base/system/os.h"
#include "base/text/suggest.h"
#include "memory/provider/missing_slots.h"
#include "store/group_commit.h"
#include "store/store.h"

const char *const registry_names[] = {"markdown", "postgres", "redis", "remote", NULL};

/* Built-in backends; every other name is a shared object of ours. */
static const struct {
    const char *name;
    const struct ethos_store_ops *store;
} builtin[] = {
    {"markdown", &store_files},
};

/* ---- shared objects ------------------------------------------------------------------------ */

/* Does not run code that others may change: the owner is us or root, and nobody else may write. */
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

/* The number comes first in every table, and is checked before anything else is read. */
static int check_module_tables(const struct ethos_module *module, const char *path,
                               struct ethos_error *error)
{
    const uint32_t *numbers[] = {module->provider ? &module->provider->abi : NULL,
                                 module->store ? &module->store->abi : NULL,
                                 module->sessions ? &module->sessions->abi : NULL};
    int code = ETHOS_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && code == ETHOS_OK; i++)
        if (numbers[i])
            code = check_abi(*numbers[i], path, error);
    if (code != ETHOS_OK)
        return code;
    bool opens = (module->provider ? module->provider->open != NULL
                                   : module->store->open != NULL) &&
                 (!module->sessions || module->sessions->open);
    const char *missing = !opens             ? "open"
                          : module->provider ? slots_provider_lacks(module->provider)
                                             : slots_store_lacks(module->store);
    if (!missing && module->sessions)
        missing = slots_sessions_lack(module->sessions);
    return missing ? err_set(error, ETHOS_INVALID, "%s: a mandatory member is missing: %s", path,
                             missing)
                   : ETHOS_OK;
}

static int check_module(const struct ethos_module *module, const char *path,
                        struct ethos_error *error)
{
    if (!module)
        return err_set(error, ETHOS_INVALID, "%s: does not define ethos_module", path);
    TRY(check_abi(module->abi, path, error));
    if (!module->provider && !module->store)
        return err_set(error, ETHOS_INVALID, "%s: offers neither a provider nor a store", path);
    return check_module_tables(module, path, error);
}

static int load_library(const char *path, struct backend *out, struct ethos_error *error)
{
    TRY(check_library(path, error));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(error, ETHOS_INVALID, "%s", dlerror());
    const struct ethos_module *module = dlsym(library, "ethos_module");
    int code = check_module(module, path, error);
    if (code != ETHOS_OK) {
        dlclose(library);
        return code;
    }
    *out = (struct backend){module->provider, module->provider ? NULL : module->store,
                            module->sessions, library};
    return ETHOS_OK;
}

/* ---- by name ------------------------------------------------------------------------------- */

static int load_ours(const char *name, struct backend *out, struct ethos_error *error)
{
    char path[PATH_MAX], file[64];
    snprintf(file, sizeof file, "ethos/%s.so", name);
    TRY(installed_lib(file, path, error));
    int code = load_library(path, out, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    code = err_set(error, ETHOS_NOTFOUND, "memory provider %s: %s is not there", name, path);
    return err_hint(error, code, "install the package ethos-%s, or build it: make modules", name);
}

int registry_find(const char *name, struct backend *out, struct ethos_error *error)
{
    for (size_t i = 0; i < sizeof builtin / sizeof *builtin; i++) {
        if (strcmp(name, builtin[i].name) == 0) {
            *out = (struct backend){.store = builtin[i].store};
            return ETHOS_OK;
        }
    }
    for (size_t i = 0; registry_names[i]; i++)
        if (strcmp(name, registry_names[i]) == 0)
            return load_ours(name, out, error);
    if (name[0] == '/')
        return load_library(name, out, error);
    const char *nearest = nearest_name(name, registry_names);
    int code = err_set(error, ETHOS_INVALID, "unknown memory provider: %s", name);
    if (nearest)
        return err_hint(error, code, "did you mean %s?", nearest);
    return err_hint(
        error, code,
        "use markdown, postgres, redis, remote, or the absolute path of a shared object");
}

const struct ethos_option *registry_options(const struct backend *backend)
{
    return backend->provider ? backend->provider->options : backend->store->options;
}

/* ---- opening ------------------------------------------------------------------------------- */

/*
 * Results of a backend are not trusted: a failure has a known code and a text, a success a result.
 */
static int check_open_result(int code, const void *opened, const char *name,
                             struct ethos_error *error)
{
    if (code == ETHOS_OK && opened)
        return ETHOS_OK;
    bool known = code < ETHOS_OK && code >= ETHOS_INTERNAL;
    if (known && (!error || *error->text))
        return code;
    return err_set(error, known ? code : ETHOS_INVALID,
                   "%s: the memory provider failed to open (%d)", name, code);
}

/* The opened object, one of the three. */
struct opening {
    struct ethos_provider *provider;
    struct ethos_store *store;
    struct ethos_sessions *sessions;
};

static int open_with(const struct ethos_option *options, const struct ethos_setup *setup,
                     const struct secrets_given *given,
                     int (*open)(const struct backend *, const struct ethos_setup *,
                                 struct opening *, struct ethos_error *),
                     const struct backend *backend, struct opening *out, struct ethos_error *error)
{
    struct secrets secrets;
    struct ethos_setup full = *setup;
    int code = secrets_resolve(options, given, &secrets, error);
    if (code == ETHOS_OK) {
        full.settings = secrets.settings;
        full.setting_count = secrets.count;
        if (error)
            *error = (struct ethos_error){0};
        code = open(backend, &full, out, error);
    }
    secrets_release(&secrets);
    return code;
}

static int open_provider(const struct backend *backend, const struct ethos_setup *setup,
                         struct opening *out, struct ethos_error *error)
{
    int code = backend->provider->open(setup, &out->provider, error);
    code = check_open_result(code, out->provider, backend->provider->name, error);
    return code == ETHOS_OK ? slots_complete(out->provider, error) : code;
}

/*
 * A capability that a store announces without its functions, or NULL; for a database the host makes
 * them.
 */
static const char *announced_lacks(const struct ethos_store *store)
{
    const struct ethos_store_ops *ops = store->ops;
    const unsigned announced = ops->fetch ? 0 : store->capabilities;
    if ((announced & ETHOS_STORE_PATHS) && !ops->locate)
        return "ETHOS_STORE_PATHS, and has no locate";
    if ((announced & ETHOS_STORE_ONCE) && !ops->update)
        return "ETHOS_STORE_ONCE, and has no update";
    if ((announced & ETHOS_STORE_HISTORY) && !(ops->history && ops->version))
        return "ETHOS_STORE_HISTORY, and has no history and version";
    return NULL;
}

static int check_opened_store(const struct ethos_store *store, const char *name,
                              struct ethos_error *error)
{
    if (!store->ops)
        return err_set(error, ETHOS_INVALID, "%s: the opened store has no table of functions",
                       name);
    const char *missing = announced_lacks(store);
    if (missing)
        return err_set(error, ETHOS_INVALID, "%s: announces %s", name, missing);
    missing = slots_store_lacks(store->ops);
    return missing ? err_set(error, ETHOS_INVALID, "%s: a mandatory member is missing: %s", name,
                             missing)
                   : ETHOS_OK;
}

/* Makes a store of a database. */
static int make_whole(const struct ethos_host *host, uint32_t deadline_ms,
                      struct ethos_store **store, struct ethos_error *error)
{
    return (*store)->ops->fetch ? store_rows_new(host, *store, deadline_ms, store, error)
                                : ETHOS_OK;
}

static int open_backend_store(const struct backend *backend, const struct ethos_setup *setup,
                              struct opening *out, struct ethos_error *error)
{
    int code = backend->store->open(setup, &out->store, error);
    code = check_open_result(code, out->store, backend->store->name, error);
    if (code != ETHOS_OK)
        return code;
    code = check_opened_store(out->store, backend->store->name, error);
    if (code == ETHOS_OK)
        return make_whole(setup->host, setup->deadline_ms, &out->store, error);
    backend->store->close(out->store);
    return code;
}

static int open_backend_sessions(const struct backend *backend, const struct ethos_setup *setup,
                                 struct opening *out, struct ethos_error *error)
{
    int code = backend->sessions->open(setup, &out->sessions, error);
    code = check_open_result(code, out->sessions, backend->sessions->name, error);
    return code == ETHOS_OK ? slots_complete_sessions(out->sessions, error) : code;
}

int registry_open_store(const struct backend *backend, const struct ethos_setup *setup,
                        const struct secrets_given *given, struct ethos_store **out_store,
                        struct ethos_error *error)
{
    struct opening opening = {0};
    if (!backend->store)
        return err_set(error, ETHOS_UNSUPPORTED, "%s: not a store", backend->provider->name);
    int code = open_with(backend->store->options, setup, given, open_backend_store, backend,
                         &opening, error);
    if (code == ETHOS_OK)
        *out_store = opening.store;
    return code;
}

int registry_open_sessions(const struct backend *backend, const struct ethos_setup *setup,
                           const struct secrets_given *given, struct ethos_sessions **out_sessions,
                           struct ethos_error *error)
{
    struct opening opening = {0};
    const struct ethos_option *options = backend->sessions->options;
    int code = open_with(options ? options : registry_options(backend), setup, given,
                         open_backend_sessions, backend, &opening, error);
    if (code == ETHOS_OK)
        *out_sessions = opening.sessions;
    return code;
}

int registry_open(const struct backend *backend, const struct ethos_setup *setup,
                  const struct secrets_given *given, struct registry_group shared,
                  struct ethos_provider **out_provider, struct ethos_error *error)
{
    struct opening opening = {0};
    int code = open_with(registry_options(backend), setup, given,
                         backend->provider ? open_provider : open_backend_store, backend, &opening,
                         error);
    if (code == ETHOS_OK && opening.store && shared.group)
        code = store_group_new(setup->host, opening.store, shared.group, shared.name,
                               setup->deadline_ms, &opening.store, error);
    if (code == ETHOS_OK && opening.store)
        code = provider_over_store(setup->host, opening.store, &opening.provider, error);
    if (code == ETHOS_OK)
        *out_provider = opening.provider;
    return code;
}

int registry_adopt(const struct ethos_host *host, struct ethos_store *store, uint32_t deadline_ms,
                   struct ethos_provider **out_provider, struct ethos_error *error)
{
    const struct ethos_store_ops *ops = store->ops;
    int code = check_opened_store(store, ops && ops->name ? ops->name : "store", error);
    if (code != ETHOS_OK) {
        if (ops && ops->close)
            ops->close(store);
        return code;
    }
    TRY(make_whole(host, deadline_ms, &store, error));
    return provider_over_store(host, store, out_provider, error);
}

void registry_release(struct backend *backend)
{
    if (backend->library)
        dlclose(backend->library);
    *backend = (struct backend){0};
}
