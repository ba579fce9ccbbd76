/*
 * reply.h: the answer of a model as it arrives: bytes in, events out. Pure.
 *
 *     reply_init(&reply, wire, &settings, each, arg);
 *     reply_feed(&reply, bytes); ...          // pieces of any size
 *     reply_finish(&reply, NULL);             // at the end of the stream
 *     reply_release(&reply);
 *
 * A failure is held until reply_finish, so that an ask can be repeated before anybody hears of it. Nothing is
 * read after a failure or after the end that the wire marks.
 *
 * The second half of this header is for the wires.
 */
#ifndef ETHOS_AGENT_MODELS_REPLY_H
#define ETHOS_AGENT_MODELS_REPLY_H

#include "agent/models/failure.h"
#include "agent/models/wire.h"
#include "core/formats/server_sent_events.h"

#define REPLY_MAX_CALLS 128
#define REPLY_MAX_FIELDS 8 /* texts of an answer that come in pieces, beside its text */

/* A text that comes in pieces. */
struct reply_text {
    struct str text;
    uint16_t half; /* of a character that was cut; surrogates.h */
};

struct reply_call {
    unsigned item;   /* number within the answer */
    int64_t index;   /* as the server counts, or -1 */
    size_t position; /* within the list it came in */
    struct str id, name;
    struct reply_text arguments;
    json_t *members; /* the wire's: all else that came with it */
    bool has_begun;
};

/* A text of the answer that the wire stores under a name of the server's. */
struct reply_field {
    char name[40];
    struct reply_text value;
};

enum reply_input { REPLY_INPUT_UNKNOWN, REPLY_INPUT_STREAM, REPLY_INPUT_WHOLE };

struct reply {
    const struct wire *wire;
    const struct wire_settings *settings;
    model_event_fn *each;
    void *arg;

    enum reply_input input; /* a server may answer a request for a stream with one document */
    struct event_stream events;
    struct str line; /* or the whole document */
    bool is_cut;     /* the rest, which is read now, may end anywhere */
    bool has_ended;

    struct reply_text text, thinking;
    struct reply_field fields[REPLY_MAX_FIELDS];
    size_t field_count;
    json_t *message; /* the wire's: all else that came with it */
    struct reply_call *calls[REPLY_MAX_CALLS];
    size_t call_count;

    struct model_usage usage;
    enum model_stop stop;
    bool has_stop;      /* stop was given */
    bool is_complete;   /* the wire's end was read */
    bool has_shown;     /* text, or the begin of a call */
    bool has_thought;   /* thinking was shown */
    size_t shown_bytes; /* of text, thinking and arguments */
    bool has_failed;
    struct failure failure;
};

void reply_init(struct reply *self, const struct wire *wire, const struct wire_settings *settings,
                model_event_fn *each, void *arg);
void reply_release(struct reply *self);

void reply_feed(struct reply *self, struct ethos_view bytes);

/* Whether nothing more needs to be read: the answer is complete or has failed. */
bool reply_is_over(const struct reply *self);

/*
 * The stream has ended: reads what is left. is_cut: it may end anywhere. Afterwards reply_is_whole says whether
 * this is an answer.
 */
void reply_end(struct reply *self, bool is_cut);
bool reply_is_whole(const struct reply *self);

/*
 * reply_end, and the last events: MODEL_DONE, or MODEL_ERROR when the answer is not whole. failure: why it is
 * not; NULL: what the answer itself reports, or that the connection was closed.
 */
void reply_finish(struct reply *self, const struct failure *failure);

/* ---- for wires ----------------------------------------------------------------------------------- */

struct failure_context reply_context(const struct reply *self);

/* The first failure stays. */
void reply_fail(struct reply *self, enum model_error error, const char *detail);
void reply_fail_memory(struct reply *self);
void reply_fail_json(struct reply *self, const json_t *error);

/* Pieces that are absent or empty change nothing. */
void reply_add_text(struct reply *self, struct ethos_view piece);
void reply_add_thinking(struct reply *self, struct ethos_view piece);

/* A new call; NULL when the answer has failed. */
struct reply_call *reply_add_call(struct reply *self);

/* Names a call, which begins with its first name. Absent and empty values change nothing. */
void reply_name_call(struct reply *self, struct reply_call *call, struct ethos_view id,
                     struct ethos_view name);
void reply_add_arguments(struct reply *self, struct reply_call *call, struct ethos_view piece);

/* The same, of arguments that are a piece of text, or a whole object. Anything else changes nothing. */
void reply_add_json_arguments(struct reply *self, struct reply_call *call, const json_t *arguments);

/* Sets a member of what the wire stores, or fails. */
void reply_set_member(struct reply *self, json_t *object, const char *name, json_t *value);

/* Appends to the field of that name. */
void reply_add_field(struct reply *self, const char *name, struct ethos_view piece);

void reply_clear_fields(struct reply *self);

/* Appends a piece to a text; returns str_code. */
int reply_join(struct reply_text *text, struct ethos_view piece);

/* MODEL_STATUS, a line for a person. */
void reply_show_status(struct reply *self, const char *text);

void reply_set_stop(struct reply *self, enum model_stop stop);
void reply_complete(struct reply *self);

/* Sets a member of usage from a number of the server's; anything else changes nothing. */
void reply_count(struct reply *self, const json_t *value, int64_t *out, unsigned known);

/* What the answer cost, in USD, by the server's word. */
void reply_set_cost(struct reply *self, double usd);

/* Whether a call is part of the answer: an answer that was cut short may end within one. */
bool reply_has_call(const struct reply *self, const struct reply_call *call);

/* Ends an echo with ,"tool_calls":[...]}. Without calls the echo is removed: out is truncated to start. */
void reply_end_echo(const struct reply *self, struct str *out, size_t start,
                    void (*write)(struct str *out, const struct reply_call *call));

#endif
