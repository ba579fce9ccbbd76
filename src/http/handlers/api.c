/*
 * api.c: /api/<namespace>/<method>, for people and scripts: the operations as plain HTTP.
 *
 * What reads is GET with a query, what writes is POST with JSON. What may overwrite or remove wants
 * If-Match, so that nobody does by accident: with the revision where the operation has one, else "*".
 */
#include "http/handlers/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"

/* ---- revisions in headers ------------------------------------------------------------------------ */

/* Takes the next entity tag off *list, without quotes; false at the end, or when it is none. */
static bool next_tag(const char **list, bool *weak, struct ethos_view *out)
{
    const char *at = *list + strspn(*list, " \t,");
    *weak = strncmp(at, "W/", 2) == 0;
    at += *weak ? 2 : 0;
    const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
    if (!end)
        return false;
    *out = view_of(at + 1, (size_t)(end - at - 1));
    *list = end + 1 + strspn(end + 1, " \t,");
    return true;
}

bool api_is_any(const char *header)
{
    return view_eq(view_trim(view_str(header)), VIEW("*"));
}

enum api_match api_match(const char *header, char out_revision[ETHOS_REVISION_SIZE])
{
    struct ethos_view tag;
    bool weak;
    if (!header)
        return API_MATCH_NONE;
    if (api_is_any(header))
        return API_MATCH_ANY;
    if (!next_tag(&header, &weak, &tag))
        return API_MATCH_BAD;
    if (*header)
        return API_MATCH_MANY;
    if (weak || tag.size == 0 || tag.size >= ETHOS_REVISION_SIZE || view_eq(tag, VIEW("absent")))
        return API_MATCH_BAD;
    memcpy(out_revision, tag.data, tag.size);
    out_revision[tag.size] = 0;
    return API_MATCH_ONE;
}

bool api_has_tag(const char *header, bool weak_too, const char *revision)
{
    struct ethos_view tag;
    bool weak;
    if (!header || api_is_any(header))
        return header != NULL;
    while (next_tag(&header, &weak, &tag))
        if ((weak_too || !weak) && view_eq_str(tag, revision))
            return true;
    return false;
}

void api_tag(struct http_call *call, const char *revision)
{
    char tag[ETHOS_REVISION_SIZE + 2] = "\"";
    size_t size = strnlen(revision, ETHOS_REVISION_SIZE - 1);
    memcpy(tag + 1, revision, size);
    memcpy(tag + 1 + size, "\"", 2);
    http_answer_header(call, "ETag", tag);
}

/* ---- errors ---------------------------------------------------------------------------------------- */

void api_fail(struct http_call *call, const struct op *op, const struct ethos_error *error,
              json_t *data)
{
    const struct http_error told = http_error_of(op, error);
    http_answer_error(call, &told, data);
}

void api_require_match(struct http_call *call)
{
    static const struct http_error error = {428, "PRECONDITION_REQUIRED",
                                            "This may overwrite or remove what somebody else wrote",
                                            "Send If-Match with the ETag that you read, or *"};
    http_answer_error(call, &error, NULL);
}

void api_stale(struct http_call *call, const char *revision, json_t *data)
{
    static const struct http_error error = {412, "PRECONDITION_FAILED",
                                            "It is not what you read any more",
                                            "Read it again, and decide"};
    if (revision)
        api_tag(call, revision);
    http_answer_error(call, &error, data);
}

void api_doubled(struct http_call *call)
{
    static const struct http_error error = {400, "INVALID_INPUT", "The query has a parameter twice",
                                            "Say each once; only lists may be said in parts"};
    http_answer_error(call, &error, NULL);
}

static void wrong_method(struct http_call *call, const char *allow)
{
    const struct http_error error = {405, "METHOD_NOT_SUPPORTED", "Not with this method", NULL};
    http_answer_header(call, "Allow", allow);
    http_answer_error(call, &error, NULL);
}

/* ---- arguments --------------------------------------------------------------------------------------- */

struct query {
    const struct op *op;
    json_t *args;
    bool doubled; /* one was given twice, and is no list */
};

static const struct op_arg *find_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

/* A text that is no number stays one: the row's check tells what is wrong with it. */
static json_t *convert(const struct op_arg *arg, const char *text)
{
    char *end;
    if (arg && arg->type == OP_INTEGER && *text) {
        long long number = strtoll(text, &end, 10);
        if (!*end)
            return json_integer(number);
    }
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0 || !*text;
    bool no = strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    if (arg && arg->type == OP_FLAG && (yes || no))
        return json_boolean(yes);
    return json_text(view_str(text));
}

static void add_parameter(void *to, const char *name, const char *value)
{
    struct query *query = to;
    const struct op_arg *arg = find_arg(query->op, name);
    json_t *converted = convert(arg, value ? value : "");
    if (!arg || !(arg->flags & OP_MANY)) {
        query->doubled |= json_object_get(query->args, name) != NULL;
        op_json_put(&query->args, name, converted);
        return;
    }
    json_t *list = json_object_get(query->args, name);
    list = list ? json_incref(list) : json_array();
    op_json_push(&list, converted);
    op_json_put(&query->args, name, list);
}

json_t *api_query(struct http_call *call, const struct op *op)
{
    struct query query = {op, json_object(), false};
    struct ethos_error error = {0};
    http_each_query(call, add_parameter, &query);
    if (!query.args) {
        api_fail(call, op, (err_nomem(&error), &error), NULL);
    } else if (query.doubled) {
        api_doubled(call);
        json_decref(query.args);
        return NULL;
    }
    return query.args;
}

json_t *api_body(struct http_call *call)
{
    struct ethos_error error = {0};
    json_t *args = NULL;
    int code = view_blank(call->body) ? ETHOS_OK : json_parse(call->body, "body", &args, &error);
    if (code == ETHOS_OK && !args)
        args = json_object();
    if (code == ETHOS_OK && !json_is_object(args))
        code = err_set(&error, ETHOS_INVALID, "body: must be an object");
    if (code == ETHOS_OK)
        return args;
    json_decref(args);
    http_answer_failure(call, &error);
    return NULL;
}

/* Checks the arguments as /rpc does, but refuses what the row does not know. */
static json_t *check_arguments(struct http_call *call, const struct op *op, json_t *given)
{
    struct ethos_error error = {0};
    json_t *args = NULL, *issues = NULL, *unknown;
    const char *name;
    int code = shape_args(NULL, op, given, &args, &issues, &error);
    json_object_foreach (given, name, unknown)
        if (code == ETHOS_OK && !json_object_get(args, name))
            code = err_set(&error, ETHOS_INVALID, "%s: unknown argument %s", op->name, name);
    json_decref(given);
    if (code == ETHOS_OK)
        return args;
    json_decref(args);
    api_fail(call, op, &error, issues ? json_pack("{s:o}", "issues", issues) : NULL);
    return NULL;
}

/* ---- answers ------------------------------------------------------------------------------------------ */

bool api_queued(const json_t *result)
{
    return json_is_true(json_object_get(result, "queued"));
}

bool api_answer_failed_precondition(struct http_call *call, const char *revision)
{
    const char *match = http_header(call, "If-Match");
    bool stale = match && !api_has_tag(match, false, revision);
    bool had = api_has_tag(http_header(call, "If-None-Match"), true, revision);
    if (stale || had)
        str_clear(&call->out); // it may have been printed already
    if (stale) {
        api_stale(call, revision, NULL);
        return true;
    }
    api_tag(call, revision);
    call->status = had ? 304 : 200;
    return had;
}

void api_answer(struct http_call *call, const json_t *result)
{
    const json_t *chunk = json_object_get(result, "chunk"); // an entry of the file
    const char *revision = json_view(chunk ? chunk : result, "revision").data;
    bool read = call->method == HTTP_GET || call->method == HTTP_HEAD;
    bool absent = !chunk &&
                  json_is_null(json_object_get(result, "revision")); // a file that is not there
    if (revision && !read)
        api_tag(call, revision);
    if (read && absent && http_header(call, "If-Match"))
        api_stale(call, NULL, NULL);
    else if (!revision || !read || !api_answer_failed_precondition(call, revision))
        http_answer_json(call, api_queued(result) ? 202 : 200,
                         result ? json_incref((json_t *)result) : json_null());
}

/* The revision that a report gives as the one that is there now; NULL when it says none. */
static const char *report_revision(const json_t *report)
{
    return json_view(json_array_get(json_object_get(report, "conflicts"), 0), "revision").data;
}

static void run_api_call(struct http_call *call, const struct op *op, json_t *args)
{
    // A conflict says "not what you read" to those alone who said what that was.
    bool named = ((op->effect & OP_DESTRUCTIVE) && json_object_get(args, "ifMatch")) ||
                 json_object_get(args, "ifRevision");
    struct ethos_error error = {0};
    struct op_result result;
    int code = http_run(call, op, args, &result, &error);
    bool partial = code == ETHOS_OK && result.code != ETHOS_OK && (op->effect & OP_WRITES);
    const struct ethos_error *why = code != ETHOS_OK ? &error : &result.error;
    json_t *report = partial ? http_error_data(result.json) : NULL;
    if (code == ETHOS_OK && !partial)
        api_answer(call, result.json);
    else if (named && (code == ETHOS_CONFLICT || result.code == ETHOS_CONFLICT))
        api_stale(call, report_revision(result.json), report);
    else
        api_fail(call, op, why, report);
    op_result_release(&result);
}

/* False: it was answered. */
static bool take_match(struct http_call *call, const struct op *op, json_t **args)
{
    char revision[ETHOS_REVISION_SIZE];
    enum api_match match = api_match(http_header(call, "If-Match"), revision);
    bool own = find_arg(op, "ifMatch");
    if (match == API_MATCH_NONE)
        api_require_match(call);
    else if (match != API_MATCH_ANY && (match != API_MATCH_ONE || !own))
        api_stale(call, NULL, NULL);
    else if (match == API_MATCH_ONE)
        op_json_put(args, "ifMatch", json_string(revision));
    return match == API_MATCH_ANY || (match == API_MATCH_ONE && own);
}

void api_run(struct http_call *call, const struct op *op, json_t *args)
{
    args = check_arguments(call, op, args);
    if (args)
        run_api_call(call, op, args);
}

static void run_named(struct http_call *call, const struct op *op)
{
    json_t *args = op->effect & OP_WRITES ? api_body(call) : api_query(call, op);
    if (args && (op->effect & OP_DESTRUCTIVE) && !take_match(call, op, &args)) {
        json_decref(args);
        return;
    }
    if (args)
        api_run(call, op, args);
}

void http_api(struct http_call *call)
{
    if (api_file(call) || api_chunks(call))
        return;
    const struct op *op = api_op(call->rest);
    bool reads = call->method == HTTP_GET || call->method == HTTP_HEAD;
    bool writes = op && (op->effect & OP_WRITES);
    if (!op || !op_allowed(op, call->rights))
        rpc_refuse(call, op);
    else if (writes ? call->method != HTTP_POST : !reads)
        wrong_method(call, writes ? "POST" : "GET, HEAD");
    else
        run_named(call, op);
}

bool http_api_quick(const struct http_call *call)
{
    bool reads = call->method == HTTP_GET || call->method == HTTP_HEAD;
    const struct op *op = api_is_file(call->rest) ? op_find("memory.get") : api_op(call->rest);
    bool asks = op && op->effect & OP_ASKS && http_query(call, "query");
    return !op || (reads && !asks && http_quick_op(op));
}
