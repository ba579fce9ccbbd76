/*
 * test_headers.c: the real server refuses what the rules refuse, on every route that there is.
 *
 * Routes come from the table of routes, and below /rpc/ and /api/ from the table of operations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/http.h"
#include "ops/op.h"
#include "raw_client.h"

#define MAX_PATHS 1024

const struct http_parts http_parts;

struct place {
    char path[160];
    const struct http_route *route;
};

static char key[128];
static struct place places[MAX_PATHS];
static size_t place_count;

static void add_place(const struct http_route *route, const char *rest)
{
    assert_true(place_count < MAX_PATHS);
    struct place *place = &places[place_count++];
    snprintf(place->path, sizeof place->path, "%s%s", route->prefix, rest);
    place->route = route;
}

static void add_operations(const struct http_route *route)
{
    char rest[128];
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        snprintf(rest, sizeof rest, "%s", op->name);
        for (char *dot = rest; (dot = strchr(dot, '.'));)
            *dot = '/';
        add_place(route, rest);
    }
}

static int start(void **state)
{
    (void)state;
    for (const struct http_route *route = http_routes; route->prefix; route++) {
        bool names = strcmp(route->prefix, "/rpc/") == 0 || strcmp(route->prefix, "/api/") == 0;
        if (names)
            add_operations(route);
        else
            add_place(route, strcmp(route->prefix, "/assets/") == 0         ? "index.html"
                             : strcmp(route->prefix, "/sse/sessions/") == 0 ? "a"
                                                                            : "");
    }
    drive_start(&drive, NULL);
    drive_login(&drive);
    drive_key(&drive, "memory:read memory:write sessions:read sessions:write personalities:read",
              NULL, key);
    return 0;
}

/* ---- asking everywhere --------------------------------------------------------------------------- */

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
#define METHODS (sizeof methods / sizeof *methods)

static bool has_body(size_t method)
{
    return method >= 2 && method <= 4;
}

/* What every answer has, be it a refusal. */
static void check_headers(const struct reply *reply, const char *what)
{
    static const struct {
        const char *name, *value;
    } wanted[] = {{"x-request-id", NULL},
                  {"x-content-type-options", "nosniff"},
                  {"referrer-policy", "no-referrer"},
                  {"content-security-policy",
                   "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                   "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors "
                   "'none'; require-trusted-types-for 'script'"},
                  {"vary", NULL},
                  {"cache-control", NULL}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *value = reply_header(reply, wanted[i].name);
        if (!value || (wanted[i].value && strcmp(value, wanted[i].value) != 0))
            fail_msg("%s: %s: %s", what, wanted[i].name, value ? value : "(none)");
    }
    const char *challenge = reply_header(reply, "www-authenticate");
    if (reply->status == 401 ? !challenge || strcmp(challenge, "Bearer") != 0 : challenge != NULL)
        fail_msg("%s: %d, www-authenticate: %s", what, reply->status, challenge);
    if (reply_header(reply, "access-control-allow-origin"))
        fail_msg("%s: is shared", what);
}

/* Sends every method to every route, with these headers; wanted tells what must come. */
typedef int wanted_fn(const struct place *place, size_t method);

static void ask_everywhere(const char *headers, wanted_fn *wanted)
{
    char text[2048], what[256];
    struct reply reply;
    int fd = drive_connect(&drive);
    for (size_t i = 0; i < place_count; i++) {
        for (size_t m = 0; m < METHODS; m++) {
            const char *body = has_body(m) ? "{}" : "";
            int size = snprintf(text, sizeof text,
                                "%s %s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", methods[m],
                                places[i].path, headers, strlen(body), body);
            snprintf(what, sizeof what, "%s %s", methods[m], places[i].path);
            drive_send(fd, text, (size_t)size);
            drive_read(fd, m == 1, &reply);
            if (reply.status != wanted(&places[i], m))
                fail_msg("%s: %d, not %d", what, reply.status, wanted(&places[i], m));
            check_headers(&reply, what);
            raw_reply_release(&reply);
        }
    }
    close(fd);
}

/* Headers that are right, but for what a test makes wrong. */
static const char *headers(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *headers(const char *format, ...)
{
    static char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

#define JSON "Content-Type: application/json\r\n"

static int always_403(const struct place *place, size_t method)
{
    (void)place;
    (void)method;
    return 403;
}

static int always_421(const struct place *place, size_t method)
{
    (void)place;
    (void)method;
    return 421;
}

/* ---- tests ------------------------------------------------------------------------------------------ */

static void test_a_wrong_host_is_misdirected(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool port; /* ours behind it */
    } hosts[] = {{"evil.example", false},
                 {"evil.example", true},
                 {"localhost", false},
                 {"localhost:1", false},
                 {"127.0.0.1.evil.example", true}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char host[64], port[16] = "";
        if (hosts[i].port)
            snprintf(port, sizeof port, ":%u", drive.port);
        snprintf(host, sizeof host, "%s%s", hosts[i].name, port);
        ask_everywhere(headers("Host: %s\r\nAuthorization: Bearer %s\r\n" JSON, host, key),
                       always_421);
        ask_everywhere(headers("Host: %s\r\nCookie: ethos_auth=%s\r\n" JSON, host, drive.cookie),
                       always_421);
    }
}

/* The text with our port in place of %u. */
static void put_port(char *out, size_t size, const char *text)
{
    const char *place = strstr(text, "%u");
    int before = place ? (int)(place - text) : (int)strlen(text);
    char port[16] = "";
    if (place)
        snprintf(port, sizeof port, "%u", drive.port);
    snprintf(out, size, "%.*s%s%s", before, text, port, place ? place + 2 : "");
}

static void test_two_hosts_are_none(void **state)
{
    (void)state;
    struct reply reply;
    drive_ask(&drive, &reply,
              "GET / HTTP/1.1\r\nHost: localhost:%u\r\nHost: evil.example\r\n"
              "Cookie: ethos_auth=%s\r\n\r\n",
              drive.port, drive.cookie);
    assert_int_equal(reply.status, 400);
    assert_non_null(strstr(reply.body, "came twice"));
    raw_reply_release(&reply);
    drive_ask(&drive, &reply, "GET / HTTP/1.0\r\nCookie: ethos_auth=%s\r\n\r\n", drive.cookie);
    assert_int_equal(reply.status, 421);
    raw_reply_release(&reply);
}

/* What a line says of the host counts as much as the header. */
static void test_a_line_may_name_the_host(void **state)
{
    static const struct {
        const char *line, *host;
        int status;
    } rows[] = {
        {"http://localhost:%u/openapi.json", "localhost:%u", 200},
        {"HTTP://127.0.0.1:%u/openapi.json?x=y", "localhost:%u", 200},
        {"http://localhost:%u", "localhost:%u", 200},
        {"/openapi.json", "localhost:%u ", 200},
        {"http://localhost:%u/nothing", "localhost:%u", 404},
        {"http://localhost:%u/../openapi.json", "localhost:%u", 400},
        {"http://evil.example:%u/openapi.json", "localhost:%u", 421},
        {"http://localhost:1%u/openapi.json", "localhost:%u", 421},
        {"http://x@localhost:%u/openapi.json", "localhost:%u", 421},
        {"http:///openapi.json", "localhost:%u", 421},
        {"http://localhost:%u/openapi.json", "evil.example:%u", 421},
        {"https://localhost:%u/openapi.json", "localhost:%u", 400},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[96], host[96];
        put_port(line, sizeof line, rows[i].line);
        put_port(host, sizeof host, rows[i].host);
        int status = drive_status(&drive,
                                  "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: ethos_auth=%s\r\n"
                                  "Connection: close\r\n\r\n",
                                  line, host, drive.cookie);
        if (status != rows[i].status)
            fail_msg("%s, %s: %d", rows[i].line, rows[i].host, status);
    }
}

static void test_a_key_of_a_foreign_page_is_forbidden(void **state)
{
    (void)state;
    static const char *const origins[] = {"https://evil.example", "null",
                                          "http://localhost.evil.example"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        ask_everywhere(
            headers("Host: localhost:%u\r\nAuthorization: Bearer %s\r\nOrigin: %s\r\n" JSON,
                    drive.port, key, origins[i]),
            always_403);
    ask_everywhere(headers("Host: localhost:%u\r\nAuthorization: Bearer %s\r\n"
                           "Sec-Fetch-Site: cross-site\r\n" JSON,
                           drive.port, key),
                   always_403);
}

static int forged(const struct place *place, size_t method)
{
    (void)place;
    return method < 2 ? 403 : 401;
}

static void test_a_cookie_of_a_foreign_page_is_refused(void **state)
{
    (void)state;
    ask_everywhere(headers("Host: localhost:%u\r\nCookie: ethos_auth=%s\r\n"
                           "Origin: https://evil.example\r\n" JSON,
                           drive.port, drive.cookie),
                   forged);
    ask_everywhere(headers("Host: localhost:%u\r\nCookie: ethos_auth=%s\r\n"
                           "Sec-Fetch-Site: cross-site\r\n" JSON,
                           drive.port, drive.cookie),
                   forged);
}

/* Of the two routes that are open one needs a token instead, and one tells nothing: GET and HEAD. */
static int nobody(const struct place *place, size_t method)
{
    bool open = place->route->flags & HTTP_OPEN;
    if (strcmp(place->route->prefix, "/healthz") == 0)
        return method < 2 ? 200 : 405;
    return open && method > 0 ? 405 : 401;
}

static void test_without_a_credential_nothing_is_told(void **state)
{
    (void)state;
    ask_everywhere(headers("Host: localhost:%u\r\n" JSON, drive.port), nobody);
    struct reply reply;
    drive_ask(&drive, &reply, "GET /no/such/path HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
              drive.port);
    assert_int_equal(reply.status, 401);
    raw_reply_release(&reply);
    drive_ask(&drive, &reply,
              "GET /no/such/path HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
              drive.port, drive.cookie);
    assert_int_equal(reply.status, 404);
    raw_reply_release(&reply);
}

/* The same wrong credential again and again is one failure, so that this stays 401. */
static void test_a_wrong_credential_is_none(void **state)
{
    (void)state;
    char wrong[128];
    memcpy(wrong, key, sizeof wrong);
    wrong[strlen(wrong) - 1] ^= 1;
    ask_everywhere(
        headers("Host: localhost:%u\r\nAuthorization: Bearer %s\r\n" JSON, drive.port, wrong),
        nobody);
    ask_everywhere(
        headers("Host: localhost:%u\r\nAuthorization: Basic %s\r\n" JSON, drive.port, key), nobody);
    ask_everywhere(headers("Host: localhost:%u\r\nCookie: ethos_auth=%.63sx\r\n" JSON, drive.port,
                           drive.cookie),
                   nobody);
    ask_everywhere(
        headers("Host: localhost:%u\r\nCookie: ethos_auth=%s\r\n" JSON, drive.port, drive.token),
        nobody); // the link's, which was used
}

/* Without Origin and Referer nobody knows which page it was. */
static void test_a_cookie_alone_changes_nothing(void **state)
{
    (void)state;
    char text[1024];
    for (size_t i = 0; i < place_count; i++) {
        for (size_t m = 2; m < METHODS; m++) {
            struct reply reply;
            snprintf(text, sizeof text,
                     "%s %s HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n" JSON
                     "Content-Length: 2\r\n\r\n{}",
                     methods[m], places[i].path, drive.port, drive.cookie);
            drive_ask(&drive, &reply, "%s", text);
            if (reply.status != 401)
                fail_msg("%s %s: %d", methods[m], places[i].path, reply.status);
            raw_reply_release(&reply);
        }
    }
}

static void test_a_body_that_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const types[] = {"text/plain", "application/x-www-form-urlencoded",
                                        "multipart/form-data; boundary=x", ""};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < place_count; i++) {
            for (size_t m = 2; m <= 4; m++) {
                struct reply reply;
                drive_ask(&drive, &reply,
                          "%s %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n"
                          "%s%s%sContent-Length: 2\r\n\r\n{}",
                          methods[m], places[i].path, drive.port, key,
                          *types[t] ? "Content-Type: " : "", types[t], *types[t] ? "\r\n" : "");
                if (reply.status != 415)
                    fail_msg("%s %s %s: %d", methods[m], places[i].path, types[t], reply.status);
                raw_reply_release(&reply);
            }
        }
    }
}

static void test_a_key_of_another_origin_is_forbidden(void **state)
{
    (void)state;
    char bound[128];
    drive_key(&drive, "memory:read", "https://app.example", bound);
    ask_everywhere(
        headers("Host: localhost:%u\r\nAuthorization: Bearer %s\r\n" JSON, drive.port, bound),
        always_403);
    struct reply reply;
    drive_ask(&drive, &reply,
              "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n"
              "Origin: https://app.example\r\nSec-Fetch-Site: cross-site\r\n\r\n",
              drive.port, bound);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "access-control-allow-origin"), "https://app.example");
    assert_string_equal(reply_header(&reply, "access-control-expose-headers"),
                        "ETag,Ethos-Known-At,Retry-After,X-Request-Id");
    raw_reply_release(&reply);
}

/* The keys of the home, or something that is none. */
static void swap_keys(const char *from, const char *to, const char *instead)
{
    char a[512], b[512];
    snprintf(a, sizeof a, "%s/%s", drive.home, from);
    snprintf(b, sizeof b, "%s/%s", drive.home, to);
    assert_int_equal(drive_stop(&drive), 0);
    assert_int_equal(rename(a, b), 0);
    FILE *file = instead ? fopen(a, "w") : NULL;
    assert_true(!instead || (file && fputs(instead, file) >= 0 && fclose(file) == 0));
    drive_start(&drive, NULL);
}

static void test_while_keys_cannot_be_read_none_is_called_wrong(void **state)
{
    (void)state;
    static const char *const origins[] = {"", "Origin: https://app.example\r\n",
                                          "Sec-Fetch-Site: cross-site\r\n"};
    swap_keys("sessions.db", "kept.db", "this is no database, however long one looks at it\n");
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++)
        assert_int_equal(drive_status(&drive,
                                      "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                                      "Authorization: Bearer %s\r\n%s\r\n",
                                      drive.port, key, origins[i]),
                         503);
    swap_keys("kept.db", "sessions.db", NULL);
    assert_int_equal(drive_status(&drive,
                                  "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                                  "Authorization: Bearer %s\r\n\r\n",
                                  drive.port, key),
                     200);
}

static void test_preflights_are_answered_before_anything_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < place_count; i++) {
        struct reply reply;
        drive_ask(&drive, &reply,
                  "OPTIONS %s HTTP/1.1\r\nHost: localhost:%u\r\nOrigin: https://evil.example\r\n"
                  "Access-Control-Request-Method: POST\r\n\r\n",
                  places[i].path, drive.port);
        assert_int_equal(reply.status, 204);
        bool file = strcmp(places[i].route->prefix, "/api/") == 0,
             contract = strcmp(places[i].route->prefix, "/rpc/") == 0 ||
                        strcmp(places[i].route->prefix, "/sse/sessions/") == 0;
        const char *taken = reply_header(&reply, "access-control-allow-methods");
        assert_true(!contract || strcmp(taken, "GET,POST,OPTIONS,DELETE,PATCH") == 0);
        assert_true(!file || strcmp(taken, "GET,POST,OPTIONS,DELETE,PATCH,PUT") == 0);
        const char *allowed = reply_header(&reply, "access-control-allow-headers");
        assert_true(!contract || strcmp(allowed, "Authorization,Content-Type") == 0);
        assert_true(!file || strstr(allowed, "Authorization,Content-Type,If-Match,If-None-Match,"));
        assert_string_equal(reply_header(&reply, "access-control-allow-credentials"), "true");
        assert_string_equal(reply_header(&reply, "vary"), "Origin");
        assert_null(reply_header(&reply, "access-control-allow-origin"));
        raw_reply_release(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wrong_host_is_misdirected),
        cmocka_unit_test(test_two_hosts_are_none),
        cmocka_unit_test(test_a_line_may_name_the_host),
        cmocka_unit_test(test_a_key_of_a_foreign_page_is_forbidden),
        cmocka_unit_test(test_a_cookie_of_a_foreign_page_is_refused),
        cmocka_unit_test(test_without_a_credential_nothing_is_told),
        cmocka_unit_test(test_a_wrong_credential_is_none),
        cmocka_unit_test(test_a_cookie_alone_changes_nothing),
        cmocka_unit_test(test_a_body_that_is_no_json_is_refused),
        cmocka_unit_test(test_a_key_of_another_origin_is_forbidden),
        cmocka_unit_test(test_while_keys_cannot_be_read_none_is_called_wrong),
        cmocka_unit_test(test_preflights_are_answered_before_anything_else),
    };
    return cmocka_run_group_tests(tests, start, drive_group_end);
}
