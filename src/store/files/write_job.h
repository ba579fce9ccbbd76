/*
 * write_job.h: the updates of one scope that share a write, on their way through the write
 * protocol. Private to:
 *
 *   write.c           the rounds: everything before the callbacks and after their verdicts
 *   run_callbacks.c   runs the callbacks, and makes the history lines of their verdicts
 *   write_checks.c    refuses what must not be replaced
 *   publish.c         from drafts to the acknowledgement, or back
 *   import_commits.c  changes of another store instead of callbacks
 */
#ifndef ETHOS_STORE_FILES_WRITE_JOB_H
#define ETHOS_STORE_FILES_WRITE_JOB_H

#include "store/files/internal.h"

/* A key of the write. */
struct key_change {
    const char *key;
    struct files_location *location;
    struct history_last last; /* its last recorded change */
    struct ethos_text *file;  /* as it was read: `old` of the first edit of the key */
    bool exists;
    struct stat seen;
    struct ethos_view text; /* its current text in this update; absent view: no file */
    const char *revision;   /* of that */
    bool puts, drops;       /* what happens to the file */
    bool drafted;
    bool in_place; /* it was overwritten, nothing was displaced */
    bool watched;  /* another program may still write to the displaced file */
    bool answers;  /* the result of an update that changes nothing depends on it */
    bool told;     /* an imported line is about it */
};

/* An edit of an update. */
struct edit_step {
    struct key_change *change; /* of its key */
    /* What an earlier round recorded and took back; its diff is NULL if there is none. */
    struct history_record tried;
    size_t tried_before; /* how often the text contained its entry before */
};

/* An update. */
struct update_call {
    struct ethos_edit_call *asked;
    struct edit_step *steps; /* one for each edit */
    bool changes;            /* it changes a text */
    struct ethos_view op;    /* its record (store/operation_id.h), absent while there is none */
};

struct write_job {
    struct files *self;
    const char *scope;
    struct update_call *calls;
    size_t call_count;
    struct edit_step *steps; /* of all calls */
    struct files_location *locations;
    struct key_change *changes;
    size_t count; /* of keys */

    struct arena tries; /* of all rounds */
    bool recorded;      /* lines of the updates were in the history, in this round or before */

    /* of one round */
    struct files_lock lock;
    struct files_journal journal;
    struct arena arena;
    char txn[FILES_TXN_SIZE];
    bool journaled; /* the lines of this round are in the history */
    bool
        inspected; /* its texts are in the files, and the displaced texts are those that were read */
    bool written;  /* something was written: nothing that was created is removed */
};

/* Whether the file of the key changes. */
static inline bool has_file_change(const struct key_change *change)
{
    return change->puts || change->drops;
}

static inline bool files_is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static inline struct ethos_view change_file_text(const struct key_change *change)
{
    return (struct ethos_view){change->file->data, change->file->size};
}

/* ---- write.c -------------------------------------------------------------------------- */

/* A round: begin, lock, prepare (under the lock, everything before the callbacks), ..., end. */
void write_round_begin(struct write_job *job);
int write_prepare(struct write_job *job, struct ethos_error *error);
void write_round_end(struct write_job *job);

/* Begins a transaction with a new id. */
int write_start_transaction(struct write_job *job, struct ethos_error *error);

/*
 * ---- run_callbacks.c
 * ----------------------------------------------------------------------------
 */

/*
 * Runs the callback of every update in order, each over the texts that those before it left; sets
 * the code of each, `changes`, and what happens to each file.
 */
void write_run_callbacks(struct write_job *job);

/* Whether any update changed a text, even if only back and forth. */
bool write_has_changes(const struct write_job *job);

/* Makes the lines of all updates that changed something, in order, and writes their blobs. */
int write_make_records(struct write_job *job, struct history_record **out, size_t *out_count,
                       struct ethos_error *error);

/*
 * Remembers adds that were recorded and taken back, so that the next round does not add them
 * twice.
 */
void write_remember_attempts(struct write_job *job, const struct history_record *records);

/* ---- write_checks.c -------------------------------------------------------------------------- */

/* Refuses to change a file: ETHOS_DENIED. */
int write_refuse(const struct write_job *job, const struct key_change *change, const char *why,
                 const char *hint, struct ethos_error *error);

/* Refuses what must not be replaced: one change, or all of them and their directories. */
int write_check_change(const struct write_job *job, const struct key_change *change,
                       struct ethos_error *error);
int write_check_all(const struct write_job *job, struct ethos_error *error);

/* Refuses where a folder of the changes cannot be written to. */
int write_check_folders(const struct write_job *job, struct ethos_error *error);

/* ---- publish.c ------------------------------------------------------------------------ */

/*
 * Makes the files match the changes, once their records are in the history. FILES_RETRY if another
 * program interfered. After a failure everything is unchanged, unless only the last sync failed.
 */
int write_publish(struct write_job *job, struct history_record *records, size_t count,
                  struct ethos_error *error);

#endif
