/*
 * open.c: opens the offline provider, identifies its place, and finds out what the backend can do
 * before it is reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/home/directory.h"
#include "memory/offline/internal.h"
#include "memory/provider/missing_slots.h"

/* ---- the place --------------------------------------------------------------------------------- */

void offline_path(const struct offline *self, const char *folder, char out[OFFLINE_PATH_SIZE])
{
    snprintf(out, OFFLINE_PATH_SIZE, OFFLINE_FOLDER "/%s%s%s", self->place, *folder ? "/" : "",
             folder);
}

/* Only for people, and doctor. */
static void write_place_name(const struct offline *self, int root)
{
    char path[OFFLINE_PATH_SIZE];
    struct stat info;
    offline_path(self, "place", path);
    if (os_fstatat(root, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    offline_path(self, "", path);
    int dir = os_open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return;
    file_swap(dir, "place", view_str(self->shown), 0600, NULL);
    os_close(dir);
    dir = os_open_beneath(root, OFFLINE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return;
    file_swap(dir, ".gitignore", VIEW("*\n"), 0600, NULL); // no other machine uses this home
    os_close(dir);
}

int offline_folder(const struct offline *self, const char *folder, bool create, int *out,
                   struct ethos_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    char path[OFFLINE_PATH_SIZE];
    int root;
    TRY(home_open(self->setup.root, create, &root, error));
    offline_path(self, folder, path);
    int fd = os_open_beneath(root, path, flags, 0);
    if (fd < 0 && errno == ENOENT && create && os_mkdirs(root, path) == 0) {
        write_place_name(self, root);
        fd = os_open_beneath(root, path, flags, 0);
    }
    int code = fd >= 0 ? ETHOS_OK : err_errno(error, errno, path);
    os_close(root);
    *out = fd;
    return code;
}

/* ---- opening and closing ----------------------------------------------------------------------- */

void offline_close(struct ethos_provider *provider)
{
    struct offline *self = (struct offline *)provider;
    if (self->inner)
        self->inner->ops->close(self->inner);
    for (size_t i = 0; i < self->given.count; i++) {
        char *value = (char *)self->given.settings[i].value; // our copy; it may contain a secret
        if (value)
            explicit_bzero(value, strlen(value));
    }
    arena_release(&self->arena);
    free(self);
}

/* From its table: what the backend can do must be known before it is reached. */
#define LEAVE_OUT(slot)                                                                            \
    if (!table->slot)                                                                              \
    ops->slot = NULL
#define LEAVE_OUT_ALL                                                                              \
    do {                                                                                           \
        LEAVE_OUT(history);                                                                        \
        LEAVE_OUT(version);                                                                        \
        LEAVE_OUT(purge);                                                                          \
        LEAVE_OUT(set_aside);                                                                      \
        LEAVE_OUT(conflicts);                                                                      \
        LEAVE_OUT(conflict_read);                                                                  \
        LEAVE_OUT(conflict_drop);                                                                  \
        LEAVE_OUT(keep);                                                                           \
    } while (0)

static void choose_slots(struct ethos_provider_ops *ops, const struct backend *backend)
{
    *ops = offline_ops;
    if (backend->provider) {
        const struct ethos_provider_ops *table = backend->provider;
        LEAVE_OUT_ALL;
        LEAVE_OUT(read);
        LEAVE_OUT(write);
        LEAVE_OUT(list);
        LEAVE_OUT(check);
        LEAVE_OUT(settle);
        LEAVE_OUT(update);
        LEAVE_OUT(scopes);
        LEAVE_OUT(watch);
    } else {
        const struct ethos_store_ops *table = backend->store;
        if (!table->fetch) // the host provides the other functions
            LEAVE_OUT_ALL;
        LEAVE_OUT(scopes);
        LEAVE_OUT(watch);
        if (!ops->history || !ops->version)
            ops->history = NULL, ops->version = NULL, ops->settle = NULL;
    }
    ops->name = backend->provider ? backend->provider->name : backend->store->name;
    slots_fill(ops);
}

static const struct ethos_option options[] = {
    {"offline", ETHOS_OPTION_STRING, "fail", "what reading does while the backend is unreachable"},
    {"onOffline", ETHOS_OPTION_STRING, "refuse", "what happens to changes meanwhile"},
    {0},
};

const struct ethos_option *offline_options(const struct backend *backend)
{
    bool here = backend->provider ? backend->provider->locate != NULL
                                  : backend->store && backend->store->locate;
    return here ? NULL : options;
}

static bool is_setting_given(const struct secrets_given *given, const char *name, const char *value)
{
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->settings[i].name, name) == 0)
            return strcmp(given->settings[i].value, value) == 0;
    return false;
}

static int copy_given(struct offline *self, const struct secrets_given *given)
{
    struct arena *arena = &self->arena;
    struct ethos_setting *settings = arena_array(arena, given->count, sizeof *settings);
    bool *exposed = arena_array(arena, given->count, sizeof *exposed);
    self->given = *given;
    self->given.count = 0;
    self->given.home = arena_str(arena, given->home);
    if (given->count > 0 && (!settings || !exposed))
        return ETHOS_NOMEM;
    self->given.settings = settings;
    self->given.exposed = exposed;
    for (size_t i = 0; i < given->count; i++) {
        settings[i].name = arena_str(arena, given->settings[i].name);
        settings[i].value = arena_str(arena, given->settings[i].value);
        exposed[i] = given->exposed && given->exposed[i];
        self->given.count++;
        if (!settings[i].name || !settings[i].value)
            return ETHOS_NOMEM;
    }
    return given->home && !self->given.home ? ETHOS_NOMEM : ETHOS_OK;
}

static int copy_setup(struct offline *self, const struct ethos_setup *setup)
{
    self->setup = *setup;
    self->setup.settings = NULL;
    self->setup.setting_count = 0;
    self->setup.root = arena_str(&self->arena, setup->root);
    self->setup.allow = arena_str(&self->arena, setup->allow);
    if (!setup->deadline)
        self->setup.deadline = &self->own;
    self->setup.flags |= (uint32_t)ETHOS_SETUP_REACH;
    self->reach = reach_make(&self->setup);
    bool whole = self->setup.root && (self->setup.allow || !setup->allow);
    return whole ? ETHOS_OK : ETHOS_NOMEM;
}

static int make_place_hash(struct offline *self)
{
    CLEANUP_STR struct str place;
    char hash[HASH_HEX_SIZE];
    str_init(&place, SIZE_MAX);
    str_printf(&place, "%s\n", self->ops.name);
    secrets_place(registry_options(self->backend), &self->given, &place);
    int code = str_code(&place);
    if (code == ETHOS_OK) {
        hash_hex(str_view(&place), hash);
        memcpy(self->place, hash, sizeof self->place - 1);
        self->shown = arena_copy(&self->arena, str_view(&place));
    }
    return self->shown ? ETHOS_OK : ETHOS_NOMEM;
}

static int make_offline(const struct backend *backend, const struct ethos_setup *setup,
                        const struct secrets_given *given, struct registry_group shared,
                        struct offline **out, struct ethos_error *error)
{
    struct offline *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    arena_init(&self->arena);
    choose_slots(&self->ops, backend);
    self->base.ops = &self->ops;
    self->base.capabilities = ETHOS_PROVIDER_DRY_RUN | ETHOS_PROVIDER_DIFF | ETHOS_PROVIDER_ONCE;
    self->backend = backend;
    self->shared = shared;
    self->cached = is_setting_given(given, "offline", "cached");
    self->queues = is_setting_given(given, "onOffline", "queue");
    *out = self;
    if (copy_given(self, given) == ETHOS_OK && copy_setup(self, setup) == ETHOS_OK &&
        make_place_hash(self) == ETHOS_OK)
        return ETHOS_OK;
    offline_close(&self->base);
    return err_nomem(error);
}

int offline_open(const struct backend *backend, const struct ethos_setup *setup,
                 const struct secrets_given *given, struct registry_group shared,
                 struct ethos_provider **out_provider, struct ethos_error *error)
{
    struct offline *self = NULL;
    struct secrets_given all = *given;
    all.also = offline_options(backend);
    if (!all.also)
        return registry_open(backend, setup, &all, shared, out_provider, error);
    TRY(make_offline(backend, setup, &all, shared, &self, error));
    if (!self->cached && !self->queues && !queue_waits(self)) {
        offline_close(&self->base);
        return registry_open(backend, setup, &all, shared, out_provider, error);
    }
    int code = offline_open_inner(self, error);
    if (code != ETHOS_OK && code != ETHOS_BUSY) {
        offline_close(&self->base);
        return code;
    }
    *out_provider = &self->base;
    return ETHOS_OK;
}

int offline_behind(struct ethos_provider *provider, struct ethos_provider **out_provider,
                   struct ethos_error *error)
{
    struct offline *self = (struct offline *)provider;
    bool in_front = provider->ops->close == offline_close;
    int code = in_front ? offline_reach(self, OFFLINE_READ, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        *out_provider = in_front ? self->inner : provider;
    return code;
}

void offline_waiting(struct ethos_provider *provider, struct offline_waiting *out)
{
    struct offline *self = (struct offline *)provider;
    *out = (struct offline_waiting){0};
    if (provider->ops->close == offline_close)
        queue_count(self, out, NULL);
}

/* Warns how many calls are queued, and why. */
static int warn_of_queue(struct offline *self, const struct ethos_error *why,
                         struct ethos_error *error)
{
    struct offline_waiting waiting = {0};
    int code = queue_count(self, &waiting, error);
    size_t count = waiting.calls;
    if (code != ETHOS_OK || count == 0)
        return code;
    code = err_set(error, ETHOS_BUSY, "%s: %zu change%s still wait%s for it in %s/%s%s%s",
                   self->ops.name, count, count == 1 ? "" : "s", count == 1 ? "s" : "",
                   OFFLINE_FOLDER, self->place, *why->text ? ": " : "", why->text);
    return err_hint(error, code,
                    "the next command that reaches it sends them, such as ethos prefetch; run "
                    "ethos doctor for details");
}

int offline_sync_now(const struct backend *backend, const struct ethos_setup *setup,
                     const struct secrets_given *given, bool look, struct ethos_error *error)
{
    struct offline *self = NULL;
    struct ethos_error why = {0};
    if (!offline_options(backend))
        return ETHOS_OK;
    int code = make_offline(backend, setup, given, (struct registry_group){0}, &self, error);
    if (code != ETHOS_OK)
        return code;
    if (queue_waits(self)) {
        if (!look)
            offline_reach(self, OFFLINE_WRITE, &why);
        code = warn_of_queue(self, &why, error);
    }
    offline_close(&self->base);
    return code;
}
