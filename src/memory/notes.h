/*
 * notes.h: the notes of a scope as they stand.
 */
#ifndef ETHOS_MEMORY_NOTES_H
#define ETHOS_MEMORY_NOTES_H

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

/* Resolves a scope (NULL: the workspace) and checks it. */
int notes_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                struct ethos_error *error);

/* Lists the notes and reads the index; opens no note. Zero it first, release it always. */
int notes_load(struct ethos_turn *turn, const char *scope, struct notes *out,
               struct ethos_error *error);
void notes_release(struct ethos_turn *turn, struct notes *notes);

/* Tells of one note alone, at a cost that does not grow with the others. ETHOS_NOTFOUND. */
int notes_tell(struct ethos_turn *turn, const char *scope, const char *key, ethos_note_fn *each,
               void *arg, struct ethos_error *error);

/* The row of a key, or NULL. */
const struct notes_row *notes_find(const struct notes *notes, const char *key);

/* Whether there is such a note: ETHOS_OK, ETHOS_NOTFOUND, or why that cannot be told. */
int notes_has(struct ethos_turn *turn, const char *scope, const char *key,
              struct ethos_error *error);

/* Reads one note into text, which the caller keeps for the next and gives back with notes_free. */
int notes_read(struct ethos_turn *turn, const char *scope, const char *key, struct ethos_text *text,
               struct ethos_error *error);
void notes_free(const struct ethos_turn *turn, struct ethos_text *text);

#endif
