/*
 * blame.c: which change put each line of a text there.
 *
 * Lines that are not settled keep their order however far back one goes, so a step passes over them and
 * the hunks of the diff side by side, once. Those that stand together are one run: what an append leaves
 * alone is one, however long the text is.
 */
#include "core/history/blame.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/history/patch.h"

#define FIRST_RUNS 64

int blame_init(struct blame *blame, struct arena *arena, struct ethos_view text, size_t first,
               size_t most)
{
    struct ethos_view line;
    *blame = (struct blame){.arena = arena, .first = first, .rest = text.data ? text : VIEW("")};
    str_init(&blame->replaced, UINT32_MAX);
    if (text.size > UINT32_MAX)
        return ETHOS_NOMEM;
    blame->total = view_lines(blame->rest);
    size_t behind = blame->total >= first ? blame->total - first + 1 : 0;
    blame->count = blame->open = behind < most ? behind : most;
    blame->lines = arena_array(arena, blame->count, sizeof *blame->lines);
    if (!blame->lines)
        return ETHOS_NOMEM;
    for (size_t i = 1; i < first && view_line(&blame->rest, &line); i++)
        continue;
    for (size_t i = 0; i < blame->count; i++)
        blame->lines[i].change = BLAME_NOBODY;
    blame->runs = calloc(1, sizeof *blame->runs);
    if (!blame->runs)
        return ETHOS_NOMEM;
    blame->run_count = blame->count > 0;
    blame->runs[0] = (struct blame_run){0, (uint32_t)blame->count, (uint32_t)first};
    return ETHOS_OK;
}

void blame_release(struct blame *blame)
{
    str_release(&blame->replaced);
    free(blame->runs);
}

struct ethos_view blame_replaced(const struct blame *blame, const struct blame_line *line)
{
    return line->replaced_size
               ? view_of(blame->replaced.data + line->replaced_at, line->replaced_size)
               : (struct ethos_view){0};
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* A step in progress. The runs before `run`, and the first lines of that one, were passed. */
struct blame_step {
    struct blame *blame;
    uint32_t change;
    size_t run, passed;
    struct blame_run *made; /* runs of the text before */
    size_t made_count, made_room;
    size_t old_line, new_line; /* numbers of the lines that come next in the two texts */
    struct ethos_view removed; /* of a diff: the lines of the hunk from the next removed one on */
    struct blame_line *last;   /* of a diff: the line that was added last, if it was settled */
};

/* The number of the next open line; SIZE_MAX when there is none. */
static size_t next_at(const struct blame_step *step)
{
    const struct blame *blame = step->blame;
    return step->run < blame->run_count ? blame->runs[step->run].at + step->passed : SIZE_MAX;
}

static void pass_lines(struct blame_step *step, size_t count)
{
    step->passed += count;
    if (step->passed == step->blame->runs[step->run].count) {
        step->run++;
        step->passed = 0;
    }
}

/* Passes lines of a run, which stand from `at` on in the text before. */
static int pass_same_lines(struct blame_step *step, size_t count, size_t at)
{
    struct blame *blame = step->blame;
    const struct blame_run *from = &blame->runs[step->run];
    struct blame_run run = {(uint32_t)(from->index + step->passed), (uint32_t)count, (uint32_t)at};
    struct blame_run *last = step->made_count > 0 ? &step->made[step->made_count - 1] : NULL;
    pass_lines(step, count);
    if (last && last->index + last->count == run.index && last->at + last->count == run.at) {
        last->count += run.count;
        return ETHOS_OK;
    }
    if (step->made_count == step->made_room) {
        size_t room = step->made_room ? 2 * step->made_room : FIRST_RUNS;
        struct blame_run *made = realloc(step->made, room * sizeof *made);
        if (!made)
            return ETHOS_NOMEM;
        step->made = made;
        step->made_room = room;
    }
    step->made[step->made_count++] = run;
    return ETHOS_OK;
}

/* Lines before new_line stand outside the hunks: they only move. */
static int skip_to_line(struct blame_step *step, size_t new_line)
{
    int code = ETHOS_OK;
    for (size_t at; code == ETHOS_OK && (at = next_at(step)) < new_line;) {
        size_t left = step->blame->runs[step->run].count - step->passed;
        size_t count = left < new_line - at ? left : new_line - at;
        code = pass_same_lines(step, count, at - step->new_line + step->old_line);
    }
    return code;
}

/* The next open line belongs to the change. */
static struct blame_line *settle_line(struct blame_step *step)
{
    struct blame *blame = step->blame;
    struct blame_line *line = &blame->lines[blame->runs[step->run].index + step->passed];
    line->change = step->change;
    blame->open--;
    pass_lines(step, 1);
    return line;
}

/* What is behind the hunks only moves; then the runs are those of the text before. code: of the hunks. */
static int end_step(struct blame_step *step, int code)
{
    struct blame *blame = step->blame;
    if (code == ETHOS_OK)
        code = skip_to_line(step, SIZE_MAX);
    if (code != ETHOS_OK) {
        free(step->made);
        return code;
    }
    free(blame->runs);
    blame->runs = step->made;
    blame->run_count = step->made_count;
    return ETHOS_OK;
}

/* Bytes of text that there is room for, up to the end of a character. */
static size_t fitting(struct ethos_view text, size_t room)
{
    size_t size = text.size < room ? text.size : room;
    while (size < text.size && size > 0 && (text.data[size] & 0xC0) == 0x80)
        size--;
    return size;
}

/* Adds to what a line replaced, which nothing was added behind since. */
static int add_replaced(struct blame *blame, struct blame_line *line, struct ethos_view text)
{
    size_t size = fitting(text, BLAME_REPLACED_BYTES - line->replaced_size);
    if (line->replaced_size == 0)
        line->replaced_at = (uint32_t)blame->replaced.size;
    line->replaced_size += (uint32_t)size;
    return str_add(&blame->replaced, view_of(text.data, size)) == ETHOS_OK ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- by a diff ------------------------------------------------------------------------------- */

/* The next line that was removed where the walk stands. */
static bool next_removed(struct blame_step *step, struct ethos_view *out)
{
    struct ethos_view rest = step->removed;
    struct patch_line line;
    if (!rest.data || !patch_line(&rest, &line) || line.marker != '-')
        return false;
    step->removed = rest;
    *out = line.text;
    return true;
}

static int pass_added(struct blame_step *step)
{
    struct ethos_view text;
    bool met = next_at(step) == step->new_line, any = next_removed(step, &text);
    step->last = met ? settle_line(step) : NULL;
    return met && any ? add_replaced(step->blame, step->last, text) : ETHOS_OK;
}

/* What was removed and has no line of its own in its place belongs to the last one. */
static int end_hunk_block(struct blame_step *step)
{
    struct ethos_view text;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && step->last && step->last->replaced_size < BLAME_REPLACED_BYTES &&
           next_removed(step, &text)) {
        size_t before = step->last->replaced_size;
        code = add_replaced(step->blame, step->last, text);
        if (step->last->replaced_size - before < text.size)
            break;
    }
    step->removed = (struct ethos_view){0};
    step->last = NULL;
    return code;
}

/* here: the lines of the hunk from this one on. */
static int pass_line(struct blame_step *step, struct ethos_view here, char marker)
{
    int code = ETHOS_OK;
    if (marker == '+') {
        code = pass_added(step);
    } else if (marker == '-') {
        if (step->last)
            code = end_hunk_block(step);
        if (!step->removed.data)
            step->removed = here;
    } else {
        code = end_hunk_block(step);
        if (code == ETHOS_OK && next_at(step) == step->new_line)
            code = pass_same_lines(step, 1, step->old_line);
    }
    step->old_line += marker != '+';
    step->new_line += marker != '-';
    return code;
}

static int pass_hunk(struct blame_step *step, const struct patch_hunk *hunk)
{
    struct ethos_view lines = hunk->lines;
    struct patch_line line;
    size_t new_line = hunk->new_start + (hunk->new_count == 0);
    int code = skip_to_line(step, new_line);
    step->new_line = new_line;
    step->old_line = hunk->old_start + (hunk->old_count == 0);
    for (struct ethos_view here = lines; code == ETHOS_OK && patch_line(&lines, &line);
         here = lines)
        code = pass_line(step, here, line.marker);
    return code == ETHOS_OK ? end_hunk_block(step) : code;
}

int blame_step(struct blame *blame, struct ethos_view diff, uint32_t change)
{
    struct blame_step step = {.blame = blame, .change = change, .old_line = 1, .new_line = 1};
    struct patch_hunk hunk;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && diff.size > 0 && (code = patch_next(&diff, &hunk)) == ETHOS_OK)
        code = pass_hunk(&step, &hunk);
    return end_step(&step, code == ETHOS_NOTFOUND ? ETHOS_OK : code);
}

/* ---- by the texts ---------------------------------------------------------------------------- */

/* The text before, passed once: `line` is the number of the first line of rest. */
struct old_lines {
    struct ethos_view rest;
    size_t line;
};

static struct ethos_view read_blamed_lines(struct old_lines *lines, size_t from, size_t to)
{
    struct ethos_view line;
    while (lines->line < from && view_line(&lines->rest, &line))
        lines->line++;
    struct ethos_view here = lines->rest;
    while (lines->line < to && here.size - lines->rest.size < BLAME_REPLACED_BYTES &&
           view_line(&lines->rest, &line))
        lines->line++;
    return view_of(here.data, here.size - lines->rest.size);
}

/* The lines that a change added, and what each of them replaced. */
static int pass_change(struct blame_step *step, const struct diff_change *change,
                       struct old_lines *before)
{
    int code = skip_to_line(step, change->b + 1);
    for (size_t at; code == ETHOS_OK && (at = next_at(step)) <= change->b_end;) {
        size_t from = change->a + (at - change->b);
        size_t to = at == change->b_end ? change->a_end + 1 : from + 1;
        struct blame_line *line = settle_line(step);
        if (from <= change->a_end)
            code = add_replaced(step->blame, line, read_blamed_lines(before, from, to));
    }
    step->old_line = change->a_end + 1;
    step->new_line = change->b_end + 1;
    return code;
}

int blame_step_texts(struct blame *blame, struct ethos_view before, struct ethos_view after,
                     uint32_t change)
{
    struct blame_step step = {.blame = blame, .change = change, .old_line = 1, .new_line = 1};
    struct old_lines lines = {before.data ? before : VIEW(""), 1};
    struct diff_change *changes;
    struct arena arena;
    size_t count;
    arena_init(&arena);
    int code = diff_changes(before, after, &arena, &changes, &count);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = pass_change(&step, &changes[i], &lines);
    arena_release(&arena);
    return end_step(&step, code);
}
