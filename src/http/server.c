/*
 * server.c: libmicrohttpd begins and ends; connections, and how long each may take.
 *
 * Time limits are not libmicrohttpd's, which knows one, of silence, and would look at the clock and move a
 * list for each piece: server_tick shuts the sockets of those that are too slow.
 */
#include "http/mhd.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"

#define FINISH_MS 10000 /* that open requests have at the end */

/* ---- connections ----------------------------------------------------------------------------------- */

void connection_enter(struct connection *connection, enum connection_phase phase)
{
    if (!connection || connection->phase == (int)phase)
        return;
    atomic_store_explicit(&connection->since, os_tick_ms(), memory_order_relaxed);
    atomic_store_explicit(&connection->phase, phase, memory_order_release);
}

static void add_connection(struct http_server *self, struct connection *connection)
{
    pthread_mutex_lock(&self->mutex);
    connection->next = self->connections;
    connection->link = &self->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    self->connections = connection;
    pthread_mutex_unlock(&self->mutex);
}

void connection_leave(struct http_server *self, struct connection *connection)
{
    self->connection_count -= !connection->gone;
    connection->gone = true;
}

/* libmicrohttpd closes the socket after this: what we do to it, we do holding the mutex. */
static void remove_connection(struct http_server *self, struct connection *connection)
{
    if (!connection)
        return;
    pthread_mutex_lock(&self->mutex);
    connection_leave(self, connection);
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    pthread_mutex_unlock(&self->mutex);
    request_release(&connection->request);
    free(connection);
}

static void count_connection(struct http_server *self, int change)
{
    pthread_mutex_lock(&self->mutex);
    self->connection_count += (size_t)change;
    pthread_mutex_unlock(&self->mutex);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *self = arg;
    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
        remove_connection(self, *context);
        return;
    }
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct connection *connection = calloc(1, sizeof *connection);
    *context = connection;
    if (!connection) {
        count_connection(self, -1);
        shutdown(fd, SHUT_RDWR);
        return;
    }
    request_init(&connection->request);
    connection->fd = fd;
    connection_enter(connection, PHASE_HEADERS);
    add_connection(self, connection);
}

static void turn_away(int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                               "Retry-After: 5\r\nContent-Length: 0\r\n\r\n";
    (void)!send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* Whether nothing is asked, so that nobody waits for an answer. */
static bool asks_nothing(const struct connection *connection)
{
    enum connection_phase phase = (enum connection_phase)connection->phase;
    return phase == PHASE_IDLE || phase == PHASE_HEADERS || phase == PHASE_REFUSED;
}

static bool has_unread_bytes(const struct connection *connection)
{
    int unread = 0;
    return ioctl(connection->fd, FIONREAD, &unread) == 0 && unread > 0;
}

static struct connection *find_oldest_idle(const struct http_server *self, bool all_read)
{
    struct connection *oldest = NULL;
    for (struct connection *at = self->connections; at; at = at->next)
        if (!at->gone && asks_nothing(at) && (!oldest || at->since <= oldest->since) &&
            !(all_read && at->phase != PHASE_REFUSED && has_unread_bytes(at)))
            oldest = at;
    return oldest;
}

/*
 * Holding the mutex. Who has asked nothing for longest gives its place to one that may. A request that has arrived
 * and that no thread has read yet is a question, too.
 */
static bool close_oldest_idle(struct http_server *self)
{
    struct connection *oldest = find_oldest_idle(self, false);
    if (oldest && oldest->phase != PHASE_REFUSED && has_unread_bytes(oldest))
        oldest = find_oldest_idle(self, true);
    if (!oldest)
        return false;
    shutdown(oldest->fd, SHUT_RDWR);
    connection_leave(self, oldest);
    return true;
}

void server_make_room(struct http_server *self)
{
    pthread_mutex_lock(&self->mutex);
    close_oldest_idle(self);
    pthread_mutex_unlock(&self->mutex);
}

void server_take(struct http_server *self, int fd, const struct sockaddr *address, socklen_t size)
{
    const size_t most = self->http->max_connections;
    pthread_mutex_lock(&self->mutex);
    if (self->connection_count >= most)
        streams_sweep(self);
    while (self->connection_count >= most && close_oldest_idle(self))
        ;
    bool room = self->connection_count < most && !self->ending;
    self->connection_count += room;
    pthread_mutex_unlock(&self->mutex);
    if (!room)
        turn_away(fd);
    else if (MHD_add_connection(self->daemon, fd, address, size) != MHD_YES)
        count_connection(self, -1); // it closed the socket
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static int64_t allowed_ms(enum connection_phase phase)
{
    switch (phase) {
    case PHASE_HEADERS:
    case PHASE_REFUSED:
        return HTTP_HEADER_SECONDS * 1000;
    case PHASE_BODY:
        return HTTP_BODY_SECONDS * 1000;
    case PHASE_IDLE:
    case PHASE_ANSWER:
        break;
    }
    return HTTP_IDLE_SECONDS * 1000;
}

/* While an answer is made, and whenever its peer has taken some of it, the time begins anew. */
static void look_at_answer(struct connection *connection, int64_t now)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    bool waits = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0;
    if (!waits || info.tcpi_bytes_acked != connection->taken)
        connection->since = now;
    connection->taken = info.tcpi_bytes_acked;
}

/*
 * libmicrohttpd takes 128 events at a time, and when there are exactly so many it waits for one more before it
 * looks at any: who has asked may wait for nothing. Setting this option tells anew that there is something to read.
 */
static void announce(const struct connection *connection)
{
    const int one = 1;
    if (has_unread_bytes(connection))
        setsockopt(connection->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
}

void server_tick(struct http_server *self)
{
    int64_t now = os_monotonic_ms();
    auth_look(self->http->auth);
    pthread_mutex_lock(&self->mutex);
    for (struct connection *at = self->connections; at; at = at->next) {
        enum connection_phase phase = (enum connection_phase)
                                          at->phase; // before since, which is written before it
        if (phase == PHASE_ANSWER)
            look_at_answer(at, now);
        else
            announce(at);
        if (now - at->since > allowed_ms(phase))
            shutdown(at->fd, SHUT_RDWR);
    }
    for (struct http_request *at = self->streams; at; at = at->next) {
        at->ended = at->ended || !auth_holds(self->http->auth, &at->found);
        if (at->ended || now - at->quiet_since >= HTTP_HEARTBEAT_MS)
            stream_wake(at);
    }
    pthread_mutex_unlock(&self->mutex);
}

/* ---- start and end --------------------------------------------------------------------------------------------------- */

static void log_daemon_message(void *arg, const char *format, va_list args)
{
    struct http_server *self = arg;
    char line[512];
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = 0;
    http_log(self->http, ETHOS_LOG_DEBUG, "%s", line);
}

static struct MHD_Daemon *start_daemon(struct http_server *self)
{
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
                           MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)log_daemon_message, self},
        {MHD_OPTION_THREAD_POOL_SIZE, HTTP_THREADS, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, HTTP_MAX_CONNECTIONS + HTTP_MAX_GONE, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, self},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_line, self},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_end, self},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(flags, 0, NULL, NULL, on_request, self, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

int server_start(struct http *http, struct http_server **out, struct ethos_error *error)
{
    struct http_server *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->http = http;
    pthread_mutex_init(&self->mutex, NULL);
    errno = 0;
    self->watch = epoll_create1(EPOLL_CLOEXEC);
    self->daemon = self->watch >= 0 ? start_daemon(self) : NULL;
    if (!self->daemon) {
        int saved = errno;
        server_free(self);
        return err_errno(error, saved ? saved : EIO, "the server could not be started");
    }
    *out = self;
    return ETHOS_OK;
}

/* Whether an answer is still on its way; who has not asked yet is not waited for. */
static bool is_busy(struct http_server *self)
{
    bool busy = false;
    pthread_mutex_lock(&self->mutex);
    for (struct connection *at = self->connections; at; at = at->next) {
        if (asks_nothing(at))
            shutdown(at->fd, SHUT_RDWR);
        else
            busy = true;
    }
    for (struct http_request *request = self->streams; request; request = request->next)
        stream_wake(request);
    pthread_mutex_unlock(&self->mutex);
    return busy;
}

void server_finish(struct http_server *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ending = true;
    pthread_mutex_unlock(&self->mutex);
    for (int64_t start = os_monotonic_ms(); is_busy(self);) {
        if (os_monotonic_ms() - start > FINISH_MS)
            break;
        os_sleep_ms(5);
    }
}

void server_free(struct http_server *self)
{
    if (!self)
        return;
    if (self->daemon)
        MHD_stop_daemon(self->daemon);
    if (self->watch >= 0)
        close(self->watch);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}
