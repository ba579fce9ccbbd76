/*
 * search.h: finding words in the files and notes of a context.
 *
 * Files are read as they stand; there is no index that could disagree with them. A question is any of its
 * words, best first (core/rank.h). What is ranked is a note as a whole, a line of every other file, a message of a
 * conversation. Of a note the best line is shown. Two passes: how frequent each word is, then the scores; the
 * second reads only files that have one. Memory is bounded by the number of files and of hits.
 */
#ifndef ETHOS_MEMORY_SEARCH_H
#define ETHOS_MEMORY_SEARCH_H

#include <ethos/ethos.h>
#include <ethos/session.h>

#define SEARCH_MAX_HITS 100        /* hits asked for */
#define SEARCH_MAX_FILES 20000     /* files looked into */
#define SEARCH_MAX_BYTES 268435456 /* bytes looked into */
#define SEARCH_MAX_SNIPPET 300     /* bytes */

struct memory_search {
    struct ethos_view text;
    const char *scope;                 /* one scope alone; NULL: those of the context */
    unsigned limit;                    /* 1 to SEARCH_MAX_HITS */
    int guarded;                       /* looks only at what a model may read */
    int archive;                       /* looks into what went to the archives, too */
    int everywhere;                    /* and into the notes of every workspace */
    struct ethos_sessions *sessions;   /* and into these conversations; NULL: none */
    const struct ethos_people *people; /* of sessions, as in struct ethos_search */
    const char *working_dir;
};

/* Strings are borrowed for the length of the call. */
struct memory_hit {
    const char *scope, *key;
    uint64_t line; /* from 1 */
    struct ethos_view snippet;
    int cut_before, cut_after; /* the snippet does not begin or end its line */
    int64_t mtime_ms;          /* of the file, or -1 */
    const char *session, *message,
        *time; /* of a message, which has no scope, key or line; else NULL */
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

/* The best first; equals by the file changed last. A line of an index is left out beside the hit of its note. */
int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct memory_searched *out, struct ethos_error *error);

#endif
