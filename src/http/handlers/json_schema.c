/*
 * json_schema.c: forms of ops/result_types.h as JSON Schema.
 */
#include "http/handlers/json_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "ops/op.h"

#define MAX_DEPTH 32 /* of types within types */
#define NAME_SIZE 64 /* bytes of a name, with terminator */

static json_t *read_type(const char **at, unsigned depth);

static bool skip_token(const char **at, char wanted)
{
    *at += strspn(*at, " \n");
    if (**at != wanted)
        return false;
    (*at)++;
    return true;
}

static bool parse_name(const char **at, char out[NAME_SIZE])
{
    *at += strspn(*at, " \n");
    size_t size = strcspn(*at, " \n:?,[]{}'/&");
    if (size == 0 || size >= NAME_SIZE)
        return false;
    memcpy(out, *at, size);
    out[size] = 0;
    *at += size;
    return true;
}

static json_t *read_choices(const char **at)
{
    json_t *list = json_array();
    while (**at && **at != '\'') {
        size_t size = strcspn(*at, "|'");
        op_json_push(&list, json_text(view_of(*at, size)));
        *at += size + ((*at)[size] == '|');
    }
    if (skip_token(at, '\''))
        return json_pack("{s:s, s:o}", "type", "string", "enum", list);
    json_decref(list);
    return NULL;
}

static json_t *parse_member(const char **at, unsigned depth, json_t *properties, json_t *required,
                            json_t **others)
{
    char name[NAME_SIZE];
    if (!parse_name(at, name))
        return NULL;
    bool may_miss = skip_token(at, '?');
    json_t *type = skip_token(at, ':') ? read_type(at, depth) : NULL;
    if (!type)
        return NULL;
    if (strcmp(name, "*") == 0)
        *others = json_incref(type);
    else if (json_object_set(properties, name, type) != 0 ||
             (!may_miss && json_array_append_new(required, json_string(name)) != 0)) {
        json_decref(type);
        return NULL;
    }
    return type;
}

static json_t *parse_object(const char **at, unsigned depth)
{
    json_t *properties = json_object(), *required = json_array(), *others = NULL;
    bool good = true;
    while (good && !skip_token(at, '}')) {
        json_t *type = parse_member(at, depth, properties, required, &others);
        good = type != NULL;
        json_decref(type);
        skip_token(at, ',');
    }
    json_t *schema = good ? json_pack("{s:s, s:O, s:O}", "type", "object", "properties", properties,
                                      "required", required)
                          : NULL;
    if (schema && others)
        op_json_put(&schema, "additionalProperties", json_incref(others));
    json_decref(properties);
    json_decref(required);
    json_decref(others);
    return schema;
}

static json_t *read_word(const char **at)
{
    static const char *const words[][2] = {{"string", "string"},
                                           {"int", "integer"},
                                           {"number", "number"},
                                           {"bool", "boolean"},
                                           {"null", "null"}};
    char name[NAME_SIZE], path[NAME_SIZE + 32];
    if (!parse_name(at, name))
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], name) == 0)
            return json_pack("{s:s}", "type", words[i][1]);
    if (strcmp(name, "any") == 0)
        return json_object();
    snprintf(path, sizeof path, "#/components/schemas/%s", name);
    return *name >= 'A' && *name <= 'Z' ? json_pack("{s:s}", "$ref", path) : NULL;
}

static json_t *read_array(const char **at, unsigned depth)
{
    json_t *items = read_type(at, depth);
    if (items && skip_token(at, ']'))
        return json_pack("{s:s, s:o}", "type", "array", "items", items);
    json_decref(items);
    return NULL;
}

/* Takes the type. */
static json_t *or_null(json_t *schema)
{
    json_t *type = json_object_get(schema, "type"), *list = json_object_get(schema, "enum");
    if (!json_is_string(type))
        return json_pack("{s:[o, {s:s}]}", "anyOf", schema, "type", "null");
    json_t *both = json_pack("[O, s]", type, "null");
    op_json_put(&schema, "type", both);
    if (schema && list)
        json_array_append_new(list, json_null());
    return schema;
}

static json_t *parse_type(const char **at, unsigned depth)
{
    json_t *schema = skip_token(at, '[')    ? read_array(at, depth)
                     : skip_token(at, '{')  ? parse_object(at, depth)
                     : skip_token(at, '\'') ? read_choices(at)
                                            : read_word(at);
    return schema && skip_token(at, '?') ? or_null(schema) : schema;
}

static json_t *read_type(const char **at, unsigned depth)
{
    if (depth == 0)
        return NULL;
    json_t *schema = parse_type(at, depth - 1);
    bool both = schema && skip_token(at, '&');
    if (!schema || (!both && !skip_token(at, '/')))
        return schema;
    json_t *other = read_type(at, depth - 1);
    if (!other) {
        json_decref(schema);
        return NULL;
    }
    return json_pack("{s:[o, o]}", both ? "allOf" : "anyOf", schema, other);
}

json_t *schema_json(const char *form)
{
    json_t *schema = read_type(&form, MAX_DEPTH);
    form += strspn(form, " \n");
    if (schema && !*form)
        return schema;
    json_decref(schema);
    return NULL;
}
