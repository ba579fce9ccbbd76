/*
 * stable_calls_input.c: the input of a call against what it may be; every mistake is told, with its place.
 *
 * Nothing is converted: a number in quotes is a text. Texts are counted as JavaScript counts them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/choice.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"

#define MAX_SAFE 9007199254740991.0 /* of JavaScript's integers */

/* ---- telling ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void
add_issue(json_t **issues, const json_t *path, const char *code, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    op_json_push(issues, json_pack("{s:s, s:o, s:o}", "code", code, "path", json_deep_copy(path),
                                   "message", json_text(view_str(message))));
}

static const char *kind_of(const json_t *value)
{
    return !value                   ? "undefined"
           : json_is_null(value)    ? "null"
           : json_is_object(value)  ? "object"
           : json_is_array(value)   ? "array"
           : json_is_string(value)  ? "string"
           : json_is_boolean(value) ? "boolean"
                                    : "number";
}

static void add_type(json_t **issues, const json_t *path, const char *expected, const json_t *value)
{
    add_issue(issues, path, "invalid_type", "Invalid input: expected %s, received %s", expected,
              kind_of(value));
}

/* ---- values ------------------------------------------------------------------------------------ */

static bool is_slug(struct ethos_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!memchr("abcdefghijklmnopqrstuvwxyz0123456789_-", text.data[i], 38))
            return false;
    return text.size > 0;
}

static struct ethos_view text_value(const json_t *value)
{
    return view_of(json_string_value(value), json_string_length(value));
}

static void check_text(const struct shape_field *field, const json_t *value, const json_t *path,
                       json_t **issues)
{
    struct ethos_view text = text_value(value);
    uint64_t units = utf8_units(text);
    int64_t ms;
    if (units < (uint64_t)field->min)
        add_issue(issues, path, "too_small",
                  "Too small: expected string to have >=%" PRId64 " characters", field->min);
    else if (field->max && units > (uint64_t)field->max)
        add_issue(issues, path, "too_big",
                  "Too big: expected string to have <=%" PRId64 " characters", field->max);
    else if ((field->flags & SHAPE_SLUG) && !is_slug(text))
        add_issue(issues, path, "invalid_format",
                  "Invalid string: must match pattern /^[a-z0-9_-]+$/");
    else if (field->type == SHAPE_TIME && !clock_parse(text, 0, false, &ms, NULL))
        add_issue(issues, path, "invalid_format", "Invalid string: must be a time");
    else if (field->type == SHAPE_CHOICE && !choice_has(field->choices, text))
        add_issue(issues, path, "invalid_value", "Invalid option: expected one of %s",
                  *field->choices ? field->choices : "nothing");
}

/* JavaScript has one kind of number: 3.0 is the integer 3. */
static bool is_integer(const json_t *value)
{
    double number = json_real_value(value);
    return json_is_integer(value) ||
           (json_is_real(value) && number == floor(number) && fabs(number) <= MAX_SAFE);
}

static void check_integer(const struct shape_field *field, const json_t *value, const json_t *path,
                          json_t **issues)
{
    double number = json_number_value(value);
    if (number < (double)field->min)
        add_issue(issues, path, "too_small", "Too small: expected number to be >=%" PRId64,
                  field->min);
    else if (field->max && number > (double)field->max)
        add_issue(issues, path, "too_big", "Too big: expected number to be <=%" PRId64, field->max);
}

static void check_object(const struct shape_field *field, const json_t *value, json_t *path,
                         json_t **issues)
{
    if (field->fields)
        shape_check(field->fields, value, path, issues);
}

static const struct shape_field model_fields[] = {
    {.name = "trivial", .type = SHAPE_TEXT},
    {.name = "default", .type = SHAPE_TEXT},
    {.name = "deep", .type = SHAPE_TEXT},
    {0},
};

static void check_one(const struct shape_field *field, const json_t *value, json_t *path,
                      json_t **issues)
{
    static const char *const kinds[] = {
        [SHAPE_TEXT] = "string",   [SHAPE_TIME] = "string",  [SHAPE_INTEGER] = "number",
        [SHAPE_NUMBER] = "number", [SHAPE_FLAG] = "boolean", [SHAPE_CHOICE] = "string",
        [SHAPE_OBJECT] = "object", [SHAPE_JSON] = "value",   [SHAPE_MODEL] = "string or object"};
    if ((field->type == SHAPE_JSON && value && !json_is_null(value)) ||
        (field->type == SHAPE_NUMBER && json_is_number(value)))
        return;
    bool text = json_is_string(value) && field->type != SHAPE_INTEGER &&
                field->type != SHAPE_NUMBER && field->type != SHAPE_FLAG &&
                field->type != SHAPE_OBJECT;
    if (text)
        check_text(field, value, path, issues);
    else if (field->type == SHAPE_INTEGER && is_integer(value))
        check_integer(field, value, path, issues);
    else if (field->type == SHAPE_INTEGER && json_is_number(value))
        add_type(issues, path, "int", value);
    else if (field->type == SHAPE_OBJECT && json_is_object(value))
        check_object(field, value, path, issues);
    else if (field->type == SHAPE_MODEL && json_is_object(value))
        shape_check(model_fields, value, path, issues);
    else if (field->type != SHAPE_FLAG || !json_is_boolean(value))
        add_type(issues, path, kinds[field->type], value);
}

static void check_many(const struct shape_field *field, const json_t *value, json_t *path,
                       json_t **issues)
{
    size_t index;
    json_t *item;
    if (!json_is_array(value)) {
        add_type(issues, path, "array", value);
        return;
    }
    json_array_foreach (value, index, item) {
        json_array_append_new(path, json_integer((json_int_t)index));
        check_one(field, item, path, issues);
        json_array_remove(path, json_array_size(path) - 1);
    }
}

static bool is_missed(const struct shape_field *field, const json_t *object)
{
    return (field->flags & SHAPE_REQUIRED) ||
           (field->unless && !json_object_get(object, field->unless));
}

static void check_member(const struct shape_field *field, const json_t *object, json_t *path,
                         json_t **issues)
{
    const json_t *value = json_object_get(object, field->name);
    bool none = json_is_null(value) && (field->flags & SHAPE_NULL);
    if (none || (!value && !is_missed(field, object)))
        return;
    json_array_append_new(path, json_text(view_str(field->name)));
    if (field->flags & SHAPE_MANY)
        check_many(field, value, path, issues);
    else
        check_one(field, value, path, issues);
    json_array_remove(path, json_array_size(path) - 1);
}

void shape_check(const struct shape_field *field, const json_t *object, json_t *path,
                 json_t **issues)
{
    for (; field && field->name; field++)
        check_member(field, object, path, issues);
}

/* ---- arguments ---------------------------------------------------------------------------------- */

const struct shape_field shape_common[] = {
    {.name = "personalityId", .type = SHAPE_TEXT, .min = 1, .max = ETHOS_MAX_ID},
    {.name = "userId", .type = SHAPE_TEXT, .min = 1, .max = ETHOS_MAX_ID},
    {.name = "workspaceId", .type = SHAPE_TEXT, .min = 1, .max = ETHOS_MAX_SCOPE},
    {.name = "sessionId", .type = SHAPE_TEXT, .min = 1, .max = ETHOS_MAX_ID},
    {.name = "dryRun", .type = SHAPE_FLAG},
    {0},
};

struct shape_field shape_field_of(const struct op_arg *arg)
{
    static const enum shape_type types[] = {SHAPE_TEXT,   SHAPE_INTEGER, SHAPE_FLAG,
                                            SHAPE_CHOICE, SHAPE_TIME,    SHAPE_JSON};
    struct shape_field field = {.name = arg->name,
                                .type = arg->flags & OP_JSON ? SHAPE_JSON : types[arg->type],
                                .flags = (arg->flags & OP_REQUIRED ? SHAPE_REQUIRED : 0u) |
                                         (arg->flags & OP_NULL ? SHAPE_NULL : 0u) |
                                         (arg->flags & OP_MANY ? SHAPE_MANY : 0u)};
    if (arg->type == OP_CHOICE)
        field.choices = arg->choices;
    if (arg->type == OP_INTEGER)
        op_range(arg, &field.min, &field.max);
    return field;
}

/* A field that the operation has as a text of JSON. */
static bool is_json_field(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg->flags & OP_JSON;
    return false;
}

static json_t *arg_value(const struct op *op, const char *name, const json_t *value)
{
    struct str text;
    if (!is_json_field(op, name) || json_is_string(value) || json_is_null(value))
        return json_is_real(value) ? json_integer((json_int_t)json_real_value(value))
                                   : json_incref((json_t *)value);
    str_init(&text, SIZE_MAX);
    json_t *json = json_print(value, JSON_STYLE_LINE, &text) == ETHOS_OK
                       ? json_text(str_view(&text))
                       : NULL;
    str_release(&text);
    return json;
}

static bool is_field_named(const struct shape_field *field, const char *name)
{
    for (; field && field->name; field++)
        if (strcmp(field->name, name) == 0)
            return true;
    return false;
}

/* Checks one field and hands it over. */
static void check_field(const struct op *op, const struct shape_field *field, const json_t *input,
                        json_t *path, json_t **args, json_t **issues)
{
    const json_t *value = json_object_get(input, field->name);
    const char *name = field->arg ? field->arg : field->name;
    check_member(field, input, path, issues);
    if (value && !(field->flags & SHAPE_KEEP))
        op_json_put(args, name, arg_value(op, name, value));
}

static void take_fields(const struct op *op, const struct shape_field *fields,
                        const struct shape_field *except, const json_t *input, json_t *path,
                        json_t **args, json_t **issues)
{
    for (; fields && fields->name; fields++)
        if (!is_field_named(except, fields->name))
            check_field(op, fields, input, path, args, issues);
}

/* What the shape does not name, the row does: but a call of the reference never has to send it. */
static void take_args(const struct shape *shape, const struct op *op, const json_t *input,
                      json_t *path, json_t **args, json_t **issues)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        struct shape_field field = shape_field_of(arg);
        if (shape)
            field.flags &= ~(unsigned)SHAPE_REQUIRED;
        if (!shape || !is_field_named(shape->fields, arg->name))
            check_field(op, &field, input, path, args, issues);
    }
}

/* A member that is common and an argument of its own is taken twice, which is no harm. */
int shape_args(const struct shape *shape, const struct op *op, const json_t *input,
               json_t **out_args, json_t **out_issues, struct ethos_error *error)
{
    json_t *args = json_object(), *issues = json_array(), *path = json_array();
    const struct shape_field *fields = shape ? shape->fields : NULL;
    int code = ETHOS_OK;
    *out_issues = NULL;
    if (!json_is_object(input)) {
        add_type(&issues, path, "object", input);
    } else {
        take_args(shape, op, input, path, &args, &issues);
        take_fields(op, fields, NULL, input, path, &args, &issues);
        take_fields(op, shape_common, fields, input, path, &args, &issues);
    }
    if (!args || !issues || !path)
        code = err_nomem(error);
    else if (json_array_size(issues) > 0)
        code = err_set(error, ETHOS_INVALID, "Input validation failed");
    if (code == ETHOS_OK && shape && shape->ask)
        code = shape->ask(input, &args, error);
    if (code == ETHOS_OK && !args)
        code = err_nomem(error);
    if (json_array_size(issues) > 0)
        *out_issues = json_incref(issues);
    if (code == ETHOS_OK)
        *out_args = json_incref(args);
    json_decref(args);
    json_decref(issues);
    json_decref(path);
    return code;
}
