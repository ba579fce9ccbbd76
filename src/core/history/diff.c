/*
 * diff.c: shortest line diffs in the unified form of the history format.
 *
 * Most updates touch one place, so what both texts start and end with is set aside as bytes before
 * any line is looked at. The lines in between get numbers, equal for equal lines; those that occur
 * on one side only are changed for sure; the rest is compared as Myers does it ("An O(ND)
 * Difference Algorithm and Its Variations", 1986, section 4b): two searches from both ends that
 * meet in the middle, then the same on either side of that point, in linear memory. The work is
 * bounded; what is left when it is used up counts as replaced.
 */
#include "core/history/diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

#define WORK ((int64_t)1 << 25) /* diagonals and lines looked at before giving up */
#define MOST_STEPS 16384        /* of a search: more of them use up the work */
#define CHUNK 256               /* bytes compared at once */

/*
 * Lines and places are 32 bits wide: a text of one-letter lines has half as many lines as bytes, and the
 * arrays below are what a diff costs in memory.
 */
#define MOST_BYTES ((size_t)1 << 30) /* of a text */

struct diff_side {
    struct ethos_view text; /* the part that differs, and its context */
    uint32_t before;        /* lines of the text before that part */
    uint32_t *starts;       /* of each line, and the end of the last one */
    size_t count;
    bool *changed; /* one for each line: removed or added */

    /*
     * The numbers of all lines, equal for equal ones; then of those that occur on both sides, where 0 is
     * one that was changed all the same.
     */
    uint32_t *ids;
    int32_t kept;
};

struct diff {
    struct arena arena;
    struct diff_side old, new;
    int32_t *forward, *backward; /* room for the diagonals of a search */
    int32_t steps;               /* of a search, at most */
    int64_t work;                /* left */
};

/* ---- the part that differs ------------------------------------------------------------------- */

static size_t common_prefix_size(struct ethos_view a, struct ethos_view b)
{
    size_t most = a.size < b.size ? a.size : b.size, n = 0;

    while (most - n >= CHUNK && memcmp(a.data + n, b.data + n, CHUNK) == 0)
        n += CHUNK;
    while (n < most && a.data[n] == b.data[n])
        n++;
    return n;
}

static size_t common_end(struct ethos_view a, struct ethos_view b)
{
    size_t most = a.size < b.size ? a.size : b.size, n = 0;
    const char *p = a.data + a.size, *q = b.data + b.size;

    while (most - n >= CHUNK && memcmp(p - n - CHUNK, q - n - CHUNK, CHUNK) == 0)
        n += CHUNK;
    while (n < most && p[-1 - (ptrdiff_t)n] == q[-1 - (ptrdiff_t)n])
        n++;
    return n;
}

static bool starts_line(struct ethos_view v, size_t at)
{
    return at == 0 || v.data[at - 1] == '\n';
}

static size_t find_start_of_line(struct ethos_view v, size_t at)
{
    while (!starts_line(v, at))
        at--;
    return at;
}

/* Bytes of the whole lines both texts end with. */
static size_t common_last_lines(struct ethos_view a, struct ethos_view b)
{
    size_t size = common_end(a, b);
    struct ethos_view line, rest = view_from(a, a.size - size);

    if (!starts_line(a, a.size - size) || !starts_line(b, b.size - size))
        view_line(&rest, &line);
    return rest.size;
}

/* Sets aside what both texts have in common, but for the context of the rest. */
static void narrow(struct diff *d, struct ethos_view old_text, struct ethos_view new_text)
{
    size_t start = find_start_of_line(old_text, common_prefix_size(old_text, new_text));
    size_t end = common_last_lines(view_from(old_text, start), view_from(new_text, start));
    struct ethos_view line, rest = view_from(old_text, old_text.size - end);

    for (int i = 0; i < ETHOS_DIFF_CONTEXT; i++) {
        start = start > 0 ? find_start_of_line(old_text, start - 1) : 0;
        view_line(&rest, &line);
    }
    d->old.before = d->new.before = (uint32_t)view_lines(view_of(old_text.data, start));
    d->old.text = view_of(old_text.data + start, old_text.size - rest.size - start);
    d->new.text = view_of(new_text.data + start, new_text.size - rest.size - start);
}

/* ---- lines and their numbers ----------------------------------------------------------------- */

static struct ethos_view line_text(const struct diff_side *side, size_t i)
{
    return view_of(side->text.data + side->starts[i], side->starts[i + 1] - side->starts[i]);
}

static bool split_lines(struct arena *arena, struct diff_side *side)
{
    struct ethos_view line, rest = side->text;
    size_t lines = view_lines(rest);

    side->starts = arena_array(arena, lines + 1, sizeof(*side->starts));
    if (!side->starts)
        return false;
    while (view_line(&rest, &line))
        side->starts[++side->count] = (uint32_t)(side->text.size - rest.size);
    return true;
}

/* Line i of both texts, those of the new one behind those of the old one. */
static struct ethos_view any_line(const struct diff *d, size_t i)
{
    return i < d->old.count ? line_text(&d->old, i) : line_text(&d->new, i - d->old.count);
}

static int compare_lines(const void *left, const void *right, void *arg)
{
    struct ethos_view a = any_line(arg, *(const uint32_t *)left);
    struct ethos_view b = any_line(arg, *(const uint32_t *)right);

    if (a.size != b.size)
        return a.size < b.size ? -1 : 1;
    return memcmp(a.data, b.data, a.size);
}

/* Numbers the lines [from, to) of the sorted ones, which are equal. */
static void set_ids(struct diff *d, const uint32_t *sorted, size_t from, size_t to, uint32_t id)
{
    for (; from < to; from++) {
        size_t i = sorted[from];

        if (i < d->old.count)
            d->old.ids[i] = id;
        else
            d->new.ids[i - d->old.count] = id;
    }
}

/* Numbers the lines; one that occurs on its own side only gets 0. Sorting takes memory: numbers come after. */
static bool number_lines(struct diff *d)
{
    size_t count = d->old.count + d->new.count;
    struct arena arena;
    uint32_t id = 0;

    arena_init(&arena);
    uint32_t *sorted = arena_array(&arena, count, sizeof(*sorted));
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = (uint32_t)i;
    if (sorted)
        qsort_r(sorted, count, sizeof(*sorted), compare_lines, d);
    d->old.ids = arena_array(&d->arena, d->old.count, sizeof(*d->old.ids));
    d->new.ids = arena_array(&d->arena, d->new.count, sizeof(*d->new.ids));
    bool room = sorted && d->old.ids && d->new.ids;
    for (size_t i = 0, next; room && i < count; i = next) {
        bool both = false;

        for (next = i + 1; next < count && !compare_lines(&sorted[i], &sorted[next], d); next++)
            both |= (sorted[next] < d->old.count) != (sorted[i] < d->old.count);
        id += both;
        set_ids(d, sorted, i, next, both ? id : 0);
    }
    arena_release(&arena);
    return room;
}

/* Marks the lines of one side only as changed; the numbers of the others move together. */
static bool mark_one_sided_lines(struct arena *arena, struct diff_side *side)
{
    side->changed = arena_array(arena, side->count, sizeof(*side->changed));
    for (size_t i = 0; side->changed && i < side->count; i++) {
        side->changed[i] = side->ids[i] == 0;
        if (!side->changed[i])
            side->ids[side->kept++] = side->ids[i];
    }
    return side->changed;
}

/* Marks those of the others that the comparison found to be changed. */
static void spread_changes(struct diff_side *side)
{
    size_t kept = 0;

    for (size_t i = 0; i < side->count; i++) {
        if (!side->changed[i])
            side->changed[i] = side->ids[kept++] == 0;
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Kept lines old[x, x_end) against new[y, y_end). Diagonal k holds the points with x - y == k. */
struct box {
    int32_t x, x_end, y, y_end;
};

struct point {
    int32_t x, y;
};

/* The diagonals a search has reached, and how far it got on each. */
struct backend_reach {
    int32_t low, high;
    int32_t start; /* the diagonal it began on */
    int32_t *at;   /* by the distance from that one */
};

#define NOWHERE ((int32_t)1 << 30) /* off every box, on the far side; negated on the near side */

static bool inside(const struct box *box, int32_t x, int32_t y)
{
    return x >= box->x && x <= box->x_end && y >= box->y && y <= box->y_end;
}

static bool reached(const struct backend_reach *reach, int32_t k)
{
    return k >= reach->low && k <= reach->high && (k - reach->low) % 2 == 0;
}

/* One more diagonal on either side, as far as the box goes; their outer neighbours are nowhere. */
static void widen(const struct box *box, struct backend_reach *reach, int32_t nowhere)
{
    int32_t lowest = box->x - box->y_end, highest = box->x_end - box->y;

    if (reach->low > lowest)
        reach->at[--reach->low - 1 - reach->start] = nowhere;
    else
        reach->low++;
    if (reach->high < highest)
        reach->at[++reach->high + 1 - reach->start] = nowhere;
    else
        reach->high--;
}

/* One more edit from the start of the box. True when that meets the other search. */
static bool step_forward(struct diff *d, const struct box *box, struct backend_reach *mine,
                         const struct backend_reach *other, struct point *out)
{
    widen(box, mine, -NOWHERE);
    for (int32_t k = mine->low; k <= mine->high; k += 2) {
        int32_t *at = &mine->at[k - mine->start];
        int32_t x = at[-1] + 1 > at[1] ? at[-1] + 1 : at[1], from = x;

        if (!inside(box, x, x - k)) {
            *at = -NOWHERE;
            continue;
        }
        while (x < box->x_end && x - k < box->y_end && d->old.ids[x] == d->new.ids[x - k])
            x++;
        *at = x;
        d->work -= 1 + x - from;
        *out = (struct point){x, x - k};
        if (reached(other, k) && other->at[k - other->start] <= x)
            return true;
    }
    return false;
}

/* One more edit from the end of the box. */
static bool step_backward(struct diff *d, const struct box *box, struct backend_reach *mine,
                          const struct backend_reach *other, struct point *out)
{
    widen(box, mine, NOWHERE);
    for (int32_t k = mine->low; k <= mine->high; k += 2) {
        int32_t *at = &mine->at[k - mine->start];
        int32_t x = at[1] - 1 < at[-1] ? at[1] - 1 : at[-1], from = x;

        if (!inside(box, x, x - k)) {
            *at = NOWHERE;
            continue;
        }
        while (x > box->x && x - k > box->y && d->old.ids[x - 1] == d->new.ids[x - k - 1])
            x--;
        *at = x;
        d->work -= 1 + from - x;
        *out = (struct point){x, x - k};
        if (reached(other, k) && other->at[k - other->start] >= x)
            return true;
    }
    return false;
}

static struct backend_reach begin_search(struct diff *d, int32_t *room, int32_t x, int32_t y)
{
    struct backend_reach reach = {x - y, x - y, x - y, room + d->steps + 1};

    reach.at[0] = x;
    return reach;
}

/* A point in the middle of a shortest way through the box, or false when the work is used up. */
static bool find_middle(struct diff *d, const struct box *box, struct point *out)
{
    struct backend_reach forward = begin_search(d, d->forward, box->x, box->y);
    struct backend_reach backward = begin_search(d, d->backward, box->x_end, box->y_end);

    for (int32_t step = 0; d->work > 0 && step < d->steps; step++) {
        if (step_forward(d, box, &forward, &backward, out) ||
            step_backward(d, box, &backward, &forward, out))
            return true;
    }
    return false;
}

static void mark_changed(struct diff_side *side, int32_t from, int32_t to)
{
    for (; from < to; from++)
        side->ids[from] = 0;
}

/* Every split halves the edits, so this is no deeper than their logarithm. */
static void compare_box(struct diff *d, struct box box)
{
    const uint32_t *a = d->old.ids, *b = d->new.ids;
    struct point middle;

    while (box.x < box.x_end && box.y < box.y_end && a[box.x] == b[box.y]) {
        box.x++;
        box.y++;
    }
    while (box.x < box.x_end && box.y < box.y_end && a[box.x_end - 1] == b[box.y_end - 1]) {
        box.x_end--;
        box.y_end--;
    }
    if (box.x == box.x_end || box.y == box.y_end || !find_middle(d, &box, &middle)) {
        mark_changed(&d->old, box.x, box.x_end);
        mark_changed(&d->new, box.y, box.y_end);
        return;
    }
    compare_box(d, (struct box){box.x, middle.x, box.y, middle.y});
    compare_box(d, (struct box){middle.x, box.x_end, middle.y, box.y_end});
}

static bool find_changes(struct diff *d, struct ethos_view old_text, struct ethos_view new_text)
{
    if (old_text.size > MOST_BYTES || new_text.size > MOST_BYTES)
        return false;
    narrow(d, old_text.data ? old_text : VIEW(""), new_text.data ? new_text : VIEW(""));
    if (!split_lines(&d->arena, &d->old) || !split_lines(&d->arena, &d->new) || !number_lines(d) ||
        !mark_one_sided_lines(&d->arena, &d->old) || !mark_one_sided_lines(&d->arena, &d->new))
        return false;
    int32_t most = d->old.kept + d->new.kept;
    d->steps = most < MOST_STEPS ? most : MOST_STEPS;
    size_t diagonals = 2 * (size_t)d->steps + 3; // either side, the start, and neighbours
    d->forward = arena_array(&d->arena, diagonals, sizeof(*d->forward));
    d->backward = arena_array(&d->arena, diagonals, sizeof(*d->backward));
    if (!d->forward || !d->backward)
        return false;
    d->work = WORK;
    compare_box(d, (struct box){0, d->old.kept, 0, d->new.kept});
    spread_changes(&d->old);
    spread_changes(&d->new);
    return true;
}

/* ---- changes and hunks ----------------------------------------------------------------------- */

/* How many lines from here on are unchanged. */
static uint32_t same_lines(const struct diff *d, uint32_t a, uint32_t b)
{
    uint32_t n = 0;

    while (a + n < d->old.count && !d->old.changed[a + n] && !d->new.changed[b + n])
        n++;
    return n;
}

/* The next change after the one in *c; without one, *c is at the end of both texts. */
static bool next_change(const struct diff *d, struct diff_change *c)
{
    uint32_t same = same_lines(d, c->a_end, c->b_end);

    c->a = c->a_end += same;
    c->b = c->b_end += same;
    while (c->a_end < d->old.count && d->old.changed[c->a_end])
        c->a_end++;
    while (c->b_end < d->new.count && d->new.changed[c->b_end])
        c->b_end++;
    return c->a_end > c->a || c->b_end > c->b;
}

static uint32_t context(uint32_t lines)
{
    return lines < ETHOS_DIFF_CONTEXT ? lines : ETHOS_DIFF_CONTEXT;
}

/* The next hunk after the one in *h; changes with few lines between them share one. */
static bool next_hunk(const struct diff *d, struct diff_change *h)
{
    struct diff_change change = *h, last;
    uint32_t lead, trail;
    bool more = next_change(d, &change);

    if (!more)
        return false;
    lead = context(change.a - h->a_end);
    *h = (struct diff_change){.a = change.a - lead, .b = change.b - lead};
    do {
        last = change;
        more = next_change(d, &change);
    } while (more && change.a - last.a_end <= 2 * ETHOS_DIFF_CONTEXT);
    trail = context(change.a - last.a_end);
    h->a_end = last.a_end + trail;
    h->b_end = last.b_end + trail;
    return true;
}

static void print_diff_line(char sign, struct ethos_view line, struct str *out)
{
    str_addc(out, sign);
    str_add(out, line);
    if (line.data[line.size - 1] != '\n')
        str_adds(out, "\n\\ No newline at end of file\n");
}

/* First line, from 1, and number of lines; an empty range is named by the line before it. */
static void print_range(const struct diff_side *side, char sign, size_t from, size_t to,
                        struct str *out)
{
    str_printf(out, " %c%zu,%zu", sign, side->before + from + (to > from), to - from);
}

static void print_hunk(const struct diff *d, const struct diff_change *h, struct str *out)
{
    size_t a = h->a, b = h->b;

    str_adds(out, "@@");
    print_range(&d->old, '-', h->a, h->a_end, out);
    print_range(&d->new, '+', h->b, h->b_end, out);
    str_adds(out, " @@\n");
    while (a < h->a_end || b < h->b_end) {
        if (a < h->a_end && d->old.changed[a])
            print_diff_line('-', line_text(&d->old, a++), out);
        else if (b < h->b_end && d->new.changed[b])
            print_diff_line('+', line_text(&d->new, b++), out);
        else {
            print_diff_line(' ', line_text(&d->old, a++), out);
            b++;
        }
    }
}

static void print_diff(const struct diff *d, const char *key, struct str *out)
{
    struct diff_change hunk = {0};

    str_printf(out, "Index: %s\n", key);
    str_adds(out, "===================================================================\n");
    str_printf(out, "--- %s\t\n+++ %s\t\n", key, key);
    while (next_hunk(d, &hunk))
        print_hunk(d, &hunk, out);
}

int diff_unified(struct ethos_view old_text, struct ethos_view new_text, const char *key,
                 struct str *out)
{
    struct diff d = {0};
    size_t before = out->size;

    if (view_eq(old_text, new_text))
        return str_code(out);
    arena_init(&d.arena);
    if (find_changes(&d, old_text, new_text))
        print_diff(&d, key, out);
    else
        str_fail(out, ETHOS_NOMEM);
    if (str_code(out))
        str_truncate(out, before);
    arena_release(&d.arena);
    return str_code(out);
}

int diff_changes(struct ethos_view old_text, struct ethos_view new_text, struct arena *arena,
                 struct diff_change **out, size_t *out_count)
{
    struct diff d = {0};
    struct diff_change change = {0};
    bool found;

    *out_count = 0;
    arena_init(&d.arena);
    found = find_changes(&d, old_text, new_text);
    while (found && next_change(&d, &change))
        ++*out_count;
    *out = found ? arena_array(arena, *out_count, sizeof(**out)) : NULL;
    change = (struct diff_change){0};
    for (size_t i = 0; *out && next_change(&d, &change); i++)
        (*out)[i] = (struct diff_change){d.old.before + change.a, d.old.before + change.a_end,
                                         d.new.before + change.b, d.new.before + change.b_end};
    arena_release(&d.arena);
    return *out ? ETHOS_OK : ETHOS_NOMEM;
}
