/*
 * model.h: a language model as the turn sees it: it is asked with a conversation, and its answer arrives as events.
 *
 * A model is a table with one function, so that a test (or a program that embeds the agent) can be one. The models
 * of this folder speak to servers: providers.h opens them.
 *
 * Every ask ends with exactly one MODEL_DONE or MODEL_ERROR, which nothing follows; MODEL_USAGE comes before it.
 * Text and thinking are whole UTF-8 characters. Calls are reported in the order of the answer, each as BEGIN,
 * ARGUMENTS (any number, pieces of JSON text) and END; an answer that was cut short reports no END for a call that
 * is incomplete. Views of an event live as long as the call of the function it is given to.
 */
#ifndef ETHOS_AGENT_MODELS_MODEL_H
#define ETHOS_AGENT_MODELS_MODEL_H

#include <stdbool.h>

#include <ethos/types.h>

#define MODEL_MAX_TEXT 8388608 /* bytes: one answer, or what a person says */

/* ---- what a model is asked --------------------------------------------------------------------- */

enum model_role { MODEL_USER, MODEL_ASSISTANT, MODEL_TOOL_RESULT };

/* A tool call of an assistant's message. arguments is a JSON object as text. */
struct model_call {
    struct ethos_view id, name, arguments;
};

struct model_message {
    enum model_role role;
    struct ethos_view text;
    const struct model_call *calls; /* of an assistant */
    size_t call_count;
    /*
     * Of an assistant, or absent: the answer as MODEL_DONE gave it (raw). A model echoes it unchanged when it
     * came from the same wire, host and model; otherwise the message is built from text and calls.
     */
    struct ethos_view raw;
    struct ethos_view call_id, tool_name; /* of a tool result */
    bool is_error;                        /* of a tool result: the tool failed */
};

/* schema is a JSON schema as text. */
struct model_tool {
    struct ethos_view name, description, schema;
};

struct model_request {
    const struct ethos_view *system; /* parts of the system prompt, the most stable first */
    size_t system_count;
    const struct model_message *messages; /* the last is a user's, or tool results */
    size_t message_count;
    const struct model_tool *tools;
    size_t tool_count;
    int abort_fd; /* the ask ends with MODEL_ABORTED once this descriptor is readable; -1: never */
};

/* ---- how it answers ----------------------------------------------------------------------------- */

enum model_event_kind {
    MODEL_START,          /* the server accepted the request */
    MODEL_TEXT,           /* text */
    MODEL_THINKING,       /* text */
    MODEL_CALL_BEGIN,     /* item, id, name */
    MODEL_CALL_ARGUMENTS, /* item, text: a piece of the JSON */
    MODEL_CALL_END, /* item, id, name, text: the whole arguments as they came; "" counts as {} */
    MODEL_RESTART,  /* forget the text and calls of this ask: the answer starts over */
    MODEL_STATUS, /* text: what a person may be told, such as "rate limited; trying again in 8 s" */
    MODEL_USAGE,  /* usage, cumulative for this ask; a later one replaces the one before */
    MODEL_DONE,   /* stop, raw */
    MODEL_ERROR   /* error, http, retry_ms, text: one sentence for a person, without keys */
};

enum model_stop {
    MODEL_STOP_END,
    MODEL_STOP_CALLS,
    MODEL_STOP_LENGTH,  /* the limit of output tokens */
    MODEL_STOP_WINDOW,  /* the context window is full */
    MODEL_STOP_REFUSED, /* never send this answer again */
    MODEL_STOP_PAUSED   /* send the answer back as it is, and the model goes on */
};

enum model_error {
    MODEL_AUTH,
    MODEL_BILLING,
    MODEL_RATE,
    MODEL_OVERLOADED,
    MODEL_OVERFLOW, /* the conversation is longer than the context window */
    MODEL_REQUEST,  /* the server refused the request for another reason */
    MODEL_NOT_FOUND,
    MODEL_NETWORK,
    MODEL_TIMEOUT,
    MODEL_PROTOCOL, /* the answer cannot be understood */
    MODEL_SERVER,
    MODEL_ABORTED
};

enum {
    MODEL_KNOWS_INPUT = 1,
    MODEL_KNOWS_OUTPUT = 2,
    MODEL_KNOWS_CACHE = 4,
    MODEL_KNOWS_COST = 8, /* nano_usd */
    MODEL_ESTIMATED = 16  /* the answer was cut short: counted from what arrived */
};

/* Tokens; input does not include what was read from or written to a cache. */
struct model_usage {
    int64_t input, output, cache_read, cache_write, thinking, nano_usd;
    unsigned known;
};

struct model_event {
    enum model_event_kind kind;
    unsigned item; /* number of the call within the answer, from 0 */
    struct ethos_view id, name, text;
    struct model_usage usage;
    enum model_stop stop;
    struct ethos_view
        raw; /* JSON text {"wire","host","model","message"}; absent: nothing worth echoing */
    enum model_error error;
    int http;         /* status, or 0 */
    int64_t retry_ms; /* how long the server asks to wait, or 0 */
};

typedef void model_event_fn(void *arg, const struct model_event *event);

struct model;

struct model_ops {
    /* Blocks until the answer has ended. Failures are MODEL_ERROR events, nothing else. */
    void (*ask)(struct model *self, const struct model_request *request, model_event_fn *each,
                void *arg);
    void (*close)(struct model *self);
};

/* What is known of a model; names are borrowed from it. */
struct model {
    const struct model_ops *ops;
    const char *provider, *name; /* "anthropic", "claude-sonnet-5" */
    int64_t window;              /* tokens of the context window; 0: unknown */
    bool local;                  /* runs on this machine: its cost is 0 */
};

#endif
