/*
 * files_write.c: update: the write protocol of one scope's directory.
 *
 *     for each round:
 *         files_hold_open         open the directory, take its lock
 *         files_journal_open      the end of its history
 *         files_recover           what a dead writer left is finished or taken back
 *         load_all                read the texts
 *         judge_all               what was changed outside is recorded; where that asks for another
 *                                 text, this round writes it and the next one goes on
 *         files_journal_recall    was this operation done before? then that is the answer
 *         edit_ask                the callback
 *         job_allow_all           refuse what must not be replaced
 *         job_carry_out           drafts, history, swap, inspection, sync (files_publish.c)
 *
 * Dropping a key that is a symbolic link is refused, because it is not clear whether the link or the
 * text is meant.
 */
#include "store/files_job.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "core/verdict.h"
#include "store/edit.h"
#include "store/opid.h"

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
                           change->last.hash, ETHOS_READ_REVISION, &change->edit->old,
                           &change->seen, &busy, error);
}

/* Some editors take a file away for a moment while they save it. */
static int load(struct job *job, struct change *change, struct ethos_error *error)
{
    int code = files_journal_last(&job->journal, change->edit->key, &change->last, error);
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
    if (code != ETHOS_NOTFOUND)
        return code;
    edit_absent(job->self->host, change->edit);
    return ETHOS_OK;
}

static int open_spots(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        files_spot_close(&job->hold, &job->spots[i]);
        code = files_spot_open(job->self, &job->hold, job->scope, job->edits[i].key, job->spots, i,
                               &job->spots[i], error);
    }
    return code;
}

static int load_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct change *change = &job->changes[i];
        change->puts = change->drops = change->in_place = change->watched = false;
        code = load(job, change, error);
    }
    return code;
}

/* ---- records -------------------------------------------------------------------------------- */

static const char *actions_of(const struct change *change)
{
    return change->edit->actions ? change->edit->actions : change->drops ? "delete" : "replace";
}

static int make_record(struct job *job, const struct change *change, struct history_record *out,
                       struct ethos_error *error)
{
    static const struct ethos_origin nobody;
    const struct ethos_origin *origin = job->origin ? job->origin : &nobody;
    const struct ethos_text *old = &change->edit->old;
    *out = (struct history_record){
        .scope = view_str(job->scope),
        .key = view_str(change->edit->key),
        .actions = view_str(actions_of(change)),
        .source = view_str(origin->source ? origin->source : "tool"),
        .session = view_str(origin->session),
        .session_key = view_str(origin->session_key),
        .op_id = view_str(origin->op_digest ? origin->op_id : NULL),
        .user = view_str(origin->user),
        .via = view_str(origin->via),
        .undoes = view_str(origin->undoes),
        .actor = view_str(origin->actor),
    };
    if (old->data)
        out->before_hash = view_str(old->revision);
    if (change->puts)
        out->after_hash = view_str(change->edit->revision);
    struct ethos_view before = view_of(old->data, old->size);
    return files_describe(job->self, &job->hold, &change->last, before,
                          change->drops ? (struct ethos_view){0} : change->text, &job->arena, out,
                          error);
}

/* The last line carries the record by which a repeat is known and answered. */
static int add_op(struct job *job, struct history_record *last, struct ethos_error *error)
{
    struct str op;
    if (!opid_given(job->origin))
        return ETHOS_OK;
    str_init(&op, ETHOS_MAX_STORE_BYTES);
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = opid_record(job->origin, now_ms, job->edits, job->count, &op, error);
    if (code == ETHOS_OK) {
        last->op = view_str(arena_copy(&job->arena, str_view(&op)));
        if (!last->op.data)
            code = err_nomem(error);
    }
    str_release(&op);
    return code;
}

static int make_records(struct job *job, struct history_record **out, size_t *out_count,
                        struct ethos_error *error)
{
    size_t count = 0;
    struct history_record *records = arena_array(&job->arena, job->count, sizeof *records);
    if (!records)
        return err_nomem(error);
    for (size_t i = 0; i < job->count; i++) {
        if (!job_changes(&job->changes[i]))
            continue;
        int code = make_record(job, &job->changes[i], &records[count++], error);
        if (code != ETHOS_OK)
            return code;
    }
    *out = records;
    *out_count = count;
    return add_op(job, &records[count - 1], error);
}

/* ---- what was changed outside --------------------------------------------------------------- */

static int start_txn(struct job *job, struct ethos_error *error)
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
    return change->exists ? last->absent || strcmp(change->edit->old.revision, last->hash) != 0
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
    const struct ethos_text *old = &change->edit->old;
    str_init(&verdict.text, ETHOS_MAX_STORE_BYTES);
    int code = files_judge(job->self, &job->hold, &job->journal, job->scope, change->edit->key,
                           view_of(old->data, old->size), &change->seen, &job->arena, &verdict,
                           error);
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
    code = start_txn(job, error);
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
        code = files_journal_last(&job->journal, job->edits[i].key, &job->changes[i].last, error);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void begin_round(struct job *job)
{
    files_journal_init(&job->journal);
    arena_init(&job->arena);
    job->journaled = job->written = false;
}

static void end_round(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        files_spot_close(&job->hold, &job->spots[i]);
    files_journal_close(&job->hold, &job->journal);
    files_hold_close(job->self, &job->hold, !job->written);
    arena_release(&job->arena);
}

/* Under the lock: everything that comes before the question. */
static int settle(struct job *job, struct ethos_error *error)
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
static int ask_lightly(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = open_spots(job, error);
    if (code == ETHOS_OK)
        code = load_all(job, error);
    if (code == ETHOS_OK)
        code = edit_ask(job->edits, job->count, edit, arg, error);
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

static int lock(struct job *job, ethos_edit_fn *edit, void *arg, bool *out_asked,
                struct ethos_error *error)
{
    int code = files_hold_open(job->self, &job->hold, error);
    *out_asked = false;
    if (code != ETHOS_OK || job->hold.lock >= 0)
        return code;
    if (!has_history(job)) {
        code = ask_lightly(job, edit, arg, error);
        *out_asked = code != ETHOS_OK || !edit_any_changes(job->edits, job->count);
        if (*out_asked)
            return code;
    }
    return files_hold_make(job->self, &job->hold, error);
}

/* What is answered must be durable, also where this call had nothing left to do. */
static int sync_answer(struct job *job, struct ethos_error *error)
{
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = files_journal_sync(job->self, &job->hold, &job->journal, error);
    for (size_t i = 0; code == ETHOS_OK && job->self->durable && i < job->count; i++) {
        const struct change *change = &job->changes[i];
        bool recent = change->exists &&
                      now_ms - (int64_t)change->seen.st_ctim.tv_sec * 1000 < RECENT_MS;
        bool repeated = change->edit->verdict == ETHOS_EDIT_REPEATED;
        if ((recent || repeated) && change->last.any && os_fsync(change->spot->dir) != 0)
            code = fail(job, change, error);
    }
    return code;
}

/*
 * Remembers what was recorded and taken back. Without memory for it, an editor that saved a copy of
 * the short-lived text may have an entry doubled.
 */
static void note_try(struct job *job, struct change *change, const struct history_record *record)
{
    const struct ethos_text *old = &change->edit->old;
    struct ethos_view before = view_of(old->data, old->size);
    struct history_record whole = *record;
    if (history_mend(before, change->text, &job->tries, &whole) != ETHOS_OK)
        return;
    char *diff = arena_copy(&job->tries, whole.diff);
    char *actions = diff ? arena_copy(&job->tries, whole.actions) : NULL;
    if (!actions)
        return;
    change->tried = (struct history_record){.diff = view_of(diff, whole.diff.size),
                                            .actions = view_str(actions)};
    change->tried_before = verdict_count(&change->tried, before, &job->tries);
}

static void note_tries(struct job *job, const struct history_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < job->count; k++) {
            if (view_eq_str(records[i].key, job->changes[k].edit->key))
                note_try(job, &job->changes[k], &records[i]);
        }
    }
}

/* An add that an earlier round took back may stand in the text all the same: somebody saved a copy. */
static void drop_applied(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        const struct ethos_text *old = &change->edit->old;
        if (change->tried.diff.data && change->edit->verdict == ETHOS_EDIT_PUT &&
            verdict_count(&change->tried, view_of(old->data, old->size), &job->arena) >
                change->tried_before)
            change->edit->verdict = ETHOS_EDIT_KEEP;
    }
}

static int do_verdicts(struct job *job, struct ethos_error *error)
{
    struct history_record *records = NULL;
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        bool changes = edit_changes(change->edit);
        change->puts = changes && change->edit->verdict == ETHOS_EDIT_PUT;
        change->drops = changes && change->edit->verdict == ETHOS_EDIT_DROP;
        change->text = change->edit->text;
    }
    int code = job_allow_all(job, error);
    if (code == ETHOS_OK)
        code = start_txn(job, error);
    if (code == ETHOS_OK)
        code = make_records(job, &records, &count, error);
    if (code == ETHOS_OK)
        code = job_carry_out(job, records, count, error);
    if (code == FILES_MOVED && job->journaled)
        note_tries(job, records, count);
    return code;
}

static int answer(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = settle(job, error);
    if (code == ETHOS_OK)
        code = files_journal_recall(job->self, &job->hold, &job->journal, job->origin, job->edits,
                                    job->count, error);
    if (code == ETHOS_NOTFOUND)
        code = edit_ask(job->edits, job->count, edit, arg, error);
    if (code != ETHOS_OK)
        return code;
    drop_applied(job);
    edit_finish(job->edits, job->count);
    return edit_any_changes(job->edits, job->count) ? do_verdicts(job, error)
                                                    : sync_answer(job, error);
}

static int round_trip(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    bool asked;
    begin_round(job);
    int code = lock(job, edit, arg, &asked, error);
    if (code == ETHOS_OK && asked)
        edit_finish(job->edits, job->count);
    else if (code == ETHOS_OK)
        code = answer(job, edit, arg, error);
    end_round(job);
    return code;
}

static int make_changes(struct job *job, struct ethos_error *error)
{
    job->changes = calloc(job->count, sizeof *job->changes);
    job->spots = calloc(job->count, sizeof *job->spots);
    if (!job->changes || !job->spots)
        return err_nomem(error);
    for (size_t i = 0; i < job->count; i++) {
        const char *key = job->edits[i].key;
        if (files_is_history(key))
            return err_set(error, ETHOS_DENIED, "reserved memory key: %s", key);
        job->spots[i].dir = job->spots[i].lock = -1;
        job->changes[i].edit = &job->edits[i];
        job->changes[i].spot = &job->spots[i];
    }
    return ETHOS_OK;
}

int files_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error)
{
    struct job job = {.self = (struct files *)store,
                      .scope = scope,
                      .edits = edits,
                      .count = count,
                      .origin = origin};
    int code = files_scope_path(scope, job.hold.path, error);
    if (code == ETHOS_OK)
        code = edit_check(edits, count, error);
    if (code != ETHOS_OK || count == 0)
        return code;
    arena_init(&job.tries);
    code = make_changes(&job, error);
    if (code == ETHOS_OK)
        code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < ROUNDS; i++)
        code = round_trip(&job, edit, arg, error);
    if (code == FILES_MOVED)
        code = files_errno(job.self, EAGAIN, job.hold.path, error);
    arena_release(&job.tries);
    free(job.changes);
    free(job.spots);
    return code;
}
