/*
 * over_store.c: makes a provider of any store, by applying the rules of core.
 *
 * prefetch is in over_store_prefetch.c. sync groups its updates by scope; each scope is one update
 * of the store, whose callback applies core's rules to the old texts:
 *
 *     sync -> for each scope: sync_scope -> store update -> edit_scope (pure) -> outcomes
 *
 * Text beyond the size limit moves to the archive. The archive is read only if needed: the callback
 * finds out, and the update is repeated with the archive as its first key.
 *
 * An operation that the store has executed before (ETHOS_EDIT_REPEATED) is reported from its
 * receipts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "memory/provider/idempotency.h"
#include "memory/provider/missing_slots.h"
#include "memory/provider/over_store.h"
#include "memory/provider/registry.h"
#include "store/store.h"

#define ARCHIVE_KEY "memory-archive.md"
#define PATH_LIMIT 4096 /* bytes */

/* ---- sync: one key ------------------------------------------------------------------------- */

/* One key of one scope during a sync. */
struct job {
    const char *key;
    struct ethos_update *updates; /* updates of this key, in order */
    size_t count;
    const char *actions; /* their names, separated by commas */
    struct str text;     /* after the updates, within the size limit */
    struct str dropped;  /* what was cut */
    struct update_effect effect;
    bool conflict;
};

/* One scope during a sync; the callback's argument. */
struct scope_sync {
    const char *scope;
    struct ethos_origin origin;
    char digest[HASH_HEX_SIZE];
    struct job *jobs;
    size_t count;
    struct ethos_text
        profile; /* the old profile that a first user write starts from; data NULL: none */
    struct str archive;
    char iso[CLOCK_ISO_SIZE];
    bool has_archive;   /* edits[0] is the archive */
    bool needs_archive; /* the callback needs the archive */
};

/* Whether the write of this key starts from the person's old profile. */
static bool starts_from_old_profile(const struct scope_sync *sync, const struct job *job,
                                    const struct ethos_text *old)
{
    return !old->data && sync->profile.data && strcmp(job->key, PROFILE_KEY) == 0;
}

static int check_revisions(const struct scope_sync *sync, struct job *job,
                           const struct ethos_text *old, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        const char *wanted = job->updates[i].if_match;
        const char *actual = old->data ? old->revision : "absent";
        if (!wanted || strcmp(wanted, actual) == 0)
            continue;
        if (starts_from_old_profile(sync, job, old) && strcmp(wanted, sync->profile.revision) == 0)
            continue;
        job->conflict = true;
        return update_moved(job->key, actual, error);
    }
    return ETHOS_OK;
}

/*
 * MEMORY.md of a workspace is an index: cutting its head would lose notes. Nor is a file of a tree
 * cut, whose format is unknown.
 */
static bool must_stay_whole(const char *scope, const char *key)
{
    return scope_is_tree(scope) ||
           (strncmp(scope, "workspace:", 10) == 0 && strcmp(key, LOG_KEY) == 0);
}

/* A text that is already too large may become smaller. */
static int check_whole(const char *scope, const char *key, size_t size, size_t before,
                       struct ethos_error *error)
{
    bool tree = scope_is_tree(scope);
    size_t most = tree ? ETHOS_MAX_TREE_BYTES : ETHOS_MAX_READ_BYTES;
    return size <= most || size < before
               ? ETHOS_OK
               : err_set(error, ETHOS_LIMIT, "%s: %s would exceed %zu bytes", key,
                         tree ? "it" : "the index", most);
}

/* Cuts text to the size limit and keeps what was cut. */
static int apply_ceiling(const struct scope_sync *sync, struct job *job, size_t before,
                         struct ethos_error *error)
{
    if (must_stay_whole(sync->scope, job->key))
        return check_whole(sync->scope, job->key, job->text.size, before, error);
    size_t keep = update_ceiling(str_view(&job->text));
    if (keep == 0)
        return ETHOS_OK;
    str_add(&job->dropped, view_of(job->text.data, keep));
    if (str_code(&job->dropped) != ETHOS_OK)
        return err_nomem(error);
    memmove(job->text.data, job->text.data + keep, job->text.size - keep);
    return str_truncate(&job->text, job->text.size - keep);
}

/* The person's own file was absent and stays so; the older one is not ours to delete. */
static void leave_profile(struct job *job)
{
    if (job->effect.changed)
        job->effect.warning = "the profile comes from an older file, which is not changed";
    job->effect.changed = job->effect.present = false;
    job->effect.applied = 0;
    str_clear(&job->text);
}

/* The action in the history: restoring an older text is "restore", whatever the update. */
static const char *history_actions(const struct ethos_origin *origin, const char *actions)
{
    bool restores = origin && origin->source && strcmp(origin->source, "restore") == 0;
    return restores ? "restore" : actions;
}

/* Removing text is allowed whatever the size: nothing else makes a file smaller. */
static bool only_removes(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->updates[i].action != ETHOS_ACTION_REMOVE &&
            job->updates[i].action != ETHOS_ACTION_DELETE)
            return false;
    return true;
}

static int edit_key(struct scope_sync *sync, struct job *job, struct ethos_edit *edit,
                    struct ethos_error *error)
{
    bool migrating = starts_from_old_profile(sync, job, &edit->old);
    const struct ethos_text *before = migrating ? &sync->profile : &edit->old;
    struct ethos_view old = view_of(before->data, before->size);
    int code = check_revisions(sync, job, &edit->old, error);
    if (code != ETHOS_OK)
        return code;
    if (old.size > ETHOS_MAX_READ_BYTES && !only_removes(job)) {
        code = err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes", job->key,
                       ETHOS_MAX_READ_BYTES);
        return err_hint(error, code, "shorten it in an editor first");
    }
    str_clear(&job->text);
    str_clear(&job->dropped);
    code = update_apply(job->updates, job->count, old, &job->text, &job->effect);
    if (code != ETHOS_OK)
        return err_set(error, code, "%s: the resulting text is too large", job->key);
    if (migrating && !(job->effect.changed && job->effect.present))
        leave_profile(job);
    if (job->effect.changed && job->effect.present)
        code = apply_ceiling(sync, job, old.size, error);
    if (code != ETHOS_OK)
        return code;
    edit->verdict = !job->effect.changed  ? ETHOS_EDIT_KEEP
                    : job->effect.present ? ETHOS_EDIT_PUT
                                          : ETHOS_EDIT_DROP;
    edit->text = str_view(&job->text);
    edit->actions = history_actions(&sync->origin, job->actions);
    if (sync->origin.op_digest)
        once_receipt(&job->effect, utf8_units(edit->text), edit->receipt);
    return ETHOS_OK;
}

/* ---- sync: one scope ----------------------------------------------------------------------- */

static int edit_archive(struct scope_sync *sync, struct ethos_edit *edit, struct ethos_error *error)
{
    str_clear(&sync->archive);
    str_add(&sync->archive, view_of(edit->old.data, edit->old.size));
    for (size_t i = 0; i < sync->count; i++) {
        const struct job *job = &sync->jobs[i];
        if (job->dropped.size > 0)
            update_archive(str_view(&job->dropped), job->key, sync->iso, &sync->archive);
    }
    if (str_code(&sync->archive) != ETHOS_OK)
        return err_set(error, str_code(&sync->archive), "%s: too large", ARCHIVE_KEY);
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = str_view(&sync->archive);
    edit->actions = "add";
    return ETHOS_OK;
}

/* The pure function that a store calls: old texts in, verdicts out. */
static int edit_scope(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct scope_sync *sync = arg;
    struct ethos_edit *of_jobs = edits + (sync->has_archive ? 1 : 0);
    bool overflow = false;
    (void)count;
    for (size_t i = 0; i < sync->count; i++) {
        int code = edit_key(sync, &sync->jobs[i], &of_jobs[i], error);
        if (code != ETHOS_OK)
            return code;
        overflow = overflow || sync->jobs[i].dropped.size > 0;
    }
    if (sync->has_archive && overflow)
        return edit_archive(sync, &edits[0], error);
    sync->needs_archive = overflow;
    return overflow ? ETHOS_LIMIT : ETHOS_OK;
}

/* Runs the callback without a store behind it, for a dry run. */
static int dry_run_sync(struct over_store *self, const char *scope, struct ethos_edit *edits,
                        size_t count, struct scope_sync *sync, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    for (size_t i = 0; i < count; i++) {
        int code = self->store->ops->read(self->store, scope, edits[i].key, &whole, &edits[i].old,
                                          error);
        if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
            return code;
        if (code == ETHOS_NOTFOUND)
            over_free_text(self->host, &edits[i].old);
        memcpy(edits[i].revision, edits[i].old.revision, sizeof edits[i].revision);
    }
    int code = edit_scope(sync, edits, count, error);
    for (size_t i = 0; i < count; i++)
        if (edits[i].verdict != ETHOS_EDIT_KEEP)
            edits[i].revision[0] = 0; // only the store knows the new revision
    return code;
}

/* The key's current revision: the new one, or that of the unchanged text. */
static const char *revision_now(const struct ethos_edit *edit, int code)
{
    const char *revision = code == ETHOS_OK ? edit->revision : edit->old.revision;
    return *revision ? revision : "absent";
}

/*
 * A warning about what was cut, and where it is, before that of the updates. "" if there is none.
 */
static void describe_archived(const struct over_store *self, const struct scope_sync *sync,
                              const struct job *job, bool dry, struct str *out)
{
    char path[PATH_LIMIT] = ARCHIVE_KEY;
    struct ethos_store *store = self->store;
    if (job->dropped.size > 0) {
        if (store->ops->locate)
            store->ops->locate(store, sync->scope, ARCHIVE_KEY, path, sizeof path, NULL);
        str_printf(out,
                   "%s holds %d characters at most: the first %llu (%zu bytes) %s to %s; "
                   "ethos memory search --archive looks there",
                   job->key, ETHOS_MAX_FILE_CH,
                   (unsigned long long)utf8_units(str_view(&job->dropped)), job->dropped.size,
                   dry ? "would go" : "went", path);
    }
    if (job->effect.warning)
        str_printf(out, "%s%s", out->size ? "; " : "", job->effect.warning);
}

/* Reports each key. ETHOS_NOMEM if a requested diff could not be made. */
static int report_jobs(const struct over_store *self, const struct scope_sync *sync,
                       const struct ethos_edit *edits, const struct ethos_sync_how *how, int code,
                       const struct ethos_error *error)
{
    const struct ethos_edit *of_jobs = edits + (sync->has_archive ? 1 : 0);
    int result = ETHOS_OK;
    for (size_t i = 0; how->each && i < sync->count; i++) {
        const struct job *job = &sync->jobs[i];
        if (code == ETHOS_CONFLICT && !job->conflict)
            continue;
        struct str diff, warning;
        bool repeated = code == ETHOS_OK && of_jobs[i].verdict == ETHOS_EDIT_REPEATED;
        struct ethos_view old = view_of(of_jobs[i].old.data, of_jobs[i].old.size);
        str_init(&diff, ETHOS_MAX_STORE_BYTES);
        str_init(&warning, SIZE_MAX);
        if (code == ETHOS_OK)
            describe_archived(self, sync, job, how->flags & ETHOS_SYNC_DRY_RUN, &warning);
        if (code == ETHOS_OK && !repeated && job->effect.changed && (how->flags & ETHOS_SYNC_DIFF))
            diff_unified(old, job->effect.present ? str_view(&job->text) : (struct ethos_view){0},
                         job->key, &diff);
        struct ethos_outcome outcome = {
            .kind = code == ETHOS_CONFLICT ? ETHOS_OUTCOME_CONFLICT
                    : code != ETHOS_OK     ? ETHOS_OUTCOME_FAILED
                    : job->effect.changed  ? ETHOS_OUTCOME_WRITTEN
                                           : ETHOS_OUTCOME_UNCHANGED,
            .scope = sync->scope,
            .key = job->key,
            .revision = revision_now(&of_jobs[i], code),
            .chars = utf8_units(code == ETHOS_OK ? str_view(&job->text) : old),
            .applied = code == ETHOS_OK ? job->effect.applied : 0,
            .removals = job->effect.removals,
            .matched = job->effect.matched,
            .warning = warning.size ? warning.data : job->effect.warning,
            .diff = diff.size ? diff.data : NULL,
            .error = code == ETHOS_OK ? NULL : error,
        };
        if (repeated)
            once_recall(of_jobs[i].receipt, &outcome);
        how->each(how->arg, &outcome);
        if (str_code(&diff) != ETHOS_OK)
            result = ETHOS_NOMEM;
        str_release(&diff);
        str_release(&warning);
    }
    return result;
}

/* Runs one update of the store (or a dry run) with or without the archive. */
static int run_scope(struct over_store *self, struct scope_sync *sync,
                     const struct ethos_sync_how *how, struct ethos_edit *edits,
                     struct ethos_error *error)
{
    size_t count = sync->count + (sync->has_archive ? 1 : 0);
    memset(edits, 0, count * sizeof *edits);
    if (sync->has_archive)
        edits[0].key = ARCHIVE_KEY;
    for (size_t i = 0; i < sync->count; i++)
        edits[i + (sync->has_archive ? 1 : 0)].key = sync->jobs[i].key;
    if (how->flags & ETHOS_SYNC_DRY_RUN)
        return dry_run_sync(self, sync->scope, edits, count, sync, error);
    return store_update(self->store, sync->scope, edits, count, edit_scope, sync, &sync->origin,
                        error);
}

static int sync_scope(struct over_store *self, struct scope_sync *sync,
                      const struct ethos_sync_how *how, struct arena *arena,
                      struct ethos_error *error)
{
    struct ethos_error local = {0};
    struct ethos_edit *edits = arena_array(arena, sync->count + 1, sizeof *edits);
    if (!edits)
        return err_nomem(error);
    int code = run_scope(self, sync, how, edits, &local);
    if (code == ETHOS_LIMIT && sync->needs_archive) {
        for (size_t i = 0; i < sync->count; i++)
            over_free_text(self->host, &edits[i].old);
        sync->has_archive = true;
        code = run_scope(self, sync, how, edits, &local);
    }
    int reported = report_jobs(self, sync, edits, how, code, &local);
    if (code == ETHOS_OK && reported != ETHOS_OK && (how->flags & ETHOS_SYNC_DRY_RUN))
        code = err_nomem(&local); // a dry run has only its diff
    for (size_t i = 0; i < sync->count + (sync->has_archive ? 1 : 0); i++)
        over_free_text(self->host, &edits[i].old);
    if (code != ETHOS_OK && error)
        *error = local;
    return code;
}

/* ---- sync: the call ------------------------------------------------------------------------ */

/* The job of a key, added if it is new. */
static struct job *job_for(struct scope_sync *sync, const char *key)
{
    for (size_t i = 0; i < sync->count; i++)
        if (strcmp(sync->jobs[i].key, key) == 0)
            return &sync->jobs[i];
    struct job *job = &sync->jobs[sync->count++];
    job->key = key;
    str_init(&job->text, ETHOS_MAX_STORE_BYTES);
    str_init(&job->dropped, ETHOS_MAX_STORE_BYTES);
    return job;
}

/* "add,remove": what the updates of a job do. Mostly it is one. */
static int name_actions(struct job *job, struct arena *arena)
{
    static const char *const names[] = {"", "add", "replace", "remove", "delete"};
    CLEANUP_STR struct str actions = {0};
    job->actions = names[job->updates[0].action];
    if (job->count == 1)
        return ETHOS_OK;
    str_init(&actions, SIZE_MAX);
    for (size_t i = 0; i < job->count; i++)
        str_printf(&actions, "%s%s", i ? "," : "", names[job->updates[i].action]);
    job->actions = str_code(&actions) == ETHOS_OK ? arena_copy(arena, str_view(&actions)) : NULL;
    return job->actions ? ETHOS_OK : ETHOS_NOMEM;
}

/* Collects the updates of one scope into jobs, keys in order of first appearance. */
static int collect_jobs(struct scope_sync *sync, const struct ethos_update *updates, size_t count,
                        struct arena *arena)
{
    struct ethos_update *sorted = arena_array(arena, count, sizeof *sorted);
    struct job **owners = arena_array(arena, count, sizeof *owners);
    sync->jobs = arena_array(arena, count, sizeof *sync->jobs);
    if (!sorted || !owners || !sync->jobs)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(updates[i].scope, sync->scope) != 0)
            continue;
        owners[i] = job_for(sync, updates[i].key);
        owners[i]->count++;
    }
    for (size_t i = 0; i < sync->count; i++) {
        sync->jobs[i].updates = sorted;
        sorted += sync->jobs[i].count;
        sync->jobs[i].count = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (owners[i])
            owners[i]->updates[owners[i]->count++] = updates[i];
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < sync->count; i++)
        code = name_actions(&sync->jobs[i], arena);
    return code;
}

/* ETHOS_OK if the text exists, ETHOS_NOTFOUND if not, or why that is unknown. */
static int check_text_exists(struct over_store *self, const char *scope, const char *key,
                             struct ethos_error *error)
{
    static const struct ethos_read_how glance = {1, 0};
    struct ethos_text text = {0};
    int code = self->store->ops->read(self->store, scope, key, &glance, &text, error);
    over_free_text(self->host, &text);
    return code;
}

static bool writes_key(const struct scope_sync *sync, const char *key)
{
    for (size_t i = 0; i < sync->count; i++)
        if (strcmp(sync->jobs[i].key, key) == 0)
            return true;
    return false;
}

/* If the person has no USER.md, the first write starts from their old profile. */
static int load_profile(struct over_store *self, const struct ethos_context *context,
                        struct scope_sync *sync, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    if (strcmp(sync->scope, context->user_scope) != 0 || !context->profile_fallback[0])
        return ETHOS_OK;
    int code = check_text_exists(self, sync->scope, PROFILE_KEY, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    for (int i = 0; i < 2 && context->profile_fallback[i]; i++) {
        code = self->store->ops->read(self->store, context->profile_fallback[i], PROFILE_KEY,
                                      &whole, &sync->profile, error);
        if (code == ETHOS_OK && writes_key(sync, PROFILE_KEY))
            sync->origin.via = "migrate";
        if (code != ETHOS_NOTFOUND)
            return code;
    }
    return ETHOS_OK;
}

/* The origin, and for an operation with an id, its digest. */
static int name_origin(struct scope_sync *sync, const struct ethos_update *updates, size_t count,
                       const struct ethos_sync_how *how, struct ethos_error *error)
{
    if (how->origin)
        sync->origin = *how->origin;
    sync->origin.op_digest = NULL;
    if (!sync->origin.op_id)
        return ETHOS_OK;
    sync->origin.op_digest = sync->digest;
    if (once_digest(updates, count, sync->scope, sync->digest) != ETHOS_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static void release_scope(struct over_store *self, struct scope_sync *sync)
{
    for (size_t i = 0; i < sync->count; i++) {
        str_release(&sync->jobs[i].text);
        str_release(&sync->jobs[i].dropped);
    }
    str_release(&sync->archive);
    over_free_text(self->host, &sync->profile);
}

static int sync_one_scope(struct over_store *self, const struct ethos_context *context,
                          const char *scope, const struct ethos_update *updates, size_t count,
                          const struct ethos_sync_how *how, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct scope_sync sync = {.scope = scope};
    arena_init(&arena);
    str_init(&sync.archive, ETHOS_MAX_STORE_BYTES);
    clock_iso(self->host->now_ms(self->host->arg), sync.iso);

    int code = scope_parse(scope, NULL, NULL, error);
    if (code == ETHOS_OK && collect_jobs(&sync, updates, count, &arena) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = name_origin(&sync, updates, count, how, error);
    if (code == ETHOS_OK)
        code = load_profile(self, context, &sync, error);
    if (code == ETHOS_OK)
        code = sync_scope(self, &sync, how, &arena, error);
    release_scope(self, &sync);
    return code;
}

static bool seen_before(const struct ethos_update *updates, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(updates[i].scope, updates[index].scope) == 0)
            return true;
    return false;
}

static int over_sync(struct ethos_provider *self, const struct ethos_context *context,
                     const struct ethos_update *updates, size_t count,
                     const struct ethos_sync_how *how, struct ethos_error *error)
{
    int result = ETHOS_OK;
    for (size_t i = 0; i < count; i++) {
        struct ethos_error local = {0};
        if (seen_before(updates, i))
            continue;
        int code = sync_one_scope((struct over_store *)self, context, updates[i].scope, updates,
                                  count, how, &local);
        if (code != ETHOS_OK && result == ETHOS_OK) {
            result = code;
            if (error)
                *error = local;
        }
    }
    return result;
}

/* ---- whole texts --------------------------------------------------------------------------- */

static int over_read(struct ethos_provider *self, const char *scope, const char *key,
                     const struct ethos_read_how *how, struct ethos_text *out_text,
                     struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->read(store, scope, key, how, out_text, error);
}

/* A write as a callback: swap if the revision is the expected one. */
struct swap_edit {
    const char *expect;
    struct ethos_view text;
    const char *actions;
};

static int edit_swap_in(void *arg, struct ethos_edit *edits, size_t count,
                        struct ethos_error *error)
{
    const struct swap_edit *swap = arg;
    const char *actual = edits->old.data ? edits->old.revision : "absent";
    (void)count;
    if (swap->expect && strcmp(swap->expect, actual) != 0)
        return update_moved(edits->key, actual, error);
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = swap->text;
    edits->actions = swap->actions;
    return ETHOS_OK;
}

/*
 * Checks the size of a new text; a text that existed before may be restored, and one may become
 * shorter. An archive, which takes what other texts have no room for, may be as large as the store
 * allows.
 */
static int check_new_size(const char *scope, const struct ethos_edit *edit,
                          const struct ethos_origin *origin, struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool any_size = strcmp(edit->key, ARCHIVE_KEY) == 0 ||
                    (edit->old.data && edit->text.size < edit->old.size) ||
                    history_actions(origin, NULL);
    if (must_stay_whole(scope, edit->key))
        code = check_whole(scope, edit->key, edit->text.size, edit->old.size, error);
    else if (!any_size && update_ceiling(edit->text) > 0)
        code = err_set(error, ETHOS_LIMIT, "%s: more than %d characters", edit->key,
                       ETHOS_MAX_FILE_CH);
    return code == ETHOS_OK ? code : err_hint(error, code, "shorten the text");
}

/* Checks that memory can hold the result of the callback. */
struct sized {
    const char *scope;
    const struct ethos_origin *origin;
    ethos_edit_fn *edit;
    void *arg;
};

static int edit_sized(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    const struct sized *sized = arg;
    int code = sized->edit(sized->arg, edits, count, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (edits[i].verdict == ETHOS_EDIT_PUT)
            code = check_new_size(sized->scope, &edits[i], sized->origin, error);
    return code;
}

static int over_write(struct ethos_provider *self, const char *scope, const char *key,
                      const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                      char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    struct over_store *over = (struct over_store *)self;
    struct swap_edit swap = {expect, text, history_actions(origin, NULL)};
    struct sized sized = {scope, origin, edit_swap_in, &swap};
    struct ethos_edit edit = {.key = key};
    int code = store_update(over->store, scope, &edit, 1, edit_sized, &sized, origin, error);
    if (code == ETHOS_OK)
        memcpy(out_revision, edit.revision, sizeof edit.revision);
    over_free_text(over->host, &edit.old);
    return code;
}

static int over_update(struct ethos_provider *self, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error)
{
    struct sized sized = {scope, origin, edit, arg};
    return store_update(over_inner(self), scope, edits, count, edit_sized, &sized, origin, error);
}

static int over_list(struct ethos_provider *self, const char *scope, ethos_entry_fn *each,
                     void *arg, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->list(store, scope, each, arg, error);
}

static int over_locate(struct ethos_provider *self, const char *scope, const char *key, char *path,
                       size_t size, struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    if (!store->ops->locate)
        return err_set(error, ETHOS_UNSUPPORTED, "%s: keeps no files", store->ops->name);
    return store->ops->locate(store, scope, key, path, size, error);
}

static int over_check(struct ethos_provider *self, int fix, ethos_finding_fn *each, void *arg,
                      struct ethos_error *error)
{
    struct ethos_store *store = over_inner(self);
    return store->ops->check ? store->ops->check(store, fix, each, arg, error) : ETHOS_OK;
}

static void over_close(struct ethos_provider *self)
{
    struct ethos_store *store = over_inner(self);
    store->ops->close(store);
    free(self);
}

static const struct ethos_provider_ops over_ops = {
    .abi = ETHOS_ABI,
    .name = "store",
    .close = over_close,
    .prefetch = over_prefetch,
    .sync = over_sync,
    .read = over_read,
    .write = over_write,
    .list = over_list,
    .locate = over_locate,
    .check = over_check,
    .update = over_update,
};

int provider_over_store(const struct ethos_host *host, struct ethos_store *store,
                        struct ethos_provider **out_provider, struct ethos_error *error)
{
    struct over_store *self = calloc(1, sizeof *self);
    if (!self) {
        store->ops->close(store);
        return err_nomem(error);
    }
    self->ops = over_ops;
    self->ops.name = store->ops->name;
    over_history_slots(&self->ops, store);
    slots_fill(&self->ops);
    self->base.ops = &self->ops;
    // store_update refuses a store without operation ids
    self->base.capabilities = ETHOS_PROVIDER_DRY_RUN | ETHOS_PROVIDER_DIFF | ETHOS_PROVIDER_ONCE;
    self->host = host;
    self->store = store;
    *out_provider = &self->base;
    return ETHOS_OK;
}

struct ethos_store *provider_store(struct ethos_provider *provider)
{
    return provider->ops->close == over_close ? over_inner(provider) : NULL;
}
