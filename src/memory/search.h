/*
 * search.h: finding words in the files and notes of a context.
 *
 * Files are read as they stand; there is no index that could disagree with them. A query means what it
 * means everywhere (core/query.h). The place shown is the line that has all of it, if one has.
 */
#ifndef ETHOS_MEMORY_SEARCH_H
#define ETHOS_MEMORY_SEARCH_H

#include <ethos/ethos.h>

#define SEARCH_MAX_HITS 100        /* hits asked for */
#define SEARCH_MAX_PER_FILE 3      /* hits of one file; an archive may have all */
#define SEARCH_MAX_FILES 20000     /* files looked into */
#define SEARCH_MAX_BYTES 268435456 /* bytes looked into */
#define SEARCH_MAX_SNIPPET 300     /* bytes */

struct memory_search {
    struct ethos_view text;
    const char *scope; /* one scope alone; NULL: those of the context */
    unsigned limit;    /* 1 to SEARCH_MAX_HITS */
    int guarded;       /* looks only at what a model may read */
    int archive;       /* looks into what went to the archives, too */
};

/* Strings are borrowed for the length of the call. */
struct memory_hit {
    const char *scope, *key;
    uint64_t line; /* from 1 */
    struct ethos_view snippet;
    int cut_before, cut_after; /* the snippet does not begin or end its line */
    int64_t mtime_ms;          /* of the file, or -1 */
};

typedef int memory_hit_fn(void *arg, const struct memory_hit *hit);

struct memory_searched {
    uint64_t files;
    uint64_t unreadable; /* files that were passed over */
    int code;            /* why the first of those was, or ETHOS_OK */
    struct ethos_error error;
    int withheld; /* guarded: there was something a model may not read */
    int partial;  /* the bounds above ended it */
};

/* The best first: the words as a phrase, in one line, in one file; then the file changed last. */
int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct memory_searched *out, struct ethos_error *error);

#endif
