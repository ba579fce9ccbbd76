/*
 * prompts.c: prompts that a person picks: what is remembered, and whether it is still right.
 */
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "mcp/internal.h"

#define RECALL_HITS 10

typedef void prompt_fn(struct mcp_request *request, const char *argument, struct str *out);

static prompt_fn recall, review;

static const struct prompt {
    const char *name, *title, *description;
    const char *argument, *about; /* optional; or NULL */
    prompt_fn *write;
} prompts[] = {
    {"recall", "Recall", "Bring what is remembered into this conversation", "topic",
     "what it is about (default: everything that is in every prompt)", recall},
    {"review_memory", "Review memory", "Go through what is remembered and propose corrections",
     NULL, NULL, review},
};

/* Both read memory: without that right there is nothing to offer. */
static const struct prompt *find_prompt(const struct mcp_request *request, const char *name)
{
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
        if (mcp_op(request->session, "memory.prefetch") && strcmp(prompts[i].name, name) == 0)
            return &prompts[i];
    return NULL;
}

/* ---- their texts ----------------------------------------------------------------------------- */

/* The block that is in every prompt. */
static void append_memory_block(struct mcp_request *request, struct str *out)
{
    struct op_result result;
    struct ethos_error error = {0};
    int code = mcp_run(request, mcp_op(request->session, "memory.prefetch"), json_object(), &result,
                       &error);
    struct ethos_view text = json_view(result.json, "text");
    if (code != ETHOS_OK)
        str_printf(out, "(Memory could not be read: %s)", error.text);
    else if (text.size > 0)
        str_add(out, text);
    else
        str_adds(out, "(Nothing is remembered yet.)");
    op_result_release(&result);
}

/* "- workspace:x plan.md:12", or "- session 3f2a9c1d, user"; then the passage, its lines as one. */
static void append_recalled_hit(const json_t *hit, struct str *out)
{
    const char *role = json_string_value(json_object_get(hit, "role"));
    const char *key = json_string_value(json_object_get(hit, "key"));
    struct ethos_view text = json_view(hit, "text"), line;
    if (role)
        str_printf(out, "\n- session %.8s, %s:", key, role);
    else
        str_printf(out, "\n- %s %s:%" JSON_INTEGER_FORMAT ":",
                   json_string_value(json_object_get(hit, "scope")), key,
                   json_integer_value(json_object_get(hit, "line")));
    while (view_line(&text, &line))
        str_printf(out, " %.*s", VIEW_ARG(view_trim(line)));
}

static void add_hits(struct mcp_request *request, const char *topic, struct str *out)
{
    size_t index;
    json_t *hit;
    struct op_result result;
    const struct op *op = mcp_op(request->session, "memory.recall");
    if (!op)
        return;
    mcp_run(request, op, json_pack("{s:s, s:i}", "question", topic, "limit", RECALL_HITS), &result,
            NULL);
    const json_t *hits = json_object_get(result.json, "hits");
    if (json_array_size(hits) > 0)
        str_adds(out, "\n\n## Found for it\n");
    json_array_foreach (hits, index, hit)
        append_recalled_hit(hit, out);
    op_result_release(&result);
}

static void recall(struct mcp_request *request, const char *topic, struct str *out)
{
    str_printf(out,
               "Here is what you remember%s%s. Use it in this conversation, read more with "
               "memory_search and note_read where it is not enough, and say so when it contradicts "
               "what you see.\n\n",
               topic ? ", for: " : "", topic ? topic : "");
    append_memory_block(request, out);
    if (topic)
        add_hits(request, topic, out);
}

static void review(struct mcp_request *request, const char *argument, struct str *out)
{
    (void)argument;
    str_adds(out,
             "Go through your memory with me. Read it (memory_read for both stores, note_list, "
             "note_read for what looks doubtful), then list: what is wrong or no longer true, what "
             "is said twice, what contradicts itself, what is too vague to help, and what is "
             "missing. Propose each correction as old text and new text, and change nothing "
             "before I have agreed. This is in every prompt now:\n\n");
    append_memory_block(request, out);
}

/* ---- what there is of them --------------------------------------------------------------------- */

static json_t *prompt_json(const struct mcp_request *request, const struct prompt *prompt)
{
    json_t *arguments = json_array();
    if (prompt->argument)
        op_json_push(&arguments, json_pack("{s:s, s:s, s:b}", "name", prompt->argument,
                                           "description", prompt->about, "required", 0));
    json_t *json = json_pack("{s:s, s:s, s:o}", "name", prompt->name, "description",
                             prompt->description, "arguments", arguments);
    if (mcp_has(request, MCP_2025_06_18))
        op_json_put(&json, "title", json_string(prompt->title));
    return json;
}

json_t *offer_prompts(struct mcp_request *request)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
        if (find_prompt(request, prompts[i].name))
            op_json_push(&list, prompt_json(request, &prompts[i]));
    return list;
}

/* Names that the prompt has, and strings. */
static bool arguments_fit(const struct prompt *prompt, const json_t *arguments)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)arguments, name, value) {
        if (!prompt->argument || strcmp(name, prompt->argument) != 0 || !json_is_string(value))
            return false;
    }
    return true;
}

json_t *offer_prompt(struct mcp_request *request, const char *name, const json_t *arguments)
{
    const struct prompt *prompt = find_prompt(request, name);
    if (!prompt)
        return mcp_unknown(request, "prompt", name);
    if (!arguments_fit(prompt, arguments))
        return mcp_refuse(request, MCP_INVALID_PARAMS, "%s takes %s", name,
                          prompt->argument ? "one argument: topic, a string" : "no arguments");
    struct str text;
    const char *argument = prompt->argument ? mcp_word(json_object_get(arguments, prompt->argument))
                                            : NULL;
    str_init(&text, MCP_MAX_REPLY);
    prompt->write(request, argument && *argument ? argument : NULL, &text);
    json_t *json = NULL;
    if (str_code(&text) == ETHOS_OK)
        json = json_pack("{s:s, s:[{s:s, s:{s:s, s:o}}]}", "description", prompt->description,
                         "messages", "role", "user", "content", "type", "text", "text",
                         json_text(str_view(&text)));
    str_release(&text);
    return json;
}
