/*
 * nested.h: a store that keeps everything in the tree of a scope, below a directory: what every store
 * must do holds there too, for keys that are paths.
 */
#ifndef TESTS_STORE_NESTED_H
#define TESTS_STORE_NESTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory/scope.h"
#include "store/decorator.h"

#define NEST "\xd0\xbf\xd1\x83\xd1\x82\xd1\x8c to/@it/" /* spaces, letters of others, an @ */

struct nested_place {
    char scope[ETHOS_MAX_SCOPE];
    char key[2 * ETHOS_MAX_KEY];
};

static inline struct nested_place nested_place(const char *scope, const char *key)
{
    struct nested_place place;
    scope_tree(scope, place.scope);
    snprintf(place.key, sizeof place.key, NEST "%s", key ? key : "");
    return place;
}

static inline const char *nested_strip(const char *key)
{
    return key + (strncmp(key, NEST, sizeof NEST - 1) == 0 ? sizeof NEST - 1 : 0);
}

static int nested_read(struct ethos_store *self, const char *scope, const char *key,
                       const struct ethos_read_how *how, struct ethos_text *out_text,
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->read(inner, to.scope, to.key, how, out_text, error);
}

static int nested_write(struct ethos_store *self, const char *scope, const char *key,
                        const char *expect, struct ethos_view text,
                        const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->write(inner, to.scope, to.key, expect, text, origin, out_revision, error);
}

static int nested_remove(struct ethos_store *self, const char *scope, const char *key,
                         const char *expect, const struct ethos_origin *origin,
                         struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->remove(inner, to.scope, to.key, expect, origin, error);
}

/* Hands on what the inner store tells, under the outer name. */
struct nested_walk {
    void *each;
    void *arg;
};

static int nested_entry(void *arg, const struct ethos_entry *entry)
{
    struct nested_walk *walk = arg;
    struct ethos_entry shown = *entry;
    shown.key = nested_strip(entry->key);
    return ((ethos_entry_fn *)walk->each)(walk->arg, &shown);
}

static int nested_change(void *arg, const struct ethos_change *change)
{
    struct nested_walk *walk = arg;
    struct ethos_change shown = *change;
    shown.key = nested_strip(change->key);
    return ((ethos_change_fn *)walk->each)(walk->arg, &shown);
}

static int nested_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct nested_walk *walk = arg;
    struct ethos_conflict shown = *conflict;
    shown.key = nested_strip(conflict->key);
    return ((ethos_conflict_fn *)walk->each)(walk->arg, &shown);
}

static int nested_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_walk walk = {(void *)each, arg};
    return inner->ops->list(inner, nested_place(scope, "").scope, nested_entry, &walk, error);
}

static int nested_history(struct ethos_store *self, const char *scope, const char *key,
                          ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_walk walk = {(void *)each, arg};
    struct nested_place to = nested_place(scope, key);
    return inner->ops->history(inner, to.scope, key ? to.key : NULL, nested_change, &walk, error);
}

static int nested_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                            void *arg, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_walk walk = {(void *)each, arg};
    return inner->ops->conflicts(inner, nested_place(scope, "").scope, nested_copy, &walk, error);
}

/* An update whose callback sees the outer keys. */
struct nested_update {
    ethos_edit_fn *edit;
    void *arg;
    struct nested_place *places;
    const char **keys;
};

static void nested_swap(struct ethos_edit *edits, const char **keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *key = edits[i].key;
        edits[i].key = keys[i];
        keys[i] = key;
    }
}

static int nested_ask(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct nested_update *update = arg;
    nested_swap(edits, update->keys, count);
    int code = update->edit(update->arg, edits, count, error);
    nested_swap(edits, update->keys, count);
    return code;
}

/* Gives the update the keys of the tree; nested_leave gives it its own again. */
static int nested_enter(struct nested_update *self, const char *scope, struct ethos_edit_call *call)
{
    self->edit = call->edit;
    self->arg = call->arg;
    self->places = calloc(call->count + 1, sizeof *self->places);
    self->keys = calloc(call->count + 1, sizeof *self->keys);
    if (!self->places || !self->keys)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < call->count; i++) {
        self->places[i] = nested_place(scope, call->edits[i].key);
        self->keys[i] = self->places[i].key;
    }
    nested_swap(call->edits, self->keys, call->count);
    call->edit = nested_ask;
    call->arg = self;
    return ETHOS_OK;
}

static void nested_leave(struct nested_update *self, struct ethos_edit_call *call)
{
    if (call->arg == self) {
        nested_swap(call->edits, self->keys, call->count);
        call->edit = self->edit;
        call->arg = self->arg;
    }
    free(self->places);
    free(self->keys);
}

static int nested_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                         size_t count, ethos_edit_fn *edit, void *arg,
                         const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_update update = {0};
    struct ethos_edit_call call = {edits, count, edit, arg, origin, error, 0};
    int code = nested_enter(&update, scope, &call);
    if (code == ETHOS_OK)
        code = inner->ops->update(inner, nested_place(scope, "").scope, edits, count, call.edit,
                                  call.arg, origin, error);
    nested_leave(&update, &call);
    return code;
}

static void nested_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                         size_t count)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_update *updates = calloc(count + 1, sizeof *updates);
    int code = updates ? ETHOS_OK : ETHOS_NOMEM;
    size_t entered = 0;
    while (code == ETHOS_OK && entered < count) {
        code = nested_enter(&updates[entered], scope, &calls[entered]);
        entered++;
    }
    if (code == ETHOS_OK)
        inner->ops->batch(inner, nested_place(scope, "").scope, calls, count);
    for (size_t i = 0; i < count; i++) {
        if (i < entered)
            nested_leave(&updates[i], &calls[i]);
        if (code != ETHOS_OK)
            calls[i].code = code;
    }
    free(updates);
}

static int nested_locate(struct ethos_store *self, const char *scope, const char *key, char *path,
                         size_t size, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->locate(inner, to.scope, to.key, path, size, error);
}

static int nested_version(struct ethos_store *self, const char *scope, const char *key,
                          const char *revision, struct ethos_text *out_text,
                          struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->version(inner, to.scope, to.key, revision, out_text, error);
}

static int nested_purge(struct ethos_store *self, const char *scope,
                        const struct ethos_match *match, int dry_run,
                        const struct ethos_origin *origin, struct ethos_purge *out_purge,
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->purge(inner, nested_place(scope, "").scope, match, dry_run, origin,
                             out_purge, error);
}

static int nested_set_aside(struct ethos_store *self, const char *scope, const char *key,
                            struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->set_aside(inner, to.scope, to.key, text, error);
}

static int nested_keep(struct ethos_store *self, const char *scope, const char *key,
                       struct ethos_view text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place to = nested_place(scope, key);
    return inner->ops->keep(inner, to.scope, to.key, text, error);
}

static int nested_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                                struct ethos_text *out_text, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->conflict_read(inner, nested_place(scope, "").scope, id, out_text, error);
}

static int nested_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                                struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->conflict_drop(inner, nested_place(scope, "").scope, id, error);
}

static int nested_gather(struct ethos_store *self, const struct ethos_read_how *how,
                         struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    for (size_t i = 0; i < count; i++) {
        struct nested_place to = nested_place(sections[i].scope, sections[i].key);
        snprintf(sections[i].scope, sizeof sections[i].scope, "%s", to.scope);
        snprintf(sections[i].key, sizeof sections[i].key, "%.*s", ETHOS_MAX_KEY, to.key);
    }
    int code = inner->ops->gather(inner, how, sections, count, error);
    for (size_t i = 0; i < count; i++) {
        struct ethos_section *section = &sections[i];
        const char *scope = scope_owner(section->scope), *key = nested_strip(section->key);
        memmove(section->scope, scope, strlen(scope) + 1);
        memmove(section->key, key, strlen(key) + 1);
    }
    return code;
}

static int nested_scope(void *arg, const char *scope)
{
    struct nested_walk *walk = arg;
    return ((ethos_scope_fn *)walk->each)(walk->arg, scope_owner(scope));
}

static int nested_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                         struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_walk walk = {(void *)each, arg};
    return inner->ops->scopes(inner, nested_scope, &walk, error);
}

#define NESTED_GRAFT 16 /* rows and keys of one graft, at most */

static int nested_graft(struct ethos_store *self, const char *scope,
                        const struct ethos_commit *commit, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct nested_place of_edits[NESTED_GRAFT], of_rows[NESTED_GRAFT];
    struct ethos_edit edits[NESTED_GRAFT];
    struct ethos_row rows[NESTED_GRAFT];
    struct ethos_commit mapped = *commit;
    if (commit->edit_count > NESTED_GRAFT || commit->row_count > NESTED_GRAFT)
        return ETHOS_LIMIT;
    for (size_t i = 0; i < commit->edit_count; i++) {
        of_edits[i] = nested_place(scope, commit->edits[i].key);
        edits[i] = commit->edits[i];
        edits[i].key = of_edits[i].key;
    }
    for (size_t i = 0; i < commit->row_count; i++) {
        of_rows[i] = nested_place(scope, commit->rows[i].change.key);
        rows[i] = commit->rows[i];
        rows[i].change.key = of_rows[i].key;
    }
    mapped.edits = edits;
    mapped.rows = rows;
    return inner->ops->graft(inner, nested_place(scope, NULL).scope, &mapped, error);
}

static inline int nested_new(const struct ethos_host *host, struct ethos_store *inner,
                             struct ethos_store **out_store, struct ethos_error *error)
{
    static const struct ethos_store_ops ops = {.abi = ETHOS_ABI,
                                               .name = "nested",
                                               .close = wrap_close,
                                               .read = nested_read,
                                               .write = nested_write,
                                               .remove = nested_remove,
                                               .list = nested_list,
                                               .update = nested_update,
                                               .batch = nested_batch,
                                               .locate = nested_locate,
                                               .check = wrap_check,
                                               .gather = nested_gather};
    struct store_wrapper *wrap;
    int code = wrap_new(host, &ops, sizeof *wrap, inner, &wrap, error);
    if (code != ETHOS_OK)
        return code;
    wrap->ops.history = nested_history;
    wrap->ops.version = nested_version;
    wrap->ops.purge = nested_purge;
    wrap->ops.set_aside = nested_set_aside;
    wrap->ops.conflicts = nested_conflicts;
    wrap->ops.conflict_read = nested_conflict_read;
    wrap->ops.conflict_drop = nested_conflict_drop;
    wrap->ops.keep = nested_keep;
    wrap->ops.scopes = inner->ops->scopes ? nested_scopes : NULL;
    wrap->ops.graft = inner->ops->graft ? nested_graft : NULL;
    *out_store = &wrap->store;
    return ETHOS_OK;
}

#endif
