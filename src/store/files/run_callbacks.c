/*
 * run_callbacks.c: runs the callbacks of the updates that share a write, one after the other.
 *
 * Each sees the texts that those before it left, in memory. Its verdicts become its own history
 * lines, with its own origin and operation id. An update that is refused, or was done before,
 * leaves the texts unchanged.
 */
#include "store/files/write_job.h"

#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/history/external_edit.h"
#include "store/operation_id.h"
#include "store/update_steps.h"

/* ---- one update ----------------------------------------------------------------------------- */

/* Sets `old` of an edit: the file as it was read, or a copy of what it has become. */
static int fill_old_text(const struct write_job *job, const struct key_change *change,
                         struct ethos_edit *edit, struct ethos_error *error)
{
    const struct ethos_host *host = job->self->host;
    if (&edit->old == change->file)
        return ETHOS_OK;
    if (!change->text.data) {
        edit_free_text(host, &edit->old);
        return ETHOS_OK;
    }
    bool unchanged = change->text.data == change->file->data;
    return edit_fill_text(host, change->text, change->revision,
                          unchanged ? change->file->mtime_ms : host->now_ms(host->arg), &edit->old,
                          error);
}

static int fill_old_texts(const struct write_job *job, const struct update_call *call)
{
    const struct ethos_edit_call *asked = call->asked;
    for (size_t i = 0; i < asked->count; i++)
        TRY(fill_old_text(job, call->steps[i].change, &asked->edits[i], asked->error));
    return ETHOS_OK;
}

/*
 * Answers an update that was done before, or by an earlier one of these. ETHOS_NOTFOUND when it is
 * new.
 */
static int find_repeat(const struct write_job *job, const struct update_call *call)
{
    const struct ethos_edit_call *asked = call->asked;
    if (!opid_is_given(asked->origin))
        return ETHOS_NOTFOUND;
    for (const struct update_call *other = job->calls; other < call; other++) {
        if (other->op.data && strcmp(other->asked->origin->op_id, asked->origin->op_id) == 0)
            return opid_apply_record(other->op, asked->origin, asked->edits, asked->count,
                                     asked->error);
    }
    return files_journal_find_operation(job->self, &job->lock, &job->journal, asked->origin,
                                        asked->edits, asked->count, asked->error);
}

/* Makes the record by which a repeat is recognised and answered. */
static int make_operation_record(struct write_job *job, struct update_call *call)
{
    const struct ethos_edit_call *asked = call->asked;
    struct str op;
    if (!opid_is_given(asked->origin))
        return ETHOS_OK;
    str_init(&op, ETHOS_MAX_STORE_BYTES);
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = opid_make_record(asked->origin, now_ms, asked->edits, asked->count, &op,
                                asked->error);
    if (code == ETHOS_OK) {
        call->op = view_str(arena_copy(&job->arena, str_view(&op)));
        if (!call->op.data)
            code = err_nomem(asked->error);
    }
    str_release(&op);
    return code;
}

static int run_one_update(struct write_job *job, struct update_call *call)
{
    const struct ethos_edit_call *asked = call->asked;
    int code = fill_old_texts(job, call);
    if (code == ETHOS_OK)
        code = find_repeat(job, call);
    if (code == ETHOS_NOTFOUND)
        code = edit_run_callback(asked->edits, asked->count, asked->edit, asked->arg, asked->error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < call->asked->count; i++) {
        const struct edit_step *step = &call->steps[i];
        struct ethos_edit *edit = &call->asked->edits[i];
        if (step->tried.diff.data && edit->verdict == ETHOS_EDIT_PUT &&
            verdict_count(&step->tried, view_of(edit->old.data, edit->old.size)) >
                step->tried_before)
            edit->verdict = ETHOS_EDIT_KEEP;
    }
    edit_set_revisions(asked->edits, asked->count);
    if (!edit_has_changes(asked->edits, asked->count))
        return ETHOS_OK;
    TRY(make_operation_record(job, call));
    call->changes = true;
    for (size_t i = 0; i < call->asked->count; i++) {
        struct key_change *change = call->steps[i].change;
        struct ethos_edit *edit = &call->asked->edits[i];
        if (!edit_is_change(edit))
            continue;
        bool puts = edit->verdict == ETHOS_EDIT_PUT;
        change->text = !puts ? (struct ethos_view){0} : edit->text.data ? edit->text : VIEW("");
        change->revision = edit->revision;
    }
    return ETHOS_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

void write_run_callbacks(struct write_job *job)
{
    for (size_t i = 0; i < job->call_count; i++) {
        struct update_call *call = &job->calls[i];
        call->changes = false;
        call->op = (struct ethos_view){0};
        call->asked->code = run_one_update(job, call);
        if (call->asked->code == ETHOS_OK && !call->changes) {
            for (size_t k = 0; k < call->asked->count; k++)
                call->steps[k].change->answers = true; // must be durable, too
        }
    }
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        bool same = change->exists && change->text.data &&
                    (change->text.data == change->file->data ||
                     view_eq(change->text, change_file_text(change)));
        change->puts = change->text.data && !same;
        change->drops = change->exists && !change->text.data;
    }
}

bool write_has_changes(const struct write_job *job)
{
    for (size_t i = 0; i < job->call_count; i++) {
        if (job->calls[i].changes)
            return true;
    }
    return false;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int make_edit_record(struct write_job *job, const struct ethos_edit *edit,
                            const struct ethos_origin *origin, struct history_last *last,
                            struct history_record *out, struct ethos_error *error)
{
    static const struct ethos_origin nobody;
    bool puts = edit->verdict == ETHOS_EDIT_PUT;
    struct ethos_view text = edit->text.data ? edit->text : VIEW("");
    if (!origin)
        origin = &nobody;
    *out = (struct history_record){
        .scope = view_str(job->scope),
        .key = view_str(edit->key),
        .actions = view_str(edit_action_names(edit)),
        .source = view_str(origin->source ? origin->source : "tool"),
        .session = view_str(origin->session),
        .session_key = view_str(origin->session_key),
        .op_id = view_str(origin->op_digest ? origin->op_id : NULL),
        .user = view_str(origin->user),
        .via = view_str(origin->via),
        .undoes = view_str(origin->undoes),
        .actor = view_str(origin->actor),
        .trust = view_str(origin->trust),
        .approved_by = view_str(origin->approved_by),
        .edited_from = view_str(origin->edited_from),
    };
    if (edit->old.data)
        out->before_hash = view_str(edit->old.revision);
    if (puts)
        out->after_hash = view_str(edit->revision);
    int code = files_describe_change(job->self, &job->lock, last,
                                     view_of(edit->old.data, edit->old.size),
                                     puts ? text : (struct ethos_view){0}, &job->arena, out, error);
    last->ours = true; // the next line of the key follows this one
    last->since_blob = out->after_blob.size > 0 ? 0 : last->since_blob + 1;
    return code;
}

/* The lines of one update among those of others. */
static void mark_parts(struct history_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        records[i].part_index = (unsigned)i + 1;
        records[i].part_count = (unsigned)count;
    }
}

int write_make_records(struct write_job *job, struct history_record **out, size_t *out_count,
                       struct ethos_error *error)
{
    size_t count = 0, most = 0, updates = 0;
    for (size_t i = 0; i < job->call_count; i++) {
        most += job->calls[i].asked->count;
        updates += job->calls[i].changes;
    }
    struct history_record *records = arena_array(&job->arena, most, sizeof *records);
    if (!records)
        return err_nomem(error);
    for (size_t i = 0; i < job->call_count; i++) {
        const struct update_call *call = &job->calls[i];
        const struct ethos_edit_call *asked = call->asked;
        size_t first = count;
        for (size_t k = 0; call->changes && k < asked->count; k++) {
            if (!edit_is_change(&asked->edits[k]))
                continue;
            int code = make_edit_record(job, &asked->edits[k], asked->origin,
                                        &call->steps[k].change->last, &records[count++], error);
            if (code != ETHOS_OK)
                return code;
        }
        if (call->changes)
            records[count - 1].op = call->op; // on its last line
        if (updates > 1)
            mark_parts(&records[first], count - first);
    }
    *out = records;
    *out_count = count;
    return ETHOS_OK;
}

/* ---- tries ---------------------------------------------------------------------------------- */

/*
 * Without memory this is skipped: an editor that saved a copy of the short-lived text may then
 * double an entry.
 */
static void remember_attempt(struct write_job *job, struct edit_step *step,
                             const struct ethos_edit *edit, const struct history_record *record)
{
    struct ethos_view before = view_of(edit->old.data, edit->old.size);
    struct history_record whole = *record;
    if (history_mend(before, edit->text, &job->tries, &whole) != ETHOS_OK)
        return;
    char *diff = arena_copy(&job->tries, whole.diff);
    char *actions = diff ? arena_copy(&job->tries, whole.actions) : NULL;
    if (!actions)
        return;
    step->tried = (struct history_record){.diff = view_of(diff, whole.diff.size),
                                          .actions = view_str(actions)};
    step->tried_before = verdict_count(&step->tried, before);
}

void write_remember_attempts(struct write_job *job, const struct history_record *records)
{
    for (size_t i = 0; i < job->call_count; i++) {
        const struct update_call *call = &job->calls[i];
        for (size_t k = 0; call->changes && k < call->asked->count; k++) {
            if (edit_is_change(&call->asked->edits[k]))
                remember_attempt(job, &call->steps[k], &call->asked->edits[k], records++);
        }
    }
}
