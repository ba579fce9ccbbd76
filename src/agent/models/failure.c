/*
 * failure.c: why a model did not answer.
 *
 * Servers agree neither on the shape of an error nor on its words: the error is classified by its type or code
 * where these are known, by phrases of its text for an overflow, and otherwise by the status.
 */
#include "agent/models/failure.h"

#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/utf8.h"
#include "base/view.h"

#define DETAIL_UNITS 300     /* CH of the server's own words */
#define MAX_ERROR_BODY 65536 /* bytes that are parsed */

static const char *const phrases[] = {
    [MODEL_AUTH] = "the key was not accepted",
    [MODEL_BILLING] = "the account has no credit left",
    [MODEL_RATE] = "too many requests",
    [MODEL_OVERLOADED] = "the server is overloaded",
    [MODEL_OVERFLOW] = "the conversation is longer than the context window",
    [MODEL_REQUEST] = "the server rejected the request",
    [MODEL_NOT_FOUND] = "no such model or address",
    [MODEL_NETWORK] = "the connection failed",
    [MODEL_TIMEOUT] = "no answer in time",
    [MODEL_PROTOCOL] = "the answer is not valid",
    [MODEL_SERVER] = "the server failed",
    [MODEL_ABORTED] = "aborted",
};

/* A type or code that a server names. */
static const struct {
    const char *name;
    enum model_error error;
} names[] = {
    {"context_length_exceeded", MODEL_OVERFLOW},
    {"exceed_context_size_error", MODEL_OVERFLOW},
    {"model_context_window_exceeded", MODEL_OVERFLOW},
    {"request_too_large", MODEL_OVERFLOW},
    {"authentication_error", MODEL_AUTH},
    {"permission_error", MODEL_AUTH},
    {"invalid_api_key", MODEL_AUTH},
    {"billing_error", MODEL_BILLING},
    {"insufficient_quota", MODEL_BILLING},
    {"rate_limit_error", MODEL_RATE},
    {"rate_limit_exceeded", MODEL_RATE},
    {"overloaded_error", MODEL_OVERLOADED},
    {"server_is_overloaded", MODEL_OVERLOADED},
    {"not_found_error", MODEL_NOT_FOUND},
    {"model_not_found", MODEL_NOT_FOUND},
    {"api_error", MODEL_SERVER},
    {"server_error", MODEL_SERVER},
    {"timeout_error", MODEL_SERVER},
};

static const char *const overflow_texts[] = {
    "prompt is too long",      "maximum context length",    "context window",
    "available context size",  "than the context length",   "input token count",
    "context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded",
};

/* ---- the sentence ------------------------------------------------------------------------------- */

/* Some servers repeat what they were sent. */
static void add_without_key(struct str *out, struct ethos_view text, const char *key)
{
    struct ethos_view secret = view_str(key);
    while (secret.size > 0) {
        const char *at = memmem(text.data, text.size, secret.data, secret.size);
        if (!at)
            break;
        str_add(out, view_of(text.data, (size_t)(at - text.data)));
        str_adds(out, "[key]");
        text = view_from(text, (size_t)(at - text.data) + secret.size);
    }
    str_add(out, text);
}

static void add_detail(struct str *out, struct ethos_view detail, const char *key)
{
    struct str valid, clean;
    str_init(&valid, 4 * MAX_ERROR_BODY);
    str_init(&clean, 4 * MAX_ERROR_BODY);
    utf8_sanitize(view_of(detail.data, detail.size < MAX_ERROR_BODY ? detail.size : MAX_ERROR_BODY),
                  &valid);
    add_without_key(&clean, str_view(&valid), key);
    if (str_code(&clean) == ETHOS_OK && !line_blank(str_view(&clean))) {
        str_adds(out, ": ");
        line_cut(str_view(&clean), DETAIL_UNITS, out);
    }
    str_release(&valid);
    str_release(&clean);
}

void failure_set(struct failure *out, const struct failure_context *context, enum model_error error,
                 int http, struct ethos_view detail)
{
    struct str text;
    *out = (struct failure){.error = error, .http = http};
    str_init(&text, 8 * MAX_ERROR_BODY);
    str_printf(&text, "%s: %s", context->provider, phrases[error]);
    if (http != 0 && http != 200)
        str_printf(&text, " (HTTP %d)", http);
    size_t plain = text.size;
    add_detail(&text, detail, context->key);
    if (str_code(&text) != ETHOS_OK || text.size >= sizeof out->text)
        str_undo(&text, plain);
    snprintf(out->text, sizeof out->text, "%s", text.data);
    str_release(&text);
}

/* ---- what kind of error ------------------------------------------------------------------------- */

/* The members of an error that say something. */
struct reported {
    struct ethos_view type, code, message;
    int http;
};

static bool find_error_name(struct ethos_view name, enum model_error *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (view_eq_str(name, names[i].name)) {
            *out = names[i].error;
            return true;
        }
    return false;
}

static bool has_overflow_text(struct ethos_view text)
{
    for (size_t i = 0; i < sizeof overflow_texts / sizeof *overflow_texts; i++)
        if (text.data && memmem(text.data, text.size, overflow_texts[i], strlen(overflow_texts[i])))
            return true;
    return false;
}

static enum model_error error_from_status(int http)
{
    switch (http) {
    case 401:
    case 403:
        return MODEL_AUTH;
    case 402:
        return MODEL_BILLING;
    case 404:
        return MODEL_NOT_FOUND;
    case 413:
        return MODEL_OVERFLOW;
    case 429:
        return MODEL_RATE;
    case 503:
    case 529:
        return MODEL_OVERLOADED;
    default:
        return http >= 300 && http < 500 ? MODEL_REQUEST : MODEL_SERVER;
    }
}

static enum model_error classify_error(const struct reported *reported)
{
    enum model_error error;
    bool is_refusal = reported->http < 300 || reported->http == 400 || reported->http == 413 ||
                      reported->http == 500;
    if (is_refusal && has_overflow_text(reported->message))
        return MODEL_OVERFLOW;
    if (find_error_name(reported->code, &error) || find_error_name(reported->type, &error))
        return error;
    return error_from_status(reported->http);
}

/* ---- the shapes it comes in --------------------------------------------------------------------- */

static void read_error_object(struct reported *out, const json_t *error)
{
    const json_t *code = json_object_get(error, "code");
    const json_t *details = json_object_get(error, "details");
    out->type = json_view(error, "type");
    out->message = json_view(error, "message");
    out->code = json_view(error, "code");
    if (!out->code.data)
        out->code = json_view(details, "error_code");
    if (json_is_integer(code) && json_integer_value(code) >= 400 && json_integer_value(code) < 600)
        out->http = out->http >= 300 ? out->http : (int)json_integer_value(code);
}

/* {"error":{...}}, {"error":"text"}, [{"error":...}], {"message":"..."}, {"detail":"..."} */
static void read_document(struct reported *out, const json_t *document)
{
    if (json_is_array(document))
        document = json_array_get(document, 0);
    const json_t *error = json_object_get(document, "error");
    if (json_is_object(error))
        read_error_object(out, error);
    else if (json_is_object(document))
        read_error_object(out, document);
    if (json_is_string(error))
        out->message = json_view(document, "error");
    if (!out->message.data)
        out->message = json_view(document, "detail");
}

void failure_from_body(struct failure *out, const struct failure_context *context, int http,
                       struct ethos_view body)
{
    struct reported reported = {.http = http};
    json_t *document = NULL;
    if (json_parse_most(body, MAX_ERROR_BODY, "error", &document, NULL) == ETHOS_OK)
        read_document(&reported, document);
    else if (!view_starts(view_trim_start(body), VIEW("<"))) // a page is not worth showing
        reported.message = body;
    failure_set(out, context, classify_error(&reported), http, reported.message);
    json_decref(document);
}

void failure_from_json(struct failure *out, const struct failure_context *context,
                       const json_t *error)
{
    struct reported reported = {0};
    if (json_is_string(error))
        reported.message = view_of(json_string_value(error), json_string_length(error));
    else
        read_error_object(&reported, error);
    failure_set(out, context, classify_error(&reported), reported.http, reported.message);
}
