/*
 * recall.h: searches memory for what it contains about a question.
 *
 * The scopes of a turn are searched, or all; they are chosen before anything is scored, and no
 * other text changes a score. Every hit is read again before it is shown: an outdated index may
 * miss something for a moment, but never shows wrong text. Only what models may read is shown.
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
#define RECALL_ENCODE_MS 300 /* encode_ms of callers without other work */

/* Which conversations of the caller's person are searched; never the caller's own session. */
enum recall_said {
    RECALL_SAID_NONE,
    RECALL_SAID_HERE,    /* of the turn's workspace */
    RECALL_SAID_PROJECT, /* likewise; of all, if the owner allows it (sessions.across) */
    RECALL_SAID_ALL
};

struct query;

struct recall_ask {
    struct ethos_view question;
    unsigned limit;     /* 1 to RECALL_MAX_HITS */
    int64_t since_ms;   /* 0: any time */
    bool everywhere;    /* the notes of other workspaces, too */
    bool quick;         /* scope_index_catch_up; and ranking by words alone */
    unsigned encode_ms; /* time for encoding passages without vectors */
    enum recall_said said;
    const char *scope;       /* only this one; NULL: those of the turn */
    const char *const *keys; /* of files, ends with NULL: only those; NULL: all */
    bool remote;             /* only the scope; a remote model counts */
    bool no_archive;         /* without archives */
    bool words;      /* text search: each hit has a word, and unknown words match similar ones */
    double evidence; /* minimum share of the question; hits with less are not read */
    const struct query *phrases; /* word that a hit must have; NULL: none */
};

/*
 * Borrowed for the call. A hit in a conversation has the scope CONVERSATIONS_SCOPE, its session id
 * as key, the line in the message, and `said`.
 */
struct recall_hit {
    const char *scope, *key;
    uint64_t line;                   /* from 1 */
    const struct said_message *said; /* NULL: it is in a text */
    struct ethos_view text;
    struct ethos_view unit, whole; /* text is a passage of the unit; the unit as a whole */
    int64_t date_ms;               /* stated in the text, else its last change; -1: unknown */
    bool is_dated;                 /* the date is stated in the text */
    int64_t changed_ms;            /* of the file or the message; -1: unknown */
    const struct ranker_hit *ranked;
    const struct matched_words
        *words;         /* words of the question, and those of them (or similar ones) in the text */
    int64_t indexed_ms; /* when its scope was searched */
};

/* A value other than 0 ends the walk and is returned. */
typedef int recall_hit_fn(void *arg, const struct recall_hit *hit);

struct recall_report {
    uint64_t scopes, units; /* searched */
    uint64_t texts;         /* files searched; only counted by text search */
    uint64_t unreadable;    /* files that were skipped */
    uint64_t encoded;       /* passages encoded by this call */
    bool withheld;          /* a text had parts that models may not read */
    bool partial;           /* a scope has more texts than can be indexed */
    bool rebuilt;           /* a damaged index was rebuilt */
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
    uint64_t indexed;             /* texts indexed by this call */
    uint64_t encoded;             /* passages encoded by this call */
    bool rebuilt, unsaved;
};
typedef int recall_scope_fn(void *arg, const struct recall_scope_report *report);

/*
 * Updates the index of every scope of the home, reading every text, and removes those of deleted
 * scopes.
 */
int recall_index_all(struct ethos *ethos, recall_scope_fn *each, void *arg,
                     struct ethos_error *error);

/*
 * Updates the index of conversations, unless that takes long, as in a home without one. Failures
 * are left to the next question.
 */
void recall_follow(struct ethos *ethos);

/* Reports problems of the indexes. fix: removes damaged ones. */
int recall_check(struct ethos *ethos, bool fix, ethos_finding_fn *each, void *arg,
                 struct ethos_error *error);

/*
 * Removes every index, so that purged texts leave nothing. ETHOS_BUSY while another process writes
 * one.
 */
int recall_remove(struct ethos *ethos, struct ethos_error *error);

/* Likewise those of conversations, when sessions are deleted. */
int recall_remove_conversations(struct ethos *ethos, struct ethos_error *error);

#endif
