/*
 * blame.c: who wrote each line, when, how, and what it replaced.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/history/blame.h"
#include "memory/history/blame.h"
#include "memory/history/changes.h"

static int finish_step(int code, const struct scope_target *target, struct ethos_error *error)
{
    if (code == ETHOS_INVALID)
        return err_set(error, ETHOS_CORRUPT, "%s: its history holds a broken diff", target->key);
    return code == ETHOS_OK ? code : err_nomem(error);
}

/*
 * The text of the current step, if known: a change whose diff was cut leaves the text before it,
 * which the next step starts from.
 */
struct reached {
    struct ethos_text text;
    const char *revision; /* NULL: not known */
};

/* Recomputes a diff that was cut from the two versions. */
static int step_texts(struct ethos_turn *turn, const struct scope_target *target,
                      struct blame *blame, const struct changes *changes, size_t index,
                      struct reached *reached, struct ethos_error *error)
{
    const struct ethos_change *change = &changes->items[index];
    struct ethos_text before = {0}, *after = &reached->text;
    int code = changes_text(turn, target, change->before, &before, error);
    if (code == ETHOS_OK && !reached->revision)
        code = changes_text(turn, target, change->after, after, error);
    if (code == ETHOS_OK)
        code = finish_step(blame_step_texts(blame, view_of(before.data, before.size),
                                            view_of(after->data, after->size), (uint32_t)index),
                           target, error);
    changes_free(turn, after);
    *reached = (struct reached){before, change->before};
    return code;
}

static int step_back(struct ethos_turn *turn, const struct scope_target *target,
                     struct blame *blame, const struct changes *changes, size_t index,
                     struct reached *reached, struct ethos_error *error)
{
    const struct ethos_change *change = &changes->items[index];
    if (!change->diff_whole)
        return step_texts(turn, target, blame, changes, index, reached, error);
    changes_free(turn, &reached->text);
    reached->revision = NULL;
    return finish_step(blame_step(blame, change->diff, (uint32_t)index), target, error);
}

/* Follows the versions back from the current text; other changes are skipped. */
static int walk_back(struct ethos_turn *turn, const struct scope_target *target,
                     struct blame *blame, const struct changes *changes, struct ethos_error *error)
{
    const char *revision = changes_revision(changes);
    struct reached reached = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && blame->open > 0 && i < changes->count; i++) {
        const struct ethos_change *change = &changes->items[i];
        if (!changes_real(change) || strcmp(change->after, revision) != 0)
            continue;
        code = step_back(turn, target, blame, changes, i, &reached, error);
        revision = change->before;
    }
    changes_free(turn, &reached.text);
    return code;
}

static int report_lines(const struct blame *blame, const struct changes *changes,
                        ethos_blame_fn *each, void *arg)
{
    struct ethos_view rest = blame->rest, text;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < blame->count && view_line(&rest, &text); i++) {
        const struct blame_line *line = &blame->lines[i];
        const struct ethos_blame found = {
            blame->first + i, text,
            line->change == BLAME_NOBODY ? NULL : &changes->items[line->change],
            blame_replaced(blame, line)};
        code = each(arg, &found);
    }
    return code;
}

int blame_lines(struct ethos_turn *turn, const struct ethos_target *target, size_t first,
                size_t most, ethos_blame_fn *each, void *arg, size_t *out_total,
                struct ethos_error *error)
{
    struct scope_target aimed;
    struct changes changes;
    struct blame blame = {0};
    TRY(handle_aim(turn, target, false, &aimed, error));
    int code = changes_load(turn, &aimed, CHANGES_DIFFS, &changes, error);
    if (code == ETHOS_OK &&
        blame_init(&blame, &changes.arena, view_of(changes.now.data, changes.now.size), first,
                   most ? most : 1))
        code = err_nomem(error);
    if (code == ETHOS_OK && first > blame.total && (first > 1 || most == 0))
        code = err_set(error, ETHOS_NOTFOUND, "%s: has no line %zu", aimed.key, first);
    if (code == ETHOS_OK)
        code = walk_back(turn, &aimed, &blame, &changes, error);
    if (code == ETHOS_OK)
        code = report_lines(&blame, &changes, each, arg);
    if (code == ETHOS_OK && out_total)
        *out_total = blame.total;
    blame_release(&blame);
    changes_release(turn, &changes);
    return code;
}

int ethos_blame(struct ethos_turn *turn, const struct ethos_target *target, uint64_t line,
                ethos_blame_fn *each, void *arg, struct ethos_error *error)
{
    return blame_lines(turn, target, line ? line : 1, line ? 0 : SIZE_MAX, each, arg, NULL, error);
}
