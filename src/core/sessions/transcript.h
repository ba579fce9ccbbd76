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
#ifndef ETHOS_CORE_SESSIONS_TRANSCRIPT_H
#define ETHOS_CORE_SESSIONS_TRANSCRIPT_H

#include <stdbool.h>

#include <ethos/session.h>
#include <ethos/types.h>

struct arena;

#define TRANSCRIPT_MAX_CALLS 256 /* of one assistant message */

#define TRANSCRIPT_FORMATS "jsonl|claude-code|codex|ethos"

#define TRANSCRIPT_NO_RESULT "(no result was recorded)" /* what a call without result is answered */
#define TRANSCRIPT_NO_REPLY "(no reply was recorded)"   /* ends an aborted turn */

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
 * The messages that end an aborted turn, so that a user's message may follow: a result for each open
 * call, or a reply to the user's last word. None when it may follow already. Returns how many; the
 * ids of calls are those of self.
 */
size_t transcript_close(const struct transcript *self,
                        struct ethos_message out[TRANSCRIPT_MAX_CALLS]);

/*
 * One message; lives as long as the arena. Any value but 0 ends the reading and is returned by it.
 */
typedef int transcript_out_fn(void *arg, const struct ethos_message *message);

/* What was left out or changed, of which line (from 1); one of a few fixed texts, to be counted. */
typedef void transcript_note_fn(void *arg, size_t line, const char *what);

/*
 * From where a transcript can be read on when it has grown: the line of a question, before which all
 * is settled. Strings live as long as the arena.
 */
struct transcript_place {
    size_t offset;       /* bytes before the line; 0: there is no such place */
    size_t lines;        /* before it */
    size_t messages;     /* that come of them; never 0 */
    const char *time;    /* of the last of these, or NULL */
    const char *session; /* about.session.id */
    /* Which tokens were counted before. */
    const char *response; /* claude-code: of which answer, "": none */
    int64_t tokens;       /* codex: how many */
    bool titled;          /* a title was told */
};

/*
 * What a transcript tells of itself. Members of the session that it does not tell are NULL or 0;
 * the id is that of the other program, created_at the time of the first message. Of "ethos" it is
 * the whole row.
 */
struct transcript_about {
    const char *format;
    bool taken_back; /* some of what it has was taken back there, and is left out */
    struct ethos_session session;
    struct transcript_place next; /* claude-code and codex: the last one that there is */
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

/*
 * The same of a text that begins at a place, in the format that was read: gives the messages from
 * there on, as transcript_read of the whole would, and the lines of notes count as if it did. About
 * the session it tells what stands here; from must live as long as the arena. ETHOS_CONFLICT, before
 * any message is given, when what stands before the place matters (a result of a call there, a line
 * that follows one there, tokens of an answer there) or the place is none of this transcript: then
 * the whole must be read, and what was noted is void. One thing is not noticed: a line that has the
 * id of one before the place, and follows one after it.
 */
int transcript_read_on(struct ethos_view text, const struct transcript_place *from,
                       const char *format, struct arena *arena, struct transcript_about *out_about,
                       transcript_out_fn *each, transcript_note_fn *note, void *arg,
                       struct ethos_error *error);

/* Adds counts that are not negative, up to the most that can be counted. */
void transcript_add_usage(struct ethos_usage *to, const struct ethos_usage *from);

/* A UUID that is always the same for the same text. */
void transcript_uuid(struct ethos_view text, char out[ETHOS_UUID_SIZE]);

#endif
