/*
 * endpoint.h: the address of a server of models, checked.
 */
#ifndef ETHOS_AGENT_MODELS_ENDPOINT_H
#define ETHOS_AGENT_MODELS_ENDPOINT_H

#include <stdbool.h>

#include "base/str.h"

#define ENDPOINT_MAX_URL 1024
#define ENDPOINT_MAX_HOST 300

struct endpoint {
    char url[ENDPOINT_MAX_URL]; /* without a slash at the end */
    char host
        [ENDPOINT_MAX_HOST]; /* "api.openai.com:443": an answer or a key is for this host alone */
    bool is_loopback;        /* this machine */
    bool is_plain;           /* http */
};

/*
 * https, or http where the host is this machine or is named in allow_http (up to NULL; or NULL). A name without
 * a scheme is http, as OLLAMA_HOST has it, with default_port. ETHOS_INVALID, or ETHOS_DENIED for plain http.
 */
int endpoint_parse(const char *url, unsigned default_port, const char *const *allow_http,
                   struct endpoint *out, struct ethos_error *error);

/*
 * Appends the address of a path of the API. A base URL that ends in /v1 is meant for paths that do not begin with
 * /v1 or /api. Returns str_code.
 */
int endpoint_join(const struct endpoint *self, const char *path, struct str *out);

/* Whether a host as curl_url_get gives it is this machine: localhost, 127.x.x.x, [::1]. */
bool endpoint_is_loopback_host(const char *host);

#endif
