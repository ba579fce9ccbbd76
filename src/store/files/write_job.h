/*
 * write_job.h: updates of one scope on their way through the parts of the write protocol, one or
 * several that share a write. Private to these:
 *
 *   write.c           the rounds: everything up to the question and after the answer
 *   run_callbacks.c   the question: each update in turn, and the lines that tell of its answer
 *   write_checks.c    what must not be replaced
 *   publish.c         from drafts to the acknowledgement, or back
 *   import_commits.c  changes of another store instead of a question
 */
#ifndef ETHOS_STORE_FILES_WRITE_JOB_H
#define ETHOS_STORE_FILES_WRITE_JOB_H

#include "store/files/internal.h"

/* One key on its way. */
struct key_change {
    const char *key;
    struct files_location *location;
    struct history_last last; /* what is recorded of it */
    struct ethos_text *file;  /* as it was read: `old` of the first edit of the key */
    bool exists;
    struct stat seen;
    struct ethos_view text; /* what it has become so far; absent view: no file */
    const char *revision;   /* of that */
    bool puts, drops;       /* what is to become of the file */
    bool drafted;
    bool in_place; /* it was overwritten, nothing was displaced */
    bool watched;  /* somebody may still write to what was displaced */
    bool answers;  /* an update that changes nothing rests on it */
    bool told;     /* a line of a graft is about it */
};

/* One edit of one update. */
struct edit_step {
    struct key_change *change; /* of its key */
    /* What an earlier round recorded and had to take back; its diff is NULL when there is none. */
    struct history_record tried;
    size_t tried_before; /* how often its entry stood in the text it started from */
};

/* One update. */
struct update_call {
    struct ethos_edit_call *asked;
    struct edit_step *steps; /* one for each edit */
    bool changes;            /* it leaves other texts than it found */
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
    bool recorded;      /* lines of the updates stood in the history, in this round or before */

    /* of one round */
    struct files_lock lock;
    struct files_journal journal;
    struct arena arena;
    char txn[FILES_TXN_SIZE];
    bool journaled; /* the lines of this round's change stand in the history */
    bool inspected; /* and its texts in the files, what they displaced being what was read */
    bool written;   /* something stays: no making is undone */
};

/* Whether the change leaves another file than it found. */
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

/* A round: begin, lock, settle (under the lock: everything that comes before the question), ..., end. */
void write_round_begin(struct write_job *job);
int write_prepare(struct write_job *job, struct ethos_error *error);
void write_round_end(struct write_job *job);

/* A name for the transaction that comes. */
int write_start_transaction(struct write_job *job, struct ethos_error *error);

/* ---- run_callbacks.c ---------------------------------------------------------------------------- */

/*
 * Asks every update in order, each over the texts that those before it left; its code says what it
 * answered. Then `changes` and what is to become of each file are set.
 */
void write_run_callbacks(struct write_job *job);

/* Whether any of them changed a text, be it back again. */
bool write_has_changes(const struct write_job *job);

/* The lines of all that changed something, in order; their blobs stand. */
int write_make_records(struct write_job *job, struct history_record **out, size_t *out_count,
                       struct ethos_error *error);

/* Remembers what was recorded and taken back, so that the next round does not add it twice. */
void write_remember_attempts(struct write_job *job, const struct history_record *records);

/* ---- write_checks.c -------------------------------------------------------------------------- */

/* ETHOS_DENIED about the file of a change. */
int write_refuse(const struct write_job *job, const struct key_change *change, const char *why,
                 const char *hint, struct ethos_error *error);

/* Refuses what must not be replaced: one change, or all of them and the directories they are in. */
int write_check_change(const struct write_job *job, const struct key_change *change,
                       struct ethos_error *error);
int write_check_all(const struct write_job *job, struct ethos_error *error);

/* Refuses where a folder of the changes cannot be written. */
int write_check_folders(const struct write_job *job, struct ethos_error *error);

/* ---- publish.c ------------------------------------------------------------------------ */

/*
 * Makes the files what the changes say, after the records of it stand in the history. FILES_RETRY when
 * somebody came between: begin again. After any failure everything is as it was, but for a failed
 * sync at the very end.
 */
int write_publish(struct write_job *job, struct history_record *records, size_t count,
                  struct ethos_error *error);

#endif
