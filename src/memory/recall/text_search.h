/*
 * text_search.h: finding words in the files, notes and conversations of a context.
 *
 * A question or words, best first, as recall ranks them; each hit has a word of it, or the headings above it do.
 * What stands in quotes must occur. A word that nothing has stands for those that begin so, or differ by a letter.
 * What a model may not read is not found. Of a note, and of a paragraph, the best line is shown.
 */
#ifndef ETHOS_MEMORY_RECALL_TEXT_SEARCH_H
#define ETHOS_MEMORY_RECALL_TEXT_SEARCH_H

#include "memory/recall/recall.h"

#define SEARCH_MAX_SNIPPET 300 /* bytes */

struct memory_search {
    struct ethos_view text;
    const char *scope;     /* one scope alone; NULL: those of the context */
    unsigned limit;        /* 1 to RECALL_MAX_HITS */
    bool archive;          /* what went to the archives, too */
    bool everywhere;       /* and the notes of every workspace */
    enum recall_said said; /* and conversations */
};

/* Strings are borrowed for the length of the call. */
struct memory_hit {
    const char *scope, *key;
    uint64_t line; /* from 1 */
    struct ethos_view snippet;
    bool cut_before, cut_after;      /* the snippet does not begin or end its line */
    int64_t mtime_ms;                /* of the file or message, or -1 */
    const struct said_message *said; /* the hit is in it; NULL: in a file */
};

typedef int memory_hit_fn(void *arg, const struct memory_hit *hit);

/* The best first. A line of an index is left out beside the hit of its note, of which one is shown. */
int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct recall_report *out, struct ethos_error *error);

#endif
