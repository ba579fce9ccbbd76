/*
 * import_commits.c: appends the changes of another store (the slot graft) in one write.
 *
 * It is the write protocol of write.c with lines that are given instead of made. They keep their
 * times and numbers. The first line of each key also records the text that was here before (the
 * member graft), since a change of another store need not begin with it, and recovery restores it.
 * Lines that a crash voided are no changes: the same numbers come again after them.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "store/files/write_job.h"
#include "store/update_steps.h"

#define ROUNDS 100

/*
 * ---- what may be grafted ----------------------------------------------------------------------
 */

static int read_newest_number(void *arg, const struct ethos_change *change)
{
    *(uint64_t *)arg = change->number;
    return 1;
}

static int check_commit_follows(struct write_job *job, const struct ethos_commit *commit,
                                struct ethos_error *error)
{
    uint64_t newest = 0;
    int code = files_history(&job->self->store, job->scope, NULL, read_newest_number, &newest,
                             error);
    if (code != ETHOS_OK && code != 1)
        return code;
    return newest == commit->version
               ? ETHOS_OK
               : err_set(error, ETHOS_CONFLICT, "%s: has other changes than those up to %" PRIu64,
                         job->scope, commit->version);
}

/* Texts that people put there must not be overwritten. */
static int check_texts_recorded(const struct write_job *job, struct ethos_error *error)
{
    char shown[PATH_MAX];
    for (size_t i = 0; i < job->count; i++) {
        const struct key_change *change = &job->changes[i];
        if (change->exists && !change->last.any)
            return err_set(error, ETHOS_CONFLICT, "%s: exists already, and no change created it",
                           files_full_path(job->self, change->location->path, shown));
    }
    return ETHOS_OK;
}

/*
 * ---- lines ------------------------------------------------------------------------------------
 */

static struct key_change *find_imported_key(const struct write_job *job, const char *key)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->changes[i].key, key) == 0)
            return &job->changes[i];
    }
    return NULL;
}

static bool is_absent_revision(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

static struct ethos_view revision_hash(const char *revision)
{
    return is_absent_revision(revision) ? (struct ethos_view){0} : view_str(revision);
}

/* The name of a text as a blob; absent when the revision is none of ours. */
static struct ethos_view blob_digits(const char *revision)
{
    struct ethos_view prefix = VIEW("sha256:"), all = view_str(revision);
    struct ethos_view hex = view_starts(all, prefix) ? view_from(all, prefix.size) : VIEW("");
    return hash_is_hex(hex) ? hex : (struct ethos_view){0};
}

/* Writes a known text as a blob; its name, or the absent view. */
static int write_known_blob(struct write_job *job, struct ethos_view text, const char *revision,
                            struct ethos_view *out_hex, struct ethos_error *error)
{
    struct ethos_view hex = blob_digits(revision);
    *out_hex = (struct ethos_view){0};
    if (!text.data || !hex.data)
        return ETHOS_OK;
    *out_hex = hex;
    return files_blob_write(job->self, &job->lock, hex.data, text, true, error);
}

/*
 * Where a text is lost, or nothing changed, the row is copied as given and known texts are stored
 * whole.
 */
static int copy_row_as_given(struct write_job *job, const struct ethos_row *row, bool seen,
                             struct history_record *out, struct ethos_error *error)
{
    const struct ethos_change *told = &row->change;
    out->before_hash = revision_hash(told->before);
    out->after_hash = revision_hash(seen ? told->before : told->after);
    out->absent_before = is_absent_revision(told->before);
    out->absent_after = is_absent_revision(seen ? told->before : told->after);
    out->size_before = told->bytes_before;
    out->size_after = seen ? told->bytes_before : told->bytes_after;
    out->diff = seen || !told->diff.data ? VIEW("") : told->diff;
    int code = ETHOS_OK;
    if (!seen)
        code = write_known_blob(job, row->base, told->before, &out->before_blob, error);
    if (code == ETHOS_OK)
        code = write_known_blob(job, row->whole, told->after, &out->after_blob, error);
    if (seen && !out->after_blob.data) // lost: its name is all there is
        out->after_blob = blob_digits(told->after);
    return code;
}

static int describe_row(struct write_job *job, const struct ethos_row *row,
                        struct key_change *change, struct history_record *out,
                        struct ethos_error *error)
{
    const struct ethos_change *told = &row->change;
    struct history_last *last = &change->last;
    bool seen = told->via && strcmp(told->via, "seen") == 0;
    bool known = (row->base.data || is_absent_revision(told->before)) &&
                 (row->whole.data || is_absent_revision(told->after));
    if (seen)
        return copy_row_as_given(job, row, true, out, error);
    bool leads = last->any && (last->absent ? is_absent_revision(told->before)
                                            : strcmp(last->hash, told->before) == 0);
    last->ours = last->ours && leads;
    int code;
    if (known) {
        out->before_hash = revision_hash(told->before);
        out->after_hash = revision_hash(told->after);
        code = files_describe_change(job->self, &job->lock, last, row->base, row->whole,
                                     &job->arena, out, error);
    } else {
        code = copy_row_as_given(job, row, false, out, error);
    }
    last->any = last->ours = true;
    last->absent = is_absent_revision(told->after);
    snprintf(last->hash, sizeof last->hash, "%s", last->absent ? "" : told->after);
    last->since_blob = out->after_blob.size > 0 ? 0 : last->since_blob + 1;
    return code;
}

/* The text that is here, for the first line of a key. */
static struct ethos_view base_revision(const struct key_change *change, bool first)
{
    return view_str(!first ? "" : change->exists ? change->file->revision : "absent");
}

static int make_row_record(struct write_job *job, const struct ethos_row *row,
                           struct history_record *out, struct ethos_error *error)
{
    const struct ethos_change *told = &row->change;
    struct key_change *change = find_imported_key(job, told->key);
    if (!change)
        return err_set(error, ETHOS_INVALID, "%s: a change has no text", told->key);
    *out = (struct history_record){
        .ts_ms = told->time_ms,
        .scope = view_str(job->scope),
        .key = view_str(change->key),
        .actions = view_str(told->actions),
        .source = view_str(told->source),
        .session = view_str(told->session),
        .session_key = view_str(told->session_key),
        .op_id = view_str(told->op_id),
        .user = view_str(told->user),
        .via = view_str(told->via),
        .event = view_str(told->event),
        .undoes = view_str(told->undoes),
        .actor = view_str(told->actor),
        .trust = view_str(told->trust),
        .approved_by = view_str(told->approved_by),
        .edited_from = view_str(told->edited_from),
        .seq = told->number,
        .graft = base_revision(change, !change->told),
    };
    if (told->group > 0 && told->group <= told->number && told->group_size <= UINT_MAX) {
        out->part_index = (unsigned)(told->number - told->group + 1);
        out->part_count = (unsigned)told->group_size;
    }
    change->told = true;
    return describe_row(job, row, change, out, error);
}

static int make_row_records(struct write_job *job, const struct ethos_commit *commit,
                            struct history_record **out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    *out = arena_array(&job->arena, commit->row_count + 1, sizeof **out);
    if (!*out)
        return err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < commit->row_count; i++)
        code = make_row_record(job, &commit->rows[i], &(*out)[i], error);
    return code;
}

/*
 * ---- the whole --------------------------------------------------------------------------------
 */

static int write_commit(struct write_job *job, const struct ethos_commit *commit,
                        struct ethos_error *error)
{
    struct history_record *records;
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        const struct ethos_edit *edit = &commit->edits[i];
        change->told = false;
        if (edit->verdict == ETHOS_EDIT_PUT) {
            change->text = edit->text.data ? edit->text : VIEW("");
            change->puts = !change->exists || !view_eq(change->text, change_file_text(change));
        }
        change->drops = edit->verdict == ETHOS_EDIT_DROP && change->exists;
    }
    TRY(write_check_all(job, error));
    TRY(write_start_transaction(job, error));
    TRY(make_row_records(job, commit, &records, error));
    return write_publish(job, records, commit->row_count, error);
}

static int import_once(struct write_job *job, const struct ethos_commit *commit,
                       struct ethos_error *error)
{
    write_round_begin(job);
    int code = files_lock_scope(job->self, &job->lock, error);
    if (code == ETHOS_OK && job->lock.fd < 0)
        code = files_lock_create(job->self, &job->lock, error);
    if (code == ETHOS_OK)
        code = write_prepare(job, error);
    if (code == ETHOS_OK)
        code = check_commit_follows(job, commit, error);
    if (code == ETHOS_OK)
        code = check_texts_recorded(job, error);
    if (code == ETHOS_OK)
        code = write_commit(job, commit, error);
    write_round_end(job);
    return code;
}

static int init_import(struct write_job *job, struct ethos_text *old,
                       const struct ethos_commit *commit, struct ethos_error *error)
{
    job->changes = calloc(commit->edit_count, sizeof *job->changes);
    job->locations = calloc(commit->edit_count, sizeof *job->locations);
    if (!job->changes || !job->locations || !old)
        return err_nomem(error);
    for (; job->count < commit->edit_count; job->count++) {
        job->locations[job->count].dir = job->locations[job->count].lock = -1;
        job->changes[job->count] = (struct key_change){.key = commit->edits[job->count].key,
                                                       .location = &job->locations[job->count],
                                                       .file = &old[job->count]};
    }
    return files_scope_path(job->scope, job->lock.path, error);
}

static int check_import_keys(const struct ethos_commit *commit, struct ethos_error *error)
{
    for (size_t i = 0; i < commit->edit_count; i++) {
        if (files_is_history(commit->edits[i].key))
            return err_set(error, ETHOS_DENIED, "reserved memory key: %s", commit->edits[i].key);
    }
    return ETHOS_OK;
}

int files_import_commits(struct ethos_store *store, const char *scope,
                         const struct ethos_commit *commit, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct write_job job = {.self = self, .scope = scope};
    int code = check_import_keys(commit, error);
    if (code != ETHOS_OK || commit->row_count == 0)
        return code;
    struct ethos_text *old = calloc(commit->edit_count, sizeof *old);
    code = init_import(&job, old, commit, error);
    for (int i = 0; (code == ETHOS_OK && i == 0) || (code == FILES_RETRY && i < ROUNDS); i++)
        code = import_once(&job, commit, error);
    if (code == FILES_RETRY)
        code = files_errno(self, EAGAIN, job.lock.path, error);
    for (size_t i = 0; old && i < commit->edit_count; i++)
        edit_free_text(self->host, &old[i]);
    free(old);
    free(job.changes);
    free(job.locations);
    return code;
}
