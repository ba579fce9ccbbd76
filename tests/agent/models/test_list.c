/*
 * test_list.c: which models a server has, in the shapes in which servers say it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/models/providers.h"
#include "base/str.h"
#include "base/view.h"
#include "stub_server.h"

#define REPLY(body)                                                                                \
    {                                                                                              \
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" body, STUB_CLOSES, 0                        \
    }

/* A line for each model: name, window, prices of input, output, cache read and cache write. */
static int add_line(void *arg, const struct model_row *row)
{
    const struct model_prices *prices = &row->prices;
    return str_printf(arg, "%.*s %lld %lld/%lld/%lld/%lld\n", VIEW_ARG(row->name),
                      (long long)row->window, (long long)prices->input, (long long)prices->output,
                      (long long)prices->cache_read, (long long)prices->cache_write);
}

static int list(struct stub *stub, const char *provider, struct str *lines,
                struct ethos_error *error)
{
    char url[64];
    struct model_settings settings = {.provider = provider, .base_url = url, .key = "sk-secret"};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", stub->port);
    return models_list(&settings, add_line, lines, error);
}

/* The last request is of this method and path. */
static void assert_list(const char *provider, const struct stub_reply *replies, size_t count,
                        const char *expected, const char *requested)
{
    struct stub stub = {0};
    struct str lines;
    struct ethos_error error;
    str_init(&lines, 65536);
    stub_start(&stub, replies, count);
    int code = list(&stub, provider, &lines, &error);
    stub_stop(&stub);
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_string_equal(lines.data, expected);
    assert_int_equal(stub.answered, count);
    assert_int_equal(strncmp(stub.requests[count - 1].data, requested, strlen(requested)), 0);
    stub_release(&stub);
    str_release(&lines);
}

static void assert_failure(const char *provider, const char *reply, const char *expected)
{
    const struct stub_reply replies[] = {{reply, STUB_CLOSES, 0}};
    struct stub stub = {0};
    struct str lines;
    struct ethos_error error;
    str_init(&lines, 65536);
    stub_start(&stub, replies, 1);
    assert_int_equal(list(&stub, provider, &lines, &error), ETHOS_MODEL);
    assert_string_equal(error.text, expected);
    assert_int_equal(lines.size, 0);
    stub_stop(&stub);
    stub_release(&stub);
    str_release(&lines);
}

/* ---- servers ------------------------------------------------------------------------------------- */

static void test_anthropic(void **state)
{
    const struct stub_reply reply = REPLY(
        "{\"data\":[{\"type\":\"model\",\"id\":\"claude-a\",\"max_input_tokens\":200000},"
        "{\"type\":\"model\",\"id\":\"claude-b\",\"max_input_tokens\":null}],\"has_more\":false}");
    (void)state;
    assert_list("anthropic", &reply, 1, "claude-a 200000 -1/-1/-1/-1\nclaude-b 0 -1/-1/-1/-1\n",
                "GET /v1/models?limit=1000 HTTP/1.1\r\n");
}

static void test_openai(void **state)
{
    const struct stub_reply reply = REPLY(
        "{\"object\":\"list\",\"data\":[{\"id\":\"gpt\",\"object\":\"model\"},{}]}");
    (void)state;
    assert_list("openai", &reply, 1, "gpt 0 -1/-1/-1/-1\n", "GET /v1/models HTTP/1.1\r\n");
}

static void test_openrouter(void **state)
{
    const struct stub_reply reply = REPLY(
        "{\"data\":[{\"id\":\"a/b:free\",\"name\":\"B\",\"context_length\":1048576,\"pricing\":{"
        "\"prompt\":\"0.000003\",\"completion\":\"0.000015\",\"input_cache_read\":"
        "\"0.0000003\"}},{\"id\":\"auto\",\"context_length\":2000000,\"pricing\":{\"prompt\":"
        "\"-1\",\"completion\":\"-1\"}}]}");
    (void)state;
    assert_list("openrouter", &reply, 1,
                "a/b:free 1048576 3000000000/15000000000/300000000/-1\n"
                "auto 2000000 -1/-1/-1/-1\n",
                "GET /v1/models HTTP/1.1\r\n");
}

/* Servers on this machine cost nothing; the window is the one they run with. */
static void test_servers_on_this_machine(void **state)
{
    const struct stub_reply llamacpp = REPLY(
        "{\"models\":[{\"name\":\"q\",\"model\":\"q\"}],\"data\":[{\"id\":\"q\",\"meta\":{"
        "\"n_ctx\":8192,\"n_ctx_train\":131072}}]}");
    const struct stub_reply vllm = REPLY("{\"data\":[{\"id\":\"v\",\"max_model_len\":4096}]}");
    const struct stub_reply lmstudio = REPLY(
        "{\"models\":[{\"type\":\"llm\",\"key\":\"x/y\",\"max_context_length\":131072,"
        "\"loaded_instances\":[{\"id\":\"1\",\"config\":{\"context_length\":4096}}]},"
        "{\"type\":\"llm\",\"key\":\"z\",\"max_context_length\":131072,"
        "\"loaded_instances\":[]},{\"type\":\"embedding\",\"key\":\"e\"}]}");
    (void)state;
    assert_list("llamacpp", &llamacpp, 1, "q 8192 0/0/0/0\n", "GET /v1/models HTTP/1.1\r\n");
    assert_list("openai-compat", &vllm, 1, "v 4096 0/0/0/0\n", "GET /v1/models HTTP/1.1\r\n");
    assert_list("lmstudio", &lmstudio, 1, "x/y 4096 0/0/0/0\nz 0 0/0/0/0\n",
                "GET /api/v1/models HTTP/1.1\r\n");
}

/* The window that ethos asks for: at most the model's own. */
static void test_ollama(void **state)
{
    const struct stub_reply replies[] = {
        REPLY("{\"models\":[{\"name\":\"small:1b\"},{\"name\":\"large\"},{\"name\":\"bad\"}]}"),
        REPLY("{\"model_info\":{\"general.architecture\":\"x\",\"x.context_length\":2048}}"),
        REPLY("{\"model_info\":{\"x.context_length\":262144}}"),
        {"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n{\"error\":\"boom\"}", STUB_CLOSES, 0}};
    (void)state;
    assert_list("ollama", replies, 4,
                "small:1b 2048 0/0/0/0\nlarge 32768 0/0/0/0\nbad 32768 0/0/0/0\n",
                "POST /api/show HTTP/1.1\r\n");
}

static void test_failures(void **state)
{
    (void)state;
    assert_failure("openai",
                   "HTTP/1.1 401 No\r\nConnection: close\r\n\r\n"
                   "{\"error\":{\"message\":\"bad key sk-secret\"}}",
                   "openai: the key was not accepted (HTTP 401): bad key [key]");
    assert_failure("openai", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<html>",
                   "openai: the list of models is not valid: models: line 1, column 1: a value "
                   "is expected");
    assert_failure("openai", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"data\":{}}",
                   "openai: the answer is not a list of models");
}

static int refuse(void *arg, const struct model_row *row)
{
    (void)arg, (void)row;
    return ETHOS_BUSY;
}

static void test_reader_that_has_enough(void **state)
{
    const struct stub_reply reply = REPLY("{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}");
    struct stub stub = {0};
    struct ethos_error error;
    char url[64];
    struct model_settings settings = {.provider = "openai", .base_url = url};
    (void)state;
    stub_start(&stub, &reply, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", stub.port);
    assert_int_equal(models_list(&settings, refuse, NULL, &error), ETHOS_BUSY);
    settings.provider = "nobody";
    assert_int_equal(models_list(&settings, refuse, NULL, &error), ETHOS_NOTFOUND);
    stub_stop(&stub);
    stub_release(&stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_openai),
        cmocka_unit_test(test_openrouter),
        cmocka_unit_test(test_servers_on_this_machine),
        cmocka_unit_test(test_ollama),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_reader_that_has_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
