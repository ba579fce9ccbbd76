/*
 * endpoint.c: the address of a server of models, checked.
 */
#include "agent/models/endpoint.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"

#define UNSPECIFIED "0.0.0.0" /* where a server listens: not an address to connect to */
#define LOOPBACK "127.0.0.1"

bool endpoint_is_loopback_host(const char *host)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

static bool is_http_allowed(const char *const *list, const char *host)
{
    while (list && *list)
        if (strcasecmp(*list++, host) == 0)
            return true;
    return false;
}

/* The parts of an address, owned; see curl_url_get(3). */
struct url_parts {
    char *scheme, *host, *port, *user, *query, *fragment, *url;
};

static void free_parts(struct url_parts *parts)
{
    curl_free(parts->scheme);
    curl_free(parts->host);
    curl_free(parts->port);
    curl_free(parts->user);
    curl_free(parts->query);
    curl_free(parts->fragment);
    curl_free(parts->url);
}

static CURLUcode split_url(CURLU *handle, const char *url, unsigned default_port,
                           struct url_parts *out)
{
    bool has_scheme = strstr(url, "://") != NULL;
    char port[16];
    CURLUcode code = curl_url_set(handle, CURLUPART_URL, url, CURLU_DEFAULT_SCHEME);
    if (code == CURLUE_OK && !has_scheme)
        code = curl_url_set(handle, CURLUPART_SCHEME, "http", 0);
    if (code == CURLUE_OK && !has_scheme &&
        curl_url_get(handle, CURLUPART_PORT, &out->port, 0) == CURLUE_NO_PORT) {
        snprintf(port, sizeof port, "%u", default_port);
        code = curl_url_set(handle, CURLUPART_PORT, port, 0);
    }
    curl_free(out->port);
    out->port = NULL;
    if (code == CURLUE_OK)
        code = curl_url_get(handle, CURLUPART_HOST, &out->host, 0);
    if (code == CURLUE_OK && strcmp(out->host, UNSPECIFIED) == 0) {
        curl_free(out->host);
        out->host = NULL;
        code = curl_url_set(handle, CURLUPART_HOST, LOOPBACK, 0);
        if (code == CURLUE_OK)
            code = curl_url_get(handle, CURLUPART_HOST, &out->host, 0);
    }
    if (code == CURLUE_OK)
        code = curl_url_get(handle, CURLUPART_SCHEME, &out->scheme, 0);
    if (code == CURLUE_OK)
        code = curl_url_get(handle, CURLUPART_PORT, &out->port, CURLU_DEFAULT_PORT);
    if (code == CURLUE_OK)
        code = curl_url_get(handle, CURLUPART_URL, &out->url, 0);
    curl_url_get(handle, CURLUPART_USER, &out->user, 0);
    curl_url_get(handle, CURLUPART_QUERY, &out->query, 0);
    curl_url_get(handle, CURLUPART_FRAGMENT, &out->fragment, 0);
    return code;
}

static int check_url_parts(const char *url, const struct url_parts *parts,
                           const char *const *allow_http, struct endpoint *out,
                           struct ethos_error *error)
{
    size_t size = strlen(parts->url);
    while (size > 0 && parts->url[size - 1] == '/')
        size--;
    if (parts->user)
        return err_set(error, ETHOS_INVALID, "baseUrl: a user name is not allowed in an address");
    if (parts->query || parts->fragment)
        return err_set(error, ETHOS_INVALID, "baseUrl: '%.200s' must not have a query", url);
    out->is_plain = strcmp(parts->scheme, "http") == 0;
    if (!out->is_plain && strcmp(parts->scheme, "https") != 0)
        return err_set(error, ETHOS_INVALID, "baseUrl: '%.200s' is not an https address", url);
    out->is_loopback = endpoint_is_loopback_host(parts->host);
    if (out->is_plain && !out->is_loopback && !is_http_allowed(allow_http, parts->host))
        return err_hint(error,
                        err_set(error, ETHOS_DENIED,
                                "baseUrl: http would send the key and the conversation to %.100s "
                                "unencrypted",
                                parts->host),
                        "use https, or add the host to model.allowHttp");
    if (size >= sizeof out->url || snprintf(out->host, sizeof out->host, "%s:%s", parts->host,
                                            parts->port) >= (int)sizeof out->host)
        return err_set(error, ETHOS_LIMIT, "baseUrl: longer than %d bytes", ENDPOINT_MAX_URL);
    memcpy(out->url, parts->url, size);
    out->url[size] = 0;
    return ETHOS_OK;
}

int endpoint_parse(const char *url, unsigned default_port, const char *const *allow_http,
                   struct endpoint *out, struct ethos_error *error)
{
    struct endpoint found = {0};
    struct url_parts parts = {0};
    CURLU *handle = curl_url();
    CURLUcode split_code = handle ? split_url(handle, url, default_port, &parts)
                                  : CURLUE_OUT_OF_MEMORY;
    int code = split_code == CURLUE_OUT_OF_MEMORY ? err_nomem(error)
               : split_code != CURLUE_OK
                   ? err_set(error, ETHOS_INVALID, "baseUrl: '%.200s' is not a valid address", url)
                   : check_url_parts(url, &parts, allow_http, &found, error);
    free_parts(&parts);
    curl_url_cleanup(handle);
    if (code == ETHOS_OK)
        *out = found;
    return code;
}

int endpoint_join(const struct endpoint *self, const char *path, struct str *out)
{
    size_t size = strlen(self->url);
    bool is_from_root = strncmp(path, "/v1/", 4) == 0 || strncmp(path, "/api/", 5) == 0;
    if (is_from_root && size > 3 && strcmp(self->url + size - 3, "/v1") == 0)
        size -= 3;
    return str_printf(out, "%.*s%s", (int)size, self->url, path);
}
