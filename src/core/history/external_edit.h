/*
 * external_edit.h: what an outside edit meant: the text of a file is not the one last recorded.
 *
 *     (a) REVERT   it equals an older version, but for blank lines at its end: honour it. When it is
 *                  the text the newest append started from, that append counts as taken back (or
 *                  never published)
 *     (b) REAPPLY  a stale buffer was saved: adds that were acknowledged after it was read are
 *                  missing, older ones stand; they are appended again. Not one of which lines are
 *                  left, nor the newest if it was corrected or wrapped anew in its place: who does
 *                  that has read it
 *     (d) RESTORE  crash damage: empty or with NUL bytes, last changed before this boot; the last
 *                  recorded text is put back
 *     (c) MERGE    the version nearest to it is an older one (merge_base.h), and it lacks changes of
 *                  ours made after that, other than adds (with adds, where (b) has nothing older to
 *                  go by): a stale buffer was saved. It is merged
 *                  with the last version over that base. Where both changed the same lines, the
 *                  saved ones stand and the last version is kept as a conflict copy
 *         HONOUR   anything else; also where versions are equally near and lead to different results
 *
 * The first edit after a purge that puts lines where the purge took some out is honoured as well: nothing tells what
 * they were, so a stale buffer cannot be merged, but that it may have brought the text back is told (returned).
 *
 * What of ours is missing afterwards is told (dropped), unless it was taken out by somebody who had read it: of adds,
 * where a newer one stands or lines of it do; of changes other than adds where the edit may
 * have begun with a text that lacked them: an older version, or none at all.
 */
#ifndef ETHOS_CORE_HISTORY_EXTERNAL_EDIT_H
#define ETHOS_CORE_HISTORY_EXTERNAL_EDIT_H

#include <stdbool.h>

#include "core/history/history.h"
#include "core/history/merge_base.h"

enum edit_verdict {
    VERDICT_HONOUR,
    VERDICT_REVERT,
    VERDICT_REAPPLY,
    VERDICT_RESTORE,
    VERDICT_MERGE
};

struct verdict_case {
    const struct history *history; /* of the key, with at least one record */
    struct ethos_view last;        /* text after its last record; absent view: no file */
    struct ethos_view now;         /* the current text; absent view: no file */
    bool before_boot;              /* the file was last changed before the machine started */
    int64_t now_ms;
    merge_base_text_fn *text; /* reads versions; NULL: none can be read, nothing is merged */
    void *arg;
};

struct verdict_finding {
    enum edit_verdict verdict;
    uint64_t voids_first, voids_last; /* REVERT: lines to void, or 0 */
    struct ethos_view *entries;       /* REAPPLY: oldest first, in the history's arena */
    size_t count;
    struct ethos_view merged; /* MERGE: the text the file must have, in the history's arena */
    unsigned conflicts;       /* places where lines of `last` lost against the saved ones */
    bool dropped;             /* our changes are missing and are not restored */
    bool returned;            /* HONOUR: the edit may bring back lines that a purge removed */
};

#define VERDICT_REAPPLY_MS 86400000 /* adds older than this are not appended again */

/*
 * How often a text contains what a record added; 0 if the record did anything but add, or if it
 * cannot be determined. An add was applied to a text if the text contains the entry once more than
 * the text before.
 */
size_t verdict_count(const struct history_record *record, struct ethos_view text);

/*
 * Classifies the edit. ETHOS_OK, ETHOS_NOMEM, or what facts->text returned, except ETHOS_NOTFOUND.
 */
int edit_verdict_find(const struct verdict_case *facts, struct verdict_finding *out);

#endif
