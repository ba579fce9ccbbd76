/*
 * transcript.h: which order of messages a model accepts.
 *
 *     [system]  user  assistant [tool_result...]  [assistant ...]  user  ...
 *
 * User and assistant alternate; tool results follow the assistant that called, answer one of its
 * calls each, once; before the next user or assistant message every call has its answer. A steer
 * (user_steer) may come between an assistant with calls and its results, or after results, and
 * counts as the user's word. A session that ends in the middle of that is not wrong, only
 * unfinished.
 */
#ifndef ETHOS_CORE_TRANSCRIPT_H
#define ETHOS_CORE_TRANSCRIPT_H

#include <stdbool.h>

#include <ethos/session.h>
#include <ethos/types.h>

struct arena;

#define TRANSCRIPT_MAX_CALLS 256 /* of one assistant message */

#define TRANSCRIPT_FORMATS "jsonl|claude-code|codex|ethos"

#define TRANSCRIPT_NO_RESULT "(no result was recorded)" /* what a call without result is answered */

/* Where a conversation stands. All zero but the arena: at its beginning. */
struct transcript {
    char last; /* s: system, u: user, a: assistant, r: tool_result, t: user_steer; 0: none */
    /* Of the last assistant, in the arena; those without answer first. */
    const char *calls[TRANSCRIPT_MAX_CALLS];
    size_t call_count, open_count;
    struct arena *arena;
};

/*
 * Takes the next message. ETHOS_INVALID says what does not fit, ETHOS_LIMIT that there are too
 * many calls; these and ETHOS_NOMEM leave the state as it was.
 */
int transcript_next(struct transcript *self, const struct ethos_message *message,
                    struct ethos_error *error);

/*
 * One message; lives as long as the arena. Any value but 0 ends the reading and is returned by it.
 */
typedef int transcript_out_fn(void *arg, const struct ethos_message *message);

/* What was left out or changed, of which line (from 1); one of a few fixed texts, to be counted. */
typedef void transcript_note_fn(void *arg, size_t line, const char *what);

/*
 * What a transcript tells of itself. Members of the session that it does not tell are NULL or 0;
 * the id is that of the other program, created_at the time of the first message. Of "ethos" it is
 * the whole row.
 */
struct transcript_about {
    const char *format;
    bool taken_back; /* some of what it has was taken back there, and is left out */
    struct ethos_session session;
};

/*
 * Reads a transcript and gives messages in an order that transcript_next accepts: neighbours of
 * one role are joined, results go to their calls, those without are dropped, calls without result
 * are answered by TRANSCRIPT_NO_RESULT; what is no part of the conversation (side chains, questions
 * that were asked anew, reasoning, bookkeeping) is left out. All of it is told to note, before the first message is
 * given; *out_about, which lives as long as the arena, is complete then, too.
 *
 * Every message has an id: that of the transcript where it is a UUID, else one made from the place
 * and the text, so that reading the same file again, or grown, gives the same ids. Times never go
 * back; a missing one is that of the neighbour, and NULL when there is none at all.
 *
 * format: NULL guesses; "jsonl" ({"role","content",...} per line), "claude-code", "codex", or
 * "ethos" ({"session":{...},"messages":[...]}, what we export: one that transcript_next accepts is
 * given as it is, also when it ends in the middle; its lines are counted in messages).
 * ETHOS_INVALID when nothing of it could be read; ETHOS_NOMEM.
 */
int transcript_read(struct ethos_view text, const char *format, struct arena *arena,
                    struct transcript_about *out_about, transcript_out_fn *each,
                    transcript_note_fn *note, void *arg, struct ethos_error *error);

/* Adds counts that are not negative, up to the most that can be counted. */
void transcript_add_usage(struct ethos_usage *to, const struct ethos_usage *from);

/* A UUID that is always the same for the same text. */
void transcript_uuid(struct ethos_view text, char out[ETHOS_UUID_SIZE]);

#endif
