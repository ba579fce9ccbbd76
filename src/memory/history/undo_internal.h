/*
 * undo_internal.h: the state of one file while changes are reverted in it. Private to undo.c and
 * undo_operation.c.
 */
#ifndef ETHOS_MEMORY_HISTORY_UNDO_INTERNAL_H
#define ETHOS_MEMORY_HISTORY_UNDO_INTERNAL_H

#include "memory/history/changes.h"

/* Consecutive changes that are reverted as one: from the revision `after` back to `before`. */
struct change_run {
    const struct ethos_change *newest; /* NULL: none */
    size_t first, last;                /* of the newest and the oldest */
    const char *before;
};

/* A version, from which the diffs of the changes lead to older ones. */
struct version {
    struct str text;
    const char *revision; /* NULL: none yet */
    size_t next;          /* the first change that may lead to an older one */
};

struct pending_undo;

struct undoing {
    struct ethos_turn *turn;
    const struct scope_target *target;
    const struct ethos_filter *filter;
    const struct ethos_sync_how *how;
    bool alone;                         /* the caller undoes the other files of the operations, */
    const struct pending_undo *staying; /* except for these updates; or NULL */
    /*
     * Numbers of changes that were reverted without changing a file: no record of those files names
     * them, so the record of the next written file does. NULL: not wanted.
     */
    struct str *unrecorded;
    struct changes changes;
    struct str text;      /* while changes are reverted */
    bool loaded;          /* else the text of revision is not loaded yet */
    const char *revision; /* of text, "absent", or "" after a merge */
    struct change_run run;
    struct version here;
    struct str undoes; /* numbers, for the history */
    const struct ethos_change **taken_changes;
    size_t taken, taken_room;
    bool stuck; /* a merge failed: retrying does not help */
    /* Other files that were changed together with the reverted changes; in the arena of changes. */
    struct undo_other *others;
    size_t other_count;
};

/* A file that changed in the same operation as the one being undone. */
struct undo_other {
    struct undoing undoing;
    struct scope_target target;
};

/* Whether a change is an undo. */
bool undo_is(const struct ethos_change *change);

/* Whether a change is a purge, or a purge removed all of it. */
bool undo_is_purge(const struct ethos_change *change);

/* ETHOS_DENIED, and stuck: undoing would restore what a purge removed. */
int undo_refuse_purged(struct undoing *undoing, struct ethos_error *error);

/*
 * Whether a change is half of a move between scopes; the other scope's history has the other half.
 */
bool undo_is_move(const struct ethos_change *change);

/* ETHOS_DENIED, with a hint to the move that reverts both halves. */
int undo_refuse_move(struct ethos_turn *turn, const char *scope, const char *key, bool came,
                     struct ethos_error *error);

/* The text so far; absent: no file. */
struct ethos_view undo_text(const struct undoing *undoing);

/* Replaces the text so far. */
int undo_set_text(struct undoing *undoing, struct ethos_view text, const char *revision,
                  struct ethos_error *error);

/* Reverts one change in the text so far. ETHOS_CONFLICT, and stuck, if later changes overlap it. */
int undo_revert_change(struct undoing *undoing, const struct ethos_change *change,
                       struct ethos_error *error);

/*
 * Finds the changes of other files in the same operations as the reverted ones, and reverts them in
 * memory; their numbers are added to undoes.
 */
int undo_find_others(struct undoing *undoing, struct ethos_error *error);

/* Writes the file and the others in one update. ETHOS_CONFLICT if one of them changed meanwhile. */
int undo_write_all(struct undoing *undoing, const struct ethos_sync_how *how,
                   struct ethos_error *error);

void undo_release_others(struct undoing *undoing);

#endif
