/*
 * call.c: runs a tool call: maps the model's arguments to an operation, and prints its result as text.
 *
 * Errors are worded for the model, so that it can correct the call.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "ops/tools/internal.h"

/* A string argument; "" if it contains NUL, because it would be read as another string. */
static const char *argument_word(const json_t *value)
{
    const char *word = json_string_value(value);
    return word && strlen(word) != json_string_length(value) ? "" : word;
}

/* ---- the arguments of a call ----------------------------------------------------------------- */

static int choose_way(struct tool_call *call, const json_t *given)
{
    const struct tool_access *access = call->access;
    const char *action = argument_word(json_object_get(given, "action"));
    char words[64] = "";
    for (size_t i = 0; i < TOOL_MAX_WAYS; i++) {
        const struct tool_way *way = &call->tool->ways[i];
        call->op = tool_way_op(access, way);
        call->way = way;
        if (call->op && (!way->action || (action && strcmp(way->action, action) == 0)))
            return ETHOS_OK;
        size_t size = strlen(words);
        if (call->op)
            snprintf(words + size, sizeof words - size, "%s%s", size ? ", " : "", way->action);
    }
    return err_set(&call->error, ETHOS_INVALID, "action: must be one of %s", words);
}

static int refuse_argument(struct tool_call *call, const char *problem, const char *name)
{
    char words[128] = "";
    for (const struct tool_arg *arg = call->tool->args; arg->name; arg++) {
        size_t size = strlen(words);
        snprintf(words + size, sizeof words - size, "%s%s", size ? ", " : "", arg->name);
    }
    int code = err_set(&call->error, ETHOS_INVALID, "%s argument %.80s", problem, name);
    return err_hint(&call->error, code, "%s takes %s%s", call->tool->name,
                    call->way->action ? "action, " : "", words);
}

/* Maps arguments to those of the operation. Some models send null for arguments that they leave out. */
static int map_arguments(struct tool_call *call, const json_t *given, json_t **out)
{
    const char *name;
    json_t *value, *args = json_object();
    if (call->tool->about == TOOL_ABOUT_TEAM)
        op_json_put(&args, "scope", json_string(call->access->team));
    json_object_foreach ((json_t *)given, name, value) {
        const struct tool_arg *arg = tool_find_arg(call->tool, name);
        if (json_is_null(value) || (call->way->action && strcmp(name, "action") == 0))
            continue;
        if (!arg || !tool_find_arg_row(call->access, call->tool, arg)) {
            json_decref(args);
            return refuse_argument(call, "unknown", name);
        }
        op_json_put(&args, arg->arg, json_incref(value));
    }
    *out = args;
    return args ? ETHOS_OK : err_nomem(&call->error);
}

/* Checks required arguments here, because the operation would report them under names that the model does not know. */
static int check_required(struct tool_call *call, const json_t *args)
{
    for (const struct tool_arg *arg = call->tool->args; arg->name; arg++) {
        const struct op_arg *row = tool_find_op_arg(call->op, arg->arg);
        if (row && (row->flags & OP_REQUIRED) && !json_object_get(args, arg->arg))
            return refuse_argument(call, "missing", arg->name);
    }
    return ETHOS_OK;
}

/* The arguments that name the target, for the operation that reads it; NULL when out of memory. */
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

/* A model must read a text before it overwrites it: the error has the revision, and the text below it (tool_print_error). */
static int refuse_without_match(struct tool_call *call, const json_t *args)
{
    bool note = strncmp(call->way->op, "notes.", 6) == 0;
    const struct op *get = tool_find_op(call->access, note ? "notes.get" : "memory.get");
    const char *what = call->way->action ? call->way->action : call->tool->name, *revision = NULL;
    json_t *target = get ? read_arguments(args) : NULL;
    if (!target)
        return err_set(&call->error, ETHOS_INVALID, "%s needs if_match", what);
    op_result_release(&call->result);
    int code = call->access->run(call->access->run_arg, get, target, false, &call->result,
                                 &call->error);
    if (code == ETHOS_OK) {
        revision = json_string_value(json_object_get(call->result.json, "revision"));
        call->needs_match = true;
        code = err_set(&call->error, ETHOS_INVALID,
                       "%s needs if_match, the revision of the text you have read; it is now %s",
                       what, revision ? revision : "absent");
        err_hint(&call->error, code, "%s, decide again, and repeat with that revision",
                 revision ? "read it below" : "read it");
    }
    return code;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* The hint of the error. Hints with a command are for people; a model is told the tool instead. */
static const char *choose_hint(const struct tool_call *call, int code)
{
    const char *hint = call->error.hint;
    bool command = code == ETHOS_NOTFOUND && strncmp(hint, "ethos ", 6) == 0;
    return command && call->tool->not_found_hint ? call->tool->not_found_hint : hint;
}

void tool_print_error(const struct tool_call *call, int code, struct str *out)
{
    const char *hint = choose_hint(call, code);
    str_adds(out, call->error.text);
    if (*hint)
        str_printf(out, "; %s", hint);
    if (call->needs_match && json_view(call->result.json, "content").size > 0) {
        str_adds(out, "\n\n");
        str_add(out, json_view(call->result.json, "content"));
    }
}

static void print_fields(const json_t *value, const struct tool_field *fields, struct str *out);

static void print_rows(const json_t *rows, const struct tool_field *fields, struct str *out)
{
    size_t index;
    json_t *row;
    str_addc(out, '[');
    json_array_foreach (rows, index, row) {
        str_adds(out, index > 0 ? ",{" : "{");
        print_fields(row, fields, out);
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

/* Prints the members that the schema names. */
static void print_fields(const json_t *value, const struct tool_field *fields, struct str *out)
{
    for (const struct tool_field *field = fields; field->name; field++) {
        json_t *member = json_object_get(value, field->name);
        if (!member)
            continue;
        print_name(field->name, out);
        if (field->kind == TOOL_ROWS) {
            print_rows(member, field->rows, out);
        } else if (field->kind == TOOL_OBJECT) {
            str_addc(out, '{');
            print_fields(member, field->rows, out);
            str_addc(out, '}');
        } else {
            json_print(member, JSON_STYLE_LINE, out);
        }
    }
}

/* Finds a member by name. Fields have nearly the order of members, so the search starts after the previous one. */
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

/* The same for a result of texts by name. */
static void print_members(const struct op_result *result, const struct tool_field *fields,
                          struct str *out)
{
    size_t at = 0;
    for (const struct tool_field *field = fields; field->name; field++) {
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

void tool_print_result(const struct tool_call *call, struct str *out)
{
    str_addc(out, '{');
    print_members(&call->result, call->tool->fields, out);
    print_fields(call->result.json, call->tool->fields, out);
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

/* ---- calls ----------------------------------------------------------------------------------- */

int tool_prepare(struct tool_call *call, const json_t *given, json_t **out_args)
{
    int code = choose_way(call, given);
    if (code == ETHOS_OK)
        code = map_arguments(call, given, out_args);
    if (code == ETHOS_OK && (code = check_required(call, *out_args)) != ETHOS_OK)
        json_decref(*out_args);
    return code;
}

int tool_run(struct tool_call *call, json_t *args)
{
    if (call->way->needs_match && !json_object_get(args, "ifMatch")) {
        int code = refuse_without_match(call, args);
        json_decref(args);
        return code;
    }
    op_result_release(&call->result);
    int code = call->access->run(call->access->run_arg, call->op, args, true, &call->result,
                                 &call->error);
    if (code == ETHOS_OK && call->result.code != ETHOS_OK) {
        call->error = call->result.error;
        code = call->result.code;
    }
    return code;
}

bool tool_is_partial(const struct tool_call *call, int code)
{
    return code != ETHOS_OK && call->result.code == code && !(call->op->effect & OP_WRITES) &&
           json_is_object(call->result.json);
}
