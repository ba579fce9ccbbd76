/*
 * connection.c: one connection to the server: bytes out, replies in.
 *
 * The socket never blocks; whoever waits does so in poll, at most until the call's deadline and at
 * most as long as one connection or one answer may take. hiredis takes the replies apart.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/system/resolve_host.h"
#include "redis.h"

#define CHUNK 65536 /* bytes read at once */

static int unreachable(const struct redis *self, const char *why, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "Redis at %s cannot be reached: %s", self->place.shown,
                       why);
    return err_hint(error, code, "is it running? check memory.options.url");
}

static int lost(const struct redis *self, const char *why, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "connection to Redis at %s lost: %s", self->place.shown,
                       why);
    return err_hint(error, code, "is it running? check memory.options.url");
}

void link_close(struct redis_link *link)
{
    if (link->reader)
        redisReaderFree(link->reader);
    if (link->fd >= 0)
        os_close(link->fd);
    *link = (struct redis_link){.fd = -1};
}

/*
 * Waits for events until then (monotonic ms) or the deadline. False and errno when they do not
 * come.
 */
static bool wait_for_socket(const struct redis *self, int fd, short events, int64_t until)
{
    struct pollfd poll = {fd, events, 0};
    for (;;) {
        int64_t now = os_monotonic_ms(), left = until - now, rest = redis_left_ms(self);
        if (left > rest)
            left = rest;
        int ready = reach_poll(&self->reach, &poll, 1, left > 0 ? (int)left : 0);
        if (ready > 0)
            return true;
        if (ready < 0)
            return false;
        if (ready == 0 && left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
    }
}

/* ---- connecting ----------------------------------------------------------------------------- */

/* 0, or an errno. */
static int connect_to(const struct redis *self, const struct sockaddr *address, socklen_t size,
                      int *out_fd)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    int problem = connect(fd, address, size) == 0 ? 0 : errno;
    if (problem == EINPROGRESS || problem == EAGAIN) {
        socklen_t length = sizeof problem;
        if (!wait_for_socket(self, fd, POLLOUT, os_monotonic_ms() + self->connect_ms) ||
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length) != 0)
            problem = errno;
    }
    if (problem)
        os_close(fd);
    else
        *out_fd = fd;
    return problem;
}

static int connect_socket(const struct redis *self, int *out_fd, struct ethos_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, self->place.path, sizeof address.sun_path);
    int problem = connect_to(self, (const struct sockaddr *)&address, sizeof address, out_fd);
    return problem ? unreachable(self, strerror(problem), error) : ETHOS_OK;
}

static int connect_host(const struct redis *self, int *out_fd, struct ethos_error *error)
{
    struct addrinfo *list;
    int64_t own = os_monotonic_ms() + self->connect_ms;
    int problem = resolve_host(self->place.host, self->place.port,
                               own < self->deadline ? own : self->deadline, &list);
    if (problem)
        return unreachable(self, gai_strerror(problem), error);
    problem = EADDRNOTAVAIL;
    for (const struct addrinfo *at = list; problem && at; at = at->ai_next)
        problem = connect_to(self, at->ai_addr, at->ai_addrlen, out_fd);
    freeaddrinfo(list);
    if (problem)
        return unreachable(self, strerror(problem), error);
    const int on = 1; // neither failure matters
    setsockopt(*out_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(*out_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return ETHOS_OK;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

bool link_idle(const struct redis_link *link)
{
    struct pollfd poll = {link->fd, POLLIN, 0};
    return link->fd >= 0 && os_poll(&poll, 1, 0) == 0;
}

int link_send(struct redis *self, struct redis_link *link, struct ethos_view head,
              const struct redis_request *request, struct ethos_error *error)
{
    int64_t until = os_monotonic_ms() + self->timeout_ms;
    struct ethos_view body = str_view(&request->bytes);
    while (head.size + body.size > 0) {
        struct iovec parts[] = {{(void *)head.data, head.size}, {(void *)body.data, body.size}};
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t size = sendmsg(link->fd, &message, MSG_NOSIGNAL);
        if (size >= 0) {
            size_t first = (size_t)size < head.size ? (size_t)size : head.size;
            head = view_from(head, first);
            body = view_from(body, (size_t)size - first);
        } else if (errno == EAGAIN) {
            if (!wait_for_socket(self, link->fd, POLLOUT, until))
                return lost(self, strerror(errno), error);
        } else if (errno != EINTR)
            return lost(self, strerror(errno), error);
    }
    return ETHOS_OK;
}

int link_say(struct redis *self, struct redis_link *link, const struct redis_request *request,
             struct ethos_error *error)
{
    char head[32];
    snprintf(head, sizeof head, "*%zu\r\n", request->words);
    return str_code(&request->bytes) ? err_nomem(error)
                                     : link_send(self, link, view_str(head), request, error);
}

/* hiredis grows by 1 MB at a time, which copies a large text again and again; this doubles. */
static void grow_reader_buffer(redisReader *reader)
{
    size_t used = sdslen(reader->buf);
    sds grown = used > CHUNK && sdsavail(reader->buf) < CHUNK ? sdsMakeRoomFor(reader->buf, used)
                                                              : reader->buf;
    if (grown)
        reader->buf = grown;
}

/* Reads what there is. ETHOS_NOTFOUND: nothing yet. */
static int feed(struct redis *self, struct redis_link *link, struct ethos_error *error)
{
    char chunk[CHUNK];
    ssize_t size = recv(link->fd, chunk, sizeof chunk, 0);
    if (size == 0)
        return lost(self, "the server closed it", error);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return ETHOS_NOTFOUND;
    if (size < 0)
        return lost(self, strerror(errno), error);
    grow_reader_buffer(link->reader);
    return redisReaderFeed(link->reader, chunk, (size_t)size) == REDIS_OK ? ETHOS_OK
                                                                          : err_nomem(error);
}

int link_look(struct redis *self, struct redis_link *link, redisReply **out_reply,
              struct ethos_error *error)
{
    for (;;) {
        void *reply = NULL;
        if (redisReaderGetReply(link->reader, &reply) != REDIS_OK)
            return link->reader->err == REDIS_ERR_OOM
                       ? err_nomem(error)
                       : lost(self, "what it says is not the Redis protocol", error);
        *out_reply = reply;
        int code = reply ? ETHOS_OK : feed(self, link, error);
        if (reply || code != ETHOS_OK)
            return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
}

int link_reply(struct redis *self, struct redis_link *link, redisReply **out_reply,
               struct ethos_error *error)
{
    int64_t until = os_monotonic_ms() + self->timeout_ms;
    for (;;) {
        int code = link_look(self, link, out_reply, error);
        if (code != ETHOS_OK || *out_reply)
            return code;
        if (!wait_for_socket(self, link->fd, POLLIN, until))
            return lost(self, "no answer in time", error);
    }
}

/* ---- introducing ourselves ------------------------------------------------------------------ */

/* A text of the server that we do not know is not repeated here: it may quote the password. */
static int check_login(const struct redis *self, const redisReply *reply, struct ethos_error *error)
{
    bool again;
    if (reply->type != REDIS_REPLY_ERROR)
        return ETHOS_OK;
    int code = refusal_set(self, reply, &again, error);
    if (code != ETHOS_IO)
        return code;
    code = err_set(error, ETHOS_DENIED, "Redis at %s does not accept this password",
                   self->place.shown);
    return err_hint(error, code, "a server without requirepass and users needs no password");
}

/* Replies; those that were not asked for are NULL. */
struct greeting {
    redisReply *login, *database, *info, *config;
};

static void forget_greeting(struct greeting *greeting)
{
    freeReplyObject(greeting->login);
    freeReplyObject(greeting->database);
    freeReplyObject(greeting->info);
    freeReplyObject(greeting->config);
}

/* All questions first, then all answers: one round trip. */
static int read_greeting(struct redis *self, struct redis_link *link, bool learning,
                         struct greeting *out, struct ethos_error *error)
{
    struct redis_request requests[4] = {0};
    redisReply **replies[4];
    size_t count = 0;
    for (size_t i = 0; i < 4; i++)
        request_init(&requests[i]);
    if (self->password) {
        replies[count] = &out->login;
        if (self->user)
            request_say(&requests[count++], 3, "AUTH", self->user, self->password);
        else
            request_say(&requests[count++], 2, "AUTH", self->password);
    }
    replies[count] = &out->database;
    request_say(&requests[count++], 2, "SELECT", self->place.db);
    if (learning) {
        replies[count] = &out->info;
        request_say(&requests[count++], 1, "INFO");
        replies[count] = &out->config;
        request_say(&requests[count++], 3, "CONFIG", "GET", "*append*");
    }
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = link_say(self, link, &requests[i], error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = link_reply(self, link, replies[i], error);
    for (size_t i = 0; i < 4; i++) {
        explicit_bzero(requests[i].bytes.data, requests[i].bytes.size); // one holds the password
        request_release(&requests[i]);
    }
    return code;
}

static int check_greeting(struct redis *self, const struct greeting *greeting,
                          struct server *server, struct ethos_error *error)
{
    bool again;
    int code = greeting->login ? check_login(self, greeting->login, error) : ETHOS_OK;
    if (code == ETHOS_OK && greeting->database->type == REDIS_REPLY_ERROR)
        code = refusal_set(self, greeting->database, &again, error);
    if (code != ETHOS_OK || !server)
        return code;
    server_learn(server, greeting->info, greeting->config);
    if (!server->clustered)
        return ETHOS_OK;
    code = err_set(error, ETHOS_UNSUPPORTED, "Redis at %s runs in cluster mode", self->place.shown);
    return err_hint(error, code, "use a server without cluster-enabled");
}

/*
 * What a server says before it hangs up (too many clients, protected mode) is worth more than the
 * end.
 */
static int read_farewell(struct redis *self, struct redis_link *link, int code,
                         struct ethos_error *error)
{
    bool again;
    redisReply *reply = NULL;
    struct ethos_error ignored;
    if (link_look(self, link, &reply, &ignored) == ETHOS_OK && reply &&
        reply->type == REDIS_REPLY_ERROR)
        code = refusal_set(self, reply, &again, error);
    freeReplyObject(reply);
    return code;
}

int link_open(struct redis *self, struct redis_link *link, struct server *server,
              struct ethos_error *error)
{
    struct greeting greeting = {0};
    link_close(link);
    int code = self->place.path[0] ? connect_socket(self, &link->fd, error)
                                   : connect_host(self, &link->fd, error);
    if (code != ETHOS_OK)
        return code;
    link->reader = redisReaderCreate();
    code = link->reader ? read_greeting(self, link, server != NULL, &greeting, error)
                        : err_nomem(error);
    if (code == ETHOS_OK)
        code = check_greeting(self, &greeting, server, error);
    else if (code == ETHOS_BUSY && !greeting.database && !greeting.login)
        code = read_farewell(self, link, code, error);
    self->reach.waits |= greeting.login || greeting.database; // somebody is there, ready or not
    forget_greeting(&greeting);
    if (code != ETHOS_OK)
        link_close(link);
    return code;
}
