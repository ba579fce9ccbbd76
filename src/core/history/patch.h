/*
 * patch.h: reads and applies the unified diffs that diff.h makes.
 *
 * Strict: a hunk applies only at the place that its header names, and every line it shows must be
 * there, so a patch gives either exactly the other text or nothing.
 */
#ifndef ETHOS_CORE_HISTORY_PATCH_H
#define ETHOS_CORE_HISTORY_PATCH_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* One hunk. Starts count from 1; with a count of 0 the start is the line before, as in diff. */
struct patch_hunk {
    size_t old_start, old_count;
    size_t new_start, new_count;
    struct ethos_view lines; /* as written in the diff, including markers */
};

/*
 * Reads the next hunk and advances *rest (start with the whole diff; text before the first hunk is
 * skipped). ETHOS_NOTFOUND at the end, ETHOS_INVALID if it is not a complete diff.
 */
int patch_next(struct ethos_view *rest, struct patch_hunk *out);

/* One line of a hunk: its marker and its text with its line end, if it has one. False at the end. */
struct patch_line {
    char marker; /* ' ', '-' or '+' */
    struct ethos_view text;
};
bool patch_line(struct ethos_view *lines, struct patch_line *out);

/*
 * Applies the diff to text (reverse: backwards) and writes the result to out. ETHOS_INVALID if the
 * diff does not parse, ETHOS_CONFLICT if it does not apply, ETHOS_NOMEM.
 */
int patch_apply(struct ethos_view diff, struct ethos_view text, bool reverse, struct str *out);

#endif
