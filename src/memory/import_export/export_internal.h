/*
 * export_internal.h: the state of an export. Private to memory/import_export/export*.
 */
#ifndef ETHOS_MEMORY_IMPORT_EXPORT_EXPORT_INTERNAL_H
#define ETHOS_MEMORY_IMPORT_EXPORT_EXPORT_INTERNAL_H

#include "memory/import_export/internal.h"
#include "memory/notes/list.h"

struct export
{
    struct ethos_turn *turn;
    const struct transfer_request *what;
    unsigned flags;
    int dir;                    /* the destination folder; -1: it does not exist */
    char folder[TRANSFER_PATH]; /* its path */
    struct transfer_place *place;
    struct notes notes;
    struct ethos_text text; /* number of the current note */
    struct imports record;
    struct ethos_error closed; /* why nothing can be recorded, or ETHOS_OK */
    json_t *given;             /* file names written in this run, to a folder */
    uint64_t done;
};

void export_report(const struct export *export, const char *what, const char *file, const char *key,
                   const char *why, const char *diff);

/* Warns of a note or index with text that looks like a secret. ETHOS_NOMEM. */
int export_warn(const struct export *export, const char *key, struct ethos_view text, bool redacted,
                struct ethos_error *error);

/* Counts a file and reports progress. */
void export_step(struct export *export);

/* Replaces a file of the destination, or reports why not. */
int export_file(struct export *export, const char *name, const char *key, struct ethos_view text,
                struct ethos_error *error);

/* export_text.c: appends all notes as one text in the format, with secrets redacted. */
int export_render(struct export *export, struct str *out, struct ethos_error *error);

#endif
