/*
 * import_internal.h: the state of an import. Private to src/memory/sessions/import*.
 *
 * import.c finds and reads transcripts, import_match.c compares them with sessions, import_write.c
 * writes, import_resume.c finds out which part of a file need not be read again.
 */
#ifndef ETHOS_MEMORY_SESSIONS_IMPORT_INTERNAL_H
#define ETHOS_MEMORY_SESSIONS_IMPORT_INTERNAL_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "core/sessions/transcript.h"
#include "memory/sessions/import.h"

#define IMPORT_TAKEN "some of its messages were undone here, or are in another session"

/* An open file, as far as it was read. */
struct import_file {
    struct stat info;
    struct ethos_view seen;
    uint64_t seen_from; /* the bytes before that */
};

/* A transcript. Everything is in the arena. */
struct import_source {
    const char *name; /* the key if the transcript names no session */
    uint64_t bytes;   /* of it, */
    uint64_t before;  /* of the files before it, */
    uint64_t total;   /* and of all */
    struct arena arena;
    struct transcript_about about;
    struct ethos_message *messages;
    size_t count, capacity;
    const struct import_file *file; /* the file whose place is wanted, or NULL */
    /*
     * Where the messages begin, or NULL: at the beginning; whether the whole file must be read
     * instead,
     */
    const struct sessions_place *from;
    bool unfit;
    struct import_note *notes, **last_note; /* and the reports if not. */
    struct sessions_import_row row;
    char id[ETHOS_UUID_SIZE]; /* of the row */
};

struct import_note {
    struct import_note *next;
    size_t line;
    const char *what;
};

/* An import from beginning to end. */
struct import_run {
    struct ethos_turn *turn;
    const struct sessions_import *what;
    struct ethos_sessions *store;
    char now[CLOCK_ISO_SIZE], latest[CLOCK_ISO_SIZE]; /* latest valid time */
    uint64_t total;                                   /* bytes of all transcripts */
    bool changed;                                     /* something was appended */
};

/* A transcript and its session. */
struct session_import {
    struct import_run *run;
    struct import_source *source;
    const char *key;
    bool own;       /* our own export: ids are its own */
    bool begun;     /* a batch was appended */
    json_t *places; /* index of each message id */
    /* The session as found or left, in the source's arena. */
    bool found;
    struct ethos_session session;
    char id[ETHOS_UUID_SIZE];
    /* How much of the transcript the session has. */
    size_t have;                    /* common leading messages, of those read */
    size_t extra;                   /* messages of the session after those */
    char last_time[CLOCK_ISO_SIZE]; /* of the last one that stays, or "" */
    const char *again;              /* the first message to import again, or NULL */
    const char *conflict;           /* why nothing can be appended, or NULL */
};

/*
 * Imports one transcript and fills in the row except its file. ETHOS_INVALID and ETHOS_LIMIT are
 * about this transcript, anything else about the store. If the source turns out unfit, the row is
 * continued; else the requested place is set.
 */
int import_write(struct import_run *run, struct import_source *source, struct ethos_error *error);

/* Reports progress: how much of a transcript of count messages is done. */
void import_progress(struct import_run *run, const struct import_source *source, size_t done);

/* ---- where the session stands ---------------------------------------------------------------- */

/* Makes the key and the message ids. ETHOS_OK or ETHOS_NOMEM. */
int import_identify(struct session_import *self);

/* Finds the session, and how much of the transcript it has. */
int import_match(struct session_import *self, struct ethos_error *error);

/* Whether the transcript has more than the session shows, or will show. */
bool import_has_more(const struct session_import *self);

/* ---- places ---------------------------------------------------------------------------------- */

/*
 * Reads a file from a place on; *out_file describes what was read into out. False: the place does
 * not fit this file, or it cannot be read.
 */
bool import_place_open(const struct import_run *run, int fd, const struct stat *info,
                       const struct sessions_place *place, struct str *out,
                       struct import_file *out_file);

/* The place for the reader of transcripts; lives as long as the given one. */
struct transcript_place import_place_from(const struct sessions_place *place);

/* Whether a place was made for the session in its current state. ETHOS_OK or ETHOS_NOMEM. */
int import_place_sealed(const struct session_import *self, bool *out);

/* Where the next import may start after this one: none if that is unknown. */
void import_place_next(const struct session_import *self, struct sessions_place *out);

/* Adds the usage of messages. */
void import_add_usage(struct ethos_usage *to, const struct ethos_message *messages, size_t count);

#endif
