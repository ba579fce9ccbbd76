/*
 * rows_batch.c: several updates of one scope as one fetch and one commit.
 *
 * Every key of every update is fetched once. Each update is then asked over the texts that those
 * before it left, in memory, and what it changes becomes rows with numbers of their own; the texts
 * that stand in the end, all rows and all operation ids are one commit.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "store/operation_id.h"
#include "store/rows.h"
#include "store/update_steps.h"

struct rows_job {
    const struct rows_store *self;
    const char *scope;
    struct ethos_edit_call *calls;
    size_t count;

    /*
     * Each key and id once. Of a key: old as fetched; text and revision as the updates left them.
     */
    struct arena arena;
    struct ethos_fetch fetch;
    const char **op_ids;

    /* of one round */
    struct arena round;
    struct ethos_row *rows;
    size_t row_count;
    struct ethos_done *done;
    size_t done_count;
    size_t first; /* the first update that changed something; count when none did */
};

/* ---- gathering ------------------------------------------------------------------------------ */

static struct ethos_edit *find_fetched_key(const struct rows_job *job, const char *key)
{
    for (size_t i = 0; i < job->fetch.count; i++) {
        if (strcmp(job->fetch.edits[i].key, key) == 0)
            return &job->fetch.edits[i];
    }
    return NULL;
}

static const struct ethos_text *find_fetched_record(const struct rows_job *job, const char *op_id)
{
    for (size_t i = 0; i < job->fetch.op_count; i++) {
        if (strcmp(job->op_ids[i], op_id) == 0)
            return &job->fetch.records[i];
    }
    return NULL;
}

/* Allocates everything a round can need. */
static int prepare_job(struct rows_job *job, struct ethos_error *error)
{
    struct ethos_fetch *fetch = &job->fetch;
    size_t edits = 0, calls = job->count;
    for (size_t i = 0; i < calls; i++)
        edits += job->calls[i].count;
    fetch->edits = arena_array(&job->arena, edits + 1, sizeof *fetch->edits);
    fetch->records = arena_array(&job->arena, calls, sizeof *fetch->records);
    job->op_ids = arena_array(&job->arena, calls, sizeof *job->op_ids);
    job->rows = arena_array(&job->arena, edits + 1, sizeof *job->rows);
    job->done = arena_array(&job->arena, calls, sizeof *job->done);
    if (!fetch->edits || !fetch->records || !job->op_ids || !job->rows || !job->done)
        return err_nomem(error);
    fetch->op_ids = job->op_ids;
    for (size_t i = 0; i < calls; i++) {
        const struct ethos_edit_call *call = &job->calls[i];
        for (size_t k = 0; k < call->count; k++) {
            if (!find_fetched_key(job, call->edits[k].key))
                fetch->edits[fetch->count++].key = call->edits[k].key;
        }
        if (opid_is_given(call->origin) && !find_fetched_record(job, call->origin->op_id))
            job->op_ids[fetch->op_count++] = call->origin->op_id;
    }
    return ETHOS_OK;
}

/* Frees what was fetched and made in a round; keys and ids stay. */
static void reset_round(struct rows_job *job)
{
    const struct ethos_host *host = job->self->wrap.host;
    for (size_t i = 0; i < job->fetch.count; i++)
        edit_free_text(host, &job->fetch.edits[i].old);
    for (size_t i = 0; i < job->fetch.op_count; i++)
        edit_free_text(host, &job->fetch.records[i]);
    arena_release(&job->round);
    job->row_count = job->done_count = 0;
    job->first = 0; // a failure from here on fails every update
}

/* ---- asking --------------------------------------------------------------------------------- */

/*
 * Answers an update that was done before, or by an earlier one of these. ETHOS_NOTFOUND when it is
 * new.
 */
static int find_repeated_update(const struct rows_job *job, const struct ethos_edit_call *call)
{
    struct ethos_view record = {0};
    if (!opid_is_given(call->origin))
        return ETHOS_NOTFOUND;
    const struct ethos_text *fetched = find_fetched_record(job, call->origin->op_id);
    if (fetched->data)
        record = view_of(fetched->data, fetched->size);
    for (size_t i = 0; i < job->done_count; i++) {
        if (strcmp(job->done[i].op_id, call->origin->op_id) == 0)
            record = job->done[i].record;
    }
    if (!record.data)
        return ETHOS_NOTFOUND;
    return opid_apply_record(record, call->origin, call->edits, call->count, call->error);
}

/* Sets `old` of every edit to a copy, which the caller keeps. */
static int fill_old_texts(const struct rows_job *job, const struct ethos_edit_call *call)
{
    const struct ethos_host *host = job->self->wrap.host;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < call->count; i++) {
        const struct ethos_edit *key = find_fetched_key(job, call->edits[i].key);
        bool fetched = key->text.data == key->old.data;
        if (key->text.data)
            code = edit_fill_text(host, key->text, key->revision,
                                  fetched ? key->old.mtime_ms : rows_now_ms(job->self),
                                  &call->edits[i].old, call->error);
        else
            edit_free_text(host, &call->edits[i].old);
    }
    return code;
}

static int run_update_callback(const struct rows_job *job, const struct ethos_edit_call *call)
{
    int code = edit_check_keys(call->edits, call->count, call->error);
    if (code == ETHOS_OK)
        code = find_repeated_update(job, call);
    if (code != ETHOS_NOTFOUND)
        return code;
    TRY(fill_old_texts(job, call));
    TRY(edit_run_callback(call->edits, call->count, call->edit, call->arg, call->error));
    edit_set_revisions(call->edits, call->count);
    return ETHOS_OK;
}

/* ---- what follows --------------------------------------------------------------------------- */

static struct ethos_view edited_text(const struct ethos_edit *edit)
{
    if (edit->verdict != ETHOS_EDIT_PUT)
        return (struct ethos_view){0};
    return edit->text.data ? edit->text : VIEW("");
}

static const char *revision_or_absent(const char *revision)
{
    return *revision ? revision : "absent";
}

/* Makes rows from `count` on; the job takes them once the whole update is there. */
static int make_update_rows(struct rows_job *job, const struct ethos_edit_call *call, size_t *count)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct ethos_edit *edit = &call->edits[i];
        if (!edit_is_change(edit))
            continue;
        struct ethos_row *row = &job->rows[(*count)++];
        *row = (struct ethos_row){
            .change = edit_make_change(edit, call->origin, rows_now_ms(job->self))};
        row->change.number = job->fetch.version + *count;
        row->change.before = revision_or_absent(edit->old.revision);
        row->change.after = revision_or_absent(edit->revision);
        if (rows_describe_row(view_of(edit->old.data, edit->old.size), edited_text(edit),
                              &job->round, row) != ETHOS_OK)
            return err_nomem(call->error);
    }
    return ETHOS_OK;
}

/* Makes the record by which a repeat is recognised, at the end of job->done. */
static int add_done_record(struct rows_job *job, const struct ethos_edit_call *call)
{
    struct str record;
    str_init(&record, ETHOS_MAX_STORE_BYTES);
    int code = opid_make_record(call->origin, rows_now_ms(job->self), call->edits, call->count,
                                &record, call->error);
    char *copy = code == ETHOS_OK ? arena_copy(&job->round, str_view(&record)) : NULL;
    if (code == ETHOS_OK && !copy)
        code = err_nomem(call->error);
    job->done[job->done_count] = (struct ethos_done){call->origin ? call->origin->op_id : NULL,
                                                     view_of(copy, record.size)};
    str_release(&record);
    return code;
}

/* Makes the texts of an update those that the next updates see. */
static int apply_update(struct rows_job *job, const struct ethos_edit_call *call)
{
    size_t row_count = job->row_count;
    TRY(make_update_rows(job, call, &row_count));
    if (opid_is_given(call->origin))
        TRY(add_done_record(job, call));
    job->row_count = row_count;
    job->done_count += opid_is_given(call->origin) ? 1 : 0;
    for (size_t i = 0; i < call->count; i++) {
        const struct ethos_edit *edit = &call->edits[i];
        if (!edit_is_change(edit))
            continue;
        struct ethos_edit *key = find_fetched_key(job, edit->key);
        key->text = edited_text(edit);
        memcpy(key->revision, edit->revision, sizeof key->revision);
    }
    return ETHOS_OK;
}

static void run_all_updates(struct rows_job *job)
{
    for (size_t i = 0; i < job->fetch.count; i++) {
        struct ethos_edit *key = &job->fetch.edits[i];
        key->text = view_of(key->old.data, key->old.size);
        memcpy(key->revision, key->old.revision, sizeof key->revision);
    }
    job->first = job->count;
    for (size_t i = 0; i < job->count; i++) {
        struct ethos_edit_call *call = &job->calls[i];
        call->code = run_update_callback(job, call);
        if (call->code != ETHOS_OK || !edit_has_changes(call->edits, call->count))
            continue;
        call->code = apply_update(job, call);
        if (call->code == ETHOS_OK && job->first == job->count)
            job->first = i;
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int commit_job(struct rows_job *job, struct ethos_error *error)
{
    struct ethos_commit commit = {
        .version = job->fetch.version,
        .edits = job->fetch.edits,
        .edit_count = job->fetch.count,
        .rows = job->rows,
        .row_count = job->row_count,
        .done = job->done,
        .done_count = job->done_count,
    };
    for (size_t i = 0; i < job->fetch.count; i++) {
        struct ethos_edit *key = &job->fetch.edits[i];
        bool same = strcmp(key->revision, key->old.revision) == 0; // both "" when absent
        key->verdict = same ? ETHOS_EDIT_KEEP : key->text.data ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP;
    }
    return rows_commit(job->self, job->scope, &commit, error);
}

static int run_round(void *arg, struct ethos_error *error)
{
    struct rows_job *job = arg;
    struct ethos_store *inner = job->self->wrap.inner;
    reset_round(job);
    TRY(inner->ops->fetch(inner, job->scope, &job->fetch, error));
    run_all_updates(job);
    return job->first < job->count ? commit_job(job, error) : ETHOS_OK;
}

void rows_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                size_t count)
{
    struct rows_job job = {
        .self = (const struct rows_store *)self, .scope = scope, .calls = calls, .count = count};
    struct ethos_error error = {0};
    if (count == 0)
        return;
    arena_init(&job.arena);
    arena_init(&job.round);
    int code = prepare_job(&job, &error);
    if (code == ETHOS_OK)
        code = rows_retry(job.self, scope, run_round, &job, &error);
    if (code != ETHOS_OK) {
        for (size_t i = job.first; i < job.count; i++) {
            job.calls[i].code = code;
            if (job.calls[i].error)
                *job.calls[i].error = error;
        }
    }
    reset_round(&job);
    arena_release(&job.arena);
}

int rows_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits, size_t count,
                ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                struct ethos_error *error)
{
    struct ethos_edit_call call = {edits, count, edit, arg, origin, error, ETHOS_INTERNAL};
    rows_batch(self, scope, &call, 1);
    return call.code;
}
