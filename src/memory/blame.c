/*
 * blame.c: who wrote a line, when, how, and what stood there before.
 */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/blame.h"
#include "core/diff.h"
#include "memory/changes.h"

static int finish_step(int code, const struct scope_target *target, struct ethos_error *error)
{
    if (code == ETHOS_INVALID)
        return err_set(error, ETHOS_CORRUPT, "%s: its history holds a broken diff", target->key);
    return code == ETHOS_OK ? code : err_nomem(error);
}

/* A diff that was cut is made again from the two versions. */
static int step_back(struct ethos_turn *turn, const struct scope_target *target,
                     struct blame *blame, const struct changes *changes, size_t index,
                     struct ethos_error *error)
{
    const struct ethos_change *change = &changes->items[index];
    struct ethos_text before = {0}, after = {0};
    struct str diff;
    int code = change->diff_whole ? blame_step(blame, change->diff, index) : ETHOS_NOTFOUND;
    if (code != ETHOS_NOTFOUND)
        return finish_step(code, target, error);
    str_init(&diff, SIZE_MAX);
    code = changes_text(turn, target, change->before, &before, error);
    if (code == ETHOS_OK)
        code = changes_text(turn, target, change->after, &after, error);
    if (code == ETHOS_OK && diff_unified(view_of(before.data, before.size),
                                         view_of(after.data, after.size), "", &diff) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = finish_step(blame_step(blame, str_view(&diff), index), target, error);
    str_release(&diff);
    changes_free(turn, &before);
    changes_free(turn, &after);
    return code;
}

/* Follows the chain of versions back from the text; what does not belong to it is passed over. */
static int walk_back(struct ethos_turn *turn, const struct scope_target *target,
                     struct blame *blame, const struct changes *changes, struct ethos_error *error)
{
    const char *revision = changes_revision(changes);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && blame->open > 0 && i < changes->count; i++) {
        const struct ethos_change *change = &changes->items[i];
        if (!changes_real(change) || strcmp(change->after, revision) != 0)
            continue;
        code = step_back(turn, target, blame, changes, i, error);
        revision = change->before;
    }
    return code;
}

static int tell(const struct blame *blame, const struct changes *changes, uint64_t line,
                ethos_blame_fn *each, void *arg)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < blame->count; i++) {
        const struct blame_line *found = &blame->lines[i];
        const struct ethos_blame told = {
            i + 1, found->text,
            found->change == BLAME_NOBODY ? NULL : &changes->items[found->change], found->replaced};
        if (line == 0 || line == told.line)
            code = each(arg, &told);
    }
    return code;
}

int ethos_blame(struct ethos_turn *turn, const struct ethos_target *target, uint64_t line,
                ethos_blame_fn *each, void *arg, struct ethos_error *error)
{
    struct scope_target aimed;
    struct changes changes;
    struct blame blame;
    int code = handle_aim(turn, target, false, &aimed, error);
    if (code != ETHOS_OK)
        return code;
    code = changes_load(turn, &aimed, CHANGES_DIFFS, &changes, error);
    if (code == ETHOS_OK &&
        blame_init(&blame, &changes.arena, view_of(changes.now.data, changes.now.size)))
        code = err_nomem(error);
    if (code == ETHOS_OK && line > blame.count)
        code = err_set(error, ETHOS_NOTFOUND, "%s: has no line %" PRIu64, aimed.key, line);
    if (code == ETHOS_OK)
        code = walk_back(turn, &aimed, &blame, &changes, error);
    if (code == ETHOS_OK)
        code = tell(&blame, &changes, line, each, arg);
    changes_release(turn, &changes);
    return code;
}
