/*
 * import_internal.h: the state of an import. Private to the import_*.c beside it.
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
    char note_scope[ETHOS_MAX_SCOPE];   /* scope for notes */
    char memory_scope[ETHOS_MAX_SCOPE]; /* scope for entries */
    json_t *known; /* key: the imported revision; of this source, updated during the import */
    json_t *fresh; /* new keys, whose lines the index here may lack */
    bool listed;   /* the index was imported before; else every note here may lack a line */
    uint64_t done;
    bool nomem;                 /* a report was lost */
    bool waits;                 /* not approved: everything imported is queued */
    struct import_index *index; /* while notes are imported, except in a dry run */
};

/* Reports one item; warns of secrets in its text if it was imported. */
void import_report(struct import *import, const struct source_item *item, const char *scope,
                   const char *key, const char *what, const char *why, const char *diff);

/* Counts an item and reports progress. */
void import_step(struct import *import);

static inline bool import_dry(const struct import *import)
{
    return import->flags & ETHOS_SYNC_DRY_RUN;
}

/* ---- import_notes.c: files of their own -------------------------------------------- */

/* Assigns keys to facts: those they had before, or free ones. */
int import_name(struct import *import, struct ethos_error *error);

/* Imports every note, then the index lines that belong to them. */
int import_notes(struct import *import, struct ethos_error *error);

/* ---- import_merge.c: where a file is here already ---------------------------------- */

/* An imported file, and the one here. */
struct meeting {
    const struct source_item *item;
    const char *scope, *key;
    struct ethos_view text;             /* the imported text */
    struct ethos_text old;              /* the text here; data NULL: none */
    const char *seen;                   /* the revision imported last time, or NULL */
    char revision[ETHOS_REVISION_SIZE]; /* of the imported text */
};

enum meeting_way {
    MEET_PUT,  /* the imported text may replace the one here */
    MEET_DONE, /* done: reported and recorded */
    MEET_BOTH, /* both sides changed, or the base is unknown */
};

/* Decides what to do; reports an item that needs no write. */
enum meeting_way import_decide(struct import *import, struct meeting *meeting);

/*
 * Merges both by lines; what conflicts becomes a conflict copy. ETHOS_NOTFOUND, with nothing done,
 * if the base is unknown.
 */
int import_merge(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Stores the imported text as a conflict copy; the file stays. */
int import_aside(struct import *import, const struct meeting *meeting, struct ethos_error *error);

/* Records the imported revision for the next run. */
int import_remember(struct import *import, const struct meeting *meeting);

/* Decides what to do, without reporting. */
enum meeting_way import_way(struct meeting *meeting);

/* The text of the last import, from the history of the key. ETHOS_NOTFOUND. */
int import_base(struct import *import, const struct meeting *meeting, struct ethos_text *out);

/*
 * Stores the imported text as a version of its key, the base of the next merge. A failure only
 * causes a conflict next time.
 */
void import_store_version(struct import *import, const struct meeting *meeting);

/* ---- import_index.c: the lines of notes, in the same update as the notes ------------ */

/*
 * The index while notes are imported. With a target, the index becomes that text in the end, and
 * until then it is that text without the lines of missing notes. Otherwise lines are added to the
 * index here.
 */
struct import_index {
    const struct source_item *item; /* the source's index, or NULL */
    struct meeting meeting;         /* merge of it with ours */
    bool has_target, merged;        /* merged: the target combines both texts */
    struct str target;
    struct str text;                  /* of the current update */
    char expect[ETHOS_REVISION_SIZE]; /* of the index here, unless somebody else changes it */
    json_t *listed;                   /* files that had a line when the import began */
    json_t *waiting;                  /* keys of notes that are still missing */
    size_t added;                     /* lines that were added without a target */
    size_t adding;                    /* likewise, of the current update */
};

/* Reads the index here and decides how to import the other one. Release it in any case. */
int import_index_open(struct import *import, struct ethos_error *error);
void import_index_release(struct import *import);

/* Decides the last edit, that of the index, in an update whose other edits are these notes. */
int import_index_edit(struct import *import, const struct meeting *meetings,
                      struct ethos_edit *edits, size_t count, struct ethos_error *error);

/* That update succeeded. */
void import_index_done(struct import *import, const struct meeting *meetings,
                       const struct ethos_edit *edits, size_t count);

/*
 * Makes the target the index. ETHOS_NOTFOUND, with nothing done, if there is no target (any more).
 */
int import_index_finish(struct import *import, struct ethos_error *error);

/* ---- import_propose.c: in place of import_notes, where nobody has approved the import ---- */

int import_propose_notes(struct import *import, struct ethos_error *error);

/* ---- import_entries.c: entries of MEMORY.md and USER.md -------------------------------- */

int import_log(struct import *import, enum foreign_target target, struct ethos_error *error);

#endif
