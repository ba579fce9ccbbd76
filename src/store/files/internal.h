/*
 * internal.h: private to the files store. What its parts share.
 *
 *   path.c             from scope and key to an open file: the root, links
 *   files.c            open, close, read, list, locate
 *   lock.c             a scope's directory held for writing: made, locked, left as it was
 *   key_directories.c  keys that are paths: the directories between
 *   key_files.c        where one key's file and its temporaries are, held or not
 *   journal.c          memory-history.jsonl: its end, appending, rotation, the index
 *   versions.c         what the journal and the blobs remember: version
 *   history.c          history, from its end
 *   stable_read.c      reading a file that somebody may be saving
 *   read_cache.c       texts that are read again, while their files stay as they are
 *   recover.c          what a dead writer left, with transaction.c
 *   external_edit.c    what was changed outside
 *   write.c            update and batch: the write protocol, with run_callbacks.c, write_checks.c and
 *                      publish.c
 *   import_commits.c   changes of another store
 *   conflict_copies.c  conflict copies
 *   purge.c            purge; purge_history.c: the lines of the history
 *   snapshot.c         a directory held still, for backups
 *   check.c            check; check_history.c: of what is remembered
 *
 * Functions that open something return a descriptor or, being negative, an enum ethos_code. Paths
 * are relative to the root; messages show them with the root in front.
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

#define FILES_CACHE_TEXTS 256 /* texts that are kept, at most */

struct files {
    struct ethos_store store;
    const struct ethos_host *host;
    const char *root_path; /* absolute */
    const char *allow;     /* directories separated by commas, or "" */
    bool durable;
    bool in_place; /* write_in_place: a file that cannot be replaced is overwritten */
    bool walks;    /* one version after the other is asked for: what they are made from stays */
    int64_t lock_ms;
    int root; /* descriptor of root_path, -1 while it was not found */
    dev_t root_dev;
    ino_t root_ino;
    struct {
        uint32_t marks[FILES_CACHE_TEXTS]; /* what was read last, once */
        struct files_cached_text *texts[FILES_CACHE_TEXTS];
        size_t bytes;
        uint64_t count;   /* texts that were kept so far */
        size_t dirs;      /* descriptors of theirs */
        size_t files;     /* the same, of the texts themselves */
        int stirs;        /* inotify: tells that somebody was at one of the watched; or -1 */
        const char *mine; /* of the process that opened stirs */
    } cache;
    struct files_version_source *version_source; /* or NULL */
    struct files_version_cache { /* texts that are kept whole, of the history that was told last */
        char scope[ETHOS_MAX_SCOPE];
        dev_t dev; /* of its live file */
        ino_t ino;
        struct str noted;
        size_t next; /* where the next one is expected */
    } version_cache;
    char strings[];
};

/* Bytes: the longest directory, a slash, the longest key, the terminator, all rounded up. */
#define FILES_PATH_SIZE 512

/* Not an error: what was looked at is no longer what is there, begin again. */
#define FILES_RETRY (-1000)

/* ---- path.c --------------------------------------------------------------------------- */

/* The directory of a scope, "." for global. */
int files_scope_path(const char *scope, char out[FILES_PATH_SIZE], struct ethos_error *error);

/* The file of a key. Takes no memory and formats nothing unless it fails. */
int files_key_path(const char *scope, const char *key, char out[FILES_PATH_SIZE],
                   struct ethos_error *error);

/* The path as a person would type it. Returns out, or the root itself. */
const char *files_full_path(const struct files *self, const char *path, char out[PATH_MAX]);

/* err_errno about that. */
int files_errno(const struct files *self, int errnum, const char *path, struct ethos_error *error);

/* The same for a step of a write, where ENOENT means that somebody took a directory away. */
int files_step_error(const struct files *self, int errnum, const char *path,
                     struct ethos_error *error);

/* Opens the root unless it is open. ETHOS_NOTFOUND when there is none, ETHOS_DENIED when shared. */
int files_root_open(struct files *self, struct ethos_error *error);

/* The same without looking at its mode. */
int files_root_open_any_mode(struct files *self, struct ethos_error *error);

void files_root_close(struct files *self);

/*
 * Closes the root, to be looked at again, when its path names another directory by now, none, or
 * one that others may write to. True if it did.
 */
bool files_root_refresh(struct files *self);

/*
 * Opens path beneath the root, following links that stay below it or lead into `allow`.
 * ETHOS_NOTFOUND when absent, ETHOS_IO for a link to nothing, ETHOS_DENIED for one that leads away.
 */
int files_open(const struct files *self, const char *path, int flags, struct ethos_error *error);

/*
 * Opens the text of a key, whose path it is: as files_open does, but in a tree no part of the key may
 * be a link (ETHOS_DENIED), and what lies below a file is not found.
 */
int files_open_text(struct files *self, const char *scope, const char *key, const char *path,
                    int flags, struct ethos_error *error);

/* ETHOS_DENIED about a link in a tree. */
int files_refuse_link(const struct files *self, const char *path, struct ethos_error *error);

/* Opens a scope's directory for reading, of the root as it is now. ETHOS_NOTFOUND when there is none. */
int files_scope_open(struct files *self, const char *scope, char out_path[FILES_PATH_SIZE],
                     struct ethos_error *error);

/* Opens the directory that holds what the link dir/key leads to; name is the last part there. */
int files_open_target(const struct files *self, int dir, const char *key, const char *path,
                      char out_name[NAME_MAX + 1], struct stat *out_dir, struct ethos_error *error);

/* ---- files.c -------------------------------------------------------------------------------- */

/* Flags for opening a text: a FIFO must not make us wait, a terminal not become ours; reading writes nothing. */
#define FILES_READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME)

/* Whether two looks at a file saw the same bytes. */
bool files_is_same_state(const struct stat *a, const struct stat *b);

/* Reads an open text. out_stat (may be NULL) describes exactly the bytes that were read. */
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

/* ---- lock.c --------------------------------------------------------------------------- */

#define FILES_MEM ".mem"
#define FILES_TMP ".mem/tmp"
#define FILES_GATE ".mem/gate"
#define FILES_LOCK ".mem/lock"
#define FILES_IGNORE ".mem/.gitignore"

/* A directory below a held one. */
struct files_dir {
    int fd;
    dev_t device;
    ino_t inode;
    char path[ETHOS_MAX_KEY + 1];
};

struct files_lock {
    char path[FILES_PATH_SIZE]; /* of the scope's directory */
    int dir;                    /* -1: there is none */
    int fd;                     /* of the lock file; -1: there is none, nothing is locked */
    int tmp;                    /* -1 until files_lock_open_drafts */
    bool made_root;
    size_t path_before, mem_before; /* bytes of path and of FILES_TMP that stood before */
    struct files_dir *dirs;         /* those that were needed */
    size_t dir_count;
    bool pruned;      /* some of them are gone: locations may be out of date */
    struct str blobs; /* hex names of those made since it was opened */
};

/* Opens and locks what is there of hold->path; makes nothing. */
int files_lock_scope(struct files *self, struct files_lock *lock, struct ethos_error *error);

/* For a hold without lock: makes directory and lock file as needed, and locks. */
int files_lock_create(struct files *self, struct files_lock *lock, struct ethos_error *error);

/* Opens the folder for drafts. */
int files_lock_open_drafts(struct files *self, struct files_lock *lock, struct ethos_error *error);

/* Lets go. undo: takes away again the blobs, and what files_lock_create made as far as it is empty. */
void files_unlock_scope(struct files *self, struct files_lock *lock, bool undo);

/* Locks another directory that a link leads into; a descriptor that holds the lock. */
int files_lock_link_target(const struct files *self, int dir, const char *path,
                           struct ethos_error *error);

/* ---- key_directories.c --------------------------------------------------------------------------- */

struct files_location;

/* A key as one name and back. No key has a backslash. */
void files_key_to_name(const char *key, char out[ETHOS_MAX_KEY + 1]);
void files_name_to_key(char *name);

/* The deepest directory on the way to a key that is there, and what follows it. */
int files_key_dir_find(struct files *self, struct files_lock *lock, const char *key, int *out_dir,
                       const char **out_name, struct ethos_error *error);

/* Makes the directories that a location lacks, durable; a temporary of its key stands. */
int files_key_dirs_create(struct files *self, struct files_lock *lock,
                          struct files_location *location, struct ethos_error *error);

/* Takes away the directories of a key that are empty, before its last temporary goes. */
void files_key_dirs_prune(struct files *self, struct files_lock *lock, const char *key);

/* Whether the directories that are open still bear their names. */
bool files_key_dirs_in_place(const struct files_lock *lock);

void files_key_dirs_close(struct files_lock *lock);

/*
 * Holds a tree for reading all of it, after recovery. Others than ETHOS_OK, where nothing is held:
 * ETHOS_BUSY, ETHOS_NOMEM, or why it cannot be locked, which a reader need not mind.
 */
int files_tree_lock(struct files *self, const char *scope, struct files_lock *lock,
                    struct ethos_error *error);

/* Every key of a tree, in byte order. */
int files_tree_list_keys(const struct files *self, int dir, const char *scope,
                         struct files_names *out_names, struct ethos_error *error);

/* ---- key_files.c --------------------------------------------------------------------------- */

/*
 * Temporaries bear the transaction whose lines tell about them: <key>.<txn><suffix> in FILES_TMP,
 * .<name>.ethos-<scope>-<txn><suffix> beside the target of a link.
 */
#define FILES_DRAFT ".draft" /* the new text, not recorded yet */
#define FILES_NEW ".new"     /* recorded; may have been swapped: then it is what was displaced */
#define FILES_GONE ".gone"   /* empty: the key is to be deleted */
#define FILES_OLD ".old"     /* displaced while somebody had it open for writing */
#define FILES_TXN_SIZE 13    /* 12 hex digits and the terminator */
#define FILES_TEMP_SIZE (NAME_MAX + 64)

struct files_location {
    char path[FILES_PATH_SIZE]; /* for messages */
    char key[ETHOS_MAX_KEY + 1];
    int dir; /* that holds the file: the scope's, one below it, or that of a link's target */
    char name[NAME_MAX + 1]; /* in dir; a path while directories are missing */
    bool linked;
    struct stat dir_seen; /* of dir, when linked */
    int lock;             /* on dir, when it is not the scope's own; else -1 */
};

/* Finds where the key's file is, following a link; others are locations whose locks are held already. */
int files_location_open(struct files *self, struct files_lock *lock, const char *scope,
                        const char *key, const struct files_location *others, size_t other_count,
                        struct files_location *location, struct ethos_error *error);
void files_location_close(const struct files_lock *lock, struct files_location *location);

/* The directory of a temporary and its name there. Own ones need files_lock_open_drafts. */
int files_location_temp(const struct files_lock *lock, const struct files_location *location,
                        const char *txn, const char *suffix, char out_name[FILES_TEMP_SIZE]);

/* What the names of a linked key's temporaries begin with: whose they are is part of it. */
void files_link_draft_prefix(const struct files_location *location, char out[FILES_TEMP_SIZE - 32]);

/* What tells one state of a file from another, for the `was` of a record. */
#define FILES_WAS_SIZE 128
void files_print_state(const struct stat *seen, char out[FILES_WAS_SIZE]);

/*
 * Whether a file is still in that state. Its times may be earlier than they were, since a power cut
 * takes back what was not synced, but not later: then somebody has put it there.
 */
bool files_has_state(const struct stat *now, struct ethos_view was);

/*
 * Reads the text of a name, whole; flags as in ethos_read_how. ETHOS_NOTFOUND when there is none. While
 * somebody has it open for writing, waits for up to FILES_WRITER_MS; where that cannot be known, a
 * young text other than the one of revision `expected` is read until it stays the same. *out_busy:
 * somebody still has it open, or it cannot be known. expected NULL: no waiting, and busy only when
 * it is known.
 */
#define FILES_WRITER_MS 2000

/* How long a file that history knows may be missing while an editor saves it, and between two looks. */
#define FILES_ABSENT_MS 150
#define FILES_ABSENT_STEP_MS 2
int files_location_read(const struct files *self, const char *path, int dir, const char *name,
                        const char *expected, unsigned flags, struct ethos_text *out_text,
                        struct stat *out_seen, bool *out_busy, struct ethos_error *error);

/* ---- journal.c ------------------------------------------------------------------------ */

#define FILES_HISTORY "memory-history.jsonl"
#define FILES_LIVE_FLAGS (O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
#define FILES_INDEX ".mem/index"

/* The history of a held directory, at its end. */
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

/* One that knows nothing. */
void files_journal_init(struct files_journal *journal);

/* Reads the end; with a lock, cuts off what was never finished. */
int files_journal_open(struct files *self, struct files_lock *lock, struct files_journal *journal,
                       struct ethos_error *error);
void files_journal_close(const struct files_lock *lock, struct files_journal *journal);

/*
 * Whether the operation of origin was done: sets the edits from its record then, else
 * ETHOS_NOTFOUND. ETHOS_DENIED when its id was used for something else.
 */
int files_journal_find_operation(const struct files *self, const struct files_lock *lock,
                                 const struct files_journal *journal,
                                 const struct ethos_origin *origin, struct ethos_edit *edits,
                                 size_t count, struct ethos_error *error);

/* What the history says about a key. */
int files_journal_last_change(const struct files_journal *journal, const char *key,
                              struct history_last *out, struct ethos_error *error);

/* A name for a transaction. 0, or -1 and errno. */
int files_txn_new_id(char out[FILES_TXN_SIZE]);

/*
 * Appends records as one transaction (txn NULL: under a new name): gives them ts, seq and txn; those of
 * another store (graft) keep ts and seq. Blobs stand already. Without sync they become durable with the next append that has it. After a
 * failure nothing was appended.
 */
int files_journal_append(struct files *self, struct files_lock *lock, struct files_journal *journal,
                         const char *txn, struct history_record *records, size_t count, bool sync,
                         struct ethos_error *error);

/* Makes durable what was appended without sync. */
int files_journal_sync(struct files *self, const struct files_lock *lock,
                       struct files_journal *journal, struct ethos_error *error);

/* Brings the index up to date when it has become costly not to. Failing to is no failure. */
void files_journal_index(struct files *self, struct files_lock *lock,
                         struct files_journal *journal);

/* ---- versions.c --------------------------------------------------------------------------- */

#define FILES_BLOBS "history-blobs"

/* Everything recorded about a key (NULL: about all). Zero it first. */
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

/* Whether a name is that of a history file, which is no key. */
bool files_is_history(const char *name);

/* Appends the bytes of every history file, oldest first. */
int files_history_read_all(const struct files *self, int dir, const char *path, struct str *out,
                           struct ethos_error *error);

/*
 * A text by its recorded place; ETHOS_CORRUPT when what is kept does not lead there, and the cause
 * when a blob on the way could not be read.
 */
int files_key_history_text(const struct files *self, const struct files_key_history *past,
                           size_t index, bool before, struct str *out, struct ethos_error *error);

/* The blobs of a scope, and the first of them that is there and could not be read. */
struct files_blobs {
    int dir;
    const char *path;
    int errnum; /* 0: none */
    char hex[HASH_HEX_SIZE];
};

/* history_blob_fn; arg is a struct files_blobs. */
int files_blob_read(void *blobs, const char *hex, struct str *out);

/* What kept a blob from being read, ETHOS_OK when nothing did. */
int files_blobs_error(const struct files *self, const struct files_blobs *blobs,
                      struct ethos_error *error);

/* Keeps a text under its hash. sync: durable when this returns. */
int files_blob_write(struct files *self, struct files_lock *lock, const char *hex,
                     struct ethos_view text, bool sync, struct ethos_error *error);

/* Lets go of what versions were made from last. */
void files_version_source_free(struct files *self);

int files_version(struct ethos_store *self, const char *scope, const char *key,
                  const char *revision, struct ethos_text *out_text, struct ethos_error *error);

/* ---- version_blobs.c -------------------------------------------------------------------------- */

/* A walk of the history of a scope begins; it notes what its records keep whole. */
void files_version_cache_begin(struct files *self, int dir, const char *scope);
void files_version_cache_add(struct files *self, const struct history_record *record);

/* A version that was noted. ETHOS_OK, ETHOS_NOMEM, or ETHOS_NOTFOUND: the history must be asked. */
int files_version_cache_read(struct files *self, int dir, const char *scope, const char *key,
                             const char *revision, struct str *out);
void files_version_cache_free(struct files *self);

/* history.c */
int files_history(struct ethos_store *self, const char *scope, const char *key,
                  ethos_change_fn *each, void *arg, struct ethos_error *error);

/* Makes a text that was rebuilt the answer to a read. */
int files_fill_text(const struct files *self, struct ethos_view text,
                    const struct ethos_read_how *how, struct ethos_text *out_text,
                    struct ethos_error *error);

/* ---- stable_read.c ---------------------------------------------------------------------- */

/* Whether a text that was read may be half a save. */
bool files_is_recent(const struct ethos_text *text);

/* For a file that is missing: waits for it a moment if history knows it. As files_open. */
int files_wait_for_file(struct files *self, const char *scope, const char *key, const char *path,
                        struct ethos_error *error);

/* Reads it when nobody is writing it, or gives the last recorded version, marked as unsettled. */
int files_read_stable(struct files *self, const char *scope, const char *key, const char *path,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error);

/* ---- read_cache.c --------------------------------------------------------------------------- */

/* What a path is found by, never 0. */
uint32_t files_cache_hash(const char *path);

/* ETHOS_READ_AGAIN: whether the text of this stamp is kept and its file is as it was then. */
bool files_cache_is_current(struct files *self, uint64_t stamp);

/* Gives the text that was kept of a path if its file is as it was then. */
bool files_cache_read(struct files *self, const char *path, uint32_t mark,
                      const struct ethos_read_how *how, struct ethos_text *out_text);

/* Before fd is read: whether the text is to be kept, which is so at the second reading in a row. */
bool files_cache_wants(struct files *self, uint32_t mark, int fd);

/* Keeps a text that was wanted; of any other remembers that it was read. Neither if it is unfit. */
void files_cache_store(struct files *self, const char *path, uint32_t mark, const struct stat *seen,
                       const struct ethos_text *text, bool wanted);

void files_cache_free(struct files *self);

/* ---- recover.c ------------------------------------------------------------------------ */

/*
 * Finishes or takes back what temporaries and the newest transaction tell of, for every key of the
 * directory. Linked locations have their temporaries elsewhere: those of the caller are looked at too.
 * The transaction `unwanted` ("" for none) is taken back even where it was published.
 */
int files_recover(struct files *self, struct files_lock *lock, struct files_journal *journal,
                  const char *scope, const struct files_location *locations, size_t count,
                  const char *unwanted, struct ethos_error *error);

/* The same for a hold whose journal nobody needs otherwise. */
int files_recover_locked(struct files *self, struct files_lock *lock, const char *scope,
                         struct ethos_error *error);

/*
 * Keeps a text that is no version of its key, and says so in a line that changes nothing, durable.
 */
int files_record_seen_text(struct files *self, struct files_lock *lock,
                           struct files_journal *journal, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error);

/* ---- external_edit.c -------------------------------------------------------------------------- */

/* What an edit made outside asks for; records and entries are in the arena. */
struct files_external_edit {
    struct history_record *records; /* to be appended */
    size_t count;
    bool rewrites; /* the file must become text before anything else happens */
    struct str text;
};

/* Judges the text of a key (absent view: no file) that is not the one last recorded. */
int files_inspect_external_edit(struct files *self, struct files_lock *lock,
                                const struct files_journal *journal, const char *scope,
                                const char *key, struct ethos_view now, const struct stat *seen,
                                struct arena *arena, struct files_external_edit *out,
                                struct ethos_error *error);

/*
 * Sets what a record says about a change of texts and keeps the blobs it names, durable. The first
 * change of a key keeps the text before it whole, and every so many later ones the text after.
 */
int files_describe_change(struct files *self, struct files_lock *lock,
                          const struct history_last *last, struct ethos_view before,
                          struct ethos_view after, struct arena *arena,
                          struct history_record *record, struct ethos_error *error);

/* ---- write.c -------------------------------------------------------------------------- */

/* Makes a draft for writing. Under the lock nobody else does: one of that name was left behind. */
int files_draft_create(int dir, const char *name);

int files_update_scope(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                       size_t count, ethos_edit_fn *edit, void *arg,
                       const struct ethos_origin *origin, struct ethos_error *error);

void files_update_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                        size_t count);

/* ---- import_commits.c -------------------------------------------------------------------------- */

int files_import_commits(struct ethos_store *self, const char *scope,
                         const struct ethos_commit *commit, struct ethos_error *error);

/* ---- conflict_copies.c ----------------------------------------------------------------------- */

/* Keeps a text as a conflict copy of a key, durable; one that is there already stays the only one. */
int files_conflict_write(struct files *self, struct files_lock *lock, const char *key,
                         struct ethos_view text, struct ethos_error *error);

/* Whether a name is that of a copy another program left. */
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
