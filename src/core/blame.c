/*
 * blame.c: which change put each line of a text there.
 *
 * Lines that are not settled keep their order however far back one goes, so a step passes over the
 * lines and the hunks of the diff side by side, once.
 */
#include "core/blame.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/patch.h"

int blame_init(struct blame *blame, struct arena *arena, struct ethos_view text)
{
    struct ethos_view rest = text, line;
    size_t count = 0;
    while (view_line(&rest, &line))
        count++;
    *blame = (struct blame){arena, arena_array(arena, count, sizeof *blame->lines), count, count};
    if (count && !blame->lines)
        return ETHOS_NOMEM;
    for (size_t i = 0; view_line(&text, &line); i++)
        blame->lines[i] = (struct blame_line){line, BLAME_NOBODY, {0}, i + 1};
    return ETHOS_OK;
}

/* A step in progress: line `next` is the first that was not passed yet. */
struct step {
    struct blame *blame;
    size_t change;
    size_t next;
    size_t old_line, new_line; /* numbers of the lines that come next in the two texts */
    struct str gone;           /* lines taken out where the walk stands */
};

/* The first open line from next on; NULL when there is none. */
static struct blame_line *peek(struct step *step)
{
    struct blame *blame = step->blame;
    while (step->next < blame->count && blame->lines[step->next].change != BLAME_NOBODY)
        step->next++;
    return step->next < blame->count ? &blame->lines[step->next] : NULL;
}

/* Lines before new_line stand outside the hunks: they only move. */
static void skip_to(struct step *step, size_t new_line)
{
    struct blame_line *line;
    while ((line = peek(step)) && line->at < new_line) {
        line->at = line->at - step->new_line + step->old_line;
        step->next++;
    }
}

static int settle(struct step *step, struct blame_line *line)
{
    line->change = step->change;
    step->blame->open--;
    step->next++;
    if (step->gone.size == 0)
        return ETHOS_OK;
    line->replaced = view_of(arena_copy(step->blame->arena, str_view(&step->gone)),
                             step->gone.size);
    return line->replaced.data ? ETHOS_OK : ETHOS_NOMEM;
}

static int pass_line(struct step *step, const struct patch_line *shown)
{
    struct blame_line *line = peek(step);
    bool met = line && line->at == step->new_line && shown->marker != '-';
    int code = ETHOS_OK;
    if (shown->marker == '-') {
        code = str_add(&step->gone, shown->text);
    } else if (shown->marker == '+') {
        code = met ? settle(step, line) : ETHOS_OK;
    } else {
        str_clear(&step->gone);
        if (met) {
            line->at = step->old_line;
            step->next++;
        }
    }
    step->old_line += shown->marker != '+';
    step->new_line += shown->marker != '-';
    return code;
}

static int pass_hunk(struct step *step, const struct patch_hunk *hunk)
{
    struct ethos_view lines = hunk->lines;
    struct patch_line line;
    int code = ETHOS_OK;
    size_t new_line = hunk->new_start + (hunk->new_count == 0);
    skip_to(step, new_line);
    step->new_line = new_line;
    step->old_line = hunk->old_start + (hunk->old_count == 0);
    str_clear(&step->gone);
    while (code == ETHOS_OK && patch_line(&lines, &line))
        code = pass_line(step, &line);
    return code;
}

int blame_step(struct blame *blame, struct ethos_view diff, size_t change)
{
    struct step step = {.blame = blame, .change = change, .old_line = 1, .new_line = 1};
    struct patch_hunk hunk;
    int code = ETHOS_OK;
    str_init(&step.gone, SIZE_MAX);
    while (code == ETHOS_OK && diff.size > 0 && (code = patch_next(&diff, &hunk)) == ETHOS_OK)
        code = pass_hunk(&step, &hunk);
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        skip_to(&step, SIZE_MAX);
    str_release(&step.gone);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}
