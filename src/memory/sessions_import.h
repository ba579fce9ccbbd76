/*
 * sessions_import.h: conversations of other programs, taken in as sessions.
 *
 * A transcript is one session, whose key says where it came from: <format>:<its own session id>, or
 * where it names none import:<name of the file>~<8 hex of SHA-256(real path)>, from standard input
 * import:<32 hex of SHA-256(text)>. The id of a message is made from that key, the message before
 * and what it says, so that nothing is taken twice, another conversation with the same words is
 * another one, and the id of its last message tells how far a session is the transcript.
 *
 * What the session shows must be how the transcript begins: then the rest is appended, in batches,
 * each whole and durable, so that an import that was killed goes on where it stopped and one of a
 * grown file adds what is new. The last turn may have been taken while the other program was still
 * writing (a call without result, half of an answer): where the transcript says more now, it is
 * hidden from there on and taken again; and so is all that came from it, where something was taken
 * back there since and asked anew. A transcript that says less than the session is an old
 * copy, and nothing changes. A session that went on otherwise, here or there, is a conflict, and
 * stays as it is.
 *
 * A document of our own export keeps its ids, of session and messages, and its key where that is
 * free. It is the session with this id when there is one, else the one with this key if that begins
 * with the same message.
 *
 * A message whose id is in another session, or hidden in this one, makes a conflict before anything
 * is written. Times that are still to come, by more than a day, are taken as now.
 */
#ifndef ETHOS_MEMORY_SESSIONS_IMPORT_H
#define ETHOS_MEMORY_SESSIONS_IMPORT_H

#include <ethos/ethos.h>

#define SESSIONS_IMPORT_BYTES 1073741824 /* of one transcript */
#define SESSIONS_IMPORT_BATCH 500        /* messages of one transaction */

/* What became of one transcript. */
struct sessions_import_row {
    const char *file;   /* as found below the path, or "-" */
    const char *effect; /* "created", "appended", "unchanged", "conflict" or "skipped" */
    const char *why;    /* of the last two, or NULL */
    const char *id;     /* of the session, or NULL */
    const char *format; /* or NULL: none was recognised */
    uint64_t messages;  /* added */
    uint64_t total;     /* that the session has now */
    int code;           /* why it was skipped, or ETHOS_OK */
};

struct sessions_import {
    const char *path; /* a file, or a folder: every *.jsonl and *.json in and below it; "-": text */
    struct ethos_view text; /* what standard input said */
    const char *format;     /* of TRANSCRIPT_FORMATS, or NULL: guessed */
    int dry_run;
    /* All may be NULL. */
    void (*each)(void *arg, const struct sessions_import_row *row);
    void (*note)(void *arg, const char *file, size_t line,
                 const char *what); /* left out, changed */
    void *arg;
    void (*progress)(void *arg, uint64_t done, uint64_t total); /* bytes of all files */
    void *progress_arg;
};

/*
 * ETHOS_NOTFOUND without such a path, or without any file to read in it; ETHOS_INVALID when it is
 * one file that is no transcript. In a folder a file that cannot be taken is a row and no failure.
 */
int sessions_import(struct ethos_turn *turn, const struct sessions_import *what,
                    struct ethos_error *error);

#endif
