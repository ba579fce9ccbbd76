/*
 * imap_client.c: a connection to an IMAP server.
 */
#include "gateway/adapters/imap_client.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "gateway/adapters/imap_response.h"

#define CONNECT_MS 15000
#define DONE "DONE\r\n"

struct imap_client {
    CURL *easy;
    curl_socket_t socket;
    struct imap_reader reader;
    unsigned tag;
    bool has_news; /* the server told of new mails in the answer to something else */
};

int imap_open(const struct imap_settings *settings, struct imap_client **out,
              struct ethos_error *error)
{
    struct imap_client *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    imap_reader_init(&self->reader);
    self->easy = curl_easy_init();
    if (!self->easy) {
        imap_close(self);
        return err_nomem(error);
    }
    curl_easy_setopt(self->easy, CURLOPT_URL, settings->url);
    curl_easy_setopt(self->easy, CURLOPT_PROTOCOLS_STR, "imap,imaps");
    curl_easy_setopt(self->easy, CURLOPT_USERNAME, settings->user);
    curl_easy_setopt(self->easy, CURLOPT_PASSWORD, settings->password);
    curl_easy_setopt(self->easy, CURLOPT_USE_SSL,
                     (long)(settings->is_loopback ? CURLUSESSL_TRY : CURLUSESSL_ALL));
    curl_easy_setopt(self->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(self->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(self->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(self->easy, CURLOPT_NOSIGNAL, 1L);
    CURLcode result = curl_easy_perform(self->easy);
    if (result == CURLE_OK)
        result = curl_easy_getinfo(self->easy, CURLINFO_ACTIVESOCKET, &self->socket);
    if (result == CURLE_OK) {
        *out = self;
        return ETHOS_OK;
    }
    imap_close(self);
    return result == CURLE_LOGIN_DENIED
               ? err_set(
                     error, ETHOS_DENIED,
                     "the IMAP server does not accept user and password; put the right one into "
                     "EMAIL_PASSWORD of keys.yaml, or correct channels.email.user")
               : err_set(error, ETHOS_IO, "the IMAP server: %s", curl_easy_strerror(result));
}

void imap_close(struct imap_client *self)
{
    if (!self)
        return;
    if (self->easy)
        curl_easy_cleanup(self->easy);
    imap_reader_release(&self->reader);
    free(self);
}

static int report_lost(struct ethos_error *error)
{
    return err_set(error, ETHOS_IO, "the connection to the IMAP server is over");
}

static int send_all(struct imap_client *self, struct ethos_view bytes, struct ethos_error *error)
{
    int64_t deadline = os_monotonic_ms() + IMAP_REPLY_MS;
    while (bytes.size > 0) {
        size_t sent = 0;
        CURLcode result = curl_easy_send(self->easy, bytes.data, bytes.size, &sent);
        struct pollfd fd = {self->socket, POLLOUT, 0};
        if (result == CURLE_AGAIN && os_monotonic_ms() < deadline)
            os_poll(&fd, 1, 1000);
        else if (result != CURLE_OK)
            return report_lost(error);
        bytes = view_from(bytes, sent);
    }
    return ETHOS_OK;
}

/* What has arrived goes to the reader. *out_more: something did. TLS may hold bytes that no poll tells of. */
static int receive_bytes(struct imap_client *self, bool *out_more, struct ethos_error *error)
{
    char bytes[16384];
    size_t size;
    *out_more = false;
    for (;;) {
        CURLcode result = curl_easy_recv(self->easy, bytes, sizeof bytes, &size);
        if (result == CURLE_AGAIN)
            return ETHOS_OK;
        if (result != CURLE_OK || size == 0)
            return report_lost(error);
        if (imap_reader_feed(&self->reader, view_of(bytes, size)) != ETHOS_OK)
            return err_set(error, ETHOS_LIMIT, "the IMAP server says more than can be read");
        *out_more = true;
    }
}

/* The next response; ETHOS_BUSY when none came in time, or fd (-1: none) is readable. */
static int next_response(struct imap_client *self, int other, int64_t deadline_ms,
                         struct ethos_view *out, struct ethos_error *error)
{
    bool more = true;
    while (!imap_reader_next(&self->reader, out)) {
        struct pollfd fds[] = {{self->socket, POLLIN, 0}, {other, POLLIN, 0}};
        if (self->reader.is_lost)
            return err_set(error, ETHOS_LIMIT, "a mail is larger than can be read");
        int code = receive_bytes(self, &more, error);
        if (code != ETHOS_OK)
            return code;
        if (more)
            continue;
        int64_t wait = deadline_ms - os_monotonic_ms();
        if (wait <= 0)
            return err_set(error, ETHOS_BUSY, "the IMAP server does not answer");
        os_poll(fds, other >= 0 ? 2 : 1, (int)wait);
        if (fds[1].revents)
            return ETHOS_BUSY;
    }
    return ETHOS_OK;
}

static struct ethos_view make_tag(struct imap_client *self, char out[16])
{
    snprintf(out, 16, "e%u", ++self->tag);
    return view_str(out);
}

/* Until the tagged response. */
static int finish_command(struct imap_client *self, struct ethos_view tag, imap_each_fn *each,
                          void *arg, struct ethos_error *error)
{
    struct ethos_view response;
    int64_t deadline = os_monotonic_ms() + IMAP_REPLY_MS;
    for (;;) {
        int code = next_response(self, -1, deadline, &response, error);
        if (code != ETHOS_OK)
            return code == ETHOS_BUSY ? report_lost(error) : code;
        struct ethos_view rest = response;
        struct imap_token token = imap_token_next(&rest);
        if (view_eq(token.text, tag))
            return imap_is(imap_token_next(&rest), "OK")
                       ? ETHOS_OK
                       : err_set(error, ETHOS_INVALID, "the IMAP server refuses: %.*s",
                                 (int)(rest.size < 120 ? rest.size : 120), rest.data);
        rest = response;
        imap_token_next(&rest);
        imap_token_next(&rest);
        self->has_news = self->has_news || imap_is(imap_token_next(&rest), "EXISTS");
        if (each)
            each(arg, response);
    }
}

int imap_command(struct imap_client *self, const char *command, imap_each_fn *each, void *arg,
                 struct ethos_error *error)
{
    char tag[16];
    struct str line;
    struct ethos_view name = make_tag(self, tag);
    str_init(&line, 65536);
    str_printf(&line, "%s %s\r\n", tag, command);
    int code = str_code(&line) == ETHOS_OK ? send_all(self, str_view(&line), error)
                                           : err_nomem(error);
    str_release(&line);
    return code == ETHOS_OK ? finish_command(self, name, each, arg, error) : code;
}

int imap_idle(struct imap_client *self, int fd, int64_t ms, struct ethos_error *error)
{
    char tag[16], line[32];
    struct ethos_view response, name = make_tag(self, tag);
    int64_t deadline = os_monotonic_ms() + ms;
    bool had_news = self->has_news;
    self->has_news = false;
    if (had_news)
        return ETHOS_OK;
    snprintf(line, sizeof line, "%s IDLE\r\n", tag);
    int code = send_all(self, view_str(line), error);
    for (bool news = false; code == ETHOS_OK && !news;) {
        code = next_response(self, fd, deadline, &response, error);
        struct ethos_view rest = response;
        if (code == ETHOS_OK && imap_is(imap_token_next(&rest), "*")) {
            imap_token_next(&rest);
            news = imap_is(imap_token_next(&rest), "EXISTS");
        }
    }
    if (code == ETHOS_OK || code == ETHOS_BUSY)
        code = send_all(self, VIEW(DONE), error);
    return code == ETHOS_OK ? finish_command(self, name, NULL, NULL, error) : code;
}
