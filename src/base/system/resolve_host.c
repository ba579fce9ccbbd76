/*
 * resolve_host.c: getaddrinfo with a deadline.
 */
#include "base/system/resolve_host.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/system/os.h"

/* Of the one who asks and of the thread; whoever is the last to go takes it away. */
struct host_search {
    atomic_int holders;
    int bell; /* eventfd: readable when there is an answer */
    int problem;
    struct addrinfo *list;
    char host[NI_MAXHOST], port[NI_MAXSERV];
};

static void release_search(struct host_search *self)
{
    if (atomic_fetch_sub(&self->holders, 1) > 1)
        return;
    if (self->list)
        freeaddrinfo(self->list);
    os_close(self->bell);
    free(self);
}

static int find_addresses(const char *host, const char *port, int flags, struct addrinfo **out)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(host, port, &hints, out);
}

static void *search_addresses(void *arg)
{
    const uint64_t one = 1;
    struct host_search *self = arg;
    self->problem = find_addresses(self->host, self->port, 0, &self->list);
    if (self->problem)
        self->list = NULL;
    (void)!os_write(self->bell, &one, sizeof one);
    release_search(self);
    return NULL;
}

/* Signals are for those who were there before. */
static bool begin_search(struct host_search *self)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = pthread_create(&thread, NULL, search_addresses, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun && pthread_detach(thread) == 0;
}

static struct host_search *make_search(const char *host, const char *port)
{
    struct host_search *self = calloc(1, sizeof *self);
    if (!self || strlen(host) >= sizeof self->host || strlen(port) >= sizeof self->port ||
        (self->bell = eventfd(0, EFD_CLOEXEC)) < 0) {
        free(self);
        return NULL;
    }
    memcpy(self->host, host, strlen(host) + 1);
    memcpy(self->port, port, strlen(port) + 1);
    atomic_init(&self->holders, 2);
    return self;
}

int resolve_host(const char *host, const char *port, int64_t until, struct addrinfo **out)
{
    int problem = find_addresses(host, port, AI_NUMERICHOST, out);
    if (problem != EAI_NONAME)
        return problem;
    struct host_search *self = make_search(host, port);
    if (!self)
        return EAI_MEMORY;
    if (!begin_search(self)) {
        atomic_store(&self->holders, 1);
        release_search(self);
        return EAI_MEMORY;
    }
    int64_t left = until - os_monotonic_ms();
    struct pollfd answered = {self->bell, POLLIN, 0};
    problem = EAI_AGAIN;
    if (os_poll(&answered, 1, left > 0 ? (int)left : 0) > 0) {
        problem = self->problem;
        *out = self->list;
        self->list = NULL;
    }
    release_search(self);
    return problem;
}
