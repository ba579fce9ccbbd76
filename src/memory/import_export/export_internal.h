/*
 * export_internal.h: an export under way. Private to memory/import_export/export*.
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
    int dir;                    /* the folder of the destination; -1: there is none */
    char folder[TRANSFER_PATH]; /* its path */
    struct transfer_place *place;
    struct notes notes;
    struct ethos_text text; /* of the note at hand */
    struct imports record;
    struct ethos_error closed; /* why nothing can be recorded; code ETHOS_OK: it can */
    json_t *given;             /* names of this run, of a folder */
    uint64_t done;
};

void export_report(const struct export *export, const char *what, const char *file, const char *key,
                   const char *why, const char *diff);

/* Tells of a note or index that holds what looks like a secret. ETHOS_NOMEM. */
int export_warn(const struct export *export, const char *key, struct ethos_view text, bool redacted,
                struct ethos_error *error);

/* Counts a file and says so. */
void export_step(struct export *export);

/* Puts a text in place of a file of the destination, or tells why not. */
int export_file(struct export *export, const char *name, const char *key, struct ethos_view text,
                struct ethos_error *error);

/* export_text.c: appends all notes as one text, by the format, secrets redacted. */
int export_render(struct export *export, struct str *out, struct ethos_error *error);

#endif
