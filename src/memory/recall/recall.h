/*
 * recall.h: what memory holds about a question.
 *
 * Searched are the scopes of a turn, or all; which they are is decided before anything is scored, and no other
 * text changes a score. Every hit is read where it stands before it is shown: an index that lags behind can miss
 * for a moment, and never lies. What is shown is what a model may read.
 */
#ifndef ETHOS_MEMORY_RECALL_RECALL_H
#define ETHOS_MEMORY_RECALL_RECALL_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "core/search/matched_words.h"
#include "memory/recall/conversations.h"
#include "recall/ranker.h"

#define RECALL_MAX_HITS 100
#define RECALL_ENCODE_MS 300 /* encode_ms of who asks for this alone */

/* Which conversations are searched, of those of the person who asks; never the one in which is asked. */
enum recall_said {
    RECALL_SAID_NONE,
    RECALL_SAID_HERE,    /* of the turn's workspace */
    RECALL_SAID_PROJECT, /* the same; of all, where the owner allows it (sessions.across) */
    RECALL_SAID_ALL
};

struct query;

struct recall_ask {
    struct ethos_view question;
    unsigned limit;     /* 1 to RECALL_MAX_HITS */
    int64_t since_ms;   /* 0: of any time */
    bool everywhere;    /* the notes of other workspaces, too */
    bool quick;         /* scope_index_catch_up; and words alone rank */
    unsigned encode_ms; /* at most so long passages are encoded that have no vectors yet */
    enum recall_said said;
    const char *scope;       /* one alone; NULL: those of the turn */
    const char *const *keys; /* of files, ends with NULL: those alone; NULL: all */
    bool remote;             /* the scope alone; what a model elsewhere makes of it counts */
    bool no_archive;         /* what went to the archives is left out */
    bool
        words; /* for who searches: each hit has a word, and unknown words stand for those near to them */
    double evidence;             /* at least so much of the question; what has less is not read */
    const struct query *phrases; /* that a hit must have; NULL: none */
};

/*
 * Borrowed for the length of the call. What was said has the scope CONVERSATIONS_SCOPE, the id of its session as its
 * key, the line in the message, and that in `said`.
 */
struct recall_hit {
    const char *scope, *key;
    uint64_t line;                   /* from 1 */
    const struct said_message *said; /* NULL: it is of a text */
    struct ethos_view text;
    struct ethos_view unit, whole; /* the text is a passage of the unit, that a unit of the whole */
    int64_t date_ms;               /* that the text states, else its last change; -1: unknown */
    bool is_dated;                 /* the text states it */
    int64_t changed_ms;            /* of the file or the message; -1: unknown */
    const struct ranker_hit *ranked;
    const struct matched_words
        *words;         /* of the question, and those that the text has, or near ones */
    int64_t indexed_ms; /* when its scope was */
};

/* Another value than 0 ends the walk and is returned. */
typedef int recall_hit_fn(void *arg, const struct recall_hit *hit);

struct recall_report {
    uint64_t scopes, units; /* searched */
    uint64_t texts;         /* files searched; counted where words are searched */
    uint64_t unreadable;    /* files that were passed over */
    uint64_t encoded;       /* passages that were encoded now */
    bool withheld;          /* a text that was read has more than a model may read */
    bool partial;           /* a scope has more texts than are searched */
    bool rebuilt;           /* an index was damaged and was made anew */
    int code;               /* why a scope could not be searched, or ETHOS_OK */
    struct ethos_error error;
};

/* The best hits, best first. */
int recall_search(struct ethos_turn *turn, const struct recall_ask *ask, recall_hit_fn *each,
                  void *arg, struct recall_report *out, struct ethos_error *error);

/* ---- maintenance ----------------------------------------------------------------------------- */

struct recall_scope_report {
    const char *scope;
    uint64_t texts, units, bytes; /* bytes: of the index */
    uint64_t indexed;             /* texts that were indexed now */
    uint64_t encoded;             /* passages that were encoded now */
    bool rebuilt, unsaved;
};
typedef int recall_scope_fn(void *arg, const struct recall_scope_report *report);

/*
 * Brings the index of every scope of the home up to date, reading every text, and removes those of scopes that
 * are gone.
 */
int recall_index_all(struct ethos *ethos, recall_scope_fn *each, void *arg,
                     struct ethos_error *error);

/*
 * The index of conversations follows what was said, unless that is much, as in a home that has none yet. What fails
 * is left to the next question.
 */
void recall_follow(struct ethos *ethos);

/* What is wrong with the indexes. fix: a damaged one is removed. */
int recall_check(struct ethos *ethos, bool fix, ethos_finding_fn *each, void *arg,
                 struct ethos_error *error);

/* Removes every index, as texts that are purged must leave nothing. ETHOS_BUSY while another process writes one. */
int recall_remove(struct ethos *ethos, struct ethos_error *error);

/* The same of those of conversations, as sessions that are deleted must leave nothing. */
int recall_remove_conversations(struct ethos *ethos, struct ethos_error *error);

#endif
