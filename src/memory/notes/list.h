/*
 * list.h: the notes of a scope as they stand.
 */
#ifndef ETHOS_MEMORY_NOTES_LIST_H
#define ETHOS_MEMORY_NOTES_LIST_H

#include <stdbool.h>

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "base/arena.h"
#include "base/str.h"

#define NOTES_INDEX "MEMORY.md"

/* A file that is a note, and its first line in the index. */
struct notes_row {
    const char *key;
    uint64_t bytes;
    int64_t mtime_ms;
    size_t order;             /* among the entries of the index; SIZE_MAX: it has none */
    const char *title, *hook; /* of that entry as they read, or NULL */
};

struct notes {
    char scope[ETHOS_MAX_SCOPE];
    struct arena arena;
    struct ethos_text index; /* data NULL: there is none */
    struct notes_row *rows;  /* by key */
    size_t count;
};

/* handle_recover of a scope of notes, which NULL names as it does below. */
int notes_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/* Resolves a scope (NULL: the workspace, without one global) and checks it. */
int notes_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                struct ethos_error *error);

/*
 * The same for a note that is put there. ETHOS_DENIED for a personality whose memory is the global one:
 * its prompts and searches would not show the note.
 */
int notes_new_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                    struct ethos_error *error);

/* Looks at files of a scope that were edited outside lately, as opening each would. Failures are passed over. */
void notes_record_external_edits(struct ethos_turn *turn, const char *scope);

#define NOTES_MOVE "move" /* what the two halves of a move between scopes are made by, in history */

/* The scopes whose notes a turn sees, the nearest first: the workspace's, its memory's, and global. */
#define NOTES_TIERS 3
size_t notes_tiers(const struct ethos_turn *turn, const char *out[NOTES_TIERS]);

/*
 * The scope in which a name means a note, and its key: that which is asked for, else the first of workspace,
 * memory and global that has it. The error is that of the first.
 */
int notes_locate(struct ethos_turn *turn, const char *scope, const char *name,
                 char out_scope[ETHOS_MAX_SCOPE], char out_key[ETHOS_MAX_KEY + 1],
                 struct ethos_error *error);

/*
 * Moves a note and its line to another scope, which it is written to before it goes from its own: killed in
 * between, both have it, and the same call ends it. ETHOS_EXISTS when another note has its name there.
 */
int notes_transfer(struct ethos_turn *turn, const char *name, const char *target,
                   const struct ethos_sync_how *how, char out_scope[ETHOS_MAX_SCOPE],
                   char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* Whether a person makes the change, not an agent. */
bool notes_by_person(const struct ethos_origin *origin);

/* What a note shall say; an absent view leaves that part as it is (core/notes/remember.h, remember_rewrite). */
struct notes_change {
    struct ethos_view text, hook, title;
};

/*
 * Changes a note and its line in one update. A file that was named after a title that changed is then
 * renamed, unless its new name is taken; out tells where the note is now.
 */
int notes_write(struct ethos_turn *turn, const char *scope, const char *name,
                const struct notes_change *change, const struct ethos_sync_how *how,
                struct ethos_kept *out, struct ethos_error *error);

/* Gives notes that have no line in the index one, a few hundred at most. */
int notes_list_new(struct ethos_turn *turn, const char *scope, const struct ethos_sync_how *how,
                   struct ethos_error *error);

/* ETHOS_LIMIT for a title that is too long for a line of the index. */
int notes_check_title(struct ethos_view title, struct ethos_error *error);

/* The surface or session that an origin names, as the member source of a note says it. Returns str_code. */
int notes_source(const struct ethos_turn *turn, const struct ethos_origin *origin, struct str *out);

/* Lists the notes and reads the index; opens no note. Zero it first, release it always. */
int notes_load(struct ethos_turn *turn, const char *scope, struct notes *out,
               struct ethos_error *error);
void notes_release(struct ethos_turn *turn, struct notes *notes);

/* Tells of one note alone, at a cost that does not grow with the others. ETHOS_NOTFOUND. */
int notes_pass_one(struct ethos_turn *turn, const char *scope, const char *key, ethos_note_fn *each,
                   void *arg, struct ethos_error *error);

/*
 * A cursor is "LAST/NEXT": the key of the last note of a page, and that of the first one of the next
 * page, which counts when the other was removed meanwhile.
 */
#define NOTES_CURSOR_SIZE (2 * ETHOS_MAX_KEY + 2)
bool notes_cursor_last(const char *cursor, const char *key);
bool notes_cursor_next(const char *cursor, const char *key);

/*
 * What ethos_notes does, from a cursor on (NULL: from the first one). No note before that is opened.
 * ETHOS_INVALID when neither note of the cursor is there.
 */
int notes_walk(struct ethos_turn *turn, const char *scope, const char *after, ethos_note_fn *each,
               void *arg, struct ethos_error *error);

/* The row of a key, or NULL. */
const struct notes_row *notes_find(const struct notes *notes, const char *key);

/* Whether there is such a note: ETHOS_OK, ETHOS_NOTFOUND, or why that cannot be told. */
int notes_has(struct ethos_turn *turn, const char *scope, const char *key,
              struct ethos_error *error);

/*
 * The key that a name stands for, as ethos_note_find; also of a note that is gone, by its file name or by the
 * title that it was made with.
 */
int notes_find_past(struct ethos_turn *turn, const char *scope, const char *name,
                    char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/*
 * How the index of a scope and its notes disagree. Outside workspaces MEMORY.md need not be an index: it is
 * one when some line of it has its note.
 */
struct notes_disagreement {
    size_t unlisted, missing, twice; /* notes without line; lines without note; further lines */
};
int notes_disagree(struct ethos_turn *turn, const char *scope, struct notes_disagreement *out,
                   struct ethos_error *error);

/* Reads one note into text, which the caller keeps for the next and gives back with notes_free. */
int notes_read(struct ethos_turn *turn, const char *scope, const char *key, struct ethos_text *text,
               struct ethos_error *error);
void notes_free(const struct ethos_turn *turn, struct ethos_text *text);

/* Whether the prompt shows the notes kept for everywhere (prefetch.c). One that cannot be read is not shown. */
bool notes_global_shown(struct ethos_turn *turn);

#endif
