/*
 * api_memory_file.c: /api/memory/{store}: one file of memory as a resource.
 *
 *     GET, HEAD  the file, ETag is its revision; Accept: text/markdown gives its bytes; 304 and 412 as
 *                If-None-Match and If-Match want it
 *     PUT        {"content": ...}, with If-Match, or If-None-Match: * for a file that is not there yet
 *     DELETE     with If-Match
 *
 * The query says whose: personality, user, workspace; and which, when it is not the store's own file:
 * scope, key. A write that comes too late is 412 with the ETag of what is there; nothing is lost.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "http/handlers/api.h"

struct file {
    struct http_call *call;
    const struct op *get, *write, *sync;
    json_t *target; /* store, scope, key and whose, as arguments */
};

static const char *store_name(const char *rest)
{
    static const char *const stores[] = {"memory", "user"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(stores[i]);
        if (strncmp(rest, "memory/", 7) == 0 && strncmp(rest + 7, stores[i], size) == 0 &&
            (rest[7 + size] == 0 || strcmp(rest + 7 + size, "/") == 0))
            return stores[i];
    }
    return NULL;
}

bool api_is_file(const char *rest)
{
    return store_name(rest);
}

/* ---- which file ------------------------------------------------------------------------------------- */

struct parameters {
    json_t *target;
    bool unknown, doubled;
};

static void take_parameter(void *to, const char *name, const char *value)
{
    static const char *const names[][2] = {{"personality", "personalityId"},
                                           {"user", "userId"},
                                           {"workspace", "workspaceId"},
                                           {"scope", "scope"},
                                           {"key", "key"}};
    struct parameters *parameters = to;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i][0]) == 0) {
            parameters->doubled |= json_object_get(parameters->target, names[i][1]) != NULL;
            op_json_put(&parameters->target, names[i][1], json_text(view_str(value ? value : "")));
            return;
        }
    }
    parameters->unknown = true;
}

/* A key of its own is no store's. */
static bool read_target(struct file *file, const char *store)
{
    static const struct http_error unknown = {400, "INVALID_INPUT",
                                              "The query has a parameter that a file does not take",
                                              "Use personality, user, workspace, scope, key"};
    struct parameters parameters = {json_object(), false, false};
    http_each_query(file->call, take_parameter, &parameters);
    if (!json_object_get(parameters.target, "key"))
        op_json_put(&parameters.target, "store", json_string(store));
    file->target = parameters.target;
    if (parameters.unknown)
        http_answer_error(file->call, &unknown, NULL);
    else if (parameters.doubled)
        api_doubled(file->call);
    return !parameters.unknown && !parameters.doubled;
}

/* Arguments for one operation: the target, with what comes besides. */
static json_t *with(const struct file *file, const char *name, json_t *value)
{
    json_t *args = json_copy(file->target);
    if (name)
        op_json_put(&args, name, value);
    return args;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* A PUT would make it, so there it is the condition that fails. */
static void answer_absent(struct http_call *call)
{
    static const struct http_error absent = {404, "NOT_FOUND", "There is no such file yet",
                                             "PUT it with If-None-Match: *"},
                                   unmet = {412, "PRECONDITION_FAILED", "There is no such file yet",
                                            "PUT it with If-None-Match: *"};
    http_answer_error(call, call->method == HTTP_PUT ? &unmet : &absent, NULL);
}

/* The revision of what is there now; "" when nothing is. False: it was answered. */
static bool read_revision(const struct file *file, char out[ETHOS_REVISION_SIZE])
{
    struct ethos_error error = {0};
    struct op_result result;
    int code = http_run(file->call, file->get, with(file, NULL, NULL), &result, &error);
    struct ethos_view revision = json_view(result.json, "revision");
    size_t size = revision.size < ETHOS_REVISION_SIZE ? revision.size : 0;
    memcpy(out, size ? revision.data : "", size);
    out[size] = 0;
    op_result_release(&result);
    if (code != ETHOS_OK)
        api_fail(file->call, file->get, &error, NULL);
    return code == ETHOS_OK;
}

/* JSON is in the answer already; bytes are taken. */
static void answer_file(struct http_call *call, const json_t *about, struct str *bytes)
{
    size_t size;
    const char *revision = json_view(about, "revision").data,
               *known_at = json_view(about, "knownAt").data;
    if (known_at) // the backend is out of reach
        http_answer_header(call, "Ethos-Known-At", known_at);
    if (api_answer_failed_precondition(call, revision))
        return;
    call->type = call->raw ? "text/markdown; charset=utf-8" : "application/json";
    if (!call->raw)
        return;
    char *data = str_steal(bytes, &size);
    if (data)
        str_adopt(&call->out, data, size);
    else
        str_fail(&call->out, ETHOS_NOMEM);
}

static bool wants_bytes(const struct http_call *call)
{
    const char *accept = http_header(call, "Accept");
    return accept && strstr(accept, "text/markdown");
}

static void get_file(const struct file *file)
{
    struct http_call *call = file->call;
    struct ethos_error error = {0};
    struct op_result result;
    call->raw = wants_bytes(call);
    call->printed = !call->raw;
    call->again = true;
    http_answer_header(call, "Vary", "Accept");
    int code = http_run(call, file->get, json_incref(file->target), &result, &error);
    const char *revision = json_view(result.json, "revision").data;
    if (code != ETHOS_OK)
        api_fail(call, file->get, &error, NULL);
    else if (!revision)
        answer_absent(call);
    else
        answer_file(call, result.json, &result.text);
    op_result_release(&result);
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static void answer_stale(const struct file *file)
{
    char revision[ETHOS_REVISION_SIZE];
    if (read_revision(file, revision))
        api_stale(file->call, *revision ? revision : NULL, NULL);
}

/* Whether what If-Match asks for, and what If-None-Match forbids beside it, is so. revision is the one meant. */
static bool is_met(const struct http_call *call, enum api_match match, const char *revision)
{
    bool listed = match != API_MATCH_MANY ||
                  api_has_tag(http_header(call, "If-Match"), false, revision);
    return match != API_MATCH_BAD && listed &&
           !api_has_tag(http_header(call, "If-None-Match"), true, revision);
}

/* With If-Match. A list, and "*", ask for what is there now. */
static bool read_match(const struct file *file, enum api_match match, char out[ETHOS_REVISION_SIZE])
{
    bool ask = match == API_MATCH_ANY || match == API_MATCH_MANY;
    if (ask && !read_revision(file, out))
        return false;
    bool absent = ask && !*out, met = !absent && is_met(file->call, match, out);
    if (absent)
        answer_absent(file->call);
    else if (!met)
        answer_stale(file);
    else if (match == API_MATCH_ANY && !http_header(file->call, "If-None-Match"))
        *out = 0; // else it must still be the one that was not forbidden
    return met;
}

/*
 * What the file must be for the write to happen: a revision, "absent", or "" for any text that is
 * there. False: it was answered.
 */
static bool read_condition(const struct file *file, bool create, char out[ETHOS_REVISION_SIZE])
{
    struct http_call *call = file->call;
    enum api_match match = api_match(http_header(call, "If-Match"), out);
    bool made = match == API_MATCH_NONE && create && api_is_any(http_header(call, "If-None-Match"));
    if (made)
        memcpy(out, "absent", sizeof "absent");
    else if (match == API_MATCH_NONE)
        api_require_match(call);
    return made || (match != API_MATCH_NONE && read_match(file, match, out));
}

/* Runs what writes; true when it was done, and *result is what it gave. */
static bool write_with(const struct file *file, const struct op *op, json_t *args,
                       struct op_result *result)
{
    struct ethos_error error = {0};
    file->call->source = "web-editor";
    int code = http_run(file->call, op, args, result, &error);
    if (code == ETHOS_OK && result->code != ETHOS_OK) {
        code = result->code;
        error = result->error;
    }
    if (code == ETHOS_CONFLICT)
        answer_stale(file);
    else if (code != ETHOS_OK)
        api_fail(file->call, op, &error, NULL);
    return code == ETHOS_OK;
}

static void replace_file(const struct file *file)
{
    static const struct http_error shape = {400, "INVALID_INPUT",
                                            "The body must be {\"content\": text}", NULL};
    char revision[ETHOS_REVISION_SIZE] = "";
    struct op_result result;
    json_t *body = api_body(file->call);
    json_t *content = json_object_get(body, "content");
    if (body && (!json_is_string(content) || json_object_size(body) != 1)) {
        http_answer_error(file->call, &shape, NULL);
    } else if (body && read_condition(file, true, revision)) {
        json_t *args = with(file, "content", json_incref(content));
        if (*revision)
            op_json_put(&args, "ifMatch", json_string(revision));
        bool created = strcmp(revision, "absent") == 0;
        if (write_with(file, file->write, args, &result)) {
            const char *now = json_view(result.json, "revision").data;
            if (now)
                api_tag(file->call, now);
            unsigned status = api_queued(result.json) ? 202 : created ? 201 : 200;
            http_answer_json(file->call, status, json_incref(result.json));
        }
        op_result_release(&result);
    }
    json_decref(body);
}

/* The update that deletes, as the text that a sync takes; what says whose stays beside it. */
static json_t *delete_args(const struct file *file, const char *revision)
{
    static const char *const named[] = {"store", "scope", "key"};
    json_t *args = json_copy(file->target), *update = json_pack("{s:s}", "action", "delete");
    struct str text;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        json_t *value = json_object_get(file->target, named[i]);
        if (value)
            op_json_put(&update, named[i], json_incref(value));
        if (args)
            json_object_del(args, named[i]);
    }
    if (*revision)
        op_json_put(&update, "ifMatch", json_string(revision));
    str_init(&text, SIZE_MAX);
    if (!update || json_print(update, JSON_STYLE_LINE, &text) != ETHOS_OK)
        str_fail(&text, ETHOS_NOMEM);
    op_json_put(&args, "updates", str_code(&text) == ETHOS_OK ? json_text(str_view(&text)) : NULL);
    str_release(&text);
    json_decref(update);
    return args;
}

static void delete (const struct file *file)
{
    char revision[ETHOS_REVISION_SIZE] = "";
    struct op_result result;
    if (!read_condition(file, false, revision))
        return;
    if (write_with(file, file->sync, delete_args(file, revision), &result)) {
        if (api_queued(result.json))
            http_answer_json(file->call, 202, json_incref(result.json));
        else
            file->call->status = 204;
    }
    op_result_release(&result);
}

/* ---- the resource ---------------------------------------------------------------------------------------- */

static void serve_file(const struct file *file)
{
    static const struct http_error method = {405, "METHOD_NOT_SUPPORTED", "Not with this method",
                                             NULL};
    switch (file->call->method) {
    case HTTP_GET:
    case HTTP_HEAD:
        get_file(file);
        return;
    case HTTP_PUT:
        replace_file(file);
        return;
    case HTTP_DELETE:
        delete (file);
        return;
    default:
        http_answer_header(file->call, "Allow", "GET, HEAD, PUT, DELETE");
        http_answer_error(file->call, &method, NULL);
    }
}

bool api_file(struct http_call *call)
{
    const char *store = store_name(call->rest);
    bool reads = call->method == HTTP_GET || call->method == HTTP_HEAD;
    if (!store)
        return false;
    struct file file = {.call = call,
                        .get = op_find("memory.get"),
                        .write = op_find("memory.write"),
                        .sync = op_find("memory.sync")};
    const struct op *op = reads ? file.get : file.write;
    if (!op_allowed(op, call->rights))
        rpc_refuse(call, op);
    else if (read_target(&file, store))
        serve_file(&file);
    json_decref(file.target);
    return true;
}
