/*
 * fence.h: marks text that a model must read as data, with delimiters that the text cannot imitate.
 *
 *     <<<ethos-data 3f9c…32 hex source="telegram:42" trust="untrusted"
 *     > each line of the text, prefixed
 *     ethos-data 3f9c…>>>
 *
 * The number is the same for a whole session, so that models can cache prompts, and unknown to the
 * authors of such text. Inside, secrets are redacted, invisible characters are shown, and anything
 * that looks like a delimiter or like a marker of a model's own protocol (<|im_start|>, [INST],
 * System:) is broken by a backslash.
 */
#ifndef ETHOS_CORE_APPROVAL_FENCE_H
#define ETHOS_CORE_APPROVAL_FENCE_H

#include <ethos/types.h>

#include "core/approval/trust.h"

struct str;

#define FENCE_NUMBER_SIZE 33 /* with terminator */

/* The number of a session, from its id. */
void fence_number(const char *session, char out[FENCE_NUMBER_SIZE]);

/*
 * Appends the fenced text, without a line end after it. source: where the text is from, such as
 * "read_file". Returns str_code.
 */
int fence_text(struct ethos_view text, const char *number, const char *source, enum trust trust,
               struct str *out);

#endif
