/*
 * transport.c: one HTTP exchange at a time, over libcurl.
 *
 * Why the multi interface for a single transfer: its poll watches the descriptor of an abort as well, and takes
 * our deadlines. curl's own callbacks run once in a second on a silent line, and its low speed limit is late.
 */
#include "agent/models/transport.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"

#define MAX_ERROR_BODY 65536 /* bytes of an answer that is an error */
#define DRAIN_MS                                                                                   \
    100 /* for the end of an answer that is complete, so that the connection can be used again */
#define LONGEST_POLL_MS 60000

struct transport {
    struct transport_settings settings;
    CURLM *multi;
    CURL *easy;
    char reason[CURL_ERROR_SIZE];

    /* of the exchange */
    const struct transport_request *request;
    struct str error_body;
    int http;
    bool has_bytes;       /* of the body */
    bool is_stopped;      /* the reader has enough */
    int64_t last_byte_ms; /* or the start */
};

/* ---- options ------------------------------------------------------------------------------------- */

static bool is_link_local(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 16 ==
               0xA9FE;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Link-local addresses are where clouds keep the credentials of a machine: no name may lead there. */
static curl_socket_t open_allowed_socket(void *arg, curlsocktype purpose,
                                         struct curl_sockaddr *address)
{
    (void)arg, (void)purpose;
    if (is_link_local(&address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t read_status_header(char *line, size_t size, size_t count, void *arg)
{
    struct transport *self = arg;
    long http = 0;
    curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &http);
    self->http = (int)http;
    bool is_last = size * count <= 2 && (*line == '\r' || *line == '\n');
    if (is_last && http >= 200 && http < 300 && self->request->start)
        self->request->start(self->request->arg);
    return size * count;
}

static size_t receive_body(char *data, size_t size, size_t count, void *arg)
{
    struct transport *self = arg;
    struct ethos_view bytes = view_of(data, size * count);
    self->has_bytes = true;
    self->last_byte_ms = os_monotonic_ms();
    if (self->http >= 200 && self->http < 300)
        self->is_stopped = !self->request->read(self->request->arg, bytes);
    else if (str_add(&self->error_body, bytes) != ETHOS_OK)
        self->is_stopped = true;
    return self->is_stopped ? 0 : bytes.size;
}

bool transport_append(void *str, struct ethos_view bytes)
{
    return str_add(str, bytes) == ETHOS_OK;
}

static void append_header_line(struct curl_slist **lines, const char *line, CURLcode *code)
{
    struct curl_slist *longer = curl_slist_append(*lines, line);
    if (longer)
        *lines = longer;
    else
        *code = CURLE_OUT_OF_MEMORY;
}

static CURLcode make_header_lines(const struct transport *self, struct curl_slist **out)
{
    const struct transport_settings *settings = &self->settings;
    CURLcode code = CURLE_OK;
    struct str key;
    str_init(&key, 65536);
    if (settings->context.key)
        str_printf(&key, "%s%s", settings->key_header, settings->context.key);
    if (str_code(&key) != ETHOS_OK)
        code = CURLE_OUT_OF_MEMORY;
    else if (key.size > 0)
        append_header_line(out, key.data, &code);
    append_header_line(out, "Expect:", &code);
    append_header_line(out, "Content-Type: application/json", &code);
    for (const char *const *line = settings->headers; line && *line; line++)
        append_header_line(out, *line, &code);
    str_release(&key);
    return code;
}

static CURLcode set_address(const struct transport *self, const char *path)
{
    const struct endpoint *endpoint = self->settings.endpoint;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    struct str url;
    str_init(&url, 2 * ENDPOINT_MAX_URL);
    if (endpoint_join(endpoint, path, &url) == ETHOS_OK)
        code = curl_easy_setopt(self->easy, CURLOPT_URL, url.data);
    if (code == CURLE_OK && endpoint->is_loopback)
        code = curl_easy_setopt(self->easy, CURLOPT_PROXY, "");
    if (code == CURLE_OK && self->settings.ca_file)
        code = curl_easy_setopt(self->easy, CURLOPT_CAINFO, self->settings.ca_file);
    if (code == CURLE_OK)
        code = curl_easy_setopt(self->easy, CURLOPT_PROTOCOLS_STR,
                                endpoint->is_plain ? "http" : "https");
    str_release(&url);
    return code;
}

static CURLcode set_options(struct transport *self, const struct transport_request *request,
                            struct curl_slist **lines)
{
    CURL *easy = self->easy;
    curl_easy_reset(easy);
    self->reason[0] = 0;
    CURLcode code = make_header_lines(self, lines);
    if (code == CURLE_OK)
        code = set_address(self, request->path);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *lines);
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "ethos/" ETHOS_VERSION);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); // does not wait for a name that nobody resolves
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)self->settings.connect_ms);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_allowed_socket);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, self->reason);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_status_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, self);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, self);
    if (request->body.data) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.data);
    }
    return code;
}

/* ---- the exchange -------------------------------------------------------------------------------- */

enum exchange_end { END_NONE, END_CURL, END_ABORT, END_TIMEOUT, END_COMPLETE };

static int64_t next_deadline(const struct transport *self, bool is_over)
{
    if (is_over)
        return self->last_byte_ms + DRAIN_MS;
    return self->last_byte_ms +
           (self->has_bytes ? self->settings.idle_ms : self->settings.first_byte_ms);
}

static bool is_transfer_done(CURLM *multi, CURLcode *out)
{
    CURLMsg *message;
    int rest;
    while ((message = curl_multi_info_read(multi, &rest)))
        if (message->msg == CURLMSG_DONE) {
            *out = message->data.result;
            return true;
        }
    return false;
}

/* Waits for the network, an abort or the deadline. */
static enum exchange_end wait_for_more(const struct transport *self, CURLcode *code)
{
    const struct transport_request *request = self->request;
    struct curl_waitfd abort = {.fd = request->abort_fd, .events = CURL_WAIT_POLLIN};
    bool is_over = request->is_over && request->is_over(request->arg);
    int64_t rest = next_deadline(self, is_over) - os_monotonic_ms();
    if (rest <= 0)
        return is_over ? END_COMPLETE : END_TIMEOUT;
    CURLMcode polled = curl_multi_poll(self->multi, &abort, request->abort_fd >= 0 ? 1 : 0,
                                       (int)(rest < LONGEST_POLL_MS ? rest : LONGEST_POLL_MS),
                                       NULL);
    if (abort.revents != 0)
        return END_ABORT;
    if (polled == CURLM_OK)
        return END_NONE;
    *code = CURLE_OUT_OF_MEMORY;
    return END_CURL;
}

static enum exchange_end run_exchange(struct transport *self, CURLcode *code)
{
    enum exchange_end end = END_NONE;
    int running;
    while (end == END_NONE) {
        if (curl_multi_perform(self->multi, &running) != CURLM_OK) {
            *code = CURLE_OUT_OF_MEMORY;
            return END_CURL;
        }
        end = is_transfer_done(self->multi, code) ? END_CURL : wait_for_more(self, code);
    }
    return end;
}

/* A write to a connection that was closed must not end the program. */
static enum exchange_end run_without_sigpipe(struct transport *self, CURLcode *code)
{
    const struct timespec none = {0, 0};
    sigset_t pipe, pending, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    enum exchange_end end = run_exchange(self, code);
    while (!sigismember(&pending, SIGPIPE) && sigtimedwait(&pipe, NULL, &none) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return end;
}

/* ---- its result ---------------------------------------------------------------------------------- */

static void copy_header(CURL *easy, const char *name, char out[RETRY_HEADER_SIZE])
{
    struct curl_header *header;
    if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        snprintf(out, RETRY_HEADER_SIZE, "%s", header->value);
}

static void set_failure(const struct transport *self, struct transport_result *out,
                        enum model_error error, int http, const char *detail)
{
    out->has_failed = true;
    failure_set(&out->failure, &self->settings.context, error, http, view_str(detail));
}

/* A certificate that is not valid today is not valid in a second, either. */
static enum model_error error_from_curl(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return MODEL_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_OUT_OF_MEMORY:
        return MODEL_REQUEST;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
        return MODEL_PROTOCOL;
    default:
        return MODEL_NETWORK;
    }
}

static void set_timeout(const struct transport *self, struct transport_result *out)
{
    char detail[80];
    int64_t ms = self->has_bytes ? self->settings.idle_ms : self->settings.first_byte_ms;
    snprintf(detail, sizeof detail, "nothing arrived for %lld s", (long long)(ms + 999) / 1000);
    set_failure(self, out, MODEL_TIMEOUT, 0, detail);
}

static void set_result(struct transport *self, enum exchange_end end, CURLcode code,
                       struct transport_result *out)
{
    curl_off_t connected = 0;
    curl_easy_getinfo(self->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    out->can_connect = connected > 0;
    out->http = self->http;
    bool is_success = self->http >= 200 && self->http < 300;
    if (end == END_ABORT) {
        set_failure(self, out, MODEL_ABORTED, 0, NULL);
    } else if (end == END_TIMEOUT) {
        set_timeout(self, out);
    } else if (end == END_CURL && code != CURLE_OK && !self->is_stopped) {
        set_failure(self, out, error_from_curl(code), 0,
                    self->reason[0] ? self->reason : curl_easy_strerror(code));
    } else if (self->http >= 300 && self->http < 400) {
        set_failure(self, out, MODEL_REQUEST, self->http,
                    "the server redirects elsewhere; check the base URL");
    } else if (!is_success) {
        out->has_failed = true;
        failure_from_body(&out->failure, &self->settings.context, self->http,
                          str_view(&self->error_body));
    }
    copy_header(self->easy, "x-should-retry", out->headers.should_retry);
    copy_header(self->easy, "retry-after-ms", out->headers.after_ms);
    copy_header(self->easy, "retry-after", out->headers.after);
    if (out->has_failed && self->http >= 300)
        out->failure.retry_ms = retry_after_ms(&out->headers, os_now_ms());
}

void transport_send(struct transport *self, const struct transport_request *request,
                    struct transport_result *out)
{
    struct curl_slist *lines = NULL;
    enum exchange_end end = END_CURL;
    *out = (struct transport_result){0};
    self->request = request;
    self->http = 0;
    self->has_bytes = self->is_stopped = false;
    self->last_byte_ms = os_monotonic_ms();
    str_clear(&self->error_body);
    CURLcode code = set_options(self, request, &lines);
    if (code == CURLE_OK && curl_multi_add_handle(self->multi, self->easy) != CURLM_OK)
        code = CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        end = run_without_sigpipe(self, &code);
    set_result(self, end, code, out);
    curl_multi_remove_handle(self->multi, self->easy);
    curl_easy_reset(self->easy); // nothing of the request is left in it
    curl_slist_free_all(lines);
}

int transport_open(const struct transport_settings *settings, struct transport **out,
                   struct ethos_error *error)
{
    struct transport *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->settings = *settings;
    str_init(&self->error_body, MAX_ERROR_BODY);
    self->multi = curl_multi_init();
    self->easy = curl_easy_init();
    if (!self->multi || !self->easy) {
        transport_close(self);
        return err_nomem(error);
    }
    *out = self;
    return ETHOS_OK;
}

void transport_close(struct transport *self)
{
    if (!self)
        return;
    curl_easy_cleanup(self->easy);
    curl_multi_cleanup(self->multi);
    str_release(&self->error_body);
    free(self);
}
