/*
 * access_rules.c: who may come in.
 */
#include "http/access_rules.h"

#include <string.h>

#include "base/view.h"

/* ---- lists and parts of headers ---------------------------------------------------------------- */

bool gate_listed(const char *list, struct ethos_view word)
{
    while (list && *list) {
        size_t size = strcspn(list, ",");
        if (word.size > 0 && view_eq_nocase(view_trim(view_of(list, size)), word))
            return true;
        list += size + (list[size] == ',');
    }
    return false;
}

/* "name", "name:80", "[::1]:80": the name, and whether a port of digits alone follows, or nothing. */
static bool split_host(struct ethos_view host, struct ethos_view *name, struct ethos_view *port)
{
    const char *close = host.size > 0 && host.data[0] == '[' ? memchr(host.data, ']', host.size)
                                                             : NULL;
    size_t from = close ? (size_t)(close - host.data) + 1 : 0;
    const char *colon = from < host.size ? memchr(host.data + from, ':', host.size - from) : NULL;
    size_t size = colon ? (size_t)(colon - host.data) : host.size;
    *name = view_of(host.data, size);
    *port = colon ? view_from(host, size + 1) : view_of(host.data, 0);
    for (size_t i = 0; i < port->size; i++)
        if (port->data[i] < '0' || port->data[i] > '9')
            return false;
    return size > 0 && (close == NULL || size == from) && (!colon || port->size > 0);
}

static bool is_loopback_name(struct ethos_view name)
{
    return view_eq_nocase(name, VIEW("127.0.0.1")) || view_eq_nocase(name, VIEW("localhost")) ||
           view_eq_nocase(name, VIEW("[::1]"));
}

/* Whether a port, of digits alone, is ours; left out it is that of http. */
static bool is_our_port(const struct gate_rules *rules, struct ethos_view port)
{
    unsigned number = 0;
    for (size_t i = 0; i < port.size && number <= 65535; i++)
        number = number * 10 + (unsigned)(port.data[i] - '0');
    bool plain = port.size > 0 && port.data[0] != '0';
    return port.size ? plain && number == rules->port : rules->port == 80;
}

static bool is_our_host(const struct gate_rules *rules, struct ethos_view host)
{
    struct ethos_view name, port;
    if (!split_host(host, &name, &port))
        return false;
    if (gate_listed(rules->hosts, host))
        return true; // as it stands, with or without a port
    return is_our_port(rules, port) && (is_loopback_name(name) || gate_listed(rules->hosts, name));
}

/* The host of an origin, "http://host:port"; absent when it is no such thing. */
static struct ethos_view origin_host(struct ethos_view origin)
{
    static const struct ethos_view schemes[] = {VIEW("http://"), VIEW("https://")};
    for (size_t i = 0; i < 2; i++)
        if (view_starts(origin, schemes[i]))
            return view_from(origin, schemes[i].size);
    return view_of(NULL, 0);
}

/* The origin that a URL begins with. */
static struct ethos_view url_origin(const char *url)
{
    struct ethos_view whole = view_str(url), host = origin_host(whole);
    size_t size = host.size ? strcspn(host.data, "/?#") : 0;
    return size ? view_of(url, whole.size - host.size + size) : view_of(NULL, 0);
}

/* ---- the rules ------------------------------------------------------------------------------------ */

/* A page of ours, of a listed origin, or with none listed of any server of this machine. */
static bool is_known_origin(const struct gate_rules *rules, struct ethos_view origin)
{
    struct ethos_view host = origin_host(origin), name, port;
    bool some = rules->origins && *rules->origins;
    if (gate_listed(rules->origins, origin) || (host.size && is_our_host(rules, host)))
        return true;
    return !some && host.size && split_host(host, &name, &port) && is_loopback_name(name);
}

bool gate_writes(enum http_method method)
{
    return method == HTTP_POST || method == HTTP_PUT || method == HTTP_PATCH ||
           method == HTTP_DELETE;
}

static bool has_key_origins(const struct gate_ask *ask)
{
    return ask->who == HTTP_KEY && ask->key_origins && *ask->key_origins;
}

/* A browser says where a request comes from, in one header or in the other. */
static bool is_foreign(const struct gate_rules *rules, const struct gate_ask *ask)
{
    if (ask->origin)
        return !is_known_origin(rules, view_str(ask->origin)) && !has_key_origins(ask);
    return ask->fetch_site && strcmp(ask->fetch_site, "cross-site") == 0;
}

/* A cookie comes along with whatever a page sends: what writes has to come from a page that is known. */
static bool is_forged(const struct gate_rules *rules, const struct gate_ask *ask)
{
    if (ask->who != HTTP_BROWSER || !gate_writes(ask->method))
        return false;
    struct ethos_view from = ask->origin ? view_str(ask->origin) : url_origin(ask->referer);
    return !from.size || !is_known_origin(rules, from);
}

/* Only JSON: what a form of any page could send is something else. */
static bool is_json_or_empty(const struct gate_ask *ask)
{
    struct ethos_view type = view_str(ask->type);
    type.size = ask->type ? strcspn(ask->type, ";") : 0;
    return view_eq_nocase(view_trim(type), VIEW("application/json"));
}

bool gate_host(const struct gate_rules *rules, struct ethos_view host)
{
    return is_our_host(rules, view_trim(host));
}

enum gate_verdict gate_admit(const struct gate_rules *rules, const struct gate_ask *ask)
{
    if (!ask->ours && !gate_host(rules, view_str(ask->host)))
        return GATE_HOST;
    if (ask->method == HTTP_OPTIONS)
        return GATE_PASS;
    if (has_key_origins(ask) &&
        (!ask->origin || !gate_listed(ask->key_origins, view_str(ask->origin))))
        return GATE_KEY_ORIGIN;
    if (is_forged(rules, ask))
        return GATE_FORGED;
    if (is_foreign(rules, ask))
        return GATE_FOREIGN;
    if (ask->who == HTTP_NOBODY && !ask->open)
        return GATE_NOBODY;
    if ((ask->has_body || ask->type) && gate_writes(ask->method) && !is_json_or_empty(ask))
        return GATE_TYPE;
    return GATE_PASS;
}

bool gate_shares(const struct gate_rules *rules, const struct gate_ask *ask)
{
    if (!ask->origin)
        return false;
    struct ethos_view origin = view_str(ask->origin);
    return gate_listed(rules->origins, origin) ||
           (ask->who != HTTP_BROWSER && gate_listed(ask->key_origins, origin));
}

const struct http_error *gate_error(enum gate_verdict verdict)
{
    static const struct http_error errors[] = {
        [GATE_HOST] = {421, "MISDIRECTED_REQUEST", "This server does not answer to that host name",
                       "Use http://localhost with its port, or name the host in serve.hosts."},
        [GATE_FOREIGN] = {403, "FORBIDDEN", "Requests of this origin are not answered",
                          "Name the origin in serve.origins."},
        [GATE_KEY_ORIGIN] = {403, "FORBIDDEN", "This key is not for this origin",
                             "Use a key that lists the origin."},
        [GATE_NOBODY] = {401, "UNAUTHORIZED", "A credential is needed",
                         "Open the link that `ethos serve` prints, or send an API key."},
        [GATE_FORGED] = {401, "UNAUTHORIZED", "The request does not come from a known page",
                         "Send an Origin header that this server knows."},
        [GATE_TYPE] = {415, "UNSUPPORTED_MEDIA_TYPE", "The body must be JSON",
                       "Send content-type: application/json."},
    };
    return &errors[verdict];
}
