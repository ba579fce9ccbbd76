/*
 * entry.h: what an add put in, read from its diff.
 *
 * An entry is its lines without line ends, joined by LF, without blank ones around them; empty where
 * the diff does not tell.
 */
#ifndef ETHOS_CORE_ENTRY_H
#define ETHOS_CORE_ENTRY_H

#include <ethos/types.h>

struct line_index;
struct str;

/* Makes the entry of an add the content of out. Returns str_code. */
int entry_read(struct ethos_view diff, struct str *out);

/* How often an entry stands in a text, its lines one after the other. */
size_t entry_count(const struct line_index *text, struct ethos_view entry);

#endif
