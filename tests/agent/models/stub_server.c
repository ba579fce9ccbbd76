/*
 * stub_server.c: a server on loopback that answers with given bytes.
 */
#include "stub_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/view.h"

/* False: the test is over. */
static bool wait_readable(const struct stub *self, int fd)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = self->stop[0], .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        continue;
    return fds[1].revents == 0;
}

/* Whether the request is complete: its head, and as much of a body as the head says. */
static bool is_whole(const struct str *request)
{
    const char *end = strstr(request->data, "\r\n\r\n");
    const char *length = strcasestr(request->data, "\r\ncontent-length:");
    size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return end && request->size >= (size_t)(end - request->data) + 4 + body;
}

static bool read_request(struct stub *self, int fd, struct str *out)
{
    char bytes[65536];
    while (!is_whole(out)) {
        if (!wait_readable(self, fd))
            return false;
        ssize_t size = read(fd, bytes, sizeof bytes);
        if (size <= 0)
            return false;
        str_add(out, view_of(bytes, (size_t)size));
    }
    return true;
}

static void send_reply(const struct stub_reply *reply, int fd)
{
    const char *at = reply->bytes;
    size_t rest = strlen(at);
    while (rest > 0) {
        ssize_t size = send(fd, at, rest, MSG_NOSIGNAL);
        if (size <= 0)
            break;
        at += size;
        rest -= (size_t)size;
    }
    if (reply->signal_fd > 0 && write(reply->signal_fd, "x", 1) != 1)
        abort();
}

static void wait_closed(struct stub *self, int fd)
{
    char byte;
    while (wait_readable(self, fd) && read(fd, &byte, 1) > 0)
        continue;
}

static void serve_connection(struct stub *self, int fd)
{
    while (self->answered < self->count) {
        const struct stub_reply *reply = &self->replies[self->answered];
        if (!read_request(self, fd, &self->requests[self->answered]))
            return;
        self->answered++;
        send_reply(reply, fd);
        if (reply->then == STUB_IS_SILENT)
            wait_closed(self, fd);
        if (reply->then != STUB_READS_ON)
            return;
    }
    wait_closed(self, fd);
}

static void *serve(void *arg)
{
    struct stub *self = arg;
    while (self->answered < self->count && wait_readable(self, self->listener)) {
        int fd = accept(self->listener, NULL, NULL);
        if (fd < 0)
            continue;
        self->connections++;
        serve_connection(self, fd);
        close(fd);
    }
    return NULL;
}

void stub_start(struct stub *self, const struct stub_reply *replies, size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *self = (struct stub){.count = count};
    assert_true(count <= STUB_MAX_REPLIES);
    for (size_t i = 0; i < STUB_MAX_REPLIES; i++)
        str_init(&self->requests[i], 1u << 24);
    for (size_t i = 0; i < count; i++)
        self->replies[i] = replies[i];
    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    self->port = ntohs(address.sin_port);
    assert_int_equal(pipe(self->stop), 0);
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
}

void stub_stop(struct stub *self)
{
    close(self->stop[1]);
    assert_int_equal(pthread_join(self->thread, NULL), 0);
    close(self->stop[0]);
    close(self->listener);
}

void stub_release(struct stub *self)
{
    for (size_t i = 0; i < STUB_MAX_REPLIES; i++)
        str_release(&self->requests[i]);
}
