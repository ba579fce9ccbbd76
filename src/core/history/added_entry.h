/*
 * added_entry.h: the entry that an add inserted, and how often a text contains it.
 *
 * An entry is its lines without line ends, joined by LF, without leading and trailing blank lines.
 */
#ifndef ETHOS_CORE_HISTORY_ADDED_ENTRY_H
#define ETHOS_CORE_HISTORY_ADDED_ENTRY_H

#include <ethos/types.h>

struct line_index;
struct str;

/*
 * Writes the entry of an add to out, read from its diff; empty if the diff does not show it.
 * Returns str_code.
 */
int entry_read(struct ethos_view diff, struct str *out);

/*
 * How often a text contains the entry as consecutive lines; overlapping matches count once. Linear
 * in the text. ETHOS_OK or ETHOS_NOMEM.
 */
int entry_count(const struct line_index *text, struct ethos_view entry, size_t *out);

#endif
