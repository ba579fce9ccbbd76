/*
 * http_client.c: requests of adapters, over libcurl's multi interface.
 */
#include "gateway/adapters/http_client.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"

#define MAX_HEADERS 65536      /* bytes of those of an answer */
#define MAX_AUTHORIZATION 8192 /* bytes of the header */

struct exchange {
    struct exchange *next;
    uint64_t id;
    CURL *easy;
    struct curl_slist *headers;
    struct str body, headers_read;
    http_client_fn *each;
    void *arg;
    bool is_ended; /* waits to be given out */
    CURLcode code;
    char reason[CURL_ERROR_SIZE];
};

struct curl_client {
    struct http_client client;
    CURLM *multi;
    struct exchange *first;
    uint64_t last_id;
};

static size_t append_body(char *data, size_t size, size_t count, void *arg)
{
    struct exchange *exchange = arg;
    struct ethos_view bytes = {data, size * count};
    return str_add(&exchange->body, bytes) == ETHOS_OK ? bytes.size : 0;
}

/* Beyond the ceiling they are not kept; none that matters is there. */
static size_t append_header(char *data, size_t size, size_t count, void *arg)
{
    struct exchange *exchange = arg;
    str_add(&exchange->headers_read, view_of(data, size * count));
    return size * count;
}

static void free_exchange(struct curl_client *self, struct exchange *exchange)
{
    curl_multi_remove_handle(self->multi, exchange->easy);
    curl_easy_cleanup(exchange->easy);
    curl_slist_free_all(exchange->headers);
    str_release(&exchange->body);
    str_release(&exchange->headers_read);
    free(exchange);
}

static void set_headers(struct exchange *exchange, const struct http_client_request *request)
{
    char line[MAX_AUTHORIZATION];
    if (request->body.size > 0)
        exchange->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (request->authorization) {
        snprintf(line, sizeof line, "Authorization: %s", request->authorization);
        exchange->headers = curl_slist_append(exchange->headers, line);
        explicit_bzero(line, sizeof line);
    }
}

static void set_method(struct exchange *exchange, const struct http_client_request *request)
{
    CURL *easy = exchange->easy;
    if (request->method && strcmp(request->method, "GET") == 0)
        return;
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body.data ? request->body.data : "");
    if (request->method)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_options(struct exchange *exchange, const struct http_client_request *request)
{
    CURL *easy = exchange->easy;
    set_headers(exchange, request);
    set_method(exchange, request);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->headers);
    curl_easy_setopt(easy, CURLOPT_USERAGENT,
                     request->user_agent ? request->user_agent : "ethos/" ETHOS_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, request->is_loopback ? "http,https" : "https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CLIENT_CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->reason);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, append_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->fresh ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, request->fresh ? 1L : 0L);
    if (request->is_loopback)
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static int start_exchange(struct http_client *client, const struct http_client_request *request,
                          http_client_fn *each, void *arg, uint64_t *out_id,
                          struct ethos_error *error)
{
    struct curl_client *self = (struct curl_client *)client;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return err_nomem(error);
    str_init(&exchange->body, HTTP_CLIENT_MAX_BODY);
    str_init(&exchange->headers_read, MAX_HEADERS);
    exchange->each = each;
    exchange->arg = arg;
    exchange->easy = curl_easy_init();
    if (exchange->easy)
        set_options(exchange, request);
    if (!exchange->easy || curl_multi_add_handle(self->multi, exchange->easy) != CURLM_OK) {
        free_exchange(self, exchange);
        return err_nomem(error);
    }
    exchange->id = *out_id = ++self->last_id;
    exchange->next = self->first;
    self->first = exchange;
    return ETHOS_OK;
}

static struct exchange *remove_exchange(struct curl_client *self, uint64_t id)
{
    for (struct exchange **at = &self->first; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct exchange *found = *at;
            *at = found->next;
            return found;
        }
    return NULL;
}

static void cancel_exchange(struct http_client *client, uint64_t id)
{
    struct curl_client *self = (struct curl_client *)client;
    struct exchange *exchange = remove_exchange(self, id);
    if (exchange)
        free_exchange(self, exchange);
}

static const struct http_client_ops curl_ops = {start_exchange, cancel_exchange};

int http_client_open(struct http_client **out, struct ethos_error *error)
{
    struct curl_client *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->client.ops = &curl_ops;
    self->multi = curl_multi_init();
    *out = &self->client;
    if (self->multi)
        return ETHOS_OK;
    free(self);
    *out = NULL;
    return err_nomem(error);
}

void http_client_close(struct http_client *client)
{
    struct curl_client *self = (struct curl_client *)client;
    if (!self)
        return;
    while (self->first)
        cancel_exchange(client, self->first->id);
    curl_multi_cleanup(self->multi);
    free(self);
}

struct ethos_view http_client_header(const struct http_client_answer *answer, const char *name)
{
    struct ethos_view rest = answer->headers, line;
    size_t size = strlen(name);
    while (view_line(&rest, &line))
        if (line.size > size && line.data[size] == ':' &&
            view_eq_nocase(view_of(line.data, size), view_str(name)))
            return view_trim(view_from(line, size + 1));
    return (struct ethos_view){0};
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void mark_ended(struct curl_client *self)
{
    CURLMsg *message;
    int rest;
    while ((message = curl_multi_info_read(self->multi, &rest)))
        if (message->msg == CURLMSG_DONE) {
            struct exchange *exchange = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&exchange);
            exchange->is_ended = true;
            exchange->code = message->data.result;
        }
}

static void deliver_answer(struct exchange *exchange)
{
    long status = 0;
    curl_off_t connected = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(exchange->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    bool is_whole = exchange->code == CURLE_OK;
    const struct http_client_answer answer = {
        .status = is_whole ? (int)status : 0,
        .has_left = is_whole || connected > 0,
        .body = str_view(&exchange->body),
        .headers = str_view(&exchange->headers_read),
        .problem = is_whole ? NULL : curl_easy_strerror(exchange->code)};
    exchange->each(exchange->arg, &answer);
}

/* The one that has ended first is the last of the list. */
static struct exchange *find_ended(struct curl_client *self)
{
    struct exchange *found = NULL;
    for (struct exchange *at = self->first; at; at = at->next)
        if (at->is_ended)
            found = at;
    return found;
}

static void deliver_answers(struct curl_client *self)
{
    struct exchange *exchange;
    mark_ended(self);
    while ((exchange = find_ended(self))) {
        remove_exchange(self, exchange->id);
        deliver_answer(exchange); // may start and cancel others
        free_exchange(self, exchange);
    }
}

void http_client_deliver(struct http_client *client)
{
    struct curl_client *self = (struct curl_client *)client;
    int running = 0;
    curl_multi_perform(self->multi, &running);
    deliver_answers(self);
}

void http_client_wait(struct http_client *client, int fd, int timeout_ms)
{
    struct curl_client *self = (struct curl_client *)client;
    struct curl_waitfd waited = {.fd = fd, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(self->multi, &waited, fd >= 0 ? 1 : 0, timeout_ms, NULL);
}

void http_client_wake(struct http_client *client)
{
    curl_multi_wakeup(((struct curl_client *)client)->multi);
}
