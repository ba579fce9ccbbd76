/*
 * module.c: a module of this build, loaded and opened as a program does it.
 */
#include "module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

/* Seen from tests/<layer>/ and tests/<layer>/<room>/ of the build, and from bench/. */
const struct ethos_module *module_load(const char *name)
{
    static const char *const ways[] = {"/../../lib/ethos/", "/../../../lib/ethos/",
                                       "/../lib/ethos/"};
    const struct ethos_module *module = NULL;
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 64);
    path[size > 0 ? size : 0] = 0;
    char *end = strrchr(path, '/');
    for (size_t i = 0; end && !module && i < sizeof ways / sizeof *ways; i++) {
        snprintf(end, 64, "%s%s.so", ways[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        module = library ? dlsym(library, "ethos_module") : NULL;
    }
    if (!module || module->abi != ETHOS_ABI) {
        fprintf(stderr, "%s: %s\n", name, module ? "another ABI" : dlerror());
        exit(1);
    }
    return module;
}

int module_open(const char *name, const struct ethos_host *host,
                const struct ethos_setting *settings, uint32_t deadline_ms,
                struct ethos_store **out_store, struct ethos_error *error)
{
    struct ethos_setup setup = {.host = host, .settings = settings, .deadline_ms = deadline_ms};
    while (settings[setup.setting_count].name)
        setup.setting_count++;
    return module_load(name)->store->open(&setup, out_store, error);
}

int module_open_rows(const char *name, const struct ethos_host *host,
                     const struct ethos_setting *settings, uint32_t deadline_ms,
                     struct ethos_store **out_store, struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = module_open(name, host, settings, deadline_ms, &inner, error);
    return code ? code : store_rows_new(host, inner, deadline_ms, out_store, error);
}
