/*
 * test_client.c: asking a server: retries, timeouts, aborts, and where the key goes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/models/providers.h"
#include "answers.h"
#include "base/view.h"
#include "stub_server.h"

#define MAX_WAITS 8
#define HEAD(status) "HTTP/1.1 " status "\r\nContent-Type: text/event-stream\r\n"
#define OK_HEAD HEAD("200 OK") "\r\n"
#define DELTA(text) "data: {\"choices\":[{\"delta\":" text "}]}\n\n"
#define HELLO DELTA("{\"content\":\"Hello\"}")
#define DONE "data: [DONE]\n\n"
#define OVERLOADED "data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"
#define ERROR_REPLY(status, headers, body)                                                         \
    "HTTP/1.1 " status "\r\n" headers "Connection: close\r\n\r\n" body

static const char hello_lines[] = "start\ntext Hello\ndone end\n";

/* A model of a stub, and what was observed. */
struct scene {
    struct stub stub;
    struct model_settings settings;
    struct model *model;
    struct event_log log;
    char url[64];
    int64_t waits[MAX_WAITS];
    size_t wait_count;
    int abort[2];
    enum model_event_kind abort_at; /* the test aborts at this event; MODEL_ERROR: never */
    bool abort_in_wait;
};

static bool note_wait(void *arg, int64_t ms, int abort_fd)
{
    struct scene *scene = arg;
    assert_int_equal(abort_fd, scene->abort[0]);
    assert_true(scene->wait_count < MAX_WAITS);
    scene->waits[scene->wait_count++] = ms;
    return !scene->abort_in_wait;
}

static void open_scene(struct scene *scene, const struct stub_reply *replies, size_t count)
{
    *scene = (struct scene){.abort_at = MODEL_ERROR};
    event_log_init(&scene->log);
    assert_int_equal(pipe(scene->abort), 0);
    stub_start(&scene->stub, replies, count);
    snprintf(scene->url, sizeof scene->url, "http://127.0.0.1:%d/v1/", scene->stub.port);
    scene->settings = (struct model_settings){.provider = "openai-compat",
                                              .model = "m",
                                              .base_url = scene->url,
                                              .key = "sk-secret",
                                              .first_byte_ms = 20000,
                                              .idle_ms = 20000,
                                              .wait = note_wait,
                                              .wait_arg = scene};
}

static void note_event(void *arg, const struct model_event *event)
{
    struct scene *scene = arg;
    event_log_add(&scene->log, event);
    if (event->kind == scene->abort_at)
        assert_int_equal(write(scene->abort[1], "x", 1), 1);
}

static void ask_text(struct scene *scene, struct ethos_view text)
{
    const struct model_message message = {.role = MODEL_USER, .text = text};
    const struct model_request request = {
        .messages = &message, .message_count = 1, .abort_fd = scene->abort[0]};
    struct ethos_error error;
    if (!scene->model && model_open(&scene->settings, &scene->model, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    scene->model->ops->ask(scene->model, &request, note_event, scene);
    assert_int_equal(scene->log.ends, 1);
}

static void ask(struct scene *scene)
{
    ask_text(scene, VIEW("Hi"));
}

static void next_ask(struct scene *scene)
{
    event_log_release(&scene->log);
    event_log_init(&scene->log);
    ask(scene);
}

/* Ends the server: what it was asked can be read now. */
static void stop_scene(struct scene *scene)
{
    if (scene->model)
        scene->model->ops->close(scene->model);
    stub_stop(&scene->stub);
}

static void release_scene(struct scene *scene)
{
    stub_release(&scene->stub);
    event_log_release(&scene->log);
    close(scene->abort[0]);
    close(scene->abort[1]);
}

static void close_scene(struct scene *scene)
{
    stop_scene(scene);
    release_scene(scene);
}

/* One ask of a server with these replies, all of which are used. */
static void assert_ask(const struct stub_reply *replies, size_t count, const char *expected)
{
    struct scene scene;
    open_scene(&scene, replies, count);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), expected);
    stop_scene(&scene);
    assert_int_equal(scene.stub.answered, count);
    release_scene(&scene);
}

/* ---- the request --------------------------------------------------------------------------------- */

static void test_request(void **state)
{
    const struct stub_reply reply = {OK_HEAD HELLO DONE, STUB_CLOSES, 0};
    struct scene scene;
    (void)state;
    open_scene(&scene, &reply, 1);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    stop_scene(&scene);
    const char *request = scene.stub.requests[0].data;
    assert_int_equal(strncmp(request, "POST /v1/chat/completions HTTP/1.1\r\n", 36), 0);
    assert_non_null(strstr(request, "\r\nAuthorization: Bearer sk-secret\r\n"));
    assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(request, "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}"));
    assert_null(strcasestr(request, "accept-encoding"));
    release_scene(&scene);
}

static void test_anthropic_request(void **state)
{
    const struct stub_reply reply = {
        OK_HEAD "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                "\"text_delta\",\"text\":\"Hello\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        STUB_CLOSES, 0};
    struct scene scene;
    (void)state;
    open_scene(&scene, &reply, 1);
    scene.settings.provider = "anthropic";
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    stop_scene(&scene);
    const char *request = scene.stub.requests[0].data;
    assert_int_equal(strncmp(request, "POST /v1/messages HTTP/1.1\r\n", 28), 0);
    assert_non_null(strstr(request, "\r\nx-api-key: sk-secret\r\n"));
    assert_non_null(strstr(request, "\r\nanthropic-version: 2023-06-01\r\n"));
    assert_null(strcasestr(request, "authorization"));
    release_scene(&scene);
}

/* The window is always asked for: the smaller of the settings and the model's. */
static void test_ollama_request(void **state)
{
    const struct stub_reply replies[] = {
        {OK_HEAD "{\"message\":{\"content\":\"Hello\"}}\n{\"done\":true,\"eval_count\":2,"
                 "\"prompt_eval_count\":1000}\n",
         STUB_CLOSES, 0},
        {OK_HEAD "{\"error\":\"boom\"}\n", STUB_CLOSES, 0}};
    struct scene scene;
    (void)state;
    open_scene(&scene, replies, 2);
    scene.settings.provider = "ollama";
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log),
                        "start\ntext Hello\nusage 1000/2/0/0/0 0 11\ndone end\n");
    assert_int_equal(scene.model->window, 32768);
    scene.model->ops->close(scene.model);
    scene.model = NULL;
    scene.settings.window = 8192;
    event_log_release(&scene.log);
    event_log_init(&scene.log);
    scene.abort_in_wait = true;
    ask(&scene);
    assert_int_equal(scene.model->window, 8192);
    stop_scene(&scene);
    assert_int_equal(strncmp(scene.stub.requests[0].data, "POST /api/chat HTTP/1.1\r\n", 25), 0);
    assert_non_null(strstr(scene.stub.requests[0].data, "\"num_ctx\":32768"));
    assert_non_null(strstr(scene.stub.requests[1].data, "\"num_ctx\":8192"));
    release_scene(&scene);
}

static void test_large_request(void **state)
{
    const struct stub_reply reply = {OK_HEAD HELLO DONE, STUB_CLOSES, 0};
    struct scene scene;
    struct str text;
    (void)state;
    str_init(&text, 1u << 22);
    for (size_t i = 0; i < 1u << 21; i++)
        str_addc(&text, 'a');
    open_scene(&scene, &reply, 1);
    ask_text(&scene, str_view(&text));
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    stop_scene(&scene);
    assert_null(strcasestr(scene.stub.requests[0].data, "expect:"));
    release_scene(&scene);
    str_release(&text);
}

static void test_connection_is_used_again(void **state)
{
    const struct stub_reply replies[] = {
        {HEAD("200 OK") "Content-Length: 65\r\n\r\n" HELLO DONE, STUB_READS_ON, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0}};
    struct scene scene;
    (void)state;
    assert_int_equal(strlen(HELLO DONE), 65);
    open_scene(&scene, replies, 3);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    next_ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    next_ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    stop_scene(&scene);
    assert_int_equal(scene.stub.connections, 2);
    release_scene(&scene);
}

static void test_whole_answer(void **state)
{
    const struct stub_reply reply = {
        ERROR_REPLY("200 OK", "Content-Type: application/json\r\n",
                    "{\"choices\":[{\"message\":{\"content\":\"Hello\"},\"finish_reason\":"
                    "\"stop\"}]}"),
        STUB_CLOSES, 0};
    (void)state;
    assert_ask(&reply, 1, hello_lines);
}

/* The end is what the stream says, whatever the connection does. */
static void test_end_of_the_answer(void **state)
{
    const struct stub_reply open = {OK_HEAD HELLO DONE, STUB_IS_SILENT, 0};
    const struct stub_reply cut = {HEAD("200 OK") "Content-Length: 1000\r\n\r\n" HELLO DONE,
                                   STUB_CLOSES, 0};
    (void)state;
    assert_ask(&open, 1, hello_lines);
    assert_ask(&cut, 1, hello_lines);
}

static void test_connection_lost(void **state)
{
    const struct stub_reply closed = {OK_HEAD HELLO, STUB_CLOSES, 0};
    const struct stub_reply cut = {HEAD("200 OK") "Content-Length: 1000\r\n\r\n" HELLO, STUB_CLOSES,
                                   0};
    (void)state;
    assert_ask(&closed, 1,
               "start\ntext Hello\nusage 0/2/0/0/0 0 26\nerror network 0 0 openai-compat: the "
               "connection failed: it was closed before the answer was complete\n");
    assert_ask(&cut, 1,
               "start\ntext Hello\nusage 0/2/0/0/0 0 26\nerror network 0 0 openai-compat: the "
               "connection failed: transfer closed with 949 bytes remaining to read\n");
}

/* ---- retries ------------------------------------------------------------------------------------- */

static void test_retry_after(void **state)
{
    const struct stub_reply replies[] = {
        {ERROR_REPLY("429 Slow", "Retry-After: 7\r\n", "{\"error\":{\"message\":\"slow\"}}"),
         STUB_CLOSES, 0},
        {ERROR_REPLY("529 Busy", "retry-after-ms: 1500\r\nretry-after: 9\r\n", ""), STUB_CLOSES, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0}};
    struct scene scene;
    (void)state;
    open_scene(&scene, replies, 3);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log),
                        "status openai-compat: too many requests (HTTP 429): slow; trying again in "
                        "7 s\nstatus openai-compat: the server is overloaded (HTTP 529); trying "
                        "again in 2 s\nstart\ntext Hello\ndone end\n");
    assert_int_equal(scene.wait_count, 2);
    assert_int_equal(scene.waits[0], 7000);
    assert_int_equal(scene.waits[1], 1500);
    close_scene(&scene);
}

static void test_server_asks_for_a_long_wait(void **state)
{
    const struct stub_reply reply = {ERROR_REPLY("429 Slow", "Retry-After: 61\r\n", ""),
                                     STUB_CLOSES, 0};
    (void)state;
    assert_ask(&reply, 1, "error rate 429 61000 openai-compat: too many requests (HTTP 429)\n");
}

static void test_attempts_end(void **state)
{
    const struct stub_reply busy = {ERROR_REPLY("503 No", "", "Loading model"), STUB_CLOSES, 0};
    const struct stub_reply replies[] = {busy, busy, busy, busy};
    struct scene scene;
    (void)state;
    open_scene(&scene, replies, 4);
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log),
                           "\nerror overloaded 503 0 openai-compat: the server is overloaded (HTTP "
                           "503): Loading model\n"));
    assert_int_equal(scene.wait_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_in_range(scene.waits[i], 375 << i, 500 << i);
    close_scene(&scene);
}

static void test_should_retry(void **state)
{
    const struct stub_reply no = {ERROR_REPLY("500 No", "X-Should-Retry: false\r\n", ""),
                                  STUB_CLOSES, 0};
    const struct stub_reply yes[] = {
        {ERROR_REPLY("400 No", "X-Should-Retry: true\r\nretry-after: 1\r\n", ""), STUB_CLOSES, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0}};
    (void)state;
    assert_ask(&no, 1, "error server 500 0 openai-compat: the server failed (HTTP 500)\n");
    assert_ask(
        yes, 2,
        "status openai-compat: the server rejected the request (HTTP 400); trying again in 1 "
        "s\nstart\ntext Hello\ndone end\n");
}

static void test_no_retry(void **state)
{
    const struct stub_reply key = {
        ERROR_REPLY("401 No", "", "{\"error\":{\"message\":\"bad key sk-secret\"}}"), STUB_CLOSES,
        0};
    const struct stub_reply quota = {
        ERROR_REPLY("429 No", "",
                    "{\"error\":{\"message\":\"pay\",\"code\":\"insufficient_quota\"}}"),
        STUB_CLOSES, 0};
    const struct stub_reply page = {OK_HEAD "<!DOCTYPE html>", STUB_CLOSES, 0};
    const struct stub_reply malformed = {OK_HEAD "data: {\"a\n\n", STUB_CLOSES, 0};
    (void)state;
    assert_ask(&key, 1,
               "error auth 401 0 openai-compat: the key was not accepted (HTTP 401): bad key "
               "[key]\n");
    assert_ask(&quota, 1,
               "error billing 429 0 openai-compat: the account has no credit left (HTTP 429): "
               "pay\n");
    assert_ask(
        &page, 1,
        "start\nerror protocol 0 0 openai-compat: the answer is not valid: the server sent an "
        "HTML page; check the base URL\n");
    assert_ask(&malformed, 1,
               "start\nerror protocol 0 0 openai-compat: the answer is not valid: event: line 1, "
               "column 4: the text ends too early\n");
}

static void test_overload_in_the_stream(void **state)
{
    const struct stub_reply early[] = {{OK_HEAD OVERLOADED, STUB_IS_SILENT, 0},
                                       {OK_HEAD HELLO DONE, STUB_CLOSES, 0}};
    const struct stub_reply thought[] = {
        {OK_HEAD DELTA("{\"reasoning\":\"Hm\"}") OVERLOADED, STUB_CLOSES, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0}};
    const struct stub_reply late = {OK_HEAD HELLO OVERLOADED, STUB_CLOSES, 0};
    struct scene scene;
    (void)state;
    open_scene(&scene, early, 2);
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), "\nstart\ntext Hello\ndone end\n"));
    assert_int_equal(scene.wait_count, 1);
    close_scene(&scene);
    open_scene(&scene, thought, 2);
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), "start\nthinking Hm\nstatus "));
    assert_non_null(strstr(event_log_text(&scene.log), "\nrestart\nstart\ntext Hello\ndone end\n"));
    close_scene(&scene);
    assert_ask(&late, 1,
               "start\ntext Hello\nusage 0/2/0/0/0 0 26\nerror overloaded 0 0 openai-compat: the "
               "server is overloaded: busy\n");
}

static void test_refused_field(void **state)
{
    const struct stub_reply replies[] = {
        {ERROR_REPLY("400 No", "", "{\"error\":\"unknown field stream_options\"}"), STUB_CLOSES, 0},
        {OK_HEAD HELLO DONE, STUB_CLOSES, 0},
        {ERROR_REPLY("400 No", "", "{\"error\":\"unknown field stream_options\"}"), STUB_CLOSES,
         0}};
    struct scene scene;
    (void)state;
    open_scene(&scene, replies, 3);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), hello_lines);
    next_ask(&scene);
    assert_string_equal(event_log_text(&scene.log),
                        "error request 400 0 openai-compat: the server rejected the request (HTTP "
                        "400): unknown field stream_options\n");
    assert_int_equal(scene.wait_count, 0);
    stop_scene(&scene);
    assert_non_null(strstr(scene.stub.requests[0].data, "stream_options"));
    assert_null(strstr(scene.stub.requests[1].data, "stream_options"));
    assert_null(strstr(scene.stub.requests[2].data, "stream_options"));
    release_scene(&scene);
}

static void test_nobody_listens(void **state)
{
    struct scene scene;
    (void)state;
    open_scene(&scene, NULL, 0);
    stub_stop(&scene.stub);
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), "\nerror network 0 0 openai-compat: "));
    assert_int_equal(scene.wait_count, 3);
    scene.model->ops->close(scene.model);
    release_scene(&scene);
}

/* ---- time ---------------------------------------------------------------------------------------- */

static void test_silence(void **state)
{
    const struct stub_reply none = {"", STUB_IS_SILENT, 0};
    const struct stub_reply head = {OK_HEAD, STUB_IS_SILENT, 0};
    const struct stub_reply text = {OK_HEAD HELLO, STUB_IS_SILENT, 0};
    const struct stub_reply *const silent[] = {&none, &head};
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_scene(&scene, silent[i], 1);
        scene.settings.first_byte_ms = 30;
        ask(&scene);
        assert_non_null(
            strstr(event_log_text(&scene.log),
                   "error timeout 0 0 openai-compat: no answer in time: nothing arrived for 1 s"));
        assert_int_equal(scene.wait_count, 0);
        close_scene(&scene);
    }
    open_scene(&scene, &text, 1);
    scene.settings.idle_ms = 30;
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log),
                        "start\ntext Hello\nusage 0/2/0/0/0 0 26\nerror timeout 0 0 openai-compat: "
                        "no answer in time: nothing arrived for 1 s\n");
    close_scene(&scene);
}

static void test_abort(void **state)
{
    static const char aborted[] = "error aborted 0 0 openai-compat: aborted\n";
    struct stub_reply none = {"", STUB_IS_SILENT, 0};
    const struct stub_reply head = {OK_HEAD, STUB_IS_SILENT, 0};
    const struct stub_reply text = {OK_HEAD HELLO, STUB_IS_SILENT, 0};
    const struct stub_reply busy = {ERROR_REPLY("503 No", "Retry-After: 5\r\n", ""), STUB_CLOSES,
                                    0};
    struct scene scene;
    (void)state;
    open_scene(&scene, &none, 1); // before anything was sent
    assert_int_equal(write(scene.abort[1], "x", 1), 1);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), aborted);
    close_scene(&scene);
    open_scene(&scene, &none, 1); // while the server is silent
    scene.stub.replies[0].signal_fd = scene.abort[1];
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log), aborted);
    close_scene(&scene);
    open_scene(&scene, &head, 1);
    scene.abort_at = MODEL_START;
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), aborted));
    close_scene(&scene);
    open_scene(&scene, &text, 1);
    scene.abort_at = MODEL_TEXT;
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), "text Hello\nusage 0/2/0/0/0 0 26\nerror "
                                                       "aborted"));
    close_scene(&scene);
    open_scene(&scene, &busy, 1);
    scene.abort_in_wait = true;
    ask(&scene);
    assert_non_null(strstr(event_log_text(&scene.log), aborted));
    assert_int_equal(scene.waits[0], 5000);
    close_scene(&scene);
}

/* ---- where the key goes -------------------------------------------------------------------------- */

static void test_redirect(void **state)
{
    struct scene scene;
    struct stub other;
    struct stub_reply redirect = {NULL, STUB_CLOSES, 0};
    const struct stub_reply reply = {OK_HEAD HELLO DONE, STUB_CLOSES, 0};
    char bytes[256];
    (void)state;
    stub_start(&other, &reply, 1);
    snprintf(bytes, sizeof bytes,
             "HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:%d/v1/chat/completions\r\n"
             "Content-Length: 0\r\n\r\n",
             other.port);
    redirect.bytes = bytes;
    open_scene(&scene, &redirect, 1);
    ask(&scene);
    assert_string_equal(event_log_text(&scene.log),
                        "error request 307 0 openai-compat: the server rejected the request (HTTP "
                        "307): the server redirects elsewhere; check the base URL\n");
    close_scene(&scene);
    stub_stop(&other);
    assert_int_equal(other.connections, 0);
    stub_release(&other);
}

static void test_no_proxy_for_loopback(void **state)
{
    const struct stub_reply reply = {OK_HEAD HELLO DONE, STUB_CLOSES, 0};
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    assert_ask(&reply, 1, hello_lines);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

/* ---- opening ------------------------------------------------------------------------------------- */

static void assert_refused(const struct model_settings *settings, int code, const char *text)
{
    struct model *model = NULL;
    struct ethos_error error = {0};
    assert_int_equal(model_open(settings, &model, &error), code);
    assert_null(model);
    assert_string_equal(error.text, text);
}

static void test_settings(void **state)
{
    const char *const hosts[] = {"box.lan", NULL};
    struct model_settings settings = {.provider = "openai-compat", .model = "m"};
    struct model *model;
    (void)state;
    assert_refused(&settings, ETHOS_INVALID, "baseUrl: provider openai-compat needs an address");
    settings.base_url = "ftp://x";
    assert_refused(&settings, ETHOS_INVALID, "baseUrl: 'ftp://x' is not an https address");
    settings.base_url = "http:// x";
    assert_refused(&settings, ETHOS_INVALID, "baseUrl: 'http:// x' is not a valid address");
    settings.base_url = "https://me:pw@x/v1";
    assert_refused(&settings, ETHOS_INVALID, "baseUrl: a user name is not allowed in an address");
    settings.base_url = "https://x/v1?key=1";
    assert_refused(&settings, ETHOS_INVALID, "baseUrl: 'https://x/v1?key=1' must not have a query");
    settings.base_url = "http://box.lan:8000/v1";
    assert_refused(&settings, ETHOS_DENIED,
                   "baseUrl: http would send the key and the conversation to box.lan unencrypted");
    settings.allow_http = hosts;
    assert_int_equal(model_open(&settings, &model, NULL), ETHOS_OK);
    assert_false(model->local);
    model->ops->close(model);
    settings.key = "a\r\nb";
    assert_refused(&settings, ETHOS_INVALID,
                   "openai-compat: the key has a character that no key has");
    settings.provider = "nobody";
    assert_refused(&settings, ETHOS_NOTFOUND, "provider: 'nobody' is unknown");
    settings.provider = "openai";
    settings.wire = "morse";
    assert_refused(&settings, ETHOS_NOTFOUND, "model.wire: 'morse' is unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_anthropic_request),
        cmocka_unit_test(test_ollama_request),
        cmocka_unit_test(test_large_request),
        cmocka_unit_test(test_connection_is_used_again),
        cmocka_unit_test(test_whole_answer),
        cmocka_unit_test(test_end_of_the_answer),
        cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_server_asks_for_a_long_wait),
        cmocka_unit_test(test_attempts_end),
        cmocka_unit_test(test_should_retry),
        cmocka_unit_test(test_no_retry),
        cmocka_unit_test(test_overload_in_the_stream),
        cmocka_unit_test(test_refused_field),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_redirect),
        cmocka_unit_test(test_no_proxy_for_loopback),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
