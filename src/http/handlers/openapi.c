/*
 * openapi.c: /openapi.json, the description of /api, made from the operation table.
 *
 * OpenAPI 3.1. Paths are the operations that /api has, and the two files of memory as resources.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "http/handlers/api.h"
#include "http/handlers/json_schema.h"
#include "http/server.h"
#include "ops/result_types.h"

#define PROBLEM "#/components/responses/Problem"

/* ---- arguments ----------------------------------------------------------------------------------- */

static json_t *choices_json(const char *choices)
{
    json_t *list = json_array();
    while (*choices) {
        size_t size = strcspn(choices, "|");
        op_json_push(&list, json_text(view_of(choices, size)));
        choices += size + (choices[size] == '|');
    }
    return list;
}

static void put_range(const struct op_arg *arg, json_t **schema)
{
    int64_t min, max;
    op_range(arg, &min, &max);
    if (min != INT64_MIN)
        op_json_put(schema, "minimum", json_integer((json_int_t)min));
    if (max != INT64_MAX)
        op_json_put(schema, "maximum", json_integer((json_int_t)max));
}

/* One value. A text that is JSON may be sent as what it is. */
static json_t *value_schema(const struct op_arg *arg)
{
    static const char *const types[] = {"string", "integer", "boolean", "string", "string", NULL};
    const char *type = types[arg->type];
    if (arg->type == OP_VALUE)
        return json_object(); // anything
    if (arg->flags & OP_JSON)
        return json_pack("{s:[s, s, s]}", "type", "string", "object", "array");
    json_t *schema = arg->flags & OP_NULL ? json_pack("{s:[s, s]}", "type", type, "null")
                                          : json_pack("{s:s}", "type", type);
    if (arg->type == OP_CHOICE)
        op_json_put(&schema, "enum", choices_json(arg->choices));
    if (arg->type == OP_INTEGER)
        put_range(arg, &schema);
    if (arg->type == OP_TIME)
        op_json_put(&schema, "examples", json_pack("[s, s]", "7d", "2026-11-15T08:30:00Z"));
    return schema;
}

static json_t *arg_schema(const struct op_arg *arg)
{
    json_t *schema = value_schema(arg);
    return arg->flags & OP_MANY ? json_pack("{s:s, s:o}", "type", "array", "items", schema)
                                : schema;
}

static json_t *reference(const char *to)
{
    return json_pack("{s:s}", "$ref", to);
}

/* Whose memory; of every call that has no argument of that name. */
static bool has_own(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    return false;
}

static json_t *query_parameters(const struct op *op)
{
    json_t *list = json_array();
    char name[80];
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        op_json_push(&list, json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", arg->name, "in", "query",
                                      "required", (arg->flags & OP_REQUIRED) != 0, "description",
                                      arg->help, "schema", arg_schema(arg)));
    for (const struct shape_field *field = shape_common; field->name; field++) {
        snprintf(name, sizeof name, "#/components/parameters/%s", field->name);
        if (field->type == SHAPE_TEXT && !has_own(op, field->name)) // what reads has no dry run
            op_json_push(&list, reference(name));
    }
    return list;
}

static json_t *body_schema(const struct op *op)
{
    json_t *members = json_object(), *required = json_array();
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        json_t *schema = arg_schema(arg);
        op_json_put(&schema, "description", json_string(arg->help));
        op_json_put(&members, arg->name, schema);
        if (arg->flags & OP_REQUIRED)
            op_json_push(&required, json_string(arg->name));
    }
    for (const struct shape_field *field = shape_common; field->name; field++)
        if (!has_own(op, field->name))
            op_json_put(
                &members, field->name,
                json_pack("{s:s}", "type", field->type == SHAPE_FLAG ? "boolean" : "string"));
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", members, "required",
                     required, "additionalProperties", 0);
}

/* ---- an operation ----------------------------------------------------------------------------------- */

static json_t *json_content(json_t *schema)
{
    return json_pack("{s:{s:o}}", "application/json", "schema", schema);
}

/* The cookie may do all of it; a key, what its scopes say. */
static json_t *security_json(const struct op *op)
{
    json_t *list = json_pack("[{s:[]}]", "cookie");
    if (op->right == OP_ANYBODY)
        op_json_push(&list, json_pack("{s:[]}", "key"));
    else if (op->right < OP_OWNER)
        op_json_push(&list, json_pack("{s:[s]}", "key", op_right_name(op->right)));
    return list;
}

static json_t *responses_json(const char *what, json_t *schema, bool writes, bool matching)
{
    json_t *responses = json_object();
    op_json_put(&responses, "200",
                json_pack("{s:s, s:o}", "description", what, "content", json_content(schema)));
    if (writes)
        op_json_put(&responses, "202",
                    json_pack("{s:s, s:o}", "description",
                              "Taken; it waits for a backend that is away", "content",
                              json_content(json_object())));
    op_json_put(&responses, "4XX", reference(PROBLEM));
    op_json_put(&responses, "5XX", reference(PROBLEM));
    if (matching) {
        op_json_put(&responses, "412", reference(PROBLEM));
        op_json_put(&responses, "428", reference(PROBLEM));
    }
    return responses;
}

static json_t *description_json(const struct op *op)
{
    struct str text;
    str_init(&text, 4096);
    str_adds(&text, op->summary);
    str_adds(&text, ".");
    if (op->example)
        str_printf(&text, " At a terminal: `%s`.", op->example);
    json_t *json = json_text(str_view(&text));
    str_release(&text);
    return json;
}

/* What it gives; what the table does not say is anything. A write that is tried out tells what it would change. */
static json_t *answer_schema(const struct op *op)
{
    const char *form = answer_form(op);
    json_t *schema = form ? schema_json(form) : json_object();
    json_t *members = json_object_get(schema, "properties");
    if ((op->effect & OP_WRITES) && members) {
        json_object_set_new(members, "dryRun", json_pack("{s:s}", "type", "boolean"));
        json_object_set_new(members, "diff", json_pack("{s:s}", "type", "string"));
    }
    return schema;
}

static json_t *operation_json(const struct op *op)
{
    bool writes = op->effect & OP_WRITES, matching = op->effect & OP_DESTRUCTIVE;
    json_t *tag = json_text(view_of(op->name, strcspn(op->name, ".")));
    json_t *json = json_pack("{s:s, s:s, s:o, s:[o], s:o, s:o}", "operationId", op->name, "summary",
                             op->summary, "description", description_json(op), "tags", tag,
                             "security", security_json(op), "responses",
                             responses_json("What the operation gives, as --json prints it",
                                            answer_schema(op), writes, matching));
    if (matching)
        op_json_put(&json, "parameters",
                    json_pack("[o]", reference("#/components/parameters/ifMatch")));
    if (writes)
        op_json_put(
            &json, "requestBody",
            json_pack("{s:b, s:o}", "required", 1, "content", json_content(body_schema(op))));
    else
        op_json_put(&json, "parameters", query_parameters(op));
    return json;
}

static bool is_described(const struct op *op)
{
    return shape_served(op) && !(op->effect & OP_SHORTHAND);
}

static void put_operation(json_t **paths, const struct op *op)
{
    char path[96];
    const char *method = op->effect & OP_WRITES ? "post" : "get";
    snprintf(path, sizeof path, "/api/%s", op->name);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
    op_json_put(paths, path, json_pack("{s:o}", method, operation_json(op)));
}

/* ---- files ------------------------------------------------------------------------------------------------ */

static json_t *file_method(const char *id, const char *summary, const struct op *op,
                           json_t *responses)
{
    return json_pack("{s:s, s:s, s:[s], s:o, s:o}", "operationId", id, "summary", summary, "tags",
                     "memory", "security", security_json(op), "responses", responses);
}

static json_t *tagged(json_t *content)
{
    return json_pack("{s:s, s:{s:{s:s, s:{s:s}}}, s:o}", "description", "The file", "headers",
                     "ETag", "description", "Its revision, in quotes", "schema", "type", "string",
                     "content", content);
}

static json_t *file_content(bool bytes)
{
    json_t *content = json_content(reference("#/components/schemas/MemoryFile"));
    if (bytes)
        op_json_put(&content, "text/markdown", json_pack("{s:{s:s}}", "schema", "type", "string"));
    return content;
}

static json_t *file_responses(const char *good, json_t *answer, bool matching)
{
    json_t *responses = responses_json("", json_object(), matching, matching);
    json_object_del(responses, "200");
    op_json_put(&responses, good, answer);
    return responses;
}

static json_t *get_json(const char *id)
{
    json_t *responses = file_responses("200", tagged(file_content(true)), false);
    op_json_put(&responses, "304", json_pack("{s:s}", "description", "You have it already"));
    op_json_put(&responses, "404", reference(PROBLEM));
    return file_method(id, "Read the file", op_find("memory.get"), responses);
}

static json_t *put_json(const char *id)
{
    json_t *responses = file_responses("200", tagged(file_content(false)), true);
    op_json_put(&responses, "201", tagged(file_content(false)));
    json_t *json = file_method(id, "Replace the file, or make it", op_find("memory.write"),
                               responses);
    json_t *schema = json_pack("{s:s, s:{s:{s:s}}, s:[s], s:b, s:[{s:s}]}", "type", "object",
                               "properties", "content", "type", "string", "required", "content",
                               "additionalProperties", 0, "examples", "content",
                               "We deploy on Fridays\n");
    op_json_put(&json, "parameters",
                json_pack("[o, o]", reference("#/components/parameters/ifMatch"),
                          reference("#/components/parameters/ifNoneMatch")));
    op_json_put(&json, "requestBody",
                json_pack("{s:b, s:o}", "required", 1, "content", json_content(schema)));
    return json;
}

static json_t *delete_json(const char *id)
{
    json_t *gone = json_pack("{s:s}", "description", "It is gone; its history stays");
    json_t *json = file_method(id, "Delete the file", op_find("memory.sync"),
                               file_responses("204", gone, true));
    op_json_put(&json, "parameters",
                json_pack("[o]", reference("#/components/parameters/ifMatch")));
    return json;
}

static void put_file(json_t **paths, const char *store)
{
    static const char *const shared[] = {"personality", "user", "workspace", "scope", "key"};
    char path[64], get[32], put[32], delete[32];
    json_t *parameters = json_array();
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        snprintf(path, sizeof path, "#/components/parameters/%s", shared[i]);
        op_json_push(&parameters, reference(path));
    }
    snprintf(path, sizeof path, "/api/memory/%s", store);
    snprintf(get, sizeof get, "memory.%s.read", store);
    snprintf(put, sizeof put, "memory.%s.replace", store);
    snprintf(delete, sizeof delete, "memory.%s.delete", store);
    op_json_put(
        paths, path,
        json_pack("{s:s, s:o, s:o, s:o, s:o}", "summary",
                  strcmp(store, "user") == 0 ? "The profile, USER.md" : "The memory, MEMORY.md",
                  "parameters", parameters, "get", get_json(get), "put", put_json(put), "delete",
                  delete_json(delete)));
}

/* ---- entries ---------------------------------------------------------------------------------------------- */

/* An operation under a path and a method that say which one it is. */
static json_t *entry_method(const char *name, const char *id)
{
    json_t *json = operation_json(op_find(name));
    op_json_put(&json, "operationId", json_string(id));
    return json;
}

static json_t *string_parameter(const char *name, const char *in, const char *description)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:{s:s}}", "name", name, "in", in, "required",
                     strcmp(in, "path") == 0, "description", description, "schema", "type",
                     "string");
}

/* The id is in the path, and what the revision is in a header. */
static json_t *one_entry(const char *name, const char *id)
{
    static const char *const said[] = {"id", "ifRevision"};
    json_t *json = entry_method(name, id), *kept = json_array(), *parameter;
    size_t index;
    json_array_foreach (json_object_get(json, "parameters"), index, parameter)
        if (!view_eq(json_view(parameter, "name"), VIEW("id")))
            op_json_push(&kept, json_incref(parameter));
    op_json_put(&json, "parameters", kept);
    json_t *content = json_object_get(json_object_get(json, "requestBody"), "content");
    json_t *schema = json_object_get(json_object_get(content, "application/json"), "schema");
    json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        json_object_del(json_object_get(schema, "properties"), said[i]);
    for (size_t i = json_array_size(required); i > 0; i--)
        if (strcmp(json_string_value(json_array_get(required, i - 1)), "id") == 0)
            json_array_remove(required, i - 1);
    return json;
}

static void put_entries(json_t **paths)
{
    if (!shape_served(op_find("memory.chunks.list")))
        return;
    json_t *list = entry_method("memory.chunks.list", "memory.chunks.all");
    json_array_append_new(json_object_get(list, "parameters"),
                          string_parameter("q", "query",
                                           "A question: the entries that answer it, best first, "
                                           "with topK instead of limit and cursor"));
    op_json_put(paths, "/api/memory/chunks",
                json_pack("{s:o, s:o}", "get", list, "post",
                          entry_method("memory.chunks.add", "memory.chunks.post")));
    op_json_put(paths, "/api/memory/chunks/{id}",
                json_pack("{s:[o], s:o, s:o, s:o}", "parameters",
                          string_parameter("id", "path", "Which entry: as lists give it"), "get",
                          one_entry("memory.chunks.get", "memory.chunks.read"), "put",
                          one_entry("memory.chunks.update", "memory.chunks.replace"), "delete",
                          one_entry("memory.chunks.delete", "memory.chunks.remove")));
}

/* ---- parts -------------------------------------------------------------------------------------------------- */

static json_t *parameter_json(const char *name, const char *in, const char *description,
                              const char *example)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    if (example)
        op_json_put(&schema, "examples", json_pack("[s]", example));
    return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "in", in, "description", description,
                     "schema", schema);
}

static json_t *parameters_json(void)
{
    static const struct {
        const char *key, *name, *in, *description, *example;
    } rows[] = {
        {"personalityId", "personalityId", "query",
         "Whose memory: a personality; else the active one", "default"},
        {"userId", "userId", "query", "Whose profile: a user id; else the person at the machine",
         NULL},
        {"workspaceId", "workspaceId", "query", "A workspace that workspaces.list shows; else none",
         NULL},
        {"sessionId", "sessionId", "query",
         "The conversation that this is done in, for the history", NULL},
        {"personality", "personality", "query", "Whose memory: a personality; else the active one",
         "default"},
        {"user", "user", "query", "Whose profile: a user id; else the person at the machine", NULL},
        {"workspace", "workspace", "query", "A workspace that workspaces.list shows; else none",
         NULL},
        {"scope", "scope", "query", "Another scope: personality, global, workspace, user:ID",
         "global"},
        {"key", "key", "query", "Another file, by name", "plan.md"},
        {"ifMatch", "If-Match", "header", "The ETag that was read, or *", "*"},
        {"ifNoneMatch", "If-None-Match", "header", "* makes a file that is not there yet", "*"},
    };
    json_t *json = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        op_json_put(&json, rows[i].key,
                    parameter_json(rows[i].name, rows[i].in, rows[i].description, rows[i].example));
    return json;
}

/* An object all of whose members are there; those whose name ends with "?" may be null. */
static json_t *object_schema(const char *const *members)
{
    json_t *properties = json_object(), *required = json_array();
    for (; *members; members++) {
        size_t size = strcspn(*members, "?");
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)size, *members);
        op_json_put(&properties, name,
                    (*members)[size] ? json_pack("{s:[s, s]}", "type", "string", "null")
                                     : json_pack("{s:s}", "type", "string"));
        op_json_push(&required, json_string(name));
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
                     required);
}

static json_t *schemas_json(void)
{
    static const char *const file[] = {"store", "scope",       "key",       "content",
                                       "path?", "modifiedAt?", "revision?", NULL};
    static const char *const problem[] = {"type", "title",     "detail",  "instance",
                                          "code", "requestId", "action?", NULL};
    json_t *told = object_schema(problem);
    if (told) {
        json_object_set_new(json_object_get(told, "properties"), "status",
                            json_pack("{s:s}", "type", "integer"));
        json_array_append_new(json_object_get(told, "required"), json_string("status"));
    }
    json_t *schemas = json_pack("{s:o, s:o}", "MemoryFile", object_schema(file), "Problem", told);
    for (const struct answer_row *type = answer_types; type->name; type++)
        op_json_put(&schemas, type->name, schema_json(type->form));
    return schemas;
}

static json_t *components_json(void)
{
    json_t *problem = json_pack("{s:s, s:{s:{s:o}}}", "description", "Why not (RFC 9457)",
                                "content", "application/problem+json", "schema",
                                reference("#/components/schemas/Problem"));
    json_t *schemes = json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "cookie", "type",
                                "apiKey", "in", "cookie", "name", "ethos_auth", "description",
                                "The browser that opened the URL of ethos serve", "key", "type",
                                "http", "scheme", "bearer", "description",
                                "sk-ethos-...: ethos api-key create NAME --scope S");
    return json_pack("{s:o, s:o, s:{s:o}, s:o}", "schemas", schemas_json(), "parameters",
                     parameters_json(), "responses", "Problem", problem, "securitySchemes",
                     schemes);
}

static bool has_tag(const json_t *tags, struct ethos_view name)
{
    size_t index;
    json_t *tag;
    json_array_foreach ((json_t *)tags, index, tag)
        if (view_eq(json_view(tag, "name"), name))
            return true;
    return false;
}

static json_t *tags_json(void)
{
    json_t *tags = json_array();
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        struct ethos_view space = view_of(op->name, strcspn(op->name, "."));
        if (is_described(op) && !has_tag(tags, space))
            op_json_push(&tags, json_pack("{s:o, s:o}", "name", json_text(space), "description",
                                          json_sprintf("The operations %.*s.*", VIEW_ARG(space))));
    }
    return tags;
}

static json_t *description(void)
{
    json_t *paths = json_object();
    put_file(&paths, "memory");
    put_file(&paths, "user");
    put_entries(&paths);
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (is_described(op))
            put_operation(&paths, op);
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:s}], s:o, s:o, s:o}", "openapi",
                     "3.1.0", "info", "title", "ethos", "version", ETHOS_VERSION, "description",
                     "Memory for AI agents: the files, notes and conversations of one home.",
                     "license", "name", "MIT", "identifier", "MIT", "servers", "url", "/", "tags",
                     tags_json(), "paths", paths, "components", components_json());
}

/* ---- kept: it is the same as long as the program runs ------------------------------------------------ */

struct openapi {
    struct str text;
    char revision[ETHOS_REVISION_SIZE];
};

static void release_document(struct openapi *self)
{
    if (self)
        str_release(&self->text);
    free(self);
}

static struct openapi *make_document(void)
{
    json_t *json = description();
    struct openapi *self = json ? calloc(1, sizeof *self) : NULL;
    if (self) {
        str_init(&self->text, HTTP_MAX_ANSWER);
        json_print(json, JSON_STYLE_LINE, &self->text);
    }
    json_decref(json);
    if (self && str_code(&self->text) == ETHOS_OK) {
        hash_revision(str_view(&self->text), self->revision);
        return self;
    }
    release_document(self);
    return NULL;
}

/* Two threads may make it at the same time; the first stays. */
static const struct openapi *document_of_server(struct http *http)
{
    struct openapi *kept = atomic_load(&http->openapi), *made;
    if (kept || !(made = make_document()))
        return kept;
    if (atomic_compare_exchange_strong(&http->openapi, &kept, made))
        return made;
    release_document(made);
    return kept;
}

void openapi_free(struct http *http)
{
    release_document(atomic_exchange(&http->openapi, NULL));
}

void http_openapi(struct http_call *call)
{
    const struct openapi *kept = document_of_server(call->http);
    if (!kept) {
        str_fail(&call->out, ETHOS_NOMEM);
        return;
    }
    api_tag(call, kept->revision);
    http_answer_header(call, "Cache-Control", "no-cache");
    if (api_has_tag(http_header(call, "If-None-Match"), true, kept->revision))
        call->status = 304;
    else
        http_answer_static(call, "application/json", str_view(&kept->text));
}
