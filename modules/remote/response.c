/*
 * response.c: what an answer means: the server's own word, a refusal on the way, or something that is no
 * answer of an ethos server at all.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/wire.h"
#include "remote.h"

#define BEHIND "is `ethos serve` running behind memory.options.url?"

int remote_unexpected_answer(const struct remote_link *link, const char *what,
                             struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CORRUPT, "%s: %s", link->url, what);
    return err_hint(error, code,
                    "check memory.options.url: is it an `ethos serve` of this version?");
}

/* ---- no answer ------------------------------------------------------------------------------------ */

static int untrusted(const struct remote_link *link, const struct remote_answer *answer,
                     struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, "%s: not trusted: %s", link->url, answer->reason);
    return err_hint(error, code, "set memory.options.caFile to the certificate of its authority");
}

static bool only_reads(const struct remote_call *ask)
{
    return (ask->flags & ASK_READ) == ASK_READ;
}

static enum verdict no_answer(const struct remote_link *link, const struct remote_call *ask,
                              const struct remote_answer *answer, int *code,
                              struct ethos_error *error)
{
    switch (answer->failure) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
        *code = untrusted(link, answer, error);
        return VERDICT_DONE;
    case CURLE_FILESIZE_EXCEEDED:
        *code = err_set(error, ETHOS_LIMIT, "%s: the answer exceeds %d bytes", link->url,
                        WIRE_MAX_BODY);
        return VERDICT_DONE;
    case CURLE_OUT_OF_MEMORY:
        *code = err_nomem(error);
        return answer->sent ? VERDICT_LOST : VERDICT_DONE;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        *code = remote_unexpected_answer(link, "what answers there does not speak HTTP", error);
        return VERDICT_DONE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        *code = err_set(error, ETHOS_BUSY, "%s: %s, nothing was done", link->url, answer->reason);
        err_hint(error, *code, "is the name correct? check memory.options.url");
        return VERDICT_DONE;
    default:
        break;
    }
    if (answer->sent && !only_reads(ask)) {
        *code = err_set(error, ETHOS_IO, "%s: no answer; the change may have been made: %s",
                        link->url, answer->reason);
        return VERDICT_LOST;
    }
    *code = err_set(error, ETHOS_BUSY, "%s: %s, nothing was done: %s", link->url,
                    answer->sent ? "no answer" : "not reachable", answer->reason);
    err_hint(error, *code, "is `ethos serve` running there? check memory.options.url");
    return VERDICT_LATER;
}

/* ---- an answer ------------------------------------------------------------------------------------ */

/* What the store there said: around an answer of 200, or within the report of a refusal. */
static const json_t *find_refusal(const json_t *json)
{
    const json_t *report = json_object_get(json_object_get(json, "data"), "report");
    const json_t *around = report ? report : json;
    return json_is_object(json_object_get(around, "error")) ? around : NULL;
}

static int refused_key(const struct remote_link *link, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, "%s: refuses the key %s", link->url, link->prefix);
    return err_hint(error, code,
                    "create one on the server: ethos api-key create NAME --scope store");
}

static int told(const struct remote_link *link, int code, const struct remote_answer *answer,
                const json_t *json, const char *hint, struct ethos_error *error)
{
    const char *const names[] = {"message", "detail", "error"};
    const char *message = NULL;
    for (size_t i = 0; !message && i < sizeof names / sizeof *names; i++)
        message = json_view(json, names[i]).data;
    err_set(error, code, "%s: status %ld: %.*s", link->url, answer->status, REMOTE_MAX_REASON,
            message ? message : "no reason given");
    return hint ? err_hint(error, code, "%s", hint) : code;
}

/* A status that is not the store's own. */
static enum verdict evaluate_status(const struct remote_link *link, const struct remote_call *ask,
                                    const struct remote_answer *answer, const json_t *json,
                                    int *code, struct ethos_error *error)
{
    bool known = json || only_reads(ask);
    switch (answer->status) {
    case 401:
    case 403:
        *code = refused_key(link, error);
        return VERDICT_DONE;
    case 421:
        *code = told(link, ETHOS_DENIED, answer, json, "add that name to serve.hosts at the server",
                     error);
        return VERDICT_DONE;
    case 404:
    case 405:
    case 501:
        *code = err_set(error, ETHOS_UNSUPPORTED,
                        "%s: this server does not serve a store; it may be too old", link->url);
        err_hint(error, *code, "install this version (%s) there", ETHOS_VERSION);
        return VERDICT_DONE;
    case 413:
        *code = told(link, ETHOS_LIMIT, answer, json, NULL, error);
        return VERDICT_DONE;
    case 429:
        *code = told(link, ETHOS_BUSY, answer, json, "try again in a moment", error);
        return VERDICT_LATER;
    case 503: /* ours says so before anything is done; a proxy's tells nothing */
        *code = told(link, known ? ETHOS_BUSY : ETHOS_IO, answer, json, BEHIND, error);
        return known ? VERDICT_LATER : VERDICT_LOST;
    default:
        break;
    }
    if (answer->status == 502 || answer->status == 504 || (answer->status >= 500 && !json)) {
        *code = told(link, only_reads(ask) ? ETHOS_BUSY : ETHOS_IO, answer, json, BEHIND, error);
        return only_reads(ask) ? VERDICT_LATER : VERDICT_LOST; // somebody who stands before it
    }
    if (answer->status >= 300 && answer->status < 400)
        *code = remote_unexpected_answer(link, "it leads to another address, which is not followed",
                                         error);
    else if (!json)
        *code = remote_unexpected_answer(link, "what answers there is no ethos server", error);
    else
        *code = told(link, answer->status >= 500 ? ETHOS_IO : ETHOS_INVALID, answer, json, NULL,
                     error);
    return VERDICT_DONE;
}

static bool is_json(const struct remote_answer *answer)
{
    return answer->type && strstr(answer->type, "json");
}

/* The object of an answer, whose form depends on the route. Owned; NULL: it is none. */
static json_t *response_object(const struct remote_call *ask, const struct remote_answer *answer)
{
    json_t *whole = NULL;
    if (!is_json(answer) ||
        json_parse_most(answer->body, WIRE_MAX_BODY, "answer", &whole, NULL) != ETHOS_OK)
        return NULL;
    json_t *object = ask->query ? whole : json_object_get(whole, "json");
    object = json_is_object(object) ? json_incref(object) : NULL;
    json_decref(whole);
    return object;
}

static enum verdict evaluate_response(const struct remote_link *link, const struct remote_call *ask,
                                      const struct remote_answer *answer, json_t **out, int *code,
                                      struct ethos_error *error)
{
    if (answer->failure != CURLE_OK)
        return no_answer(link, ask, answer, code, error);
    if (answer->status == 304 && ask->tag)
        return VERDICT_DONE;
    json_t *json = response_object(ask, answer);
    const json_t *refusal = find_refusal(json);
    if (refusal) {
        *out = json_incref((json_t *)refusal);
        *code = wire_take_error(json_object_get(refusal, "error"), error);
        if (!*error->text)
            *code = remote_unexpected_answer(link, "its error has no form that is known here",
                                             error);
        json_decref(json);
        return *code == ETHOS_BUSY ? VERDICT_LATER : VERDICT_DONE;
    }
    if (answer->status == 200 && json) {
        *out = json;
        return VERDICT_DONE;
    }
    if (answer->status == 200 && is_json(answer)) {
        *code = err_set(error, ETHOS_IO, "%s: the answer is damaged%s", link->url,
                        only_reads(ask) ? "" : "; the change may have been made");
        return VERDICT_LOST;
    }
    enum verdict verdict = evaluate_status(link, ask, answer, json, code, error);
    json_decref(json);
    return verdict;
}

/* Some quote what they were asked with, all of it or the beginning. */
static void hide_key(const struct remote_link *link, struct ethos_error *error)
{
    char key[REMOTE_KEY_PUBLIC + 2];
    snprintf(key, sizeof key, "%s", strrchr(link->credential, ' ') + 1);
    if (strstr(error->text, key) || strstr(error->hint, key)) {
        err_set(error, error->code, "%s: the reason is not shown because it contains the key",
                link->url);
        *error->hint = 0;
    }
}

enum verdict remote_evaluate_answer(const struct remote_link *link, const struct remote_call *ask,
                                    const struct remote_answer *answer, json_t **out, int *code,
                                    struct ethos_error *error)
{
    struct ethos_error local = {0};
    error = error ? error : &local;
    enum verdict verdict = evaluate_response(link, ask, answer, out, code, error);
    if (*code != ETHOS_OK)
        hide_key(link, error);
    return verdict;
}
