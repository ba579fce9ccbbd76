/* decorator.c: what the decorators have in common: a store that forwards to another store. */
#include "store/decorator.h"

#include <string.h>

#include "base/err.h"

/* ---- what goes straight through ------------------------------------------------------------- */

static int wrap_history(struct ethos_store *self, const char *scope, const char *key,
                        ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->history(inner, scope, key, each, arg, error);
}

static int wrap_version(struct ethos_store *self, const char *scope, const char *key,
                        const char *revision, struct ethos_text *out_text,
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->version(inner, scope, key, revision, out_text, error);
}

static int wrap_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
                      int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->purge(inner, scope, match, dry_run, origin, out_purge, error);
}

static int wrap_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                                  struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->set_aside(inner, scope, key, text, error);
}

static int wrap_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                               void *arg, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->conflicts(inner, scope, each, arg, error);
}

static int wrap_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                              struct ethos_text *out_text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->conflict_read(inner, scope, id, out_text, error);
}

static int wrap_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                                struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->conflict_drop(inner, scope, id, error);
}

static int wrap_add_version(struct ethos_store *self, const char *scope, const char *key,
                            struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->keep(inner, scope, key, text, error);
}

static int wrap_gather(struct ethos_store *self, const struct ethos_read_how *how,
                       struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->gather(inner, how, sections, count, error);
}

static int wrap_list_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                            struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->scopes(inner, each, arg, error);
}

static int wrap_watch(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                      unsigned *out_wait_ms, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->watch(inner, each, arg, out_fd, out_wait_ms, error);
}

static int wrap_import_commits(struct ethos_store *self, const char *scope,
                               const struct ethos_commit *commit, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->graft(inner, scope, commit, error);
}

/*
 * Forwards every optional slot that the inner store has. Not fetch, commit, rows and copies: they
 * would bypass the decorator.
 */
static void set_forwarders(struct ethos_store_ops *ops, const struct ethos_store_ops *inner)
{
    ops->history = inner->history ? wrap_history : NULL;
    ops->version = inner->version ? wrap_version : NULL;
    ops->purge = inner->purge ? wrap_purge : NULL;
    ops->set_aside = inner->set_aside ? wrap_add_conflict_copy : NULL;
    ops->conflicts = inner->conflicts ? wrap_list_conflicts : NULL;
    ops->conflict_read = inner->conflict_read ? wrap_conflict_read : NULL;
    ops->conflict_drop = inner->conflict_drop ? wrap_conflict_remove : NULL;
    ops->keep = inner->keep ? wrap_add_version : NULL;
    ops->gather = !inner->gather ? NULL : ops->gather ? ops->gather : wrap_gather;
    ops->scopes = inner->scopes ? wrap_list_scopes : NULL;
    ops->watch = inner->watch ? wrap_watch : NULL;
    ops->graft = !inner->graft ? NULL : ops->graft ? ops->graft : wrap_import_commits;
}

/* ---- life ----------------------------------------------------------------------------------- */

int wrap_new(const struct ethos_host *host, const struct ethos_store_ops *ops, size_t size,
             struct ethos_store *inner, struct store_wrapper **out_wrap, struct ethos_error *error)
{
    struct store_wrapper *wrap = host->resize(host->arg, NULL, size);
    if (!wrap) {
        inner->ops->close(inner);
        return err_nomem(error);
    }
    memset(wrap, 0, size);
    wrap->store.ops = &wrap->ops;
    wrap->host = host;
    wrap->inner = inner;
    wrap->ops = *ops;
    wrap->store.capabilities = inner->capabilities;
    if (!inner->ops->update)
        wrap->ops.update = NULL;
    if (!inner->ops->batch)
        wrap->ops.batch = NULL;
    if (!inner->ops->locate)
        wrap->ops.locate = NULL;
    if (!inner->ops->check)
        wrap->ops.check = NULL;
    set_forwarders(&wrap->ops, inner->ops);
    *out_wrap = wrap;
    return ETHOS_OK;
}

void wrap_close(struct ethos_store *self)
{
    if (!self)
        return;
    struct store_wrapper *wrap = (struct store_wrapper *)self;
    wrap->inner->ops->close(wrap->inner);
    wrap->host->resize(wrap->host->arg, wrap, 0);
}

int wrap_locate(struct ethos_store *self, const char *scope, const char *key, char *path,
                size_t size, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->locate(inner, scope, key, path, size, error);
}

int wrap_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->check(inner, fix, each, arg, error);
}
