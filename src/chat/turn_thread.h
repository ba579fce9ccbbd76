/*
 * turn_thread.h: a conversation in a thread of its own, so that somebody can type while it works.
 *
 *     thread = turn_thread_start(&talk, keys, &error);
 *     turn_thread_run(thread, text);                    when it is idle
 *     poll turn_thread_wake_fd(thread), then
 *         while ((notice = turn_thread_next(thread)))   what happened, in order
 *         switch (turn_thread_state(thread))            it works, asks something, or is idle
 *
 * The talk belongs to the thread while it works; in between, to the caller. Notices are held back to
 * TURN_THREAD_MAX_QUEUE bytes: then the thread waits until some are taken.
 */
#ifndef ETHOS_CHAT_TURN_THREAD_H
#define ETHOS_CHAT_TURN_THREAD_H

#include "chat/talk.h"

#define TURN_THREAD_MAX_QUEUE 1048576 /* bytes */

enum notice_kind {
    NOTICE_START,    /* a turn; text: the model */
    NOTICE_TEXT,     /* of the answer */
    NOTICE_THINKING, /* the model does */
    NOTICE_RESTART,  /* the answer begins again */
    NOTICE_TOOL,     /* text: the call in a line */
    NOTICE_TOOL_END,
    NOTICE_STATUS,  /* text */
    NOTICE_USAGE,   /* tokens: written so far */
    NOTICE_DONE,    /* text: tokens and cost */
    NOTICE_ABORTED, /* the turn was */
    NOTICE_FAILED,  /* the turn; text: why */
    NOTICE_LINE,    /* style, text */
    NOTICE_SOURCE   /* text, as it is */
};

/* Freed by free(). */
struct notice {
    struct notice *next;
    enum notice_kind kind;
    enum talk_style style;
    int64_t tokens;
    size_t size;
    char text[];
};

enum turn_thread_state {
    TURN_THREAD_IDLE,
    TURN_THREAD_WORKS,
    TURN_THREAD_ASKS,    /* a question: answered by turn_thread_answer, 1 for yes */
    TURN_THREAD_PROGRAM, /* for a program that needs the terminal: answered with its exit status */
};

struct turn_thread;

/* Shows the talk from now on; keys: what they do, for /help. NULL on failure. */
struct turn_thread *turn_thread_start(struct chat_talk *talk, const char *keys,
                                      struct ethos_error *error);

/* Ends what it does, and frees it. NULL does nothing. */
void turn_thread_stop(struct turn_thread *self);

int turn_thread_wake_fd(const struct turn_thread *self);

/* Copies the text. ETHOS_OK or ETHOS_NOMEM. */
int turn_thread_run(struct turn_thread *self, struct ethos_view text);

/* The oldest notice, or NULL. */
struct notice *turn_thread_next(struct turn_thread *self);

/* What it does, once all notices were taken; before that, TURN_THREAD_WORKS. */
enum turn_thread_state turn_thread_state(struct turn_thread *self);
void turn_thread_answer(struct turn_thread *self, int answer);

/* Of the states that are named so. */
const char *turn_thread_question(const struct turn_thread *self);
const char *const *turn_thread_program(const struct turn_thread *self);

/* The turn ends soon, if one runs; nothing otherwise. */
void turn_thread_abort(struct turn_thread *self);

#endif
