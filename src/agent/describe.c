/*
 * describe.c: what a prompt is made of.
 */
#include "agent/describe.h"

#include "ops/op.h"

static json_t *part_rows(const struct prompt *prompt)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < PROMPT_PARTS; i++)
        if (prompt->parts[i].size > 0)
            op_json_push(&rows, json_pack("{s:s, s:I}", "name", prompt_part_name(i), "bytes",
                                          (json_int_t)prompt->parts[i].size));
    return rows;
}

static json_t *tool_rows(const struct toolbox *toolbox, size_t *out_bytes)
{
    json_t *rows = json_array();
    *out_bytes = 0;
    for (size_t i = 0; i < toolbox->count; i++) {
        const struct model_tool *tool = &toolbox->tools[i];
        *out_bytes += tool->name.size + tool->description.size + tool->schema.size;
        op_json_push(&rows, json_pack("{s:o, s:o}", "name", json_text(tool->name), "description",
                                      json_text(tool->description)));
    }
    return rows;
}

static json_t *omitted_rows(const struct ethos_block *block)
{
    json_t *rows = json_array();
    for (size_t i = 0; block && i < block->omitted_count; i++)
        op_json_push(&rows,
                     json_pack("{s:s, s:s, s:I, s:s}", "scope", block->omitted[i].scope, "key",
                               block->omitted[i].key, "chars", (json_int_t)block->omitted[i].chars,
                               "reason", block->omitted[i].reason));
    return rows;
}

json_t *describe_prompt(const struct prompt *prompt, const struct toolbox *toolbox,
                        const struct conversation *conversation, size_t first, int64_t window)
{
    size_t tool_bytes, message_bytes = 0;
    json_t *tools = tool_rows(toolbox, &tool_bytes);
    for (size_t i = first; i < conversation->count; i++)
        message_bytes += conversation->messages[i].text.size;
    return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "parts", part_rows(prompt),
                     "tools", tools, "toolBytes", (json_int_t)tool_bytes, "window",
                     (json_int_t)window, "messages", (json_int_t)(conversation->count - first),
                     "left", (json_int_t)first, "messageBytes", (json_int_t)message_bytes,
                     "omitted", omitted_rows(prompt->block));
}
