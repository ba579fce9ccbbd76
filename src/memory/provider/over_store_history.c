/*
 * over_store_history.c: passes history, conflicts, scopes and watching on to the store.
 */
#include "memory/provider/over_store.h"
#include "store/store.h"

static int keep_every_text(void *arg, struct ethos_edit *edits, size_t count,
                           struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK; // every verdict starts as ETHOS_EDIT_KEEP
}

static int over_settle(struct ethos_provider *self, const char *scope, const char *key,
                       struct ethos_error *error)
{
    const struct ethos_host *host = ((struct over_store *)self)->host;
    struct ethos_edit edit = {.key = key};
    int code = store_update(over_inner(self), scope, &edit, 1, keep_every_text, NULL, NULL, error);
    host->resize(host->arg, edit.old.data, 0);
    return code;
}

static int over_history(struct ethos_provider *self, const char *scope, const char *key,
                        ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->history(store, scope, key, each, arg, error);
}

static int over_version(struct ethos_provider *self, const char *scope, const char *key,
                        const char *revision, struct ethos_text *out_text,
                        struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->version(store, scope, key, revision, out_text, error);
}

static int over_purge(struct ethos_provider *self, const char *scope,
                      const struct ethos_match *match, int dry_run,
                      const struct ethos_origin *origin, struct ethos_purge *out_purge,
                      struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->purge(store, scope, match, dry_run, origin, out_purge, error);
}

static int over_set_aside(struct ethos_provider *self, const char *scope, const char *key,
                          struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->set_aside(store, scope, key, text, error);
}

static int over_conflicts(struct ethos_provider *self, const char *scope, ethos_conflict_fn *each,
                          void *arg, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->conflicts(store, scope, each, arg, error);
}

static int over_conflict_read(struct ethos_provider *self, const char *scope, const char *id,
                              struct ethos_text *out_text, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->conflict_read(store, scope, id, out_text, error);
}

static int over_conflict_drop(struct ethos_provider *self, const char *scope, const char *id,
                              struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->conflict_drop(store, scope, id, error);
}

static int over_keep(struct ethos_provider *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->keep(store, scope, key, text, error);
}

static int over_scopes(struct ethos_provider *self, ethos_scope_fn *each, void *arg,
                       struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->scopes(store, each, arg, error);
}

static int over_watch(struct ethos_provider *self, ethos_scope_fn *each, void *arg, int *out_fd,
                      unsigned *out_wait_ms, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->watch(store, each, arg, out_fd, out_wait_ms, error);
}

void over_history_slots(struct ethos_provider_ops *ops, const struct ethos_store *store)
{
    const struct ethos_store_ops *inner = store->ops;
    if ((store->capabilities & ETHOS_STORE_HISTORY) && inner->history && inner->version) {
        ops->settle = over_settle;
        ops->history = over_history;
        ops->version = over_version;
    }
    ops->purge = inner->purge ? over_purge : NULL;
    ops->set_aside = inner->set_aside ? over_set_aside : NULL;
    ops->conflicts = inner->conflicts ? over_conflicts : NULL;
    ops->conflict_read = inner->conflict_read ? over_conflict_read : NULL;
    ops->conflict_drop = inner->conflict_drop ? over_conflict_drop : NULL;
    ops->keep = inner->keep ? over_keep : NULL;
    ops->scopes = inner->scopes ? over_scopes : NULL;
    ops->watch = inner->watch ? over_watch : NULL;
}
