/*
 * added_entry.h: what an add put into a text, and how often a text has it.
 *
 * An entry is its lines without line ends, joined by LF, without blank ones around them.
 */
#ifndef ETHOS_CORE_HISTORY_ADDED_ENTRY_H
#define ETHOS_CORE_HISTORY_ADDED_ENTRY_H

#include <ethos/types.h>

struct line_index;
struct str;

/* Makes the entry of an add the content of out, by its diff; nothing where that does not tell. Returns str_code. */
int entry_read(struct ethos_view diff, struct str *out);

/*
 * How often a text has the entry, its lines one after the other; places that overlap count once. Costs
 * no more than reading the text, whatever the lines are. ETHOS_OK or ETHOS_NOMEM.
 */
int entry_count(const struct line_index *text, struct ethos_view entry, size_t *out);

#endif
