/*
 * merge.c: three-way merge of markdown memory, by lines.
 *
 * What counts are lines that are not blank, without the white space at their end: a final newline,
 * CRLF, blank lines and the trimming of an append are no changes, and no diff mistakes one blank line
 * for another. Which white space is written is decided line by line. Both sides are compared with the
 * base; changes that overlap form a group, and each group is resolved on its own. Changes that only
 * touch do not overlap: a block deleted here and an entry appended behind it there are both done.
 */
#include "core/history/merge.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/history/merge_lines.h"

struct merge_side {
    struct merge_text text;
    struct diff_change *changes; /* against the base */
    size_t count;
    size_t next; /* the first change not yet in a group */
    size_t at;   /* the line that the merge has reached */
};

struct three_way_merge {
    struct arena arena;
    struct merge_text base;
    struct merge_side ours, theirs;
    struct str *out;
    struct merge_report report;
    merge_hunk_fn *each; /* or NULL */
    void *arg;
    size_t told; /* bytes of the result */
};

/* What overlapping changes are about: lines of the base, and what each side made of them. */
struct group {
    size_t lo, hi;
    struct merge_range ours, theirs;
    size_t first_ours, first_theirs; /* changes */
};

/* ---- changes of a side ----------------------------------------------------------------------- */

/* Moves a change that only adds or only removes down by one line, where that is the same change. */
static bool slide(const struct merge_text *old, const struct merge_text *new, struct diff_change *c,
                  size_t old_limit, size_t new_limit)
{
    const struct merge_text *text = c->a == c->a_end ? new : old;
    size_t from = text == new ? c->b : c->a, to = text == new ? c->b_end : c->a_end;

    if ((c->a < c->a_end && c->b < c->b_end) || c->a_end >= old_limit || c->b_end >= new_limit ||
        !view_eq(merge_line_plain(text, from), merge_line_plain(text, to)))
        return false;
    *c = (struct diff_change){c->a + 1, c->a_end + 1, c->b + 1, c->b_end + 1};
    return true;
}

/* Equal changes of two sides stand at the same place only when every change is as low as it can be. */
static void settle_changes(const struct merge_text *base, struct merge_side *side)
{
    struct diff_change *all = side->changes;
    size_t low = side->count; /* settled: [low, count) */

    for (size_t i = side->count; i-- > 0;) {
        struct diff_change c = all[i];
        bool moved = true;

        while (moved) {
            bool last = low == side->count;

            moved = slide(base, &side->text, &c, last ? base->count : all[low].a,
                          last ? side->text.count : all[low].b);
            if (!last && c.a_end == all[low].a) { // has met the next one
                c.a_end = all[low].a_end;
                c.b_end = all[low++].b_end;
                moved = true;
            }
        }
        all[--low] = c;
    }
    side->changes += low;
    side->count -= low;
}

static bool compare_side(struct three_way_merge *m, struct ethos_view text, struct merge_side *side)
{
    return merge_strip(&m->arena, text, &side->text) &&
           diff_changes(m->base.plain, side->text.plain, &m->arena, &side->changes, &side->count) ==
               ETHOS_OK;
}

/* The diffs come before the lines: the memory of both is never needed at once. */
static bool read_texts(struct three_way_merge *m, struct ethos_view base, struct ethos_view ours,
                       struct ethos_view theirs)
{
    if (!merge_strip(&m->arena, base, &m->base) || !compare_side(m, ours, &m->ours) ||
        !compare_side(m, theirs, &m->theirs) || !merge_read_lines(&m->arena, &m->base) ||
        !merge_read_lines(&m->arena, &m->ours.text) ||
        !merge_read_lines(&m->arena, &m->theirs.text))
        return false;
    settle_changes(&m->base, &m->ours);
    settle_changes(&m->base, &m->theirs);
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool overlaps(const struct diff_change *c, size_t lo, size_t hi)
{
    bool same_place = c->a == lo && c->a_end == lo && lo == hi;

    return (c->a < hi && c->a_end > lo) || same_place;
}

/* The side's changes that overlap the group join it. */
static bool take_changes(struct merge_side *side, struct group *g)
{
    size_t before = side->next;

    for (; side->next < side->count && overlaps(&side->changes[side->next], g->lo, g->hi);
         side->next++) {
        if (side->changes[side->next].a_end > g->hi)
            g->hi = side->changes[side->next].a_end;
    }
    return side->next > before;
}

/* The side's lines for the group, which the merge passes now. at: the base line it has reached. */
static struct merge_range take_lines(struct merge_side *side, const struct group *g, size_t first,
                                     size_t at)
{
    struct merge_range range = {side->at + (g->lo - at), side->at + (g->hi - at)};

    if (side->next > first) {
        const struct diff_change *last = &side->changes[side->next - 1];

        range.to = last->b_end + (g->hi - last->a_end);
    }
    side->at = range.to;
    return range;
}

/* Of two changes that touch, the one that only adds comes first. */
static const struct diff_change *first_change(const struct merge_side *ours,
                                              const struct merge_side *theirs)
{
    const struct diff_change *a = ours->next < ours->count ? &ours->changes[ours->next] : NULL;
    const struct diff_change *b = theirs->next < theirs->count ? &theirs->changes[theirs->next]
                                                               : NULL;

    if (!a || !b)
        return a ? a : b;
    return a->a < b->a || (a->a == b->a && a->a_end <= b->a_end) ? a : b;
}

static bool next_group(struct three_way_merge *m, struct group *g)
{
    const struct diff_change *first = first_change(&m->ours, &m->theirs);
    bool grown = true;

    if (!first)
        return false;
    *g = (struct group){.lo = first->a,
                        .hi = first->a_end,
                        .first_ours = m->ours.next,
                        .first_theirs = m->theirs.next};
    while (grown) {
        grown = take_changes(&m->ours, g);
        grown |= take_changes(&m->theirs, g);
    }
    return true;
}

/* ---- resolving a group ----------------------------------------------------------------------- */

static bool only_removed(const struct merge_side *side, size_t first)
{
    while (first < side->next && side->changes[first].b == side->changes[first].b_end)
        first++;
    return first == side->next;
}

/* Whether a change of the group removed this line of the base; *cursor runs along with the lines. */
static bool removed(const struct merge_side *side, size_t *cursor, size_t line)
{
    while (*cursor < side->next && side->changes[*cursor].a_end <= line)
        ++*cursor;
    return *cursor < side->next && side->changes[*cursor].a <= line;
}

static void remove_both(struct three_way_merge *m, const struct group *g)
{
    size_t ours = g->first_ours, theirs = g->first_theirs;

    for (size_t i = g->lo; i < g->hi; i++) {
        bool gone = removed(&m->ours, &ours, i);

        gone |= removed(&m->theirs, &theirs, i);
        if (!gone)
            merge_emit(m->out, &m->base, (struct merge_range){i, i + 1});
    }
}

/* Changes of both sides. */
static bool resolve_both(struct three_way_merge *m, const struct group *g)
{
    const struct merge_text *ours = &m->ours.text, *theirs = &m->theirs.text;

    m->report.from_both++;
    if (view_eq(merge_slice(ours, g->ours), merge_slice(theirs, g->theirs))) {
        merge_emit(m->out, ours, g->ours);
        return true;
    }
    if (g->lo == g->hi) // both only added
        return merge_join(&m->arena, ours, g->ours, theirs, g->theirs, m->out);
    if (only_removed(&m->ours, g->first_ours) && only_removed(&m->theirs, g->first_theirs)) {
        remove_both(m, g);
        return true;
    }
    m->report.from_both--;
    m->report.conflicts++;
    merge_emit(m->out, ours, g->ours);
    return true;
}

static bool resolve_group(struct three_way_merge *m, const struct group *g)
{
    bool by_ours = m->ours.next > g->first_ours, by_theirs = m->theirs.next > g->first_theirs;

    if (by_ours && by_theirs)
        return resolve_both(m, g);
    if (by_ours)
        merge_emit(m->out, &m->ours.text, g->ours);
    else
        merge_emit(m->out, &m->theirs.text, g->theirs);
    m->report.from_ours += by_ours;
    m->report.from_theirs += by_theirs;
    return true;
}

/*
 * Whose white space a line gets that nobody changed: the side's that changed it, ours before theirs.
 * But what stood first in a text says nothing of a line that comes later, and the other way round.
 */
static bool follow_theirs(const struct three_way_merge *m, size_t base, size_t ours, size_t theirs)
{
    bool starts = m->out->size == 0;
    bool ours_fits = (ours == 0) == starts, theirs_fits = (theirs == 0) == starts;

    if (ours_fits != theirs_fits)
        return theirs_fits;
    return view_eq(merge_raw(&m->ours.text, ours), merge_raw(&m->base, base));
}

/* Lines that no side changed. */
static void copy_lines(struct three_way_merge *m, size_t from, size_t to)
{
    for (size_t i = 0; i < to - from; i++) {
        size_t ours = m->ours.at + i, theirs = m->theirs.at + i;

        if (follow_theirs(m, from + i, ours, theirs))
            merge_emit(m->out, &m->theirs.text, (struct merge_range){theirs, theirs + 1});
        else
            merge_emit(m->out, &m->ours.text, (struct merge_range){ours, ours + 1});
    }
}

/* ---- hunks ----------------------------------------------------------------------------------- */

/* The bytes of a range, as they stand. */
static struct ethos_view raw_of(const struct merge_text *text, struct merge_range range)
{
    struct ethos_view first = merge_raw(text, range.from < text->count ? range.from : 0);
    if (range.from == range.to)
        return view_of(first.data, 0);
    struct ethos_view last = merge_raw(text, range.to - 1);
    return view_of(first.data, (size_t)(last.data - first.data) + last.size);
}

/* Tells what was added to the result since the last hunk. */
static bool report_hunk(struct three_way_merge *m, enum merge_origin origin,
                        struct merge_range base, struct merge_range ours, struct merge_range theirs)
{
    struct merge_hunk hunk = {origin,
                              raw_of(&m->base, base),
                              raw_of(&m->ours.text, ours),
                              raw_of(&m->theirs.text, theirs),
                              {0}};
    size_t start = m->told;
    if (!m->each || str_code(m->out) != ETHOS_OK)
        return true;
    hunk.merged = view_from(str_view(m->out), start);
    m->told = m->out->size;
    bool empty = hunk.merged.size + hunk.base.size + hunk.ours.size + hunk.theirs.size == 0;
    return empty || m->each(m->arg, &hunk);
}

static bool tell_same(struct three_way_merge *m, size_t from, size_t to)
{
    size_t count = to - from;
    return report_hunk(m, MERGE_SAME, (struct merge_range){from, to},
                       (struct merge_range){m->ours.at, m->ours.at + count},
                       (struct merge_range){m->theirs.at, m->theirs.at + count});
}

static bool tell_group(struct three_way_merge *m, const struct group *g,
                       const struct merge_report *before)
{
    enum merge_origin origin = m->report.conflicts > before->conflicts       ? MERGE_CONFLICT
                               : m->report.from_both > before->from_both     ? MERGE_BOTH
                               : m->report.from_theirs > before->from_theirs ? MERGE_THEIRS
                                                                             : MERGE_OURS;
    return report_hunk(m, origin, (struct merge_range){g->lo, g->hi}, g->ours, g->theirs);
}

static bool merge_all(struct three_way_merge *m)
{
    struct group g;
    size_t at = 0;

    while (next_group(m, &g)) {
        struct merge_report before = m->report;

        copy_lines(m, at, g.lo);
        if (!tell_same(m, at, g.lo))
            return false;
        g.ours = take_lines(&m->ours, &g, g.first_ours, at);
        g.theirs = take_lines(&m->theirs, &g, g.first_theirs, at);
        if (!resolve_group(m, &g) || !tell_group(m, &g, &before))
            return false;
        at = g.hi;
    }
    copy_lines(m, at, m->base.count);
    return tell_same(m, at, m->base.count);
}

int merge_hunks(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs,
                struct str *out, merge_hunk_fn *each, void *arg, struct merge_report *out_report)
{
    struct three_way_merge m = {.out = out, .each = each, .arg = arg};

    str_clear(out);
    arena_init(&m.arena);
    if (!read_texts(&m, base, ours, theirs) || !merge_all(&m))
        str_fail(out, ETHOS_NOMEM);
    arena_release(&m.arena);
    *out_report = m.report;
    return str_code(out);
}

int merge_texts(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs,
                struct str *out, struct merge_report *out_report)
{
    return merge_hunks(base, ours, theirs, out, NULL, NULL, out_report);
}
