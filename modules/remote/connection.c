/*
 * connection.c: one connection to the server: a question and its answer, in time, again where that is safe.
 *
 * The connection stays open between questions. No redirect is followed: the key is for this address.
 * Nothing here, and nothing that curl says, shows the key.
 */
#include "remote.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/wire.h"

#define MOST_SOCKETS 16    /* of one transfer */
#define NO_SOCKET_MS 50    /* until curl is asked again, while it has none */
#define MOST_WAIT_MS 60000 /* at once */

int64_t link_deadline(const struct remote_link *self)
{
    return os_monotonic_ms() + reach_call_ms(&self->reach);
}

int64_t link_deadline_texts(const struct remote_link *self)
{
    return reach_attempt(&self->reach, os_monotonic_ms(), link_deadline(self));
}

int link_too_late(const struct remote_link *self, struct ethos_error *error)
{
    return err_set(error, ETHOS_BUSY, "%s: timed out after %u ms; nothing was changed", self->url,
                   reach_call_ms(&self->reach));
}

/* ---- one transfer ------------------------------------------------------------------------------- */

void link_hush(struct hush *self)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    self->was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &self->before);
}

void link_unhush(const struct hush *self)
{
    const struct timespec none = {0, 0};
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!self->was_pending && sigtimedwait(&pipe, NULL, &none) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, &self->before, NULL);
}

static CURLcode perform(CURL *curl)
{
    struct hush hush;
    link_hush(&hush);
    CURLcode code = curl_easy_perform(curl);
    link_unhush(&hush);
    return code;
}

/* Until something happens on the sockets, or curl has to see to its times. False: the host gives up. */
static bool wait_for_sockets(const struct remote_link *self)
{
    struct pollfd fds[MOST_SOCKETS];
    fd_set sets[3]; // read, write, except
    unsigned long count = 0;
    int last = -1;
    long ms = -1;
    for (size_t i = 0; i < 3; i++)
        FD_ZERO(&sets[i]);
    curl_multi_fdset(self->multi, &sets[0], &sets[1], &sets[2], &last);
    curl_multi_timeout(self->multi, &ms);
    for (int fd = 0; fd <= last && count < MOST_SOCKETS; fd++) {
        short events = (short)((FD_ISSET(fd, &sets[0]) ? POLLIN : 0) |
                               (FD_ISSET(fd, &sets[1]) ? POLLOUT : 0));
        if (events)
            fds[count++] = (struct pollfd){fd, events, 0};
    }
    long most = count > 0 ? MOST_WAIT_MS : NO_SOCKET_MS;
    if (ms < 0 || ms > most)
        ms = most;
    return reach_poll(&self->reach, fds, count, (int)ms) >= 0;
}

/* The same, while the host waits. */
static CURLcode perform_waiting(struct remote_link *self)
{
    struct hush hush;
    int running = 1, left;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    if (!self->multi && !(self->multi = curl_multi_init()))
        return CURLE_OUT_OF_MEMORY;
    if (curl_multi_add_handle(self->multi, self->curl) != CURLM_OK)
        return CURLE_OUT_OF_MEMORY;
    for (bool goes_on = true; goes_on;) {
        link_hush(&hush);
        curl_multi_perform(self->multi, &running);
        link_unhush(&hush);
        goes_on = running > 0 && wait_for_sockets(self);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    curl_multi_remove_handle(self->multi, self->curl);
    return code;
}

static size_t read_response_part(char *data, size_t size, size_t count, void *arg)
{
    struct remote_link *self = arg;
    return str_add(&self->body, view_of(data, size * count)) == ETHOS_OK ? size * count : 0;
}

static void add_header(struct curl_slist **headers, const char *line, CURLcode *code)
{
    struct curl_slist *longer = curl_slist_append(*headers, line);
    if (longer)
        *headers = longer;
    else
        *code = CURLE_OUT_OF_MEMORY;
}

/* Programs that the host starts have no business with it. */
static curl_socket_t open_cloexec_socket(void *arg, curlsocktype purpose,
                                         struct curl_sockaddr *address)
{
    (void)arg, (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode link_prepare(const struct remote_link *self, CURL *curl, const char *path,
                      struct curl_slist **headers)
{
    struct str url;
    str_init(&url, REMOTE_MAX_URL + REMOTE_MAX_QUERY + 256);
    str_printf(&url, "%s%s", self->url, path);
    CURLcode code = str_code(&url) == ETHOS_OK ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    add_header(headers, self->credential, &code);
    curl_easy_reset(curl);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_URL, url.data);
    if (code == CURLE_OK && self->local)
        code = curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (code == CURLE_OK && self->ca_file)
        code = curl_easy_setopt(curl, CURLOPT_CAINFO, self->ca_file);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(curl, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); // does not wait for a name that nobody resolves
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_cloexec_socket);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, (long)REMOTE_IDLE_SECONDS);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)reach_attempt(&self->reach, 0, self->connect_ms));
    str_release(&url);
    return code;
}

static long earlier_timeout(int64_t remaining, uint32_t most)
{
    int64_t ms = most > 0 && (int64_t)most < remaining ? (int64_t)most : remaining;
    return ms > 0 ? (long)ms : 1;
}

/* The body lives until the transfer is over. */
static CURLcode set_question(struct remote_link *self, const struct remote_call *ask,
                             const struct str *body, struct curl_slist **headers)
{
    struct str line;
    CURLcode code = CURLE_OK;
    str_init(&line, REMOTE_MAX_QUERY + 128);
    str_printf(&line, "%s/store/%s%s%s", ask->query ? "/api" : "/rpc", ask->name,
               ask->query ? "?" : "", ask->query ? ask->query : "");
    add_header(headers, "Accept: application/json", &code);
    add_header(headers, "Expect:", &code);
    if (!ask->query)
        add_header(headers, "Content-Type: application/json", &code);
    if (code == CURLE_OK)
        code = link_prepare(self, self->curl, line.data, headers);
    str_clear(&line);
    if (ask->tag) {
        str_printf(&line, "If-None-Match: \"%s\"", ask->tag);
        add_header(headers, line.data, &code);
    }
    if (!ask->query) {
        curl_easy_setopt(self->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
        curl_easy_setopt(self->curl, CURLOPT_POSTFIELDS, body->data);
    }
    curl_easy_setopt(self->curl, CURLOPT_WRITEFUNCTION, read_response_part);
    curl_easy_setopt(self->curl, CURLOPT_WRITEDATA, self);
    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, *headers);
    if (str_code(&line) != ETHOS_OK)
        code = CURLE_OUT_OF_MEMORY;
    str_release(&line);
    return code;
}

/* *retry_ms: when the server wants to be asked again, 0: it does not say. */
static struct remote_answer perform_request(struct remote_link *self, const struct remote_call *ask,
                                            const struct str *body, int64_t remaining,
                                            int64_t *retry_ms)
{
    struct curl_slist *headers = NULL;
    struct remote_answer answer = {0};
    curl_off_t retry = 0;
    long request = 0;
    char *type = NULL;
    str_clear(&self->body);
    answer.failure = set_question(self, ask, body, &headers);
    curl_easy_setopt(self->curl, CURLOPT_TIMEOUT_MS, earlier_timeout(remaining, self->timeout_ms));
    if (answer.failure == CURLE_OK)
        answer.failure = self->reach.shared && self->reach.shared->wait ? perform_waiting(self)
                                                                        : perform(self->curl);
    if (answer.failure == CURLE_WRITE_ERROR && str_code(&self->body) == ETHOS_LIMIT)
        answer.failure = CURLE_FILESIZE_EXCEEDED;
    if (answer.failure == CURLE_WRITE_ERROR && str_code(&self->body) == ETHOS_NOMEM)
        answer.failure = CURLE_OUT_OF_MEMORY;
    answer.reason = curl_easy_strerror(answer.failure);
    curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_easy_getinfo(self->curl, CURLINFO_REQUEST_SIZE, &request);
    curl_easy_getinfo(self->curl, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(self->curl, CURLINFO_RETRY_AFTER, &retry);
    answer.sent = request > 0;
    answer.type = type;
    answer.body = str_view(&self->body);
    *retry_ms = retry * 1000;
    curl_slist_free_all(headers);
    return answer;
}

/* ---- again --------------------------------------------------------------------------------------- */

/* Something of chance, so that many who were turned away do not come back together. */
static unsigned pause_of(unsigned attempt)
{
    unsigned char chance = 0;
    unsigned ms = REMOTE_FIRST_PAUSE_MS << (attempt < 7 ? attempt : 7);
    os_random(&chance, 1);
    ms = ms < REMOTE_MOST_PAUSE_MS ? ms : REMOTE_MOST_PAUSE_MS;
    return ms / 2 + ms * chance / 512;
}

/* False: the time is not enough. */
static bool wait_before_retry(const struct remote_link *self, unsigned attempt, int64_t retry_ms,
                              int64_t deadline)
{
    int64_t pause = retry_ms > 0 ? retry_ms : pause_of(attempt);
    if (os_monotonic_ms() + pause >= deadline)
        return false;
    return reach_sleep(&self->reach, (unsigned)pause);
}

static int print_body(const struct remote_call *ask, struct str *out, struct ethos_error *error)
{
    if (ask->query)
        return ETHOS_OK;
    str_adds(out, "{\"json\":");
    if (ask->args)
        json_print(ask->args, JSON_STYLE_LINE, out);
    else
        str_adds(out, "{}");
    str_adds(out, "}");
    return str_code(out) == ETHOS_LIMIT
               ? err_set(error, ETHOS_LIMIT, "remote: the request exceeds %d bytes", WIRE_MAX_BODY)
           : str_code(out) != ETHOS_OK ? err_nomem(error)
                                       : ETHOS_OK;
}

/* What was lost once stays unknown: a later refusal says nothing about it. */
static int give_up(const struct remote_link *self, bool lost, int code, struct ethos_error *error)
{
    char reason[sizeof error->text];
    if (!lost || code == ETHOS_IO)
        return lost ? ETHOS_IO : code;
    memcpy(reason, error->text, sizeof reason);
    return err_set(error, ETHOS_IO, "%s: no answer; the change may have been made (then: %.200s)",
                   self->url, reason);
}

/* Until when it is asked again: what was lost, and one who says that he is not ready, to the end. */
static int64_t again_until(const struct remote_link *self, const struct remote_answer *answer,
                           bool lost, int64_t began, int64_t deadline)
{
    struct backend_reach reach = self->reach;
    reach.once = reach.once && !lost;
    reach.waits = reach.waits || lost || answer->status > 0;
    return reach_again(&reach, began, deadline);
}

/* The next call gets this error; of a request that may have been done it says nothing. */
static void note_silence(const struct remote_link *self, const struct remote_answer *answer,
                         int64_t began, const struct ethos_error *error)
{
    struct ethos_error why = *error;
    if (answer->status > 0 ||
        (error->code != ETHOS_BUSY && answer->failure != CURLE_OPERATION_TIMEDOUT))
        return;
    if (why.code != ETHOS_BUSY)
        err_set(&why, ETHOS_BUSY, "%s: no answer: %s", self->url, answer->reason);
    reach_failed(&self->reach, began, os_monotonic_ms(), &why);
}

static int call_until(struct remote_link *self, const struct remote_call *ask,
                      const struct str *body, int64_t deadline, json_t **out,
                      struct ethos_error *error)
{
    bool lost = false;
    struct ethos_error said = {0}; // by the server, the last time that it did
    int64_t began = os_monotonic_ms();
    for (unsigned attempt = 0;; attempt++) {
        int64_t retry_ms;
        int code = ETHOS_OK;
        struct remote_answer answer = perform_request(self, ask, body, deadline - os_monotonic_ms(),
                                                      &retry_ms);
        enum verdict verdict = remote_evaluate_answer(self, ask, &answer, out, &code, error);
        bool again = verdict == VERDICT_LATER ||
                     (verdict == VERDICT_LOST && (ask->flags & ASK_AGAIN));
        lost |= verdict == VERDICT_LOST;
        self->reach.waits |= answer.status > 0 && verdict == VERDICT_DONE;
        if (verdict == VERDICT_DONE)
            return code;
        json_decref(*out);
        *out = NULL;
        if (answer.status > 0)
            said = *error;
        int64_t until = again_until(self, &answer, lost, began, deadline);
        if (!again || !wait_before_retry(self, attempt, retry_ms, until)) {
            note_silence(self, &answer, began, error);
            if (said.code != ETHOS_OK && code == ETHOS_BUSY) // that the time is over says less
                *error = said;
            return give_up(self, lost, code, error);
        }
    }
}

int link_ask(struct remote_link *self, const struct remote_call *ask, int64_t deadline,
             json_t **out, struct ethos_error *error)
{
    struct str body;
    struct ethos_error local = {0};
    error = error ? error : &local;
    *out = NULL;
    str_init(&body, WIRE_MAX_BODY);
    int code = reach_check(&self->reach, os_monotonic_ms(), error);
    if (code == ETHOS_OK)
        code = print_body(ask, &body, error);
    if (code == ETHOS_OK)
        code = call_until(self, ask, &body, deadline, out, error);
    str_release(&body);
    if (self->body.capacity > REMOTE_CACHE_BYTES)
        str_release(&self->body);
    return code;
}
