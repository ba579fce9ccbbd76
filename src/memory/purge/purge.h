/*
 * purge.h: taking a text out of everything that a home has.
 *
 *   scopes.c       scopes: texts, history, conflict copies, names; calls that wait for a backend
 *   note_names.c   before a note is renamed: its line of the index, and links to it; notes left empty
 *   files.c        every other file of the home
 *
 * Conversations are purged by their store (ethos/session.h). What a writer puts back meanwhile is purged
 * again, for a number of rounds.
 */
#ifndef ETHOS_MEMORY_PURGE_PURGE_H
#define ETHOS_MEMORY_PURGE_PURGE_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>
#include <ethos/session.h>

#define PURGE_ROUNDS 10 /* after which a text that comes back is somebody else's doing */

struct forget;
struct purge_how {
    const struct ethos_match *match;
    const struct ethos_origin *origin;
    bool dry_run;
    const char *removed; /* its scopes are those of this removed personality; NULL: of the home */

    /* All may be NULL. enter: the scope whose lines match->each is told of next. */
    void (*enter)(void *arg, const char *scope);
    void (*scope)(void *arg, const char *scope, const struct ethos_purge *purge);
    void (*file)(void *arg, const char *path, uint64_t lines);     /* beneath the root */
    void (*kept)(void *arg, const char *path, const char *reason); /* what still holds it */
    /* A note without a text under a name that says nothing: nobody would look for it. */
    void (*emptied)(void *arg, const char *scope, const char *key);
    /* A backend that could not be searched or purged; the others are. */
    void (*missed)(void *arg, const char *name, int code, const struct ethos_error *why);
    /* A database or another machine that was searched: what its files hold is not for us to overwrite. */
    void (*served)(void *arg, const char *name);
    void *arg;
};

/* One scope of a provider. *out: what was found; all zero when nothing was. */
int purge_scope(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct purge_how *how, struct ethos_purge *out, struct ethos_error *error);

/*
 * Every scope of every backend of the home, files that no backend uses any more, and removed
 * personalities; then every other file. ETHOS_BUSY when writers keep putting it back. Another place than this
 * machine that fails is told to how->missed, and is no failure.
 */
int purge_everywhere(struct ethos *self, const struct purge_how *how, struct ethos_error *error);

/* The conversations of the home. ETHOS_UNSUPPORTED when their store cannot. */
int purge_sessions(struct ethos *self, const struct purge_how *how, struct ethos_session_purge *out,
                   struct ethos_error *error);

/*
 * How many files below the root hold it, other than those of these scopes. Only bytes are looked at. Files
 * that cannot be read are left out.
 */
int purge_scan(struct ethos *self, const struct ethos_match *match, const char *const *scopes,
               size_t count, uint64_t *out_files, struct ethos_error *error);

/*
 * note_names.c: gives notes their new names in the index and in links. out_any (may be NULL): nothing is written, it
 * is told whether something would be.
 */
int purge_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct forget *forget, const struct ethos_origin *origin, bool *out_any,
                struct ethos_error *error);

/* Tells how->emptied of each note named "note-..." whose body is blank. */
int purge_report_empty_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                             const struct purge_how *how, struct ethos_error *error);

/*
 * files.c: what the stores do not purge. *out_left: files of theirs that still hold it.
 */
#define PURGE_SETTLED 1u /* their stores found nothing to purge in them: they are told as kept */
#define PURGE_FOREIGN 2u /* files of unknown form stay: a backend that cannot purge may have them */
int purge_files(struct ethos *self, const struct forget *forget, const struct purge_how *how,
                unsigned flags, uint64_t *out_left, struct ethos_error *error);

#endif
