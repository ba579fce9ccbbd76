/*
 * removal.c: whether a change takes much of a file away.
 */
#include "core/approval/removal.h"

#include "base/view.h"
#include "core/history/patch.h"

#define LARGE_PERCENT 25

static size_t common_ends(struct ethos_view a, struct ethos_view b)
{
    size_t least = a.size < b.size ? a.size : b.size, begin = 0, end = 0;
    while (begin < least && a.data[begin] == b.data[begin])
        begin++;
    while (begin + end < least && a.data[a.size - 1 - end] == b.data[b.size - 1 - end])
        end++;
    return begin + end;
}

static bool is_corrected(struct ethos_view line, struct ethos_view hunk)
{
    struct patch_line other;
    line = view_trim(line);
    while (patch_line(&hunk, &other))
        if (other.marker == '+' && 2 * common_ends(line, view_trim(other.text)) >= line.size)
            return true;
    return false;
}

uint64_t removal_bytes(struct ethos_view diff, bool *out_whole)
{
    struct patch_hunk hunk;
    struct patch_line line;
    uint64_t bytes = 0;
    int code = ETHOS_NOTFOUND;
    while (diff.size > 0 && (code = patch_next(&diff, &hunk)) == ETHOS_OK) {
        struct ethos_view rest = hunk.lines;
        while (patch_line(&rest, &line))
            if (line.marker == '-' && !view_blank(line.text) &&
                !is_corrected(line.text, hunk.lines))
                bytes += line.text.size;
    }
    *out_whole = code == ETHOS_NOTFOUND || code == ETHOS_OK;
    return bytes;
}

bool removal_is_large(const struct ethos_change *change)
{
    bool whole = false;
    uint64_t before = change->bytes_before, removed = 0;
    if (change->diff.size > 0)
        removed = removal_bytes(change->diff, &whole);
    if (!whole)
        removed = before > change->bytes_after ? before - change->bytes_after : 0;
    return 100 * removed > LARGE_PERCENT * before;
}
