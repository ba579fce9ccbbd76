/*
 * diff.h: shortest line diffs, as changed lines or in the unified form of the history format.
 *
 *     Index: <key>
 *     ===================================================================
 *     --- <key><TAB>
 *     +++ <key><TAB>
 *     @@ -1,2 +1,4 @@
 *
 * Four lines of context, explicit counts, "\ No newline at end of file" where needed. An absent
 * text counts as empty. Works on bytes. Time and memory are bounded: texts that differ too much get
 * a correct diff that is not the shortest.
 */
#ifndef ETHOS_CORE_HISTORY_DIFF_H
#define ETHOS_CORE_HISTORY_DIFF_H

#include <stdint.h>

#include <ethos/types.h>

struct arena;
struct str;

/*
 * Lines [a, a_end) of the old text became lines [b, b_end) of the new one, counted from 0. Kept
 * small, because every second line may be changed.
 */
struct diff_change {
    uint32_t a, a_end, b, b_end;
};

/*
 * All changes in order, with at least one line between two of them; in the arena. ETHOS_OK or
 * ETHOS_NOMEM.
 */
int diff_changes(struct ethos_view old_text, struct ethos_view new_text, struct arena *arena,
                 struct diff_change **out, size_t *out_count);

/* Appends the diff, or nothing if the texts are equal. Returns str_code. */
int diff_unified(struct ethos_view old_text, struct ethos_view new_text, const char *key,
                 struct str *out);

#endif
