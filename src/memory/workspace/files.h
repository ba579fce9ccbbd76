/*
 * files.h: the files by which folders find their memory. Private to memory/workspace/.
 *
 * The index is derived: whoever records makes it anew, whoever looks does without when it is missing
 * or stale. It spares those who look in vain from reading every name and every workspace.json:
 *
 *     ethos-workspaces 1 <mtime of workspaces/, ns>
 *     <id>                                 every directory
 *     @<dev>-<ino>-<btime> <id>            every recorded directory, earlier ones too, hexadecimal
 *
 * The time is set by whoever writes the index, before the names are read; any change of names sets
 * another, so names are believed exactly when it is still the same.
 */
#ifndef ETHOS_MEMORY_WORKSPACE_FILES_H
#define ETHOS_MEMORY_WORKSPACE_FILES_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"
#include "base/str.h"
#include "base/system/os.h"

#define WORKSPACE_FOLDER "workspaces"
#define WORKSPACE_STATE WORKSPACE_FOLDER "/.mem"
#define WORKSPACE_INDEX "index" /* in the state */
#define WORKSPACE_DOC "workspace.json"
#define WORKSPACE_ALIASES "aliases.json"
#define WORKSPACE_MARKER_NAME "ethos-workspace"
#define WORKSPACE_HASH_SIZE 13  /* 12 hexadecimal digits of the SHA-256 of a path, terminated */
#define WORKSPACE_TOKEN_SIZE 33 /* 32 of them, at random */
#define WORKSPACE_ID_SIZE (ETHOS_MAX_ID + 1)

void workspace_hash(const char *path, char out[WORKSPACE_HASH_SIZE]);

/* The id a folder gets unless another has it, and the one to take then. */
int workspace_usual_id(const char *root, char out[WORKSPACE_ID_SIZE], struct ethos_error *error);
void workspace_next_id(char id[WORKSPACE_ID_SIZE]);

/* Whether the id ends in -<hash>. */
bool workspace_id_ends(struct ethos_view id, const char *hash);

/* First line of a small file, trimmed, without needing memory. 0, or -1 and errno. */
int workspace_line(const char *path, int flags, char *out, size_t size);

/* Whether there is a directory of this id: 1, 0, or -1 and errno. */
int workspace_there(int dir, const char *id);

bool workspace_same(const struct os_identity *a, const struct os_identity *b);

/*
 * What stands at a recorded path: 1; 0 and errno when nothing does or it is out of reach; -1 and errno
 * when that cannot be told.
 */
int workspace_at(const char *path, struct os_identity *out);

/* The error of a file that must be mended before anything is found through it. */
int workspace_broken(struct ethos_error *error, int code);

/* ---- the marker ----------------------------------------------------------------------------- */

struct workspace_marker {
    char id[WORKSPACE_ID_SIZE];
    char token[WORKSPACE_TOKEN_SIZE];
};

/* The marker in a git directory: 1; 0 when there is none or it is not one; or -1 and errno. */
int workspace_marker_read(const char *common, struct workspace_marker *out);

/* Writes it, if it is not there. 0, or -1. */
int workspace_marker_write(const char *common, const struct workspace_marker *marker);

/* Whether the tree at path carries this very marker: 1, 0, or -1 and errno; drop: takes it away. */
int workspace_marker_at(const char *path, const struct workspace_marker *marker, bool drop);

/* ---- workspace.json ------------------------------------------------------------------------- */

/* ETHOS_NOTFOUND; ETHOS_CORRUPT when it is not one. */
int workspace_doc_read(int dir, const char *id, json_t **out, struct ethos_error *error);
int workspace_doc_write(int dir, const char *id, const json_t *doc, struct ethos_error *error);

/*
 * Whether the document has the token and lists the path, told without parsing: this is the usual case
 * of every prompt. False: parse it.
 */
bool workspace_doc_has(int dir, const struct workspace_marker *marker, const char *root);

/* The recorded path of an entry, "" when it has none. */
const char *workspace_entry_path(const json_t *entry);

/* Whether the entry is of this very directory; never where directories have no birth. */
struct os_identity workspace_entry_identity(const json_t *entry);
bool workspace_entry_is(const json_t *entry, const struct os_identity *identity);

/* Where the directory stands among those that were there before, or their number. */
size_t workspace_entry_was(const json_t *entry, const struct os_identity *identity);

/* Whether the directory has this memory or had it, whatever its path is. */
bool workspace_entry_knows(const json_t *entry, const struct os_identity *identity);
bool workspace_doc_knows(const json_t *doc, const struct os_identity *identity);

/* Where in paths the entry of a path stands, or the number of entries. */
size_t workspace_entry_at(const json_t *doc, const char *path);

/* ---- aliases.json --------------------------------------------------------------------------- */

/* An empty object when there is none. */
int workspace_aliases_read(int dir, json_t **out, struct ethos_error *error);
int workspace_aliases_write(int dir, const json_t *aliases, struct ethos_error *error);

/* ---- the index ------------------------------------------------------------------------------ */

struct workspace_index {
    struct str text; /* empty: there is none */
    bool names;      /* and its names are those of now */
};

/* What is no index counts as none. */
int workspace_index_read(int dir, struct workspace_index *out, struct ethos_error *error);
void workspace_index_release(struct workspace_index *index);

/* The id ending in this hash, or the id of this directory; false: not known. */
bool workspace_index_hash(const struct workspace_index *index, const char *hash,
                          char out_id[WORKSPACE_ID_SIZE]);
bool workspace_index_identity(const struct workspace_index *index,
                              const struct os_identity *identity, char out_id[WORKSPACE_ID_SIZE]);

/* Makes it anew; what it said about `id` is replaced by what doc says (NULL: nothing). */
int workspace_index_write(int dir, const char *id, const json_t *doc, struct ethos_error *error);

/* Walks the ids of all directories; no folder is no id. The walk's code, ETHOS_OK at its end. */
typedef int workspace_id_fn(void *arg, const char *id);
int workspace_each(int dir, workspace_id_fn *each, void *arg, struct ethos_error *error);

#endif
