/*
 * reference_lookup.h: whether the files and names that notes speak of are in a folder. Private to
 * src/memory.
 *
 * Only what lies beneath the folder is ever opened, without following a link out of it, and only
 * regular files are read; of ~/x and /x nothing is asked but whether it exists. A FIFO is never
 * waited for. A path is taken from the folder; one that is not there (`core/notes/index.c`, `core/notes/index.c`)
 * may end any path of the tree, since people shorten. What cannot be known is unknown, never gone.
 */
#ifndef ETHOS_MEMORY_NOTES_REFERENCE_LOOKUP_H
#define ETHOS_MEMORY_NOTES_REFERENCE_LOOKUP_H

#include <stdbool.h>

#include "base/str.h"
#include "core/notes/references.h"

#define LOOK_MAX 50000           /* lookups of one check */
#define LOOK_FILE_BYTES 4194304  /* bytes: a larger file is not searched for names */
#define LOOK_ALL_BYTES 268435456 /* bytes read by one check */
#define LOOK_TREE_MAX 20000      /* entries of the tree; in a larger one short paths are unknown */
#define LOOK_TREE_DEPTH 32

enum look_answer { LOOK_HOLDS, LOOK_GONE, LOOK_UNKNOWN };

struct reference_lookup {
    int root; /* -1: there is no folder */
    const char *path;
    size_t lookups;
    size_t bytes;
    bool exhausted;  /* a limit was met: the answers since then are unknown */
    struct str tree; /* "/a/" NUL "/a/b.c" NUL ... */
    size_t tree_count;
    bool tree_read, tree_whole;
    struct str file, file_name; /* the one read last */
};

/* path: the folder, or NULL for none. A folder that cannot be opened is none. */
void lookup_open(struct reference_lookup *self, const char *path);
void lookup_release(struct reference_lookup *self);

/*
 * For a path with a line: gone too when the file is shorter; *out_lines is then its length, else 0.
 */
enum look_answer lookup_path(struct reference_lookup *self, const struct claim *claim,
                             size_t *out_lines);

/* A name in a file that is gone itself is unknown: the path says so already. */
enum look_answer lookup_symbol(struct reference_lookup *self, const struct claim *claim);

#endif
