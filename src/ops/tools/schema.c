/*
 * schema.c: the JSON schemas of a tool's arguments and result. Every conversation pays for the arguments' schema, so it
 * leaves out what errors report anyway, such as unknown arguments and ranges of numbers.
 */
#include <string.h>

#include "base/json.h"
#include "ops/tools/internal.h"

static json_t *choices_json(const char *choices)
{
    json_t *words = json_array();
    while (*choices) {
        size_t size = strcspn(choices, "|");
        op_json_push(&words, json_stringn(choices, size));
        choices += size + (choices[size] == '|');
    }
    return words;
}

static json_t *arg_schema(const struct op_arg *row, const char *help)
{
    static const char *const types[] = {"string", "integer", "boolean", "string", "string"};
    json_t *schema = json_pack("{s:s}", "type", types[row->type]);
    if (*help)
        op_json_put(&schema, "description", json_string(help));
    if (row->type == OP_CHOICE)
        op_json_put(&schema, "enum", choices_json(row->choices));
    return schema;
}

static json_t *action_schema(const struct tool_access *access, const struct tool *tool)
{
    json_t *words = json_array();
    for (size_t i = 0; i < TOOL_MAX_WAYS; i++)
        if (tool_way_op(access, &tool->ways[i]))
            op_json_push(&words, json_string(tool->ways[i].action));
    return json_pack("{s:s, s:o}", "type", "string", "enum", words);
}

json_t *tool_input_schema(const struct tool_access *access, const struct tool *tool)
{
    bool chooses = tool->ways[0].action != NULL;
    json_t *properties = json_object(), *required = json_array();
    if (chooses) {
        op_json_put(&properties, "action", action_schema(access, tool));
        op_json_push(&required, json_string("action"));
    }
    for (const struct tool_arg *arg = tool->args; arg->name; arg++) {
        const struct op_arg *row = tool_find_arg_row(access, tool, arg);
        if (!row)
            continue;
        op_json_put(&properties, arg->name, arg_schema(row, arg->help ? arg->help : row->help));
        if ((row->flags & OP_REQUIRED) && !chooses)
            op_json_push(&required, json_string(arg->name));
    }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (!required || json_array_size(required) > 0)
        op_json_put(&schema, "required", required);
    else
        json_decref(required);
    return schema;
}

static json_t *fields_schema(const struct tool_field *fields);

static json_t *field_schema(const struct tool_field *field)
{
    static const char *const types[] = {"string", "", "integer", "boolean", "array"};
    if (field->kind == TOOL_OBJECT)
        return fields_schema(field->rows);
    json_t *schema = field->kind == TOOL_TEXT_OR_NULL
                         ? json_pack("{s:[s, s]}", "type", "string", "null")
                         : json_pack("{s:s}", "type", types[field->kind]);
    if (field->help)
        op_json_put(&schema, "description", json_string(field->help));
    if (field->kind == TOOL_ROWS)
        op_json_put(&schema, "items", fields_schema(field->rows));
    return schema;
}

static json_t *fields_schema(const struct tool_field *fields)
{
    json_t *properties = json_object();
    for (const struct tool_field *field = fields; field->name; field++)
        op_json_put(&properties, field->name, field_schema(field));
    return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

json_t *tool_output_schema(const struct tool *tool)
{
    return fields_schema(tool->fields);
}
