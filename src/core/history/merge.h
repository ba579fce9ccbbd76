/*
 * merge.h: three-way merge of markdown memory, by lines.
 *
 * Deterministic, never a conflict marker. Both sides' changes are kept where they do not overlap.
 * Where they do, these are still merged, in this order of rules:
 *   - the same change on both sides is one change
 *   - both only added lines at the same place (append-heavy text, list items, sections): ours, then
 *     theirs; entries both added are not doubled; sections of one heading become one; a blank line
 *     stays between paragraphs
 *   - one side deleted lines and the other left them alone: deleted
 * Anything else is a conflict: ours stands in the result, and theirs is to be kept beside it.
 *
 * Promise: every line that either side added is in the result, unless conflicts > 0; then those of
 * ours are, and the caller keeps theirs whole. White space at the end of a line, its line end and a
 * missing last newline belong to the line and make no change of it; a side that changed them is
 * followed, ours before theirs.
 */
#ifndef ETHOS_CORE_HISTORY_MERGE_H
#define ETHOS_CORE_HISTORY_MERGE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct merge_report {
    unsigned conflicts;                         /* places where our text was used */
    unsigned from_ours, from_theirs, from_both; /* changed places by origin */
};

/*
 * An absent view is an empty text. Writes the result to out. ETHOS_OK, ETHOS_NOMEM, or ETHOS_LIMIT
 * at the limit of out.
 */
int merge_texts(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs,
                struct str *out, struct merge_report *out_report);

enum merge_origin { MERGE_SAME, MERGE_OURS, MERGE_THEIRS, MERGE_BOTH, MERGE_CONFLICT };

/* A part of the merge, as it is in each text. All parts in order are the whole texts. */
struct merge_hunk {
    enum merge_origin origin;
    struct ethos_view base, ours, theirs, merged;
};

/* Borrowed during the call. False ends the merge with ETHOS_NOMEM. */
typedef bool merge_hunk_fn(void *arg, const struct merge_hunk *hunk);

/* The same, reporting the hunks. */
int merge_hunks(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs,
                struct str *out, merge_hunk_fn *each, void *arg, struct merge_report *out_report);

#endif
