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
#include "core/diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

#define WORK ((int64_t)1 << 25) /* diagonals and lines looked at before giving up */
#define CHUNK 256               /* bytes compared at once */

struct line {
    struct ethos_view text; /* with its LF */
    uint32_t id;            /* equal for equal lines */
    bool in_new;
};

struct side {
    struct ethos_view text; /* the part that differs, and its context */
    size_t before;          /* lines of the text before that part */
    struct line *lines;
    size_t count;
    bool *changed; /* one for each line: removed or added */

    /* The lines that occur on both sides. */
    uint32_t *ids;
    size_t *places; /* in lines */
    long kept;
};

struct diff {
    struct arena arena;
    struct side old, new;
    long *forward, *backward; /* how far the searches got, by diagonal */
    int64_t work;             /* left */
};

/* ---- the part that differs ------------------------------------------------------------------- */

static size_t common_start(struct ethos_view a, struct ethos_view b)
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

static size_t line_start(struct ethos_view v, size_t at)
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
    size_t start = line_start(old_text, common_start(old_text, new_text));
    size_t end = common_last_lines(view_from(old_text, start), view_from(new_text, start));
    struct ethos_view line, rest = view_from(old_text, old_text.size - end);

    for (int i = 0; i < ETHOS_DIFF_CONTEXT; i++) {
        start = start > 0 ? line_start(old_text, start - 1) : 0;
        view_line(&rest, &line);
    }
    d->old.before = d->new.before = view_lines(view_of(old_text.data, start));
    d->old.text = view_of(old_text.data + start, old_text.size - rest.size - start);
    d->new.text = view_of(new_text.data + start, new_text.size - rest.size - start);
}

/* ---- lines and their numbers ----------------------------------------------------------------- */

static bool split_lines(struct arena *arena, struct side *side, bool is_new)
{
    struct ethos_view line, rest = side->text;

    side->lines = arena_array(arena, view_lines(rest), sizeof(*side->lines));
    side->changed = arena_array(arena, view_lines(rest), sizeof(*side->changed));
    if (!side->lines || !side->changed)
        return false;
    for (struct ethos_view from = rest; view_line(&rest, &line); from = rest)
        side->lines[side->count++] = (struct line){
            .text = view_of(from.data, from.size - rest.size), .in_new = is_new};
    return true;
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = *(struct line *const *)left, *b = *(struct line *const *)right;

    if (a->text.size != b->text.size)
        return a->text.size < b->text.size ? -1 : 1;
    return memcmp(a->text.data, b->text.data, a->text.size);
}

/* Numbers the lines; one that occurs on its own side only gets 0. */
static bool number_lines(struct diff *d)
{
    size_t count = d->old.count + d->new.count;
    struct line **sorted = arena_array(&d->arena, count, sizeof(struct line *));
    uint32_t id = 0;

    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++)
        sorted[i] = i < d->old.count ? &d->old.lines[i] : &d->new.lines[i - d->old.count];
    qsort(sorted, count, sizeof(struct line *), compare_lines);
    for (size_t i = 0, next; i < count; i = next) {
        bool both = false;

        for (next = i + 1; next < count && !compare_lines(&sorted[i], &sorted[next]); next++)
            both |= sorted[next]->in_new != sorted[i]->in_new;
        id += both;
        for (size_t k = i; k < next; k++)
            sorted[k]->id = both ? id : 0;
    }
    return true;
}

/* Marks the lines of one side only as changed and lists the others. */
static bool keep_lines(struct arena *arena, struct side *side)
{
    side->ids = arena_array(arena, side->count, sizeof(*side->ids));
    side->places = arena_array(arena, side->count, sizeof(*side->places));
    if (!side->ids || !side->places)
        return false;
    for (size_t i = 0; i < side->count; i++) {
        side->changed[i] = side->lines[i].id == 0;
        if (!side->changed[i]) {
            side->places[side->kept] = i;
            side->ids[side->kept++] = side->lines[i].id;
        }
    }
    return true;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Kept lines old[x, x_end) against new[y, y_end). Diagonal k holds the points with x - y == k. */
struct box {
    long x, x_end, y, y_end;
};

struct point {
    long x, y;
};

/* The diagonals a search has reached. */
struct reach {
    long low, high;
};

#define NOWHERE ((long)1 << 60) /* off every box, on the far side; negated on the near side */

static bool inside(const struct box *box, long x, long y)
{
    return x >= box->x && x <= box->x_end && y >= box->y && y <= box->y_end;
}

static bool reached(const struct reach *reach, long k)
{
    return k >= reach->low && k <= reach->high && (k - reach->low) % 2 == 0;
}

/* One more diagonal on either side, as far as the box goes; their outer neighbours are nowhere. */
static void widen(const struct box *box, struct reach *reach, long *at, long nowhere)
{
    long lowest = box->x - box->y_end, highest = box->x_end - box->y;

    if (reach->low > lowest)
        at[--reach->low - 1] = nowhere;
    else
        reach->low++;
    if (reach->high < highest)
        at[++reach->high + 1] = nowhere;
    else
        reach->high--;
}

/* One more edit from the start of the box. True when that meets the other search. */
static bool step_forward(struct diff *d, const struct box *box, struct reach *mine,
                         const struct reach *other, struct point *out)
{
    long *at = d->forward;

    widen(box, mine, at, -NOWHERE);
    for (long k = mine->low; k <= mine->high; k += 2) {
        long x = at[k - 1] + 1 > at[k + 1] ? at[k - 1] + 1 : at[k + 1], from = x;

        if (!inside(box, x, x - k)) {
            at[k] = -NOWHERE;
            continue;
        }
        while (x < box->x_end && x - k < box->y_end && d->old.ids[x] == d->new.ids[x - k])
            x++;
        at[k] = x;
        d->work -= 1 + x - from;
        *out = (struct point){x, x - k};
        if (reached(other, k) && d->backward[k] <= x)
            return true;
    }
    return false;
}

/* One more edit from the end of the box. */
static bool step_backward(struct diff *d, const struct box *box, struct reach *mine,
                          const struct reach *other, struct point *out)
{
    long *at = d->backward;

    widen(box, mine, at, NOWHERE);
    for (long k = mine->low; k <= mine->high; k += 2) {
        long x = at[k + 1] - 1 < at[k - 1] ? at[k + 1] - 1 : at[k - 1], from = x;

        if (!inside(box, x, x - k)) {
            at[k] = NOWHERE;
            continue;
        }
        while (x > box->x && x - k > box->y && d->old.ids[x - 1] == d->new.ids[x - k - 1])
            x--;
        at[k] = x;
        d->work -= 1 + from - x;
        *out = (struct point){x, x - k};
        if (reached(other, k) && d->forward[k] >= x)
            return true;
    }
    return false;
}

/* A point in the middle of a shortest way through the box, or false when the work is used up. */
static bool find_middle(struct diff *d, const struct box *box, struct point *out)
{
    struct reach forward = {box->x - box->y, box->x - box->y};
    struct reach backward = {box->x_end - box->y_end, box->x_end - box->y_end};

    d->forward[forward.low] = box->x;
    d->backward[backward.low] = box->x_end;
    while (d->work > 0) {
        if (step_forward(d, box, &forward, &backward, out) ||
            step_backward(d, box, &backward, &forward, out))
            return true;
    }
    return false;
}

static void mark(struct side *side, long from, long to)
{
    for (; from < to; from++)
        side->changed[side->places[from]] = true;
}

/* Every split halves the edits, so this is no deeper than their logarithm. */
static void compare(struct diff *d, struct box box)
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
        mark(&d->old, box.x, box.x_end);
        mark(&d->new, box.y, box.y_end);
        return;
    }
    compare(d, (struct box){box.x, middle.x, box.y, middle.y});
    compare(d, (struct box){middle.x, box.x_end, middle.y, box.y_end});
}

static bool find_changes(struct diff *d)
{
    if (!split_lines(&d->arena, &d->old, false) || !split_lines(&d->arena, &d->new, true) ||
        !number_lines(d) || !keep_lines(&d->arena, &d->old) || !keep_lines(&d->arena, &d->new))
        return false;
    size_t diagonals = (size_t)(d->old.kept + d->new.kept) + 3; // one of each side, and neighbours
    d->forward = arena_array(&d->arena, diagonals, sizeof(*d->forward));
    d->backward = arena_array(&d->arena, diagonals, sizeof(*d->backward));
    if (!d->forward || !d->backward)
        return false;
    d->forward += d->new.kept + 1;
    d->backward += d->new.kept + 1;
    d->work = WORK;
    compare(d, (struct box){0, d->old.kept, 0, d->new.kept});
    return true;
}

/* ---- changes and hunks ----------------------------------------------------------------------- */

/* How many lines from here on are unchanged. */
static size_t same_lines(const struct diff *d, size_t a, size_t b)
{
    size_t n = 0;

    while (a + n < d->old.count && !d->old.changed[a + n] && !d->new.changed[b + n])
        n++;
    return n;
}

/* The next change after the one in *c; without one, *c is at the end of both texts. */
static bool next_change(const struct diff *d, struct diff_change *c)
{
    size_t same = same_lines(d, c->a_end, c->b_end);

    c->a = c->a_end += same;
    c->b = c->b_end += same;
    while (c->a_end < d->old.count && d->old.changed[c->a_end])
        c->a_end++;
    while (c->b_end < d->new.count && d->new.changed[c->b_end])
        c->b_end++;
    return c->a_end > c->a || c->b_end > c->b;
}

static size_t context(size_t lines)
{
    return lines < ETHOS_DIFF_CONTEXT ? lines : ETHOS_DIFF_CONTEXT;
}

/* The next hunk after the one in *h; changes with few lines between them share one. */
static bool next_hunk(const struct diff *d, struct diff_change *h)
{
    struct diff_change change = *h, last;
    size_t lead, trail;
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

static void print_line(char sign, const struct line *line, struct str *out)
{
    str_addc(out, sign);
    str_add(out, line->text);
    if (line->text.data[line->text.size - 1] != '\n')
        str_adds(out, "\n\\ No newline at end of file\n");
}

/* First line, from 1, and number of lines; an empty range is named by the line before it. */
static void print_range(const struct side *side, char sign, size_t from, size_t to, struct str *out)
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
            print_line('-', &d->old.lines[a++], out);
        else if (b < h->b_end && d->new.changed[b])
            print_line('+', &d->new.lines[b++], out);
        else {
            print_line(' ', &d->old.lines[a++], out);
            b++;
        }
    }
}

static void print(const struct diff *d, const char *key, struct str *out)
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
    narrow(&d, old_text.data ? old_text : VIEW(""), new_text.data ? new_text : VIEW(""));
    if (find_changes(&d))
        print(&d, key, out);
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
    narrow(&d, old_text.data ? old_text : VIEW(""), new_text.data ? new_text : VIEW(""));
    found = find_changes(&d);
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
