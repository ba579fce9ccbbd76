/*
 * files_job.h: one update on its way through the parts of the write protocol. Private to them:
 *
 *   files_write.c    the rounds: everything up to the question and its answer
 *   files_allow.c    what must not be replaced
 *   files_publish.c  from drafts to the acknowledgement, or back
 */
#ifndef ETHOS_STORE_FILES_JOB_H
#define ETHOS_STORE_FILES_JOB_H

#include "store/files.h"

/* One key on its way. */
struct change {
    struct ethos_edit *edit;
    struct files_spot *spot;
    struct history_last last; /* what is recorded of it */
    bool exists;
    struct stat seen;
    bool puts, drops; /* what is to become of the file */
    struct ethos_view text;
    bool drafted;
    bool in_place; /* it was overwritten, nothing was displaced */
    bool watched;  /* somebody may still write to what was displaced */
    /* What an earlier round recorded and had to take back; its diff is NULL when there is none. */
    struct history_record tried;
    size_t tried_before; /* how often its entry stood in the text it started from */
};

struct job {
    struct files *self;
    const char *scope;
    const struct ethos_origin *origin;
    struct ethos_edit *edits;
    struct files_spot *spots;
    struct change *changes;
    size_t count;

    struct arena tries; /* of all rounds */

    /* of one round */
    struct files_hold hold;
    struct files_journal journal;
    struct arena arena;
    char txn[FILES_TXN_SIZE];
    bool journaled; /* the lines of this round's change stand in the history */
    bool inspected; /* and its texts in the files, what they displaced being what was read */
    bool written;   /* something stays: no making is undone */
};

/* Whether the change leaves another file than it found. */
static inline bool job_changes(const struct change *change)
{
    return change->puts || change->drops;
}

static inline bool job_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* ETHOS_DENIED about the file of a change. */
int job_refuse(const struct job *job, const struct change *change, const char *why,
               const char *hint, struct ethos_error *error);

/* Refuses what must not be replaced: one change, or all of them and the directories they are in. */
int job_allow(const struct job *job, const struct change *change, struct ethos_error *error);
int job_allow_all(const struct job *job, struct ethos_error *error);

/*
 * Makes the files what the changes say, after the records of it stand in the history. FILES_MOVED when
 * somebody came between: begin again. After any failure everything is as it was, but for a failed
 * sync at the very end.
 */
int job_carry_out(struct job *job, struct history_record *records, size_t count,
                  struct ethos_error *error);

#endif
