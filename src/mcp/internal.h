/*
 * internal.h: what the files of this surface share.
 */
#ifndef ETHOS_MCP_INTERNAL_H
#define ETHOS_MCP_INTERNAL_H

#include <string.h>

#include "base/str.h"
#include "mcp/mcp.h"
#include "ops/tools/tools.h"

/* The codes of JSON-RPC and of the protocol. */
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

/* One request while it is answered. */
struct mcp_request {
    struct mcp_session *session;
    enum mcp_version version;
    const char *method;
    const json_t *params;         /* an object, or NULL */
    struct mcp_known_form *alike; /* or NULL */
    char client[MCP_CLIENT_SIZE];
    struct str members;         /* of the result, as text already: "a":1,"b":2 */
    struct str text;            /* to make them from */
    bool hurried;               /* its operations do not wait for a backend that is not there */
    struct op_validator *again; /* of what the result was made from and nothing else, or NULL */
    /* why it cannot be answered: */
    int code;
    char why[512];
    json_t *data; /* or NULL */
};

/* Sets why the request cannot be answered, and returns NULL. Without it, NULL is "out of memory". */
json_t *mcp_refuse(struct mcp_request *request, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A level of the protocol, from 1 (debug) on; 0: none of them. */
int mcp_log_level(const json_t *name);

/* A parameter; one that is null was left out. */
static inline const json_t *mcp_param(const struct mcp_request *request, const char *name)
{
    const json_t *value = json_object_get(request->params, name);
    return json_is_null(value) ? NULL : value;
}

/* A name as a client gave it. One with a NUL in it, which would be read as another, is "". */
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

/* The text of a version; the newest first has index 0, NULL ends. */
const char *mcp_version_name(enum mcp_version version);
enum mcp_version mcp_version_find(const char *name); /* MCP_NONE: unknown */

/* Whether a method runs no operation and changes nothing of the session. */
bool mcp_is_immediate(const char *method);

/* The result of a request, owned; NULL: see struct mcp_request. */
json_t *mcp_answer(struct mcp_request *request);

/* ---- answer_cache.c ---------------------------------------------------------------------------------- */

/* Answers a message as before. False: it has to be handled; nothing was sent. */
bool mcp_answer_cache_reply(struct mcp_session *session, struct ethos_view text, struct str *out);

/* Keeps the answer to the message at hand, a line without its end. Takes again if it does. */
void mcp_answer_cache_store(struct mcp_session *session, struct ethos_view text,
                            struct op_validator **again);

/* A line, cut at its id. */
struct mcp_cut {
    struct ethos_view before, id, after;
};

/* Cuts a line, if it is one of those that have their id where it is found without parsing. */
bool mcp_cut(struct ethos_view line, struct mcp_cut *out);

/*
 * The size of the value that text begins with, if it is a whole number or a string that is written as it
 * would be printed; else 0. And its value, or NULL: no memory.
 */
size_t mcp_plain_size(struct ethos_view text);
json_t *mcp_plain_json(struct ethos_view text);

/* ---- parse_cache.c ---------------------------------------------------------------------------------- */

/* A message that is written like an earlier one, and what was found out about that one. */
struct mcp_known_form {
    json_t *message;
    const char *method; /* of the message, as are params */
    const json_t *params;
    /* What it calls, once that is known; args share the message's values. */
    const struct tool *tool; /* or NULL */
    const struct tool_way *way;
    const struct op *op;
    json_t *args;
};

/* The message of a line that is written like an earlier one, until the next is filled; else NULL. */
struct mcp_known_form *mcp_forms_fill(struct mcp_forms *self, struct ethos_view line);

/* Learns from a line that was parsed to this message, a request that can be handled here. */
void mcp_forms_learn(struct mcp_forms *self, struct ethos_view line, json_t *message);

struct mcp_forms *mcp_forms_new(void); /* NULL: no memory */
void mcp_forms_free(struct mcp_forms *self);

/* ---- operations ------------------------------------------------------------------------------ */

/* The row, if this connection may run it; else NULL. */
const struct op *mcp_op(const struct mcp_session *session, const char *name);

bool mcp_offers(const struct mcp_session *session, enum tool_about about);

/* Runs it and takes the arguments. The answer is guarded JSON; op_result_release it always. */
int mcp_run(struct mcp_request *request, const struct op *op, json_t *args,
            struct op_result *result, struct ethos_error *error);

/* The same; where the operation can, the result has members and no JSON, if these are wanted. */
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

/* Whether this program can run all of a tools/call. */
bool tools_here(const struct mcp_session *session, const json_t *params);

/* The same of a prompts/get: what was said about a topic is searched, too. */
bool prompts_here(const struct mcp_session *session, const json_t *params);

/* Refuses what is not offered, in the words of the era; NULL. */
json_t *mcp_unknown(struct mcp_request *request, const char *what, const char *name);
json_t *mcp_no_resource(struct mcp_request *request, const char *uri);

/* ---- what is offered: tools.c, resources.c, prompts.c ---------------------------------------- */

/*
 * These functions are all that the layer knows of it. A program that is linked with others in their place
 * serves other things by the same protocol: tests/mcp/fixture.c does.
 */

/* What this request may see, in a fixed order: arrays. */
json_t *offer_tools(struct mcp_request *request);
json_t *offer_resources(struct mcp_request *request);
json_t *offer_templates(struct mcp_request *request);
json_t *offer_prompts(struct mcp_request *request);

/* The result of one; NULL after a refusal. arguments is an object, or NULL. */
json_t *offer_call(struct mcp_request *request, const char *name, const json_t *arguments);
json_t *offer_read(struct mcp_request *request, const char *uri);
json_t *offer_prompt(struct mcp_request *request, const char *name, const json_t *arguments);

/* Whether this program has what the tool needs; so it is with what is not offered. */
bool offer_here(const struct mcp_session *session, const char *name);

#endif
