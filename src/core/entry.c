/*
 * entry.c: what an add put in, read from its diff.
 */
#include "core/entry.h"

#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/lines.h"
#include "core/patch.h"

static bool stands_at(const struct ethos_view *at, size_t left, const struct entry *entry)
{
    if (left < entry->count)
        return false;
    for (size_t i = 0; i < entry->count; i++) {
        if (!view_eq(at[i], entry->lines[i]))
            return false;
    }
    return true;
}

size_t entry_count(const struct lines *text, const struct entry *entry)
{
    size_t count = 0;

    for (size_t i = lines_find(text, entry->lines); i < text->count; i++) {
        const struct ethos_view *at = text->sorted[i];

        if (!view_eq(*at, entry->lines[0]))
            break;
        count += stands_at(at, (size_t)(text->at + text->count - at), entry);
    }
    return count;
}

bool entry_same(const struct entry *a, const struct entry *b)
{
    return a->count == b->count && stands_at(a->lines, a->count, b);
}

/* The last hunk of a diff; an add puts its text at the end. False for a diff that is not whole. */
static bool last_hunk(struct ethos_view diff, struct patch_hunk *out)
{
    struct patch_hunk hunk;
    bool any = false;
    int code;

    for (; (code = patch_next(&diff, &hunk)) == ETHOS_OK; any = true)
        *out = hunk;
    return any && code == ETHOS_NOTFOUND;
}

/* An add ends the line before it cleanly, which shows as that line taken out and put in. */
static bool was_there(struct ethos_view line, struct ethos_view removed)
{
    return removed.data && view_eq(view_trim_end(line), view_trim_end(removed));
}

int entry_read(struct ethos_view diff, struct arena *arena, struct entry *out)
{
    struct ethos_view removed = {0};
    struct patch_hunk hunk;
    struct patch_line line;
    size_t count = 0, kept = 0;

    *out = (struct entry){0};
    if (!last_hunk(diff, &hunk))
        return ETHOS_OK;
    struct ethos_view *lines = arena_array(arena, hunk.new_count, sizeof(*lines));
    if (!lines)
        return ETHOS_NOMEM;
    while (patch_line(&hunk.lines, &line)) {
        bool blank = view_blank(line.text), added = line.marker == '+';

        if (line.marker == '-' && !blank)
            removed = line.text;
        if (line.marker == '-' || (count == 0 && (!added || blank)))
            continue;
        if (count == 0 && was_there(line.text, removed))
            continue;
        lines[count++] = line_without_end(line.text);
        if (added && !blank)
            kept = count;
    }
    *out = (struct entry){lines, kept};
    return ETHOS_OK;
}

int entry_join(const struct entry *entry, struct arena *arena, struct ethos_view *out)
{
    size_t size = 0;

    for (size_t i = 0; i < entry->count; i++)
        size += entry->lines[i].size + 1;
    char *text = arena_alloc(arena, size), *at = text;
    if (!text)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < entry->count; i++) {
        if (entry->lines[i].size > 0)
            memcpy(at, entry->lines[i].data, entry->lines[i].size);
        at += entry->lines[i].size;
        *at++ = '\n';
    }
    *out = view_of(text, size - 1);
    return ETHOS_OK;
}
