/*
 * backends.c: lists the providers of a home and the scopes they have.
 */
#include "memory/backends.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"

#define FOLDER "personalities"

bool backends_here(const struct ethos *self, struct ethos_provider *provider)
{
    char path[PATH_MAX];
    size_t size = strlen(self->root);
    return SLOT_PROVIDER(provider, locate) &&
           provider->ops->locate(provider, "global", "MEMORY.md", path, sizeof path, NULL) ==
               ETHOS_OK &&
           strncmp(path, self->root, size) == 0 && (path[size] == '/' || path[size] == 0);
}

/* ---- providers ------------------------------------------------------------------------------- */

struct backend_walk {
    struct ethos *ethos;
    int folder; /* of personalities */
    backends_fn *each;
    void *arg;
    struct arena arena;
    struct ethos_provider **seen;
    size_t count, capacity;
    int ended; /* their results */
    int code;  /* the first failure */
    struct ethos_error *error;
};

static bool was_seen(const struct backend_walk *walk, const struct ethos_provider *provider)
{
    for (size_t i = 0; i < walk->count; i++)
        if (walk->seen[i] == provider)
            return true;
    return false;
}

static void record_walk_failure(int *code, int failed, const struct ethos_error *why,
                                struct ethos_error *error)
{
    if (*code != ETHOS_OK)
        return;
    *code = failed;
    if (error)
        *error = *why;
}

/* personality NULL: the home's own backend. */
static void visit_backend(struct backend_walk *walk, const char *personality)
{
    const char *name;
    struct ethos_provider *provider;
    struct ethos_error why;
    int code = service_provider_for(walk->ethos, personality, &name, &provider, &why);
    if (code != ETHOS_OK) {
        record_walk_failure(&walk->code, code, &why, walk->error);
        return;
    }
    if (was_seen(walk, provider))
        return;
    struct ethos_provider **seen = arena_grow(&walk->arena, walk->seen, walk->count,
                                              &walk->capacity, sizeof *seen);
    if (!seen) {
        walk->ended = err_nomem(walk->error);
        return;
    }
    walk->seen = seen;
    seen[walk->count++] = provider;
    walk->ended = walk->each(walk->arg, provider, backends_here(walk->ethos, provider));
}

/* Only a personality with a config.yaml can have a backend of its own. */
static int visit_name(void *arg, const char *name)
{
    struct backend_walk *walk = arg;
    char path[ETHOS_MAX_ID + 16];
    struct stat info;
    if (!scope_id_ok(view_str(name)))
        return 0;
    snprintf(path, sizeof path, "%s/config.yaml", name);
    if (os_fstatat(walk->folder, path, &info, 0) == 0)
        visit_backend(walk, name);
    return walk->ended;
}

static void visit_personalities(struct backend_walk *walk)
{
    int home = -1;
    struct ethos_error why;
    int code = service_open_home(walk->ethos, false, &home, &why);
    if (code == ETHOS_OK && home < 0)
        return;
    walk->folder = code == ETHOS_OK ? os_open_beneath(home, FOLDER, O_RDONLY | O_DIRECTORY, 0) : -1;
    if (code == ETHOS_OK && walk->folder < 0 && errno != ENOENT)
        code = err_errno(&why, errno, FOLDER);
    if (walk->folder >= 0 && os_list(walk->folder, visit_name, walk) < 0 && walk->ended == 0)
        code = err_errno(&why, errno, FOLDER);
    if (walk->folder >= 0)
        os_close(walk->folder);
    if (home >= 0)
        os_close(home);
    if (code != ETHOS_OK)
        record_walk_failure(&walk->code, code, &why, walk->error);
}

int backends_each(struct ethos *self, backends_fn *each, void *arg, struct ethos_error *error)
{
    struct backend_walk walk = {.ethos = self, .each = each, .arg = arg, .error = error};
    arena_init(&walk.arena);
    visit_backend(&walk, NULL);
    if (walk.ended == 0 && !self->injected && !self->ephemeral)
        visit_personalities(&walk);
    arena_release(&walk.arena);
    return walk.ended ? walk.ended : walk.code;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

struct telling {
    struct ethos_provider *provider;
    backends_scope_fn *each;
    void *arg;
    int ended; /* their results */
    int code;  /* the first failure */
    struct ethos_error error;
};

static int pass_scope_on(void *arg, const char *scope)
{
    struct telling *telling = arg;
    telling->ended = telling->each(telling->arg, telling->provider, scope);
    return telling->ended;
}

static int pass_scopes_on(void *arg, struct ethos_provider *provider, bool here)
{
    struct telling *telling = arg;
    struct ethos_error why;
    if (here || !SLOT_PROVIDER(provider, scopes))
        return ETHOS_OK;
    telling->provider = provider;
    int code = provider->ops->scopes(provider, pass_scope_on, telling, &why);
    if (code != ETHOS_OK && !telling->ended)
        record_walk_failure(&telling->code, code, &why, &telling->error);
    return telling->ended;
}

int backends_scopes(struct ethos *self, backends_scope_fn *each, void *arg,
                    struct ethos_error *error)
{
    struct telling telling = {.each = each, .arg = arg};
    int code = backends_each(self, pass_scopes_on, &telling, error);
    if (code == ETHOS_OK && telling.code != ETHOS_OK)
        record_walk_failure(&code, telling.code, &telling.error, error);
    return code;
}
