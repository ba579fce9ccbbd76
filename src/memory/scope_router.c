/*
 * scope_router.c: passes each call to the backend that serves its scope.
 */
#include "memory/scope_router.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"

#define PROFILE_KEY "USER.md"

struct scope_router {
    struct ethos_provider base;
    struct ethos_provider_ops ops;
    struct scope_router *next;
    struct ethos *ethos;
    struct ethos_provider *own;
    bool own_profile;
};

/* ---- which of the two ---------------------------------------------------------------------- */

static bool is_profile(const struct scope_router *self, const char *scope, const char *key)
{
    enum scope_kind kind;
    if (scope_parse(scope, &kind, NULL, NULL) != ETHOS_OK)
        return false;
    return kind == SCOPE_USER ||
           (key && !self->own_profile && !scope_is_tree(scope) && strcmp(key, PROFILE_KEY) == 0);
}

static int find_side(struct scope_router *self, const char *scope, const char *key,
                     struct ethos_provider **out, struct ethos_error *error)
{
    if (is_profile(self, scope, key))
        return handle_home_provider(self->ethos, out, error);
    *out = self->own;
    return ETHOS_OK;
}

#define PASS(scope, key, slot, ...)                                                                \
    struct ethos_provider *side;                                                                   \
    int code = find_side((struct scope_router *)self, scope, key, &side, error);                   \
    return code == ETHOS_OK ? side->ops->slot(side, __VA_ARGS__) : code

/* ---- prefetch ------------------------------------------------------------------------------ */

/* Reads the profile from the home; it uses the buffer of the section. */
static void prefetch_profile(struct scope_router *self, const struct ethos_context *context,
                             const struct ethos_read_how *how, struct ethos_section *section)
{
    const struct ethos_host *host = self->ethos->host;
    struct ethos_context person = *context;
    struct ethos_section found[ETHOS_SECTIONS] = {0};
    struct ethos_provider *home;
    person.memory_scope = context->user_scope; // nothing else is requested of the home
    person.workspace_scope = NULL;
    person.workspace_shown = 0;
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        found[i].code = ETHOS_NOTFOUND;
    found[ETHOS_SECTION_USER].text = (struct ethos_text){.data = section->text.data,
                                                         .capacity = section->text.capacity};
    struct ethos_section *user = &found[ETHOS_SECTION_USER];
    int code = handle_home_provider(self->ethos, &home, &user->error);
    if (code == ETHOS_OK)
        code = home->ops->prefetch(home, &person, how, found, ETHOS_SECTIONS, &user->error);
    if (code != ETHOS_OK) {
        user->code = code;
        memcpy(user->scope, context->user_scope, strlen(context->user_scope) + 1);
        memcpy(user->key, PROFILE_KEY, sizeof PROFILE_KEY);
    }
    *section = *user;
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        if (i != ETHOS_SECTION_USER)
            host->resize(host->arg, found[i].text.data, 0);
}

static int split_prefetch(struct ethos_provider *provider, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections,
                          size_t count, struct ethos_error *error)
{
    struct scope_router *self = (struct scope_router *)provider;
    struct ethos_context own = *context;
    if (count < ETHOS_SECTIONS)
        return err_set(error, ETHOS_INTERNAL, "prefetch: too few sections");
    if (!is_profile(self, context->user_scope, PROFILE_KEY))
        return self->own->ops->prefetch(self->own, context, how, sections, count, error);
    own.profile_fallback[0] = own.profile_fallback[1] = NULL;
    int code = self->own->ops->prefetch(self->own, &own, how, sections, count, error);
    if (code == ETHOS_OK)
        prefetch_profile(self, context, how, &sections[ETHOS_SECTION_USER]);
    return code;
}

/* ---- sync ---------------------------------------------------------------------------------- */

/* The updates of one side, in their order. */
struct provider_part {
    struct ethos_provider *side;
    struct ethos_update *updates;
    size_t count;
};

static int divide_updates(struct scope_router *self, struct arena *arena,
                          const struct ethos_update *updates, size_t count,
                          struct provider_part parts[2], struct ethos_error *error)
{
    for (size_t i = 0; i < 2; i++)
        if (!(parts[i].updates = arena_array(arena, count, sizeof *updates)))
            return err_nomem(error);
    for (size_t i = 0; i < count; i++) {
        struct provider_part *part = &parts[is_profile(self, updates[i].scope, updates[i].key)];
        part->updates[part->count++] = updates[i];
    }
    parts[0].side = self->own;
    return parts[1].count ? handle_home_provider(self->ethos, &parts[1].side, error) : ETHOS_OK;
}

/* Checks that both sides support the call before either does anything. */
static int sync_parts(const struct provider_part parts[2], const struct ethos_context *context,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    int result = ETHOS_OK;
    for (size_t i = 0; i < 2 && result == ETHOS_OK; i++)
        if (parts[i].count)
            result = handle_sync_able(parts[i].side, how, error);
    if (result != ETHOS_OK)
        return result;
    for (size_t i = 0; i < 2; i++) {
        struct ethos_error why = {0};
        const struct provider_part *part = &parts[i];
        int code = part->count ? part->side->ops->sync(part->side, context, part->updates,
                                                       part->count, how, &why)
                               : ETHOS_OK;
        if (code == ETHOS_OK || result != ETHOS_OK)
            continue;
        result = code;
        if (error)
            *error = why;
    }
    return result;
}

static int split_sync(struct ethos_provider *provider, const struct ethos_context *context,
                      const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct provider_part parts[2] = {0};
    arena_init(&arena);
    TRY(divide_updates((struct scope_router *)provider, &arena, updates, count, parts, error));
    return sync_parts(parts, context, how, error);
}

/* ---- texts --------------------------------------------------------------------------------- */

static int split_read(struct ethos_provider *self, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    PASS(scope, key, read, scope, key, how, out_text, error);
}

static int split_write(struct ethos_provider *self, const char *scope, const char *key,
                       const char *expect, struct ethos_view text,
                       const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                       struct ethos_error *error)
{
    PASS(scope, key, write, scope, key, expect, text, origin, out_revision, error);
}

static int split_list(struct ethos_provider *self, const char *scope, ethos_entry_fn *each,
                      void *arg, struct ethos_error *error)
{
    PASS(scope, NULL, list, scope, each, arg, error);
}

static int split_locate(struct ethos_provider *self, const char *scope, const char *key, char *path,
                        size_t size, struct ethos_error *error)
{
    PASS(scope, key, locate, scope, key, path, size, error);
}

static int split_check(struct ethos_provider *provider, int fix, ethos_finding_fn *each, void *arg,
                       struct ethos_error *error)
{
    struct ethos_provider *own = ((struct scope_router *)provider)->own;
    return own->ops->check(own, fix, each, arg, error);
}

static int split_update(struct ethos_provider *self, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_origin *origin, struct ethos_error *error)
{
    PASS(scope, count == 1 ? edits->key : NULL, update, scope, edits, count, edit, arg, origin,
         error);
}

/* ---- history and conflicts ----------------------------------------------------------------- */

static int router_settle(struct ethos_provider *self, const char *scope, const char *key,
                         struct ethos_error *error)
{
    PASS(scope, key, settle, scope, key, error);
}

static int split_history(struct ethos_provider *self, const char *scope, const char *key,
                         ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    PASS(scope, key, history, scope, key, each, arg, error);
}

static int split_version(struct ethos_provider *self, const char *scope, const char *key,
                         const char *revision, struct ethos_text *out_text,
                         struct ethos_error *error)
{
    PASS(scope, key, version, scope, key, revision, out_text, error);
}

static int split_purge(struct ethos_provider *self, const char *scope,
                       const struct ethos_match *match, int dry_run,
                       const struct ethos_origin *origin, struct ethos_purge *out_purge,
                       struct ethos_error *error)
{
    PASS(scope, NULL, purge, scope, match, dry_run, origin, out_purge, error);
}

static int split_set_aside(struct ethos_provider *self, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error)
{
    PASS(scope, key, set_aside, scope, key, text, error);
}

static int split_conflicts(struct ethos_provider *self, const char *scope, ethos_conflict_fn *each,
                           void *arg, struct ethos_error *error)
{
    PASS(scope, NULL, conflicts, scope, each, arg, error);
}

static int split_conflict_read(struct ethos_provider *self, const char *scope, const char *id,
                               struct ethos_text *out_text, struct ethos_error *error)
{
    PASS(scope, NULL, conflict_read, scope, id, out_text, error);
}

static int split_conflict_drop(struct ethos_provider *self, const char *scope, const char *id,
                               struct ethos_error *error)
{
    PASS(scope, NULL, conflict_drop, scope, id, error);
}

static int router_keep(struct ethos_provider *self, const char *scope, const char *key,
                       struct ethos_view text, struct ethos_error *error)
{
    PASS(scope, key, keep, scope, key, text, error);
}

/* ---- the table ----------------------------------------------------------------------------- */

/* The handle owns both backends. */
static void split_close(struct ethos_provider *provider)
{
    free(provider);
}

/* Scopes and changes are requested from each backend itself (memory/backends.c). */
static const struct ethos_provider_ops split_ops = {
    .abi = ETHOS_ABI,
    .close = split_close,
    .prefetch = split_prefetch,
    .sync = split_sync,
    .read = split_read,
    .write = split_write,
    .list = split_list,
    .locate = split_locate,
    .check = split_check,
    .settle = router_settle,
    .history = split_history,
    .version = split_version,
    .purge = split_purge,
    .set_aside = split_set_aside,
    .conflicts = split_conflicts,
    .conflict_read = split_conflict_read,
    .conflict_drop = split_conflict_drop,
    .update = split_update,
    .keep = router_keep,
};

int split_find(struct ethos *ethos, struct ethos_provider *own, bool own_profile,
               struct ethos_provider **out, struct ethos_error *error)
{
    struct scope_router *self = ethos->splits;
    while (self && (self->own != own || self->own_profile != own_profile))
        self = self->next;
    if (!self && !(self = calloc(1, sizeof *self)))
        return err_nomem(error);
    if (!self->own) {
        self->ops = split_ops;
        self->ops.name = own->ops->name;
        slots_fill(&self->ops);
        self->base.ops = &self->ops;
        self->base.capabilities = ETHOS_PROVIDER_DRY_RUN | ETHOS_PROVIDER_DIFF |
                                  ETHOS_PROVIDER_ONCE; // sync_parts calls both
        self->ethos = ethos;
        self->own = own;
        self->own_profile = own_profile;
        self->next = ethos->splits;
        ethos->splits = self;
    }
    *out = &self->base;
    return ETHOS_OK;
}

void split_free_all(struct ethos *ethos)
{
    while (ethos->splits) {
        struct scope_router *self = ethos->splits;
        ethos->splits = self->next;
        split_close(&self->base);
    }
}

struct ethos_provider *split_at(struct ethos_provider *provider, const char *scope, const char *key)
{
    struct ethos_provider *side;
    if (provider->ops->close != split_close ||
        find_side((struct scope_router *)provider, scope, key, &side, NULL) != ETHOS_OK)
        return provider;
    return side;
}
