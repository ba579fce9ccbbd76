/*
 * webhook.c: requests that a platform makes to us.
 */
#include "gateway/adapters/webhook.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define MAX_CONNECTIONS 64
#define IDLE_SECONDS 10

struct webhook_connection {
    struct webhook_connection *next;
    unsigned id;
    struct MHD_Connection *connection;
    struct str body, answer;
    char headers[WEBHOOK_HEADERS][512];
    bool too_large, queued, taken;
    unsigned status; /* 0: not answered yet */
};

struct webhook {
    struct MHD_Daemon *daemon;
    const char *names[WEBHOOK_HEADERS];
    void (*wake)(void *arg);
    void *wake_arg;
    pthread_mutex_t mutex; /* for what follows, and what requests say of their state */
    struct webhook_connection *first;
    unsigned last_id;
    bool ends;
};

/* ---- libmicrohttpd's thread -------------------------------------------------------------------- */

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)text,
                                                                    MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result open_request(struct webhook *self, struct MHD_Connection *connection,
                                    void **context)
{
    struct webhook_connection *request = calloc(1, sizeof *request);
    if (!request)
        return MHD_NO;
    request->connection = connection;
    str_init(&request->body, WEBHOOK_MAX_BODY);
    str_init(&request->answer, 65536);
    for (size_t i = 0; i < WEBHOOK_HEADERS; i++) {
        const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                                        self->names[i]);
        snprintf(request->headers[i], sizeof request->headers[i], "%s", value ? value : "");
    }
    *context = request;
    return MHD_YES;
}

/* Waits for an answer, unless nobody will give one. */
static void queue_request(struct webhook *self, struct webhook_connection *request)
{
    request->queued = true;
    pthread_mutex_lock(&self->mutex);
    bool ends = self->ends;
    if (ends) {
        request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    } else {
        request->id = ++self->last_id;
        request->next = self->first;
        self->first = request;
        MHD_suspend_connection(request->connection);
    }
    pthread_mutex_unlock(&self->mutex);
    if (!ends)
        self->wake(self->wake_arg);
}

static unsigned read_status(struct webhook *self, const struct webhook_connection *request)
{
    pthread_mutex_lock(&self->mutex);
    unsigned status = request->status;
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *data,
                                      size_t *size, void **context)
{
    struct webhook *self = arg;
    struct webhook_connection *request = *context;
    (void)url, (void)version;
    if (!request)
        return open_request(self, connection, context);
    if (*size > 0) {
        if (str_add(&request->body, (struct ethos_view){data, *size}) != ETHOS_OK)
            request->too_large = true;
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "POST") != 0)
        return send_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "");
    if (request->too_large)
        return send_response(connection, MHD_HTTP_CONTENT_TOO_LARGE, "");
    if (!request->queued)
        queue_request(self, request);
    unsigned status = read_status(self, request);
    if (status == 0)
        return MHD_YES; // it is called again when there is an answer
    return send_response(connection, status, request->answer.size > 0 ? request->answer.data : "");
}

static void unlink_request(struct webhook *self, const struct webhook_connection *request)
{
    for (struct webhook_connection **at = &self->first; *at; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            return;
        }
}

static void end_request(void *arg, struct MHD_Connection *connection, void **context,
                        enum MHD_RequestTerminationCode why)
{
    struct webhook *self = arg;
    struct webhook_connection *request = *context;
    (void)connection, (void)why;
    if (!request)
        return;
    pthread_mutex_lock(&self->mutex);
    unlink_request(self, request);
    pthread_mutex_unlock(&self->mutex);
    str_release(&request->body);
    str_release(&request->answer);
    free(request);
    *context = NULL;
}

/* ---- the gateway's thread ---------------------------------------------------------------------- */

bool webhook_next(struct webhook *self, struct webhook_request *out)
{
    struct webhook_connection *found = NULL;
    pthread_mutex_lock(&self->mutex);
    for (struct webhook_connection *at = self->first; at; at = at->next)
        if (!at->taken && at->status == 0)
            found = at; // the oldest is the last
    if (found) {
        found->taken = true;
        *out = (struct webhook_request){.id = found->id, .body = str_view(&found->body)};
        for (size_t i = 0; i < WEBHOOK_HEADERS; i++)
            out->headers[i] = (struct ethos_view){found->headers[i], strlen(found->headers[i])};
    }
    pthread_mutex_unlock(&self->mutex);
    return found != NULL;
}

/* Within the mutex: a connection that is suspended does not go away by itself. */
static void resume_request(struct webhook_connection *request, unsigned status, const char *text)
{
    str_adds(&request->answer, text ? text : "");
    request->status = status;
    MHD_resume_connection(request->connection);
}

void webhook_answer(struct webhook *self, unsigned id, unsigned status, const char *text)
{
    pthread_mutex_lock(&self->mutex);
    for (struct webhook_connection *at = self->first; at; at = at->next)
        if (at->id == id && at->status == 0)
            resume_request(at, status, text);
    pthread_mutex_unlock(&self->mutex);
}

void webhook_close(struct webhook *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    for (struct webhook_connection *at = self->first; at; at = at->next)
        if (at->status == 0)
            resume_request(at, MHD_HTTP_SERVICE_UNAVAILABLE, NULL);
    pthread_mutex_unlock(&self->mutex);
    if (self->daemon)
        MHD_stop_daemon(self->daemon);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

int webhook_open(unsigned port, const char *const names[WEBHOOK_HEADERS], void (*wake)(void *arg),
                 void *arg, struct webhook **out, struct ethos_error *error)
{
    struct webhook *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(self->names, names, sizeof self->names);
    self->wake = wake;
    self->wake_arg = arg;
    pthread_mutex_init(&self->mutex, NULL);
    self->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)port, NULL, NULL,
        handle_request, self, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_NOTIFY_COMPLETED, end_request, self, MHD_OPTION_END);
    if (!self->daemon) {
        int why = errno;
        webhook_close(self);
        return err_set(error, ETHOS_IO, "port %u of this machine: %s", port, strerror(why));
    }
    *out = self;
    return ETHOS_OK;
}
