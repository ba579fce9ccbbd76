/*
 * list.h: the notes of a scope, and finding and changing them.
 */
#ifndef ETHOS_MEMORY_NOTES_LIST_H
#define ETHOS_MEMORY_NOTES_LIST_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "base/arena.h"
#include "base/str.h"

#define NOTES_INDEX "MEMORY.md"

/* A note file, and its first line in the index. */
struct notes_row {
    const char *key;
    uint64_t bytes;
    int64_t mtime_ms;
    size_t order;             /* position in the index; SIZE_MAX: not listed */
    const char *title, *hook; /* of that entry as they read, or NULL */
};

struct notes {
    char scope[ETHOS_MAX_SCOPE];
    struct arena arena;
    struct ethos_text index; /* data NULL: no index */
    struct notes_row *rows;  /* by key */
    size_t count;
};

/* handle_recover for a scope of notes; NULL is the default scope, as below. */
int notes_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/* Resolves a scope (NULL: the workspace, or global without one) and checks it. */
int notes_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                struct ethos_error *error);

/*
 * Likewise for a new note. ETHOS_DENIED for a personality whose memory is the global one: its
 * prompts and searches would not show the note.
 */
int notes_new_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                    struct ethos_error *error);

/* Records recent external edits of a scope, as opening each file would. Failures are ignored. */
void notes_record_external_edits(struct ethos_turn *turn, const char *scope);

#define NOTES_MOVE "move" /* the via of both halves of a move between scopes, in the history */

/* The scopes whose notes a turn sees, nearest first: its workspace, its memory, and global. */
#define NOTES_TIERS 3
size_t notes_tiers(const struct ethos_turn *turn, const char *out[NOTES_TIERS]);

/*
 * Finds the note that a name means, and its scope: the given one, else the first of workspace,
 * memory and global that has it. The error is that of the first.
 */
int notes_locate(struct ethos_turn *turn, const char *scope, const char *name,
                 char out_scope[ETHOS_MAX_SCOPE], char out_key[ETHOS_MAX_KEY + 1],
                 struct ethos_error *error);

/*
 * Moves a note and its line to another scope. It is written there before it is removed: if killed
 * between, both have it, and the same call completes the move. ETHOS_EXISTS if another note has its
 * name there.
 */
int notes_transfer(struct ethos_turn *turn, const char *name, const char *target,
                   const struct ethos_sync_how *how, char out_scope[ETHOS_MAX_SCOPE],
                   char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* Whether a person makes the change, not an agent. */
bool notes_by_person(const struct ethos_origin *origin);

/*
 * A change of a note; an absent view leaves that part unchanged (core/notes/remember.h,
 * remember_rewrite).
 */
struct notes_change {
    struct ethos_view text, hook, title;
};

/*
 * Changes a note and its line in one update. A file that was named after a changed title is then
 * renamed, unless the new name is taken; out has the note's key and scope afterwards.
 */
int notes_write(struct ethos_turn *turn, const char *scope, const char *name,
                const struct notes_change *change, const struct ethos_sync_how *how,
                struct ethos_kept *out, struct ethos_error *error);

/* Adds index lines for notes without one, a few hundred at most. */
int notes_list_new(struct ethos_turn *turn, const char *scope, const struct ethos_sync_how *how,
                   struct ethos_error *error);

/* ETHOS_LIMIT for a title that is too long for a line of the index. */
int notes_check_title(struct ethos_view title, struct ethos_error *error);

/*
 * The surface or session of an origin, as stored in the member source of a note. Returns str_code.
 */
int notes_source(const struct ethos_turn *turn, const struct ethos_origin *origin, struct str *out);

/* Lists the notes and reads the index; opens no note. Zero it first, release it in any case. */
int notes_load(struct ethos_turn *turn, const char *scope, struct notes *out,
               struct ethos_error *error);
void notes_release(struct ethos_turn *turn, struct notes *notes);

/* Passes one note, at a cost that does not grow with the others. ETHOS_NOTFOUND. */
int notes_pass_one(struct ethos_turn *turn, const char *scope, const char *key, ethos_note_fn *each,
                   void *arg, struct ethos_error *error);

/*
 * A cursor is "LAST/NEXT": the key of the last note of a page, and that of the first one of the
 * next page, which is used if the other was removed meanwhile.
 */
#define NOTES_CURSOR_SIZE (2 * ETHOS_MAX_KEY + 2)
bool notes_cursor_last(const char *cursor, const char *key);
bool notes_cursor_next(const char *cursor, const char *key);

/*
 * Like ethos_notes, starting after a cursor (NULL: from the first note). No earlier note is opened.
 * ETHOS_INVALID if neither note of the cursor exists.
 */
int notes_walk(struct ethos_turn *turn, const char *scope, const char *after, ethos_note_fn *each,
               void *arg, struct ethos_error *error);

/* The row of a key, or NULL. */
const struct notes_row *notes_find(const struct notes *notes, const char *key);

/* Whether a note exists: ETHOS_OK, ETHOS_NOTFOUND, or why that is unknown. */
int notes_has(struct ethos_turn *turn, const char *scope, const char *key,
              struct ethos_error *error);

/*
 * The key that a name means, like ethos_note_find; also of a deleted note, by its file name or
 * original title.
 */
int notes_find_past(struct ethos_turn *turn, const char *scope, const char *name,
                    char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/*
 * How the index of a scope and its notes disagree. Outside workspaces MEMORY.md need not be an
 * index: it is one if one of its lines has its note.
 */
struct notes_disagreement {
    size_t unlisted, missing,
        twice; /* notes without a line; lines without a note; duplicate lines */
};
int notes_disagree(struct ethos_turn *turn, const char *scope, struct notes_disagreement *out,
                   struct ethos_error *error);

/* Reads one note into text, which the caller reuses for the next and releases with notes_free. */
int notes_read(struct ethos_turn *turn, const char *scope, const char *key, struct ethos_text *text,
               struct ethos_error *error);
void notes_free(const struct ethos_turn *turn, struct ethos_text *text);

/* Whether the prompt shows the global notes (prefetch.c). False if they cannot be read. */
bool notes_global_shown(struct ethos_turn *turn);

#endif
