/*
 * error.c: errors as they go over the wire, each route in its own form.
 *
 *     /rpc            {"ok":false, "code", "error", "action", "requestId", "json":{...}}: both kinds of
 *                     client find the cause
 *     /sse, /auth     the same without json
 *     anywhere else   problem+json (RFC 9457), with code in the words of --json
 *
 * What went wrong inside is never told outside: no path, no text of the system, only the request's id.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"

#define INTERNAL_MESSAGE "Something went wrong inside the server"

/* ---- codes ------------------------------------------------------------------------------------ */

struct code_row {
    int code;
    unsigned status;
    const char *wire;
};

static const struct code_row code_rows[] = {
    {ETHOS_NOTFOUND, 404, "NOT_FOUND"},
    {ETHOS_EXISTS, 409, "ALREADY_EXISTS"},
    {ETHOS_CONFLICT, 409, "CONFLICT"},
    {ETHOS_INVALID, 400, "INVALID_INPUT"},
    {ETHOS_LIMIT, 400, "INVALID_INPUT"},
    {ETHOS_DENIED, 403, "FORBIDDEN"},
    {ETHOS_BUSY, 503, "SERVICE_UNAVAILABLE"},
    {ETHOS_UNSUPPORTED, 501, "NOT_CONFIGURED"},
    {0, 500, "INTERNAL"},
};

/* What a code is called where the call is about one kind of thing. */
static const struct {
    const char *space; /* of the operation: its name begins so */
    int code;
    const char *wire;
} subjects[] = {
    {"sessions.", ETHOS_NOTFOUND, "SESSION_NOT_FOUND"},
    {"personalities.", ETHOS_NOTFOUND, "PERSONALITY_NOT_FOUND"},
    {"personalities.", ETHOS_EXISTS, "PERSONALITY_EXISTS"},
    {"memory.", ETHOS_CONFLICT, "MEMORY_CONFLICT"},
    {"notes.", ETHOS_CONFLICT, "MEMORY_CONFLICT"},
};

static const char *subject_code(const struct op *op, int code, const char *usual)
{
    for (size_t i = 0; op && i < sizeof subjects / sizeof *subjects; i++)
        if (subjects[i].code == code &&
            strncmp(op->name, subjects[i].space, strlen(subjects[i].space)) == 0)
            return subjects[i].wire;
    return usual;
}

struct http_error http_error_of(const struct op *op, const struct ethos_error *error)
{
    const struct code_row *row = code_rows;
    while (row->code && row->code != error->code)
        row++;
    const char *wire = subject_code(op, error->code, row->wire);
    if (row->status == 500)
        return (struct http_error){500, wire, INTERNAL_MESSAGE, "ethos doctor may tell more"};
    return (struct http_error){row->status, wire, error->text, *error->hint ? error->hint : NULL};
}

/* ---- forms ------------------------------------------------------------------------------------ */

static json_t *text_json(const char *text)
{
    return json_text(view_str(text ? text : ""));
}

/* What to do about an error that does not say so itself; NULL: of the shape of a call, whose issues tell. */
static const char *action_of(const struct http_error *error)
{
    static const char *const rows[][2] = {
        {"SESSION_NOT_FOUND", "List the sessions."},
        {"PERSONALITY_NOT_FOUND", "List the personalities."},
        {"PERSONALITY_EXISTS", "Choose another id."},
        {"PERSONALITY_READ_ONLY", "Duplicate it, and change the copy."},
        {"MEMORY_CONFLICT", "Read it again, then decide."},
        {"CONFLICT", "Read it again, then decide."},
        {"ALREADY_EXISTS", "Choose another name."},
        {"INVALID_INPUT", "Correct the value that the message names."},
        {"NOT_FOUND", "List what there is."},
        {"FORBIDDEN", "Use a credential that may do this: ethos api-key create."},
        {"NOT_CONFIGURED", "Run ethos doctor: it tells what is set up."},
        {"SERVICE_UNAVAILABLE", "Try again in a moment."},
    };
    for (size_t i = 0; !error->action && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], error->code) == 0)
            return rows[i][1];
    return error->action;
}

json_t *http_error_json(const struct http_call *call, const struct http_error *error, json_t *data)
{
    json_t *json = json_pack("{s:b, s:s, s:i, s:o}", "defined", 0, "code", error->code, "status",
                             (int)error->status, "message", text_json(error->message));
    bool inside = error->status >= 500;
    const char *action = action_of(error);
    if (!data && (action || inside))
        data = json_object();
    if (action)
        op_json_put(&data, "action", text_json(action));
    if (inside)
        op_json_put(&data, "requestId", text_json(call->request_id));
    if (data)
        op_json_put(&json, "data", data);
    return json;
}

static json_t *envelope_json(const struct http_call *call, const struct http_error *error)
{
    return json_pack("{s:b, s:s, s:o, s:o, s:o}", "ok", 0, "code", error->code, "error",
                     text_json(error->message), "action", text_json(action_of(error)), "requestId",
                     text_json(call->request_id));
}

/* The word of --json for a code of the wire. */
static void problem_code(const struct http_error *error, char out[40])
{
    static const struct {
        unsigned status;
        const char *word;
    } words[] = {{400, "invalid"},  {403, "denied"},      {404, "notfound"},
                 {409, "conflict"}, {412, "conflict"},    {413, "limit"},
                 {500, "internal"}, {501, "unsupported"}, {503, "busy"}};
    size_t size = 0;
    bool exists = view_ends(view_str(error->code), VIEW("EXISTS"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].status == error->status) {
            snprintf(out, 40, "%s", exists ? "exists" : words[i].word);
            return;
        }
    }
    for (const char *c = error->code; *c && size < 39; c++)
        out[size++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    out[size] = 0;
}

static const char *status_title(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } titles[] = {{400, "Bad Request"},
                  {401, "Unauthorized"},
                  {403, "Forbidden"},
                  {404, "Not Found"},
                  {405, "Method Not Allowed"},
                  {408, "Request Timeout"},
                  {409, "Conflict"},
                  {411, "Length Required"},
                  {412, "Precondition Failed"},
                  {413, "Content Too Large"},
                  {414, "URI Too Long"},
                  {415, "Unsupported Media Type"},
                  {421, "Misdirected Request"},
                  {428, "Precondition Required"},
                  {429, "Too Many Requests"},
                  {431, "Request Header Fields Too Large"},
                  {500, "Internal Server Error"},
                  {501, "Not Implemented"},
                  {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

static json_t *problem_json(const struct http_call *call, const struct http_error *error,
                            json_t *data)
{
    char code[40];
    problem_code(error, code);
    json_t *json = json_pack("{s:s, s:s, s:i, s:o, s:o, s:s, s:o}", "type", "about:blank", "title",
                             status_title(error->status), "status", (int)error->status, "detail",
                             text_json(error->message), "instance", text_json(call->path), "code",
                             code, "requestId", text_json(call->request_id));
    if (error->action)
        op_json_put(&json, "action", text_json(error->action));
    if (json && data)
        json_object_update_missing(json, data);
    json_decref(data);
    return json;
}

static bool path_starts(const struct http_call *call, const char *prefix)
{
    return call->path && strncmp(call->path, prefix, strlen(prefix)) == 0;
}

bool http_is_contract(const struct http_call *call)
{
    return path_starts(call, "/rpc/") || path_starts(call, "/sse/") || path_starts(call, "/auth/");
}

void http_answer_error(struct http_call *call, const struct http_error *error, json_t *data)
{
    bool rpc = path_starts(call, "/rpc/");
    if (error->status == 429 || error->status == 503)
        http_answer_header(call, "Retry-After", error->status == 429 ? "60" : "1");
    if (!http_is_contract(call)) {
        http_answer_json(call, error->status, problem_json(call, error, data));
        call->type = "application/problem+json";
        return;
    }
    json_t *json = envelope_json(call, error);
    if (rpc)
        op_json_put(&json, "json", http_error_json(call, error, data));
    else
        json_decref(data);
    http_answer_json(call, error->status, json);
}

void http_answer_failure(struct http_call *call, const struct ethos_error *error)
{
    const struct http_error told = http_error_of(NULL, error);
    http_answer_error(call, &told, NULL);
}
