/*
 * history.c: the changes of a file, its versions, bringing one back, and forgetting for good.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "memory/changes.h"
#include "memory/notes_check.h"
#include "memory/offline.h"

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
           (!filter->until_ms || change->time_ms <= filter->until_ms);
}

/* A walk that passes on what the filter names. stop is what it returns to end itself. */
struct walk {
    const struct ethos_filter *filter;
    ethos_change_fn *each;
    void *arg;
    uint64_t count;
    bool full;
};

enum { STOP = 1 };

static int pass(void *arg, const struct ethos_change *change)
{
    struct walk *walk = arg;
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
    struct walk walk = {filter ? filter : &everything, each, arg, 0, false};
    int code = handle_aim(turn, target, false, &aimed, error);
    if (code == ETHOS_OK)
        code = changes_need(turn, provider->ops->history, error);
    if (code != ETHOS_OK)
        return code;
    if (provider->ops->settle)
        provider->ops->settle(provider, aimed.scope, aimed.key, NULL);
    code = provider->ops->history(provider, aimed.scope, aimed.key, pass, &walk, error);
    return code == STOP && walk.full ? ETHOS_OK : code;
}

/* ---- versions ------------------------------------------------------------------------------- */

/* The text that a name means; data NULL when the file did not exist then. */
static int find_text(struct ethos_turn *turn, const struct scope_target *target, int what,
                     const char *name, struct ethos_text *out_text, struct ethos_error *error)
{
    struct changes changes;
    const char *revision;
    int code = changes_load(turn, target, what, &changes, error);
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

/* ---- forgetting ----------------------------------------------------------------------------- */

static int check_needle(struct ethos_view needle, struct ethos_error *error)
{
    if (view_blank(needle))
        return err_set(error, ETHOS_INVALID, "nothing to forget: the text is blank");
    if (memchr(needle.data, '\n', needle.size) || memchr(needle.data, 0, needle.size))
        return err_set(error, ETHOS_INVALID, "what is to be forgotten must be one line");
    return ETHOS_OK;
}

int service_forget_kept(struct ethos *self, const char *scope, struct ethos_view needle,
                        bool dry_run, uint64_t *calls, struct ethos_error *error)
{
    const struct ethos_setup setup = {
        .host = self->host, .root = self->root, .deadline_ms = self->wait_ms};
    return offline_forget(&setup, scope, needle, dry_run, calls, error);
}

/*
 * What waits is cleansed first: who has sent a password to a backend that is out of reach can take it back
 * before it gets there. And once more, for what was put or put aside meanwhile.
 */
static int forget_all(struct ethos *self, struct ethos_provider *provider, const char *scope,
                      struct ethos_view needle, bool dry_run, const struct ethos_origin *origin,
                      struct ethos_purge *purge, struct ethos_error *error)
{
    uint64_t calls = 0;
    int code = service_forget_kept(self, scope, needle, dry_run, &calls, error);
    if (code == ETHOS_OK)
        code = provider->ops->purge(provider, scope, needle, dry_run, origin, purge, error);
    if (code == ETHOS_OK && !dry_run)
        code = service_forget_kept(self, scope, needle, dry_run, &calls, error);
    else if (code == ETHOS_BUSY && calls > 0 && !dry_run)
        err_hint(error, code, "only %llu calls that waited here were rid of it; try again later",
                 (unsigned long long)calls);
    purge->calls = calls;
    return code;
}

int ethos_forget(struct ethos_turn *turn, const struct ethos_target *target,
                 struct ethos_view needle, const struct ethos_sync_how *how,
                 struct ethos_purge *out_purge, struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_purge purge = {0};
    struct ethos_provider *provider = turn->provider;
    int code = check_needle(needle, error);
    if (code == ETHOS_OK)
        code = handle_aim(turn, target, true, &aimed, error);
    if (code == ETHOS_OK && !provider->ops->purge)
        code = err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider cannot forget",
                       provider->ops->name);
    if (!how)
        how = &plain_how;
    bool dry_run = how->flags & ETHOS_SYNC_DRY_RUN;
    if (code == ETHOS_OK)
        code = forget_all(turn->ethos, provider, aimed.scope, needle, dry_run, how->origin, &purge,
                          error);
    if (code == ETHOS_OK && !dry_run && !scope_is_tree(aimed.scope))
        code = notes_check_forget(turn, aimed.scope, error); // it quotes words of the notes
    if (code != ETHOS_OK)
        return code;
    if (purge.lines + purge.versions + purge.blobs + purge.conflicts + purge.calls == 0)
        return err_set(error, ETHOS_NOTFOUND, "%s: nothing holds this text", aimed.scope);
    *out_purge = purge;
    return ETHOS_OK;
}
