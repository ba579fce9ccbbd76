/*
 * client.h: a client of the protocol layer, in the same process: says messages, looks at replies.
 *
 * Messages are written with ' for ". Every reply is checked as an envelope before a test sees it.
 */
#ifndef TESTS_MCP_CLIENT_H
#define TESTS_MCP_CLIENT_H

#include "../memory/world.h"

#include "base/str.h"
#include "mcp/mcp.h"

#define MODERN                                                                                     \
    "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"                             \
    "'io.modelcontextprotocol/clientCapabilities':{},"                                             \
    "'io.modelcontextprotocol/clientInfo':{'name':'modern-agent','version':'1'}}"

struct client {
    struct world *world;
    struct mcp mcp;
    struct mcp_session session;
    struct str out;
    json_t *replies; /* to the last message, in order */
    unsigned runs;   /* operations that were run */
    struct ethos_request request;
};

static inline int client_run(void *arg, const struct op *op, struct op_call *call,
                             struct op_result *result, struct ethos_error *error)
{
    struct client *client = arg;
    client->runs++;
    if (!client->world->ethos)
        world_open(client->world);
    call->ethos = client->world->ethos;
    call->request = &client->request;
    return op_run_as(op, client->mcp.rights, call, result, error);
}

static inline void client_open(struct client *client, struct world *world, unsigned rights)
{
    *client = (struct client){.world = world};
    client->mcp = (struct mcp){.rights = rights, .run = client_run, .run_arg = client};
    client->session = (struct mcp_session){.mcp = &client->mcp};
    str_init(&client->out, 2 * (size_t)MCP_MAX_REPLY);
}

static inline void client_close(struct client *client)
{
    json_decref(client->replies);
    str_release(&client->out);
}

/* A message is an object of the version 2.0, with one of method, result, error. */
static inline void check_envelope(const json_t *reply)
{
    assert_true(json_is_object(reply));
    assert_string_equal(json_string_value(json_object_get(reply, "jsonrpc")), "2.0");
    int kinds = (json_object_get(reply, "method") != NULL) +
                (json_object_get(reply, "result") != NULL) +
                (json_object_get(reply, "error") != NULL);
    assert_int_equal(kinds, 1);
    const json_t *id = json_object_get(reply, "id");
    assert_true(!id || json_is_string(id) || json_is_integer(id));
}

/* Each line of what was sent is one message, or an array of them. */
static inline json_t *read_replies(struct ethos_view text)
{
    json_t *replies = json_array(), *item;
    struct ethos_view line;
    assert_true(text.size == 0 || text.data[text.size - 1] == '\n');
    while (view_line(&text, &line)) {
        size_t index;
        json_t *reply = json_loadb(line.data, line.size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(reply);
        if (!json_is_array(reply))
            check_envelope(reply);
        json_array_foreach (reply, index, item)
            check_envelope(item);
        json_array_append_new(replies, reply);
    }
    return replies;
}

static inline void client_send(struct client *client, struct ethos_view message)
{
    str_clear(&client->out);
    mcp_message(&client->session, message, &client->out);
    assert_int_equal(str_code(&client->out), ETHOS_OK);
    json_decref(client->replies);
    client->replies = read_replies(str_view(&client->out));
}

static inline char *quoted(const char *message)
{
    char *text = strdup(message);
    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return text;
}

/* Says a message; the last reply, or NULL. Borrowed until the next one. */
static inline const json_t *say(struct client *client, const char *message)
{
    char *text = quoted(message);
    client_send(client, view_str(text));
    free(text);
    size_t count = json_array_size(client->replies);
    return count ? json_array_get(client->replies, count - 1) : NULL;
}

/* "result.tools.0.name" */
static inline const json_t *at(const json_t *value, const char *path)
{
    char name[96];
    while (value && *path) {
        size_t size = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)size, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
        path += size + (path[size] == '.');
    }
    return value;
}

static inline const char *text_at(const json_t *value, const char *path)
{
    const char *text = json_string_value(at(value, path));
    if (!text)
        fail_msg("%s: no string", path);
    return text;
}

static inline void assert_failure(const json_t *reply, int code)
{
    assert_non_null(reply);
    if (json_integer_value(at(reply, "error.code")) != code) {
        char *text = json_dumps(reply, 0);
        fail_msg("expected the error %d: %s", code, text);
    }
    assert_true(*text_at(reply, "error.message"));
}

static inline void initialize(struct client *client, const char *version)
{
    char message[256];
    snprintf(message, sizeof message,
             "{'jsonrpc':'2.0','id':'i','method':'initialize','params':{'protocolVersion':'%s',"
             "'capabilities':{},'clientInfo':{'name':'legacy-agent','version':'1'}}}",
             version);
    assert_non_null(at(say(client, message), "result.protocolVersion"));
    assert_null(say(client, "{'jsonrpc':'2.0','method':'notifications/initialized'}"));
}

/* A request with the id 7. */
static inline const json_t *ask(struct client *client, const char *method, const char *params)
{
    char message[4096];
    snprintf(message, sizeof message, "{'jsonrpc':'2.0','id':7,'method':'%s','params':%s}", method,
             params);
    const json_t *reply = say(client, message);
    assert_non_null(reply);
    assert_int_equal(json_integer_value(at(reply, "id")), 7);
    return reply;
}

/* The result of a tool. */
static inline const json_t *call(struct client *client, const char *tool, const char *arguments)
{
    char params[3072];
    snprintf(params, sizeof params, "{'name':'%s','arguments':%s}", tool, arguments);
    return at(ask(client, "tools/call", params), "result");
}

#define CLIENT_TEST(function) WORLD_TEST(function)

#endif
