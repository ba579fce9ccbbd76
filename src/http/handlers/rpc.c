/*
 * rpc.c: POST /rpc/<namespace>/<method>: the envelope of the wire around an operation.
 *
 *     {"json": input, "meta": [[type, ...path], ...]}  ->  {"json": output}
 *
 * meta names what JSON cannot carry. Nothing here needs any of it: undefined takes the member away,
 * dates and addresses stay the text they are, the others are refused.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"

#define MAX_NAME 64 /* bytes of "namespace.method" with terminator */
#define MAX_PARTS 3 /* of it */

/* ---- the body ------------------------------------------------------------------------------------ */

enum meta_type { META_DATE = 1, META_UNDEFINED = 3, META_URL = 4 };

static int malformed(struct ethos_error *error, const char *why)
{
    return err_set(error, ETHOS_INVALID, "Malformed request: %s", why);
}

/* One step down a path; NULL when there is nothing. */
static json_t *path_step(const json_t *value, const json_t *segment)
{
    json_int_t index = json_integer_value(segment);
    if (json_is_string(segment))
        return json_object_getn(value, json_string_value(segment), json_string_length(segment));
    return json_is_integer(segment) && index >= 0 ? json_array_get(value, (size_t)index) : NULL;
}

/* Arrays have no holes: there undefined is null, which whoever reads it may refuse. */
static void take_away(json_t *parent, const json_t *segment)
{
    if (json_is_array(parent))
        json_array_set_new(parent, (size_t)json_integer_value(segment), json_null());
    else
        json_object_deln(parent, json_string_value(segment), json_string_length(segment));
}

/* Follows [type, ...path] below the member "json" of holder. */
static int apply_meta(json_t *holder, const json_t *meta, struct ethos_error *error)
{
    const json_t *type = json_array_get(meta, 0), *segment = NULL;
    json_t *parent = NULL, *value = json_object_get(holder, "json");
    for (size_t i = 1; value && i < json_array_size(meta); i++) {
        segment = json_array_get(meta, i);
        parent = value;
        value = path_step(parent, segment);
    }
    if (!json_is_integer(type))
        return malformed(error, "meta must be a list of [type, ...path]");
    if (!value)
        return malformed(error, "meta names a place that does not exist");
    switch (json_integer_value(type)) {
    case META_DATE:
    case META_URL:
        return ETHOS_OK;
    case META_UNDEFINED:
        if (parent)
            take_away(parent, segment);
        else
            json_object_del(holder, "json");
        return ETHOS_OK;
    default:
        return malformed(error, "meta has a type that no call takes");
    }
}

static int apply_metas(json_t *holder, struct ethos_error *error)
{
    const json_t *metas = json_object_get(holder, "meta");
    size_t index;
    json_t *meta;
    int code = ETHOS_OK;
    if (metas && !json_is_array(metas))
        return malformed(error, "meta must be a list of [type, ...path]");
    json_array_foreach (metas, index, meta) {
        if (code == ETHOS_OK)
            code = apply_meta(holder, meta, error);
    }
    return code;
}

/* What stands beside the envelope would be ignored, and a call without arguments be made of it. */
static bool is_flat(const json_t *holder)
{
    return json_object_size(holder) > 0 && !json_object_get(holder, "json") &&
           !json_object_get(holder, "meta");
}

int rpc_decode(struct ethos_view body, json_t **out_input, struct ethos_error *error)
{
    struct ethos_error why = {0};
    json_t *holder = NULL;
    int code = view_blank(body) ? ETHOS_OK
                                : json_parse_most(body, HTTP_MAX_LARGE_BODY, "body", &holder, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        return malformed(error, why.text);
    if (holder && !json_is_object(holder))
        code = malformed(error, "the body must be an object");
    else if (is_flat(holder))
        code = malformed(error, "the input stands below \"json\": {\"json\": {...}}");
    if (code == ETHOS_OK)
        code = apply_metas(holder, error);
    if (code == ETHOS_OK) {
        json_t *input = json_object_get(holder, "json");
        *out_input = input ? json_incref(input) : json_object();
        code = *out_input ? ETHOS_OK : err_nomem(error);
    }
    json_decref(holder);
    return code;
}

/* ---- which operation ------------------------------------------------------------------------------ */

bool shape_served(const struct op *op)
{
    return op && op->run && !(op->effect & OP_LOCAL) && op_is_in_program(op);
}

/* "memory/get" or "memory/get/" as "memory.get", "memory/chunks/add" as "memory.chunks.add"; "" for others. */
static void dotted(const char *rest, char out[MAX_NAME])
{
    size_t size = strlen(rest), parts = 1;
    if (size > 0 && rest[size - 1] == '/')
        size--;
    *out = 0;
    if (size >= MAX_NAME || memchr(rest, '.', size))
        return;
    for (size_t i = 0; i < size; i++) {
        out[i] = rest[i] == '/' ? '.' : rest[i];
        parts += rest[i] == '/';
    }
    out[size] = 0;
    if (parts < 2 || parts > MAX_PARTS)
        *out = 0;
}

const struct op *api_op(const char *rest)
{
    char name[MAX_NAME];
    dotted(rest, name);
    const struct op *op = op_find(name);
    return shape_served(op) && !(op->effect & OP_SHORTHAND) ? op : NULL;
}

const struct op *rpc_find_op(const char *rest, const struct shape **out_shape)
{
    char name[MAX_NAME];
    dotted(rest, name);
    const struct shape *shape = shape_find(name);
    const struct op *op = op_find(shape && shape->op ? shape->op : name);
    if (out_shape)
        *out_shape = shape;
    return shape_served(op) ? op : NULL;
}

bool http_rpc_quick(const struct http_call *call)
{
    const struct op *op = rpc_find_op(call->rest, NULL);
    bool asks = op && op->effect & OP_ASKS && view_contains(call->body, VIEW("\"query\""));
    return call->body.size <= HTTP_QUICK_BODY && !asks && (!op || http_quick_op(op));
}

size_t http_rpc_larger(const struct http_call *call)
{
    const struct op *op = rpc_find_op(call->rest, NULL);
    bool may = op && (op->effect & OP_LARGE) && op_allowed(op, call->rights);
    return may ? HTTP_MAX_LARGE_BODY : 0;
}

/* ---- answers ---------------------------------------------------------------------------------------- */

/* An error of the procedure itself. data is taken. */
static void fail_procedure(struct http_call *call, const struct http_error *error, json_t *data)
{
    json_t *json = json_object();
    op_json_put(&json, "json", http_error_json(call, error, data));
    http_answer_json(call, error->status, json);
}

static void fail_input(struct http_call *call, const struct ethos_error *error, json_t *issues)
{
    const struct http_error told = {400, "BAD_REQUEST", error->text, NULL};
    fail_procedure(call, &told, issues ? json_pack("{s:o}", "issues", issues) : NULL);
}

json_t *http_error_data(const json_t *report)
{
    json_t *nearest = json_object_get(report, "nearest");
    return nearest  ? json_pack("{s:O}", "nearest", nearest)
           : report ? json_pack("{s:O}", "report", report)
                    : NULL;
}

/* What happened before it went wrong is told with it: nobody has to guess what was written. */
static void fail_operation(struct http_call *call, const struct op *op,
                           const struct ethos_error *error, const json_t *report)
{
    const struct http_error told = http_error_of(op, error);
    if (told.status == 503)
        http_answer_header(call, "Retry-After", "1");
    fail_procedure(call, &told, http_error_data(report));
}

/* The result is printed between the two. */
static void begin_printed(struct http_call *call, const struct shape *shape)
{
    str_adds(&call->out, "{\"json\":");
    if (shape && shape->within)
        str_printf(&call->out, "{\"%s\":", shape->within);
}

static void end_printed(struct http_call *call, const struct shape *shape)
{
    call->status = 200;
    call->type = "application/json";
    str_adds(&call->out, shape && shape->within ? "}}" : "}");
}

static void succeed(struct http_call *call, const struct shape *shape, const struct op *op,
                    const json_t *input, const json_t *result)
{
    struct ethos_error error = {0};
    json_t *output = NULL;
    int code = ETHOS_OK;
    if (shape && shape->give)
        code = shape->give(input, result, &output, &error);
    else
        output = result ? json_incref((json_t *)result) : json_null();
    if (shape && shape->within)
        output = json_pack("{s:o}", shape->within, output);
    if (code == ETHOS_OK)
        http_answer_json(call, 200, json_pack("{s:o}", "json", output));
    else
        fail_operation(call, op, &error, NULL);
}

/* A read that shows what it can is an answer; a write that did not do all is none. */
static void answer_procedure(struct http_call *call, const struct shape *shape, const struct op *op,
                             const json_t *input, json_t *args)
{
    struct ethos_error error = {0};
    struct op_result result;
    call->source = shape ? shape->source : NULL;
    call->printed = (op->effect & OP_PRINTS) && !(shape && shape->give);
    if (call->printed)
        begin_printed(call, shape);
    int code = http_run(call, op, args, &result, &error);
    bool partial = code == ETHOS_OK && result.code != ETHOS_OK;
    if (code != ETHOS_OK)
        fail_operation(call, op, &error, NULL);
    else if (partial && (shape || (op->effect & OP_WRITES)))
        fail_operation(call, op, &result.error, result.json);
    else if (result.printed)
        end_printed(call, shape);
    else
        succeed(call, shape, op, input, result.json);
    op_result_release(&result);
}

static void run_procedure(struct http_call *call, const struct shape *shape, const struct op *op)
{
    struct ethos_error error = {0};
    json_t *input = NULL, *args = NULL, *issues = NULL;
    int code = rpc_decode(call->body, &input, &error);
    if (code != ETHOS_OK) {
        fail_input(call, &error, NULL);
        return;
    }
    code = shape_args(shape, op, input, &args, &issues, &error);
    if (issues)
        fail_input(call, &error, issues);
    else if (code != ETHOS_OK)
        fail_operation(call, op, &error, NULL);
    else
        answer_procedure(call, shape, op, input, args);
    json_decref(input);
}

/* To a key, what does not exist is what only the owner has. */
void rpc_refuse(struct http_call *call, const struct op *op)
{
    struct ethos_error refused;
    struct http_error error = {403, "FORBIDDEN", "This key may not do that", OP_OWNER_ONLY};
    if (!op && call->who != HTTP_KEY) {
        error = (struct http_error){404, "NOT_FOUND", "No such procedure", NULL};
    } else if (op) {
        op_refuse(op, call->rights, &refused);
        error.action = refused.hint;
    }
    http_answer_error(call, &error, NULL);
}

void http_rpc(struct http_call *call)
{
    static const struct http_error method = {405, "METHOD_NOT_SUPPORTED",
                                             "Procedures are called with POST", NULL};
    const struct shape *shape;
    const struct op *op = rpc_find_op(call->rest, &shape);
    if (!op || !op_allowed(op, call->rights)) {
        rpc_refuse(call, op);
    } else if (call->method != HTTP_POST) {
        http_answer_header(call, "Allow", "POST");
        http_answer_error(call, &method, NULL);
    } else {
        run_procedure(call, shape, op);
    }
}
