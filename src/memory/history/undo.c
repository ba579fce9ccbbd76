/*
 * undo.c: reverts changes.
 *
 *     load history and text -> select changes, newest first -> revert them in the text -> swap
 *
 * Only changes that were recorded when undo was called are considered: if the swap fails because
 * somebody wrote meanwhile, the text is read again, the changes are not. Consecutive changes are
 * reverted as one. A change whose result is the current text is reverted to its old text, byte for
 * byte; one with later changes on top is reverted by a merge (base: the text after it, ours: the
 * current text, theirs: the text before it). All of this happens in memory and ends in one write,
 * which succeeds only if the file is still the one that was read. Changes of other files in the
 * same operation are reverted as well: undo_operation.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/merge.h"
#include "core/history/patch.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "memory/history/undo.h"
#include "memory/history/undo_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"

#define ROUNDS 100

static const struct ethos_sync_how plain_how;
static const struct ethos_filter newest_one;

/* ---- which changes -------------------------------------------------------------------------- */

/* A hash set of numbers, such as of the changes that newer ones undid; 0 is a free slot. */
struct pending_undo {
    uint64_t *slots;
    size_t count, capacity; /* a power of 2 */
};

static uint64_t *find_pending_slot(const struct pending_undo *pending, uint64_t number)
{
    size_t at = (size_t)((number * 0x9E3779B97F4A7C15u) >> 20) & (pending->capacity - 1);
    while (pending->slots[at] && pending->slots[at] != number)
        at = (at + 1) & (pending->capacity - 1);
    return &pending->slots[at];
}

static int grow_pending(struct pending_undo *pending)
{
    struct pending_undo larger = {.capacity = pending->capacity ? pending->capacity * 2 : 64};
    if (2 * pending->count < pending->capacity)
        return ETHOS_OK;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < pending->capacity; i++)
        if (pending->slots[i])
            *find_pending_slot(&larger, pending->slots[i]) = pending->slots[i];
    larger.count = pending->count;
    free(pending->slots);
    *pending = larger;
    return ETHOS_OK;
}

static int insert_pending(struct pending_undo *pending, uint64_t number)
{
    if (number == 0)
        return ETHOS_OK;
    if (grow_pending(pending) != ETHOS_OK)
        return ETHOS_NOMEM;
    uint64_t *slot = find_pending_slot(pending, number);
    pending->count += !*slot;
    *slot = number;
    return ETHOS_OK;
}

static int add_pending(struct pending_undo *pending, const char *undoes)
{
    char *end;
    for (const char *at = undoes; *at; at = *end ? end + 1 : end) {
        uint64_t number = strtoull(at, &end, 10);
        if (end == at)
            break;
        if (insert_pending(pending, number) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static bool is_pending(const struct pending_undo *pending, uint64_t number)
{
    return number && pending->count > 0 && *find_pending_slot(pending, number) == number;
}

bool undo_is(const struct ethos_change *change)
{
    return change->undoes || (change->via && strcmp(change->via, "undo") == 0);
}

/* With a filter every change that matches it, else one that makes a difference. */
static bool names_some(const struct ethos_filter *filter)
{
    return filter->actor || filter->session || filter->source || filter->since_ms ||
           filter->until_ms || filter->limit || filter->number;
}

/* ---- versions ------------------------------------------------------------------------------- */

static bool is_absent_revision(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

/* An empty text exists, unlike an absent one. */
static struct ethos_view present_view(const struct str *text)
{
    return view_of(text->data ? text->data : "", text->size);
}

static struct ethos_view version_view(const struct version *version)
{
    return is_absent_revision(version->revision) ? (struct ethos_view){0}
                                                 : present_view(&version->text);
}

/* Reads a version from the store. */
static int read_version(struct undoing *undoing, const char *revision, struct str *out,
                        struct ethos_error *error)
{
    struct ethos_text text = {0};
    int code = changes_text(undoing->turn, undoing->target, revision, &text, error);
    str_clear(out);
    if (code == ETHOS_OK && str_add(out, view_of(text.data, text.size)) != ETHOS_OK)
        code = err_nomem(error);
    changes_free(undoing->turn, &text);
    return code;
}

/* Reverts one change by its diff. False: the diff does not apply. */
static bool step_back(struct version *here, const struct ethos_change *change)
{
    struct str older;
    str_init(&older, ETHOS_MAX_STORE_BYTES);
    bool there = change->diff_whole &&
                 patch_apply(change->diff, str_view(&here->text), true, &older) == ETHOS_OK &&
                 older.size == change->bytes_before;
    str_release(there ? &here->text : &older);
    if (there)
        here->text = older;
    here->revision = there ? change->before : NULL;
    return there;
}

/*
 * Makes `here` the version before change `end` - 1, which is the one after change `end`: by diffs
 * where they apply, so that many versions cost one walk, else from the store.
 */
static int reach_version(struct undoing *undoing, size_t end, const char *revision,
                         struct ethos_error *error)
{
    struct version *here = &undoing->here;
    while (here->revision && strcmp(here->revision, revision) != 0 && here->next < end) {
        const struct ethos_change *change = &undoing->changes.items[here->next++];
        if (changes_real(change) && strcmp(change->after, here->revision) == 0)
            step_back(here, change);
    }
    if (here->revision && strcmp(here->revision, revision) == 0)
        return ETHOS_OK;
    int code = read_version(undoing, revision, &here->text, error);
    here->revision = code == ETHOS_OK ? revision : NULL;
    here->next = end;
    return code;
}

/* ---- taking changes out --------------------------------------------------------------------- */

int undo_set_text(struct undoing *undoing, struct ethos_view text, const char *revision,
                  struct ethos_error *error)
{
    str_clear(&undoing->text);
    undoing->loaded = true;
    undoing->revision = revision;
    return str_add(&undoing->text, text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* A version is read only when its text is needed. */
static int load_text(struct undoing *undoing, struct ethos_error *error)
{
    if (undoing->loaded)
        return ETHOS_OK;
    int code = read_version(undoing, undoing->revision, &undoing->text, error);
    undoing->loaded = code == ETHOS_OK;
    return code;
}

struct ethos_view undo_text(const struct undoing *undoing)
{
    return is_absent_revision(undoing->revision) ? (struct ethos_view){0}
                                                 : present_view(&undoing->text);
}

static int refuse_overlap(struct undoing *undoing, const struct ethos_change *change,
                          struct ethos_error *error)
{
    undoing->stuck = true;
    int code = err_set(error, ETHOS_CONFLICT,
                       "%s: later changes stand in the same lines as change #%" PRIu64,
                       undoing->target->key, change->number);
    return err_hint(error, code,
                    "undo those first, or take a whole version: ethos memory restore NUMBER "
                    "--scope %s --key %s",
                    undoing->target->scope, undoing->target->key);
}

bool undo_is_purge(const struct ethos_change *change)
{
    return (change->via && strcmp(change->via, "purge") == 0) ||
           strcmp(change->before, change->after) == 0;
}

int undo_refuse_purged(struct undoing *undoing, struct ethos_error *error)
{
    undoing->stuck = true;
    int code = err_set(error, ETHOS_DENIED,
                       "%s: the last change was purged, which cannot be undone",
                       undoing->target->key);
    return err_hint(error, code,
                    "ethos memory history --scope %s --key %s lists the versions before it",
                    undoing->target->scope, undoing->target->key);
}

static int merge_out(struct undoing *undoing, const struct ethos_change *change,
                     struct ethos_view after, struct ethos_view before, struct ethos_error *error)
{
    struct merge_report report = {0};
    CLEANUP_STR struct str merged;
    struct ethos_view ours = undo_text(undoing);
    str_init(&merged, ETHOS_MAX_STORE_BYTES);
    int code = merge_texts(after, ours, before, &merged, &report);
    if (code != ETHOS_OK)
        code = err_nomem(error);
    else if (report.conflicts > 0)
        code = refuse_overlap(undoing, change, error);
    else if (view_blank(str_view(&merged)) && (!before.data || !ours.data))
        code = undo_set_text(undoing, (struct ethos_view){0}, "absent", error);
    else
        code = undo_set_text(undoing, str_view(&merged), "", error);
    return code;
}

int undo_revert_change(struct undoing *undoing, const struct ethos_change *change,
                       struct ethos_error *error)
{
    struct ethos_turn *turn = undoing->turn;
    struct ethos_text before = {0}, after = {0};
    int code = changes_text(turn, undoing->target, change->before, &before, error);
    struct ethos_view old = view_of(before.data, before.size);
    if (code == ETHOS_OK && strcmp(undoing->revision, change->after) == 0) {
        const char *revision = arena_str(&undoing->changes.arena, change->before);
        code = revision ? undo_set_text(undoing, old, revision, error) : err_nomem(error);
    } else if (code == ETHOS_OK) {
        code = changes_text(turn, undoing->target, change->after, &after, error);
        if (code == ETHOS_OK)
            code = merge_out(undoing, change, view_of(after.data, after.size), old, error);
    }
    changes_free(turn, &before);
    changes_free(turn, &after);
    return code;
}

static int merge_run(struct undoing *undoing, const struct change_run *run,
                     struct ethos_error *error)
{
    CLEANUP_STR struct str after;
    str_init(&after, ETHOS_MAX_STORE_BYTES);
    int code = load_text(undoing, error);
    if (code == ETHOS_OK)
        code = reach_version(undoing, run->first, run->newest->after, error);
    bool absent = is_absent_revision(run->newest->after);
    if (code == ETHOS_OK && str_add(&after, version_view(&undoing->here)) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = reach_version(undoing, run->last + 1, run->before, error);
    if (code == ETHOS_OK)
        code = merge_out(undoing, run->newest,
                         absent ? (struct ethos_view){0} : present_view(&after),
                         version_view(&undoing->here), error);
    return code;
}

/* Reverts the collected run of changes. */
static int end_run(struct undoing *undoing, struct ethos_error *error)
{
    struct change_run run = undoing->run;
    undoing->run = (struct change_run){0};
    if (!run.newest)
        return ETHOS_OK;
    if (strcmp(undoing->revision, run.newest->after) != 0)
        return merge_run(undoing, &run, error);
    undoing->revision = run.before;
    undoing->loaded = false;
    return ETHOS_OK;
}

static int revert_change(struct undoing *undoing, size_t index, struct ethos_error *error)
{
    const struct ethos_change *change = &undoing->changes.items[index];
    struct change_run *run = &undoing->run;
    int code = ETHOS_OK;
    if (run->newest && strcmp(run->before, change->after) == 0) {
        run->before = change->before;
        run->last = index;
    } else {
        code = end_run(undoing, error);
        *run = (struct change_run){change, index, index, change->before};
    }
    return code;
}

/* Whether the text differs from the file's. */
static bool has_new_text(const struct undoing *undoing)
{
    const struct ethos_text *now = &undoing->changes.now;
    if (!undoing->loaded)
        return strcmp(undoing->revision, changes_revision(&undoing->changes)) != 0;
    struct ethos_view text = undo_text(undoing);
    return !text.data != !now->data || !view_eq(text, view_of(now->data, now->size));
}

/* Recorded in the history, and used to revert the rest of the operation. */
static int record_reverted(struct undoing *undoing, const struct ethos_change *change,
                           struct ethos_error *error)
{
    const struct ethos_change **taken = arena_grow(&undoing->changes.arena, undoing->taken_changes,
                                                   undoing->taken, &undoing->taken_room,
                                                   sizeof *taken);
    if (!taken)
        return err_nomem(error);
    undoing->taken_changes = taken;
    taken[undoing->taken++] = change;
    if (change->number) // changes of other programs have no number
        str_printf(&undoing->undoes, "%s%" PRIu64, undoing->undoes.size ? "," : "", change->number);
    return ETHOS_OK;
}

/* Reverts one change; *out_enough says whether that is all. */
static int revert_next(struct undoing *undoing, size_t index, bool *out_enough,
                       struct ethos_error *error)
{
    const struct ethos_filter *filter = undoing->filter;
    const struct ethos_change *change = &undoing->changes.items[index];
    bool several = names_some(filter);
    TRY(revert_change(undoing, index, error));
    if (!several)
        TRY(end_run(undoing, error));
    TRY(record_reverted(undoing, change, error));
    *out_enough = several ? undoing->taken == filter->limit : has_new_text(undoing);
    return ETHOS_OK;
}

/* Identifies an update: a note and its index line share it. */
static uint64_t update_id(const struct ethos_change *change)
{
    return change->group ? change->group : (uint64_t)change->time_ms;
}

/* Whether a change belongs to an update that is not undone. */
static bool is_of_staying_update(const struct undoing *undoing, const struct ethos_change *change)
{
    return undoing->staying && is_pending(undoing->staying, update_id(change));
}

/* Walks back from the newest change. */
static int revert_changes(struct undoing *undoing, struct pending_undo *pending,
                          struct ethos_error *error)
{
    bool enough = false;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && !enough && i < undoing->changes.count; i++) {
        const struct ethos_change *change = &undoing->changes.items[i];
        bool undone = is_pending(pending, change->number);
        if (!undone && change->undoes && add_pending(pending, change->undoes) != ETHOS_OK)
            return err_nomem(error);
        if (undone || (undo_is(change) && !undoing->filter->number) || !changes_real(change) ||
            !history_matches(undoing->filter, change) || is_of_staying_update(undoing, change))
            continue;
        if ((!names_some(undoing->filter) || undoing->filter->number) && undo_is_purge(change))
            return undo_refuse_purged(undoing, error);
        code = revert_next(undoing, i, &enough, error);
    }
    if (code == ETHOS_OK)
        code = end_run(undoing, error);
    if (code == ETHOS_OK)
        code = load_text(undoing, error);
    return code != ETHOS_OK || str_code(&undoing->undoes) == ETHOS_OK ? code : err_nomem(error);
}

/* ---- the call ------------------------------------------------------------------------------- */

/*
 * The text did not change, so that nothing is recorded here: the record of another file names the
 * changes.
 */
static int collect_unrecorded(struct undoing *undoing, struct ethos_error *error)
{
    struct str *out = undoing->unrecorded;
    if (out->size && undoing->undoes.size)
        str_addc(out, ',');
    str_add(out, str_view(&undoing->undoes));
    return str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* Writes one of several files, each by itself. */
static int write_undone_file(struct undoing *undoing, struct ethos_sync_how *how,
                             struct ethos_origin *origin, struct ethos_error *error)
{
    struct str *unrecorded = undoing->unrecorded;
    bool written = has_new_text(undoing);
    if (written && unrecorded->size > 0)
        str_printf(&undoing->undoes, "%s%s", undoing->undoes.size ? "," : "", unrecorded->data);
    if (str_code(&undoing->undoes) != ETHOS_OK)
        return err_nomem(error);
    origin->undoes = undoing->undoes.size ? undoing->undoes.data : NULL;
    int code = handle_put(undoing->turn, undoing->target, changes_revision(&undoing->changes),
                          undo_text(undoing), how, error);
    if (code == ETHOS_OK && written)
        str_clear(unrecorded);
    else if (code == ETHOS_OK)
        code = collect_unrecorded(undoing, error);
    return code;
}

static int write_undo(struct undoing *undoing, struct ethos_error *error)
{
    struct ethos_sync_how how = *undoing->how;
    struct ethos_origin origin = how.origin ? *how.origin : (struct ethos_origin){0};
    bool nothing = undoing->taken == 0 || (!names_some(undoing->filter) && !has_new_text(undoing));
    if (nothing)
        return err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", undoing->target->key);
    origin.source = "restore";
    origin.via = "undo";
    how.origin = &origin;
    if (undoing->unrecorded)
        return write_undone_file(undoing, &how, &origin, error);
    int code = undo_find_others(undoing, error);
    origin.undoes = undoing->undoes.size ? undoing->undoes.data : NULL;
    if (code != ETHOS_OK || undoing->other_count > 0)
        return code == ETHOS_OK ? undo_write_all(undoing, &how, error) : code;
    return handle_put(undoing->turn, undoing->target, changes_revision(&undoing->changes),
                      undo_text(undoing), &how, error);
}

static int check_match(struct undoing *undoing, struct ethos_error *error)
{
    const char *wanted = undoing->how->if_match, *found = changes_revision(&undoing->changes);
    if (!wanted || strcmp(wanted, found) == 0)
        return ETHOS_OK;
    undoing->stuck = true;
    return update_moved(undoing->target->key, found, error);
}

/* Reverts the same changes in the current text. */
static int undo_once(struct undoing *undoing, struct ethos_error *error)
{
    struct pending_undo pending = {0};
    struct ethos_text *now = &undoing->changes.now;
    struct ethos_view text = view_of(now->data, now->size);
    const char *revision = changes_revision(&undoing->changes);
    str_clear(&undoing->undoes);
    undoing->taken = undoing->taken_room = undoing->other_count = 0;
    undoing->taken_changes = NULL;
    undoing->run = (struct change_run){0};
    undoing->here.revision = NULL;
    int code = check_match(undoing, error);
    if (code == ETHOS_OK)
        code = changes_check_number(&undoing->changes, undoing->target->key, undoing->filter,
                                    error);
    if (code == ETHOS_OK)
        code = undo_set_text(undoing, text, revision, error);
    str_clear(&undoing->here.text);
    if (code == ETHOS_OK && str_add(&undoing->here.text, text) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK) {
        undoing->here.revision = revision;
        undoing->here.next = 0;
        code = revert_changes(undoing, &pending, error);
    }
    if (code == ETHOS_OK)
        code = write_undo(undoing, error);
    free(pending.slots);
    undo_release_others(undoing);
    return code;
}

/* undoing->changes holds the changes and the text. */
static int undo_loaded(struct undoing *undoing, struct ethos_error *error)
{
    int code;
    str_init(&undoing->text, ETHOS_MAX_STORE_BYTES);
    str_init(&undoing->here.text, ETHOS_MAX_STORE_BYTES);
    str_init(&undoing->undoes, SIZE_MAX);
    for (int round = 0;; round++) {
        code = undo_once(undoing, error);
        if (code != ETHOS_CONFLICT || undoing->stuck || round == ROUNDS)
            break;
        code = changes_refresh(undoing->turn, undoing->target, &undoing->changes, error);
        if (code != ETHOS_OK)
            break;
    }
    str_release(&undoing->text);
    str_release(&undoing->here.text);
    str_release(&undoing->undoes);
    return code;
}

int ethos_undo(struct ethos_turn *turn, const struct ethos_target *target,
               const struct ethos_filter *filter, const struct ethos_sync_how *how,
               struct ethos_error *error)
{
    struct scope_target aimed;
    struct undoing undoing = {.turn = turn,
                              .target = &aimed,
                              .filter = filter ? filter : &newest_one,
                              .how = how ? how : &plain_how};
    int what = names_some(undoing.filter) ? CHANGES_DIFFS : CHANGES_PLAIN;
    TRY(handle_aim(turn, target, true, &aimed, error));
    if (undoing.how->flags & ETHOS_SYNC_DRY_RUN)
        what |= CHANGES_STILL;
    int code = changes_load(turn, &aimed, what, &undoing.changes, error);
    if (code == ETHOS_OK)
        code = undo_loaded(&undoing, error);
    changes_release(turn, &undoing.changes);
    return code;
}

/* ---- every file of a scope ------------------------------------------------------------------ */

/* Collects the keys that ever changed, as a set. */
static int add_changed_key(void *arg, const struct ethos_change *change)
{
    json_t *set = arg;
    return json_object_set_new(set, change->key, json_true()) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

/* Records external edits, so that a file deleted by hand can be restored, too. */
static int record_edits_of_keys(struct ethos_turn *turn, const char *scope,
                                struct ethos_error *error)
{
    json_t *set = json_object();
    const char *key;
    json_t *value;
    struct ethos_provider *provider = turn->provider;
    bool settles = SLOT_PROVIDER(provider, settle);
    int code = ETHOS_OK;
    if (settles)
        code = set ? provider->ops->history(provider, scope, NULL, add_changed_key, set, error)
                   : ETHOS_NOMEM;
    if (code == ETHOS_OK && settles)
        json_object_foreach (set, key, value)
            if (scope_key_shown(scope, key))
                provider->ops->settle(provider, scope, key, NULL);
    json_decref(set);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/*
 * Whether a filter matches a change of a key, whose newest one is `index`. The archive has none: it
 * only grows, so that nothing is lost.
 */
static bool has_named(const struct changes_scope *all, const char *scope, const char *key,
                      size_t index, const struct ethos_filter *filter)
{
    if (!scope_key_shown(scope, key))
        return false;
    while (index != SIZE_MAX && !history_matches(filter, &all->all.items[index]))
        index = all->next[index];
    return index != SIZE_MAX;
}

/*
 * Whether a key, judging by its revisions, is already what it was before the changes that match a
 * filter.
 */
static bool seems_same(const struct changes_scope *all, size_t index,
                       const struct ethos_filter *filter)
{
    const char *now = NULL, *before = NULL;
    for (; index != SIZE_MAX; index = all->next[index]) {
        const struct ethos_change *change = &all->all.items[index];
        if (!changes_real(change))
            continue;
        now = now ? now : change->after;
        if (history_matches(filter, change))
            before = change->before;
    }
    return now && before && strcmp(now, before) == 0;
}

/* Reverting changes in every file of a scope. */
struct scope_undo {
    struct ethos_turn *turn;
    const char *scope;
    const struct changes_scope *all;
    const struct ethos_filter *filter;
    const struct ethos_sync_how *how;
    struct str unrecorded;
    struct pending_undo staying; /* updates that are not undone: update_id */
    int first;                   /* updates of files that could not be undone */
    size_t done, stuck;
};

/* What moves between scopes, among the matching changes, did to a note. */
enum displaced { STAYED, CAME, WENT };

static int find_displaced(const struct scope_undo *self, size_t newest, enum displaced *out)
{
    struct pending_undo undone = {0};
    const char *after = NULL, *before = NULL;
    int code = ETHOS_OK;
    *out = STAYED;
    for (size_t i = newest; code == ETHOS_OK && i != SIZE_MAX; i = self->all->next[i]) {
        const struct ethos_change *change = &self->all->all.items[i];
        if (is_pending(&undone, change->number))
            continue;
        if (change->undoes)
            code = add_pending(&undone, change->undoes);
        if (!changes_real(change) || !undo_is_move(change) ||
            !history_matches(self->filter, change))
            continue;
        after = after ? after : change->after;
        before = change->before;
    }
    free(undone.slots);
    if (after && is_absent_revision(after) != is_absent_revision(before))
        *out = is_absent_revision(before) ? CAME : WENT;
    return code;
}

/*
 * Undoing one half of a move would leave the note in both scopes or in none. So a change that
 * displaced a note is not undone; of a note that left, none of its changes are, nor those of its
 * index lines. Each is reported. The changes of a note that came back are undone like any others.
 */
static int skip_moves(struct scope_undo *self, size_t newest)
{
    enum displaced displaced;
    int code = find_displaced(self, newest, &displaced);
    for (size_t i = newest; displaced != STAYED && code == ETHOS_OK && i != SIZE_MAX;
         i = self->all->next[i]) {
        const struct ethos_change *change = &self->all->all.items[i];
        if (displaced == WENT || undo_is_move(change))
            code = insert_pending(&self->staying, update_id(change));
    }
    return code;
}

/* Before any file is undone. */
static int find_moves(struct scope_undo *self, struct ethos_error *error)
{
    const char *key;
    json_t *value;
    int code = ETHOS_OK;
    json_object_foreach (self->all->first, key, value)
        if (code == ETHOS_OK && scope_key_shown(self->scope, key) && strcmp(key, NOTES_INDEX) != 0)
            code = skip_moves(self, (size_t)json_integer_value(value));
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int undo_key(struct scope_undo *self, const char *key, struct ethos_error *error)
{
    struct scope_target aimed;
    const struct ethos_target target = {NULL, self->scope, key};
    struct undoing undoing = {
        .turn = self->turn,
        .target = &aimed,
        .filter = self->filter,
        .how = self->how,
        .alone = true, // the filter matches the other files' changes, too
        .unrecorded = &self->unrecorded,
        .staying = &self->staying,
    };
    TRY(handle_aim(self->turn, &target, true, &aimed, error));
    int code = changes_of_key(self->turn, &aimed, self->all, &undoing.changes, error);
    if (code == ETHOS_OK)
        code = undo_loaded(&undoing, error);
    changes_release(self->turn, &undoing.changes);
    return code;
}

/* Whether the failure would repeat for the next file. */
static bool ends_all(int code)
{
    return code == ETHOS_IO || code == ETHOS_BUSY || code == ETHOS_NOMEM;
}

/*
 * Reports a file that stays as it is. The first failure is the error; each is a row of the report.
 */
static void report_stuck(struct scope_undo *self, const char *key, int code,
                         const struct ethos_error *why, struct ethos_error *error)
{
    const struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_FAILED,
                                          .scope = self->scope,
                                          .key = key,
                                          .revision = "absent",
                                          .error = why};
    if (self->how->each)
        self->how->each(self->how->arg, &outcome);
    if (self->stuck++ == 0)
        self->first = code;
    if (error && (self->stuck == 1 || ends_all(code)))
        *error = *why;
}

/* Undoes one file, except moves that displaced it. */
static int undo_moved_key(struct scope_undo *self, const char *key, size_t newest,
                          struct ethos_error *error)
{
    enum displaced displaced = STAYED;
    if (strcmp(key, NOTES_INDEX) != 0 && find_displaced(self, newest, &displaced) != ETHOS_OK)
        return err_nomem(error);
    int code = displaced == WENT ? ETHOS_NOTFOUND : undo_key(self, key, error);
    self->done += code == ETHOS_OK;
    if (displaced == STAYED || (code != ETHOS_OK && code != ETHOS_NOTFOUND))
        return code;
    return undo_refuse_move(self->turn, self->scope, key, displaced == CAME, error);
}

/*
 * Undoes the files that are already what they were, or the others. A file with conflicting later
 * changes or a damaged history does not stop the others. Returns a failure that would repeat for
 * every file.
 */
static int undo_keys(struct scope_undo *self, bool same, struct ethos_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach (self->all->first, key, value) {
        struct ethos_error why = {0};
        size_t newest = (size_t)json_integer_value(value);
        if (!has_named(self->all, self->scope, key, newest, self->filter) ||
            seems_same(self->all, newest, self->filter) != same)
            continue;
        int code = undo_moved_key(self, key, newest, &why);
        if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
            continue;
        report_stuck(self, key, code, &why, error);
        if (ends_all(code))
            return code;
    }
    return ETHOS_OK;
}

/*
 * Files that are already what they were come first: the record of another file names their changes.
 */
static int undo_files(struct scope_undo *self, struct ethos_error *error)
{
    str_init(&self->unrecorded, SIZE_MAX);
    int code = find_moves(self, error);
    if (code == ETHOS_OK)
        code = undo_keys(self, true, error);
    if (code == ETHOS_OK)
        code = undo_keys(self, false, error);
    str_release(&self->unrecorded);
    free(self->staying.slots);
    if (code != ETHOS_OK)
        return code;
    if (self->stuck > 1)
        err_hint(error, self->first, "%zu files stay as they are, for different reasons",
                 self->stuck);
    if (self->stuck > 0)
        return self->first;
    return self->done > 0 ? ETHOS_OK
                          : err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", self->scope);
}

int undo_all(struct ethos_turn *turn, const char *scope, const struct ethos_filter *filter,
             const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct changes_scope all;
    struct scope_undo files = {turn, scope, &all, filter, how, .first = ETHOS_OK};
    TRY(changes_need(turn, SLOT_PROVIDER(turn->provider, history), error));
    if (!names_some(filter))
        return err_hint(error, err_set(error, ETHOS_INVALID, "'all' requires a filter"),
                        "add --since, --until, --actor, --session or --source");
    if (!(how->flags & ETHOS_SYNC_DRY_RUN))
        TRY(record_edits_of_keys(turn, scope, error));
    int code = changes_load_scope(turn, scope, CHANGES_DIFFS, &all, error);
    if (code == ETHOS_OK)
        code = undo_files(&files, error);
    changes_scope_release(turn, &all);
    return code;
}
