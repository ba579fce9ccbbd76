/*
 * patch.h: reading and applying the unified diffs that diff.h makes.
 *
 * Strict: a hunk fits only at the place its header names, and every line it shows must be there,
 * so a patch either gives exactly the other text or nothing.
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
    struct ethos_view lines; /* as they stand in the diff, markers and all */
};

/*
 * Takes the next hunk off *rest (start with the whole diff; what comes before the first hunk is
 * passed over). ETHOS_NOTFOUND at the end, ETHOS_INVALID when it is no diff or was cut.
 */
int patch_next(struct ethos_view *rest, struct patch_hunk *out);

/* One line of a hunk: its marker and its text with its line end, if it has one. False at the end. */
struct patch_line {
    char marker; /* ' ', '-' or '+' */
    struct ethos_view text;
};
bool patch_line(struct ethos_view *lines, struct patch_line *out);

/*
 * Makes what the diff turns text into (reverse: what it was made from) the content of out.
 * ETHOS_INVALID for a diff that does not parse, ETHOS_CONFLICT when it does not fit, ETHOS_NOMEM.
 */
int patch_apply(struct ethos_view diff, struct ethos_view text, bool reverse, struct str *out);

#endif
