/*
 * history.c: lists the changes of a file, reads its versions, and restores one.
 */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "memory/history/changes.h"
#include "memory/provider/missing_slots.h"

static const struct ethos_sync_how plain_how;
static const struct ethos_filter everything;

/* ---- history -------------------------------------------------------------------------------- */

static bool is_either(const char *wanted, const char *one, const char *other)
{
    return !wanted || (one && strcmp(wanted, one) == 0) || (other && strcmp(wanted, other) == 0);
}

bool history_matches(const struct ethos_filter *filter, const struct ethos_change *change)
{
    return is_either(filter->actor, change->actor, NULL) &&
           is_either(filter->session, change->session, change->session_key) &&
           is_either(filter->source, change->source, change->via) &&
           (!filter->since_ms || change->time_ms >= filter->since_ms) &&
           (!filter->until_ms || change->time_ms <= filter->until_ms) &&
           (!filter->number || change->number == filter->number);
}

/* Passes on the changes that match a filter. stop is the value that ends the walk. */
struct filtered_walk {
    const struct ethos_filter *filter;
    ethos_change_fn *each;
    void *arg;
    uint64_t count;
    bool full;
};

enum { STOP = 1 };

static int pass_matching_change(void *arg, const struct ethos_change *change)
{
    struct filtered_walk *walk = arg;
    if (!history_matches(walk->filter, change))
        return ETHOS_OK;
    int code = walk->each(walk->arg, change);
    walk->full = walk->filter->limit && ++walk->count == walk->filter->limit;
    return code == ETHOS_OK && walk->full ? STOP : code;
}

int ethos_history(struct ethos_turn *turn, const struct ethos_target *target,
                  const struct ethos_filter *filter, ethos_change_fn *each, void *arg,
                  struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_provider *provider = turn->provider;
    struct filtered_walk walk = {filter ? filter : &everything, each, arg, 0, false};
    TRY(handle_aim(turn, target, false, &aimed, error));
    TRY(changes_need(turn, SLOT_PROVIDER(provider, history), error));
    if (SLOT_PROVIDER(provider, settle))
        provider->ops->settle(provider, aimed.scope, aimed.key, NULL);
    int code = provider->ops->history(provider, aimed.scope, aimed.key, pass_matching_change, &walk,
                                      error);
    return code == STOP && walk.full ? ETHOS_OK : code;
}

/* ---- versions ------------------------------------------------------------------------------- */

static bool is_revision(const char *name)
{
    static const char prefix[] = "sha256:";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           hash_is_hex(view_str(name + sizeof prefix - 1));
}

/* Reads the version with a name; data NULL if the file did not exist then. */
static int find_text(struct ethos_turn *turn, const struct scope_target *target, int what,
                     const char *name, struct ethos_text *out_text, struct ethos_error *error)
{
    struct changes changes;
    const char *revision;
    int code = ETHOS_NOTFOUND;
    if ((what & CHANGES_STILL) && is_revision(name) && SLOT_PROVIDER(turn->provider, version) &&
        SLOT_PROVIDER(turn->provider, read)) // a whole revision needs no lookup
        code = changes_text(turn, target, name, out_text, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    code = changes_load(turn, target, what, &changes, error);
    if (code == ETHOS_OK)
        code = changes_resolve(&changes, target->key, name, &revision, error);
    if (code == ETHOS_OK)
        code = changes_text(turn, target, revision, out_text, error);
    changes_release(turn, &changes);
    return code;
}

int ethos_read_version(struct ethos_turn *turn, const struct ethos_target *target, const char *name,
                       struct ethos_file **out_file, struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_text text = {0};
    int code = handle_aim(turn, target, false, &aimed, error);
    if (code == ETHOS_OK)
        code = find_text(turn, &aimed, CHANGES_STILL, name, &text, error);
    if (code == ETHOS_OK)
        code = handle_file(turn, &aimed, text.data ? &text : NULL, out_file, error);
    changes_free(turn, &text);
    return code;
}

int ethos_restore(struct ethos_turn *turn, const struct ethos_target *target, const char *name,
                  const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_text text = {0};
    struct ethos_sync_how own = how ? *how : plain_how;
    struct ethos_origin origin = own.origin ? *own.origin : (struct ethos_origin){0};
    origin.source = origin.via = "restore";
    own.origin = &origin;
    int code = handle_aim(turn, target, true, &aimed, error);
    if (code == ETHOS_OK)
        code = find_text(turn, &aimed, CHANGES_PLAIN, name, &text, error);
    if (code == ETHOS_OK)
        code = handle_put(turn, &aimed, own.if_match, view_of(text.data, text.size), &own, error);
    changes_free(turn, &text);
    return code;
}
