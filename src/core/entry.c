/*
 * entry.c: what an add put in, read from its diff.
 */
#include "core/entry.h"

#include <stdbool.h>

#include "base/str.h"
#include "base/view.h"
#include "core/line_index.h"
#include "core/patch.h"

static bool stands_at(struct ethos_view rest, struct ethos_view entry)
{
    struct ethos_view line, wanted;

    while (view_line(&entry, &wanted)) {
        if (!line_index_next(&rest, &line) || !view_eq(line, wanted))
            return false;
    }
    return true;
}

size_t entry_count(const struct line_index *text, struct ethos_view entry)
{
    struct ethos_view first, rest = entry;
    size_t at, end, count = 0;

    view_line(&rest, &first);
    line_index_find(text, first, &at, &end);
    if (rest.size == 0)
        return end - at;
    for (; at < end; at++)
        count += stands_at(view_from(text->text, text->sorted[at]), entry);
    return count;
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

int entry_read(struct ethos_view diff, struct str *out)
{
    struct ethos_view removed = {0};
    struct patch_hunk hunk;
    struct patch_line line;
    bool begun = false;
    size_t kept = 0;

    str_clear(out);
    if (!last_hunk(diff, &hunk))
        return ETHOS_OK;
    while (patch_line(&hunk.lines, &line)) {
        bool blank = view_blank(line.text), added = line.marker == '+';

        if (line.marker == '-' && !blank)
            removed = line.text;
        if (line.marker == '-' || (!begun && (!added || blank || was_there(line.text, removed))))
            continue;
        if (begun)
            str_addc(out, '\n');
        str_add(out, line_index_plain(line.text));
        begun = true;
        if (added && !blank)
            kept = out->size;
    }
    return str_truncate(out, kept);
}
