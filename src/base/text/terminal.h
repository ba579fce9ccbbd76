/*
 * terminal.h: makes untrusted text safe for a terminal.
 */
#ifndef ETHOS_BASE_TEXT_TERMINAL_H
#define ETHOS_BASE_TEXT_TERMINAL_H

#include <ethos/types.h>

struct str;

/*
 * Appends the text with everything escaped that could move the cursor, set a title or hide text:
 * control characters except LF and tab, C1, bidirectional overrides, invisible characters, invalid
 * UTF-8. Returns str_code.
 */
int terminal_escape(struct ethos_view text, struct str *out);

#endif
