/*
 * files.h: private to the files store. What its parts share.
 *
 *   files_path.c   from scope and key to an open file: the root, links
 *   files.c        open, close, read, list, locate
 *   files_lock.c   a scope's directory held for writing: made, locked, left as it was
 *   files_write.c  update: the write protocol
 *   files_ops.c    the operations a scope remembers
 *   files_check.c  check
 *
 * Functions that open something return a descriptor or, being negative, an enum ethos_code. Paths
 * are relative to the root; messages show them with the root in front.
 */
#ifndef ETHOS_STORE_FILES_H
#define ETHOS_STORE_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include <ethos/provider.h>

#include "base/str.h"

struct files {
    struct ethos_store store;
    const struct ethos_host *host;
    const char *root_path; /* absolute */
    const char *allow;     /* directories separated by commas, or "" */
    bool durable;
    int64_t lock_ms;
    int root; /* descriptor of root_path, -1 while it was not found */
    dev_t root_dev;
    ino_t root_ino;
    char strings[];
};

/* Bytes: the longest directory, a slash, the longest key, the terminator, all rounded up. */
#define FILES_PATH_SIZE 512

/* Not an error: what was looked at is no longer what is there, begin again. */
#define FILES_MOVED (-1000)

/* ---- files_path.c --------------------------------------------------------------------------- */

/* The directory of a scope, "." for global. */
int files_scope_path(const char *scope, char out[FILES_PATH_SIZE], struct ethos_error *error);

/* The file of a key. Takes no memory and formats nothing unless it fails. */
int files_key_path(const char *scope, const char *key, char out[FILES_PATH_SIZE],
                   struct ethos_error *error);

/* The path as a person would type it. Returns out, or the root itself. */
const char *files_show(const struct files *self, const char *path, char out[PATH_MAX]);

/* err_errno about that. */
int files_errno(const struct files *self, int errnum, const char *path, struct ethos_error *error);

/* The same for a step of a write, where ENOENT means that somebody took a directory away. */
int files_fail(const struct files *self, int errnum, const char *path, struct ethos_error *error);

/* Opens the root unless it is open. ETHOS_NOTFOUND when there is none, ETHOS_DENIED when shared. */
int files_root(struct files *self, struct ethos_error *error);

/* The same without looking at its mode. */
int files_root_any(struct files *self, struct ethos_error *error);

void files_root_close(struct files *self);

/*
 * Closes the root, to be looked at again, when its path names another directory by now, none, or
 * one that others may write to. True if it did.
 */
bool files_root_moved(struct files *self);

/*
 * Opens path beneath the root, following links that stay below it or lead into `allow`.
 * ETHOS_NOTFOUND when absent, ETHOS_IO for a link to nothing, ETHOS_DENIED for one that leads away.
 */
int files_open(const struct files *self, const char *path, int flags, struct ethos_error *error);

/* Opens the directory that holds what the link dir/key leads to; name is the last part there. */
int files_open_target(const struct files *self, int dir, const char *key, const char *path,
                      char out_name[NAME_MAX + 1], struct stat *out_dir, struct ethos_error *error);

/* ---- files.c -------------------------------------------------------------------------------- */

/* Flags for opening a text: a FIFO must not make us wait, nor a terminal become ours. */
#define FILES_READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

/* Whether two looks at a file saw the same bytes. */
bool files_same(const struct stat *a, const struct stat *b);

/* Reads an open text. out_stat (may be NULL) describes exactly the bytes that were read. */
int files_load(const struct files *self, int fd, const char *path, const struct ethos_read_how *how,
               struct ethos_text *out_text, struct stat *out_stat, struct ethos_error *error);

/* Every name in a directory but "." and "..", in byte order. */
struct files_names {
    struct str bytes;
    const char **sorted; /* into bytes */
    size_t count;
};

int files_names_read(const struct files *self, int dir, const char *path,
                     struct files_names *out_names, struct ethos_error *error);
void files_names_release(struct files_names *names);

/* ---- files_lock.c --------------------------------------------------------------------------- */

#define FILES_MEM ".mem"
#define FILES_TMP ".mem/tmp"
#define FILES_LOCK ".mem/lock"
#define FILES_IGNORE ".mem/.gitignore"

struct files_hold {
    char path[FILES_PATH_SIZE]; /* of the scope's directory */
    int dir;                    /* -1: there is none */
    int lock;                   /* -1: not locked, because there is no lock file */
    int tmp;                    /* -1 until files_hold_tmp */
    bool made_root;
    size_t path_before, mem_before; /* bytes of path and of FILES_TMP that stood before */
};

/* Opens and locks what is there of hold->path; makes nothing. */
int files_hold_open(struct files *self, struct files_hold *hold, struct ethos_error *error);

/* For a hold without lock: makes directory and lock file as needed, and locks. */
int files_hold_make(struct files *self, struct files_hold *hold, struct ethos_error *error);

/* Opens the folder for drafts. */
int files_hold_tmp(struct files *self, struct files_hold *hold, struct ethos_error *error);

/* Lets go. undo: takes away again what files_hold_make made, as far as it is empty. */
void files_hold_close(struct files *self, struct files_hold *hold, bool undo);

/* Locks another directory that a link leads into; a descriptor that holds the lock. */
int files_lock_other(const struct files *self, int dir, const char *path,
                     struct ethos_error *error);

/* ---- files_write.c -------------------------------------------------------------------------- */

#define FILES_DRAFT ".draft"            /* <key>.draft in FILES_TMP */
#define FILES_LINK_DRAFT ".ethos-draft" /* .<name>.ethos-draft beside the target of a link */

/* Makes a draft for writing. Under the lock nobody else does: one of that name was left behind. */
int files_draft_create(int dir, const char *name);

int files_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error);

/* ---- files_ops.c ---------------------------------------------------------------------------- */

/* What a round of an update has to do with .mem/ops; nothing without an operation id. */
struct files_ops {
    struct ethos_text text; /* the file as it was found */
    struct str record;      /* to be appended */
    int mem;                /* the directory that holds it, or -1 */
    int fd;                 /* open for appending, or -1 */
    bool made;
};

void files_ops_init(struct files_ops *ops);

/* Whether the operation was done before: sets the edits then, else ETHOS_NOTFOUND. */
int files_ops_recall(struct files *self, const struct files_hold *hold, struct files_ops *ops,
                     const struct ethos_origin *origin, struct ethos_edit *edits, size_t count,
                     struct ethos_error *error);

/* For a hold with lock and finished edits: all that can be done before the texts are published. */
int files_ops_prepare(struct files *self, struct files_hold *hold, struct files_ops *ops,
                      const struct ethos_origin *origin, const struct ethos_edit *edits,
                      size_t count, struct ethos_error *error);

/* Remembers the operation. A failure is ETHOS_IO: the texts are published by now. */
int files_ops_append(const struct files *self, const struct files_hold *hold,
                     const struct files_ops *ops, struct ethos_error *error);

/* Ends the round. undo: takes the file away again if it was made for nothing. */
void files_ops_close(const struct files *self, struct files_ops *ops, bool undo);

/* ---- files_check.c -------------------------------------------------------------------------- */

int files_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
                struct ethos_error *error);

#endif
