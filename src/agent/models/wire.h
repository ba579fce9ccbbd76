/*
 * wire.h: the request and answer formats of model servers. No I/O.
 *
 * A wire writes requests and reads single events of an answer. What all wires share when reading (framing, UTF-8, the
 * order of calls, usage, the end) is in reply.h.
 */
#ifndef ETHOS_AGENT_MODELS_WIRE_H
#define ETHOS_AGENT_MODELS_WIRE_H

#include <stdbool.h>

#include "agent/models/model.h"
#include "base/json.h"
#include "base/str.h"

struct reply;

/* The settings that affect requests and answers. Strings are borrowed. */
struct wire_settings {
    const char *provider, *model;
    const char
        *host; /* of the server, with its port: an answer is echoed only to where it came from */
    const char *key;    /* or NULL; removed from error messages of the server */
    int64_t max_output; /* tokens; 0: the wire's own */
    int64_t num_ctx;    /* tokens; of the context window that a wire with sets_window asks for */
    bool is_openai;     /* OpenAI's own host, which has other names for some fields */
    unsigned
        left_out; /* bits: fields that the server has refused, as wire.refused_field gives them */
    size_t request_bytes; /* of the request that is being answered; 0: unknown */
    uint64_t call_seed;   /* for the ids of calls that the server gave none */
};

enum wire_framing { WIRE_EVENTS /* server-sent events */, WIRE_LINES /* a JSON value per line */ };

struct wire {
    const char *name;
    const char *path;           /* after the base URL */
    const char *list_path;      /* of the models that the server has */
    const char *window_path;    /* where to ask for the window of one model; or NULL */
    const char *key_header;     /* "Authorization: Bearer " */
    const char *const *headers; /* whole lines, up to NULL */
    enum wire_framing framing;
    bool sets_window; /* a request says how large the context window is */

    /* Appends the body of the request. Returns str_code. */
    int (*write_request)(const struct wire_settings *settings, const struct model_request *request,
                         struct str *body);

    /*
     * The field that a 400 with this text objects to, as a bit for left_out; 0: none that could be left out.
     */
    unsigned (*refused_field)(const struct wire_settings *settings, struct ethos_view text);

    /* One event of the answer, an object. */
    void (*read_event)(struct reply *reply, const json_t *event);

    /* The answer as the server wants it back, JSON; nothing when text and calls are all there is. */
    void (*write_echo)(struct reply *reply, struct str *out);
};

/* NULL: there is no such wire. */
const struct wire *wire_find(const char *name);

extern const struct wire wire_openai_chat, wire_anthropic, wire_ollama;

/* ---- what requests have in common ---------------------------------------------------------------- */

/* Bytes of a request, and of all that is stored of an answer. */
#define WIRE_MAX_REQUEST (32u << 20)
#define WIRE_MAX_ANSWER (16u << 20)

/* Appends what stands before the message in an echo: {"wire":...,"host":...,"model":...,"message": */
void wire_begin_echo(struct str *out, const struct wire *wire,
                     const struct wire_settings *settings);

/* The answer of an assistant as it came, if this wire, host and model gave it; else absent. */
struct ethos_view wire_find_echo(const struct wire *wire, const struct wire_settings *settings,
                                 const struct model_message *message);

/* Appends the arguments of a call; {} when they are not a JSON object. */
void wire_add_arguments(struct str *out, struct ethos_view arguments);

/* Whether the text is a JSON object. */
bool wire_is_object(struct ethos_view text);

/* Whether a name is in a list that ends with NULL. */
bool wire_is_named(const char *name, const char *const *names);

/* Appends ,"name":value for each member of the object but those named, up to NULL. */
void wire_add_members(struct str *out, const json_t *object, const char *const *except);

/* Appends the tools as functions, ,"tools":[...]; nothing when there are none. */
void wire_add_functions(struct str *out, const struct model_request *request);

/* Appends the parts of the system prompt as one JSON string. */
void wire_add_system(struct str *out, const struct model_request *request);

/* Appends ,"messages":[...] with the system prompt as the first message. */
void wire_add_messages(struct str *out, const struct wire_settings *settings,
                       const struct model_request *request,
                       void (*write)(struct str *out, const struct wire_settings *settings,
                                     const struct model_message *message));

#endif
