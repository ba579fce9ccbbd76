/*
 * websocket.c: connections of an adapter to its platform.
 *
 * libwebsockets 4.1 as Debian builds it cannot wait in somebody else's loop, so it has a thread. Other threads only
 * leave commands and wake it (lws_cancel_service); it begins connections, writes and closes when it is woken. Whatever
 * becomes of an attempt, its end is LWS_CALLBACK_WSI_DESTROY, or no connection at all.
 */
#include "gateway/adapters/websocket.h"

#include <curl/curl.h>
#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/models/endpoint.h"
#include "base/err.h"
#include "base/view.h"

#define STACK_BYTES 1048576
#define MAX_SOCKETS 32     /* that a thread has room for */
#define ATTEMPT_SECONDS 15 /* until a peer has answered */
#define PING_SECONDS 20    /* of silence, then it is asked */
#define HANGUP_SECONDS 35  /* of silence, then it is dead */
#define CLOSE_SECONDS 1    /* for the close of a connection, at the end */
#define NORMAL 1000

struct socket_outgoing {
    struct socket_outgoing *next;
    size_t size;
    unsigned char bytes[]; /* LWS_PRE of them before the text */
};

struct socket_connection {
    struct socket_connection *next;
    unsigned id;
    char url[WEBSOCKET_MAX_URL];
    struct socket_outgoing *first, **last; /* guarded by the mutex, as closes and close_code */
    bool closes;
    int close_code;

    /* of the thread alone */
    struct lws *wsi;
    bool begun, opened, ended;
    int peer_code;
    char why[160];
    struct str text; /* of the message that is arriving */
};

struct socket_event {
    struct socket_event *next;
    struct websocket_event told;
};

struct socket_client {
    struct websockets websockets;
    void (*wake)(void *arg);
    void *wake_arg;
    struct lws_context *context;
    pthread_t thread;
    bool has_thread, direct;

    pthread_mutex_t mutex; /* for what follows */
    struct socket_connection *connections;
    struct socket_event *first, **last;
    unsigned last_id;
    bool ends;
};

/* What the library said last in this thread: the only place where it tells why TLS failed. */
static _Thread_local char last_line[160] __attribute__((tls_model("initial-exec")));

#define REFUSED "its certificate is refused: "

static void remember_log_line(int level, const char *line)
{
    static const char prefix[] = "SSL error: "; // REASON (preverify_ok=...
    (void)level;
    if (strncmp(line, prefix, strlen(prefix)) == 0) {
        const char *reason = line + strlen(prefix), *end = strstr(reason, " (");
        snprintf(last_line, sizeof last_line, REFUSED "%.*s",
                 end ? (int)(end - reason) : (int)strlen(reason), reason);
    } else {
        snprintf(last_line, sizeof last_line, "%s", line);
    }
    last_line[strcspn(last_line, "\r\n")] = '\0';
}

/* ---- events ------------------------------------------------------------------------------------ */

static void queue_event(struct socket_client *self, struct socket_event *event)
{
    pthread_mutex_lock(&self->mutex);
    *self->last = event;
    self->last = &event->next;
    pthread_mutex_unlock(&self->mutex);
    self->wake(self->wake_arg);
}

static struct socket_event *make_event(enum websocket_kind kind,
                                       const struct socket_connection *connection)
{
    struct socket_event *event = calloc(1, sizeof *event);
    if (event) {
        event->told = (struct websocket_event){.kind = kind, .id = connection->id};
        str_init(&event->told.text, WEBSOCKET_MAX_MESSAGE);
    }
    return event;
}

static void free_connection(struct socket_connection *connection)
{
    while (connection->first) {
        struct socket_outgoing *outgoing = connection->first;
        connection->first = outgoing->next;
        free(outgoing);
    }
    str_release(&connection->text);
    explicit_bzero(connection->url, sizeof connection->url);
    free(connection);
}

static void unlink_connection(struct socket_client *self,
                              const struct socket_connection *connection)
{
    pthread_mutex_lock(&self->mutex);
    for (struct socket_connection **at = &self->connections; *at; at = &(*at)->next)
        if (*at == connection) {
            *at = connection->next;
            break;
        }
    pthread_mutex_unlock(&self->mutex);
}

/* Once for each; the caller frees it. */
static void end_connection(struct socket_client *self, struct socket_connection *connection)
{
    struct socket_event *event = make_event(WEBSOCKET_CLOSED, connection);
    unlink_connection(self, connection);
    if (!event)
        return; // whoever waits for it gives up by itself
    event->told.code = connection->peer_code;
    snprintf(event->told.why, sizeof event->told.why, "%s", connection->why);
    queue_event(self, event);
}

/* ---- addresses --------------------------------------------------------------------------------- */

struct socket_address {
    char *scheme, *host, *port, *path, *query;
};

static bool parse_address(const char *url, struct socket_address *out)
{
    *out = (struct socket_address){0};
    CURLU *parsed = curl_url();
    const unsigned flags = CURLU_NON_SUPPORT_SCHEME;
    bool parsed_well = parsed && curl_url_set(parsed, CURLUPART_URL, url, flags) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_SCHEME, &out->scheme, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_HOST, &out->host, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_PATH, &out->path, 0) == CURLUE_OK;
    if (parsed_well) {
        curl_url_get(parsed, CURLUPART_PORT, &out->port, 0);
        curl_url_get(parsed, CURLUPART_QUERY, &out->query, 0);
    }
    curl_url_cleanup(parsed);
    return parsed_well;
}

static void free_address(struct socket_address *address)
{
    curl_free(address->scheme);
    curl_free(address->host);
    curl_free(address->port);
    curl_free(address->path);
    curl_free(address->query);
}

bool websocket_url_is_trusted(const char *url, const char *domain, bool loopback)
{
    struct socket_address address;
    bool trusted = parse_address(url, &address);
    if (trusted && loopback && endpoint_is_loopback_host(address.host)) {
        trusted = strcmp(address.scheme, "ws") == 0 || strcmp(address.scheme, "wss") == 0;
    } else if (trusted) {
        size_t host = strlen(address.host), below = strlen(domain);
        const char *end = host >= below ? address.host + host - below : "";
        trusted = strcmp(address.scheme, "wss") == 0 && strcasecmp(end, domain) == 0 &&
                  (host == below || end[-1] == '.');
    }
    free_address(&address);
    return trusted;
}

/* ---- the thread -------------------------------------------------------------------------------- */

static const lws_retry_bo_t idle_policy = {.secs_since_valid_ping = PING_SECONDS,
                                           .secs_since_valid_hangup = HANGUP_SECONDS};

static struct lws *start_attempt(struct socket_client *self, struct socket_connection *connection)
{
    char path[WEBSOCKET_MAX_URL];
    struct socket_address address;
    struct lws *wsi = NULL;
    if (parse_address(connection->url, &address)) {
        bool secure = strcmp(address.scheme, "wss") == 0;
        snprintf(path, sizeof path, "%s%s%s", address.path, address.query ? "?" : "",
                 address.query ? address.query : "");
        const struct lws_client_connect_info info = {
            .context = self->context,
            .address = address.host,
            .port = address.port ? (int)strtol(address.port, NULL, 10)
                    : secure     ? 443
                                 : 80,
            .ssl_connection = secure ? LCCSCF_USE_SSL : 0,
            .path = path,
            .host = address.host,
            .ietf_version_or_minus_one = -1,
            .alpn = "http/1.1",
            .local_protocol_name = "ethos",
            .opaque_user_data = connection,
            .retry_and_idle_policy = &idle_policy};
        wsi = lws_client_connect_via_info(&info);
        explicit_bzero(path, sizeof path);
    }
    free_address(&address);
    return wsi;
}

static bool has_stopped(struct socket_client *self)
{
    pthread_mutex_lock(&self->mutex);
    bool ends = self->ends;
    pthread_mutex_unlock(&self->mutex);
    return ends;
}

/* The library may be done with it before it returns. */
static void start_connection(struct socket_client *self, struct socket_connection *connection)
{
    connection->begun = true;
    *last_line = '\0';
    connection->wsi = has_stopped(self) ? NULL : start_attempt(self, connection);
    if (!connection->wsi && !connection->ended) {
        snprintf(connection->why, sizeof connection->why, "%s",
                 *last_line ? last_line : "no connection");
        connection->ended = true;
        end_connection(self, connection);
    }
    if (connection->ended)
        free_connection(connection);
}

/* One that was not begun, or has something to write, or is to be closed; NULL: none. */
static struct socket_connection *find_unbegun(struct socket_client *self)
{
    pthread_mutex_lock(&self->mutex);
    struct socket_connection *found = self->connections;
    while (found && found->begun)
        found = found->next;
    pthread_mutex_unlock(&self->mutex);
    return found;
}

static void run_commands(struct socket_client *self)
{
    struct socket_connection *unbegun;
    while ((unbegun = find_unbegun(self)))
        start_connection(self, unbegun);
    pthread_mutex_lock(&self->mutex);
    for (struct socket_connection *at = self->connections; at; at = at->next) {
        if (at->opened && (at->first || at->closes))
            lws_callback_on_writable(at->wsi);
        else if (at->wsi && at->closes)
            lws_set_timeout(at->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
        if (at->wsi && self->ends)
            lws_set_timeout(at->wsi, PENDING_TIMEOUT_USER_OK, CLOSE_SECONDS);
    }
    pthread_mutex_unlock(&self->mutex);
}

/* A message may come in pieces; one that is too large ends the connection. */
static int receive_piece(struct socket_client *self, struct socket_connection *connection,
                         struct ethos_view piece)
{
    if (str_add(&connection->text, piece) != ETHOS_OK) {
        snprintf(connection->why, sizeof connection->why, "a message is too large");
        return -1;
    }
    if (!lws_is_final_fragment(connection->wsi))
        return 0;
    struct socket_event *event = make_event(WEBSOCKET_MESSAGE, connection);
    if (!event)
        return -1;
    str_release(&event->told.text);
    event->told.text = connection->text;
    str_init(&connection->text, WEBSOCKET_MAX_MESSAGE);
    queue_event(self, event);
    return 0;
}

static int write_next(struct socket_client *self, struct socket_connection *connection)
{
    pthread_mutex_lock(&self->mutex);
    struct socket_outgoing *outgoing = connection->first;
    if (outgoing && !(connection->first = outgoing->next))
        connection->last = &connection->first;
    bool more = connection->first, closes = connection->closes;
    int code = connection->close_code;
    pthread_mutex_unlock(&self->mutex);
    if (!outgoing && closes) {
        lws_close_reason(connection->wsi, (enum lws_close_status)code, NULL, 0);
        return -1;
    }
    if (!outgoing)
        return 0;
    int size = lws_write(connection->wsi, outgoing->bytes + LWS_PRE, outgoing->size,
                         LWS_WRITE_TEXT); // masks the bytes
    bool written = size >= 0 && (size_t)size >= outgoing->size;
    free(outgoing);
    if (written && (more || closes))
        lws_callback_on_writable(connection->wsi);
    return written ? 0 : -1;
}

static void handle_opened(struct socket_client *self, struct socket_connection *connection,
                          struct lws *wsi)
{
    struct socket_event *event = make_event(WEBSOCKET_OPENED, connection);
    connection->wsi = wsi;
    connection->opened = true;
    if (event)
        queue_event(self, event);
    lws_callback_on_writable(wsi); // for what was left meanwhile
}

static void handle_destroyed(struct socket_client *self, struct socket_connection *connection)
{
    bool begins = !connection->wsi; // lws_client_connect_via_info has not returned
    if (!*connection->why && !connection->opened)
        snprintf(connection->why, sizeof connection->why, "%s",
                 *last_line ? last_line : "no answer");
    connection->ended = true;
    end_connection(self, connection);
    if (!begins)
        free_connection(connection);
}

/* The library tells a number where a certificate was refused. */
static void store_failure(struct socket_connection *connection, struct ethos_view reason)
{
    if (strncmp(last_line, REFUSED, strlen(REFUSED)) == 0)
        reason = view_str(last_line);
    snprintf(connection->why, sizeof connection->why, "%.*s", VIEW_ARG(reason));
    *last_line = '\0';
}

static int handle_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                           size_t size)
{
    struct socket_client *self = lws_context_user(lws_get_context(wsi));
    struct socket_connection *connection = lws_get_opaque_user_data(wsi);
    (void)user;
    if (reason == LWS_CALLBACK_EVENT_WAIT_CANCELLED) {
        run_commands(self);
        return 0;
    }
    if (!connection || connection->ended)
        return 0;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
        handle_opened(self, connection, wsi);
        break;
    case LWS_CALLBACK_CLIENT_RECEIVE:
        return receive_piece(self, connection, view_of(in, size));
    case LWS_CALLBACK_CLIENT_WRITEABLE:
        return write_next(self, connection);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        store_failure(connection, view_of(in, in ? size : 0));
        break;
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        if (size >= 2)
            connection->peer_code = ((const unsigned char *)in)[0] << 8 |
                                    ((const unsigned char *)in)[1];
        break;
    case LWS_CALLBACK_WSI_DESTROY:
        handle_destroyed(self, connection);
        break;
    default:
        break;
    }
    return 0;
}

static const struct lws_protocols protocols[] = {{.name = "ethos", .callback = handle_callback},
                                                 {0}};

static bool is_finished(struct socket_client *self)
{
    pthread_mutex_lock(&self->mutex);
    bool over = self->ends && !self->connections;
    pthread_mutex_unlock(&self->mutex);
    return over;
}

static void *run_socket_thread(void *arg)
{
    struct socket_client *self = arg;
    while (!is_finished(self) && lws_service(self->context, 0) >= 0)
        ;
    return NULL;
}

/* ---- other threads ----------------------------------------------------------------------------- */

static unsigned connect_url(struct websockets *websockets, const char *url)
{
    struct socket_client *self = (struct socket_client *)websockets;
    struct socket_connection *connection = calloc(1, sizeof *connection);
    pthread_mutex_lock(&self->mutex);
    unsigned id = ++self->last_id;
    if (connection) {
        connection->id = id;
        connection->last = &connection->first;
        str_init(&connection->text, WEBSOCKET_MAX_MESSAGE);
        snprintf(connection->url, sizeof connection->url, "%s", url);
        connection->next = self->connections;
        self->connections = connection;
    }
    pthread_mutex_unlock(&self->mutex);
    lws_cancel_service(self->context);
    return id;
}

/* Within the mutex. */
static struct socket_connection *find_connection(struct socket_client *self, unsigned id)
{
    struct socket_connection *at = self->connections;
    while (at && at->id != id)
        at = at->next;
    return at;
}

static void send_frame_text(struct websockets *websockets, unsigned id, struct ethos_view text)
{
    struct socket_client *self = (struct socket_client *)websockets;
    struct socket_outgoing *outgoing = malloc(sizeof *outgoing + LWS_PRE + text.size);
    if (!outgoing)
        return;
    outgoing->next = NULL;
    outgoing->size = text.size;
    memcpy(outgoing->bytes + LWS_PRE, text.data, text.size);
    pthread_mutex_lock(&self->mutex);
    struct socket_connection *connection = find_connection(self, id);
    if (connection && !connection->closes) {
        *connection->last = outgoing;
        connection->last = &outgoing->next;
        outgoing = NULL;
    }
    pthread_mutex_unlock(&self->mutex);
    free(outgoing);
    lws_cancel_service(self->context);
}

static void close_connection(struct websockets *websockets, unsigned id, int code)
{
    struct socket_client *self = (struct socket_client *)websockets;
    pthread_mutex_lock(&self->mutex);
    struct socket_connection *connection = find_connection(self, id);
    if (connection && !connection->closes) {
        connection->closes = true;
        connection->close_code = code;
    }
    pthread_mutex_unlock(&self->mutex);
    lws_cancel_service(self->context);
}

static bool take_socket_event(struct websockets *websockets, struct websocket_event *out)
{
    struct socket_client *self = (struct socket_client *)websockets;
    pthread_mutex_lock(&self->mutex);
    struct socket_event *event = self->first;
    if (event && !(self->first = event->next))
        self->last = &self->first;
    pthread_mutex_unlock(&self->mutex);
    if (!event)
        return false;
    *out = event->told;
    free(event);
    return true;
}

static void free_client(struct websockets *websockets)
{
    struct socket_client *self = (struct socket_client *)websockets;
    struct websocket_event event;
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    for (struct socket_connection *at = self->connections; at; at = at->next)
        if (!at->closes) {
            at->closes = true;
            at->close_code = NORMAL;
        }
    pthread_mutex_unlock(&self->mutex);
    if (self->has_thread) {
        lws_cancel_service(self->context);
        pthread_join(self->thread, NULL);
    }
    if (self->context)
        lws_context_destroy(self->context);
    while (take_socket_event(websockets, &event))
        str_release(&event.text);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const struct websockets_ops client_ops = {connect_url, send_frame_text, close_connection,
                                                 take_socket_event, free_client};

static bool start_socket_thread(struct socket_client *self)
{
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    self->has_thread = pthread_create(&self->thread, &attr, run_socket_thread, self) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return self->has_thread;
}

int websockets_open(void (*wake)(void *arg), void *arg, bool direct, struct websockets **out,
                    struct ethos_error *error)
{
    struct socket_client *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->websockets.ops = &client_ops;
    self->wake = wake;
    self->wake_arg = arg;
    self->last = &self->first;
    pthread_mutex_init(&self->mutex, NULL);
    const struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
                                                   .protocols = protocols,
                                                   .gid = -1,
                                                   .uid = -1,
                                                   .user = self,
                                                   .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
                                                   .fd_limit_per_thread = MAX_SOCKETS,
                                                   .timeout_secs = ATTEMPT_SECONDS,
                                                   .connect_timeout_secs = ATTEMPT_SECONDS,
                                                   .http_proxy_address = direct ? "" : NULL};
    lws_set_log_level(LLL_ERR | LLL_WARN, remember_log_line);
    self->context = lws_create_context(&info);
    if (self->context && start_socket_thread(self)) {
        *out = &self->websockets;
        return ETHOS_OK;
    }
    free_client(&self->websockets);
    return err_set(error, ETHOS_NOMEM, "libwebsockets cannot be started");
}
