/*
 * diff.h: shortest line diffs in the unified form of the history format.
 *
 *     Index: <key>
 *     ===================================================================
 *     --- <key><TAB>
 *     +++ <key><TAB>
 *     @@ -1,2 +1,4 @@
 *
 * Four lines of context, explicit counts, "\ No newline at end of file" where it applies. An absent
 * text is an empty one. Works on bytes. Time and memory are bounded: texts too different for a
 * shortest diff get a correct longer one.
 */
#ifndef ETHOS_CORE_DIFF_H
#define ETHOS_CORE_DIFF_H

#include <ethos/types.h>

struct str;

/* Appends the diff; appends nothing when the texts are equal. Returns str_code. */
int diff_unified(struct ethos_view old_text, struct ethos_view new_text, const char *key,
                 struct str *out);

#endif
