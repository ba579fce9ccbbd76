/*
 * changes.h: the recorded changes of one key, loaded for history by name, undo and blame.
 */
#ifndef ETHOS_MEMORY_HISTORY_CHANGES_H
#define ETHOS_MEMORY_HISTORY_CHANGES_H

#include "base/arena.h"
#include "base/json.h"
#include "memory/handle_internal.h"

struct changes {
    struct arena arena;
    struct ethos_change *items; /* newest first; strings are in the arena */
    size_t count, capacity;
    struct ethos_text now; /* the current text; data NULL: no file */
    bool with_diffs;
    size_t diff_bytes; /* of all of them */
};

/* What to load, as bits. */
enum {
    CHANGES_PLAIN = 0,
    CHANGES_DIFFS = 1, /* whole diffs only; a change longer than CHANGES_DIFF_BYTES has none */
    CHANGES_STILL = 2  /* do not record external edits */
};

#define CHANGES_DIFF_BYTES 33554432 /* bytes of all diffs; beyond that, versions are read */

/*
 * Records an external edit if possible, then reads text and history. ETHOS_UNSUPPORTED if the
 * provider keeps no history. Release in any case.
 */
int changes_load(struct ethos_turn *turn, const struct scope_target *target, int what,
                 struct changes *out, struct ethos_error *error);
void changes_release(struct ethos_turn *turn, struct changes *changes);

/* Reads the text again; the loaded changes stay. */
int changes_refresh(struct ethos_turn *turn, const struct scope_target *target,
                    struct changes *changes, struct ethos_error *error);

/* The changes of all keys of a scope, by key, loaded in one walk. */
struct changes_scope {
    struct changes all;
    size_t *next; /* of each change: the next older one of its key; SIZE_MAX: none */
    size_t next_capacity;
    json_t *first, *last; /* {"key": index} */
};

/*
 * Like changes_load for a scope (an id); reads no texts and records nothing. Release in any case.
 */
int changes_load_scope(struct ethos_turn *turn, const char *scope, int what,
                       struct changes_scope *out, struct ethos_error *error);
void changes_scope_release(struct ethos_turn *turn, struct changes_scope *changes);

/* The changes of one key of a loaded scope, and its current text. Release it before the scope. */
int changes_of_key(struct ethos_turn *turn, const struct scope_target *target,
                   const struct changes_scope *scope, struct changes *out,
                   struct ethos_error *error);

/*
 * Copies a change, with its strings in the arena; its diff only if wanted. ETHOS_OK or ETHOS_NOMEM.
 */
int changes_copy(struct arena *arena, const struct ethos_change *change, bool with_diff,
                 struct ethos_change *out);

/* "absent", or the revision of the text as it is. */
const char *changes_revision(const struct changes *changes);

/* Whether a change changed the key; others only record a text that was found beside it. */
bool changes_real(const struct ethos_change *change);

/* The revision that a name means (ethos_read_version); "absent" if there was no file then. */
int changes_resolve(const struct changes *changes, const char *key, const char *name,
                    const char **out_revision, struct ethos_error *error);

/* ETHOS_INVALID if the filter's number names two changes, as after a git merge of two histories. */
int changes_check_number(const struct changes *changes, const char *key,
                         const struct ethos_filter *filter, struct ethos_error *error);

/*
 * Reads the text of a revision; for "absent" out_text->data is NULL. Free with changes_text_free.
 */
int changes_text(struct ethos_turn *turn, const struct scope_target *target, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error);

/* Frees a text of changes_text. */
void changes_free(struct ethos_turn *turn, struct ethos_text *text);

/* history.c: whether a change matches a filter, regardless of its limit. */
bool history_matches(const struct ethos_filter *filter, const struct ethos_change *change);

/* ETHOS_UNSUPPORTED unless the provider has this slot. */
int changes_need(const struct ethos_turn *turn, bool has, struct ethos_error *error);

#endif
