/*
 * changes.c: loads the recorded changes of one key, for history, undo and blame.
 */
#include "memory/history/changes.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "memory/provider/missing_slots.h"

#define NAME_DIGITS 6 /* minimum digits that name a revision */
#define HASH_PREFIX "sha256:"

int changes_need(const struct ethos_turn *turn, bool has, struct ethos_error *error)
{
    return has ? ETHOS_OK
               : err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider keeps no history",
                         turn->provider->ops->name);
}

/* ---- loading -------------------------------------------------------------------------------- */

static bool grow_changes(struct changes *changes)
{
    struct ethos_change *items = arena_grow(&changes->arena, changes->items, changes->count,
                                            &changes->capacity, sizeof *items);
    if (items)
        changes->items = items;
    return items;
}

/* Replaces a string by its copy. */
static bool copy_string_into(struct arena *arena, const char **string)
{
    const char *copy = arena_str(arena, *string);
    bool ok = copy || !*string;
    *string = copy;
    return ok;
}

int changes_copy(struct arena *arena, const struct ethos_change *change, bool with_diff,
                 struct ethos_change *own)
{
    *own = *change;
    bool ok = copy_string_into(arena, &own->key) && copy_string_into(arena, &own->actions) &&
              copy_string_into(arena, &own->source) && copy_string_into(arena, &own->via) &&
              copy_string_into(arena, &own->actor) && copy_string_into(arena, &own->session) &&
              copy_string_into(arena, &own->session_key) && copy_string_into(arena, &own->user) &&
              copy_string_into(arena, &own->op_id) && copy_string_into(arena, &own->event) &&
              copy_string_into(arena, &own->undoes) && copy_string_into(arena, &own->before) &&
              copy_string_into(arena, &own->after) && copy_string_into(arena, &own->trust) &&
              copy_string_into(arena, &own->approved_by) &&
              copy_string_into(arena, &own->edited_from);
    own->diff.data = with_diff ? arena_copy(arena, change->diff) : NULL;
    if (!own->diff.data)
        own->diff.size = 0;
    return ok && (!with_diff || own->diff.data) ? ETHOS_OK : ETHOS_NOMEM;
}

/* The strings of a change that usually equal those of the next one. */
static const size_t usual[] = {
    offsetof(struct ethos_change, key),    offsetof(struct ethos_change, actions),
    offsetof(struct ethos_change, source), offsetof(struct ethos_change, via),
    offsetof(struct ethos_change, actor),  offsetof(struct ethos_change, session),
    offsetof(struct ethos_change, user),   offsetof(struct ethos_change, session_key),
    offsetof(struct ethos_change, trust),
};

/* Neighbours share equal strings, so that a change costs little more than its two revisions. */
static void share_strings(const struct ethos_change *newer, struct ethos_change *change,
                          struct ethos_change *out_shared)
{
    *out_shared = (struct ethos_change){0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const char *theirs = *(const char *const *)(const void *)((const char *)newer + usual[i]);
        const char **own = (const char **)(void *)((char *)change + usual[i]);
        if (!*own || !theirs || strcmp(*own, theirs) != 0)
            continue;
        *(const char **)(void *)((char *)out_shared + usual[i]) = theirs;
        *own = NULL;
    }
    if (strcmp(newer->before, change->after) == 0) {
        out_shared->after = newer->before;
        change->after = NULL;
    }
}

static void reuse_shared_strings(const struct ethos_change *shared, struct ethos_change *change)
{
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const char *string = *(const char *const *)(const void *)((const char *)shared + usual[i]);
        if (string)
            *(const char **)(void *)((char *)change + usual[i]) = string;
    }
    if (shared->after)
        change->after = shared->after;
}

static int add_change_copy(void *arg, const struct ethos_change *told)
{
    struct changes *changes = arg;
    struct ethos_change shared = {0}, change = *told;
    if (!grow_changes(changes))
        return ETHOS_NOMEM;
    if (changes->count > 0)
        share_strings(&changes->items[changes->count - 1], &change, &shared);
    bool with_diff = changes->with_diffs && change.diff_whole &&
                     change.diff.size <= CHANGES_DIFF_BYTES - changes->diff_bytes;
    int code = changes_copy(&changes->arena, &change, with_diff, &changes->items[changes->count]);
    reuse_shared_strings(&shared, &changes->items[changes->count]);
    if (changes->with_diffs)
        changes->items[changes->count].diff_whole = with_diff;
    changes->diff_bytes += with_diff ? change.diff.size : 0;
    changes->count += code == ETHOS_OK;
    return code;
}

static int read_now(struct ethos_turn *turn, const struct scope_target *target,
                    struct ethos_text *out_text, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = turn->provider;
    int code = provider->ops->read(provider, target->scope, target->key, &whole, out_text, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

int changes_refresh(struct ethos_turn *turn, const struct scope_target *target,
                    struct changes *changes, struct ethos_error *error)
{
    changes_free(turn, &changes->now);
    return read_now(turn, target, &changes->now, error);
}

int changes_load(struct ethos_turn *turn, const struct scope_target *target, int what,
                 struct changes *out, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_provider_ops *ops = provider->ops;
    *out = (struct changes){.with_diffs = what & CHANGES_DIFFS};
    arena_init(&out->arena);
    TRY(changes_need(turn,
                     SLOT_PROVIDER(provider, history) && SLOT_PROVIDER(provider, version) &&
                         SLOT_PROVIDER(provider, read),
                     error));
    if (SLOT_PROVIDER(provider, settle) && !(what & CHANGES_STILL))
        ops->settle(provider, target->scope, target->key, NULL);
    TRY(read_now(turn, target, &out->now, error));
    int code = ops->history(provider, target->scope, target->key, add_change_copy, out, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

void changes_release(struct ethos_turn *turn, struct changes *changes)
{
    changes_free(turn, &changes->now);
    arena_release(&changes->arena);
}

/* ---- a scope -------------------------------------------------------------------------------- */

/* Links the change that was loaded last to the newer ones of its key. */
static int link_change(struct changes_scope *scope)
{
    struct changes *all = &scope->all;
    size_t index = all->count - 1;
    const char *key = all->items[index].key;
    size_t *next = arena_grow(&all->arena, scope->next, index, &scope->next_capacity, sizeof *next);
    if (!next)
        return ETHOS_NOMEM;
    scope->next = next;
    next[index] = SIZE_MAX;
    json_t *last = json_object_get(scope->last, key);
    if (last) {
        next[json_integer_value(last)] = index;
        return json_integer_set(last, (json_int_t)index) == 0 ? ETHOS_OK : ETHOS_NOMEM;
    }
    return json_object_set_new(scope->first, key, json_integer((json_int_t)index)) == 0 &&
                   json_object_set_new(scope->last, key, json_integer((json_int_t)index)) == 0
               ? ETHOS_OK
               : ETHOS_NOMEM;
}

static int add_linked_change(void *arg, const struct ethos_change *change)
{
    struct changes_scope *scope = arg;
    TRY(add_change_copy(&scope->all, change));
    return link_change(scope);
}

int changes_load_scope(struct ethos_turn *turn, const char *scope, int what,
                       struct changes_scope *out, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_provider_ops *ops = provider->ops;
    *out = (struct changes_scope){
        .all.with_diffs = what & CHANGES_DIFFS, .first = json_object(), .last = json_object()};
    arena_init(&out->all.arena);
    TRY(changes_need(turn,
                     SLOT_PROVIDER(provider, history) && SLOT_PROVIDER(provider, version) &&
                         SLOT_PROVIDER(provider, read),
                     error));
    int code = out->first && out->last
                   ? ops->history(provider, scope, NULL, add_linked_change, out, error)
                   : ETHOS_NOMEM;
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

void changes_scope_release(struct ethos_turn *turn, struct changes_scope *changes)
{
    changes_release(turn, &changes->all);
    json_decref(changes->first);
    json_decref(changes->last);
}

int changes_of_key(struct ethos_turn *turn, const struct scope_target *target,
                   const struct changes_scope *scope, struct changes *out,
                   struct ethos_error *error)
{
    const json_t *first = json_object_get(scope->first, target->key);
    *out = (struct changes){.with_diffs = scope->all.with_diffs};
    arena_init(&out->arena);
    for (size_t i = first ? (size_t)json_integer_value(first) : SIZE_MAX; i != SIZE_MAX;
         i = scope->next[i]) {
        if (!grow_changes(out))
            return err_nomem(error);
        out->items[out->count++] = scope->all.items[i];
    }
    return read_now(turn, target, &out->now, error);
}

const char *changes_revision(const struct changes *changes)
{
    return changes->now.data ? changes->now.revision : "absent";
}

bool changes_real(const struct ethos_change *change)
{
    return !change->via || strcmp(change->via, "seen") != 0;
}

/* ---- texts ---------------------------------------------------------------------------------- */

void changes_free(struct ethos_turn *turn, struct ethos_text *text)
{
    const struct ethos_host *host = turn->ethos->host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/* The current text may not be named by any change yet. */
int changes_text(struct ethos_turn *turn, const struct scope_target *target, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    if (strcmp(revision, "absent") == 0) {
        changes_free(turn, out_text);
        return ETHOS_OK;
    }
    int code = provider->ops->version(provider, target->scope, target->key, revision, out_text,
                                      error);
    if (code != ETHOS_NOTFOUND)
        return code;
    struct ethos_error ignored;
    int now = read_now(turn, target, out_text, &ignored);
    bool same = now == ETHOS_OK && out_text->data && strcmp(out_text->revision, revision) == 0;
    return same ? ETHOS_OK : code;
}

/* ---- names ---------------------------------------------------------------------------------- */

static struct ethos_view digits_of(struct ethos_view revision)
{
    bool hashed = view_starts(revision, VIEW(HASH_PREFIX));
    return hashed ? view_from(revision, strlen(HASH_PREFIX)) : revision;
}

/* The change with a number; *out_other if git merged two histories that both have it. */
static const struct ethos_change *find_number(const struct changes *changes, const char *name,
                                              const struct ethos_change **out_other)
{
    char *end;
    const struct ethos_change *found = NULL;
    const char *digits = name + (*name == '#');
    unsigned long long number = strtoull(digits, &end, 10);
    *out_other = NULL;
    if (*digits < '0' || *digits > '9' || *end || number == 0)
        return NULL;
    for (size_t i = 0; i < changes->count && !*out_other; i++) {
        if (changes->items[i].number != number)
            continue;
        if (!found)
            found = &changes->items[i];
        else if (strcmp(found->after, changes->items[i].after) != 0)
            *out_other = &changes->items[i];
    }
    return found;
}

/* Sets *found if the name matches this revision; false if it has matched another one. */
static bool match_revision_name(struct ethos_view name, const char *revision, const char **found)
{
    bool absent = strcmp(revision, "absent") == 0;
    if (absent || !view_starts(digits_of(view_str(revision)), name))
        return true;
    if (*found && strcmp(*found, revision) != 0)
        return false;
    *found = revision;
    return true;
}

static bool find_revision(const struct changes *changes, struct ethos_view name, const char **found)
{
    bool one = match_revision_name(name, changes_revision(changes), found);
    for (size_t i = 0; one && i < changes->count; i++)
        one = match_revision_name(name, changes->items[i].after, found) &&
              match_revision_name(name, changes->items[i].before, found);
    return one;
}

int changes_resolve(const struct changes *changes, const char *key, const char *name,
                    const char **out_revision, struct ethos_error *error)
{
    const char *found = NULL;
    struct ethos_view digits = digits_of(view_str(name));
    const struct ethos_change *other, *change = find_number(changes, name, &other);
    if (other)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID,
                                "%s: two changes have the number %s: %s and %s", key, name,
                                change->after, other->after),
                        "name one of them by its revision");
    if (change)
        found = change->after;
    else if (digits.size >= NAME_DIGITS && !find_revision(changes, digits, &found))
        return err_hint(
            error, err_set(error, ETHOS_INVALID, "%s: several versions are called %s", key, name),
            "use more digits");
    if (!found)
        return err_hint(error, err_set(error, ETHOS_NOTFOUND, "%s: no such version: %s", key, name),
                        "ethos memory history lists them");
    *out_revision = found;
    return ETHOS_OK;
}

int changes_check_number(const struct changes *changes, const char *key,
                         const struct ethos_filter *filter, struct ethos_error *error)
{
    const struct ethos_change *found = NULL;
    for (size_t i = 0; filter->number && i < changes->count; i++) {
        const struct ethos_change *change = &changes->items[i];
        if (!changes_real(change) || !history_matches(filter, change))
            continue;
        if (found && strcmp(found->after, change->after) != 0)
            return err_hint(
                error,
                err_set(error, ETHOS_INVALID,
                        "%s: two changes have the number %" PRIu64 ": %s and %s", key,
                        filter->number, found->after, change->after),
                "select one with --actor, --session, --since or --until of ethos memory undo");
        found = change;
    }
    return ETHOS_OK;
}
