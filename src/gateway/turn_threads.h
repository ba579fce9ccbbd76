/*
 * turn_threads.h: turns of the agent, and commands that wait for memory, each in a thread of its own.
 *
 * The gateway's thread starts them, sees how far the answer is, and takes the outcome; threads know nothing of
 * channels.db. A turn of the same id that was interrupted by a crash is started again with resumes.
 */
#ifndef ETHOS_GATEWAY_TURN_THREADS_H
#define ETHOS_GATEWAY_TURN_THREADS_H

#include <ethos/ethos.h>

#include "agent/models/model.h"
#include "base/str.h"
#include "channel/message.h"

#define TURN_THREADS 4 /* at a time */

struct turn_threads;

/* Opens the model of a turn, as configured_model_open; so that a test can be one. */
typedef int turn_model_fn(void *arg, struct ethos *ethos, const char *personality,
                          const char *override, struct model **out, struct ethos_error *error);

struct turn_threads_setup {
    const struct ethos_options *options;
    turn_model_fn *open_model; /* NULL: the configured one */
    void *model_arg;
    void (*wake)(void *arg); /* called from a thread that has something to tell */
    void *wake_arg;
};

/* Copied by turn_threads_start. Texts may be NULL where nothing is said of them. */
struct turn_start {
    int64_t row; /* of the inbox */
    const char *turn, *session_key;
    const char *platform, *sender;
    const char *personality; /* of a session that is made */
    const char *workspace;   /* a folder, or "" */
    const char *model;       /* instead of the configured one */
    struct ethos_view text;
    bool is_owner;
    bool no_memory; /* guests, and groups */
    bool proposes;  /* guests: what they have remembered waits for approval */
    bool foreign;   /* others' words stand in the message, or in the conversation */
    bool reads_files;
    bool resumes;
    bool is_command; /* the text is one of commands.h */
    int64_t
        undo_ms; /* of a command: when the last turn began that remembered something; 0: none did */
};

struct turn_outcome {
    int64_t row;
    int code; /* ETHOS_OK: text is the answer */
    bool is_aborted;
    bool has_changed; /* memory */
    int64_t began_ms;
    struct ethos_error error;
    struct str text;
    char model[256]; /* of a command: the one that the chat has from now on, or "" */
};

int turn_threads_new(const struct turn_threads_setup *setup, struct turn_threads **out,
                     struct ethos_error *error);

/* Waits for the turns that run, which are aborted when aborts is set. */
void turn_threads_free(struct turn_threads *self, bool aborts);

unsigned turn_threads_running(struct turn_threads *self);

/* ETHOS_BUSY: as many run as may. */
int turn_threads_start(struct turn_threads *self, const struct turn_start *start,
                       struct ethos_error *error);

/* The turn of a row ends soon, and its outcome is that it was aborted. */
void turn_threads_abort(struct turn_threads *self, int64_t row);

/* What the answer of a row is so far, when it is not what it was when it was last asked. False: it is. */
bool turn_threads_text(struct turn_threads *self, int64_t row, struct str *out);

/* An outcome that nobody has taken yet. Release its text. */
bool turn_threads_outcome(struct turn_threads *self, struct turn_outcome *out);

#endif
