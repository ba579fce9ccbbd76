/*
 * transcript.h: the order of messages that a model accepts.
 *
 *     [system]  user  assistant [tool_result...]  [assistant ...]  user  ...
 *
 * User and assistant alternate. Tool results follow the assistant message with the calls, and each
 * answers one call, once; before the next user or assistant message, every call has its result. A
 * steer (user_steer) may come between an assistant with calls and its results, or after results,
 * and counts as a user's message. A session that ends in the middle of this is unfinished, not
 * wrong.
 */
#ifndef ETHOS_CORE_SESSIONS_TRANSCRIPT_H
#define ETHOS_CORE_SESSIONS_TRANSCRIPT_H

#include <stdbool.h>

#include <ethos/session.h>
#include <ethos/types.h>

struct arena;

#define TRANSCRIPT_MAX_CALLS 256 /* of one assistant message */

#define TRANSCRIPT_FORMATS "jsonl|claude-code|codex|ethos"

#define TRANSCRIPT_NO_RESULT "(no result was recorded)" /* result of a call without one */
#define TRANSCRIPT_NO_REPLY "(no reply was recorded)"   /* ends an aborted turn */

/* State of a conversation. All zero except the arena: its beginning. */
struct transcript {
    char last; /* s: system, u: user, a: assistant, r: tool_result, t: user_steer; 0: none */
    /* Of the last assistant message, in the arena; unanswered calls first. */
    const char *calls[TRANSCRIPT_MAX_CALLS];
    size_t call_count, open_count;
    struct arena *arena;
};

/*
 * Adds the next message. ETHOS_INVALID with the reason if it does not fit, ETHOS_LIMIT if there are
 * too many calls; these and ETHOS_NOMEM leave the state unchanged.
 */
int transcript_next(struct transcript *self, const struct ethos_message *message,
                    struct ethos_error *error);

/*
 * The messages that end an aborted turn, so that a user's message may follow: a result for each
 * open call, or a reply to the user's last message. None if one may follow already. Returns their
 * number; the ids of calls are those of self.
 */
size_t transcript_close(const struct transcript *self,
                        struct ethos_message out[TRANSCRIPT_MAX_CALLS]);

/*
 * One message; lives as long as the arena. Any value except 0 ends the reading and is returned by
 * it.
 */
typedef int transcript_out_fn(void *arg, const struct ethos_message *message);

/* What was left out or changed in which line (from 1); one of a few fixed texts, to be counted. */
typedef void transcript_note_fn(void *arg, size_t line, const char *what);

/*
 * Where to continue reading a transcript that has grown: the line of a question before which
 * nothing can change any more. Strings live as long as the arena.
 */
struct transcript_place {
    size_t offset;       /* bytes before the line; 0: there is no such place */
    size_t lines;        /* before it */
    size_t messages;     /* messages that come from them; never 0 */
    const char *time;    /* of the last of these, or NULL */
    const char *session; /* about.session.id */
    /* Which tokens were counted so far. */
    const char *response; /* claude-code: id of the answer, "": none */
    int64_t tokens;       /* codex: their number */
    bool titled;          /* a title was found */
};

/*
 * What a transcript says about itself. Members of the session that it does not contain are NULL or
 * 0; the id is the other program's, created_at the time of the first message. For "ethos" it is the
 * whole row.
 */
struct transcript_about {
    const char *format;
    bool taken_back; /* some of its messages were undone there and are left out */
    struct ethos_session session;
    struct transcript_place next; /* claude-code and codex: the last such place */
};

/*
 * Reads a transcript and reports its messages in an order that transcript_next accepts: adjacent
 * messages of one role are joined, results follow their calls, results without a call are dropped,
 * calls without a result get TRANSCRIPT_NO_RESULT; what is not part of the conversation (side
 * chains, repeated questions, reasoning, bookkeeping) is left out. All of this is reported to note
 * before the first message; *out_about, which lives as long as the arena, is complete by then.
 *
 * Every message has an id: the transcript's if it is a UUID, otherwise one made from its position
 * and text, so that reading the same file again, or a longer version, gives the same ids. Times
 * never go back; a missing time is that of the next message, or NULL if there is none at all.
 *
 * format: NULL guesses; "jsonl" ({"role","content",...} per line), "claude-code", "codex", or
 * "ethos" ({"session":{...},"messages":[...]}, our export: if transcript_next accepts it, it is
 * reported unchanged, even if it ends in the middle; its lines are counted in messages).
 * ETHOS_INVALID if nothing of it could be read; ETHOS_NOMEM.
 */
int transcript_read(struct ethos_view text, const char *format, struct arena *arena,
                    struct transcript_about *out_about, transcript_out_fn *each,
                    transcript_note_fn *note, void *arg, struct ethos_error *error);

/*
 * The same for a text that begins at a place, in the format that was read: reports the messages
 * from there on, as transcript_read of the whole would, with the same line numbers in notes. About
 * the session it reports what this text says; from must live as long as the arena. ETHOS_CONFLICT,
 * before any message is reported, if something depends on the text before the place (a result of a
 * call there, a line that follows one there, tokens of an answer there) or if the place is not in
 * this transcript: then the whole must be read, and what was noted is void. One case is not
 * noticed: a line that has the id of one before the place, and follows one after it.
 */
int transcript_read_on(struct ethos_view text, const struct transcript_place *from,
                       const char *format, struct arena *arena, struct transcript_about *out_about,
                       transcript_out_fn *each, transcript_note_fn *note, void *arg,
                       struct ethos_error *error);

/* Adds counts that are not negative, up to the maximum. */
void transcript_add_usage(struct ethos_usage *to, const struct ethos_usage *from);

/* A UUID that is always the same for the same text. */
void transcript_uuid(struct ethos_view text, char out[ETHOS_UUID_SIZE]);

#endif
