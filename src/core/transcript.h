/*
 * transcript.h: which order of messages a model accepts.
 *
 *     [system]  user  assistant [tool_result...]  [assistant ...]  user  ...
 *
 * User and assistant alternate; tool results follow the assistant that called, answer one of its calls
 * each, once; before the next user message every call has its answer. A steer (user_steer) may come
 * between an assistant with calls and its results, or after results. A session that ends in the middle
 * of that is not wrong, only unfinished.
 */
#ifndef ETHOS_CORE_TRANSCRIPT_H
#define ETHOS_CORE_TRANSCRIPT_H

#include <stdbool.h>

#include <ethos/session.h>
#include <ethos/types.h>

struct arena;

#define TRANSCRIPT_MAX_CALLS 256 /* of one assistant message */

/* Where a conversation stands. All zero: at its beginning. */
struct transcript {
    char last; /* first letter of the role before, 0: none, r: tool_result, s: system */
    const char *open[TRANSCRIPT_MAX_CALLS]; /* calls without answer, in the arena */
    size_t open_count;
    struct arena *arena;
};

/* Takes the next message; ETHOS_INVALID says what does not fit and leaves the state as it was. */
int transcript_next(struct transcript *self, const struct ethos_message *message,
                    struct ethos_error *error);

/* What normalising did to one message: "merged", "dropped", "answered", "renamed"; or what it read. */
typedef int transcript_out_fn(void *arg, const struct ethos_message *message);
typedef void transcript_note_fn(void *arg, size_t line, const char *what);

/*
 * Reads a transcript and gives messages in an order that transcript_next accepts: neighbours of one role
 * are joined, results without call are dropped, calls without result are answered by "(no result was
 * recorded)", all of it told to note. format: NULL guesses; "jsonl" ({"role","content",...} per line),
 * "claude-code" or "codex". ETHOS_INVALID when nothing of it could be read.
 */
int transcript_read(struct ethos_view text, const char *format, struct arena *arena,
                    transcript_out_fn *each, transcript_note_fn *note, void *arg,
                    struct ethos_error *error);

#endif
