/*
 * turn_threads.h: turns of the agent, and commands that wait for memory, each in a thread of its own.
 *
 * The gateway's thread starts them, reads the partial answer, and collects the outcome. The threads do not use
 * channels.db. A turn that was interrupted by a crash is started again under the same id with resumes set.
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
    void (*wake)(void *arg); /* called from a thread when there is a partial answer or an outcome */
    void *wake_arg;
};

/* Copied by turn_threads_start. Optional texts may be NULL. */
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
    bool proposes;  /* guests: their memory changes wait for approval */
    bool foreign;   /* the message or the conversation contains other people's words */
    bool reads_files;
    bool resumes;
    bool is_command; /* the text is one of commands.h */
    int64_t undo_ms; /* for a command: start of the last turn that changed memory; 0: none */
};

struct turn_outcome {
    int64_t row;
    int code; /* ETHOS_OK: text is the answer */
    bool is_aborted;
    bool has_changed; /* memory */
    int64_t began_ms;
    struct ethos_error error;
    struct str text;
    char model[256]; /* of a command: the new model of the chat, or "" */
};

int turn_threads_new(const struct turn_threads_setup *setup, struct turn_threads **out,
                     struct ethos_error *error);

/* Waits for the turns that run, which are aborted when aborts is set. */
void turn_threads_free(struct turn_threads *self, bool aborts);

unsigned turn_threads_running(struct turn_threads *self);

/* ETHOS_BUSY: too many turns are running. */
int turn_threads_start(struct turn_threads *self, const struct turn_start *start,
                       struct ethos_error *error);

/* Aborts the turn of a row; its outcome follows. */
void turn_threads_abort(struct turn_threads *self, int64_t row);

/* Copies the partial answer of a row. False: it has not changed since the last call. */
bool turn_threads_text(struct turn_threads *self, int64_t row, struct str *out);

/* Takes the next outcome. Release its text. */
bool turn_threads_outcome(struct turn_threads *self, struct turn_outcome *out);

#endif
