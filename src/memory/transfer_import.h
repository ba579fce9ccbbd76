/*
 * transfer_import.h: an import under way. Private to memory/transfer_import*.
 */
#ifndef ETHOS_MEMORY_TRANSFER_IMPORT_H
#define ETHOS_MEMORY_TRANSFER_IMPORT_H

#include "memory/handle.h"
#include "memory/transfer_parts.h"

struct import {
    struct ethos_turn *turn;
    const struct transfer *what;
    struct ethos_origin origin;
    unsigned flags; /* of ethos_sync_how */
    struct source source;
    struct imports notes;               /* the record of the notes' scope */
    char note_scope[ETHOS_MAX_SCOPE];   /* where notes go */
    char memory_scope[ETHOS_MAX_SCOPE]; /* where entries of a memory go */
    json_t *known;                      /* key: what was seen last; of this source, as it changes */
    json_t *fresh;                      /* keys whose lines the index here may lack: new ones */
    bool listed; /* its index came before; else every note that is here may lack one */
    uint64_t done;
    bool nomem; /* something could not be told */
};

/* Tells of one item; warns of secrets in its text when it came in. */
void import_tell(struct import *import, const struct source_item *item, const char *scope,
                 const char *key, const char *what, const char *why, const char *diff);

/* Counts an item and says so. */
void import_step(struct import *import);

static inline bool import_dry(const struct import *import)
{
    return import->flags & ETHOS_SYNC_DRY_RUN;
}

/* ---- transfer_import_notes.c: files of their own -------------------------------------------- */

/* Names the facts: keys that are theirs from before, or free ones. */
int import_name(struct import *import, struct ethos_error *error);

/* Brings in every note, then the lines of the index that belong to them. */
int import_notes(struct import *import, struct ethos_error *error);

/* ---- transfer_import_merge.c: where a file is here already ---------------------------------- */

/* A file that came, and the one that is here. */
struct meeting {
    const struct source_item *item;
    const char *scope, *key;
    struct ethos_view text;             /* what came */
    struct ethos_text old;              /* what is here; data NULL: nothing */
    const char *seen;                   /* the revision that came last time, or NULL */
    char revision[ETHOS_REVISION_SIZE]; /* of what came now */
};

enum meeting_way {
    MEET_PUT,  /* what came may stand for what is here */
    MEET_DONE, /* told, and remembered */
    MEET_BOTH, /* both sides changed, or nobody knows what was common */
};

/* Decides; tells of what needs no writing. */
enum meeting_way import_meet(struct import *import, struct meeting *meeting);

/*
 * Brings the two together by lines; what cannot be is kept beside the file. ETHOS_NOTFOUND, with
 * nothing done, when nobody knows what was common.
 */
int import_merge(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Keeps what came beside the file, which stays. */
int import_aside(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Notes what came, so that the next run knows. */
int import_remember(struct import *import, const struct meeting *meeting);

/* ---- transfer_import_log.c: entries of MEMORY.md and USER.md -------------------------------- */

int import_log(struct import *import, enum foreign_target target, struct ethos_error *error);

#endif
