/*
 * fence.h: text that a model reads as data, between two lines that nothing in it can be taken for.
 *
 *     <<<ethos-data 3f9c…32 hex source="telegram:42" trust="untrusted"
 *     > each line of the text, prefixed
 *     ethos-data 3f9c…>>>
 *
 * The number is the same for a whole session, so that the caches of models hold, and known to nobody who writes such
 * text. Inside, secrets are redacted, characters that nobody would see are shown, and what looks like such a line or
 * like a mark of a model's own protocol (<|im_start|>, [INST], System:) is broken by a backslash.
 */
#ifndef ETHOS_CORE_APPROVAL_FENCE_H
#define ETHOS_CORE_APPROVAL_FENCE_H

#include <ethos/types.h>

#include "core/approval/trust.h"

struct str;

#define FENCE_NUMBER_SIZE 33 /* with terminator */

/* The number of a session, from its id. */
void fence_number(const char *session, char out[FENCE_NUMBER_SIZE]);

/* Appends it, without a line end behind it. source: where the text is from, "read_file". Returns str_code. */
int fence_text(struct ethos_view text, const char *number, const char *source, enum trust trust,
               struct str *out);

#endif
