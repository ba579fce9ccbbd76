/*
 * internal.h: declarations shared by the parts of the files store.
 *
 *   path.c             from a scope and key to an open file: the root, links
 *   files.c            open, close, read, list, locate
 *   lock.c             locks a scope's directory for writing, and creates it
 *   key_directories.c  the directories of keys that are paths
 *   key_files.c        where the file of a key and its temporaries are
 *   journal.c          memory-history.jsonl: its end, appending, rotation, the index
 *   versions.c         version: rebuilds a text from the history and the blobs
 *   version_blobs.c    versions stored whole, found without the history
 *   history.c          history, read from its end
 *   stable_read.c      reads a file that an editor may be saving
 *   read_cache.c       caches texts while their files do not change
 *   recover.c          finishes or takes back what a dead writer left, with transaction.c
 *   external_edit.c    turns external edits into history lines
 *   write.c            update and batch: the write protocol, with run_callbacks.c, write_checks.c
 *                      and publish.c
 *   import_commits.c   appends changes of another store
 *   conflict_copies.c  conflict copies
 *   purge.c            removes a text from everything; purge_history.c: from the history
 *   scopes.c           lists the scopes
 *   snapshot.c         holds a directory still for a backup
 *   check.c            check of the files; check_history.c: of history and temporaries
 *
 * Functions that open something return a descriptor or, if negative, an enum ethos_code. Paths are
 * relative to the root; messages show them with the root in front.
 */
#ifndef ETHOS_STORE_FILES_INTERNAL_H
#define ETHOS_STORE_FILES_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include <ethos/provider.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "core/history/history.h"

#define FILES_CACHE_TEXTS 256 /* cached texts, at most */

struct files {
    struct ethos_store store;
    const struct ethos_host *host;
    const char *root_path; /* absolute */
    const char *allow;     /* directories separated by commas, or "" */
    bool durable;
    bool in_place; /* write_in_place: a file that cannot be replaced is overwritten */
    bool walks;    /* one version after the other will be asked for: their source stays in memory */
    int64_t lock_ms;
    int root; /* descriptor of root_path, -1 while it was not found */
    dev_t root_dev;
    ino_t root_ino;
    struct {
        uint32_t marks[FILES_CACHE_TEXTS]; /* hashes of the paths read last, once */
        struct files_cached_text *texts[FILES_CACHE_TEXTS];
        size_t bytes;
        uint64_t count;   /* texts cached so far */
        size_t dirs;      /* open directories */
        size_t files;     /* open files */
        int stirs;        /* inotify descriptor of the watched files; or -1 */
        const char *mine; /* belongs to the process that opened stirs */
    } cache;
    struct files_version_source *version_source; /* or NULL */
    struct files_version_cache { /* versions stored whole, met by the last walk of a history */
        char scope[ETHOS_MAX_SCOPE];
        dev_t dev; /* of its live file */
        ino_t ino;
        struct str noted;
        size_t next; /* where the next search begins */
    } version_cache;
    char strings[];
};

/* Bytes: the longest directory, a slash, the longest key, the terminator, all rounded up. */
#define FILES_PATH_SIZE 512

/* Not an error: something changed since it was examined; begin again. */
#define FILES_RETRY (-1000)

/* ---- path.c --------------------------------------------------------------------------- */

/* The directory of a scope, "." for global. */
int files_scope_path(const char *scope, char out[FILES_PATH_SIZE], struct ethos_error *error);

/* The path of a key's file. Allocates nothing, and formats nothing unless it fails. */
int files_key_path(const char *scope, const char *key, char out[FILES_PATH_SIZE],
                   struct ethos_error *error);

/* The path with the root in front. Returns out, or the root itself. */
const char *files_full_path(const struct files *self, const char *path, char out[PATH_MAX]);

/* err_errno about such a path. */
int files_errno(const struct files *self, int errnum, const char *path, struct ethos_error *error);

/* The same for a step of a write: ENOENT means that a directory was removed, FILES_RETRY. */
int files_step_error(const struct files *self, int errnum, const char *path,
                     struct ethos_error *error);

/* Opens the root unless it is open. ETHOS_NOTFOUND when there is none, ETHOS_DENIED when shared. */
int files_root_open(struct files *self, struct ethos_error *error);

/* The same whatever its mode. */
int files_root_open_any_mode(struct files *self, struct ethos_error *error);

void files_root_close(struct files *self);

/*
 * Closes the root, to be opened again, when its path names another directory by now, none, or one
 * that others can write to. True if it did.
 */
bool files_root_refresh(struct files *self);

/*
 * Opens path beneath the root, following links that stay below it or lead into `allow`.
 * ETHOS_NOTFOUND when absent, ETHOS_IO for a link to nothing, ETHOS_DENIED for one that leads away.
 */
int files_open(const struct files *self, const char *path, int flags, struct ethos_error *error);

/*
 * Opens the text of a key, whose path is given: as files_open, but in a tree no part of the key
 * may be a link (ETHOS_DENIED), and what lies below a file is not found.
 */
int files_open_text(struct files *self, const char *scope, const char *key, const char *path,
                    int flags, struct ethos_error *error);

/* Refuses a link in a tree with ETHOS_DENIED. */
int files_refuse_link(const struct files *self, const char *path, struct ethos_error *error);

/*
 * Opens a scope's directory for reading, of the root as it is now. ETHOS_NOTFOUND when there is
 * none.
 */
int files_scope_open(struct files *self, const char *scope, char out_path[FILES_PATH_SIZE],
                     struct ethos_error *error);

/* Opens the directory that contains the target of the link dir/key; out_name is its name there. */
int files_open_target(const struct files *self, int dir, const char *key, const char *path,
                      char out_name[NAME_MAX + 1], struct stat *out_dir, struct ethos_error *error);

/* ---- files.c -------------------------------------------------------------------------------- */

/* Flags for opening a text: do not wait for a FIFO, do not acquire a terminal, change no time. */
#define FILES_READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME)

/* Whether two stats of a file are of the same bytes. */
bool files_is_same_state(const struct stat *a, const struct stat *b);

/* Reads an open text. out_stat (may be NULL) is of exactly the bytes that were read. */
int files_read_fd(const struct files *self, int fd, const char *path,
                  const struct ethos_read_how *how, struct ethos_text *out_text,
                  struct stat *out_stat, struct ethos_error *error);

/* Every name in a directory but "." and "..", in byte order. */
struct files_names {
    struct str bytes;
    const char **sorted; /* into bytes */
    size_t count;
};

int files_names_read(const struct files *self, int dir, const char *path,
                     struct files_names *out_names, struct ethos_error *error);
int files_names_sort(struct files_names *names, struct ethos_error *error);
void files_names_release(struct files_names *names);
#define CLEANUP_NAMES __attribute__((cleanup(files_names_release)))

/* ---- lock.c --------------------------------------------------------------------------- */

#define FILES_MEM ".mem"
#define FILES_TMP ".mem/tmp"
#define FILES_GATE ".mem/gate"
#define FILES_LOCK ".mem/lock"
#define FILES_IGNORE ".mem/.gitignore"

/* An open directory below a locked one. */
struct files_dir {
    int fd;
    dev_t device;
    ino_t inode;
    char path[ETHOS_MAX_KEY + 1];
};

struct files_lock {
    char path[FILES_PATH_SIZE]; /* of the scope's directory */
    int dir;                    /* -1: it does not exist */
    int fd;                     /* of the lock file; -1: there is none, nothing is locked */
    int tmp;                    /* -1 until files_lock_open_drafts */
    bool made_root;
    size_t path_before, mem_before; /* bytes of path and of FILES_TMP that existed before */
    struct files_dir *dirs;         /* the directories that were opened */
    size_t dir_count;
    bool pruned;      /* some were removed: locations may be out of date */
    struct str blobs; /* hex names of the blobs written since it was opened */
};

/* Opens and locks what exists of lock->path; creates nothing. */
int files_lock_scope(struct files *self, struct files_lock *lock, struct ethos_error *error);

/* For a lock without descriptor: creates directory and lock file as needed, and locks. */
int files_lock_create(struct files *self, struct files_lock *lock, struct ethos_error *error);

/* Opens the folder for drafts. */
int files_lock_open_drafts(struct files *self, struct files_lock *lock, struct ethos_error *error);

/*
 * Unlocks and closes. undo: removes the blobs again, and what files_lock_create created if it is
 * empty.
 */
void files_unlock_scope(struct files *self, struct files_lock *lock, bool undo);

/* Locks the directory of a link's target; returns the descriptor that holds the lock. */
int files_lock_link_target(const struct files *self, int dir, const char *path,
                           struct ethos_error *error);

/*
 * ---- key_directories.c
 * ---------------------------------------------------------------------------
 */

struct files_location;

/* A key as one file name, and back. No key has a backslash. */
void files_key_to_name(const char *key, char out[ETHOS_MAX_KEY + 1]);
void files_name_to_key(char *name);

/* Opens the deepest existing directory on the way to a key; out_name is the rest of the key. */
int files_key_dir_find(struct files *self, struct files_lock *lock, const char *key, int *out_dir,
                       const char **out_name, struct ethos_error *error);

/* Creates the missing directories of a location, durable; a temporary of its key must exist. */
int files_key_dirs_create(struct files *self, struct files_lock *lock,
                          struct files_location *location, struct ethos_error *error);

/* Removes the empty directories of a key, before its last temporary is removed. */
void files_key_dirs_prune(struct files *self, struct files_lock *lock, const char *key);

/* Whether the open directories still have their names. */
bool files_key_dirs_in_place(const struct files_lock *lock);

void files_key_dirs_close(struct files_lock *lock);

/*
 * Locks a tree for reading all of it, after recovery. Any code but ETHOS_OK, with nothing locked:
 * ETHOS_BUSY, ETHOS_NOMEM, or why it cannot be locked, which a reader can ignore.
 */
int files_tree_lock(struct files *self, const char *scope, struct files_lock *lock,
                    struct ethos_error *error);

/* Every key of a tree, in byte order. */
int files_tree_list_keys(const struct files *self, int dir, const char *scope,
                         struct files_names *out_names, struct ethos_error *error);

/* ---- key_files.c --------------------------------------------------------------------------- */

/*
 * Temporaries are named after the transaction whose lines describe them: <key>.<txn><suffix> in
 * FILES_TMP, .<name>.ethos-<scope>-<txn><suffix> beside the target of a link.
 */
#define FILES_DRAFT ".draft" /* the new text, not recorded yet */
#define FILES_NEW ".new"     /* recorded; after the swap it is what was displaced */
#define FILES_GONE ".gone"   /* empty: the key is to be deleted */
#define FILES_OLD ".old"     /* displaced while somebody had it open for writing */
#define FILES_TXN_SIZE 13    /* 12 hex digits and the terminator */
#define FILES_TEMP_SIZE (NAME_MAX + 64)

struct files_location {
    char path[FILES_PATH_SIZE]; /* for messages */
    char key[ETHOS_MAX_KEY + 1];
    int dir; /* of the file: the scope's, one below it, or that of a link's target */
    char name[NAME_MAX + 1]; /* in dir; a path while directories are missing */
    bool linked;
    struct stat dir_seen; /* of dir, when linked */
    int lock;             /* on dir, when it is not the scope's own; else -1 */
};

/*
 * Locates the file of a key, following a link; others are locations whose locks are held already.
 */
int files_location_open(struct files *self, struct files_lock *lock, const char *scope,
                        const char *key, const struct files_location *others, size_t other_count,
                        struct files_location *location, struct ethos_error *error);
void files_location_close(const struct files_lock *lock, struct files_location *location);

/* The directory of a temporary and its name there. Own ones need files_lock_open_drafts. */
int files_location_temp(const struct files_lock *lock, const struct files_location *location,
                        const char *txn, const char *suffix, char out_name[FILES_TEMP_SIZE]);

/* What the names of a linked key's temporaries begin with; it identifies the key. */
void files_link_draft_prefix(const struct files_location *location, char out[FILES_TEMP_SIZE - 32]);

/* Prints what identifies a state of a file, for the member `was` of a record. */
#define FILES_WAS_SIZE 128
void files_print_state(const struct stat *seen, char out[FILES_WAS_SIZE]);

/*
 * Whether a file is still in that state. Its times may be earlier, since a power cut takes back
 * what was not synced, but not later: then somebody has written it.
 */
bool files_has_state(const struct stat *now, struct ethos_view was);

/*
 * Reads the text of a name, whole; flags as in ethos_read_how. ETHOS_NOTFOUND when there is none.
 * While somebody has it open for writing, waits for up to FILES_WRITER_MS; where that cannot be
 * known, a young text other than the one of revision `expected` is read until it stays the same.
 * *out_busy: somebody still has it open, or it cannot be known. expected NULL: no waiting, and
 * busy only when it is known.
 */
#define FILES_WRITER_MS 2000

/*
 * How long a file that the history knows may be missing while an editor saves it, and how often it
 * is looked for.
 */
#define FILES_ABSENT_MS 150
#define FILES_ABSENT_STEP_MS 2
int files_location_read(const struct files *self, const char *path, int dir, const char *name,
                        const char *expected, unsigned flags, struct ethos_text *out_text,
                        struct stat *out_seen, bool *out_busy, struct ethos_error *error);

/* ---- journal.c ------------------------------------------------------------------------ */

#define FILES_HISTORY "memory-history.jsonl"
#define FILES_LIVE_FLAGS (O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
#define FILES_INDEX ".mem/index"

/* The history of a locked directory, at its end. */
struct files_journal {
    int fd;          /* the live file; -1 while there is none */
    uint64_t size;   /* of it: whole lines only */
    struct str tail; /* the lines since the index was made */
    struct str rows; /* the index: what older lines say about each key */
    bool indexed;    /* there is an index that fits */
    uint64_t seq;    /* of the newest line */
    int64_t ts_ms;
    bool unsynced; /* something was appended that is not durable yet */
    bool made;     /* the live file, by this journal */
};

/* Initialises an empty journal. */
void files_journal_init(struct files_journal *journal);

/* Reads the end; with a lock, cuts off an unfinished append. */
int files_journal_open(struct files *self, struct files_lock *lock, struct files_journal *journal,
                       struct ethos_error *error);
void files_journal_close(const struct files_lock *lock, struct files_journal *journal);

/*
 * Finds the operation of origin and sets the edits from its record, else ETHOS_NOTFOUND.
 * ETHOS_DENIED when its id was used for something else.
 */
int files_journal_find_operation(const struct files *self, const struct files_lock *lock,
                                 const struct files_journal *journal,
                                 const struct ethos_origin *origin, struct ethos_edit *edits,
                                 size_t count, struct ethos_error *error);

/* The last change of a key. */
int files_journal_last_change(const struct files_journal *journal, const char *key,
                              struct history_last *out, struct ethos_error *error);

/* Makes a new transaction id. 0, or -1 and errno. */
int files_txn_new_id(char out[FILES_TXN_SIZE]);

/*
 * Appends records as one transaction (txn NULL: with a new id): sets their ts, seq and txn;
 * records of another store (graft) keep ts and seq. Their blobs exist already. Without sync they
 * become durable with the next append that has it. After a failure nothing was appended.
 */
int files_journal_append(struct files *self, struct files_lock *lock, struct files_journal *journal,
                         const char *txn, struct history_record *records, size_t count, bool sync,
                         struct ethos_error *error);

/* Syncs what was appended without sync. */
int files_journal_sync(struct files *self, const struct files_lock *lock,
                       struct files_journal *journal, struct ethos_error *error);

/* Writes a new index when the old one has become costly. A failure is ignored. */
void files_journal_index(struct files *self, struct files_lock *lock,
                         struct files_journal *journal);

/* ---- versions.c --------------------------------------------------------------------------- */

#define FILES_BLOBS "history-blobs"

/* Everything recorded about a key (NULL: about all keys). Zero it first. */
struct files_key_history {
    int dir;
    const char *path; /* of dir */
    struct arena arena;
    struct str text; /* the lines */
    struct history history;
};

int files_key_history_load(const struct files *self, int dir, const char *path, const char *key,
                           struct files_key_history *past, struct ethos_error *error);
void files_key_history_free(struct files_key_history *past);
#define CLEANUP_KEY_HISTORY __attribute__((cleanup(files_key_history_free)))

/* Whether a name is that of a history file, which is no key. */
bool files_is_history(const char *name);

/* Appends the bytes of every history file, oldest first. */
int files_history_read_all(const struct files *self, int dir, const char *path, struct str *out,
                           struct ethos_error *error);

/*
 * Rebuilds the text before or after a record; ETHOS_CORRUPT when the history does not lead there,
 * and the cause when a blob could not be read.
 */
int files_key_history_text(const struct files *self, const struct files_key_history *past,
                           size_t index, bool before, struct str *out, struct ethos_error *error);

/* The blobs of a scope, and the first one that exists but could not be read. */
struct files_blobs {
    int dir;
    const char *path;
    int errnum; /* 0: none */
    char hex[HASH_HEX_SIZE];
};

/* history_blob_fn; arg is a struct files_blobs. */
int files_blob_read(void *blobs, const char *hex, struct str *out);

/* Why a blob could not be read, ETHOS_OK when none failed. */
int files_blobs_error(const struct files *self, const struct files_blobs *blobs,
                      struct ethos_error *error);

/* Stores a text under its hash. sync: durable when this returns. */
int files_blob_write(struct files *self, struct files_lock *lock, const char *hex,
                     struct ethos_view text, bool sync, struct ethos_error *error);

/* Frees the records that versions were made from last. */
void files_version_source_free(struct files *self);

int files_version(struct ethos_store *self, const char *scope, const char *key,
                  const char *revision, struct ethos_text *out_text, struct ethos_error *error);

/*
 * ---- version_blobs.c --------------------------------------------------------------------------
 */

/*
 * Begins a walk of the history of a scope; files_version_cache_add remembers what its records
 * store whole.
 */
void files_version_cache_begin(struct files *self, int dir, const char *scope);
void files_version_cache_add(struct files *self, const struct history_record *record);

/*
 * Reads a version that was remembered. ETHOS_OK, ETHOS_NOMEM, or ETHOS_NOTFOUND: read the history.
 */
int files_version_cache_read(struct files *self, int dir, const char *scope, const char *key,
                             const char *revision, struct str *out);
void files_version_cache_free(struct files *self);

/* history.c */
int files_history(struct ethos_store *self, const char *scope, const char *key,
                  ethos_change_fn *each, void *arg, struct ethos_error *error);

/* Returns a rebuilt text as the answer to a read. */
int files_fill_text(const struct files *self, struct ethos_view text,
                    const struct ethos_read_how *how, struct ethos_text *out_text,
                    struct ethos_error *error);

/* ---- stable_read.c ---------------------------------------------------------------------- */

/* Whether a text was changed so recently that it may be half a save. */
bool files_is_recent(const struct ethos_text *text);

/* Waits a moment for a missing file that the history knows. As files_open. */
int files_wait_for_file(struct files *self, const char *scope, const char *key, const char *path,
                        struct ethos_error *error);

/* Reads a text once nobody writes it, or returns the last recorded version, marked as unsettled. */
int files_read_stable(struct files *self, const char *scope, const char *key, const char *path,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error);

/* ---- read_cache.c --------------------------------------------------------------------------- */

/* The hash of a path, never 0. */
uint32_t files_cache_hash(const char *path);

/* ETHOS_READ_AGAIN: whether the text of this stamp is cached and its file unchanged. */
bool files_cache_is_current(struct files *self, uint64_t stamp);

/* Returns the cached text of a path if its file is unchanged. */
bool files_cache_read(struct files *self, const char *path, uint32_t mark,
                      const struct ethos_read_how *how, struct ethos_text *out_text);

/* Before fd is read: whether to cache the text, which is so at the second read in a row. */
bool files_cache_wants(struct files *self, uint32_t mark, int fd);

/* Caches a text that was wanted; otherwise remembers that it was read. Neither if it is unfit. */
void files_cache_store(struct files *self, const char *path, uint32_t mark, const struct stat *seen,
                       const struct ethos_text *text, bool wanted);

void files_cache_free(struct files *self);

/* ---- recover.c ------------------------------------------------------------------------ */

/*
 * Finishes or takes back what temporaries and the newest transaction describe, for every key of
 * the directory. Linked keys have their temporaries elsewhere: those of the caller's locations are
 * examined too. The transaction `unwanted` ("" for none) is taken back even if it was published.
 */
int files_recover(struct files *self, struct files_lock *lock, struct files_journal *journal,
                  const char *scope, const struct files_location *locations, size_t count,
                  const char *unwanted, struct ethos_error *error);

/* The same for a lock whose journal nobody needs otherwise. */
int files_recover_locked(struct files *self, struct files_lock *lock, const char *scope,
                         struct ethos_error *error);

/* Stores a text that is no version of its key, with a line that changes nothing, durable. */
int files_record_seen_text(struct files *self, struct files_lock *lock,
                           struct files_journal *journal, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error);

/*
 * ---- external_edit.c --------------------------------------------------------------------------
 */

/* What an external edit requires; records and entries are in the arena. */
struct files_external_edit {
    struct history_record *records; /* to be appended */
    size_t count;
    bool rewrites; /* the file must get this text before anything else happens */
    struct str text;
};

/* Examines the text of a key (absent view: no file) that differs from the last recorded one. */
int files_inspect_external_edit(struct files *self, struct files_lock *lock,
                                const struct files_journal *journal, const char *scope,
                                const char *key, struct ethos_view now, const struct stat *seen,
                                struct arena *arena, struct files_external_edit *out,
                                struct ethos_error *error);

/*
 * Describes a change of texts in a record and writes the blobs it names, durable. The first change
 * of a key stores the text before it whole, and every few later ones the text after.
 */
int files_describe_change(struct files *self, struct files_lock *lock,
                          const struct history_last *last, struct ethos_view before,
                          struct ethos_view after, struct arena *arena,
                          struct history_record *record, struct ethos_error *error);

/* ---- write.c -------------------------------------------------------------------------- */

/*
 * Creates a draft for writing. A draft of that name is a leftover: nobody else writes under the
 * lock.
 */
int files_draft_create(int dir, const char *name);

/*
 * Puts a text at folder/name by renaming a draft of it, which lies in tmp. like: the file whose
 * owner and mode it gets, or NULL. 0, or -1 and errno, with no draft left.
 */
int files_write_by_draft(int tmp, const char *draft, int folder, const char *name,
                         const struct stat *like, struct ethos_view text, bool sync);

int files_update_scope(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error);

void files_update_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                        size_t count);

/*
 * ---- import_commits.c --------------------------------------------------------------------------
 */

int files_import_commits(struct ethos_store *self, const char *scope,
                         const struct ethos_commit *commit, struct ethos_error *error);

/* ---- conflict_copies.c ----------------------------------------------------------------------- */

/*
 * Writes a text as a conflict copy of a key, durable, unless there is one with this text already.
 */
int files_conflict_write(struct files *self, struct files_lock *lock, const char *key,
                         struct ethos_view text, struct ethos_error *error);

/* Whether a name is that of a sync program's conflict copy. */
bool files_is_sync_conflict_copy(const char *name);

int files_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                            struct ethos_view text, struct ethos_error *error);
int files_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                         void *arg, struct ethos_error *error);
int files_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                        struct ethos_text *out_text, struct ethos_error *error);
int files_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                          struct ethos_error *error);
int files_add_version(struct ethos_store *self, const char *scope, const char *key,
                      struct ethos_view text, struct ethos_error *error);

/* ---- scopes.c ------------------------------------------------------------------------- */

int files_list_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                      struct ethos_error *error);

/* ---- purge.c -------------------------------------------------------------------------- */

int files_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
                int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                struct ethos_error *error);

/* ---- check.c -------------------------------------------------------------------------- */

int files_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
                struct ethos_error *error);

#endif
