/*
 * wire.c: the table of wires, and what their requests and answers have in common.
 */
#include "agent/models/wire.h"

#include "base/json.h"
#include "base/view.h"

static const struct wire *const wires[] = {&wire_openai_chat, &wire_anthropic, &wire_ollama};

const struct wire *wire_find(const char *name)
{
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++)
        if (strcmp(wires[i]->name, name) == 0)
            return wires[i];
    return NULL;
}

/* ---- echo ---------------------------------------------------------------------------------------- */

void wire_begin_echo(struct str *out, const struct wire *wire, const struct wire_settings *settings)
{
    str_adds(out, "{\"wire\":");
    json_quote(view_str(wire->name), out);
    str_adds(out, ",\"host\":");
    json_quote(view_str(settings->host), out);
    str_adds(out, ",\"model\":");
    json_quote(view_str(settings->model), out);
    str_adds(out, ",\"message\":");
}

struct echo {
    const struct wire *wire;
    const struct wire_settings *settings;
    unsigned equal; /* members of the tag that are those of the request */
    struct ethos_view message;
};

static int read_member(void *arg, const struct json_member *member)
{
    struct echo *echo = arg;
    if (view_eq_str(member->name, "message"))
        echo->message = member->raw;
    else if (view_eq_str(member->name, "wire"))
        echo->equal += view_eq_str(member->text, echo->wire->name);
    else if (view_eq_str(member->name, "host"))
        echo->equal += view_eq_str(member->text, echo->settings->host);
    else if (view_eq_str(member->name, "model"))
        echo->equal += view_eq_str(member->text, echo->settings->model);
    return 0;
}

/* Compares parsed members, since a session store may format the same JSON differently. */
struct ethos_view wire_find_echo(const struct wire *wire, const struct wire_settings *settings,
                                 const struct model_message *message)
{
    struct echo echo = {.wire = wire, .settings = settings};
    if (message->role != MODEL_ASSISTANT || message->raw.size == 0 ||
        json_members(message->raw, "raw", read_member, &echo, NULL) != ETHOS_OK || echo.equal != 3)
        return view_str(NULL);
    return echo.message;
}

/* ---- requests ------------------------------------------------------------------------------------ */

bool wire_is_object(struct ethos_view text)
{
    json_t *value = NULL;
    bool is_object = json_parse_most(text, WIRE_MAX_ANSWER, "arguments", &value, NULL) ==
                         ETHOS_OK &&
                     json_is_object(value);
    json_decref(value);
    return is_object;
}

void wire_add_arguments(struct str *out, struct ethos_view arguments)
{
    str_add(out, wire_is_object(arguments) ? arguments : VIEW("{}"));
}

bool wire_is_named(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

void wire_add_members(struct str *out, const json_t *object, const char *const *except)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        if (wire_is_named(name, except))
            continue;
        str_adds(out, ",");
        json_quote(view_str(name), out);
        str_adds(out, ":");
        json_print(value, JSON_STYLE_LINE, out);
    }
}

void wire_add_functions(struct str *out, const struct model_request *request)
{
    for (size_t i = 0; i < request->tool_count; i++) {
        const struct model_tool *tool = &request->tools[i];
        str_adds(out, i == 0 ? ",\"tools\":[" : ",");
        str_adds(out, "{\"type\":\"function\",\"function\":{\"name\":");
        json_quote(tool->name, out);
        str_adds(out, ",\"description\":");
        json_quote(tool->description, out);
        str_adds(out, ",\"parameters\":");
        str_add(out, tool->schema);
        str_adds(out, "}}");
    }
    if (request->tool_count > 0)
        str_adds(out, "]");
}

void wire_add_system(struct str *out, const struct model_request *request)
{
    struct str text;
    str_init(&text, WIRE_MAX_REQUEST);
    for (size_t i = 0; i < request->system_count; i++) {
        if (text.size > 0)
            str_adds(&text, "\n\n");
        str_add(&text, request->system[i]);
    }
    if (str_code(&text) != ETHOS_OK)
        str_fail(out, str_code(&text));
    json_quote(str_view(&text), out);
    str_release(&text);
}

void wire_add_messages(struct str *out, const struct wire_settings *settings,
                       const struct model_request *request,
                       void (*write)(struct str *out, const struct wire_settings *settings,
                                     const struct model_message *message))
{
    str_adds(out, ",\"messages\":[");
    if (request->system_count > 0) {
        str_adds(out, "{\"role\":\"system\",\"content\":");
        wire_add_system(out, request);
        str_adds(out, "}");
    }
    for (size_t i = 0; i < request->message_count; i++) {
        str_adds(out, i > 0 || request->system_count > 0 ? "," : "");
        write(out, settings, &request->messages[i]);
    }
    str_adds(out, "]");
}
