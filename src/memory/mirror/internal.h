/*
 * internal.h: what the parts of the mirror share. Private to memory/mirror/.
 *
 *   mirror.c          which scopes there are, who serves them, and a look at all of them
 *   loop.c            when something is looked at again
 *   sync_scope.c      a look at one scope: the two steps for each text
 *   edit_base.c       what an edit is compared with
 *   change_filter.c   what nobody wishes to be at the backend
 *   folder.c          the folder: whose it is, what was agreed on, modes
 *
 * In the folder, beside what a files store has:
 *
 *     .gitignore                  made once: what is no text
 *     .mem/mirror.json            which place this folder mirrors, and the mirror's own id
 *     .mem/mirror.lock
 *     .mem/mirror-<scope>.json    {"place", "step", "keys": {key: revision}}: what was agreed on
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
#define MIRROR_STATE_BYTES (64 << 20) /* of one scope: more keys than that are refused */

/* A backend that is not in files. */
struct mirror_source {
    struct mirror_source *next;
    struct ethos_provider *front;  /* the handle's */
    struct ethos_provider *behind; /* that answers; NULL until it was reached */
    const char *name;
    int fd;           /* that becomes readable; -1: none */
    int64_t due_ms;   /* when to ask what changed; 0: when fd says so */
    int64_t retry_ms; /* it failed, and is left alone until then */
    bool any;         /* every scope may have changed, and there may be others */
    bool away;        /* and somebody was told */
    bool met;         /* it answered once */
};

struct mirror_scope {
    struct mirror_source *source;
    bool dirty;
    size_t texts;     /* that were in step after the last look */
    int64_t retry_ms; /* it is not looked at before, unless it changes */
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
    bool incomplete;              /* some could not be opened, and somebody was told */
    int64_t again_ms;             /* when to try those again; 0: all are known */
    struct mirror_scope **scopes; /* by name */
    size_t scope_count, scope_capacity;
    struct ethos_error trouble; /* of this look, about no single text; code ETHOS_OK: none */
    bool relist;                /* the folder may have other scopes */
    bool in_step;               /* and somebody was told */
    bool guarded;               /* in this pass, files that are gone were counted */
    size_t deletions;           /* that may still be done in it */
    json_t *kept_here;          /* paths of copies that were told, which the folder's watch finds */
    size_t removed;             /* texts at backends, without a pause of MIRROR_SPELL_MS */
    int64_t removed_ms;         /* the last of them */
    json_t *told;               /* failures of single texts: path to what they were about */
    struct mirror_count count;
};

/* What was agreed on in a scope. */
struct mirror_state {
    json_t *keys;
    int64_t step; /* how often it was written */
    bool changed;
};

void mirror_report(struct mirror *self, const struct mirror_event *event);

/* Whether this was told about a subject before and nothing else since; from now on it was. */
bool mirror_knows(struct mirror *self, const char *subject, const char *what);
bool mirror_stopped(const struct mirror *self);

/* ---- mirror.c -------------------------------------------------------------------------------- */

#define MIRROR_SOON_MS 500   /* before a text is looked at again that somebody is writing */
#define MIRROR_FRESH_MS 1000 /* so old a new file is, before it is a text */

/* The folder as a store. */
int mirror_files(const struct mirror *self, struct ethos_store **out, struct ethos_error *error);

/* What is behind a source; and that it failed: it is left alone for a while, and all of it is marked. */
int mirror_reach(struct mirror_source *source, struct ethos_error *error);
void mirror_lose(struct mirror *self, struct mirror_source *source,
                 const struct ethos_error *error);

/* Whether what failed so may work later. */
bool mirror_may_come(int code);

/* The place of a scope among the known ones, or where it would be. */
size_t mirror_find(const struct mirror *self, const char *scope, bool *out_known);

/* Every scope of a source is to be looked at; NULL: of all. */
void mirror_mark_all(struct mirror *self, const struct mirror_source *source);

/* Looks at everything that is marked. The first failure is returned, after all was looked at. */
int mirror_sync_marked(struct mirror *self, struct ethos_error *error);

/* ---- folder.c ------------------------------------------------------------------------- */

/* dir, lock, id; checks whose it is. place is set. */
int folder_open(struct mirror *self, const char *shown_place, struct ethos_error *error);

/* ETHOS_NOTFOUND once it was taken away. */
int folder_check(const struct mirror *self, struct ethos_error *error);

int state_load(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *out, struct ethos_error *error);
int state_save(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *state, struct ethos_error *error);
void state_release(struct mirror_state *state);

/* MIRROR_ABSENT for a key that is not known. */
const char *state_get(const struct mirror_state *state, const char *key);
int state_set(struct mirror_state *state, const char *key, const char *revision,
              struct ethos_error *error);

/* Whether the file of a text is there. How many texts there should be, and how many files of them there are. */
bool folder_has(const struct mirror *self, const char *scope, const char *key);
int folder_count(const struct mirror *self, size_t *out_known, size_t *out_there,
                 struct ethos_error *error);

/* Every scope of which something was agreed on. */
int folder_scopes(const struct mirror *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error);

/* Forgets what was agreed on of every text whose file is gone. */
int folder_forget_missing(const struct mirror *self, struct ethos_error *error);

/* The path of a text below the folder. */
int folder_path(const struct mirror *self, const char *scope, const char *key, char out[PATH_MAX],
                struct ethos_error *error);

/* Takes the right to write from a file of a one-way mirror, or gives it back to its owner. */
void folder_mode(const struct mirror *self, const char *path);

/* ---- edit_base.c --------------------------------------------------------------------------- */

/*
 * The text that an edit of a file began from: the one agreed on, or where it is *out_stale, an older one. Left
 * empty where no history leads there. The caller frees it through the host.
 */
int base_find(const struct mirror *self, const struct mirror_scope *scope, const char *key,
              const char *agreed, struct ethos_view edit, struct ethos_text *out, bool *out_stale,
              struct ethos_error *error);

/* ---- change_filter.c -------------------------------------------------------------------------- */

/*
 * Once in a pass, before files of a scope that are gone are taken as deleted: as many as there are now may be, or
 * none, and all are forgotten, so that they come again. The state is loaded again then.
 */
int guard_deletions(struct mirror *self, const struct mirror_scope *scope,
                    struct mirror_state *state, struct ethos_error *error);

/* Whether one more may be removed in this pass; and that one was. */
bool guard_allows(struct mirror *self);
void guard_note(struct mirror *self);

/* What editors leave beside a text; in a tree any name is one. */
bool guard_is_litter(const char *key);

/* Of a folder that is watched: a file so new may be about to get another name. */
bool guard_is_fresh(const struct mirror *self, const char *path);

/* Whether git wrote its conflict markers into it. */
bool guard_is_unmerged(struct ethos_view text);

/* ---- sync_scope.c -------------------------------------------------------------------------- */

/*
 * Looks at every text of a scope. *out_backend: the failure is one of the backend, and nothing was looked
 * at after it. ETHOS_OK with *out_again: some texts are to be looked at again soon.
 */
int scope_sync_run(struct mirror *self, struct mirror_scope *scope, bool *out_backend,
                   bool *out_again, struct ethos_error *error);

#endif
