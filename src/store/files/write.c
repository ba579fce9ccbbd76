/*
 * write.c: update and batch: the write protocol of one scope's directory.
 *
 *     for each round:
 *         files_lock_scope        open the directory, take its lock
 *         files_journal_open      read the end of its history
 *         files_recover           finish or take back what a dead writer left
 *         load_changes            read the texts
 *         record_external_edits   record edits made outside; where one requires another text, this
 *                                 round writes it and the next one goes on
 *         write_run_callbacks     each update in turn: the answer of a repeat, else of its callback
 *         write_check_all         refuse what must not be replaced
 *         write_publish           drafts, history, swap, inspection, sync (publish.c)
 *
 * Several updates share one write; update is a batch of one. What fails before anything was
 * recorded may be the fault of one of them: then each half is tried by itself.
 *
 * Removing a key that is a symbolic link is refused, because it is not clear whether the link or
 * its target is meant.
 */
#include "store/files/write_job.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

#define ROUNDS 100
#define RECENT_MS 30000 /* a file changed since may not be durable yet */

/* ---- reading -------------------------------------------------------------------------------- */

static int read_change_file(struct write_job *job, struct key_change *change,
                            struct ethos_error *error)
{
    bool busy;
    if (job->lock.dir < 0)
        return ETHOS_NOTFOUND;
    return files_location_read(job->self, change->location->path, change->location->dir,
                               change->location->name, change->last.hash, ETHOS_READ_REVISION,
                               change->file, &change->seen, &busy, error);
}

static int open_locations(struct write_job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        files_location_close(&job->lock, &job->locations[i]);
        TRY(files_location_open(job->self, &job->lock, job->scope, job->changes[i].key,
                                job->locations, i, &job->locations[i], error));
    }
    return ETHOS_OK;
}

static int load_changes(struct write_job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        change->puts = change->drops = change->in_place = change->watched = false;
        change->answers = false;
        TRY(files_journal_last_change(&job->journal, change->key, &change->last, error));
        int code = read_change_file(job, change, error);
        bool expected = change->last.any && !change->last.absent;
        // Some editors take a file away for a moment while they save it.
        for (int ms = 0; code == ETHOS_NOTFOUND && expected && ms < FILES_ABSENT_MS;
             ms += FILES_ABSENT_STEP_MS) {
            os_sleep_ms(FILES_ABSENT_STEP_MS);
            code = read_change_file(job, change, error);
        }
        change->exists = code == ETHOS_OK;
        if (code == ETHOS_NOTFOUND)
            edit_free_text(job->self->host, change->file);
        change->text = change_file_text(change);
        change->revision = change->file->revision;
        TRY(code == ETHOS_NOTFOUND ? ETHOS_OK : code);
    }
    return ETHOS_OK;
}

/* ---- what was changed outside --------------------------------------------------------------- */

int write_start_transaction(struct write_job *job, struct ethos_error *error)
{
    job->journaled = job->inspected = false;
    return files_txn_new_id(job->txn) == 0
               ? ETHOS_OK
               : files_step_error(job->self, errno, job->lock.path, error);
}

static bool is_edited_outside(const struct key_change *change)
{
    const struct history_last *last = &change->last;
    if (!last->any)
        return false;
    return change->exists ? last->absent || strcmp(change->file->revision, last->hash) != 0
                          : !last->absent;
}

/* The records of all external edits, in order. */
struct edit_records {
    struct history_record *records;
    size_t count;
    bool rewrites;
};

static int add_edit_records(struct write_job *job, struct edit_records *all,
                            const struct files_external_edit *verdict, struct ethos_error *error)
{
    struct history_record *records = arena_array(&job->arena, all->count + verdict->count,
                                                 sizeof *records);
    if (!records)
        return err_nomem(error);
    if (all->count > 0)
        memcpy(records, all->records, all->count * sizeof *records);
    if (verdict->count > 0)
        memcpy(records + all->count, verdict->records, verdict->count * sizeof *records);
    all->records = records;
    all->count += verdict->count;
    all->rewrites = all->rewrites || verdict->rewrites;
    return ETHOS_OK;
}

/* Plans a text with lost entries put back; where the file must not be replaced, they stay lost. */
static int plan_rewrite(struct write_job *job, struct key_change *change,
                        struct files_external_edit *verdict, struct ethos_error *error)
{
    change->puts = true;
    change->text = view_of(arena_copy(&job->arena, str_view(&verdict->text)), verdict->text.size);
    if (!change->text.data)
        return err_nomem(error);
    if (write_check_change(job, change, NULL) == ETHOS_OK)
        return ETHOS_OK;
    change->puts = verdict->rewrites = false;
    verdict->count = 1;
    verdict->records[0].event = VIEW("dropped");
    return ETHOS_OK;
}

static int inspect_edit(struct write_job *job, struct key_change *change, struct edit_records *all,
                        struct ethos_error *error)
{
    struct files_external_edit verdict = {0};
    str_init(&verdict.text, ETHOS_MAX_STORE_BYTES);
    int code = files_inspect_external_edit(job->self, &job->lock, &job->journal, job->scope,
                                           change->key, change_file_text(change), &change->seen,
                                           &job->arena, &verdict, error);
    if (code == ETHOS_OK && verdict.rewrites)
        code = plan_rewrite(job, change, &verdict, error);
    if (code == ETHOS_OK)
        code = add_edit_records(job, all, &verdict, error);
    str_release(&verdict.text);
    return code;
}

/* Records external edits. FILES_RETRY when that changed a text. */
static int record_external_edits(struct write_job *job, struct ethos_error *error)
{
    struct edit_records all = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (is_edited_outside(&job->changes[i]))
            code = inspect_edit(job, &job->changes[i], &all, error);
    }
    if (code != ETHOS_OK || all.count == 0)
        return code;
    code = write_start_transaction(job, error);
    if (code == ETHOS_OK && all.rewrites)
        code = write_check_folders(job, error);
    if (code == ETHOS_OK && all.rewrites) {
        code = write_publish(job, all.records, all.count, error);
        return code == ETHOS_OK ? FILES_RETRY : code;
    }
    if (code == ETHOS_OK)
        code = files_journal_append(job->self, &job->lock, &job->journal, job->txn, all.records,
                                    all.count, false, error);
    if (code != ETHOS_OK)
        return code;
    job->written = true;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = files_journal_last_change(&job->journal, job->changes[i].key, &job->changes[i].last,
                                         error);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

void write_round_begin(struct write_job *job)
{
    files_journal_init(&job->journal);
    arena_init(&job->arena);
    job->journaled = job->written = false;
}

void write_round_end(struct write_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        files_location_close(&job->lock, &job->locations[i]);
    files_journal_close(&job->lock, &job->journal);
    files_unlock_scope(job->self, &job->lock, !job->written);
    arena_release(&job->arena);
}

int write_prepare(struct write_job *job, struct ethos_error *error)
{
    int code = files_journal_open(job->self, &job->lock, &job->journal, error);
    if (code == ETHOS_OK)
        code = open_locations(job, error);
    if (code == ETHOS_OK)
        code = files_recover(job->self, &job->lock, &job->journal, job->scope, job->locations,
                             job->count, "", error);
    if (code == ETHOS_OK && job->lock.pruned)
        code = open_locations(job, error); // directories were removed
    if (code == ETHOS_OK)
        code = load_changes(job, error);
    return code == ETHOS_OK ? record_external_edits(job, error) : code;
}

/*
 * Where nothing was ever written, callbacks run without a lock first: an update that changes
 * nothing must not create a directory.
 */
static int run_unlocked(struct write_job *job, struct ethos_error *error)
{
    int code = open_locations(job, error);
    if (code == ETHOS_OK)
        code = load_changes(job, error);
    if (code == ETHOS_OK)
        write_run_callbacks(job);
    for (size_t i = 0; i < job->count; i++)
        files_location_close(&job->lock, &job->locations[i]);
    files_key_dirs_close(&job->lock); // they are opened again under the lock
    return code;
}

static bool has_history(const struct write_job *job)
{
    struct stat st;
    return job->lock.dir >= 0 && os_fstatat(job->lock.dir, FILES_HISTORY, &st, 0) == 0;
}

static int lock_for_write(struct write_job *job, bool *out_asked, struct ethos_error *error)
{
    int code = files_lock_scope(job->self, &job->lock, error);
    *out_asked = false;
    if (code != ETHOS_OK || job->lock.fd >= 0)
        return code;
    if (!has_history(job)) {
        code = run_unlocked(job, error);
        *out_asked = code != ETHOS_OK || !write_has_changes(job);
        if (*out_asked)
            return code;
    }
    return files_lock_create(job->self, &job->lock, error);
}

static bool has_answers(const struct write_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        if (job->changes[i].answers)
            return true;
    }
    return false;
}

/* Whether the write that follows syncs a directory. */
static bool will_sync(const struct write_job *job, int dir)
{
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]) && job->changes[i].location->dir == dir)
            return true;
    }
    return false;
}

/* Whether the answer to a repeated update rests on this key. */
static bool is_answered_by(const struct write_job *job, const struct key_change *change)
{
    for (size_t i = 0; i < job->call_count; i++) {
        const struct update_call *call = &job->calls[i];
        for (size_t k = 0; k < call->asked->count; k++) {
            if (call->steps[k].change == change &&
                call->asked->edits[k].verdict == ETHOS_EDIT_REPEATED)
                return true;
        }
    }
    return false;
}

/* Makes durable what the answers rest on, also where nothing changes. */
static int sync_answers(struct write_job *job, struct ethos_error *error)
{
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = ETHOS_OK;
    if (has_answers(job) && !write_has_changes(job))
        code = files_journal_sync(job->self, &job->lock, &job->journal, error);
    for (size_t i = 0; code == ETHOS_OK && job->self->durable && i < job->count; i++) {
        const struct key_change *change = &job->changes[i];
        if (!change->answers || !change->last.any || will_sync(job, change->location->dir))
            continue;
        bool recent = change->exists &&
                      now_ms - (int64_t)change->seen.st_ctim.tv_sec * 1000 < RECENT_MS;
        if ((recent || is_answered_by(job, change)) && os_fsync(change->location->dir) != 0)
            code = files_step_error(job->self, errno, change->location->path, error);
    }
    return code;
}

static int publish_changes(struct write_job *job, struct ethos_error *error)
{
    struct history_record *records = NULL;
    size_t count = 0;
    int code = write_check_all(job, error);
    if (code == ETHOS_OK)
        code = write_start_transaction(job, error);
    if (code == ETHOS_OK)
        code = write_make_records(job, &records, &count, error);
    if (code == ETHOS_OK)
        code = write_publish(job, records, count, error);
    if (!job->journaled)
        return code;
    job->recorded = true;
    if (code == FILES_RETRY)
        write_remember_attempts(job, records);
    return code;
}

static int write_under_lock(struct write_job *job, struct ethos_error *error)
{
    TRY(write_prepare(job, error));
    write_run_callbacks(job);
    int code = sync_answers(job, error);
    return code == ETHOS_OK && write_has_changes(job) ? publish_changes(job, error) : code;
}

static int write_once(struct write_job *job, struct ethos_error *error)
{
    bool asked;
    write_round_begin(job);
    int code = lock_for_write(job, &asked, error);
    if (code == ETHOS_OK && !asked)
        code = write_under_lock(job, error);
    write_round_end(job);
    return code;
}

/* ---- the updates and their keys ------------------------------------------------------------- */

static struct key_change *find_or_add_change(struct write_job *job, struct ethos_edit *edit)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->changes[i].key, edit->key) == 0)
            return &job->changes[i];
    }
    struct files_location *location = &job->locations[job->count];
    struct key_change *change = &job->changes[job->count++];
    location->dir = location->lock = -1;
    change->key = edit->key;
    change->location = location;
    change->file = &edit->old;
    return change;
}

static int init_job(struct write_job *job, struct ethos_edit_call *const *calls, size_t count,
                    struct ethos_error *error)
{
    size_t edits = 0;
    for (size_t i = 0; i < count; i++)
        edits += calls[i]->count;
    job->calls = calloc(count, sizeof *job->calls);
    job->steps = calloc(edits, sizeof *job->steps);
    job->changes = calloc(edits, sizeof *job->changes);
    job->locations = calloc(edits, sizeof *job->locations);
    if (!job->calls || !job->steps || !job->changes || !job->locations)
        return err_nomem(error);
    struct edit_step *step = job->steps;
    for (size_t i = 0; i < count; i++) {
        job->calls[i] = (struct update_call){.asked = calls[i], .steps = step};
        for (size_t k = 0; k < calls[i]->count; k++, step++)
            step->change = find_or_add_change(job, &calls[i]->edits[k]);
    }
    job->call_count = count;
    return ETHOS_OK;
}

/*
 * Runs updates in one write; false when it failed before anything was recorded, which may be due
 * to one of them.
 */
static bool update_together(struct files *self, const char *scope,
                            struct ethos_edit_call *const *calls, size_t count)
{
    struct write_job job = {.self = self, .scope = scope};
    struct ethos_error error = {0};
    arena_init(&job.tries);
    int code = files_scope_path(scope, job.lock.path, &error);
    if (code == ETHOS_OK)
        code = init_job(&job, calls, count, &error);
    if (code == ETHOS_OK)
        code = FILES_RETRY;
    for (int i = 0; code == FILES_RETRY && i < ROUNDS; i++)
        code = write_once(&job, &error);
    if (code == FILES_RETRY)
        code = files_errno(self, EAGAIN, job.lock.path, &error);
    if (code != ETHOS_OK) {
        // What was refused before anything changed keeps its answer; every later update fails.
        bool failed = !job.recorded;
        for (size_t i = 0; i < count; i++) {
            failed = failed || job.calls[i].changes;
            if (!failed)
                continue;
            calls[i]->code = code;
            if (calls[i]->error)
                *calls[i]->error = error;
        }
    }
    bool sure = code == ETHOS_OK || code == ETHOS_BUSY || job.recorded;
    arena_release(&job.tries);
    free(job.calls);
    free(job.steps);
    free(job.changes);
    free(job.locations);
    return sure;
}

static void update_or_split(struct files *self, const char *scope,
                            struct ethos_edit_call *const *calls, size_t count)
{
    if (update_together(self, scope, calls, count) || count == 1)
        return;
    update_or_split(self, scope, calls, count / 2);
    update_or_split(self, scope, calls + count / 2, count - count / 2);
}

static int check_call(const struct ethos_edit_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        if (files_is_history(call->edits[i].key))
            return err_set(call->error, ETHOS_DENIED, "reserved memory key: %s",
                           call->edits[i].key);
    }
    return edit_check_keys(call->edits, call->count, call->error);
}

void files_update_batch(struct ethos_store *store, const char *scope, struct ethos_edit_call *calls,
                        size_t count)
{
    struct ethos_edit_call *single, **sound = &single;
    size_t left = 0;
    if (count > 1 && !(sound = calloc(count, sizeof(struct ethos_edit_call *)))) {
        for (size_t i = 0; i < count; i++)
            calls[i].code = err_nomem(calls[i].error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        calls[i].code = check_call(&calls[i]);
        if (calls[i].code == ETHOS_OK && calls[i].count > 0)
            sound[left++] = &calls[i];
    }
    if (left > 0)
        update_or_split((struct files *)store, scope, sound, left);
    if (sound != &single)
        free(sound);
}

int files_update_scope(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error)
{
    struct ethos_edit_call call = {
        .edits = edits, .count = count, .edit = edit, .arg = arg, .origin = origin, .error = error};
    files_update_batch(store, scope, &call, 1);
    return call.code;
}
