/*
 * text_search.h: finds words in the files, notes and conversations of a context.
 *
 * The query is a question or words; hits are ranked by recall, best first, and each has a word of
 * the query, in itself or in the headings above it. Quoted text must occur literally. An unknown
 * word matches words that begin with it, or differ by a letter. What models may not read is not
 * found. Of a note, and of a paragraph, the best line is shown.
 */
#ifndef ETHOS_MEMORY_RECALL_TEXT_SEARCH_H
#define ETHOS_MEMORY_RECALL_TEXT_SEARCH_H

#include "memory/recall/recall.h"

#define SEARCH_MAX_SNIPPET 300 /* bytes */

struct memory_search {
    struct ethos_view text;
    const char *scope;     /* only this scope; NULL: those of the context */
    unsigned limit;        /* 1 to RECALL_MAX_HITS */
    bool archive;          /* archives, too */
    bool everywhere;       /* and the notes of every workspace */
    enum recall_said said; /* and conversations */
};

/* Strings are borrowed for the call. */
struct memory_hit {
    const char *scope, *key;
    uint64_t line; /* from 1 */
    struct ethos_view snippet;
    bool cut_before, cut_after;      /* the snippet starts or ends inside its line */
    int64_t mtime_ms;                /* of the file or message, or -1 */
    const struct said_message *said; /* session of the hit; NULL: in a file */
};

typedef int memory_hit_fn(void *arg, const struct memory_hit *hit);

/* Best first. An index line is left out beside the hit of its note, which is shown once. */
int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct recall_report *out, struct ethos_error *error);

#endif
