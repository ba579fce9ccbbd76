/*
 * tools.c: the tools of memory, as the table has them: what they look like, and calls.
 *
 * A tool that cannot do what it was asked answers with a result, not with an error of the protocol: the
 * model reads the result, and can do better.
 */
#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "mcp/parts.h"

/* ---- which tools there are ------------------------------------------------------------------- */

static const struct op *way_op(const struct mcp_session *session, const struct mcp_way *way)
{
    return way->op ? mcp_op(session, way->op) : NULL;
}

/* The operation that a tool has its arguments from. */
static const struct op *first_op(const struct mcp_session *session, const struct mcp_tool *tool)
{
    const struct op *op = NULL;
    for (size_t i = 0; !op && i < MCP_MAX_WAYS; i++)
        op = way_op(session, &tool->ways[i]);
    return op;
}

static bool is_offered(const struct mcp_session *session, const struct mcp_tool *tool)
{
    return first_op(session, tool) && mcp_offers(session, tool->about);
}

static const struct mcp_tool *find_tool(const struct mcp_session *session, const char *name)
{
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        if (strcmp(tool->name, name) == 0 && is_offered(session, tool))
            return tool;
    return NULL;
}

static const struct op_arg *find_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op ? op->args : NULL; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

/* The row of an argument, in the first operation that has it; NULL: this program has none that does. */
static const struct op_arg *arg_row(const struct mcp_session *session, const struct mcp_tool *tool,
                                    const struct mcp_arg *arg)
{
    for (size_t i = 0; i < MCP_MAX_WAYS; i++) {
        const struct op_arg *row = find_arg(way_op(session, &tool->ways[i]), arg->arg);
        if (row)
            return row;
    }
    return NULL;
}

static const struct mcp_arg *named_arg(const struct mcp_tool *tool, const char *name)
{
    for (const struct mcp_arg *arg = tool->args; arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

/* ---- whether the rows are right -------------------------------------------------------------- */

static bool is_known_arg(const struct mcp_tool *tool, const char *name)
{
    for (size_t i = 0; i < MCP_MAX_WAYS; i++)
        if (tool->ways[i].op && find_arg(op_find(tool->ways[i].op), name))
            return true;
    return false;
}

static int check_tool(const struct mcp_tool *tool, struct ethos_error *error)
{
    for (size_t i = 0; i < MCP_MAX_WAYS && tool->ways[i].op; i++) {
        const struct op *op = op_find(tool->ways[i].op);
        if (!op || (op->effect & OP_LOCAL))
            return err_set(error, ETHOS_INTERNAL, "tool %s: no operation %s is for others",
                           tool->name, tool->ways[i].op);
    }
    for (const struct mcp_arg *arg = tool->args; arg->name; arg++)
        if (!is_known_arg(tool, arg->arg))
            return err_set(error, ETHOS_INTERNAL, "tool %s: no operation of it takes %s",
                           tool->name, arg->arg);
    return ETHOS_OK;
}

int mcp_check(struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (const struct mcp_tool *tool = mcp_tools; code == ETHOS_OK && tool->name; tool++)
        code = check_tool(tool, error);
    return code;
}

/* ---- schemas --------------------------------------------------------------------------------- */

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
    if (row->type == OP_INTEGER && row->choices) {
        int64_t min, max;
        op_range(row, &min, &max);
        op_json_put(&schema, "minimum", json_integer(min));
        op_json_put(&schema, "maximum", json_integer(max));
    }
    return schema;
}

static json_t *action_schema(const struct mcp_session *session, const struct mcp_tool *tool)
{
    json_t *words = json_array();
    for (size_t i = 0; i < MCP_MAX_WAYS; i++)
        if (way_op(session, &tool->ways[i]))
            op_json_push(&words, json_string(tool->ways[i].action));
    return json_pack("{s:s, s:o}", "type", "string", "enum", words);
}

static json_t *input_schema(const struct mcp_session *session, const struct mcp_tool *tool)
{
    bool chooses = tool->ways[0].action != NULL;
    json_t *properties = json_object(), *required = json_array();
    if (chooses) {
        op_json_put(&properties, "action", action_schema(session, tool));
        op_json_push(&required, json_string("action"));
    }
    for (const struct mcp_arg *arg = tool->args; arg->name; arg++) {
        const struct op_arg *row = arg_row(session, tool, arg);
        if (!row)
            continue;
        op_json_put(&properties, arg->name, arg_schema(row, arg->help ? arg->help : row->help));
        if ((row->flags & OP_REQUIRED) && !chooses)
            op_json_push(&required, json_string(arg->name));
    }
    json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (!required || json_array_size(required) > 0)
        op_json_put(&schema, "required", required);
    else
        json_decref(required);
    return schema;
}

static json_t *fields_schema(const struct mcp_field *fields);

static json_t *field_schema(const struct mcp_field *field)
{
    static const char *const types[] = {"string", "", "integer", "boolean", "array"};
    if (field->kind == MCP_OBJECT)
        return fields_schema(field->rows);
    json_t *schema = field->kind == MCP_TEXT_OR_NULL
                         ? json_pack("{s:[s, s]}", "type", "string", "null")
                         : json_pack("{s:s}", "type", types[field->kind]);
    if (field->help)
        op_json_put(&schema, "description", json_string(field->help));
    if (field->kind == MCP_ROWS)
        op_json_put(&schema, "items", fields_schema(field->rows));
    return schema;
}

static json_t *fields_schema(const struct mcp_field *fields)
{
    json_t *properties = json_object();
    for (const struct mcp_field *field = fields; field->name; field++)
        op_json_put(&properties, field->name, field_schema(field));
    return json_pack("{s:s, s:o}", "type", "object", "properties", properties);
}

/* ---- how they look --------------------------------------------------------------------------- */

/* All four are said: what is left out counts as dangerous. */
static json_t *hints(const struct mcp_session *session, const struct mcp_tool *tool)
{
    unsigned any = named_arg(tool, "if_match") ? OP_DESTRUCTIVE : 0, all = ~0u; // it may replace
    for (size_t i = 0; i < MCP_MAX_WAYS; i++) {
        const struct op *op = way_op(session, &tool->ways[i]);
        any |= op ? op->effect : 0;
        all &= op ? op->effect : ~0u;
    }
    return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", tool->title, "readOnlyHint",
                     !(any & OP_WRITES), "destructiveHint", (any & OP_DESTRUCTIVE) != 0,
                     "idempotentHint", (all & OP_IDEMPOTENT) != 0, "openWorldHint", 0);
}

static json_t *tool_json(const struct mcp_request *request, const struct mcp_tool *tool)
{
    const struct mcp_session *session = request->session;
    json_t *json = json_pack("{s:s, s:s, s:o}", "name", tool->name, "description",
                             tool->description, "inputSchema", input_schema(session, tool));
    if (mcp_has(request, MCP_2025_03_26))
        op_json_put(&json, "annotations", hints(session, tool));
    if (mcp_has(request, MCP_2025_06_18)) {
        op_json_put(&json, "title", json_string(tool->title));
        op_json_put(&json, "outputSchema", fields_schema(tool->fields));
    }
    return json;
}

json_t *offer_tools(struct mcp_request *request)
{
    json_t *tools = json_array();
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
        if (is_offered(request->session, tool))
            op_json_push(&tools, tool_json(request, tool));
    return tools;
}

/* ---- the arguments of a call ----------------------------------------------------------------- */

struct call {
    struct mcp_request *request;
    const struct mcp_tool *tool;
    const json_t *given;
    const struct mcp_way *way;
    const struct op *op;
    struct op_result result;
    struct ethos_error error;
};

static int choose_way(struct call *call)
{
    const struct mcp_session *session = call->request->session;
    const char *action = mcp_word(json_object_get(call->given, "action"));
    char words[64] = "";
    for (size_t i = 0; i < MCP_MAX_WAYS; i++) {
        const struct mcp_way *way = &call->tool->ways[i];
        call->op = way_op(session, way);
        call->way = way;
        if (call->op && (!way->action || (action && strcmp(way->action, action) == 0)))
            return ETHOS_OK;
        size_t size = strlen(words);
        if (call->op)
            snprintf(words + size, sizeof words - size, "%s%s", size ? ", " : "", way->action);
    }
    return err_set(&call->error, ETHOS_INVALID, "action: must be one of %s", words);
}

static int refuse_argument(struct call *call, const char *problem, const char *name)
{
    char words[128] = "";
    for (const struct mcp_arg *arg = call->tool->args; arg->name; arg++) {
        size_t size = strlen(words);
        snprintf(words + size, sizeof words - size, "%s%s", size ? ", " : "", arg->name);
    }
    int code = err_set(&call->error, ETHOS_INVALID, "%s argument %.80s", problem, name);
    return err_hint(&call->error, code, "%s takes %s%s", call->tool->name,
                    call->way->action ? "action, " : "", words);
}

/* In the words of the operation. A null is what some models send for an argument they leave out. */
static int take_arguments(struct call *call, json_t **out)
{
    const char *name;
    json_t *value, *args = json_object();
    if (call->tool->about == MCP_TEAM)
        op_json_put(&args, "scope", json_string(call->request->session->mcp->team));
    json_object_foreach ((json_t *)call->given, name, value) {
        const struct mcp_arg *arg = named_arg(call->tool, name);
        if (json_is_null(value) || (call->way->action && strcmp(name, "action") == 0))
            continue;
        if (!arg || !arg_row(call->request->session, call->tool, arg)) {
            json_decref(args);
            return refuse_argument(call, "unknown", name);
        }
        op_json_put(&args, arg->arg, json_incref(value));
    }
    *out = args;
    return args ? ETHOS_OK : err_nomem(&call->error);
}

/* The operation would say the same in its own words, which a model does not know. */
static int check_required(struct call *call, const json_t *args)
{
    for (const struct mcp_arg *arg = call->tool->args; arg->name; arg++) {
        const struct op_arg *row = find_arg(call->op, arg->arg);
        if (row && (row->flags & OP_REQUIRED) && !json_object_get(args, arg->arg))
            return refuse_argument(call, "missing", arg->name);
    }
    return ETHOS_OK;
}

/* The arguments that name what is overwritten, for the operation that reads it; NULL: no memory. */
static json_t *read_arguments(const json_t *args)
{
    static const char *const names[] = {"store", "scope", "key", "name"};
    json_t *target = json_object();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(args, names[i]);
        if (value)
            op_json_put(&target, names[i], json_incref(value));
    }
    return target;
}

/* Whoever overwrites must have read: the error says what there is to be read. */
static int need_match(struct call *call, const json_t *args)
{
    bool note = strncmp(call->way->op, "notes.", 6) == 0;
    const struct op *get = mcp_op(call->request->session, note ? "notes.get" : "memory.get");
    const char *what = call->way->action ? call->way->action : call->tool->name, *revision = NULL;
    struct op_result now;
    json_t *target = get ? read_arguments(args) : NULL;
    if (!target)
        return err_set(&call->error, ETHOS_INVALID, "%s needs if_match", what);
    int code = mcp_run(call->request, get, target, &now, &call->error);
    if (code == ETHOS_OK) {
        revision = json_string_value(json_object_get(now.json, "revision"));
        code = err_set(&call->error, ETHOS_INVALID,
                       "%s needs if_match, the revision of the text you have read; it is now %s",
                       what, revision ? revision : "absent");
        err_hint(&call->error, code, "read it, decide again, and repeat with that revision");
    }
    op_result_release(&now);
    return code;
}

/* ---- what a tool gives ----------------------------------------------------------------------- */

static json_t *text_block(struct ethos_view text)
{
    return json_pack("[{s:s, s:o}]", "type", "text", "text", json_text(text));
}

/* A command to look for what is there is for people; a model is told the tool. */
static const char *hint_of(const struct call *call, int code)
{
    const char *hint = call->error.hint;
    bool command = code == ETHOS_NOTFOUND && strncmp(hint, "ethos ", 6) == 0;
    return command && call->tool->lost ? call->tool->lost : hint;
}

static json_t *tool_failure(const struct call *call, int code)
{
    struct str text;
    const char *hint = hint_of(call, code);
    str_init(&text, sizeof call->error);
    str_adds(&text, call->error.text);
    if (*hint)
        str_printf(&text, "; %s", hint);
    json_t *json = json_pack("{s:o, s:b}", "content", text_block(str_view(&text)), "isError", 1);
    str_release(&text);
    return json;
}

static void print_shown(const json_t *value, const struct mcp_field *fields, struct str *out);

static void print_rows(const json_t *rows, const struct mcp_field *fields, struct str *out)
{
    size_t index;
    json_t *row;
    str_addc(out, '[');
    json_array_foreach (rows, index, row) {
        str_adds(out, index > 0 ? ",{" : "{");
        print_shown(row, fields, out);
        str_addc(out, '}');
    }
    str_addc(out, ']');
}

static void print_name(const char *name, struct str *out)
{
    bool first = out->size == 0 || out->data[out->size - 1] == '{';
    size_t size = strlen(name);
    str_reserve(out, size + 4);
    str_adds(out, first ? "\"" : ",\"");
    str_add(out, view_of(name, size));
    str_adds(out, "\":");
}

/* The members that the schema names. */
static void print_shown(const json_t *value, const struct mcp_field *fields, struct str *out)
{
    for (const struct mcp_field *field = fields; field->name; field++) {
        json_t *member = json_object_get(value, field->name);
        if (!member)
            continue;
        print_name(field->name, out);
        if (field->kind == MCP_ROWS) {
            print_rows(member, field->rows, out);
        } else if (field->kind == MCP_OBJECT) {
            str_addc(out, '{');
            print_shown(member, field->rows, out);
            str_addc(out, '}');
        } else {
            json_print(member, JSON_STYLE_LINE, out);
        }
    }
}

/* The member of a name. Fields come nearly in this order, so the search goes on where the last one ended. */
static const struct op_member *find_member(const struct op_result *result, const char *name,
                                           size_t *at)
{
    for (size_t i = 0; i < result->member_count; i++) {
        const struct op_member *member = &result->members[(*at)++ % result->member_count];
        if (strcmp(member->name, name) == 0)
            return member;
    }
    return NULL;
}

/* The same of a result that is texts by name. */
static void print_members(const struct op_result *result, const struct mcp_field *fields,
                          struct str *out)
{
    size_t at = 0;
    for (const struct mcp_field *field = fields; field->name; field++) {
        const struct op_member *member = find_member(result, field->name, &at);
        if (!member)
            continue;
        print_name(field->name, out);
        if (member->absent)
            str_adds(out, "null");
        else
            json_print_text(op_member_view(result, member), out);
    }
}

static void print_structured(const struct call *call, struct str *out)
{
    str_addc(out, '{');
    print_members(&call->result, call->tool->fields, out);
    print_shown(call->result.json, call->tool->fields, out);
    if (call->result.withheld) {
        print_name("withheld", out);
        str_adds(out, "true");
    }
    if (call->result.code != ETHOS_OK) {
        print_name("problem", out);
        json_quote(view_str(call->result.error.text), out);
    }
    str_addc(out, '}');
}

/* Said twice, for those who read text and for those who read JSON; made once. */
static json_t *tool_result(const struct call *call)
{
    struct str *text = &call->request->text, *members = &call->request->members;
    print_structured(call, text);
    str_fail(members, str_code(text));
    str_adds(members, "\"content\":[{\"type\":\"text\",\"text\":");
    json_print_text(str_view(text), members); // JSON has no byte that is escaped by a number
    str_adds(members, "}]");
    if (mcp_has(call->request, MCP_2025_06_18)) {
        str_adds(members, ",\"structuredContent\":");
        str_add(members, str_view(text));
    }
    str_adds(members, ",\"isError\":false");
    if (str_code(members) == ETHOS_LIMIT)
        return mcp_refuse(call->request, MCP_INTERNAL, "the answer is too large");
    return str_code(members) != ETHOS_OK            ? NULL
           : mcp_has(call->request, MCP_2026_07_28) ? json_object()
                                                    : json_true(); // nobody adds to it
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What is called with what; found once for messages that are written alike, unless a word chooses. */
static int prepare(struct call *call, json_t **out)
{
    struct mcp_alike *alike = call->request->alike;
    int code = choose_way(call);
    if (code == ETHOS_OK)
        code = take_arguments(call, out);
    if (code == ETHOS_OK && (code = check_required(call, *out)) != ETHOS_OK)
        json_decref(*out);
    if (code == ETHOS_OK && alike && !call->way->action) {
        alike->tool = call->tool;
        alike->way = call->way;
        alike->op = call->op;
        alike->args = json_incref(*out);
    }
    return code;
}

static int run_tool(struct call *call)
{
    json_t *args = call->op ? json_incref(call->request->alike->args) : NULL;
    int code = args ? ETHOS_OK : prepare(call, &args);
    if (code != ETHOS_OK)
        return code;
    if (call->way->needs_match && !json_object_get(args, "ifMatch")) {
        code = need_match(call, args);
        json_decref(args);
        return code;
    }
    op_result_release(&call->result);
    code = mcp_run_as(call->request, call->op, args, true, &call->result, &call->error);
    if (code == ETHOS_OK && call->result.code != ETHOS_OK) {
        call->error = call->result.error;
        code = call->result.code;
    }
    return code;
}

/* A part that could not be read is told beside what could. */
static bool is_partial(const struct call *call, int code)
{
    return code != ETHOS_OK && call->result.code == code && !(call->op->effect & OP_WRITES) &&
           json_is_object(call->result.json);
}

bool offer_here(const struct mcp_session *session, const char *name)
{
    const struct mcp_tool *tool = find_tool(session, name);
    for (size_t i = 0; tool && i < MCP_MAX_WAYS; i++) {
        const struct op *op = way_op(session, &tool->ways[i]);
        if (op && !op_here(op))
            return false;
    }
    return true;
}

json_t *offer_call(struct mcp_request *request, const char *name, const json_t *arguments)
{
    struct call call = {.request = request, .given = arguments};
    if (request->alike && request->alike->tool) {
        call.tool = request->alike->tool;
        call.way = request->alike->way;
        call.op = request->alike->op;
    } else if (!(call.tool = find_tool(request->session, name))) {
        return mcp_unknown(request, "tool", name);
    }
    op_result_init(&call.result);
    int code = run_tool(&call);
    json_t *json = code == ETHOS_OK || is_partial(&call, code) ? tool_result(&call)
                                                               : tool_failure(&call, code);
    if (code == ETHOS_OK) {
        request->again = call.result.again;
        call.result.again = NULL;
    }
    op_result_release(&call.result);
    return json;
}
