/*
 * fixture.c: what the conformance package of the protocol asks of a server by name, in place of memory.
 *
 * Linked with the programs of src/ instead of the files that say what is offered (mcp/internal.h); everything
 * else is what is installed. Names and texts are the package's. What our layer does not speak has no tool
 * here either: requests to the client, subscriptions, tasks, headers of a tool's own.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/view.h"
#include "mcp/internal.h"

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

/* ---- pieces of content, as JSON -------------------------------------------------------------- */

#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MEDIA(kind, data, type)                                                                    \
    "{\"type\":\"" kind "\",\"data\":\"" data "\",\"mimeType\":\"" type "\"}"
#define IMAGE MEDIA("image", PNG, "image/png")
#define EMBEDDED(uri, type, text)                                                                  \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type                \
    "\",\"text\":\"" text "\"}}"

/* Text of ours is JSON; NULL when there is no memory. */
static json_t *parse(struct ethos_view text)
{
    json_t *json = NULL;
    json_parse(text, "fixture", &json, NULL);
    return json;
}

/* Parses head, text and tail; in the strings of text, $1 and $2 are the arguments of these names. */
static json_t *fill(const char *head, const char *text, const char *tail, const char *const *names,
                    const json_t *arguments)
{
    struct str out, quoted;
    str_init(&out, MCP_MAX_LINE);
    str_adds(&out, head);
    for (; *text; text++) {
        if (*text != '$') {
            str_addc(&out, *text);
            continue;
        }
        str_init(&quoted, MCP_MAX_LINE);
        json_quote(json_view(arguments, names[*++text - '1']), &quoted);
        if (str_code(&quoted) == ETHOS_OK)
            str_add(&out, view_of(quoted.data + 1, quoted.size - 2));
        str_release(&quoted);
    }
    str_adds(&out, tail);
    json_t *json = str_code(&out) == ETHOS_OK ? parse(str_view(&out)) : NULL;
    str_release(&out);
    return json;
}

/* The first of these that is not a string, or NULL. */
static const char *lacking(const char *const names[2], const json_t *arguments)
{
    for (size_t i = 0; i < 2 && names[i]; i++)
        if (!json_is_string(json_object_get(arguments, names[i])))
            return names[i];
    return NULL;
}

/* ---- what tools do before they answer; false: the request was refused ------------------------ */

typedef bool act_fn(struct mcp_request *request);

static bool log_thrice(struct mcp_request *request)
{
    mcp_log(request->session, ETHOS_LOG_INFO, "Tool execution started");
    mcp_log(request->session, ETHOS_LOG_INFO, "Tool processing data");
    mcp_log(request->session, ETHOS_LOG_INFO, "Tool execution completed");
    return true;
}

/* No operation that a model can call takes so long that the layer would know of this. */
static bool report_progress(struct mcp_request *request)
{
    json_t *token = json_object_get(json_object_get(request->params, "_meta"), "progressToken");
    for (int done = 0; token && done <= 100; done += 50) {
        json_t *line = json_pack("{s:s, s:s, s:{s:O, s:i, s:i}}", "jsonrpc", "2.0", "method",
                                 "notifications/progress", "params", "progressToken", token,
                                 "progress", done, "total", 100);
        json_print(line, JSON_STYLE_LINE, request->session->out);
        str_addc(request->session->out, '\n');
        json_decref(line);
    }
    return true;
}

/* One that would ask the client's model. */
static bool need_sampling(struct mcp_request *request)
{
    const json_t *meta = json_object_get(request->params, "_meta");
    const json_t *able = json_object_get(meta, "io.modelcontextprotocol/clientCapabilities");
    if (json_object_get(able, "sampling"))
        return true;
    request->data = json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling");
    return mcp_refuse(request, MCP_MISSING_CAPABILITY, "the client has no sampling");
}

/* ---- tools ----------------------------------------------------------------------------------- */

#define NO_ARGUMENTS "{\"type\":\"object\",\"additionalProperties\":false}"
#define SCHEMA_2020_12                                                                             \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","           \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"      \
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"                          \
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"   \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                      \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                            \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"             \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                            \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                       \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

static const struct fixture_tool {
    const char *name, *description, *schema;
    const char *content; /* items, between commas; $1 is the argument "name" */
    act_fn *act;         /* or NULL */
    bool fails;
} tools[] = {
    {"test_simple_text", "Text", NO_ARGUMENTS, TEXT("This is a simple text response for testing."),
     NULL, false},
    {"test_image_content", "An image", NO_ARGUMENTS, IMAGE, NULL, false},
    {"test_audio_content", "A sound", NO_ARGUMENTS, MEDIA("audio", WAV, "audio/wav"), NULL, false},
    {"test_embedded_resource", "A resource in the answer", NO_ARGUMENTS,
     EMBEDDED("test://embedded-resource", "text/plain", "This is an embedded resource content."),
     NULL, false},
    {"test_multiple_content_types", "Text, an image and a resource", NO_ARGUMENTS,
     TEXT("Multiple content types test:") "," IMAGE "," EMBEDDED(
         "test://mixed-content-resource", "application/json",
         "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}"),
     NULL, false},
    {"test_error_handling", "Always fails", NO_ARGUMENTS,
     TEXT("This tool intentionally returns an error for testing"), NULL, true},
    {"test_tool_with_logging", "Writes three lines of log", NO_ARGUMENTS, TEXT("Logged"),
     log_thrice, false},
    {"test_logging_tool", "The same, by another name", NO_ARGUMENTS, TEXT("Logged"), log_thrice,
     false},
    {"test_tool_with_progress", "Tells three times how far it is", NO_ARGUMENTS, TEXT("Done"),
     report_progress, false},
    {"test_streaming_elicitation", "Tells several things before the answer", NO_ARGUMENTS,
     TEXT("Nobody was asked"), report_progress, false},
    {"test_missing_capability", "For clients with a model of their own", NO_ARGUMENTS,
     TEXT("The client has one"), need_sampling, false},
    {"greet", "Greets somebody",
     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}", TEXT("Hello, $1!"),
     NULL, false},
    {"slow_compute", "Answers at once, since there are no tasks", "{\"type\":\"object\"}",
     TEXT("Computed"), NULL, false},
    {"json_schema_2020_12_tool", "Has a schema of many words", SCHEMA_2020_12, TEXT("Taken"), NULL,
     false},
};
#define TOOLS (sizeof tools / sizeof *tools)

int mcp_check(struct ethos_error *error)
{
    (void)error;
    return ETHOS_OK;
}

bool offer_here(const struct mcp_session *session, const char *name)
{
    (void)session, (void)name;
    return true;
}

json_t *offer_tools(struct mcp_request *request)
{
    (void)request;
    json_t *rows = json_array();
    for (size_t i = 0; i < TOOLS; i++)
        op_json_push(&rows, json_pack("{s:s, s:s, s:o}", "name", tools[i].name, "description",
                                      tools[i].description, "inputSchema",
                                      parse(view_str(tools[i].schema))));
    return rows;
}

json_t *offer_call(struct mcp_request *request, const char *name, const json_t *arguments)
{
    for (size_t i = 0; i < TOOLS; i++) {
        const struct fixture_tool *tool = &tools[i];
        if (strcmp(tool->name, name) != 0)
            continue;
        if (tool->act && !tool->act(request))
            return NULL;
        return fill("{\"content\":[", tool->content,
                    tool->fails ? "],\"isError\":true}" : "],\"isError\":false}",
                    (const char *const[]){"name"}, arguments);
    }
    return mcp_unknown(request, "tool", name);
}

/* ---- resources ------------------------------------------------------------------------------- */

#define TEMPLATE_HEAD "test://template/"
#define TEMPLATE_TAIL "/data"

static const struct resource {
    const char *uri, *name, *type, *member, *value;
} resources[] = {
    {"test://static-text", "static-text", "text/plain", "text",
     "This is the content of the static text resource."},
    {"test://static-binary", "static-binary", "image/png", "blob", PNG},
};
#define RESOURCES (sizeof resources / sizeof *resources)

json_t *offer_resources(struct mcp_request *request)
{
    (void)request;
    json_t *rows = json_array();
    for (size_t i = 0; i < RESOURCES; i++)
        op_json_push(&rows, json_pack("{s:s, s:s, s:s, s:s}", "uri", resources[i].uri, "name",
                                      resources[i].name, "description", "Never changes", "mimeType",
                                      resources[i].type));
    return rows;
}

json_t *offer_templates(struct mcp_request *request)
{
    (void)request;
    return json_pack("[{s:s, s:s, s:s, s:s}]", "uriTemplate", TEMPLATE_HEAD "{id}" TEMPLATE_TAIL,
                     "name", "template", "description", "Says which id it has", "mimeType",
                     "application/json");
}

static json_t *contents(const char *uri, const char *type, const char *member, const char *value)
{
    return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", type, member,
                     value);
}

/* What the template says of an id; NULL: the address is none of it. */
static json_t *read_template(const char *uri)
{
    char text[256];
    struct ethos_view id = view_str(uri);
    size_t head = strlen(TEMPLATE_HEAD), tail = strlen(TEMPLATE_TAIL);
    if (!view_starts(id, VIEW(TEMPLATE_HEAD)) || !view_ends(id, VIEW(TEMPLATE_TAIL)) ||
        id.size <= head + tail || strpbrk(uri, "\"\\") || id.size > 100)
        return NULL;
    int size = (int)(id.size - head - tail);
    snprintf(text, sizeof text,
             "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}", size,
             uri + head, size, uri + head);
    return contents(uri, "application/json", "text", text);
}

json_t *offer_read(struct mcp_request *request, const char *uri)
{
    for (size_t i = 0; i < RESOURCES; i++)
        if (strcmp(resources[i].uri, uri) == 0)
            return contents(uri, resources[i].type, resources[i].member, resources[i].value);
    json_t *made = read_template(uri);
    return made ? made : mcp_no_resource(request, uri);
}

/* ---- prompts --------------------------------------------------------------------------------- */

#define MESSAGE(content) "{\"role\":\"user\",\"content\":" content "}"

static const struct prompt {
    const char *name, *description;
    const char *arguments[2]; /* all required; NULL ends */
    const char *messages;     /* between commas; $1 and $2 are the arguments */
} prompts[] = {
    {"test_simple_prompt", "Text", {NULL}, MESSAGE(TEXT("This is a simple prompt for testing."))},
    {"test_prompt_with_arguments",
     "Text with what was given",
     {"arg1", "arg2"},
     MESSAGE(TEXT("Prompt with arguments: arg1='$1', arg2='$2'"))},
    {"test_prompt_with_embedded_resource",
     "A resource",
     {"resourceUri"},
     MESSAGE(EMBEDDED("$1", "text/plain", "Embedded resource content for testing.")) "," MESSAGE(
         TEXT("Please process the embedded resource above."))},
    {"test_prompt_with_image",
     "An image",
     {NULL},
     MESSAGE(IMAGE) "," MESSAGE(TEXT("Please analyze the image above."))},
};
#define PROMPTS (sizeof prompts / sizeof *prompts)

json_t *offer_prompts(struct mcp_request *request)
{
    (void)request;
    json_t *rows = json_array();
    for (size_t i = 0; i < PROMPTS; i++) {
        json_t *arguments = json_array();
        for (size_t at = 0; at < 2 && prompts[i].arguments[at]; at++)
            op_json_push(&arguments,
                         json_pack("{s:s, s:b}", "name", prompts[i].arguments[at], "required", 1));
        op_json_push(&rows, json_pack("{s:s, s:s, s:o}", "name", prompts[i].name, "description",
                                      prompts[i].description, "arguments", arguments));
    }
    return rows;
}

json_t *offer_prompt(struct mcp_request *request, const char *name, const json_t *arguments)
{
    for (size_t i = 0; i < PROMPTS; i++) {
        const struct prompt *prompt = &prompts[i];
        if (strcmp(prompt->name, name) != 0)
            continue;
        const char *lacks = lacking(prompt->arguments, arguments);
        if (lacks)
            return mcp_refuse(request, MCP_INVALID_PARAMS, "%s must be a string", lacks);
        return fill("{\"messages\":[", prompt->messages, "]}", prompt->arguments, arguments);
    }
    return mcp_unknown(request, "prompt", name);
}
