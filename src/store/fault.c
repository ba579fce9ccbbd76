/*
 * fault.c: a store that fails the calls a test chooses and forwards the others.
 *
 * A failed call does not reach the inner store: the fault stands for one that was noticed in time.
 */
#include "store/store.h"

#include "base/err.h"
#include "store/decorator.h"

struct fault_store {
    struct store_wrapper wrap;
    store_fault_fn *fail;
    void *arg;
    unsigned long calls;
};

static int should_fail(struct ethos_store *self, const char *call, struct ethos_error *error)
{
    struct fault_store *fault = (struct fault_store *)self;
    int code = fault->fail(fault->arg, call, ++fault->calls);
    if (code == ETHOS_OK)
        return code;
    return err_set(error, code, "%s: made to fail (call %lu)", call, fault->calls);
}

static int fault_read(struct ethos_store *self, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "read", error);
    return code ? code : inner->ops->read(inner, scope, key, how, out_text, error);
}

static int fault_write(struct ethos_store *self, const char *scope, const char *key,
                       const char *expect, struct ethos_view text,
                       const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "write", error);
    return code ? code
                : inner->ops->write(inner, scope, key, expect, text, origin, out_revision, error);
}

static int fault_remove(struct ethos_store *self, const char *scope, const char *key,
                        const char *expect, const struct ethos_origin *origin,
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "remove", error);
    return code ? code : inner->ops->remove(inner, scope, key, expect, origin, error);
}

static int fault_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "list", error);
    return code ? code : inner->ops->list(inner, scope, each, arg, error);
}

static int fault_gather(struct ethos_store *self, const struct ethos_read_how *how,
                        struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "gather", error);
    return code ? code : inner->ops->gather(inner, how, sections, count, error);
}

static int fault_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "update", error);
    return code ? code : inner->ops->update(inner, scope, edits, count, edit, arg, origin, error);
}

static void fault_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                        size_t count)
{
    struct ethos_store *inner = wrap_inner(self);
    struct ethos_error error = {0};
    int code = should_fail(self, "batch", &error);
    if (code == ETHOS_OK) {
        inner->ops->batch(inner, scope, calls, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        calls[i].code = code;
        if (calls[i].error)
            *calls[i].error = error;
    }
}

static int fault_import_commits(struct ethos_store *self, const char *scope,
                                const struct ethos_commit *commit, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    int code = should_fail(self, "graft", error);
    return code ? code : inner->ops->graft(inner, scope, commit, error);
}

static const struct ethos_store_ops fault_ops = {
    .abi = ETHOS_ABI,
    .name = "fault",
    .close = wrap_close,
    .read = fault_read,
    .write = fault_write,
    .remove = fault_remove,
    .list = fault_list,
    .update = fault_update,
    .batch = fault_batch,
    .locate = wrap_locate,
    .check = wrap_check,
    .gather = fault_gather,
    .graft = fault_import_commits,
};

int store_fault_new(const struct ethos_host *host, struct ethos_store *inner, store_fault_fn *fail,
                    void *arg, struct ethos_store **out_store, struct ethos_error *error)
{
    struct store_wrapper *wrap;
    TRY(wrap_new(host, &fault_ops, sizeof(struct fault_store), inner, &wrap, error));
    struct fault_store *fault = (struct fault_store *)wrap;
    fault->fail = fail;
    fault->arg = arg;
    *out_store = &wrap->store;
    return ETHOS_OK;
}
