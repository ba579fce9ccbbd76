/*
 * migrate.h: moving: the memory of one store into another, whole: texts, history, kept copies.
 *
 * Any store with history, version and scopes can be moved from, any with graft (provider.h) into. The target
 * is right at every moment: changes go over oldest first, some at a time, each time with the texts as they
 * were after the last of them, and all of that or nothing. So the newest change of the target is where an
 * interrupted move goes on, and nothing else has to be remembered.
 *
 * A change keeps its number if that is above the one before it; else (a line that others wrote has none) it
 * gets the next one. That follows from the changes alone, so it is the same in every run; numbers in
 * `undoes` are changed along. A text that no change led to gets one, via "migrate".
 *
 * The source is read, and edits made outside are recorded there, as any write of the key would do. A target whose
 * scope has other changes than the first ones of the source is refused, and stays as it is.
 *
 * What does not move: the records of operation ids (a repeat after moving is judged afresh), changes that
 * were taken back, lines whose key is none.
 */
#ifndef ETHOS_MEMORY_MIGRATE_MIGRATE_H
#define ETHOS_MEMORY_MIGRATE_MIGRATE_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>
#include <ethos/session.h>

#include "base/hash.h"

#define MIGRATE_ROWS 128                       /* changes that are handed over at once */
#define MIGRATE_BYTES (4 << 20)                /* and bytes of texts with which a hand is full */
#define MIGRATE_PASSES 16                      /* over a scope that keeps changing */
#define MIGRATE_VIA "migrate"                  /* of a change that the move made */
#define MIGRATE_NUMBER_MAX (UINT64_C(1) << 53) /* numbers above are not kept */

/* What there was to move of a scope, or of all, and what became of it. */
struct migrate_count {
    uint64_t changes;    /* in the source */
    uint64_t moved;      /* of them, by this run; of a dry run: that would be */
    uint64_t renumbered; /* of all */
    uint64_t added;      /* texts without a change that got one, by this run */
    uint64_t lost;       /* versions that the source itself cannot tell any more */
    uint64_t skipped;    /* changes whose key is none */
    uint64_t texts, copies;
};

/* A scope that is done, with the digest of either side; both "" in a dry run. */
struct migrate_scope {
    const char *scope;
    struct migrate_count count;
    char from[HASH_HEX_SIZE], to[HASH_HEX_SIZE];
    unsigned passes; /* more than one: the source changed meanwhile, and that went over, too */
};

/* Where it is: scope `index` of `count`, and changes of all scopes. */
typedef void migrate_progress_fn(void *arg, size_t index, size_t count, uint64_t done,
                                 uint64_t total);
typedef void migrate_scope_fn(void *arg, const struct migrate_scope *scope);

/* Whether somebody wants it to end; asked between steps. */
typedef bool migrate_stop_fn(void *arg);

struct migrate {
    const struct ethos_host *host;
    struct ethos_store *from, *to; /* borrowed */
    bool dry_run;
    /*
     * Conversations: what is there stays as it is, and API keys stay where they are. A session whose key
     * another one has in the target gets the next free one of its family.
     */
    bool adds;
    migrate_progress_fn *progress; /* or NULL */
    migrate_scope_fn *each;        /* or NULL */
    migrate_stop_fn *stopped;      /* or NULL */
    void *arg;                     /* of all of them */
};

/* ETHOS_UNSUPPORTED names the store that cannot, and what it lacks. */
int migrate_check(const struct migrate *self, struct ethos_error *error);

/*
 * Moves every scope. ETHOS_CONFLICT for a target that has other history, before anything of that scope was
 * written; ETHOS_INTERNAL when a scope is not the same on both sides at the end, or has a name that is none and
 * stayed, once all were moved;
 * ETHOS_BUSY when the source does not stop changing, or it was to end. Called again it goes on.
 */
int migrate_stores(const struct migrate *self, struct ethos_error *error);

/* ETHOS_BUSY when it is to end. */
int migrate_go_on(const struct migrate *self, struct ethos_error *error);

/* What the digest of a scope is made of: every change, whether its texts can be had, every text and copy. */
int migrate_digest(const struct migrate *self, struct ethos_store *store, const char *scope,
                   char out[HASH_HEX_SIZE], struct ethos_error *error);

/* ---- conversations (copy_sessions.c) ----------------------------------------------------- */

struct migrate_talk_count {
    uint64_t sessions, messages, keys; /* in the source */
    uint64_t moved_sessions, moved_messages, moved_keys;
    uint64_t differ; /* sessions and keys that are not the same afterwards */
    char first[700]; /* of them, and why where that is known */
    /* where it only adds: sessions that stay as they are in the target, and those that it does not take */
    uint64_t kept, refused;
    char why[512]; /* the first one was refused */
};

/*
 * Copies sessions, their messages that are shown, and keys. What is there already, by its id, becomes as it is
 * in the source by now; but a conversation that went on in the target by itself stays, and so does one
 * of which the target takes no message. Those are counted in `differ`. Of `self` only how it is done is used.
 */
int migrate_sessions(const struct migrate *self, struct ethos_sessions *from,
                     struct ethos_sessions *to, struct migrate_talk_count *out,
                     char out_digests[2][HASH_HEX_SIZE], struct ethos_error *error);

/* ---- by name (endpoints.c) --------------------------------------------------------------- */

/* A backend as it is named on a command line: options are NAME=VALUE. */
struct migrate_side {
    const char *name;
    const char *const *options;
    size_t option_count;
};

struct migrate_opened;

/*
 * Opens both sides of a home. A side without options is the backend that the home is configured with, if that
 * has its name, with the options of the configuration; one with options has just those. A secret is given as
 * NAMEFile or NAMEEnv only. ETHOS_INVALID when both sides are one store. Changes that wait for a side that
 * was out of reach are made first; ETHOS_BUSY when some still wait, and in a dry run when any do.
 */
int migrate_open(struct ethos *ethos, const struct migrate_side *from,
                 const struct migrate_side *to, bool dry_run, struct migrate_opened **out,
                 struct ethos_error *error);
void migrate_close(struct migrate_opened *self);

struct ethos_store *migrate_store(const struct migrate_opened *self, bool target);

/* Where its conversations are; NULL for both when that is the same place. */
struct ethos_sessions *migrate_talks(const struct migrate_opened *self, bool target);

#endif
