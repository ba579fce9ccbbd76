/*
 * proxy.c: stands between a client and a server, and cuts the wire when a test wants it. One
 * thread for all connections.
 */
#include "proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS 64    /* connections at a time */
#define CHUNK 65536 /* bytes passed on at once */
#define TICK_MS 20  /* until an order is noticed at the latest */

enum state { PASSING, ANSWER_DUE, MUTE };

struct pair {
    int client, server; /* -1: free */
    enum state state;
    enum proxy_cut cut;
};

struct proxy {
    int listener;
    unsigned port;
    struct proxy_end back;
    char back_path[108], front_path[108];
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    enum proxy_cut cut;
    const char *mark;
    unsigned armed, cuts;
    atomic_bool ended, shut;
    atomic_ulong answered;
    struct pair pairs[PAIRS];
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- ends ----------------------------------------------------------------------------------- */

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_un file;
        struct sockaddr_in port;
    } at;
    socklen_t size;
};

static void name_end(struct proxy_end end, struct address *out)
{
    *out = (struct address){0};
    if (end.path) {
        out->at.file.sun_family = AF_UNIX;
        snprintf(out->at.file.sun_path, sizeof out->at.file.sun_path, "%s", end.path);
        out->size = sizeof out->at.file;
    } else {
        out->at.port.sin_family = AF_INET;
        out->at.port.sin_port = htons((uint16_t)end.port);
        out->at.port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        out->size = sizeof out->at.port;
    }
}

static int reach(struct proxy_end end)
{
    struct address address;
    name_end(end, &address);
    int fd = socket(address.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &address.at.any, address.size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int listen_at(struct proxy_end end, unsigned *out_port)
{
    struct address address;
    name_end(end, &address);
    int fd = socket(address.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, &address.at.any, address.size) != 0 || listen(fd, PAIRS) != 0 ||
        getsockname(fd, &address.at.any, &address.size) != 0)
        give_up("proxy");
    *out_port = end.path ? 0 : ntohs(address.at.port.sin_port);
    return fd;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static void part(struct pair *pair)
{
    close(pair->client);
    close(pair->server);
    *pair = (struct pair){-1, -1, PASSING, 0};
}

static void let_in(struct proxy *self)
{
    int client = accept(self->listener, NULL, NULL);
    int server = client >= 0 && !self->shut ? reach(self->back) : -1;
    for (size_t i = 0; server >= 0 && i < PAIRS; i++) {
        if (self->pairs[i].client < 0) {
            self->pairs[i] = (struct pair){client, server, PASSING, 0};
            return;
        }
    }
    if (client >= 0)
        close(client);
    if (server >= 0)
        close(server);
}

static bool give(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Whether these bytes of a client are to be cut, and how. */
static bool is_cut(struct proxy *self, const char *bytes, size_t size, enum proxy_cut *out_cut)
{
    pthread_mutex_lock(&self->lock);
    bool cut = self->armed > 0 && memmem(bytes, size, self->mark, strlen(self->mark));
    if (cut) {
        self->armed--;
        self->cuts++;
        *out_cut = self->cut;
    }
    pthread_mutex_unlock(&self->lock);
    return cut;
}

/* False: the pair is to be parted. */
static bool pass_request(struct proxy *self, struct pair *pair)
{
    char bytes[CHUNK];
    ssize_t size = read(pair->client, bytes, sizeof bytes);
    if (size <= 0)
        return false;
    if (pair->state == PASSING && is_cut(self, bytes, (size_t)size, &pair->cut)) {
        if (pair->cut == PROXY_CUT_REQUEST)
            return false;
        pair->state = ANSWER_DUE;
    }
    return pair->state == MUTE || give(pair->server, bytes, (size_t)size);
}

static bool pass_answer(struct proxy *self, struct pair *pair)
{
    char bytes[CHUNK];
    ssize_t size = read(pair->server, bytes, sizeof bytes);
    if (size <= 0)
        return pair->state == MUTE;
    if (pair->state == ANSWER_DUE) {
        pair->state = MUTE;
        return pair->cut == PROXY_CUT_SILENT;
    }
    if (pair->state != MUTE)
        self->answered += (unsigned long)size;
    return pair->state == MUTE || give(pair->client, bytes, (size_t)size);
}

static void *serve(void *arg)
{
    struct proxy *self = arg;
    while (!self->ended) {
        struct pollfd fds[1 + 2 * PAIRS] = {{self->listener, POLLIN, 0}};
        for (size_t i = 0; i < PAIRS; i++) {
            bool mute = self->pairs[i].state == MUTE; // its server may be gone
            fds[1 + 2 * i] = (struct pollfd){self->pairs[i].client, POLLIN, 0};
            fds[2 + 2 * i] = (struct pollfd){mute ? -1 : self->pairs[i].server, POLLIN, 0};
        }
        if (poll(fds, 1 + 2 * PAIRS, TICK_MS) <= 0)
            continue;
        for (size_t i = 0; i < PAIRS; i++) {
            struct pair *pair = &self->pairs[i];
            if ((fds[1 + 2 * i].revents && !pass_request(self, pair)) ||
                (fds[2 + 2 * i].revents && !pass_answer(self, pair)))
                part(pair);
        }
        if (fds[0].revents)
            let_in(self);
    }
    return NULL;
}

/* ---- orders --------------------------------------------------------------------------------- */

struct proxy *proxy_start(struct proxy_end front, struct proxy_end back)
{
    struct proxy *self = calloc(1, sizeof *self);
    if (!self)
        give_up("proxy");
    for (size_t i = 0; i < PAIRS; i++)
        self->pairs[i] = (struct pair){-1, -1, PASSING, 0};
    self->back = back;
    if (back.path) {
        snprintf(self->back_path, sizeof self->back_path, "%s", back.path);
        self->back.path = self->back_path;
    }
    if (front.path)
        snprintf(self->front_path, sizeof self->front_path, "%s", front.path);
    self->listener = listen_at(front, &self->port);
    pthread_mutex_init(&self->lock, NULL);
    if (pthread_create(&self->thread, NULL, serve, self) != 0)
        give_up("proxy");
    return self;
}

unsigned proxy_port(const struct proxy *self)
{
    return self->port;
}

void proxy_arm(struct proxy *self, enum proxy_cut cut, const char *mark, unsigned times)
{
    pthread_mutex_lock(&self->lock);
    self->cut = cut;
    self->mark = mark;
    self->armed = times;
    pthread_mutex_unlock(&self->lock);
}

unsigned proxy_cuts(struct proxy *self)
{
    pthread_mutex_lock(&self->lock);
    unsigned cuts = self->cuts;
    pthread_mutex_unlock(&self->lock);
    return cuts;
}

unsigned long proxy_answered(struct proxy *self)
{
    return self->answered;
}

void proxy_shut(struct proxy *self, bool shut)
{
    self->shut = shut;
}

void proxy_stop(struct proxy *self)
{
    self->ended = true;
    pthread_join(self->thread, NULL);
    for (size_t i = 0; i < PAIRS; i++)
        if (self->pairs[i].client >= 0)
            part(&self->pairs[i]);
    close(self->listener);
    if (self->front_path[0])
        unlink(self->front_path);
    pthread_mutex_destroy(&self->lock);
    free(self);
}
