/*
 * files_purge.h: what the two parts of purge share.
 */
#ifndef ETHOS_STORE_FILES_PURGE_H
#define ETHOS_STORE_FILES_PURGE_H

#include "store/files.h"

/* A key of the scope: one that has a file, or one that the history names. */
struct purge_key {
    struct purge_key *next;
    struct ethos_view key; /* terminated */
    struct str text;       /* after the newest of its lines that was looked at */
    struct ethos_view hash;
    bool known; /* text could be rebuilt */
};

struct purge {
    struct files *self;
    const char *scope;
    const char *path; /* of the scope's directory */
    struct ethos_view needle;
    int dir;
    struct files_hold *hold; /* NULL: only counts */
    struct arena arena;
    struct purge_key *keys;
    struct ethos_purge found;
    uint64_t temps; /* in FILES_TMP that hold it */
    bool replaced;  /* a history file, by this call */
};

/* The entry of a key, made when there is none; NULL without memory. */
struct purge_key *files_purge_key(struct purge *purge, struct ethos_view key);

/* Puts a text in the place of folder/name, with owner and mode of `like`. Needs files_hold_tmp. */
int files_purge_replace(struct purge *purge, int folder, const char *name, const struct stat *like,
                        struct ethos_view text, struct ethos_error *error);

/* Counts the lines of the history that hold the needle; with a hold, writes the history without. */
int files_purge_history(struct purge *purge, struct ethos_error *error);

#endif
