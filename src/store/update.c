/*
 * update.c: update of any store: by its own slot, or by compare-and-swap over read and write.
 *
 * Without the store's help there is no lock, so each key is swapped against the revision that was
 * read. When one has changed, the keys already written in this round are restored and everything
 * starts again: the callback must see all old texts as they were, or it would be applied twice.
 * Between two swaps others see some keys new and some old; a store that can do better has its own
 * update. Operation ids are refused, since they could not be remembered.
 */
#include "store/store.h"

#include "base/err.h"
#include "base/view.h"
#include "store/update_steps.h"

#define ROUNDS 100

struct swap_loop {
    struct ethos_store *store;
    const char *scope;
    struct ethos_edit *edits;
    size_t count;
    const struct ethos_origin *origin;
};

/* A key that vanishes between two rounds is left to the caller, who owns its old text. */
static int read_old_keys(const struct swap_loop *loop, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    for (size_t i = 0; i < loop->count; i++) {
        struct ethos_edit *edit = &loop->edits[i];
        int code = loop->store->ops->read(loop->store, loop->scope, edit->key, &whole, &edit->old,
                                          error);
        if (code == ETHOS_NOTFOUND && edit->old.data)
            return err_set(error, ETHOS_BUSY, "%s: was removed meanwhile", edit->key);
        if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
            return code;
    }
    return ETHOS_OK;
}

/* Writes the text of a key (data NULL: removes it) if its revision is still the expected one. */
static int swap_key(const struct swap_loop *loop, struct ethos_edit *edit, const char *expect,
                    struct ethos_view text, struct ethos_error *error)
{
    const struct ethos_store_ops *ops = loop->store->ops;
    if (text.data)
        return ops->write(loop->store, loop->scope, edit->key, expect, text, loop->origin,
                          edit->revision, error);
    TRY(ops->remove(loop->store, loop->scope, edit->key, expect, loop->origin, error));
    edit->revision[0] = 0;
    return ETHOS_OK;
}

static int swap_edit(const struct swap_loop *loop, struct ethos_edit *edit,
                     struct ethos_error *error)
{
    struct ethos_view text = edit->text;
    if (edit->verdict == ETHOS_EDIT_DROP)
        text.data = NULL;
    else if (!text.data)
        text = VIEW("");
    return swap_key(loop, edit, edit->old.data ? edit->old.revision : "absent", text, error);
}

/* Undoes the first `done` keys, last first. */
static int undo_swaps(const struct swap_loop *loop, size_t done)
{
    int code = ETHOS_OK;
    while (code == ETHOS_OK && done-- > 0) {
        struct ethos_edit *edit = &loop->edits[done];
        char written[ETHOS_REVISION_SIZE];
        if (!edit_is_change(edit))
            continue;
        memcpy(written, edit->revision, sizeof written);
        code = swap_key(loop, edit, *written ? written : "absent",
                        view_of(edit->old.data, edit->old.size), NULL);
    }
    return code;
}

static int swap_all_keys(const struct swap_loop *loop, struct ethos_error *error)
{
    for (size_t i = 0; i < loop->count; i++) {
        struct ethos_edit *edit = &loop->edits[i];
        if (!edit_is_change(edit)) {
            memcpy(edit->revision, edit->old.revision, sizeof edit->revision);
            continue;
        }
        int code = swap_edit(loop, edit, error);
        if (code == ETHOS_OK)
            continue;
        if (undo_swaps(loop, i) != ETHOS_OK)
            return err_set(error, ETHOS_IO, "%s: not written, but the keys before it were changed",
                           edit->key);
        return code;
    }
    return ETHOS_OK;
}

int store_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error)
{
    bool once = store->ops->update && (store->capabilities & ETHOS_STORE_ONCE);
    if (origin && origin->op_id && !once)
        return err_set(error, ETHOS_UNSUPPORTED, "%s: this store keeps no operation ids",
                       store->ops->name);
    if (store->ops->update)
        return store->ops->update(store, scope, edits, count, edit, arg, origin, error);

    struct swap_loop loop = {store, scope, edits, count, origin};
    int code = edit_check_keys(edits, count, error);
    if (code != ETHOS_OK)
        return code;
    for (int round = 0; round < ROUNDS; round++) {
        code = read_old_keys(&loop, error);
        if (code == ETHOS_OK)
            code = edit_run_callback(edits, count, edit, arg, error);
        if (code != ETHOS_OK)
            return code;
        code = swap_all_keys(&loop, error);
        if (code != ETHOS_CONFLICT)
            return code;
    }
    return err_set(error, ETHOS_BUSY, "%s: the text keeps changing", scope);
}

void store_batch(struct ethos_store *store, const char *scope, struct ethos_edit_call *calls,
                 size_t count)
{
    if (store->ops->batch) {
        store->ops->batch(store, scope, calls, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct ethos_edit_call *call = &calls[i];
        call->code = store_update(store, scope, call->edits, call->count, call->edit, call->arg,
                                  call->origin, call->error);
    }
}

int store_gather(struct ethos_store *store, const struct ethos_read_how *how,
                 struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    if (store->ops->gather)
        return store->ops->gather(store, how, sections, count, error);
    for (size_t i = 0; i < count; i++) {
        struct ethos_section *section = &sections[i];
        section->code = store->ops->read(store, section->scope, section->key, how, &section->text,
                                         &section->error);
    }
    return ETHOS_OK;
}
