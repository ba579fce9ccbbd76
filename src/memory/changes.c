/*
 * changes.c: the recorded changes of one key, loaded for looking back.
 */
#include "memory/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"

#define NAME_DIGITS 6 /* of a revision, at least, to name it */
#define HASH_PREFIX "sha256:"

int changes_need(const struct ethos_turn *turn, bool has, struct ethos_error *error)
{
    return has ? ETHOS_OK
               : err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider keeps no history",
                         turn->provider->ops->name);
}

/* ---- loading -------------------------------------------------------------------------------- */

static bool grow(struct changes *changes)
{
    struct ethos_change *items = arena_grow(&changes->arena, changes->items, changes->count,
                                            &changes->capacity, sizeof *items);
    if (items)
        changes->items = items;
    return items;
}

/* Replaces a string by its copy. */
static bool keep(struct arena *arena, const char **string)
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
    bool ok = keep(arena, &own->key) && keep(arena, &own->actions) && keep(arena, &own->source) &&
              keep(arena, &own->via) && keep(arena, &own->actor) && keep(arena, &own->session) &&
              keep(arena, &own->session_key) && keep(arena, &own->user) &&
              keep(arena, &own->op_id) && keep(arena, &own->event) && keep(arena, &own->undoes) &&
              keep(arena, &own->before) && keep(arena, &own->after);
    own->diff.data = with_diff ? arena_copy(arena, change->diff) : NULL;
    if (!own->diff.data)
        own->diff.size = 0;
    return ok && (!with_diff || own->diff.data) ? ETHOS_OK : ETHOS_NOMEM;
}

static int keep_change(void *arg, const struct ethos_change *change)
{
    struct changes *changes = arg;
    if (!grow(changes))
        return ETHOS_NOMEM;
    int code = changes_copy(&changes->arena, change, changes->with_diffs,
                            &changes->items[changes->count]);
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

int changes_load(struct ethos_turn *turn, const struct scope_target *target, int what,
                 struct changes *out, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_provider_ops *ops = provider->ops;
    *out = (struct changes){.with_diffs = what == CHANGES_DIFFS};
    arena_init(&out->arena);
    int code = changes_need(turn, ops->history && ops->version && ops->read, error);
    if (code != ETHOS_OK)
        return code;
    if (ops->settle && what != CHANGES_STILL)
        ops->settle(provider, target->scope, target->key, NULL);
    code = read_now(turn, target, &out->now, error);
    if (code != ETHOS_OK)
        return code;
    code = ops->history(provider, target->scope, target->key, keep_change, out, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

void changes_release(struct ethos_turn *turn, struct changes *changes)
{
    changes_free(turn, &changes->now);
    arena_release(&changes->arena);
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

/* The text that stands now may be one that no change names yet. */
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

static const struct ethos_change *find_number(const struct changes *changes, const char *name)
{
    char *end;
    const char *digits = name + (*name == '#');
    unsigned long long number = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || number == 0)
        return NULL;
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].number == number)
            return &changes->items[i];
    return NULL;
}

/* Takes revision into *found when the name fits it; false when it fits another one already. */
static bool fit(struct ethos_view name, const char *revision, const char **found)
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
    bool one = fit(name, changes_revision(changes), found);
    for (size_t i = 0; one && i < changes->count; i++)
        one = fit(name, changes->items[i].after, found) &&
              fit(name, changes->items[i].before, found);
    return one;
}

int changes_resolve(const struct changes *changes, const char *key, const char *name,
                    const char **out_revision, struct ethos_error *error)
{
    const char *found = NULL;
    struct ethos_view digits = digits_of(view_str(name));
    const struct ethos_change *change = find_number(changes, name);
    if (change)
        found = change->after;
    else if (digits.size >= NAME_DIGITS && !find_revision(changes, digits, &found))
        return err_hint(
            error, err_set(error, ETHOS_INVALID, "%s: several versions are called %s", key, name),
            "use more of its digits");
    if (!found)
        return err_hint(error, err_set(error, ETHOS_NOTFOUND, "%s: no such version: %s", key, name),
                        "ethos memory history lists them");
    *out_revision = found;
    return ETHOS_OK;
}
