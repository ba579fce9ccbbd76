/*
 * write.c: update and batch: the write protocol of one scope's directory.
 *
 *     for each round:
 *         files_hold_open         open the directory, take its lock
 *         files_journal_open      the end of its history
 *         files_recover           what a dead writer left is finished or taken back
 *         load_all                read the texts
 *         judge_all               what was changed outside is recorded; where that asks for another
 *                                 text, this round writes it and the next one goes on
 *         job_ask_all             each update in turn: was it done before? else its callback
 *         job_allow_all           refuse what must not be replaced
 *         job_carry_out           drafts, history, swap, inspection, sync (publish.c)
 *
 * Several updates share one such write; an update is one of one. What fails before anything was
 * recorded may be the fault of one of them: then each half is tried by itself.
 *
 * Dropping a key that is a symbolic link is refused, because it is not clear whether the link or the
 * text is meant.
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

static int fail(const struct job *job, const struct change *change, struct ethos_error *error)
{
    return files_fail(job->self, errno, change->spot->path, error);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_once(struct job *job, struct change *change, struct ethos_error *error)
{
    bool busy;
    if (job->hold.dir < 0)
        return ETHOS_NOTFOUND;
    return files_spot_read(job->self, change->spot->path, change->spot->dir, change->spot->name,
                           change->last.hash, ETHOS_READ_REVISION, change->file, &change->seen,
                           &busy, error);
}

/* Some editors take a file away for a moment while they save it. */
static int load(struct job *job, struct change *change, struct ethos_error *error)
{
    int code = files_journal_last(&job->journal, change->key, &change->last, error);
    if (code != ETHOS_OK)
        return code;
    code = read_once(job, change, error);
    bool expected = change->last.any && !change->last.absent;
    for (int i = 0;
         code == ETHOS_NOTFOUND && expected && i < FILES_ABSENT_MS / FILES_ABSENT_STEP_MS; i++) {
        os_sleep_ms(FILES_ABSENT_STEP_MS);
        code = read_once(job, change, error);
    }
    change->exists = code == ETHOS_OK;
    if (code == ETHOS_NOTFOUND)
        edit_absent(job->self->host, change->file);
    change->text = job_file_text(change);
    change->revision = change->file->revision;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int open_spots(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        files_spot_close(&job->hold, &job->spots[i]);
        code = files_spot_open(job->self, &job->hold, job->scope, job->changes[i].key, job->spots,
                               i, &job->spots[i], error);
    }
    return code;
}

static int load_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct change *change = &job->changes[i];
        change->puts = change->drops = change->in_place = change->watched = false;
        change->answers = false;
        code = load(job, change, error);
    }
    return code;
}

/* ---- what was changed outside --------------------------------------------------------------- */

int job_name_txn(struct job *job, struct ethos_error *error)
{
    job->journaled = job->inspected = false;
    return files_txn_name(job->txn) == 0 ? ETHOS_OK
                                         : files_fail(job->self, errno, job->hold.path, error);
}

static bool is_outside(const struct change *change)
{
    const struct history_last *last = &change->last;
    if (!last->any)
        return false;
    return change->exists ? last->absent || strcmp(change->file->revision, last->hash) != 0
                          : !last->absent;
}

/* All that the verdicts ask for, in order. */
struct sentence {
    struct history_record *records;
    size_t count;
    bool rewrites;
};

static int add_verdict(struct job *job, struct sentence *all, const struct files_verdict *verdict,
                       struct ethos_error *error)
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

/* The file is to get a text that entries come back with; where it must not be replaced, they do not. */
static int plan_rewrite(struct job *job, struct change *change, struct files_verdict *verdict,
                        struct ethos_error *error)
{
    change->puts = true;
    change->text = view_of(arena_copy(&job->arena, str_view(&verdict->text)), verdict->text.size);
    if (!change->text.data)
        return err_nomem(error);
    if (job_allow(job, change, NULL) == ETHOS_OK)
        return ETHOS_OK;
    change->puts = verdict->rewrites = false;
    verdict->count = 1;
    verdict->records[0].event = VIEW("dropped");
    return ETHOS_OK;
}

static int judge(struct job *job, struct change *change, struct sentence *all,
                 struct ethos_error *error)
{
    struct files_verdict verdict = {0};
    str_init(&verdict.text, ETHOS_MAX_STORE_BYTES);
    int code = files_judge(job->self, &job->hold, &job->journal, job->scope, change->key,
                           job_file_text(change), &change->seen, &job->arena, &verdict, error);
    if (code == ETHOS_OK && verdict.rewrites)
        code = plan_rewrite(job, change, &verdict, error);
    if (code == ETHOS_OK)
        code = add_verdict(job, all, &verdict, error);
    str_release(&verdict.text);
    return code;
}

/* Records what was changed outside. FILES_MOVED when that changed a text: begin again. */
static int judge_all(struct job *job, struct ethos_error *error)
{
    struct sentence all = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (is_outside(&job->changes[i]))
            code = judge(job, &job->changes[i], &all, error);
    }
    if (code != ETHOS_OK || all.count == 0)
        return code;
    code = job_name_txn(job, error);
    if (code == ETHOS_OK && all.rewrites)
        code = job_check_writable(job, error);
    if (code == ETHOS_OK && all.rewrites) {
        code = job_carry_out(job, all.records, all.count, error);
        return code == ETHOS_OK ? FILES_MOVED : code;
    }
    if (code == ETHOS_OK)
        code = files_journal_append(job->self, &job->hold, &job->journal, job->txn, all.records,
                                    all.count, false, error);
    if (code != ETHOS_OK)
        return code;
    job->written = true;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = files_journal_last(&job->journal, job->changes[i].key, &job->changes[i].last, error);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

void job_begin(struct job *job)
{
    files_journal_init(&job->journal);
    arena_init(&job->arena);
    job->journaled = job->written = false;
}

void job_end(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        files_spot_close(&job->hold, &job->spots[i]);
    files_journal_close(&job->hold, &job->journal);
    files_hold_close(job->self, &job->hold, !job->written);
    arena_release(&job->arena);
}

int job_settle(struct job *job, struct ethos_error *error)
{
    int code = files_journal_open(job->self, &job->hold, &job->journal, error);
    if (code == ETHOS_OK)
        code = open_spots(job, error);
    if (code == ETHOS_OK)
        code = files_recover(job->self, &job->hold, &job->journal, job->scope, job->spots,
                             job->count, "", error);
    if (code == ETHOS_OK && job->hold.pruned)
        code = open_spots(job, error); // directories went
    if (code == ETHOS_OK)
        code = load_all(job, error);
    return code == ETHOS_OK ? judge_all(job, error) : code;
}

/* Where nothing was ever written, the question is asked without a lock first: "nothing to do" must not make a directory. */
static int ask_lightly(struct job *job, struct ethos_error *error)
{
    int code = open_spots(job, error);
    if (code == ETHOS_OK)
        code = load_all(job, error);
    if (code == ETHOS_OK)
        job_ask_all(job);
    for (size_t i = 0; i < job->count; i++)
        files_spot_close(&job->hold, &job->spots[i]);
    files_tree_close(&job->hold); // under the lock they are looked for again
    return code;
}

static bool has_history(const struct job *job)
{
    struct stat st;
    return job->hold.dir >= 0 && os_fstatat(job->hold.dir, FILES_HISTORY, &st, 0) == 0;
}

static int lock(struct job *job, bool *out_asked, struct ethos_error *error)
{
    int code = files_hold_open(job->self, &job->hold, error);
    *out_asked = false;
    if (code != ETHOS_OK || job->hold.lock >= 0)
        return code;
    if (!has_history(job)) {
        code = ask_lightly(job, error);
        *out_asked = code != ETHOS_OK || !job_any_changes(job);
        if (*out_asked)
            return code;
    }
    return files_hold_make(job->self, &job->hold, error);
}

static bool any_answers(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        if (job->changes[i].answers)
            return true;
    }
    return false;
}

/* Whether the write that follows syncs this directory. */
static bool will_sync(const struct job *job, int dir)
{
    for (size_t i = 0; i < job->count; i++) {
        if (job_changes(&job->changes[i]) && job->changes[i].spot->dir == dir)
            return true;
    }
    return false;
}

/* Whether an update that was done before is answered by this key. */
static bool is_repeated(const struct job *job, const struct change *change)
{
    for (size_t i = 0; i < job->call_count; i++) {
        const struct call *call = &job->calls[i];
        for (size_t k = 0; k < call->asked->count; k++) {
            if (call->steps[k].change == change &&
                call->asked->edits[k].verdict == ETHOS_EDIT_REPEATED)
                return true;
        }
    }
    return false;
}

/* What is answered must be durable, also where there is nothing left to do. */
static int sync_answers(struct job *job, struct ethos_error *error)
{
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = ETHOS_OK;
    if (any_answers(job) && !job_any_changes(job))
        code = files_journal_sync(job->self, &job->hold, &job->journal, error);
    for (size_t i = 0; code == ETHOS_OK && job->self->durable && i < job->count; i++) {
        const struct change *change = &job->changes[i];
        if (!change->answers || !change->last.any || will_sync(job, change->spot->dir))
            continue;
        bool recent = change->exists &&
                      now_ms - (int64_t)change->seen.st_ctim.tv_sec * 1000 < RECENT_MS;
        if ((recent || is_repeated(job, change)) && os_fsync(change->spot->dir) != 0)
            code = fail(job, change, error);
    }
    return code;
}

static int write_changes(struct job *job, struct ethos_error *error)
{
    struct history_record *records = NULL;
    size_t count = 0;
    int code = job_allow_all(job, error);
    if (code == ETHOS_OK)
        code = job_name_txn(job, error);
    if (code == ETHOS_OK)
        code = job_make_records(job, &records, &count, error);
    if (code == ETHOS_OK)
        code = job_carry_out(job, records, count, error);
    if (!job->journaled)
        return code;
    job->recorded = true;
    if (code == FILES_MOVED)
        job_note_tries(job, records);
    return code;
}

static int answer(struct job *job, struct ethos_error *error)
{
    int code = job_settle(job, error);
    if (code != ETHOS_OK)
        return code;
    job_ask_all(job);
    code = sync_answers(job, error);
    return code == ETHOS_OK && job_any_changes(job) ? write_changes(job, error) : code;
}

static int round_trip(struct job *job, struct ethos_error *error)
{
    bool asked;
    job_begin(job);
    int code = lock(job, &asked, error);
    if (code == ETHOS_OK && !asked)
        code = answer(job, error);
    job_end(job);
    return code;
}

/* ---- the updates and their keys ------------------------------------------------------------- */

static struct change *find_change(struct job *job, struct ethos_edit *edit)
{
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->changes[i].key, edit->key) == 0)
            return &job->changes[i];
    }
    struct files_spot *spot = &job->spots[job->count];
    struct change *change = &job->changes[job->count++];
    spot->dir = spot->lock = -1;
    change->key = edit->key;
    change->spot = spot;
    change->file = &edit->old;
    return change;
}

static int make_job(struct job *job, struct ethos_edit_call *const *calls, size_t count,
                    struct ethos_error *error)
{
    size_t edits = 0;
    for (size_t i = 0; i < count; i++)
        edits += calls[i]->count;
    job->calls = calloc(count, sizeof *job->calls);
    job->steps = calloc(edits, sizeof *job->steps);
    job->changes = calloc(edits, sizeof *job->changes);
    job->spots = calloc(edits, sizeof *job->spots);
    if (!job->calls || !job->steps || !job->changes || !job->spots)
        return err_nomem(error);
    struct step *step = job->steps;
    for (size_t i = 0; i < count; i++) {
        job->calls[i] = (struct call){.asked = calls[i], .steps = step};
        for (size_t k = 0; k < calls[i]->count; k++, step++)
            step->change = find_change(job, &calls[i]->edits[k]);
    }
    job->call_count = count;
    return ETHOS_OK;
}

static void free_job(struct job *job)
{
    arena_release(&job->tries);
    free(job->calls);
    free(job->steps);
    free(job->changes);
    free(job->spots);
}

/* What was refused before anything changed stays so; whoever changed something, or came after, failed. */
static void fail_all(const struct job *job, struct ethos_edit_call *const *calls, size_t count,
                     int code, const struct ethos_error *error)
{
    bool failed = !job->recorded;
    for (size_t i = 0; i < count; i++) {
        failed = failed || job->calls[i].changes;
        if (!failed)
            continue;
        calls[i]->code = code;
        if (calls[i]->error)
            *calls[i]->error = *error;
    }
}

/* Does updates in one write; false when it failed before anything was recorded, maybe due to one of them. */
static bool share(struct files *self, const char *scope, struct ethos_edit_call *const *calls,
                  size_t count)
{
    struct job job = {.self = self, .scope = scope};
    struct ethos_error error = {0};
    arena_init(&job.tries);
    int code = files_scope_path(scope, job.hold.path, &error);
    if (code == ETHOS_OK)
        code = make_job(&job, calls, count, &error);
    if (code == ETHOS_OK)
        code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < ROUNDS; i++)
        code = round_trip(&job, &error);
    if (code == FILES_MOVED)
        code = files_errno(self, EAGAIN, job.hold.path, &error);
    if (code != ETHOS_OK)
        fail_all(&job, calls, count, code, &error);
    bool sure = code == ETHOS_OK || code == ETHOS_BUSY || job.recorded;
    free_job(&job);
    return sure;
}

static void share_or_part(struct files *self, const char *scope,
                          struct ethos_edit_call *const *calls, size_t count)
{
    if (share(self, scope, calls, count) || count == 1)
        return;
    share_or_part(self, scope, calls, count / 2);
    share_or_part(self, scope, calls + count / 2, count - count / 2);
}

static int check_call(const struct ethos_edit_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        if (files_is_history(call->edits[i].key))
            return err_set(call->error, ETHOS_DENIED, "reserved memory key: %s",
                           call->edits[i].key);
    }
    return edit_check(call->edits, call->count, call->error);
}

void files_batch(struct ethos_store *store, const char *scope, struct ethos_edit_call *calls,
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
        share_or_part((struct files *)store, scope, sound, left);
    if (sound != &single)
        free(sound);
}

int files_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error)
{
    struct ethos_edit_call call = {
        .edits = edits, .count = count, .edit = edit, .arg = arg, .origin = origin, .error = error};
    files_batch(store, scope, &call, 1);
    return call.code;
}
