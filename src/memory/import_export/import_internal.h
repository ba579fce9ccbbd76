/*
 * import_internal.h: an import under way. Private to the import_*.c beside it.
 */
#ifndef ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_INTERNAL_H
#define ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_INTERNAL_H

#include "memory/handle_internal.h"
#include "memory/import_export/internal.h"

struct import {
    struct ethos_turn *turn;
    const struct transfer_request *what;
    struct ethos_origin origin;
    unsigned flags; /* of ethos_sync_how */
    struct import_source source;
    struct imports notes;               /* the record of the notes' scope */
    char note_scope[ETHOS_MAX_SCOPE];   /* where notes go */
    char memory_scope[ETHOS_MAX_SCOPE]; /* where entries of a memory go */
    json_t *known;                      /* key: what was seen last; of this source, as it changes */
    json_t *fresh;                      /* keys whose lines the index here may lack: new ones */
    bool listed; /* its index came before; else every note that is here may lack one */
    uint64_t done;
    bool nomem;                 /* something could not be told */
    bool waits;                 /* nobody has approved it: what comes waits for a person */
    struct import_index *index; /* while notes come in, unless it is a dry run */
};

/* Tells of one item; warns of secrets in its text when it came in. */
void import_report(struct import *import, const struct source_item *item, const char *scope,
                   const char *key, const char *what, const char *why, const char *diff);

/* Counts an item and says so. */
void import_step(struct import *import);

static inline bool import_dry(const struct import *import)
{
    return import->flags & ETHOS_SYNC_DRY_RUN;
}

/* ---- import_notes.c: files of their own -------------------------------------------- */

/* Names the facts: keys that are theirs from before, or free ones. */
int import_name(struct import *import, struct ethos_error *error);

/* Brings in every note, then the lines of the index that belong to them. */
int import_notes(struct import *import, struct ethos_error *error);

/* ---- import_merge.c: where a file is here already ---------------------------------- */

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
enum meeting_way import_decide(struct import *import, struct meeting *meeting);

/*
 * Brings the two together by lines; what cannot be is kept beside the file. ETHOS_NOTFOUND, with
 * nothing done, when nobody knows what was common.
 */
int import_merge(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Keeps what came beside the file, which stays. */
int import_aside(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Notes what came, so that the next run knows. */
int import_remember(struct import *import, const struct meeting *meeting);

/* What to do, told to nobody. */
enum meeting_way import_way(struct meeting *meeting);

/* The text that came last time, from the history of the key. ETHOS_NOTFOUND. */
int import_base(struct import *import, const struct meeting *meeting, struct ethos_text *out);

/*
 * Makes what came a version of its key, the base of the next merge. Failing to costs no more than a conflict
 * next time.
 */
void import_store_version(struct import *import, const struct meeting *meeting);

/* ---- import_index.c: the lines of notes, in the same update as the notes ------------ */

/*
 * The index while notes come in. With a target, the index becomes that text in the end, and until then it is
 * that text without the lines of notes that are still to come. Else lines are added to what is here.
 */
struct import_index {
    const struct source_item *item; /* their index, or NULL */
    struct meeting meeting;         /* of it with ours */
    bool has_target, merged;        /* merged: the target is both texts together */
    struct str target;
    struct str text;                  /* of the update under way */
    char expect[ETHOS_REVISION_SIZE]; /* of the index here, unless somebody else changes it */
    json_t *listed;                   /* files that had a line when the import began */
    json_t *waiting;                  /* keys of notes that are still to come */
    size_t added;                     /* lines that were added without a target */
    size_t adding;                    /* the same of the update under way */
};

/* Reads the index that is here and decides what becomes of it. Release it always. */
int import_index_open(struct import *import, struct ethos_error *error);
void import_index_release(struct import *import);

/* Decides the last edit, that of the index, in an update whose other edits are these notes. */
int import_index_edit(struct import *import, const struct meeting *meetings,
                      struct ethos_edit *edits, size_t count, struct ethos_error *error);

/* That update was done. */
void import_index_done(struct import *import, const struct meeting *meetings,
                       const struct ethos_edit *edits, size_t count);

/* Makes the index the target. ETHOS_NOTFOUND, with nothing done, when there is none (any more). */
int import_index_finish(struct import *import, struct ethos_error *error);

/* ---- import_propose.c: in place of import_notes, where nobody has approved the import ---- */

int import_propose_notes(struct import *import, struct ethos_error *error);

/* ---- import_entries.c: entries of MEMORY.md and USER.md -------------------------------- */

int import_log(struct import *import, enum foreign_target target, struct ethos_error *error);

#endif
