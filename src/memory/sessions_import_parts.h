/*
 * sessions_import_parts.h: an import while it runs. Private to src/memory/sessions_import*.
 */
#ifndef ETHOS_MEMORY_SESSIONS_IMPORT_PARTS_H
#define ETHOS_MEMORY_SESSIONS_IMPORT_PARTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "core/transcript.h"
#include "memory/sessions_import.h"

/* One transcript, read. Everything lives in the arena. */
struct import_source {
    const char *file; /* for rows */
    const char *name; /* the key where the transcript names no session */
    uint64_t bytes;   /* of it, */
    uint64_t before;  /* of the files before it, */
    uint64_t total;   /* and of all */
    struct arena arena;
    struct transcript_about about;
    struct ethos_message *messages;
    size_t count, capacity;
};

/* An import from beginning to end. */
struct import_run {
    struct ethos_turn *turn;
    const struct sessions_import *what;
    struct ethos_sessions *store;
    char now[CLOCK_ISO_SIZE], latest[CLOCK_ISO_SIZE]; /* that a time may be */
    uint64_t total;                                   /* bytes of all transcripts */
    bool changed;                                     /* something was appended */
};

/*
 * Takes one transcript and fills the row's effect, why, id, messages and total; id has room for
 * one. ETHOS_INVALID and ETHOS_LIMIT are about this transcript, anything else about the store.
 */
int import_take(struct import_run *run, struct import_source *source,
                struct sessions_import_row *row, char id[ETHOS_UUID_SIZE],
                struct ethos_error *error);

/* How much of a transcript is done, of count messages. */
void import_progress(struct import_run *run, const struct import_source *source, size_t done);

#endif
