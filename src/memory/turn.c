/*
 * turn.c: resolves a request: which person, personality, scopes and workspace a turn is about.
 *
 * Each resolve_* step fills its part of the context, in the order of the memory format, section 2:
 * personality, scopes, user, workspace.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/scope_router.h"

#define PATH_LIMIT 4096 /* bytes */

static const char *first_of(const char *given, const char *variable)
{
    if (given)
        return given;
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

/* Copies a string into the turn; the context never points into what a caller may free. */
static int copy_into_turn(struct ethos_turn *turn, const char *value, const char **out,
                          struct ethos_error *error)
{
    *out = arena_str(&turn->arena, value);
    return *out || !value ? ETHOS_OK : err_nomem(error);
}

static int make_turn_scope(struct ethos_turn *turn, enum scope_kind kind, const char *id,
                           const char **out, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    TRY(scope_make(kind, id, scope, error));
    return copy_into_turn(turn, scope, out, error);
}

/* Limits the query, which may be a long prompt, at a character boundary. */
static int copy_query(struct ethos_turn *turn, const char *query, struct ethos_error *error)
{
    if (!query)
        return ETHOS_OK;
    size_t size = strnlen(query, ETHOS_MAX_QUERY);
    while (size > 0 && ((unsigned char)query[size] & 0xC0) == 0x80)
        size--;
    turn->context.query = arena_copy(&turn->arena, view_of(query, size));
    return turn->context.query ? ETHOS_OK : err_nomem(error);
}

/* A turn in the making. */
struct resolving {
    struct ethos_turn *turn;
    struct ethos *ethos;
    const struct ethos_request *request;
    int home, root;      /* descriptors, -1 if the directory does not exist */
    struct looks *looks; /* or NULL */
    bool local;          /* the user is the person at this machine */
    bool own_profile;    /* USER.md is the personality's */
};

static int resolve_personality(struct resolving *r, struct ethos_error *error)
{
    const char *id = r->request->personality;
    looks_add(r->looks, "config.yaml");
    TRY(handle_config(r->ethos, r->home, NULL, error));
    if (!id)
        id = config_get(&r->ethos->config, NULL, "personality");
    looks_add(r->looks, "personalities/%s/config.yaml", id);
    TRY(handle_config(r->ethos, r->home, id, error));
    return copy_into_turn(r->turn, id, &r->turn->context.personality, error);
}

/* ---- user ---------------------------------------------------------------------------------- */

static int copy_platform_pair(struct ethos_turn *turn, const char *platform,
                              const char *platform_user, struct ethos_error *error)
{
    TRY(copy_into_turn(turn, platform, &turn->pair_platform, error));
    return copy_into_turn(turn, platform_user, &turn->platform_user, error);
}

/*
 * A user of a platform; someone who is not in the map yet is recorded at the first write of a
 * profile.
 */
static int resolve_remote(struct resolving *r, struct ethos_error *error)
{
    char user[ETHOS_MAX_ID + 1];
    bool known;
    const struct ethos_request *request = r->request;
    TRY(handle_lookup(r->ethos, r->root, request->platform, request->platform_user, user, &known,
                      error));
    if (!known)
        TRY(copy_platform_pair(r->turn, request->platform, request->platform_user, error));
    return copy_into_turn(r->turn, user, &r->turn->context.user, error);
}

static int resolve_user(struct resolving *r, struct ethos_error *error)
{
    struct local_user local;
    struct ethos_context *context = &r->turn->context;
    const char *given = r->request->user;
    looks_add(r->looks, IDENTITY_FILE);
    if (r->request->platform_user && !given)
        return resolve_remote(r, error);
    int code = handle_local_user(r->ethos, r->root, &local, error);
    if (code == ETHOS_OK && given) {
        const char *scope;
        r->local = strcmp(given, local.id) == 0;
        code = make_turn_scope(r->turn, SCOPE_USER, given, &scope, error);
        return code == ETHOS_OK ? copy_into_turn(r->turn, given, &context->user, error) : code;
    }
    r->local = true;
    if (code == ETHOS_OK && !local.known)
        code = copy_platform_pair(r->turn, "cli", local.login, error);
    return code == ETHOS_OK ? copy_into_turn(r->turn, local.id, &context->user, error) : code;
}

/* ---- scopes -------------------------------------------------------------------------------- */

/* A profile belongs to a person, whatever memoryScope says about the log. */
static enum scope_kind user_scope_kind(const char *setting, bool local)
{
    enum scope_kind kind = strcmp(setting, "global") == 0        ? SCOPE_GLOBAL
                           : strcmp(setting, "personality") == 0 ? SCOPE_PERSONALITY
                                                                 : SCOPE_USER;
    return kind == SCOPE_GLOBAL && !local ? SCOPE_USER : kind; // the home's profile is its owner's
}

static int resolve_scopes(struct resolving *r, struct ethos_error *error)
{
    struct ethos_turn *turn = r->turn;
    struct ethos_context *context = &turn->context;
    const struct config *home = &r->ethos->config, *own = &r->ethos->personality_config;
    bool shared = strcmp(config_get(home, own, "memoryScope"), "global") == 0;
    enum scope_kind kind = user_scope_kind(config_get(home, own, "userScope"), r->local);
    r->own_profile = kind == SCOPE_PERSONALITY;
    int code = make_turn_scope(turn, shared ? SCOPE_GLOBAL : SCOPE_PERSONALITY,
                               context->personality, &context->memory_scope, error);
    if (code == ETHOS_OK)
        code = make_turn_scope(turn, kind,
                               kind == SCOPE_PERSONALITY ? context->personality : context->user,
                               &context->user_scope, error);
    if (kind == SCOPE_USER)
        looks_add(r->looks, "users/%s", context->user); // so that the path to a profile is watched
    if (code == ETHOS_OK && r->local && kind == SCOPE_USER) {
        code = make_turn_scope(turn, SCOPE_PERSONALITY, context->personality,
                               &context->profile_fallback[0], error);
        context->profile_fallback[1] = "global";
    }
    return code;
}

static void resolve_settings(struct resolving *r)
{
    const struct config *home = &r->ethos->config, *own = &r->ethos->personality_config;
    struct service_settings *settings = &r->turn->settings;
    settings->max_chars = (uint64_t)config_integer(home, own, "prefetch.maxChars");
    settings->recall_chars = (uint64_t)config_integer(home, own, "prefetch.recallChars");
    settings->tail = strcmp(config_get(home, own, "prefetch.truncate"), "tail") == 0;
    settings->guard = config_switch(home, own, "prefetch.guard");
    settings->vector = config_is_vector(home, own);
    settings->top_k = (unsigned)config_integer(home, own, VECTOR_OPTION "topK");
    settings->chunk_chars = (uint64_t)config_integer(home, own, VECTOR_OPTION "chars");
    settings->tail_chars = (uint64_t)config_integer(home, own, VECTOR_OPTION "tailChars");
    handle_embedder(home, own, &settings->embedder);
    settings->stale_days = config_integer(home, own, "notes.staleDays");
    r->turn->context.workspace_shown = strcmp(config_get(home, own, "workspaceMemory"), "off") != 0;
    const char *global = config_get(home, own, "globalMemory");
    settings->global_auto = strcmp(global, "auto") == 0;
    r->turn->no_global = r->request->no_global;
    if (!r->turn->no_global && strcmp(global, "off") != 0 &&
        strcmp(r->turn->context.memory_scope, "global") != 0)
        r->turn->context.global_scope = "global";
}

/*
 * A damaged workspace file is an error only for those who use the workspace; other memory stays
 * available.
 */
static int find_workspace(struct resolving *r, struct ethos_error *error)
{
    struct ethos_context *context = &r->turn->context;
    struct workspace *own = &r->turn->workspace;
    int code = workspace_find(r->root, &own->place, &own->found, &own->problem);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code == ETHOS_OK)
        context->workspace_scope = own->found.scope;
    else
        context->workspace_error = &own->problem;
    return ETHOS_OK;
}

/* An id takes precedence over the folder, which may be gone. */
static int open_workspace(struct resolving *r, const char *id, struct ethos_error *error)
{
    struct workspace *own = &r->turn->workspace;
    int code = workspace_open(r->root, id, &own->place, &own->found, error);
    if (code == ETHOS_OK)
        r->turn->context.workspace_scope = own->found.scope;
    return code;
}

static int resolve_workspace(struct resolving *r, struct ethos_error *error)
{
    struct workspace *own = &r->turn->workspace;
    const char *given = r->request->workspace, *id = workspace_named(given);
    workspace_place_init(&own->place);
    own->place.looks = r->looks;
    if (given && !*given)
        return ETHOS_OK; // no workspace is requested
    int code = id      ? open_workspace(r, id, error)
               : given ? workspace_locate(given, &own->place, error)
                       : workspace_around(r->root, NULL, &own->place, error);
    if (code == ETHOS_NOTFOUND && !given)
        return ETHOS_OK; // the current directory is gone; memory still works
    if (code == ETHOS_OK && !id)
        code = find_workspace(r, error);
    if (code != ETHOS_OK)
        return code;
    own->marker = config_switch(&r->ethos->config, &r->ethos->personality_config,
                                "workspace.marker");
    r->turn->context.workspace = own->place.root.size ? own->place.root.data : NULL;
    if (r->turn->context.workspace_scope) // so that the path to a note is watched
        looks_add(r->looks, "workspaces/%s/memory/.", workspace_id(&own->found));
    return ETHOS_OK;
}

/* ---- the turn ------------------------------------------------------------------------------ */

static int resolve_steps(struct resolving *r, struct ethos_error *error)
{
    struct ethos_context *context = &r->turn->context;
    const char *platform = r->request->platform ? r->request->platform : "cli";
    TRY(resolve_personality(r, error));
    TRY(copy_into_turn(r->turn, platform, &context->platform, error));
    TRY(copy_into_turn(r->turn, r->request->session, &context->session, error));
    TRY(copy_query(r->turn, r->request->query, error));
    TRY(resolve_user(r, error));
    TRY(resolve_scopes(r, error));
    TRY(resolve_workspace(r, error));
    resolve_settings(r);
    return handle_provider(r->ethos, r->own_profile, &r->turn->provider, error);
}

/* Opens home and root once for all steps; they are one directory unless memory is ephemeral. */
static int resolve_turn(struct ethos_turn *turn, const struct ethos_request *request,
                        struct ethos_error *error)
{
    struct resolving r = {turn,  turn->ethos, request,
                          -1,    -1,          turn_cache_start_watching(&turn->ethos->kept),
                          false, false};
    if (request->platform_user && !request->platform)
        return err_set(error, ETHOS_INVALID, "platform_user without platform");
    int code = service_open_home(r.ethos, false, &r.home, error);
    if (code == ETHOS_OK && r.ethos->ephemeral)
        code = service_open_root(r.ethos, false, &r.root, error);
    else
        r.root = r.home;
    if (code == ETHOS_OK)
        code = resolve_steps(&r, error);
    turn->workspace.place.looks = NULL;
    if (r.root >= 0 && r.root != r.home)
        os_close(r.root);
    if (r.home >= 0)
        os_close(r.home);
    return code;
}

/* A platform user is not the user of this process. */
struct ethos_request turn_request(const struct ethos_request *given)
{
    struct ethos_request request = given ? *given : (struct ethos_request){0};
    request.personality = first_of(request.personality, "ETHOS_PERSONALITY");
    request.workspace = first_of(request.workspace, "ETHOS_WORKSPACE");
    if (!request.platform_user)
        request.user = first_of(request.user, "ETHOS_USER");
    return request;
}

static int make_turn(struct ethos *self, const struct ethos_request *request,
                     struct ethos_turn **out_turn, struct ethos_error *error)
{
    struct ethos_turn *turn = calloc(1, sizeof *turn);
    if (!turn)
        return err_nomem(error);
    turn->ethos = self;
    arena_init(&turn->arena);
    int code = resolve_turn(turn, request, error);
    if (code != ETHOS_OK) {
        ethos_turn_free(turn);
        return code;
    }
    turn_cache_offer(&self->kept, turn, request);
    *out_turn = turn;
    return ETHOS_OK;
}

int ethos_turn_new(struct ethos *self, const struct ethos_request *given,
                   struct ethos_turn **out_turn, struct ethos_error *error)
{
    const struct ethos_request request = turn_request(given);
    struct ethos_turn *turn = turn_cache_take(&self->kept, &request);
    if (!turn)
        return make_turn(self, &request, out_turn, error);
    *out_turn = turn;
    return ETHOS_OK;
}

void ethos_turn_free(struct ethos_turn *turn)
{
    if (!turn || turn_cache_return(&turn->ethos->kept, turn))
        return;
    workspace_place_release(&turn->workspace.place);
    arena_release(&turn->arena);
    free(turn);
}

const struct ethos_context *ethos_turn_context(const struct ethos_turn *turn)
{
    return &turn->context;
}

struct ethos_provider *service_provider(const struct ethos_turn *turn, const char *scope,
                                        const char *key)
{
    return split_at(turn->provider, scope, key);
}

const struct service_settings *service_settings(const struct ethos_turn *turn)
{
    return &turn->settings;
}

int service_path(const struct ethos_turn *turn, const char *scope, const char *key, char **out_path,
                 struct ethos_error *error)
{
    char path[PATH_LIMIT];
    struct ethos_provider *provider = turn->provider;
    bool located = provider->ops->locate(provider, scope, key, path, sizeof path, NULL) == ETHOS_OK;
    char *copy = located ? strdup(path) : NULL;
    if (located && !copy)
        return err_nomem(error);
    *out_path = copy;
    return ETHOS_OK;
}
