/*
 * import.h: conversations of other programs, taken in as sessions.
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
 * Who imports the same file again and again, as it grows, keeps a place: from where it need not be
 * read again. A place only saves time. Whatever does not fit (the file was replaced or cut, something
 * before the place was taken back, answered or continued, the session is another or was changed
 * here) makes the import read the whole file. It is sealed with the session as the import left it,
 * whose id nobody else knows: one that was edited, or made up, is none. What a place cannot notice
 * is an edit that leaves the file, its length and the 4 KiB before the place as they were: what was
 * taken stays as it was then.
 *
 * A message whose id is in another session, or hidden in this one, makes a conflict before anything
 * is written. Times that are still to come, by more than a day, are taken as now.
 */
#ifndef ETHOS_MEMORY_SESSIONS_IMPORT_H
#define ETHOS_MEMORY_SESSIONS_IMPORT_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/clock.h"

struct str;

#define SESSIONS_IMPORT_BYTES 1073741824 /* of one transcript */
#define SESSIONS_BRIEF_BYTES 67108864    /* that those in a hurry read at once */
#define SESSIONS_IMPORT_BATCH 500        /* messages of one transaction */

#define SESSIONS_PLACE_BYTES 2048 /* of its text, at most */
#define SESSIONS_PLACE_NAME 128   /* room for an id of another program */
#define SESSIONS_PLACE_HASH 33

/* The line of a question, with what is known of all before it; offset 0: none. Nobody else's to read. */
struct sessions_place {
    char format[16];
    char session[SESSIONS_PLACE_NAME];
    uint64_t offset, size, lines, messages; /* size: of the file, which does not shrink */
    char before[ETHOS_UUID_SIZE];           /* id of the last message before it, */
    char time[CLOCK_ISO_SIZE];              /* and its time, or "" */
    struct ethos_usage usage;               /* of all before it */
    char response[SESSIONS_PLACE_NAME];
    int64_t tokens;
    bool titled;
    char check[SESSIONS_PLACE_HASH]; /* of the file, and of what stands around the place */
    char seal[SESSIONS_PLACE_HASH];  /* of all this and the session */
};

/* Appends it as one line of JSON, nothing for none; returns str_code. */
int sessions_place_print(const struct sessions_place *place, struct str *out);

/* *out is none, and false returned, for a text that was not printed so, by this version. */
bool sessions_place_parse(struct ethos_view text, struct sessions_place *out);

/* What became of one transcript. */
struct sessions_import_row {
    const char *file;   /* as found below the path, or "-" */
    const char *effect; /* "created", "appended", "unchanged", "conflict" or "skipped" */
    const char *why;    /* of the last two, or NULL */
    const char *id;     /* of the session, or NULL */
    const char *format; /* or NULL: none was recognised */
    uint64_t messages;  /* added */
    uint64_t total;     /* that the session has now */
    uint64_t read;      /* bytes of it that messages were sought in */
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
    /*
     * Of one file (a folder is refused), unless it is a dry run: where the last import of it ended, or none; becomes where
     * the next may begin, and none when that must read everything. What stands before it is not noted
     * again. After a failure it is as before or none.
     */
    struct sessions_place *place;
};

/*
 * ETHOS_NOTFOUND without such a path, or without any file to read in it; ETHOS_INVALID when it is
 * one file that is no transcript. In a folder a file that cannot be taken is a row and no failure.
 */
int sessions_import(struct ethos_turn *turn, const struct sessions_import *what,
                    struct ethos_error *error);

#endif
