/*
 * internal.h: the parts that the files of the mirror share. Private to memory/mirror/.
 *
 *   mirror.c          finds the scopes and their backends, and syncs all that are marked
 *   loop.c            decides when to sync what
 *   sync_scope.c      syncs one scope: the two steps for each text
 *   edit_base.c       finds the base of an edit
 *   change_filter.c   changes that must not reach the backend
 *   folder.c          the folder: its owner, agreed revisions, modes
 *
 * In the folder, beside the contents of a files store:
 *
 *     .gitignore                  created once: what is not a text
 *     .mem/mirror.json            the mirrored place, and the mirror's own id
 *     .mem/mirror.lock
 *     .mem/mirror-<scope>.json    {"place", "step", "keys": {key: revision}}: the agreed revisions
 */
#ifndef ETHOS_MEMORY_MIRROR_INTERNAL_H
#define ETHOS_MEMORY_MIRROR_INTERNAL_H

#include <limits.h>

#include "base/hash.h"
#include "base/json.h"
#include "memory/handle_internal.h"
#include "memory/mirror/mirror.h"
#include "memory/watch/watch.h"

#define MIRROR_ABSENT "absent"
#define MIRROR_STATE_BYTES (64 << 20) /* a scope with more keys is refused */

/* A backend that does not keep its memory in files. */
struct mirror_source {
    struct mirror_source *next;
    struct ethos_provider *front;  /* the handle's */
    struct ethos_provider *behind; /* the backend itself; NULL until it was reached */
    const char *name;
    int fd;           /* becomes readable at changes; -1: none */
    int64_t due_ms;   /* when to ask for changes; 0: when fd is readable */
    int64_t retry_ms; /* after a failure: not used before */
    bool any;         /* every scope may have changed, and there may be new ones */
    bool away;        /* the failure was reported */
    bool met;         /* it answered once */
};

struct mirror_scope {
    struct mirror_source *source;
    bool dirty;
    size_t texts;     /* in step after the last sync */
    int64_t retry_ms; /* not synced before, unless it changes */
    char place[HASH_HEX_SIZE];
    char scope[ETHOS_MAX_SCOPE];
};

struct mirror {
    struct ethos *ethos;
    struct mirror_how how;
    struct arena arena;
    char *folder;
    int dir, lock;
    char id[HASH_HEX_SIZE];
    char place[HASH_HEX_SIZE]; /* of the home's backend */
    struct ethos_store *files;
    struct ethos *view; /* of the folder, for its watch */
    struct memory_watch *watch;
    const char *name; /* of the home's backend */
    struct mirror_source *sources;
    size_t source_count;
    bool incomplete;              /* some could not be opened, which was reported */
    int64_t again_ms;             /* when to try those again; 0: all are known */
    struct mirror_scope **scopes; /* by name */
    size_t scope_count, scope_capacity;
    struct ethos_error trouble; /* of this sync, not about a single text; code ETHOS_OK: none */
    bool relist;                /* the folder may have other scopes */
    bool in_step;               /* that was reported */
    bool guarded;               /* missing files were counted in this pass */
    size_t deletions;           /* how many files may still be removed in it */
    json_t
        *kept_here; /* paths of reported conflict copies, which the folder's watch finds as well */
    size_t removed; /* removals at backends, without a pause of MIRROR_SPELL_MS */
    int64_t removed_ms; /* time of the last one */
    json_t *told;       /* reported failures of texts: path to details */
    struct mirror_count count;
};

/* The agreed revisions of a scope. */
struct mirror_state {
    json_t *keys;
    int64_t step; /* how often it was saved */
    bool changed;
};

void mirror_report(struct mirror *self, const struct mirror_event *event);

/* Whether this was the last report about a subject; records it. */
bool mirror_knows(struct mirror *self, const char *subject, const char *what);
bool mirror_stopped(const struct mirror *self);

/* ---- mirror.c -------------------------------------------------------------------------------- */

#define MIRROR_SOON_MS 500   /* before syncing again a text that somebody is writing */
#define MIRROR_FRESH_MS 1000 /* minimum age of a new file */

/* The folder as a store. */
int mirror_files(const struct mirror *self, struct ethos_store **out, struct ethos_error *error);

/*
 * Opens the backend of a source; or marks the source as failed, to be retried later with all its
 * scopes.
 */
int mirror_reach(struct mirror_source *source, struct ethos_error *error);
void mirror_lose(struct mirror *self, struct mirror_source *source,
                 const struct ethos_error *error);

/* Whether a failure may be temporary. */
bool mirror_may_come(int code);

/* The index of a scope, or where to insert it. */
size_t mirror_find(const struct mirror *self, const char *scope, bool *out_known);

/* Marks every scope of a source; NULL: of all. */
void mirror_mark_all(struct mirror *self, const struct mirror_source *source);

/* Syncs everything that is marked. Returns the first failure after everything was tried. */
int mirror_sync_marked(struct mirror *self, struct ethos_error *error);

/* ---- folder.c ------------------------------------------------------------------------- */

/* Opens dir and lock, reads id, and checks the folder's owner. place is set. */
int folder_open(struct mirror *self, const char *shown_place, struct ethos_error *error);

/* ETHOS_NOTFOUND if the folder was removed. */
int folder_check(const struct mirror *self, struct ethos_error *error);

int state_load(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *out, struct ethos_error *error);
int state_save(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *state, struct ethos_error *error);
void state_release(struct mirror_state *state);

/* MIRROR_ABSENT for an unknown key. */
const char *state_get(const struct mirror_state *state, const char *key);
int state_set(struct mirror_state *state, const char *key, const char *revision,
              struct ethos_error *error);

/*
 * Whether the file of a text exists. How many texts there should be, and how many of their files
 * exist.
 */
bool folder_has(const struct mirror *self, const char *scope, const char *key);
int folder_count(const struct mirror *self, size_t *out_known, size_t *out_there,
                 struct ethos_error *error);

/* Calls each with every scope that has agreed revisions. */
int folder_scopes(const struct mirror *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error);

/* Forgets the agreed revision of every text whose file is missing. */
int folder_forget_missing(const struct mirror *self, struct ethos_error *error);

/* The path of a text in the folder. */
int folder_path(const struct mirror *self, const char *scope, const char *key, char out[PATH_MAX],
                struct ethos_error *error);

/* Makes a file of a one-way mirror read-only, or writable again. */
void folder_mode(const struct mirror *self, const char *path);

/* ---- edit_base.c --------------------------------------------------------------------------- */

/*
 * The base of an edited file: the agreed text, or if *out_stale an older one. Empty if no history
 * leads there. The caller frees it through the host.
 */
int base_find(const struct mirror *self, const struct mirror_scope *scope, const char *key,
              const char *agreed, struct ethos_view edit, struct ethos_text *out, bool *out_stale,
              struct ethos_error *error);

/* ---- change_filter.c -------------------------------------------------------------------------- */

/*
 * Once per pass, before missing files of a scope count as deleted: accepts them, or forgets all of
 * them, so that they are created again. The state is then reloaded.
 */
int guard_deletions(struct mirror *self, const struct mirror_scope *scope,
                    struct mirror_state *state, struct ethos_error *error);

/* Whether one more text may be removed in this pass; and counts a removal. */
bool guard_allows(struct mirror *self);
void guard_note(struct mirror *self);

/* Whether a name is a temporary file of an editor; in a tree any name is valid. */
bool guard_is_litter(const char *key);

/* In a watched folder, a file this new may be about to be renamed. */
bool guard_is_fresh(const struct mirror *self, const char *path);

/* Whether the text contains conflict markers of git. */
bool guard_is_unmerged(struct ethos_view text);

/* ---- sync_scope.c -------------------------------------------------------------------------- */

/*
 * Syncs every text of a scope. *out_backend: the backend failed, and nothing was synced after that.
 * ETHOS_OK with *out_again: some texts must be synced again soon.
 */
int scope_sync_run(struct mirror *self, struct mirror_scope *scope, bool *out_backend,
                   bool *out_again, struct ethos_error *error);

#endif
