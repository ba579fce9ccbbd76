/*
 * similar_entries.h: which entries of an index are about the same as one of them.
 *
 * Compared are the words of title and hook, by their stems, without those that only join others. An entry is
 * similar when it shares at least two words, and 60 percent of the words of the shorter of the two. Linear in
 * the index; no note is opened. Texts that are nearly the same are found by core/search/near_duplicates.
 */
#ifndef ETHOS_CORE_NOTES_SIMILAR_ENTRIES_H
#define ETHOS_CORE_NOTES_SIMILAR_ENTRIES_H

#include <ethos/types.h>

#define SIMILAR_MOST 3       /* entries reported */
#define SIMILAR_PERCENT 60   /* of the words of the shorter one */
#define SIMILAR_MAX_WORDS 48 /* of one entry; further ones do not count */

/*
 * The files that are most similar to the entry of this file, the best first, as views into the index; returns
 * how many. None when the file has no entry.
 */
size_t similar_entries(struct ethos_view index, struct ethos_view file,
                       struct ethos_view out[SIMILAR_MOST]);

#endif
