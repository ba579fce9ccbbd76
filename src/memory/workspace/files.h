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
#define WORKSPACE_TOKEN_SIZE 33 /* 32 random ones */
#define WORKSPACE_ID_SIZE (ETHOS_MAX_ID + 1)

void workspace_hash(const char *path, char out[WORKSPACE_HASH_SIZE]);

/* The id a folder gets unless another folder has it, and the id to use then. */
int workspace_usual_id(const char *root, char out[WORKSPACE_ID_SIZE], struct ethos_error *error);
void workspace_next_id(char id[WORKSPACE_ID_SIZE]);

/* Whether the id ends in -<hash>. */
bool workspace_id_has_hash(struct ethos_view id, const char *hash);

/* First line of a small file, trimmed, without allocating memory. 0, or -1 and errno. */
int workspace_line(const char *path, int flags, char *out, size_t size);

/* Whether a directory with this id exists: 1, 0, or -1 and errno. */
int workspace_there(int dir, const char *id);

bool workspace_same(const struct os_identity *a, const struct os_identity *b);

/*
 * Whether a recorded path exists: 1; 0 and errno if it does not or is unreachable; -1 and errno if
 * that is unknown.
 */
int workspace_at(const char *path, struct os_identity *out);

/* The error for a damaged file without which nothing can be found. */
int workspace_broken(struct ethos_error *error, int code);

/* ---- the marker ----------------------------------------------------------------------------- */

struct workspace_marker {
    char id[WORKSPACE_ID_SIZE];
    char token[WORKSPACE_TOKEN_SIZE];
};

/* Reads the marker in a git directory: 1; 0 if there is none or it is invalid; or -1 and errno. */
int workspace_marker_read(const char *common, struct workspace_marker *out);

/* Writes a marker unless there is one. 0, or -1. */
int workspace_marker_write(const char *common, const struct workspace_marker *marker);

/* Whether the tree at path has this very marker: 1, 0, or -1 and errno; drop: removes it. */
int workspace_marker_at(const char *path, const struct workspace_marker *marker, bool drop);

/* ---- workspace.json ------------------------------------------------------------------------- */

/* ETHOS_NOTFOUND; ETHOS_CORRUPT if it is invalid. */
int workspace_doc_read(int dir, const char *id, json_t **out, struct ethos_error *error);
int workspace_doc_write(int dir, const char *id, const json_t *doc, struct ethos_error *error);

/*
 * Whether the document has the token and lists the path, found without parsing: the usual case of
 * every prompt. False: parse it.
 */
bool workspace_doc_has(int dir, const struct workspace_marker *marker, const char *root);

/* The recorded path of an entry, "" when it has none. */
const char *workspace_entry_path(const json_t *entry);

/*
 * Whether the entry is about this very directory; always false on file systems without birth times.
 */
struct os_identity workspace_entry_identity(const json_t *entry);
bool workspace_entry_is(const json_t *entry, const struct os_identity *identity);

/* The index of the directory among the earlier ones, or their number. */
size_t workspace_entry_was(const json_t *entry, const struct os_identity *identity);

/* Whether the directory has or had this memory, whatever its path. */
bool workspace_entry_knows(const json_t *entry, const struct os_identity *identity);
bool workspace_doc_knows(const json_t *doc, const struct os_identity *identity);

/* The index of a path in paths, or the number of entries. */
size_t workspace_entry_at(const json_t *doc, const char *path);

/* ---- aliases.json --------------------------------------------------------------------------- */

/* An empty object if the file does not exist. */
int workspace_aliases_read(int dir, json_t **out, struct ethos_error *error);
int workspace_aliases_write(int dir, const json_t *aliases, struct ethos_error *error);

/* ---- the index ------------------------------------------------------------------------------ */

struct workspace_index {
    struct str text; /* empty: no index */
    bool names;      /* its names are up to date */
};

/* An invalid index counts as empty. */
int workspace_index_read(int dir, struct workspace_index *out, struct ethos_error *error);
void workspace_index_release(struct workspace_index *index);

/* The id ending in this hash, or the id of this directory; false: unknown. */
bool workspace_index_hash(const struct workspace_index *index, const char *hash,
                          char out_id[WORKSPACE_ID_SIZE]);
bool workspace_index_identity(const struct workspace_index *index,
                              const struct os_identity *identity, char out_id[WORKSPACE_ID_SIZE]);

/* Rebuilds the index; what it says about `id` is replaced by what doc says (NULL: nothing). */
int workspace_index_write(int dir, const char *id, const json_t *doc, struct ethos_error *error);

/*
 * Calls each with the id of every directory; a missing folder has none. Returns the walk's code,
 * ETHOS_OK at its end.
 */
typedef int workspace_id_fn(void *arg, const char *id);
int workspace_each(int dir, workspace_id_fn *each, void *arg, struct ethos_error *error);

#endif
