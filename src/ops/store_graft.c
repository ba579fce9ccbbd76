/*
 * store_graft.c: the operation store.graft: changes of another store, with their texts, into the one of this home.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/wire.h"
#include "ops/store.h"

/* Keys are as strange as any that come from outside, and each edit has its own. */
static int check_keys(struct lending *self, const struct ethos_commit *commit)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < commit->row_count; i++)
        code = lend_check(self->scope, commit->rows[i].change.key, &self->error);
    for (size_t i = 0; code == ETHOS_OK && i < commit->edit_count; i++)
        code = lend_check(self->scope, commit->edits[i].key, &self->error);
    for (size_t i = 0; code == ETHOS_OK && i < commit->copy_count; i++)
        code = lend_check(self->scope, commit->copies[i].key, &self->error);
    return code;
}

static int take_commit(struct lending *self, const struct op_call *call, struct arena *arena,
                       struct ethos_commit *out)
{
    struct str scratch;
    str_init(&scratch, WIRE_MAX_BYTES);
    int code = wire_take_commit(json_object_get(call->args, "commit"), arena, &scratch, out);
    str_release(&scratch);
    if (code == ETHOS_INVALID)
        err_set(&self->error, code, "commit: must be changes in order, with their texts");
    if (code == ETHOS_OK && out->row_count > 0 && out->rows[0].change.number <= out->version)
        code = err_set(&self->error, ETHOS_CONFLICT, "%s: has changes of these numbers",
                       self->scope);
    return code == ETHOS_OK ? check_keys(self, out) : code;
}

int store_run_graft(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct lending lending;
    struct ethos_commit commit;
    struct arena arena;
    arena_init(&arena);
    int code = lending_begin(call, &lending);
    if (code == ETHOS_OK)
        code = lending_needs(&lending, lending.store->ops->graft);
    if (code == ETHOS_OK)
        code = take_commit(&lending, call, &arena, &commit);
    if (code == ETHOS_OK && !call->dry_run)
        code = lending.store->ops->graft(lending.store, lending.scope, &commit, &lending.error);
    arena_release(&arena);
    return lending_end(&lending, code, json_pack("{s:b}", "ok", 1), result, error);
}
