/*
 * internal.h: shared by the files of this surface.
 */
#ifndef ETHOS_MCP_INTERNAL_H
#define ETHOS_MCP_INTERNAL_H

#include <string.h>

#include "base/str.h"
#include "mcp/mcp.h"
#include "ops/tools/tools.h"

/* Error codes of JSON-RPC and of the protocol. */
enum {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,     /* legacy only */
    MCP_HEADER_MISMATCH = -32020, /* over HTTP */
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

struct mcp_known_form;

/* A request while it is handled. */
struct mcp_request {
    struct mcp_session *session;
    enum mcp_version version;
    const char *method;
    const json_t *params;         /* an object, or NULL */
    struct mcp_known_form *alike; /* or NULL */
    char client[MCP_CLIENT_SIZE];
    struct str members;         /* members of the result, already as text: "a":1,"b":2 */
    struct str text;            /* scratch space for them */
    bool hurried;               /* its operations do not wait for an unreachable backend */
    struct op_validator *again; /* of everything the result was made from, or NULL */
    /* why it cannot be answered: */
    int code;
    char why[512];
    json_t *data; /* or NULL */
};

/*
 * Sets the error of the request and returns NULL. Without a call of it, NULL means "out of memory".
 */
json_t *mcp_refuse(struct mcp_request *request, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A log level of the protocol, from 1 (debug) on; 0: unknown. */
int mcp_log_level(const json_t *name);

/* A parameter; null counts as absent. */
static inline const json_t *mcp_param(const struct mcp_request *request, const char *name)
{
    const json_t *value = json_object_get(request->params, name);
    return json_is_null(value) ? NULL : value;
}

/* A name given by a client. One that contains NUL, which would be read as another name, is "". */
static inline const char *mcp_word(const json_t *value)
{
    const char *word = json_string_value(value);
    return word && strlen(word) != json_string_length(value) ? "" : word;
}

static inline bool mcp_has(const struct mcp_request *request, enum mcp_version since)
{
    return request->version >= since;
}

/* ---- methods.c ------------------------------------------------------------------------------- */

/* The text of a version; index 0 is the newest, NULL ends the list. */
const char *mcp_version_name(enum mcp_version version);
enum mcp_version mcp_version_find(const char *name); /* MCP_NONE: unknown */

/* Whether a method runs no operation and changes nothing of the session. */
bool mcp_is_immediate(const char *method);

/* The result of a request, owned; NULL: see struct mcp_request. */
json_t *mcp_answer(struct mcp_request *request);

/* ---- answer_cache.c ---------------------------------------------------------------------------------- */

/* Repeats the answer to an equal earlier message. False: it must be handled; nothing was sent. */
bool mcp_answer_cache_reply(struct mcp_session *session, struct ethos_view text, struct str *out);

/*
 * Caches the answer to the current message, a line without its end; then takes ownership of
 * `again`.
 */
void mcp_answer_cache_store(struct mcp_session *session, struct ethos_view text,
                            struct op_validator **again);

/* A line, split at its id. */
struct mcp_cut {
    struct ethos_view before, id, after;
};

/* Splits a line if its id can be found without parsing. */
bool mcp_cut(struct ethos_view line, struct mcp_cut *out);

/*
 * The size of the value at the beginning of text, if it is a whole number or a string in the form
 * in which it would be printed; otherwise 0. And its value, or NULL: out of memory.
 */
size_t mcp_plain_size(struct ethos_view text);
json_t *mcp_plain_json(struct ethos_view text);

/* ---- parse_cache.c ---------------------------------------------------------------------------------- */

/* A message with the same form as an earlier one, and what is known about that one. */
struct mcp_known_form {
    json_t *message;
    const char *method; /* points into the message, like params */
    const json_t *params;
    /* What it calls, once known; args share the message's values. */
    const struct tool *tool; /* or NULL */
    const struct tool_way *way;
    const struct op *op;
    json_t *args;
};

/*
 * The message of a line that has the same form as an earlier one, valid until the next call;
 * otherwise NULL.
 */
struct mcp_known_form *mcp_forms_fill(struct mcp_forms *self, struct ethos_view line);

/*
 * Remembers the form of a line that was parsed to this message, a request that can be handled here.
 */
void mcp_forms_learn(struct mcp_forms *self, struct ethos_view line, json_t *message);

struct mcp_forms *mcp_forms_new(void); /* NULL: out of memory */
void mcp_forms_free(struct mcp_forms *self);

/* ---- operations ------------------------------------------------------------------------------ */

/* The row, if this connection may run it; otherwise NULL. */
const struct op *mcp_op(const struct mcp_session *session, const char *name);

bool mcp_offers(const struct mcp_session *session, enum tool_about about);

/*
 * Runs it and takes ownership of the arguments. The answer is guarded JSON; always call
 * op_result_release.
 */
int mcp_run(struct mcp_request *request, const struct op *op, json_t *args,
            struct op_result *result, struct ethos_error *error);

/*
 * The same; if the operation supports it and the caller wants it, the result has members and no
 * JSON.
 */
int mcp_run_as(struct mcp_request *request, const struct op *op, json_t *args, bool members,
               struct op_result *result, struct ethos_error *error);

/* ---- capabilities.c: methods of tools, resources and prompts, whatever there is of them --------------- */

json_t *tools_list(struct mcp_request *request);
json_t *tools_call(struct mcp_request *request);
json_t *resources_list(struct mcp_request *request);
json_t *resources_templates(struct mcp_request *request);
json_t *resources_read(struct mcp_request *request);
json_t *prompts_list(struct mcp_request *request);
json_t *prompts_get(struct mcp_request *request);

/* Whether this program can run a tools/call completely. */
bool tools_here(const struct mcp_session *session, const json_t *params);

/* The same for a prompts/get, which also searches conversations about a topic. */
bool prompts_here(const struct mcp_session *session, const json_t *params);

/* Refuses an unknown name, in the form of the protocol version; NULL. */
json_t *mcp_unknown(struct mcp_request *request, const char *what, const char *name);
json_t *mcp_no_resource(struct mcp_request *request, const char *uri);

/* ---- what is offered: tools.c, resources.c, prompts.c ---------------------------------------- */

/*
 * The only functions through which the layer knows what is served. A program linked with other
 * implementations serves other things over the same protocol, as tests/mcp/fixture.c does.
 */

/* What this request may see, in a fixed order: arrays. */
json_t *offer_tools(struct mcp_request *request);
json_t *offer_resources(struct mcp_request *request);
json_t *offer_templates(struct mcp_request *request);
json_t *offer_prompts(struct mcp_request *request);

/* The result of a tool; NULL after an error. arguments is an object, or NULL. */
json_t *offer_call(struct mcp_request *request, const char *name, const json_t *arguments);
json_t *offer_read(struct mcp_request *request, const char *uri);
json_t *offer_prompt(struct mcp_request *request, const char *name, const json_t *arguments);

/* Whether this program has what the tool needs; true for unknown tools. */
bool offer_here(const struct mcp_session *session, const char *name);

#endif
