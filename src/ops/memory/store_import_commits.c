/*
 * store_import_commits.c: the operation store.graft: imports changes of another store, with their texts.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/memory/wire.h"
#include "ops/memory/store.h"

/* Keys from outside are not trusted. */
static int check_commit_keys(struct store_call *self, const struct ethos_commit *commit)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < commit->row_count; i++)
        code = served_store_check_key(self->scope, commit->rows[i].change.key, &self->error);
    for (size_t i = 0; code == ETHOS_OK && i < commit->edit_count; i++)
        code = served_store_check_key(self->scope, commit->edits[i].key, &self->error);
    for (size_t i = 0; code == ETHOS_OK && i < commit->copy_count; i++)
        code = served_store_check_key(self->scope, commit->copies[i].key, &self->error);
    return code;
}

/* Collects the revision after the last change of each key; null for keys that were only seen. */
static int record_final_revisions(const struct ethos_commit *commit, json_t *ends)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < commit->row_count; i++) {
        const struct ethos_change *change = &commit->rows[i].change;
        bool seen = change->via && strcmp(change->via, "seen") == 0;
        if (!seen || !json_object_get(ends, change->key))
            failed = json_object_set_new(ends, change->key,
                                         seen ? json_null() : json_string(change->after));
    }
    return failed ? ETHOS_NOMEM : ETHOS_OK;
}

/* Every key with changes must have one edit, whose text is the one after its last change. */
static int check_commit_edits(struct store_call *self, const struct ethos_commit *commit)
{
    json_t *ends = json_object();
    int code = ends ? record_final_revisions(commit, ends) : ETHOS_NOMEM;
    for (size_t i = 0; code == ETHOS_OK && i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        const json_t *end = json_object_get(ends, edit->key);
        const char *revision = json_string_value(end);
        bool fits = edit->verdict == ETHOS_EDIT_KEEP
                        ? end != NULL
                        : revision && !strcmp(revision, edit->revision);
        if (!fits)
            code = err_set(&self->error, ETHOS_INVALID,
                           "%s: given twice, or its text does not match its last change",
                           edit->key);
        json_object_del(ends, edit->key);
    }
    if (code == ETHOS_OK && json_object_size(ends) > 0)
        code = err_set(&self->error, ETHOS_INVALID, "%s: a change has no text",
                       json_object_iter_key(json_object_iter(ends)));
    json_decref(ends);
    return code;
}

static int read_commit(struct store_call *self, const struct op_call *call, struct arena *arena,
                       struct ethos_commit *out)
{
    struct str scratch;
    str_init(&scratch, WIRE_MAX_BYTES);
    int code = wire_take_commit(json_object_get(call->args, "commit"), arena, &scratch, out);
    str_release(&scratch);
    if (code == ETHOS_INVALID)
        err_set(&self->error, code, "commit: must be changes in order, with their texts");
    if (code == ETHOS_OK && out->row_count > 0 && out->rows[0].change.number <= out->version)
        code = err_set(&self->error, ETHOS_CONFLICT, "%s: already has changes with these numbers",
                       self->scope);
    if (code == ETHOS_LIMIT)
        err_set(&self->error, code, "commit: too large: its texts exceed the size limit");
    if (code == ETHOS_OK)
        code = check_commit_keys(self, out);
    return code == ETHOS_OK ? check_commit_edits(self, out) : code;
}

int store_run_import_commit(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct store_call served;
    struct ethos_commit commit;
    struct arena arena;
    arena_init(&arena);
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->graft);
    if (code == ETHOS_OK)
        code = read_commit(&served, call, &arena, &commit);
    if (code == ETHOS_OK && !call->dry_run)
        code = served.store->ops->graft(served.store, served.scope, &commit, &served.error);
    arena_release(&arena);
    return store_call_end(&served, code, json_pack("{s:b}", "ok", 1), result, error);
}
