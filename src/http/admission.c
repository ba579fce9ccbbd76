/*
 * admission.c: what a request says, whether it is within the limits, and whether it may come in.
 */
#include "http/mhd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/view.h"

/* ---- what a request says ------------------------------------------------------------------------------- */

const char *http_header(const struct http_call *call, const char *name)
{
    return MHD_lookup_connection_value(request_of(call)->mhd, MHD_HEADER_KIND, name);
}

const char *http_query(const struct http_call *call, const char *name)
{
    return MHD_lookup_connection_value(request_of(call)->mhd, MHD_GET_ARGUMENT_KIND, name);
}

struct each_query {
    void (*each)(void *arg, const char *name, const char *value);
    void *arg;
};

static enum MHD_Result give_query(void *arg, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    const struct each_query *give = arg;
    (void)kind;
    give->each(give->arg, name, value ? value : "");
    return MHD_YES;
}

void http_each_query(const struct http_call *call,
                     void (*each)(void *arg, const char *name, const char *value), void *arg)
{
    struct each_query give = {each, arg};
    MHD_get_connection_values(request_of(call)->mhd, MHD_GET_ARGUMENT_KIND, give_query, &give);
}

/* The headers that everybody asks for, found in one walk. */
enum known_header {
    HEARD_HOST,
    HEARD_ORIGIN,
    HEARD_REFERER,
    HEARD_SITE,
    HEARD_TYPE,
    HEARD_LENGTH,
    HEARD_ENCODING,
    HEARD_COOKIE,
    HEARD_CREDENTIAL,
    HEARD_ID,
    HEARD_ACCEPT,
    HEARD_MATCH,
    HEARD_NONE_MATCH,
    HEARD_EXPECT,
    HEARD_COUNT
};

struct headers {
    const char *values[HEARD_COUNT];
    size_t count, bytes;
    bool doubled; /* one of those came twice, which would be read one way here and another there */
    bool strange; /* a name has a blank, or what tells the end came twice: the same */
};

/* Whether blanks or controls are in it: then it is no name, though another reader may take it for one. */
static bool is_strange(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return true;
    return false;
}

/* A client may send pieces of these alone. Of what decides nothing the first counts, as for http_header. */
static bool is_list(enum known_header header)
{
    return header == HEARD_COOKIE || header == HEARD_ACCEPT || header == HEARD_MATCH ||
           header == HEARD_NONE_MATCH || header == HEARD_EXPECT;
}

static bool tells_end(enum known_header header)
{
    return header == HEARD_LENGTH || header == HEARD_ENCODING;
}

static enum MHD_Result note_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                   size_t size, const char *value, size_t value_size)
{
    static const struct ethos_view names[] = {
        [HEARD_HOST] = VIEW("host"),
        [HEARD_ORIGIN] = VIEW("origin"),
        [HEARD_REFERER] = VIEW("referer"),
        [HEARD_SITE] = VIEW("sec-fetch-site"),
        [HEARD_TYPE] = VIEW("content-type"),
        [HEARD_LENGTH] = VIEW("content-length"),
        [HEARD_ENCODING] = VIEW("transfer-encoding"),
        [HEARD_COOKIE] = VIEW("cookie"),
        [HEARD_CREDENTIAL] = VIEW("authorization"),
        [HEARD_ID] = VIEW("x-request-id"),
        [HEARD_ACCEPT] = VIEW("accept"),
        [HEARD_MATCH] = VIEW("if-match"),
        [HEARD_NONE_MATCH] = VIEW("if-none-match"),
        [HEARD_EXPECT] = VIEW("expect"),
    };
    struct headers *headers = arg;
    (void)kind;
    headers->count++;
    headers->bytes += size + value_size + 4; // ": " and the line's end
    headers->strange |= is_strange(name, size);
    for (int i = 0; i < HEARD_COUNT; i++) {
        if (names[i].size != size || strncasecmp(name, names[i].data, size) != 0)
            continue;
        headers->doubled |= headers->values[i] && !is_list((enum known_header)i);
        headers->strange |= headers->values[i] && tells_end((enum known_header)i);
        if (!headers->values[i] || i == HEARD_COOKIE)
            headers->values[i] = value ? value : "";
        break;
    }
    return MHD_YES;
}

/* ---- beginning: limits, gate, route --------------------------------------------------------------------- */

static const struct http_error line_long = {414, "URI_TOO_LONG", "The request line is too long",
                                            "Send the arguments in a body."};
static const struct http_error headers_large = {431, "REQUEST_HEADER_FIELDS_TOO_LARGE",
                                                "Too many or too large headers", NULL};
static const struct http_error malformed = {400, "BAD_REQUEST", "Malformed request", NULL};
static const struct http_error unclear = {400, "BAD_REQUEST", "Where the request ends is not clear",
                                          "Send Content-Length once, or chunks."};
static const struct http_error doubled = {400, "BAD_REQUEST", "A header that decides came twice",
                                          "Send Host, Origin, Authorization and their like once."};
static const struct http_error wrong_method = {405, "METHOD_NOT_SUPPORTED",
                                               "This path does not take that method", NULL};
static const struct http_error no_route = {404, "NOT_FOUND", "There is nothing at this path", NULL};
static const struct http_error body_large = {413, "PAYLOAD_TOO_LARGE", "The body is too large",
                                             NULL};
static const struct http_error throttled = {429, "TOO_MANY_REQUESTS", "Too many wrong credentials",
                                            "Wait a minute."};
static const struct http_error keys_unread = {503, "SERVICE_UNAVAILABLE",
                                              "API keys cannot be read now",
                                              "Try again; the server's log tells why."};
static const struct http_error bodies_large = {503, "SERVICE_UNAVAILABLE",
                                               "Too many large requests at a time",
                                               "Try again, with fewer at once."};
static const struct http_error no_memory = {503, "SERVICE_UNAVAILABLE", "Out of memory",
                                            "Try again."};

/* Whether all who read it, proxies among them, find its end at the same place. */
static bool is_framed(const struct headers *headers)
{
    const char *encoding = headers->values[HEARD_ENCODING];
    return !encoding || (!headers->values[HEARD_LENGTH] && strcasecmp(encoding, "chunked") == 0);
}

static const struct http_error *check_request_limits(const struct http_request *request,
                                                     const struct headers *headers)
{
    if (request->line_size > HTTP_MAX_LINE)
        return &line_long;
    if (headers->count > HTTP_MAX_HEADERS || headers->bytes > HTTP_MAX_HEADER)
        return &headers_large;
    if (headers->strange || !is_framed(headers))
        return &unclear;
    if (headers->doubled)
        return &doubled;
    return request->connection->line_bad ? &malformed : NULL;
}

static bool has_body(const struct headers *headers)
{
    const char *length = headers->values[HEARD_LENGTH];
    return (length && length[strspn(length, "0")]) || headers->values[HEARD_ENCODING];
}

/* Whether it sends its body only when told to: then it hears at once that it need not. */
static bool waits(const struct headers *headers)
{
    const char *expect = headers->values[HEARD_EXPECT];
    return expect && strcasecmp(expect, "100-continue") == 0 && has_body(headers);
}

/* Mostly it is the name of before, and what this server answers to stays the same. */
static bool names_us(struct http_request *request, const char *host)
{
    char *known = request->connection->host;
    if (host && *known && strcmp(known, host) == 0)
        return true;
    if (!gate_host(&request->call.http->rules, view_str(host)))
        return false;
    size_t size = strlen(host) + 1;
    memcpy(known, host, size <= HTTP_KEPT_HOST ? size : 0);
    return true;
}

/* "http://host/path" is what proxies are asked, and must be understood: that host has to be ours, too. */
static const char *skip_host(struct http_request *request, const char *url)
{
    static const struct ethos_view scheme = VIEW("http://");
    if (strncasecmp(url, scheme.data, scheme.size) != 0)
        return url;
    const char *host = url + scheme.size;
    request->target = view_of(host, strcspn(host, "/"));
    return host[request->target.size] ? host + request->target.size : "/";
}

static bool is_target(const struct http_request *request)
{
    return !request->target.data || gate_host(&request->call.http->rules, request->target);
}

static const struct http_error *admit_request(struct http_request *request,
                                              const struct headers *headers)
{
    struct http_call *call = &request->call;
    struct auth_found *found = &request->found;
    const struct http_route *route = request->reply.route;
    const char *const *values = headers->values;
    if (!names_us(request, values[HEARD_HOST]) || !is_target(request))
        return gate_error(GATE_HOST);
    auth_find(call->http->auth, call->seat ? seats_last(call->seat) : NULL, values[HEARD_COOKIE],
              values[HEARD_CREDENTIAL], found);
    const struct gate_ask ask = {
        .method = call->method,
        .host = values[HEARD_HOST],
        .ours = true,
        .origin = values[HEARD_ORIGIN],
        .referer = values[HEARD_REFERER],
        .fetch_site = values[HEARD_SITE],
        .type = values[HEARD_TYPE],
        .has_body = has_body(headers),
        .open = route && (route->flags & HTTP_OPEN),
        .who = found->who,
        .key_origins = found->origins,
    };
    enum gate_verdict verdict = gate_admit(&call->http->rules, &ask);
    call->who = found->who;
    call->rights = found->rights;
    call->actor = found->actor;
    call->only = found->rights & OP_LIMITED ? found->only : NULL;
    bool shared = gate_shares(&call->http->rules, &ask) ||
                  (found->who == HTTP_NOBODY && ask.origin &&
                   auth_lists_origin(call->http->auth, ask.origin));
    request->shared = shared ? ask.origin : NULL;
    if (found->unread && (verdict == GATE_NOBODY || verdict == GATE_FOREIGN))
        return &keys_unread; // which may have origins of their own
    if (verdict == GATE_NOBODY && found->throttled)
        return &throttled;
    return verdict == GATE_PASS ? NULL : gate_error(verdict);
}

static const struct http_error *check_route(struct http_request *request,
                                            const struct headers *headers)
{
    struct http_call *call = &request->call;
    const struct http_route *route = request->reply.route;
    if (!route)
        return &no_route;
    if (!(route->methods & (1u << call->method)))
        return &wrong_method;
    size_t max = route->max_body ? route->max_body : HTTP_MAX_BODY;
    size_t larger = route->larger ? route->larger(call) : 0;
    max = larger > max ? larger : max;
    const char *length = headers->values[HEARD_LENGTH];
    request->body.ceiling = max;
    if (length && strtoull(length, NULL, 10) > max)
        return &body_large;
    return NULL;
}

/* A page that nobody vouches for is told how to get in; anything else is told that it may not. */
static bool is_stranger(const struct http_request *request, const struct http_error *error)
{
    const struct http_call *call = &request->call;
    const struct http_route *route = request->reply.route;
    return error && error->status == 401 && route && route->run == http_page &&
           call->method == HTTP_GET && call->who == HTTP_NOBODY;
}

/* What a page of a listed origin may send. Files have PUT and conditions, /mcp has headers of its own. */
#define PREFLIGHT_METHODS "GET,POST,OPTIONS,DELETE,PATCH"
#define PREFLIGHT_HEADERS "Authorization,Content-Type"

static void answer_options(struct http_call *call)
{
    bool contract = http_is_contract(call);
    call->status = 204;
    http_answer_header(call, "Access-Control-Allow-Methods",
                       contract ? PREFLIGHT_METHODS : PREFLIGHT_METHODS ",PUT");
    http_answer_header(call, "Access-Control-Allow-Headers",
                       contract ? PREFLIGHT_HEADERS
                                : PREFLIGHT_HEADERS ",If-Match,If-None-Match,Last-Event-ID,"
                                                    "Mcp-Protocol-Version,Mcp-Method,Mcp-Name");
}

static void add_allowed(struct http_call *call, const struct http_route *route)
{
    char names[80] = "OPTIONS";
    for (int method = 0; method < HTTP_OPTIONS; method++)
        if (route->methods & (1u << method))
            snprintf(names + strlen(names), sizeof names - strlen(names), ", %s",
                     call_method_name((enum http_method)method));
    http_answer_header(call, "Allow", names);
}

void request_refuse(struct http_request *request, const struct http_error *error)
{
    struct http_call *call = &request->call;
    request->step = STEP_REFUSED;
    if (is_stranger(request, error)) {
        call->status = 401;
        http_stranger(call);
        return;
    }
    call_refuse(call, error);
    if (error == &wrong_method && request->reply.route)
        add_allowed(call, request->reply.route);
}

/* url is the path of the line, decoded: of the same line it is the same. */
static void find_route(struct http_request *request, const char *url)
{
    struct connection *connection = request->connection;
    if (!connection->line_known) {
        bool path_ok = call_path_ok(url);
        connection->line_bad |= !path_ok;
        connection->route = path_ok ? http_route(url) : NULL;
        connection->line_known = *connection->line;
    }
    request->reply.route = connection->route;
    if (request->reply.route)
        request->call.rest = url + strlen(request->reply.route->prefix);
}

/* The first call of the handler: the headers are here. */
void request_begin(struct http_request *request, const char *url, const char *method)
{
    struct http_call *call = &request->call;
    struct headers headers = {0};
    call->path = url = skip_host(request, url);
    request->step = STEP_READ;
    MHD_get_connection_values_n(request->mhd, MHD_HEADER_KIND, note_header, &headers);
    call->seat = seats_take(call->http->seats);
    call_name(call, headers.values[HEARD_ID]);
    request->accept = headers.values[HEARD_ACCEPT];
    request->conditional = headers.values[HEARD_MATCH] || headers.values[HEARD_NONE_MATCH];
    find_route(request, url);
    bool known = http_method_parse(method, &call->method);
    const struct http_error *error = check_request_limits(request, &headers);
    if (!error)
        error = known ? admit_request(request, &headers) : &wrong_method;
    if (!error && call->method == HTTP_OPTIONS) {
        request->step = STEP_REFUSED; // nothing more is asked
        answer_options(call);
        return;
    }
    if (!error)
        error = check_route(request, &headers);
    request->last = error == &unclear || error == &body_large || (error && waits(&headers));
    if (error)
        request_refuse(request, error);
    connection_enter(request->connection, error                ? PHASE_REFUSED
                                          : has_body(&headers) ? PHASE_BODY
                                                               : PHASE_ANSWER);
}

/* ---- its body --------------------------------------------------------------------------------------------- */

/* Counts what the body takes by now; false: all together take too much. */
static bool hold(struct http_request *request)
{
    size_t taken = request->body.capacity, before = request->held;
    request->held = taken > HTTP_KEPT_BYTES ? taken : 0;
    if (request->held == before)
        return true;
    size_t more = request->held - before; // less than none is a number that wraps
    size_t all = atomic_fetch_add(&request->server->bodies, more) + more;
    return request->held < before || all <= HTTP_MAX_BODIES;
}

void request_forget(struct http_request *request)
{
    if (request->body.capacity > HTTP_KEPT_BYTES)
        str_release(&request->body);
    str_clear(&request->body);
    hold(request);
}

void request_take(struct http_request *request, struct ethos_view piece)
{
    if (request->step != STEP_READ)
        return; // it is let through, and forgotten
    int code = str_add(&request->body, piece);
    const struct http_error *error = code == ETHOS_LIMIT ? &body_large
                                     : code != ETHOS_OK  ? &no_memory
                                     : !hold(request)    ? &bodies_large
                                                         : NULL;
    if (error) {
        request_forget(request);
        request_refuse(request, error);
    }
}
