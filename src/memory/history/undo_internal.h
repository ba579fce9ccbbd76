/*
 * undo_internal.h: one file while changes are taken out of it. Private to undo.c and undo_operation.c.
 */
#ifndef ETHOS_MEMORY_HISTORY_UNDO_INTERNAL_H
#define ETHOS_MEMORY_HISTORY_UNDO_INTERNAL_H

#include "memory/history/changes.h"

/* Changes that follow one another and are taken out as one: from the revision `after` back to `before`. */
struct change_run {
    const struct ethos_change *newest; /* NULL: none */
    size_t first, last;                /* of the newest and the oldest */
    const char *before;
};

/* A version, from which older ones are reached by the diffs of the changes. */
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
    bool alone; /* other files of the same operations are left to the caller, */
    const struct pending_undo *staying; /* and these updates stay; or NULL */
    /*
     * Numbers of changes that were taken out of files which are what they were before: no record of
     * those files names them. The record of the next file that is written does. NULL: not wanted.
     */
    struct str *unrecorded;
    struct changes changes;
    struct str text;      /* while changes are taken out of it */
    bool loaded;          /* else text is not that of revision yet */
    const char *revision; /* of text, "absent", or "" once it was merged */
    struct change_run run;
    struct version here;
    struct str undoes; /* numbers, for history */
    const struct ethos_change **taken_changes;
    size_t taken, taken_room;
    bool stuck; /* a merge failed: trying again does not help */
    /* The other files that the changes taken out were made together with; in the arena of changes. */
    struct undo_other *others;
    size_t other_count;
};

/* A file that changed together with the one that is undone. */
struct undo_other {
    struct undoing undoing;
    struct scope_target target;
};

/* Whether a change is itself an undo. */
bool undo_is(const struct ethos_change *change);

/* Whether a purge made a change, or left nothing of it: no other changes nothing. */
bool undo_is_purge(const struct ethos_change *change);

/* ETHOS_DENIED, and stuck: a purge took what would come back. */
int undo_refuse_purged(struct undoing *undoing, struct ethos_error *error);

/* Whether a change is half of a move between scopes; the other half is in the history of the other scope. */
bool undo_is_move(const struct ethos_change *change);

/* ETHOS_DENIED, with the move that takes both halves back: of a note that came to a scope, or went from it. */
int undo_refuse_move(struct ethos_turn *turn, const char *scope, const char *key, bool came,
                     struct ethos_error *error);

/* The text so far; absent: no file. */
struct ethos_view undo_text(const struct undoing *undoing);

/* Makes text the text so far. */
int undo_set_text(struct undoing *undoing, struct ethos_view text, const char *revision,
                  struct ethos_error *error);

/* Takes one change out of the text so far. ETHOS_CONFLICT, and stuck, when later changes overlap it. */
int undo_revert_change(struct undoing *undoing, const struct ethos_change *change,
                       struct ethos_error *error);

/*
 * Finds the changes of other files that were made in the same operations as those taken out, and takes
 * them out of their files, in memory; their numbers join undoes.
 */
int undo_find_others(struct undoing *undoing, struct ethos_error *error);

/* Writes the file and the others in one update. ETHOS_CONFLICT when one of them changed meanwhile. */
int undo_write_all(struct undoing *undoing, const struct ethos_sync_how *how,
                   struct ethos_error *error);

void undo_release_others(struct undoing *undoing);

#endif
