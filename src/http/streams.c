/*
 * streams.c: answers that go on: suspended while they have nothing to say, woken together.
 *
 * libmicrohttpd does not look at connections that are suspended, so a peer that closes is noticed here:
 * the sockets of streams are watched, and a stream without a peer has no place from then on.
 */
#include "http/mhd.h"

#include <string.h>
#include <sys/epoll.h>

#include "base/system/os.h"
#include "base/view.h"

#define SWEEP 64 /* events that are taken at once */

/* ---- coming and going ------------------------------------------------------------------------------------ */

/* Holding the mutex, so that whoever an event names is still there. */
void streams_sweep(struct http_server *self)
{
    struct epoll_event events[SWEEP];
    int count;
    do {
        count = epoll_wait(self->watch, events, SWEEP, 0);
        for (int i = 0; i < count; i++) {
            struct http_request *request = events[i].data.ptr;
            struct connection *connection = request->connection;
            epoll_ctl(self->watch, EPOLL_CTL_DEL, connection->fd, NULL);
            connection_leave(self, connection);
            request->left = request->ended = true;
            self->stream_count--;
            stream_wake(request);
        }
    } while (count == SWEEP);
}

void server_sweep(struct http_server *self)
{
    pthread_mutex_lock(&self->mutex);
    streams_sweep(self);
    pthread_mutex_unlock(&self->mutex);
}

int server_watch(const struct http_server *self)
{
    return self->watch;
}

/* Holding the mutex. One that cannot be watched is noticed when something is sent to it. */
static void add_stream(struct http_server *self, struct http_request *request)
{
    struct epoll_event event = {EPOLLRDHUP, {.ptr = request}};
    request->entered = true;
    request->next = self->streams;
    request->link = &self->streams;
    if (request->next)
        request->next->link = &request->next;
    self->streams = request;
    self->stream_count++;
    epoll_ctl(self->watch, EPOLL_CTL_ADD, request->connection->fd, &event);
}

void http_answer_stream(struct http_call *call, struct http_stream *stream)
{
    static const struct http_error full = {503, "SERVICE_UNAVAILABLE", "Too many streams are open",
                                           "Close some of them."};
    struct http_request *request = request_of(call);
    struct http_server *self = request->server;
    call->reply->stream = stream;
    call->reply->is_stream = true;
    pthread_mutex_lock(&self->mutex);
    if (self->stream_count == HTTP_MAX_STREAMS)
        streams_sweep(self);
    bool room = self->stream_count < HTTP_MAX_STREAMS && !self->ending;
    if (room)
        add_stream(self, request);
    pthread_mutex_unlock(&self->mutex);
    if (!room) {
        call_refuse(call, &full);
        return;
    }
    call->status = 200;
    call->type = "text/event-stream";
}

void stream_leave(struct http_request *request)
{
    struct http_server *self = request->server;
    pthread_mutex_lock(&self->mutex);
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    if (!request->left) {
        self->stream_count--;
        epoll_ctl(self->watch, EPOLL_CTL_DEL, request->connection->fd, NULL);
    }
    pthread_mutex_unlock(&self->mutex);
}

/* ---- what they say --------------------------------------------------------------------------------------- */

/* Asks for more until there is some, or until nothing has happened since it was asked. */
static ssize_t fill_stream(struct http_request *request)
{
    struct http_server *self = request->server;
    struct http_stream *stream = request->reply.stream;
    for (;;) {
        pthread_mutex_lock(&self->mutex);
        uint64_t rings = self->rings;
        bool ended = request->ended || self->ending ||
                     !auth_holds(self->http->auth, &request->found);
        pthread_mutex_unlock(&self->mutex);
        if (ended || !stream->next(stream, &request->rest))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (request->rest.size > 0)
            return 1;
        pthread_mutex_lock(&self->mutex);
        bool quiet = rings == self->rings && !request->ended && !self->ending;
        if (quiet) {
            request->waiting = true;
            request->quiet_since = os_monotonic_ms();
            MHD_suspend_connection(request->mhd);
        }
        pthread_mutex_unlock(&self->mutex);
        if (quiet)
            return 0;
    }
}

ssize_t stream_read(void *arg, uint64_t at, char *out, size_t size)
{
    struct http_request *request = arg;
    (void)at;
    ssize_t state = request->rest.size > 0 ? 1 : fill_stream(request);
    if (state <= 0)
        return state;
    size_t taken = request->rest.size < size ? request->rest.size : size;
    memcpy(out, request->rest.data, taken);
    request->rest = view_from(request->rest, taken);
    return (ssize_t)taken;
}

/* Holding the mutex. */
void stream_wake(struct http_request *request)
{
    if (!request->waiting)
        return;
    request->waiting = false;
    MHD_resume_connection(request->mhd);
}

size_t server_ring(struct http_server *self)
{
    pthread_mutex_lock(&self->mutex);
    self->rings++;
    for (struct http_request *request = self->streams; request; request = request->next)
        stream_wake(request);
    size_t count = self->stream_count;
    pthread_mutex_unlock(&self->mutex);
    return count;
}
