/*
 * profile_merge.c: which lines of one profile another lacks.
 */
#include "core/memory/profile_merge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

/* A line, and where it stood: those of the text that is merged into come first. */
struct row {
    struct ethos_view text;
    size_t at;
    bool here; /* of the text that is merged into */
};

static int compare_line_texts(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    size_t size = left->text.size < right->text.size ? left->text.size : right->text.size;
    int order = size ? memcmp(left->text.data, right->text.data, size) : 0;
    if (order == 0 && left->text.size != right->text.size)
        order = left->text.size < right->text.size ? -1 : 1;
    if (order == 0)
        order = (left->at > right->at) - (left->at < right->at);
    return order;
}

static int compare_places(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->at > right->at) - (left->at < right->at);
}

static bool add_rows(struct arena *arena, struct ethos_view text, bool here, struct row **rows,
                     size_t *count, size_t *capacity)
{
    struct ethos_view line;
    while (view_line(&text, &line)) {
        line = view_trim_end(line);
        if (line.size == 0)
            continue;
        struct row *grown = arena_grow(arena, *rows, *count, capacity, sizeof *grown);
        if (!grown)
            return false;
        *rows = grown;
        grown[*count] = (struct row){line, *count, here};
        ++*count;
    }
    return true;
}

/* The first of equal lines stays; none where the text that is merged into has one. */
static size_t keep_missing(struct row *rows, size_t count)
{
    size_t kept = 0;
    struct ethos_view last = {0};
    for (size_t i = 0; i < count; i++) {
        bool equal = last.data && view_eq(rows[i].text, last);
        last = rows[i].text;
        if (!equal && !rows[i].here)
            rows[kept++] = rows[i];
    }
    return kept;
}

int profile_missing(struct ethos_view from, struct ethos_view into, struct str *out,
                    size_t *out_count)
{
    struct arena arena;
    struct row *rows = NULL;
    size_t count = 0, capacity = 0;
    arena_init(&arena);
    bool whole = add_rows(&arena, into, true, &rows, &count, &capacity) &&
                 add_rows(&arena, from, false, &rows, &count, &capacity);
    if (whole && count > 0) {
        qsort(rows, count, sizeof *rows, compare_line_texts);
        count = keep_missing(rows, count);
        if (count > 0)
            qsort(rows, count, sizeof *rows, compare_places);
    }
    for (size_t i = 0; whole && i < count; i++) {
        if (i > 0)
            str_addc(out, '\n');
        str_add(out, rows[i].text);
    }
    *out_count = count;
    arena_release(&arena);
    return whole ? str_code(out) : ETHOS_NOMEM;
}
