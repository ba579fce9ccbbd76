/*
 * similar_entries.h: finds entries of an index that are similar to one of them.
 *
 * Compares the stems of the words of title and hook, without common words. Entries are similar if
 * they share at least two words and 60 percent of the words of the shorter one. Linear in the
 * index; reads no note. Nearly equal texts are found by core/search/near_duplicates.
 */
#ifndef ETHOS_CORE_NOTES_SIMILAR_ENTRIES_H
#define ETHOS_CORE_NOTES_SIMILAR_ENTRIES_H

#include <ethos/types.h>

#define SIMILAR_MOST 3       /* entries reported */
#define SIMILAR_PERCENT 60   /* of the words of the shorter one */
#define SIMILAR_MAX_WORDS 48 /* words of one entry; further ones are ignored */

/*
 * The files most similar to the entry of this file, best first, as views into the index; returns
 * their number, 0 if the file has no entry.
 */
size_t similar_entries(struct ethos_view index, struct ethos_view file,
                       struct ethos_view out[SIMILAR_MOST]);

#endif
