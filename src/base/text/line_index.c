/*
 * line_index.c: the lines of a text in sorted order.
 */
#include "base/text/line_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/view.h"

struct ethos_view line_index_plain(struct ethos_view line)
{
    if (line.size > 0 && line.data[line.size - 1] == '\n')
        line.size--;
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

bool line_index_next(struct ethos_view *rest, struct ethos_view *out_line)
{
    bool any = view_line(rest, out_line);

    if (any)
        *out_line = line_index_plain(*out_line);
    return any;
}

static struct ethos_view line_at(const struct line_index *index, uint32_t start)
{
    struct ethos_view line, rest = view_from(index->text, start);

    line_index_next(&rest, &line);
    return line;
}

static int compare_lines(struct ethos_view a, struct ethos_view b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;

    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_starts(const void *left, const void *right, void *arg)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = compare_lines(line_at(arg, a), line_at(arg, b));

    return order ? order : (a > b) - (a < b);
}

int line_index_make(struct ethos_view text, struct arena *arena, struct line_index *out)
{
    struct ethos_view line, rest = text;

    *out = (struct line_index){.text = text};
    if (text.size > UINT32_MAX)
        return ETHOS_NOMEM;
    out->sorted = arena_array(arena, view_lines(text), sizeof(*out->sorted));
    if (!out->sorted)
        return ETHOS_NOMEM;
    for (uint32_t start = 0; view_line(&rest, &line); start = (uint32_t)(text.size - rest.size))
        out->sorted[out->count++] = start;
    qsort_r(out->sorted, out->count, sizeof(*out->sorted), compare_starts, out);
    return ETHOS_OK;
}

/* The first sorted line from `low` on that is not before this one; above: that is behind it. */
static size_t find_bound(const struct line_index *index, size_t low, struct ethos_view line,
                         bool above)
{
    size_t high = index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_lines(line_at(index, index->sorted[middle]), line) < (above ? 1 : 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void line_index_find(const struct line_index *index, struct ethos_view line, size_t *out_first,
                     size_t *out_end)
{
    *out_first = find_bound(index, 0, line, false);
    *out_end = find_bound(index, *out_first, line, true);
}

size_t line_index_count(const struct line_index *index, struct ethos_view line)
{
    size_t first, end;

    line_index_find(index, line, &first, &end);
    return end - first;
}

bool line_index_has(const struct line_index *index, struct ethos_view line)
{
    size_t at = find_bound(index, 0, line, false);

    return at < index->count && view_eq(line_at(index, index->sorted[at]), line);
}
