/*
 * undo.c: taking changes back.
 *
 *     load history and text -> choose changes, newest first -> take each out of the text -> swap
 *
 * A change whose result is the text is taken back by its own old text, byte for byte; one that later
 * changes stand on by merging (base: after it, ours: the text, theirs: before it). All happens in
 * memory; one write ends it, which holds only if the file is still the one that was read.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "core/merge.h"
#include "core/scope.h"
#include "core/update.h"
#include "memory/changes.h"
#include "memory/undo.h"

#define ROUNDS 100

static const struct ethos_sync_how plain_how;
static const struct ethos_filter newest_one;

struct undoing {
    struct ethos_turn *turn;
    const struct scope_target *target;
    const struct ethos_filter *filter;
    const struct ethos_sync_how *how;
    struct changes changes;
    struct str text; /* while changes are taken out of it */
    bool present;
    const char *revision; /* of text, "absent", or "" once it was merged */
    struct str undoes;    /* numbers, for history */
    size_t taken;
    bool stuck; /* a merge failed: trying again does not help */
};

/* ---- which changes -------------------------------------------------------------------------- */

/* Numbers that newer changes undid and that were not met yet; the next one is mostly the last. */
struct pending {
    uint64_t *numbers;
    size_t count, capacity;
};

static int add_pending(struct pending *pending, const char *undoes)
{
    char *end;
    for (const char *at = undoes; *at; at = *end ? end + 1 : end) {
        uint64_t number = strtoull(at, &end, 10);
        if (end == at)
            break;
        if (pending->count == pending->capacity) {
            size_t capacity = pending->capacity ? pending->capacity * 2 : 64;
            uint64_t *numbers = realloc(pending->numbers, capacity * sizeof *numbers);
            if (!numbers)
                return ETHOS_NOMEM;
            pending->numbers = numbers;
            pending->capacity = capacity;
        }
        pending->numbers[pending->count++] = number;
    }
    return ETHOS_OK;
}

static bool take_pending(struct pending *pending, uint64_t number)
{
    for (size_t i = pending->count; number && i-- > 0;) {
        if (pending->numbers[i] != number)
            continue;
        memmove(&pending->numbers[i], &pending->numbers[i + 1],
                (--pending->count - i) * sizeof *pending->numbers);
        return true;
    }
    return false;
}

static bool is_undo(const struct ethos_change *change)
{
    return change->undoes || (change->via && strcmp(change->via, "undo") == 0);
}

/* With a filter all that it names, else one that makes a difference. */
static bool names_some(const struct ethos_filter *filter)
{
    return filter->actor || filter->session || filter->source || filter->since_ms ||
           filter->until_ms || filter->limit;
}

/* ---- taking one out ------------------------------------------------------------------------- */

static int set_text(struct undoing *undoing, struct ethos_view text, const char *revision,
                    struct ethos_error *error)
{
    str_clear(&undoing->text);
    undoing->present = text.data != NULL;
    undoing->revision = revision;
    return str_add(&undoing->text, text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int refuse(struct undoing *undoing, const struct ethos_change *change,
                  struct ethos_error *error)
{
    undoing->stuck = true;
    int code = err_set(error, ETHOS_CONFLICT,
                       "%s: later changes stand in the same lines as change #%" PRIu64,
                       undoing->target->key, change->number);
    return err_hint(error, code, "undo those first, or ethos memory restore a whole version");
}

static int merge_out(struct undoing *undoing, const struct ethos_change *change,
                     struct ethos_view after, struct ethos_view before, struct ethos_error *error)
{
    struct merge_report report = {0};
    struct str merged;
    struct ethos_view ours = undoing->present ? str_view(&undoing->text) : (struct ethos_view){0};
    str_init(&merged, ETHOS_MAX_STORE_BYTES);
    int code = merge_texts(after, ours, before, &merged, &report);
    if (code != ETHOS_OK)
        code = err_nomem(error);
    else if (report.conflicts > 0)
        code = refuse(undoing, change, error);
    else if (view_blank(str_view(&merged)) && (!before.data || !ours.data))
        code = set_text(undoing, (struct ethos_view){0}, "absent", error);
    else
        code = set_text(undoing, str_view(&merged), "", error);
    str_release(&merged);
    return code;
}

static int take_out(struct undoing *undoing, const struct ethos_change *change,
                    struct ethos_error *error)
{
    struct ethos_turn *turn = undoing->turn;
    struct ethos_text before = {0}, after = {0};
    int code = changes_text(turn, undoing->target, change->before, &before, error);
    struct ethos_view old = view_of(before.data, before.size);
    if (code == ETHOS_OK && strcmp(undoing->revision, change->after) == 0) {
        code = set_text(undoing, old, change->before, error);
    } else if (code == ETHOS_OK) {
        code = changes_text(turn, undoing->target, change->after, &after, error);
        if (code == ETHOS_OK)
            code = merge_out(undoing, change, view_of(after.data, after.size), old, error);
    }
    changes_free(turn, &before);
    changes_free(turn, &after);
    return code;
}

static bool differs(const struct undoing *undoing)
{
    const struct ethos_text *now = &undoing->changes.now;
    return undoing->present != (now->data != NULL) ||
           (undoing->present && !view_eq(str_view(&undoing->text), view_of(now->data, now->size)));
}

/* Walks from the newest change back. */
static int take_all(struct undoing *undoing, struct pending *pending, struct ethos_error *error)
{
    const struct ethos_filter *filter = undoing->filter;
    bool several = names_some(filter);
    for (size_t i = 0; i < undoing->changes.count; i++) {
        const struct ethos_change *change = &undoing->changes.items[i];
        bool undone = take_pending(pending, change->number);
        if (change->undoes && add_pending(pending, change->undoes) != ETHOS_OK)
            return err_nomem(error);
        if (undone || is_undo(change) || !changes_real(change) || !history_matches(filter, change))
            continue;
        int code = take_out(undoing, change, error);
        if (code != ETHOS_OK)
            return code;
        undoing->taken++;
        if (change->number) // others do not number their lines
            str_printf(&undoing->undoes, "%s%" PRIu64, undoing->undoes.size ? "," : "",
                       change->number);
        if (several ? undoing->taken == filter->limit : differs(undoing))
            break;
    }
    return str_code(&undoing->undoes) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- the call ------------------------------------------------------------------------------- */

static int put(struct undoing *undoing, struct ethos_error *error)
{
    struct ethos_sync_how how = *undoing->how;
    struct ethos_origin origin = how.origin ? *how.origin : (struct ethos_origin){0};
    bool nothing = undoing->taken == 0 || (!names_some(undoing->filter) && !differs(undoing));
    if (nothing)
        return err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", undoing->target->key);
    origin.source = "restore";
    origin.via = "undo";
    origin.undoes = undoing->undoes.size ? undoing->undoes.data : NULL;
    how.origin = &origin;
    return handle_put(undoing->turn, undoing->target, changes_revision(&undoing->changes),
                      undoing->present ? str_view(&undoing->text) : (struct ethos_view){0}, &how,
                      error);
}

static int check_match(struct undoing *undoing, struct ethos_error *error)
{
    const char *wanted = undoing->how->if_match, *found = changes_revision(&undoing->changes);
    if (!wanted || strcmp(wanted, found) == 0)
        return ETHOS_OK;
    undoing->stuck = true;
    return update_moved(undoing->target->key, found, error);
}

static int undo_once(struct undoing *undoing, struct ethos_error *error)
{
    struct pending pending = {0};
    struct ethos_text *now = &undoing->changes.now;
    str_clear(&undoing->undoes);
    undoing->taken = 0;
    bool dry = undoing->how->flags & ETHOS_SYNC_DRY_RUN;
    int code = changes_load(undoing->turn, undoing->target, dry ? CHANGES_STILL : CHANGES_PLAIN,
                            &undoing->changes, error);
    if (code == ETHOS_OK)
        code = check_match(undoing, error);
    if (code == ETHOS_OK)
        code = set_text(undoing, view_of(now->data, now->size), changes_revision(&undoing->changes),
                        error);
    if (code == ETHOS_OK)
        code = take_all(undoing, &pending, error);
    if (code == ETHOS_OK)
        code = put(undoing, error);
    free(pending.numbers);
    changes_release(undoing->turn, &undoing->changes);
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
    int code = handle_aim(turn, target, true, &aimed, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&undoing.text, ETHOS_MAX_STORE_BYTES);
    str_init(&undoing.undoes, SIZE_MAX);
    for (int round = 0; round < ROUNDS; round++) {
        code = undo_once(&undoing, error);
        if (code != ETHOS_CONFLICT || undoing.stuck)
            break;
    }
    str_release(&undoing.text);
    str_release(&undoing.undoes);
    return code;
}

/* ---- every file of a scope ------------------------------------------------------------------ */

/*
 * The keys with changes that a filter names, as a set: the one that changed last comes first. The
 * archive is none: it only grows, so that nothing is lost whatever becomes of the files.
 */
struct keys {
    const char *scope;
    const struct ethos_filter *filter;
    json_t *set;
};

static int note_key(void *arg, const struct ethos_change *change)
{
    struct keys *keys = arg;
    if (!history_matches(keys->filter, change) || json_object_get(keys->set, change->key) ||
        !scope_key_shown(keys->scope, change->key))
        return ETHOS_OK;
    return json_object_set_new(keys->set, change->key, json_true()) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

static int find_keys(struct ethos_turn *turn, const char *scope, const struct ethos_filter *filter,
                     json_t **out_set, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    struct keys keys = {scope, filter, json_object()};
    *out_set = keys.set;
    int code = keys.set ? provider->ops->history(provider, scope, NULL, note_key, &keys, error)
                        : ETHOS_NOMEM;
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Has edits made outside recorded: a file that was deleted by hand is to come back, too. */
static int settle_keys(struct ethos_turn *turn, const char *scope, struct ethos_error *error)
{
    json_t *set;
    const char *key;
    json_t *value;
    struct ethos_provider *provider = turn->provider;
    if (!provider->ops->settle)
        return ETHOS_OK;
    int code = find_keys(turn, scope, &newest_one, &set, error);
    if (code == ETHOS_OK)
        json_object_foreach (set, key, value)
            provider->ops->settle(provider, scope, key, NULL);
    json_decref(set);
    return code;
}

/* Whether what failed for one file would fail for the next one, too. */
static bool ends_all(int code)
{
    return code == ETHOS_IO || code == ETHOS_BUSY || code == ETHOS_NOMEM;
}

/* A file whose later changes stand in the way, or whose history is damaged, does not hold up the others. */
static int undo_keys(struct ethos_turn *turn, const char *scope, json_t *set,
                     const struct ethos_filter *filter, const struct ethos_sync_how *how,
                     struct ethos_error *error)
{
    const char *key;
    json_t *value;
    int first = ETHOS_OK;
    size_t done = 0, stuck = 0;
    json_object_foreach (set, key, value) {
        struct ethos_error why = {0};
        const struct ethos_target target = {NULL, scope, key};
        int code = ethos_undo(turn, &target, filter, how, &why);
        done += code == ETHOS_OK;
        if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
            continue;
        if (stuck++ == 0)
            first = code;
        if (error && (stuck == 1 || ends_all(code)))
            *error = why;
        if (ends_all(code))
            return code;
    }
    if (stuck > 1)
        err_hint(error, first, "%zu files stay as they are; --key FILE tells of each why", stuck);
    if (stuck > 0)
        return first;
    return done > 0 ? ETHOS_OK : err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", scope);
}

int undo_all(struct ethos_turn *turn, const char *scope, const struct ethos_filter *filter,
             const struct ethos_sync_how *how, struct ethos_error *error)
{
    json_t *set = NULL;
    int code = changes_need(turn, turn->provider->ops->history, error);
    if (code == ETHOS_OK && !names_some(filter))
        code = err_hint(error, err_set(error, ETHOS_INVALID, "'all' needs to know which changes"),
                        "say --since, --until, --actor, --session or --source");
    if (code == ETHOS_OK && !(how->flags & ETHOS_SYNC_DRY_RUN))
        code = settle_keys(turn, scope, error);
    if (code == ETHOS_OK)
        code = find_keys(turn, scope, filter, &set, error);
    if (code == ETHOS_OK)
        code = undo_keys(turn, scope, set, filter, how, error);
    json_decref(set);
    return code;
}
