/*
 * change_filter.c: changes in the folder that nobody meant for the backend: many files missing at
 * once, temporary files of editors, unresolved merges.
 */
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/mirror/internal.h"

/* ---- files that are gone --------------------------------------------------------------------- */

static size_t removed_lately(const struct mirror *self)
{
    return os_monotonic_ms() - self->removed_ms < MIRROR_SPELL_MS ? self->removed : 0;
}

void guard_note(struct mirror *self)
{
    self->removed = removed_lately(self) + 1;
    self->removed_ms = os_monotonic_ms();
}

bool guard_allows(struct mirror *self)
{
    return self->deletions > 0 && self->deletions--;
}

static bool misses_any(const struct mirror *self, const struct mirror_scope *scope,
                       const struct mirror_state *state)
{
    const char *key;
    json_t *revision;
    json_object_foreach (state->keys, key, revision)
        if (!folder_has(self, scope->scope, key))
            return true;
    return false;
}

/* Waits until no more files disappear. */
static int count_files(const struct mirror *self, size_t *out_known, size_t *out_there,
                       struct ethos_error *error)
{
    size_t before = SIZE_MAX;
    int code = ETHOS_OK;
    *out_known = *out_there = 0;
    while (code == ETHOS_OK && *out_there != before && !mirror_stopped(self)) {
        before = *out_there;
        code = folder_count(self, out_known, out_there, error);
        os_sleep_ms(self->how.quiet_ms ? self->how.quiet_ms : MIRROR_QUIET_MS);
    }
    return code;
}

/* An accident, a mistake or another branch, which must not reach everyone who uses the backend. */
static bool is_too_much(const struct mirror *self, size_t known, size_t there)
{
    size_t lately = removed_lately(self), gone = known - there + lately;
    return !self->how.deletes && (gone > MIRROR_MANY || gone * 2 > known + lately);
}

static int refill_scope(struct mirror *self, const struct mirror_scope *scope,
                        struct mirror_state *state, const struct mirror_event *event,
                        struct ethos_error *error)
{
    TRY(folder_forget_missing(self, error));
    mirror_report(self, event);
    state_release(state);
    return state_load(self, scope, state, error);
}

int guard_deletions(struct mirror *self, const struct mirror_scope *scope,
                    struct mirror_state *state, struct ethos_error *error)
{
    size_t known, there;
    if (!self->how.two_way || self->guarded || !misses_any(self, scope, state))
        return ETHOS_OK;
    int code = count_files(self, &known, &there, error);
    if (code != ETHOS_OK || mirror_stopped(self))
        return code;
    const struct mirror_event event = {.kind = MIRROR_REFILLED,
                                       .backend = scope->source->name,
                                       .gone = known - there,
                                       .known = known};
    self->guarded = true;
    if (event.gone > 0 && is_too_much(self, known, there))
        return refill_scope(self, scope, state, &event, error);
    self->deletions = event.gone;
    return ETHOS_OK;
}

/* ---- files that are no texts ----------------------------------------------------------------- */

bool guard_is_litter(const char *key)
{
    const char *slash = strrchr(key, '/');
    struct ethos_view name = view_str(slash ? slash + 1 : key);
    return view_ends(name, VIEW("~")) || (name.data[0] == '#' && view_ends(name, VIEW("#"))) ||
           view_contains(name, VIEW(".sync-conflict-"));
}

bool guard_is_fresh(const struct mirror *self, const char *path)
{
    struct stat info;
    if (!self->watch || os_fstatat(self->dir, path, &info, 0) != 0)
        return false;
    int64_t age_ms = service_now_ms(self->ethos) - (int64_t)info.st_ctim.tv_sec * 1000 -
                     info.st_ctim.tv_nsec / 1000000;
    return age_ms >= 0 && age_ms < MIRROR_FRESH_MS; // a clock that was set back delays nothing
}

bool guard_is_unmerged(struct ethos_view text)
{
    static const char *const marks[] = {"<<<<<<< ", "=======", ">>>>>>> "};
    size_t met = 0;
    struct ethos_view line;
    while (met < sizeof marks / sizeof *marks && view_line(&text, &line))
        met += view_starts(line, view_str(marks[met]));
    return met == sizeof marks / sizeof *marks;
}
