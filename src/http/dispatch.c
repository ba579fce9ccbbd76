/*
 * dispatch.c: a request from its first line to its end: who answers it, and how the answer is sent.
 */
#include "http/mhd.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/view.h"
#include "http/handlers/assets.h"

/* ---- sending -------------------------------------------------------------------------------------------- */

/* keep: what it is made of has to outlive the request. */
static struct MHD_Response *make_response(struct http_request *request, bool keep)
{
    struct http_reply *reply = &request->reply;
    if (reply->stream)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, stream_read, request,
                                                 NULL);
    if (reply->bytes.data)
        return MHD_create_response_from_buffer(reply->bytes.size, (void *)reply->bytes.data,
                                               MHD_RESPMEM_PERSISTENT);
    struct str *out = &request->call.out; // stays until the request ends, which it does after this
    return MHD_create_response_from_buffer(out->size, out->data,
                                           keep ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
}

/* What every answer has. */
static void add_common(struct http_request *request, struct MHD_Response *response)
{
    const struct http_call *call = &request->call;
    bool cached = false, ruled = false;
    const struct str *headers = &request->reply.headers;
    for (size_t at = 0; at < headers->size;) {
        const char *name = headers->data + at, *value = name + strlen(name) + 1;
        cached |= strcasecmp(name, "cache-control") == 0;
        ruled |= strcasecmp(name, "content-security-policy") == 0;
        MHD_add_response_header(response, name, value);
        at = (size_t)(value - headers->data) + strlen(value) + 1;
    }
    if (call->type)
        MHD_add_response_header(response, "Content-Type", call->type);
    if (!cached)
        MHD_add_response_header(response, "Cache-Control",
                                request->reply.is_stream ? "no-cache" : "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    if (!ruled)
        MHD_add_response_header(response, "Content-Security-Policy", HTTP_POLICY("", ""));
    MHD_add_response_header(response, "Vary", "Origin");
    if (request->shared || call->method == HTTP_OPTIONS)
        MHD_add_response_header(response, "Access-Control-Allow-Credentials", "true");
    if (request->shared) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", request->shared);
        MHD_add_response_header(response, "Access-Control-Expose-Headers",
                                "ETag,Ethos-Known-At,Retry-After,X-Request-Id");
    }
    if (call->status == 401)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    MHD_add_response_header(response, "X-Request-Id", call->request_id);
    if (request->last)
        MHD_add_response_header(response, "Connection", "close");
}

static enum MHD_Result send_answer(struct http_request *request)
{
    bool keep = again_wants(request);
    struct MHD_Response *response = make_response(request, keep);
    if (!response)
        return MHD_NO;
    add_common(request, response);
    connection_enter(request->connection,
                     request->step == STEP_REFUSED ? PHASE_REFUSED : PHASE_ANSWER);
    request->step = STEP_DONE;
    enum MHD_Result result = MHD_queue_response(request->mhd, request->call.status, response);
    if (keep)
        again_keep(request, response);
    else
        MHD_destroy_response(response);
    return result;
}

/* ---- running ---------------------------------------------------------------------------------------------- */

static void run_job(struct worker_job *job)
{
    struct http_request *request = (struct http_request *)((char *)job -
                                                           offsetof(struct http_request, job));
    call_run(&request->call);
    request->step = STEP_DONE;
    MHD_resume_connection(request->mhd); // after this the request is not ours any more
}

static bool is_quick(const struct http_request *request)
{
    const struct http_route *route = request->reply.route;
    return (route->flags & HTTP_EAGER) || (route->quick && route->quick(&request->call) &&
                                           !events_elsewhere(http_events_of(&request->call)));
}

static const struct http_error busy = {503, "SERVICE_UNAVAILABLE", "Too much waits already",
                                       "Try again."};

/* The body has come whole. */
static enum MHD_Result run_handler(struct http_request *request)
{
    if (request->step == STEP_READ) {
        request->call.body = str_view(&request->body);
        enum MHD_Result result;
        if (again_answer(request, &result))
            return result;
        if (!is_quick(request)) {
            connection_enter(request->connection, PHASE_ANSWER);
            request->step = STEP_WORK;
            request->job.run = run_job;
            MHD_suspend_connection(request->mhd);
            if (workers_give(request->server->http->workers, &request->job))
                return MHD_YES;
            request_refuse(request, &busy);
            MHD_resume_connection(request->mhd);
            return MHD_YES;
        }
        call_run(&request->call);
    }
    return send_answer(request);
}

enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url,
                           const char *method, const char *version, const char *data, size_t *size,
                           void **context)
{
    struct http_request *request = *context;
    (void)arg;
    (void)mhd;
    (void)version;
    if (!request)
        return MHD_NO; // its connection has no memory
    if (request->step == STEP_NEW) {
        request_begin(request, url, method);
        return request->last ? send_answer(request) : MHD_YES; // else keep-alive would be lost
    }
    if (*size > 0) {
        request_take(request, view_of(data, *size));
        *size = 0;
        return MHD_YES;
    }
    return run_handler(request);
}

/* ---- from the first line to the end ------------------------------------------------------------------------- */

/* Mostly it is the one of before. */
static void read_request_line(struct connection *connection, const char *uri)
{
    size_t size = strlen(uri);
    if (connection->line_known && strcmp(connection->line, uri) == 0)
        return;
    memcpy(connection->line, uri, size < HTTP_KEPT_LINE ? size + 1 : 0);
    if (size >= HTTP_KEPT_LINE)
        connection->line[0] = 0;
    connection->line_known = false;
    connection->line_bad = !call_line_ok(uri);
}

void *on_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    struct http_server *self = arg;
    struct connection *connection =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (!connection)
        return NULL; // there was no memory for it
    struct http_request *request = &connection->request;
    request->call.http = self->http;
    request->server = self;
    request->mhd = mhd;
    request->connection = connection;
    request->line_size = strlen(uri) + sizeof "OPTIONS  HTTP/1.1" - 1;
    read_request_line(connection, uri);
    if (connection->phase == PHASE_IDLE)
        connection_enter(connection, PHASE_HEADERS); // a new one is in it since it came
    return request;
}

void request_init(struct http_request *request)
{
    call_init(&request->call, &request->reply);
    str_init(&request->body, HTTP_MAX_BODY);
}

void request_release(struct http_request *request)
{
    call_release(&request->call);
    str_release(&request->body);
}

/* For the next one of the connection. */
static void request_again(struct http_request *request)
{
    request_forget(request);
    struct str body = request->body;
    call_again(&request->call);
    memset(&request->job, 0, sizeof *request - offsetof(struct http_request, job));
    request->body = body;
    request->body.ceiling = HTTP_MAX_BODY;
}

void on_end(void *arg, struct MHD_Connection *mhd, void **context,
            enum MHD_RequestTerminationCode why)
{
    struct http_request *request = *context;
    (void)arg;
    (void)mhd;
    (void)why;
    if (!request)
        return;
    if (request->entered)
        stream_leave(request);
    connection_enter(request->connection, PHASE_IDLE);
    request_again(request);
    *context = NULL;
}
