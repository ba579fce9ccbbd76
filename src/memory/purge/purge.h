/*
 * purge.h: removes a text from everything in a home.
 *
 *   scopes.c       scopes: texts, history, conflict copies, names; queued changes of a backend
 *   note_names.c   before a note is renamed: its line of the index, and links to it; empty notes
 *   files.c        every other file of the home
 *
 * Conversations are purged by their store (ethos/session.h). A text that writers add again
 * meanwhile is purged again, for a number of rounds.
 */
#ifndef ETHOS_MEMORY_PURGE_PURGE_H
#define ETHOS_MEMORY_PURGE_PURGE_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>
#include <ethos/session.h>

#define PURGE_ROUNDS 10 /* rounds before giving up */

struct forget;
struct purge_how {
    const struct ethos_match *match;
    const struct ethos_origin *origin;
    bool dry_run;
    const char *removed; /* the scopes belong to this removed personality; NULL: to the home */

    /* Callbacks may be NULL. enter: the scope of the lines reported to match->each next. */
    void (*enter)(void *arg, const char *scope);
    void (*scope)(void *arg, const char *scope, const struct ethos_purge *purge);
    void (*file)(void *arg, const char *path, uint64_t lines); /* path below the root */
    void (*kept)(void *arg, const char *path,
                 const char *reason); /* why it still contains the text */
    /* A note without text under a generated name: nobody would look for it. */
    void (*emptied)(void *arg, const char *scope, const char *key);
    /* A backend that could not be searched or purged; the others are. */
    void (*missed)(void *arg, const char *name, int code, const struct ethos_error *why);
    /* A database or remote machine that was searched: we cannot overwrite its files. */
    void (*served)(void *arg, const char *name);
    void *arg;
};

/* Purges one scope of a provider. *out: what was found; all zero if nothing. */
int purge_scope(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct purge_how *how, struct ethos_purge *out, struct ethos_error *error);

/*
 * Purges every scope of every backend of the home, files that no backend uses any more, and removed
 * personalities; then every other file. ETHOS_BUSY if writers keep adding the text. Failures of
 * remote backends are reported to how->missed, and are not errors.
 */
int purge_everywhere(struct ethos *self, const struct purge_how *how, struct ethos_error *error);

/* Purges the conversations of the home. ETHOS_UNSUPPORTED if their store cannot. */
int purge_sessions(struct ethos *self, const struct purge_how *how, struct ethos_session_purge *out,
                   struct ethos_error *error);

/*
 * Counts the files below the root that contain the text, other than those of these scopes. Only
 * bytes are compared. Unreadable files are skipped.
 */
int purge_scan(struct ethos *self, const struct ethos_match *match, const char *const *scopes,
               size_t count, uint64_t *out_files, struct ethos_error *error);

/*
 * note_names.c: renames notes in the index and in links. out_any (may be NULL): writes nothing and
 * returns whether anything would change.
 */
int purge_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct forget *forget, const struct ethos_origin *origin, bool *out_any,
                struct ethos_error *error);

/* Reports each note named "note-..." whose body is blank to how->emptied. */
int purge_report_empty_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                             const struct purge_how *how, struct ethos_error *error);

/*
 * files.c: purges what the stores do not. *out_left: files of stores that still contain the text.
 */
#define PURGE_SETTLED 1u /* their stores found nothing to purge in them: reported as kept */
#define PURGE_FOREIGN                                                                              \
    2u /* files of unknown format stay: a backend that cannot purge may own them */
int purge_files(struct ethos *self, const struct forget *forget, const struct purge_how *how,
                unsigned flags, uint64_t *out_left, struct ethos_error *error);

#endif
