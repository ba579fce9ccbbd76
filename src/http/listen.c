/*
 * listen.c: the sockets of the server.
 */
#include "http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

#define BACKLOG 511

static in_port_t *port_in(struct sockaddr *address)
{
    return address->sa_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port
                                         : &((struct sockaddr_in6 *)address)->sin6_port;
}

static bool is_loopback_address(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* -1 and errno. */
static int open_listener(const struct addrinfo *at)
{
    const int on = 1;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

static int refused(const struct listeners *self, const char *host, int number,
                   struct ethos_error *error)
{
    char what[160];
    if (number != EADDRINUSE) {
        snprintf(what, sizeof what, "%s, port %u", host, self->port);
        return err_errno(error, number, what);
    }
    int code = err_set(error, ETHOS_BUSY, "port %u is used by another program", self->port);
    return err_hint(error, code, "choose another port: ethos serve --port %u",
                    self->port % 65535 + 1);
}

static int add_address(struct listeners *self, struct addrinfo *at, const char *host, bool optional,
                       struct ethos_error *error)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    if (self->count == LISTEN_MAX)
        return err_set(error, ETHOS_LIMIT, "more than %d addresses", LISTEN_MAX);
    *port_in(at->ai_addr) = htons((in_port_t)self->port);
    int fd = open_listener(at);
    if (fd < 0 && optional && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
        return ETHOS_OK;
    if (fd < 0)
        return refused(self, host, errno, error);
    self->fds[self->count++] = fd;
    self->open |= !is_loopback_address(at->ai_addr);
    self->v6 |= at->ai_family == AF_INET6 && is_loopback_address(at->ai_addr);
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        return err_errno(error, errno, host);
    self->port = ntohs(*port_in((struct sockaddr *)&bound));
    return ETHOS_OK;
}

int listen_add(struct listeners *self, const char *host, bool optional, struct ethos_error *error)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list = NULL;
    int failed = getaddrinfo(host, NULL, &wanted, &list);
    if (failed)
        return err_set(error, ETHOS_INVALID, "%s: %s", host, gai_strerror(failed));
    int code = ETHOS_OK;
    for (struct addrinfo *at = list; at && code == ETHOS_OK; at = at->ai_next)
        code = add_address(self, at, host, optional, error);
    freeaddrinfo(list);
    return code;
}

void listen_close(struct listeners *self)
{
    for (size_t i = 0; i < self->count; i++)
        close(self->fds[i]);
    self->count = 0;
}
