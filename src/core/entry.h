/*
 * entry.h: what an add put in, read from its diff.
 */
#ifndef ETHOS_CORE_ENTRY_H
#define ETHOS_CORE_ENTRY_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct lines;

/* Lines without blank ones around them. */
struct entry {
    const struct ethos_view *lines;
    size_t count;
};

/* Reads the entry of an add from its diff; without lines when the diff does not tell. ETHOS_NOMEM. */
int entry_read(struct ethos_view diff, struct arena *arena, struct entry *out);

/* How often an entry stands in a text, its lines one after the other. */
size_t entry_count(const struct lines *text, const struct entry *entry);
bool entry_same(const struct entry *a, const struct entry *b);

/* The entry as one text in the arena. ETHOS_NOMEM. */
int entry_join(const struct entry *entry, struct arena *arena, struct ethos_view *out);

#endif
