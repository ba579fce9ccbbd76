/*
 * handler_calls.h: requests without a server: a test says what was asked, the handler answers.
 */
#ifndef TESTS_HTTP_HANDLER_CALLS_H
#define TESTS_HTTP_HANDLER_CALLS_H

#include "../ops/sessions/sessions.h"

#include "base/err.h"
#include "http/handlers/api.h"
#include "http/server.h"

#define ALL_RIGHTS ((OP_RIGHT(OP_OWNER) << 1) - 1)

/* ---- a request without a connection ------------------------------------------------------------- */

/* "Name: value" or "name=value" pairs; end with NULL. */
static const char *const *sent_headers, *const *sent_query;

static inline const char *find_pair(const char *const *pairs, const char *name, const char *between)
{
    size_t size = strlen(name);
    for (; pairs && *pairs; pairs++)
        if (strncasecmp(*pairs, name, size) == 0 &&
            strncmp(*pairs + size, between, strlen(between)) == 0)
            return *pairs + size + strlen(between);
    return NULL;
}

const char *http_header(const struct http_call *call, const char *name)
{
    (void)call;
    return find_pair(sent_headers, name, ": ");
}

const char *http_query(const struct http_call *call, const char *name)
{
    (void)call;
    return find_pair(sent_query, name, "=");
}

void http_each_query(const struct http_call *call,
                     void (*each)(void *arg, const char *name, const char *value), void *arg)
{
    (void)call;
    for (const char *const *pair = sent_query; pair && *pair; pair++) {
        char name[64];
        size_t size = strcspn(*pair, "=");
        snprintf(name, sizeof name, "%.*s", (int)size, *pair);
        each(arg, name, *pair + size + 1);
    }
}

/* What the stream of a session was told last. */
static char told_session[512];

void http_tell_session(void *arg, const json_t *told)
{
    char *text = json_dumps(told, JSON_COMPACT);
    (void)arg;
    snprintf(told_session, sizeof told_session, "%s", text);
    free(text);
}

/* What came back. */
struct answer {
    unsigned status;
    char type[64];
    char etag[128];
    char allow[64];
    json_t *json; /* NULL: no JSON */
    char *text;
};

static struct answer *new_answer;

static inline void keep_headers(const struct http_reply *reply, struct answer *out)
{
    const char *at = reply->headers.data, *end = at + reply->headers.size;
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, "ETag") == 0)
            snprintf(out->etag, sizeof out->etag, "%s", value);
        if (strcmp(at, "Allow") == 0)
            snprintf(out->allow, sizeof out->allow, "%s", value);
        at = value + strlen(value) + 1;
    }
}

struct caller {
    enum http_who who;
    unsigned rights;
};

static const struct caller browser = {HTTP_BROWSER, ALL_RIGHTS};

static inline struct answer *forget_answer(void)
{
    if (new_answer) {
        json_decref(new_answer->json);
        free(new_answer->text);
        free(new_answer);
    }
    return new_answer = calloc(1, sizeof *new_answer);
}

static inline struct answer *request(struct world *world, enum http_method method, const char *path,
                                     const char *body, struct caller caller)
{
    static const char *const prefixes[] = {"/rpc/", "/api/", "/openapi.json"};
    static http_fn *const handlers[] = {http_rpc, http_api, http_openapi};
    struct http http = {.options = {.home = world->home, .host = &world->host}};
    struct ethos_error error = {0};
    struct http_reply reply;
    struct http_call call;
    struct answer *out = forget_answer();
    assert_ok(world, seats_new(&http, &http.seats, &error));
    call_init(&call, &reply);
    call.http = &http;
    call.seat = seats_take(http.seats);
    call.method = method;
    call.path = path;
    call.body = view_str(body);
    call.who = caller.who;
    call.rights = caller.rights;
    call.actor = "key:test";
    snprintf(call.request_id, sizeof call.request_id, "request-1");
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0) {
            call.rest = path + strlen(prefixes[i]);
            handlers[i](&call);
        }
    }
    assert_int_equal(str_code(&call.out), ETHOS_OK);
    out->status = call.status;
    snprintf(out->type, sizeof out->type, "%s", call.type ? call.type : "");
    struct ethos_view text = reply.bytes.data ? reply.bytes : str_view(&call.out);
    out->text = strndup(text.data, text.size);
    out->json = json_loads(out->text, JSON_DECODE_ANY, NULL);
    keep_headers(&reply, out);
    call_release(&call);
    openapi_free(&http);
    seats_free(http.seats);
    return out;
}

static inline struct answer *rpc(struct world *world, const char *path, const char *body)
{
    char full[128];
    snprintf(full, sizeof full, "/rpc/%s", path);
    return request(world, HTTP_POST, full, body, browser);
}

/* The output of a call that goes well. */
static inline json_t *output(struct world *world, const char *path, const char *body)
{
    struct answer *answer = rpc(world, path, body);
    if (answer->status != 200)
        fail_msg("%s %s: %u %s", path, body, answer->status, answer->text);
    assert_int_equal(json_object_size(answer->json), 1); // no meta
    return json_object_get(answer->json, "json");
}

static inline const char *text_at(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text ? text : "(none)";
}

static inline void assert_failed(struct answer *answer, unsigned status, const char *code)
{
    const json_t *error = json_object_get(answer->json, "json");
    size_t size = json_object_size(error);
    if (answer->status != status || strcmp(text_at(error, "code"), code) != 0)
        fail_msg("not %u %s: %u %s", status, code, answer->status, answer->text);
    assert_true(json_is_false(json_object_get(error, "defined")));
    assert_int_equal(json_integer_value(json_object_get(error, "status")), status);
    assert_true(json_is_string(json_object_get(error, "message")));
    assert_int_equal(size, json_object_get(error, "data") ? 5 : 4);
}

static inline void assert_members(const json_t *object, const char *const *names, size_t count)
{
    assert_true(json_is_object(object));
    for (size_t i = 0; i < count; i++)
        if (!json_object_get(object, names[i]))
            fail_msg("no %s", names[i]);
}
#define ASSERT_MEMBERS(object, ...)                                                                \
    assert_members(object, (const char *const[]){__VA_ARGS__},                                     \
                   COUNT(((const char *const[]){__VA_ARGS__})))

static inline int tear_down(void **state)
{
    forget_answer();
    free(new_answer);
    new_answer = NULL;
    return world_tear_down(state);
}

#define WIRE_TEST(function) cmocka_unit_test_setup_teardown(function, world_set_up, tear_down)

#endif
