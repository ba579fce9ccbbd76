/*
 * endpoints.c: opens both sides of a migration.
 *
 * A side with options is opened with those; a side without is the home's configured backend if it
 * has that name, else a backend that needs no options. The backend itself is opened, without the
 * offline queue in front of it; queued changes are sent first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/migrate/migrate.h"
#include "memory/offline/offline.h"
#include "session/session.h"

#define OPTIONS_PREFIX "memory.options."

struct opened_side {
    struct backend backend;
    struct str place; /* its name and settings, without secrets */
    struct ethos_store *store;
    struct ethos_sessions *sessions;
};

struct migrate_opened {
    struct opened_side sides[2];
};

/* The settings of a side. */
struct endpoint_settings {
    struct arena arena;
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    bool exposed[SECRETS_MAX_SETTINGS];
    size_t count;
};

/* ---- settings -------------------------------------------------------------------------------- */

static int add_setting(struct endpoint_settings *choice, const char *name, const char *value,
                       bool exposed, struct ethos_error *error)
{
    if (choice->count == SECRETS_MAX_SETTINGS)
        return err_set(error, ETHOS_LIMIT, "more than %d options", SECRETS_MAX_SETTINGS);
    choice->settings[choice->count] = (struct ethos_setting){name, value};
    choice->exposed[choice->count++] = exposed;
    return ETHOS_OK;
}

/* Everyone on the machine can read a command line. */
static int add_side_option(struct endpoint_settings *choice, const char *option,
                           struct ethos_error *error)
{
    const char *equals = strchr(option, '=');
    if (!equals || equals == option)
        return err_hint(error, err_set(error, ETHOS_INVALID, "not an option: %s", option),
                        "write NAME=VALUE");
    char *name = arena_copy(&choice->arena, (struct ethos_view){option, (size_t)(equals - option)});
    return name ? add_setting(choice, name, equals + 1, true, error) : err_nomem(error);
}

static int add_configured(struct endpoint_settings *choice, const struct config *home,
                          struct ethos_error *error)
{
    size_t prefix = strlen(OPTIONS_PREFIX);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < home->table.count; i++) {
        const struct yaml_pair *pair = &home->table.pairs[i];
        if (strncmp(pair->key, OPTIONS_PREFIX, prefix) == 0)
            code = add_setting(choice, pair->key + prefix, pair->value, home->stamp.exposed != 0,
                               error);
    }
    return code;
}

static int choose_settings(const struct config *home, const struct migrate_side *side,
                           struct endpoint_settings *out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool configured = strcmp(config_backend(home, NULL), side->name) == 0;
    if (configured && side->option_count == 0)
        return add_configured(out, home, error);
    for (size_t i = 0; code == ETHOS_OK && i < side->option_count; i++)
        code = add_side_option(out, side->options[i], error);
    return code;
}

/* ---- one side -------------------------------------------------------------------------------- */

/* Not for a module that is only used for memory: sessions.provider says where conversations are. */
static int open_talks(const struct config *home, const struct ethos_setup *setup,
                      const struct secrets_given *given, struct opened_side *out,
                      struct ethos_error *error)
{
    bool own = strcmp(config_get(home, NULL, "sessions.provider"), "auto") == 0;
    if (own && out->backend.sessions)
        return registry_open_sessions(&out->backend, setup, given, &out->sessions, error);
    if (!sessions_builtin)
        return err_set(error, ETHOS_UNSUPPORTED, "this program keeps no sessions");
    return sessions_builtin->open(setup, &out->sessions, error);
}

/* Best effort: one store under two names is found equal at the end, and nothing moves. */
static int check_sides_differ(const struct migrate_side *side, const struct secrets_given *given,
                              const struct opened_side *other, struct opened_side *out,
                              struct ethos_error *error)
{
    str_printf(&out->place, "%s\n", side->name);
    if (secrets_place(registry_options(&out->backend), given, &out->place) != ETHOS_OK)
        return err_nomem(error);
    if (!other || !view_eq(str_view(&out->place), str_view(&other->place)))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "%s: source and target are the same", side->name);
    return err_hint(error, code,
                    "give the target with --to-option NAME=VALUE, or name another one");
}

static struct ethos_setup setup_of(struct ethos *ethos, const struct config *home)
{
    bool fast = ethos->fast || strcmp(config_get(home, NULL, "durability"), "fast") == 0;
    bool in_place = config_switch(home, NULL, "write_in_place");
    return (struct ethos_setup){.host = ethos->host,
                                .root = ethos->root,
                                .allow = config_get(home, NULL, "paths.allow"),
                                .flags = (uint32_t)ETHOS_SETUP_WALKS |
                                         (fast ? (uint32_t)ETHOS_SETUP_FAST : 0u) |
                                         (in_place ? (uint32_t)ETHOS_SETUP_IN_PLACE : 0u),
                                .deadline_ms = ethos->wait_ms};
}

static int open_chosen(struct ethos *ethos, const struct config *home,
                       const struct secrets_given *given, bool dry_run, struct opened_side *out,
                       struct ethos_error *error)
{
    const struct ethos_setup setup = setup_of(ethos, home);
    TRY(offline_sync_now(&out->backend, &setup, given, dry_run, error));
    TRY(registry_open_store(&out->backend, &setup, given, &out->store, error));
    return open_talks(home, &setup, given, out, error);
}

/* other: the side that is already open, or NULL. */
static int open_side(struct ethos *ethos, const struct config *home,
                     const struct migrate_side *side, bool dry_run, const struct opened_side *other,
                     struct opened_side *out, struct ethos_error *error)
{
    struct endpoint_settings choice = {0};
    arena_init(&choice.arena);
    str_init(&out->place, SIZE_MAX);
    int code = choose_settings(home, side, &choice, error);
    if (code == ETHOS_OK)
        code = registry_find(side->name, &out->backend, error);
    if (code == ETHOS_OK) {
        const struct secrets_given given = {.settings = choice.settings,
                                            .count = choice.count,
                                            .exposed = choice.exposed,
                                            .home = ethos->home,
                                            .also = offline_options(&out->backend)};
        code = check_sides_differ(side, &given, other, out, error);
        if (code == ETHOS_OK)
            code = open_chosen(ethos, home, &given, dry_run, out, error);
    }
    arena_release(&choice.arena);
    return code;
}

static void close_side(struct opened_side *side)
{
    if (side->sessions)
        side->sessions->ops->close(side->sessions);
    if (side->store)
        side->store->ops->close(side->store);
    registry_release(&side->backend);
    str_release(&side->place);
}

/* ---- both ------------------------------------------------------------------------------------ */

int migrate_open(struct ethos *ethos, const struct migrate_side *from,
                 const struct migrate_side *to, bool dry_run, struct migrate_opened **out,
                 struct ethos_error *error)
{
    const struct config *home;
    TRY(service_config(ethos, NULL, &home, NULL, error));
    struct migrate_opened *opened = calloc(1, sizeof *opened);
    if (!opened)
        return err_nomem(error);
    struct opened_side *sides = opened->sides;
    int code = open_side(ethos, home, from, dry_run, NULL, &sides[0], error);
    if (code == ETHOS_OK)
        code = open_side(ethos, home, to, dry_run, &sides[0], &sides[1], error);
    if (code != ETHOS_OK) {
        migrate_close(opened);
        return code;
    }
    *out = opened;
    return ETHOS_OK;
}

void migrate_close(struct migrate_opened *self)
{
    if (!self)
        return;
    close_side(&self->sides[0]);
    close_side(&self->sides[1]);
    free(self);
}

struct ethos_store *migrate_store(const struct migrate_opened *self, bool target)
{
    return self->sides[target].store;
}

struct ethos_sessions *migrate_talks(const struct migrate_opened *self, bool target)
{
    bool same = self->sides[0].sessions->ops == sessions_builtin &&
                self->sides[1].sessions->ops == sessions_builtin;
    return same ? NULL : self->sides[target].sessions;
}
