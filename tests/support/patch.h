/*
 * patch.h: applies a unified diff of the history format, strictly: header, counts, context and
 * removed lines must be right to the byte. For tests and fuzz targets.
 */
#ifndef TESTS_PATCH_H
#define TESTS_PATCH_H

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"

struct patch {
    struct ethos_view diff, old; /* what is left of each */
    size_t old_line, new_line;   /* lines passed */
    struct str *out;
};

/* Takes a line off v, its LF included. */
static inline struct ethos_view patch_take(struct ethos_view *v)
{
    struct ethos_view whole = *v, line;

    view_line(v, &line);
    return view_of(whole.data, whole.size - v->size);
}

static inline void patch_copy(struct patch *p, struct ethos_view line)
{
    str_add(p->out, line);
    p->new_line++;
}

/* One line of a hunk against the old text. */
static inline bool patch_line(struct patch *p, size_t *old_left, size_t *new_left)
{
    struct ethos_view line = patch_take(&p->diff), text = view_from(line, 1);

    if (view_starts(p->diff, VIEW("\\ No newline at end of file\n"))) {
        patch_take(&p->diff);
        text.size--;
    }
    if (line.data[0] == '+') {
        patch_copy(p, text);
        return (*new_left)-- > 0;
    }
    if ((line.data[0] != ' ' && line.data[0] != '-') || !view_eq(patch_take(&p->old), text))
        return false;
    p->old_line++;
    if (line.data[0] == '-')
        return (*old_left)-- > 0;
    patch_copy(p, text);
    return (*old_left)-- > 0 && (*new_left)-- > 0;
}

static inline bool patch_hunk(struct patch *p)
{
    size_t old_from, old_count, new_from, new_count;
    char header[128] = "";
    struct ethos_view line = patch_take(&p->diff);

    memcpy(header, line.data, line.size < sizeof(header) ? line.size : sizeof(header) - 1);
    if (sscanf(header, "@@ -%zu,%zu +%zu,%zu @@", &old_from, &old_count, &new_from, &new_count) !=
        4)
        return false;
    while (p->old_line + (old_count > 0) < old_from) {
        if (p->old.size == 0)
            return false;
        patch_copy(p, patch_take(&p->old));
        p->old_line++;
    }
    if (p->new_line + (new_count > 0) != new_from)
        return false;
    while (old_count > 0 || new_count > 0) {
        if (p->diff.size < 2 || !patch_line(p, &old_count, &new_count))
            return false;
    }
    return true;
}

/* Appends the patched text to out; false when the diff does not fit. */
static inline bool patch_apply(struct ethos_view old, struct ethos_view diff, const char *key,
                               struct str *out)
{
    struct patch p = {.diff = diff, .old = old, .out = out};
    char header[1024];

    snprintf(header, sizeof(header),
             "Index: %s\n===================================================================\n"
             "--- %s\t\n+++ %s\t\n",
             key, key, key);
    if (!view_starts(diff, view_str(header)))
        return false;
    p.diff = view_from(diff, strlen(header));
    while (p.diff.size > 0) {
        if (!patch_hunk(&p))
            return false;
    }
    str_add(out, p.old);
    return true;
}

#endif
