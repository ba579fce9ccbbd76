/*
 * migrate.h: moves the whole memory of one store to another: texts, history, conflict copies.
 *
 * Any store with history, version and scopes can be the source, any with graft (provider.h) the
 * target. The target is consistent at every moment: changes are copied oldest first, in batches,
 * each with the texts after its last change, all or nothing. So an interrupted migration continues
 * after the newest change of the target, and needs no other record.
 *
 * A change keeps its number if that is above the previous one; else (a line written by another
 * program has none) it gets the next one. This depends on the changes alone, so that it is the same
 * in every run; numbers in `undoes` are adjusted. A text that no change led to gets one, via
 * "migrate".
 *
 * The source is read, and external edits are recorded there, as any write of the key would. A
 * target whose scope has changes other than the first ones of the source is refused, and stays as
 * it is.
 *
 * Not moved: records of operation ids (so that repeated operations are executed anew), changes that
 * were rolled back, lines with an invalid key.
 */
#ifndef ETHOS_MEMORY_MIGRATE_MIGRATE_H
#define ETHOS_MEMORY_MIGRATE_MIGRATE_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>
#include <ethos/session.h>

#include "base/hash.h"

#define MIGRATE_ROWS 128                       /* changes per batch */
#define MIGRATE_BYTES (4 << 20)                /* or bytes of texts per batch */
#define MIGRATE_PASSES 16                      /* passes over a scope that keeps changing */
#define MIGRATE_VIA "migrate"                  /* of a change that the migration added */
#define MIGRATE_NUMBER_MAX (UINT64_C(1) << 53) /* larger numbers are replaced */

/* The work for a scope, or for all, and its result. */
struct migrate_count {
    uint64_t changes;    /* in the source */
    uint64_t moved;      /* copied by this run; in a dry run: to be copied */
    uint64_t renumbered; /* of all */
    uint64_t added;      /* texts without a change that got one in this run */
    uint64_t lost;       /* versions that the source itself has lost */
    uint64_t skipped;    /* changes with an invalid key */
    uint64_t texts, copies;
};

/* A finished scope, with the digest of either side; both "" in a dry run. */
struct migrate_scope {
    const char *scope;
    struct migrate_count count;
    char from[HASH_HEX_SIZE], to[HASH_HEX_SIZE];
    unsigned passes; /* more than one: the source changed meanwhile, and that was copied, too */
};

/* Progress: scope `index` of `count`, and changes of all scopes. */
typedef void migrate_progress_fn(void *arg, size_t index, size_t count, uint64_t done,
                                 uint64_t total);
typedef void migrate_scope_fn(void *arg, const struct migrate_scope *scope);

/* Returns whether to stop; called between steps. */
typedef bool migrate_stop_fn(void *arg);

struct migrate {
    const struct ethos_host *host;
    struct ethos_store *from, *to; /* borrowed */
    bool dry_run;
    /*
     * Conversations only: existing ones stay as they are, and API keys are not copied. A session
     * whose key another one has in the target gets the next free key of its family.
     */
    bool adds;
    migrate_progress_fn *progress; /* or NULL */
    migrate_scope_fn *each;        /* or NULL */
    migrate_stop_fn *stopped;      /* or NULL */
    void *arg;                     /* of all of them */
};

/* ETHOS_UNSUPPORTED names the store and what it lacks. */
int migrate_check(const struct migrate *self, struct ethos_error *error);

/*
 * Moves every scope. ETHOS_CONFLICT if the target has other history, before anything of that scope
 * is written; ETHOS_INTERNAL if a scope differs at the end, or was skipped because its name is
 * invalid, after all others were moved; ETHOS_BUSY if the source keeps changing, or it was stopped.
 * A repeated call continues.
 */
int migrate_stores(const struct migrate *self, struct ethos_error *error);

/* ETHOS_BUSY if it was stopped. */
int migrate_go_on(const struct migrate *self, struct ethos_error *error);

/*
 * The digest of a scope covers every change, whether its texts exist, every text and every conflict
 * copy.
 */
int migrate_digest(const struct migrate *self, struct ethos_store *store, const char *scope,
                   char out[HASH_HEX_SIZE], struct ethos_error *error);

/* ---- conversations (copy_sessions.c) ----------------------------------------------------- */

struct migrate_talk_count {
    uint64_t sessions, messages, keys; /* in the source */
    uint64_t moved_sessions, moved_messages, moved_keys;
    uint64_t differ; /* sessions and keys that differ afterwards */
    char first[700]; /* the first of them, and why if known */
    /* existing sessions that stayed as they are, and those that the target refused */
    uint64_t kept, refused;
    char why[512]; /* why the first one was refused */
};

/*
 * Copies sessions, their visible messages, and keys. An existing session, by its id, is updated to
 * the state of the source; but a conversation that diverged in the target stays, and so does one of
 * which the target accepts no message. Those are counted in `differ`. Of `self` only the options
 * are used.
 */
int migrate_sessions(const struct migrate *self, struct ethos_sessions *from,
                     struct ethos_sessions *to, struct migrate_talk_count *out,
                     char out_digests[2][HASH_HEX_SIZE], struct ethos_error *error);

/* ---- by name (endpoints.c) --------------------------------------------------------------- */

/* A backend as named on a command line: options are NAME=VALUE. */
struct migrate_side {
    const char *name;
    const char *const *options;
    size_t option_count;
};

struct migrate_opened;

/*
 * Opens both sides of a home. A side without options is the home's configured backend, if it has
 * that name; one with options has only those. Secrets are given as NAMEFile or NAMEEnv only.
 * ETHOS_INVALID if both sides are one store. Queued changes for a side that was unreachable are
 * sent first; ETHOS_BUSY if some remain, and in a dry run if there are any.
 */
int migrate_open(struct ethos *ethos, const struct migrate_side *from,
                 const struct migrate_side *to, bool dry_run, struct migrate_opened **out,
                 struct ethos_error *error);
void migrate_close(struct migrate_opened *self);

struct ethos_store *migrate_store(const struct migrate_opened *self, bool target);

/* The sessions of both sides; NULL for both if they are the same. */
struct ethos_sessions *migrate_talks(const struct migrate_opened *self, bool target);

#endif
