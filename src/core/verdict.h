/*
 * verdict.h: what an outside edit meant: the text of a file is not the one last recorded.
 *
 *     (a) REVERT   it equals an older version, but for blank lines at its end: honour it. When it is the text the newest append
 *                  started from, that append counts as taken back (or never published)
 *     (b) REAPPLY  a stale buffer was saved: adds that were acknowledged after it was read are
 *                  missing, older ones stand; they are appended again. Not if the newest of them was
 *                  corrected in its place: who does that has read it
 *     (d) RESTORE  crash damage: empty or with NUL bytes, last changed before this boot; the last
 *                  recorded text is put back
 *     (c) HONOUR   anything else
 */
#ifndef ETHOS_CORE_VERDICT_H
#define ETHOS_CORE_VERDICT_H

#include <stdbool.h>

#include "core/history.h"

enum verdict { VERDICT_HONOUR, VERDICT_REVERT, VERDICT_REAPPLY, VERDICT_RESTORE };

struct verdict_case {
    const struct history *history; /* of the key, at least one record */
    struct ethos_view last;        /* text after its last record; absent view: no file */
    struct ethos_view now;         /* what stands there; absent view: no file */
    bool before_boot;              /* the file was last changed before the machine started */
    int64_t now_ms;
};

struct verdict_finding {
    enum verdict verdict;
    uint64_t voids_first, voids_last; /* REVERT: lines to take back, or 0 */
    struct ethos_view *entries;       /* REAPPLY: oldest first, in the history's arena */
    size_t count;
    bool dropped; /* entries of ours that stood in `last` are missing and stay so */
};

#define VERDICT_REAPPLY_MS 86400000 /* adds older than this are not appended again */

/*
 * How often what a record added stands in a text; 0 when it did anything but add, or that cannot be
 * told. An add has been applied to a text that holds it once more than the text before did.
 */
size_t verdict_count(const struct history_record *record, struct ethos_view text,
                     struct arena *arena);

/* Judges. ETHOS_OK or ETHOS_NOMEM. */
int verdict_judge(const struct verdict_case *facts, struct verdict_finding *out);

#endif
