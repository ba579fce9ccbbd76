/* purge_internal.h: shared by purge.c and purge_history.c. */
#ifndef ETHOS_STORE_FILES_PURGE_INTERNAL_H
#define ETHOS_STORE_FILES_PURGE_INTERNAL_H

#include "core/memory/forget_text.h"
#include "store/files/internal.h"

/* A key of the scope that has a file, or that the history names. */
struct purge_key {
    struct purge_key *next;
    struct ethos_view key; /* terminated */
    const char *renamed;   /* its new name, because its name contains the text; or NULL */
    struct str text;       /* after the newest of its lines that was examined */
    struct ethos_view hash;
    bool known; /* text could be rebuilt */
    bool clean; /* it does not contain the text, whether or not it could be rebuilt */
    bool held;  /* it or a version contains the text: it must be rewritten */
};

struct purge_job {
    struct files *self;
    const char *scope;
    const char *path; /* of the scope's directory */
    struct forget forget;
    int dir;
    struct files_lock *lock; /* NULL: only counts */
    struct arena arena;
    struct purge_key *keys;
    struct purge_key **table; /* the same, by their hashes */
    size_t key_count, table_size;
    struct ethos_purge found;
    uint64_t temps; /* temporaries in FILES_TMP that contain it */
    bool tell;      /* report the match of every line */
    bool replaced;  /* a history file, by this call */
};

/* The entry of a key, created if missing; NULL if out of memory. */
struct purge_key *files_purge_find_key(struct purge_job *purge, struct ethos_view key);

/* Replaces folder/name by a text, with owner and mode of `like`. Needs files_lock_open_drafts. */
int files_purge_replace(struct purge_job *purge, int folder, const char *name,
                        const struct stat *like, struct ethos_view text, struct ethos_error *error);

/* Counts the history lines that contain the text; with a lock, rewrites the history without it. */
int files_purge_history(struct purge_job *purge, struct ethos_error *error);

#endif
