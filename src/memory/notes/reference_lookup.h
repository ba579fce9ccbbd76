/*
 * reference_lookup.h: checks whether the files and symbols that notes refer to exist in a folder.
 * Private to src/memory.
 *
 * Only files beneath the folder are opened, without following links out of it, and only regular
 * files are read; for ~/x and /x only existence is checked. A FIFO never blocks. A path is relative
 * to the folder; if it does not exist, it may be the end of any path in the tree, since people
 * abbreviate (`core/notes/index.c`, `notes/index.c`). What cannot be determined is unknown, never
 * gone.
 */
#ifndef ETHOS_MEMORY_NOTES_REFERENCE_LOOKUP_H
#define ETHOS_MEMORY_NOTES_REFERENCE_LOOKUP_H

#include <stdbool.h>

#include "base/str.h"
#include "core/notes/references.h"

#define LOOK_MAX 50000           /* lookups of one check */
#define LOOK_FILE_BYTES 4194304  /* bytes: a larger file is not searched for names */
#define LOOK_ALL_BYTES 268435456 /* bytes read by one check */
#define LOOK_TREE_MAX 20000 /* entries of the tree; in a larger one abbreviated paths are unknown */
#define LOOK_TREE_DEPTH 32

enum look_answer { LOOK_HOLDS, LOOK_GONE, LOOK_UNKNOWN };

struct reference_lookup {
    int root; /* -1: no folder */
    const char *path;
    size_t lookups;
    size_t bytes;
    bool exhausted;  /* a limit was reached: later answers are unknown */
    struct str tree; /* "/a/" NUL "/a/b.c" NUL ... */
    size_t tree_count;
    bool tree_read, tree_whole;
    struct str file, file_name; /* the last file read */
};

/* path: the folder, or NULL. A folder that cannot be opened counts as none. */
void lookup_open(struct reference_lookup *self, const char *path);
void lookup_release(struct reference_lookup *self);

/*
 * For a path with a line: also gone if the file is shorter; *out_lines is then its length, else 0.
 */
enum look_answer lookup_path(struct reference_lookup *self, const struct claim *claim,
                             size_t *out_lines);

/* A symbol in a missing file is unknown: the path reports that already. */
enum look_answer lookup_symbol(struct reference_lookup *self, const struct claim *claim);

#endif
