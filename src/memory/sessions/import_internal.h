/*
 * import_internal.h: an import while it runs. Private to src/memory/sessions/import*.
 *
 * import.c finds and reads, import_match.c compares with the session,
 * import_write.c writes, import_resume.c knows where a file need not be read again.
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

/* A file that is open, as much of it as was read: up to its end. */
struct import_file {
    struct stat info;
    struct ethos_view seen;
    uint64_t seen_from; /* the bytes before that */
};

/* One transcript, read. Everything lives in the arena. */
struct import_source {
    const char *name; /* the key where the transcript names no session */
    uint64_t bytes;   /* of it, */
    uint64_t before;  /* of the files before it, */
    uint64_t total;   /* and of all */
    struct arena arena;
    struct transcript_about about;
    struct ethos_message *messages;
    size_t count, capacity;
    const struct import_file *file; /* that a place is wanted of, or NULL */
    /* Where the messages begin, or NULL: at the beginning; whether the whole must be read instead, */
    const struct sessions_place *from;
    bool unfit;
    struct import_note *notes, **last_note; /* and what is told if not. */
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
    char now[CLOCK_ISO_SIZE], latest[CLOCK_ISO_SIZE]; /* that a time may be */
    uint64_t total;                                   /* bytes of all transcripts */
    bool changed;                                     /* something was appended */
};

/* One transcript and its session. */
struct session_import {
    struct import_run *run;
    struct import_source *source;
    const char *key;
    bool own;       /* a document of ours: ids are its own */
    bool begun;     /* a batch of it was appended */
    json_t *places; /* of messages by id */
    /* The session as it was found or left, in the source's arena. */
    bool found;
    struct ethos_session session;
    char id[ETHOS_UUID_SIZE];
    /* How far it is the transcript. */
    size_t have;                    /* messages that both begin with, of those that were read */
    size_t extra;                   /* that it shows after those */
    char last_time[CLOCK_ISO_SIZE]; /* of the last that stays, or "" */
    const char *again;              /* the first of those that are to be taken again, or NULL */
    const char *conflict;           /* why nothing can be appended, or NULL */
};

/*
 * Takes one transcript and fills the row but its file. ETHOS_INVALID and ETHOS_LIMIT are about this
 * transcript, anything else about the store. When the source turns out unfit, the row is to be gone
 * on with; else the place that was asked for is set.
 */
int import_write(struct import_run *run, struct import_source *source, struct ethos_error *error);

/* How much of a transcript is done, of count messages. */
void import_progress(struct import_run *run, const struct import_source *source, size_t done);

/* ---- where the session stands ---------------------------------------------------------------- */

/* The key and the ids of the messages. ETHOS_OK or ETHOS_NOMEM. */
int import_identify(struct session_import *self);

/* Finds the session and how far it is the transcript. */
int import_match(struct session_import *self, struct ethos_error *error);

/* Whether there is more of the transcript than the session shows, or will show. */
bool import_has_more(const struct session_import *self);

/* ---- places ---------------------------------------------------------------------------------- */

/*
 * Reads a file from a place on; *out_file tells what was read, which is in out. False: it is no
 * place of this file, or it could not be read.
 */
bool import_place_open(const struct import_run *run, int fd, const struct stat *info,
                       const struct sessions_place *place, struct str *out,
                       struct import_file *out_file);

/* The place as the reader of transcripts knows it; lives as long as that. */
struct transcript_place import_place_from(const struct sessions_place *place);

/* Whether a place was made when the session was as it is. ETHOS_OK or ETHOS_NOMEM. */
int import_place_sealed(const struct session_import *self, bool *out);

/* Where the next import may begin, once this one is done: none when that cannot be told. */
void import_place_next(const struct session_import *self, struct sessions_place *out);

/* Adds what messages have cost. */
void import_add_usage(struct ethos_usage *to, const struct ethos_message *messages, size_t count);

#endif
