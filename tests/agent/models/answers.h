/*
 * answers.h: what a wire makes of a stream, however it is cut.
 */
#ifndef TESTS_AGENT_MODELS_ANSWERS_H
#define TESTS_AGENT_MODELS_ANSWERS_H

#include "agent/models/wire.h"

/*
 * Events as text, a line each; pieces of a text that follow each other are one.
 *
 *     thinking Hm.
 *     text Hello
 *     begin 0 call_1 memory_write
 *     end 0 call_1 memory_write {"a":1}
 *     usage 10/5/0/0/0 nano known        (input, output, cache read, cache write, thinking)
 *     done calls
 *     raw {...}
 *     error rate 429 1500 sentence
 */
struct event_log {
    struct str lines, piece;
    struct str text; /* all of it */
    enum model_event_kind last;
    unsigned ends;
};

void event_log_init(struct event_log *self);
void event_log_release(struct event_log *self);
void event_log_add(void *log, const struct model_event *event); /* a model_event_fn */

/* The lines so far. */
const char *event_log_text(struct event_log *self);

/*
 * The stream gives these lines: whole, cut in two at every byte, and byte by byte. When it ends after any byte, there
 * is one end, and no text that the whole stream does not have.
 */
void assert_answer(const struct wire *wire, const struct wire_settings *settings,
                   struct ethos_view stream, const char *expected);

/* The request as the wire writes it. */
void assert_request(const struct wire *wire, const struct wire_settings *settings,
                    const struct model_request *request, const char *expected);

#endif
