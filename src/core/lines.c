/*
 * lines.c: the lines of a text without their line ends, in order and sorted.
 */
#include "core/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/view.h"

static int compare(const struct ethos_view *a, const struct ethos_view *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->data, b->data, size) : 0;

    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_sorted(const void *left, const void *right)
{
    return compare(*(const struct ethos_view *const *)left,
                   *(const struct ethos_view *const *)right);
}

struct ethos_view line_without_end(struct ethos_view line)
{
    if (view_ends(line, VIEW("\n")))
        line.size--;
    if (view_ends(line, VIEW("\r")))
        line.size--;
    return line;
}

int lines_sort(struct lines *lines, struct arena *arena)
{
    lines->sorted = arena_array(arena, lines->count, sizeof(*lines->sorted));
    if (!lines->sorted)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < lines->count; i++)
        lines->sorted[i] = &lines->at[i];
    qsort(lines->sorted, lines->count, sizeof(*lines->sorted), compare_sorted);
    return ETHOS_OK;
}

int lines_split(struct ethos_view text, struct arena *arena, struct lines *out)
{
    struct ethos_view line, rest = text, *at;
    size_t count = 0;

    while (view_line(&rest, &line))
        count++;
    at = arena_array(arena, count, sizeof(*at));
    if (!at)
        return ETHOS_NOMEM;
    *out = (struct lines){.at = at};
    while (view_line(&text, &line))
        at[out->count++] = line_without_end(line);
    return lines_sort(out, arena);
}

/* Index of the first sorted line that is not before this one, or that is after it. */
static size_t find(const struct lines *lines, const struct ethos_view *line, bool after)
{
    size_t low = 0, high = lines->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(lines->sorted[middle], line) < after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t lines_find(const struct lines *lines, const struct ethos_view *line)
{
    return find(lines, line, false);
}

size_t lines_count(const struct lines *lines, const struct ethos_view *line)
{
    return find(lines, line, true) - find(lines, line, false);
}

bool lines_have(const struct lines *lines, const struct ethos_view *line)
{
    size_t at = lines_find(lines, line);

    return at < lines->count && view_eq(*lines->sorted[at], *line);
}
