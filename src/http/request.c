/*
 * request.c: one request and its answer, as handlers see them; no socket, no libmicrohttpd.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "http/server.h"

/* ---- the request --------------------------------------------------------------------------------- */

void call_init(struct http_call *call, struct http_reply *reply)
{
    *reply = (struct http_reply){0};
    *call = (struct http_call){.reply = reply};
    str_init(&call->out, HTTP_MAX_ANSWER);
    str_init(&reply->headers, HTTP_MAX_REPLY_HEADERS);
}

static void drop_answer(struct http_call *call)
{
    struct http_reply *reply = call->reply;
    str_clear(&call->out);
    str_clear(&reply->headers);
    reply->bytes = view_of(NULL, 0);
    op_validator_free(reply->again);
    reply->again = NULL;
    if (reply->stream)
        reply->stream->close(reply->stream);
    reply->stream = NULL;
    reply->is_stream = false;
}

void call_release(struct http_call *call)
{
    drop_answer(call);
    str_release(&call->out);
    str_release(&call->reply->headers);
}

void call_again(struct http_call *call)
{
    struct http_reply *reply = call->reply;
    drop_answer(call);
    if (call->out.capacity > HTTP_KEPT_BYTES)
        str_release(&call->out);
    struct str out = call->out, headers = reply->headers;
    call_init(call, reply);
    call->out = out;
    reply->headers = headers;
}

void call_name(struct http_call *call, const char *given)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_=-";
    size_t size = given ? strspn(given, allowed) : 0;
    if (size > 0 && !given[size] && size < sizeof call->request_id)
        memcpy(call->request_id, given, size + 1);
    else
        seats_name(call->seat, call->request_id);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool call_line_ok(const char *line)
{
    for (; *line; line++) {
        if (*line <= ' ' || *line > '~')
            return false;
        if (*line != '%')
            continue;
        int high = hex_digit(line[1]), low = high < 0 ? -1 : hex_digit(line[2]);
        if (low < 0 || high + low == 0)
            return false;
        line += 2;
    }
    return true;
}

/* No part may be "." or "..", or empty but the last: what a path names, it names in one way. */
bool call_path_ok(const char *path)
{
    if (*path != '/' || !utf8_valid(view_str(path)))
        return false;
    for (const char *at = path; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F || *at == '\\')
            return false;
    while (*path) {
        const char *part = path + 1;
        size_t size = strcspn(part, "/");
        bool dots = size > 0 && size < 3 && strspn(part, ".") == size;
        if (dots || (size == 0 && part[size]))
            return false;
        path = part + size;
    }
    return true;
}

const char *call_method_name(enum http_method method)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS",
    };
    return names[method];
}

bool http_method_parse(const char *name, enum http_method *out)
{
    for (enum http_method method = HTTP_GET; method <= HTTP_OPTIONS; method++) {
        if (strcmp(call_method_name(method), name) == 0) {
            *out = method;
            return true;
        }
    }
    return false;
}

/* ---- the answer ------------------------------------------------------------------------------------ */

void http_answer_header(struct http_call *call, const char *name, const char *value)
{
    struct str *headers = &call->reply->headers;
    str_add(headers, view_of(name, strlen(name) + 1));
    str_add(headers, view_of(value, strlen(value) + 1));
}

void http_answer_json(struct http_call *call, unsigned status, json_t *value)
{
    str_clear(&call->out);
    call->status = status;
    call->type = "application/json";
    if (!value)
        str_fail(&call->out, ETHOS_NOMEM);
    else
        json_print(value, JSON_STYLE_LINE, &call->out);
    json_decref(value);
}

void http_answer_static(struct http_call *call, const char *type, struct ethos_view bytes)
{
    call->type = type;
    call->reply->bytes = bytes;
    if (!call->status)
        call->status = 200;
}

void call_refuse(struct http_call *call, const struct http_error *error)
{
    drop_answer(call);
    http_answer_error(call, error, NULL);
}

/* An answer that could not be made whole is another answer. */
static void check_answer(struct http_call *call)
{
    static const struct http_error large = {500, "INTERNAL", "The answer is too large",
                                            "Ask for less."};
    static const struct http_error failed = {500, "INTERNAL", "Out of memory", "Try again later."};
    int code = str_code(&call->out);
    if (code == ETHOS_OK)
        code = str_code(&call->reply->headers);
    if (code != ETHOS_OK)
        call_refuse(call, code == ETHOS_LIMIT ? &large : &failed);
}

void call_run(struct http_call *call)
{
    call->seat = seats_take(call->http->seats);
    call->reply->route->run(call);
    check_answer(call);
}

struct events *http_events_of(const struct http_call *call)
{
    return call->http->events;
}

/* ---- operations -------------------------------------------------------------------------------------- */

bool http_quick_op(const struct op *op)
{
    return op->effect & OP_QUICK;
}

static bool has_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    return false;
}

/* Takes a member out of the arguments. *out lives as long as *holder; NULL: it was not said. */
static int take_name(const struct op *op, json_t *args, const char *name, json_t **holder,
                     const char **out, struct ethos_error *error)
{
    json_t *value = has_arg(op, name) ? NULL : json_object_get(args, name);
    *holder = json_incref(value);
    if (value)
        json_object_del(args, name);
    if (!value || json_is_null(value))
        return ETHOS_OK;
    *out = json_string_value(value);
    if (!*out || !**out || strlen(*out) != json_string_length(value))
        return err_set(error, ETHOS_INVALID, "%s: must be a name", name);
    return ETHOS_OK;
}

/* Whose memory: what the call says, else what the command line of the server said. */
struct whose {
    struct ethos_request request;
    json_t *held[4];
    char workspace[ETHOS_MAX_SCOPE + 16];
};

static int read_whose(const struct http_call *call, const struct op *op, json_t *args,
                      struct whose *out, struct ethos_error *error)
{
    const char *workspace = NULL;
    out->request = call->http->request;
    int code = take_name(op, args, "personalityId", &out->held[0], &out->request.personality,
                         error);
    if (code == ETHOS_OK)
        code = take_name(op, args, "userId", &out->held[1], &out->request.user, error);
    if (code == ETHOS_OK)
        code = take_name(op, args, "workspaceId", &out->held[2], &workspace, error);
    if (code == ETHOS_OK)
        code = take_name(op, args, "sessionId", &out->held[3], &out->request.session, error);
    if (code != ETHOS_OK)
        return code;
    if (!workspace) {
        if (!out->request.workspace)
            out->request.workspace = ""; // none, whatever folder the server was started in
        return ETHOS_OK;
    }
    bool whole = view_starts(view_str(workspace), VIEW("workspace:"));
    int size = snprintf(out->workspace, sizeof out->workspace, "%s%s",
                        whole ? "" : "workspace:", workspace);
    if (size < 0 || (size_t)size >= sizeof out->workspace)
        return err_set(error, ETHOS_INVALID, "workspaceId: too long");
    out->request.workspace = out->workspace;
    return ETHOS_OK;
}

/* Takes dryRun out of the arguments: nothing is changed, the answer tells what would be. */
static int take_dry_run(const struct op *op, json_t *args, bool *out, struct ethos_error *error)
{
    json_t *value = has_arg(op, "dryRun") ? NULL : json_object_get(args, "dryRun");
    if (value && !json_is_boolean(value) && !json_is_null(value))
        return err_set(error, ETHOS_INVALID, "dryRun: must be true or false");
    *out = json_is_true(value);
    if (value)
        json_object_del(args, "dryRun");
    return ETHOS_OK;
}

static int run_for(struct http_call *call, const struct op *op, unsigned rights,
                   struct op_call *inner, struct op_result *result, struct ethos_error *error)
{
    inner->home = call->http->options.home;
    inner->only = call->only;
    inner->id = call->request_id;
    inner->tell = http_tell_session;
    inner->chat = call->http->chat;
    inner->progress_arg = call;
    inner->dry_run |= call->http->dry_run;
    if (call->who == HTTP_KEY)
        inner->actor = call->actor;
    int code = op->effect & OP_NO_HOME ? ETHOS_OK : http_ethos(call, &inner->ethos, error);
    return code == ETHOS_OK ? op_run_as(op, rights, inner, result, error) : code;
}

bool http_has_workspace(const struct http_call *call)
{
    return call->http->request.workspace && *call->http->request.workspace;
}

int http_run_call(struct http_call *call, const struct op *op, unsigned rights,
                  struct op_call *inner, struct op_result *result, struct ethos_error *error)
{
    struct ethos_request request = call->http->request;
    if (!request.workspace)
        request.workspace = ""; // none, whatever folder the server was started in
    inner->request = &request;
    return run_for(call, op, op_rights_both(rights, call->rights), inner, result, error);
}

static void swap_strings(struct str *a, struct str *b)
{
    struct str other = *a;
    *a = *b;
    *b = other;
}

int http_run(struct http_call *call, const struct op *op, json_t *args, struct op_result *result,
             struct ethos_error *error)
{
    struct whose whose = {0};
    op_result_init(result);
    int code = args ? read_whose(call, op, args, &whose, error) : err_nomem(error);
    struct op_call inner = {.request = &whose.request,
                            .args = args,
                            .want_json = !call->raw,
                            .printed = call->printed && (op->effect & OP_PRINTS),
                            .again = call->again,
                            .via = "http",
                            .source = call->source};
    if (code == ETHOS_OK)
        code = take_dry_run(op, args, &inner.dry_run, error);
    if (inner.printed)
        swap_strings(&call->out, &result->text);
    if (code == ETHOS_OK)
        code = run_for(call, op, call->rights, &inner, result, error);
    if (inner.printed)
        swap_strings(&call->out, &result->text);
    if (code == ETHOS_OK && call->again) {
        op_validator_free(call->reply->again);
        call->reply->again = result->again;
        result->again = NULL;
    }
    for (size_t i = 0; i < sizeof whose.held / sizeof *whose.held; i++)
        json_decref(whose.held[i]);
    json_decref(args);
    return code;
}
