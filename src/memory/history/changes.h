/*
 * changes.h: the recorded changes of one key, loaded for looking back: history by name, undo, blame.
 */
#ifndef ETHOS_MEMORY_HISTORY_CHANGES_H
#define ETHOS_MEMORY_HISTORY_CHANGES_H

#include "base/arena.h"
#include "base/json.h"
#include "memory/handle_internal.h"

struct changes {
    struct arena arena;
    struct ethos_change *items; /* newest first, strings in the arena */
    size_t count, capacity;
    struct ethos_text now; /* the text as it is; data NULL: no file */
    bool with_diffs;
    size_t diff_bytes; /* of all of them */
};

/* What to load, as bits. */
enum {
    CHANGES_PLAIN = 0,
    CHANGES_DIFFS = 1, /* those that are whole; from CHANGES_DIFF_BYTES on, a change has none */
    CHANGES_STILL = 2  /* nothing is recorded meanwhile */
};

#define CHANGES_DIFF_BYTES 33554432 /* bytes of all diffs; the versions tell what else there is */

/*
 * Has an edit made outside recorded, if it can be, then reads text and history. ETHOS_UNSUPPORTED
 * where the provider keeps none. Release it in any case.
 */
int changes_load(struct ethos_turn *turn, const struct scope_target *target, int what,
                 struct changes *out, struct ethos_error *error);
void changes_release(struct ethos_turn *turn, struct changes *changes);

/* Reads the text again; the changes stay those that were loaded. */
int changes_refresh(struct ethos_turn *turn, const struct scope_target *target,
                    struct changes *changes, struct ethos_error *error);

/* The changes of all keys of a scope, by key: one walk for all of them. */
struct changes_scope {
    struct changes all;
    size_t *next; /* of each change: the next older one of its key; SIZE_MAX: none */
    size_t next_capacity;
    json_t *first, *last; /* {"key": index} */
};

/* As changes_load for a scope (an id); the text of no key is read, nothing is recorded. Release it always. */
int changes_load_scope(struct ethos_turn *turn, const char *scope, int what,
                       struct changes_scope *out, struct ethos_error *error);
void changes_scope_release(struct ethos_turn *turn, struct changes_scope *changes);

/* The changes of one key among them, and its text as it is. Release it before the scope. */
int changes_of_key(struct ethos_turn *turn, const struct scope_target *target,
                   const struct changes_scope *scope, struct changes *out,
                   struct ethos_error *error);

/* A change whose strings are in the arena; its diff only when asked for. ETHOS_OK or ETHOS_NOMEM. */
int changes_copy(struct arena *arena, const struct ethos_change *change, bool with_diff,
                 struct ethos_change *out);

/* "absent", or the revision of the text as it is. */
const char *changes_revision(const struct changes *changes);

/* Whether it changed the key, rather than telling of a text that was met beside it. */
bool changes_real(const struct ethos_change *change);

/* The revision that a name means (ethos_read_version); "absent" when there was no file then. */
int changes_resolve(const struct changes *changes, const char *key, const char *name,
                    const char **out_revision, struct ethos_error *error);

/* ETHOS_INVALID when the filter's number, if it has one, names two changes: git merged two histories. */
int changes_check_number(const struct changes *changes, const char *key,
                         const struct ethos_filter *filter, struct ethos_error *error);

/* The text of a revision, "absent" included: then out_text->data is NULL. Free it by the host. */
int changes_text(struct ethos_turn *turn, const struct scope_target *target, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error);

/* Frees what changes_text gave. */
void changes_free(struct ethos_turn *turn, struct ethos_text *text);

/* history.c: whether a filter names a change; its limit aside. */
bool history_matches(const struct ethos_filter *filter, const struct ethos_change *change);

/* ETHOS_UNSUPPORTED unless the provider has this slot. */
int changes_need(const struct ethos_turn *turn, bool has, struct ethos_error *error);

#endif
