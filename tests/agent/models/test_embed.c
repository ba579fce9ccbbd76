/*
 * test_embed.c: vectors from a server that answers well, out of order, late, wrongly, or not at all: an answer counts as
 * a whole, or is refused with the reason, and none of it is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/models/embed.h"
#include "base/str.h"
#include "base/view.h"
#include "stub_server.h"

#define REPLY(body)                                                                                \
    {                                                                                              \
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" body, STUB_CLOSES, 0                        \
    }

static const struct ethos_view texts[] = {VIEW("We deploy on \"Fridays\""),
                                          VIEW("The oven is hot")};

static struct embedder *open_at(const struct stub *stub, const char *provider, size_t dimension)
{
    char url[64];
    struct embedder *embedder;
    struct ethos_error error;
    const struct model_settings settings = {.provider = provider,
                                            .model = "some-model",
                                            .base_url = url,
                                            .key = "sk-secret",
                                            .first_byte_ms = 200,
                                            .idle_ms = 200};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", stub->port);
    assert_int_equal(embedder_open(&settings, dimension, &embedder, &error), ETHOS_OK);
    return embedder;
}

/* ---- good answers ------------------------------------------------------------------------------ */

static void test_openai_out_of_order(void **state)
{
    const struct stub_reply reply = REPLY(
        "{\"object\":\"list\",\"data\":[{\"index\":1,\"embedding\":[0,2,0]},"
        "{\"index\":0,\"embedding\":[3.0,0,4]}],\"model\":\"some-model\"}");
    struct stub stub = {0};
    struct embeddings out;
    struct ethos_error error;
    (void)state;
    stub_start(&stub, &reply, 1);
    struct embedder *embedder = open_at(&stub, "openai-compat", 0);
    assert_int_equal(embedder_embed(embedder, texts, 2, &out, &error), ETHOS_OK);
    assert_int_equal(out.count, 2);
    assert_int_equal(out.dimension, 3);
    const float expected[] = {0.6f, 0, 0.8f, 0, 1, 0}; // of length 1, each in its place
    for (size_t i = 0; i < 6; i++)
        assert_float_equal(out.values[i], expected[i], 1e-6f);
    embeddings_release(&out);
    embedder_close(embedder);
    stub_stop(&stub);
    const char *sent = stub.requests[0].data;
    assert_int_equal(strncmp(sent, "POST /v1/embeddings ", 20), 0);
    assert_non_null(strstr(sent, "Bearer sk-secret"));
    assert_non_null(strstr(sent,
                           "{\"model\":\"some-model\",\"input\":[\"We deploy on \\\"Fridays\\\"\","
                           "\"The oven is hot\"]}"));
    stub_release(&stub);
}

static void test_ollama(void **state)
{
    const struct stub_reply reply = REPLY(
        "{\"model\":\"some-model\",\"embeddings\":[[1,0],[0,-1]]}");
    struct stub stub = {0};
    struct embeddings out;
    struct ethos_error error;
    (void)state;
    stub_start(&stub, &reply, 1);
    struct embedder *embedder = open_at(&stub, "ollama", 2);
    assert_int_equal(embedder_embed(embedder, texts, 2, &out, &error), ETHOS_OK);
    assert_float_equal(out.values[3], -1, 1e-6f);
    embeddings_release(&out);
    embedder_close(embedder);
    stub_stop(&stub);
    assert_int_equal(strncmp(stub.requests[0].data, "POST /api/embed ", 16), 0);
    stub_release(&stub);
}

static void test_a_long_text_is_cut(void **state)
{
    const struct stub_reply reply = REPLY("{\"embeddings\":[[1,0]]}");
    struct stub stub = {0};
    struct str text;
    struct embeddings out;
    struct ethos_error error;
    (void)state;
    str_init(&text, SIZE_MAX);
    for (int i = 0; i < EMBED_MAX_CHARS + 5; i++)
        str_adds(&text, "\xc3\xbc");
    const struct ethos_view one = str_view(&text);
    stub_start(&stub, &reply, 1);
    struct embedder *embedder = open_at(&stub, "ollama", 0);
    assert_int_equal(embedder_embed(embedder, &one, 1, &out, &error), ETHOS_OK);
    embeddings_release(&out);
    embedder_close(embedder);
    stub_stop(&stub);
    const char *start = strstr(stub.requests[0].data, "[\"");
    assert_int_equal(strstr(start, "\"]") - start - 2, 2 * EMBED_MAX_CHARS);
    stub_release(&stub);
    str_release(&text);
}

/* ---- others ------------------------------------------------------------------------------------- */

static void assert_refused(const struct stub_reply *reply, size_t dimension, const char *why)
{
    struct stub stub = {0};
    struct embeddings out = {7, 7, NULL};
    struct ethos_error error;
    stub_start(&stub, reply, 1);
    struct embedder *embedder = open_at(&stub, "openai-compat", dimension);
    assert_int_equal(embedder_embed(embedder, texts, 2, &out, &error), ETHOS_MODEL);
    assert_int_equal(out.count, 0);
    assert_null(out.values);
    if (!strstr(error.text, why))
        fail_msg("\"%s\" instead of \"%s\"", error.text, why);
    assert_null(strstr(error.text, "sk-secret"));
    embedder_close(embedder);
    stub_stop(&stub);
    stub_release(&stub);
}

static void assert_wrong(const char *body, const char *why)
{
    struct embeddings out;
    struct ethos_error error;
    assert_int_equal(embed_read(view_str(body), 2, 0, &out, &error), ETHOS_MODEL);
    assert_null(out.values);
    if (!strstr(error.text, why))
        fail_msg("%s: \"%s\" instead of \"%s\"", body, error.text, why);
}

static void test_what_fails_or_lags(void **state)
{
    const struct stub_reply broken = {"HTTP/1.1 500 No\r\nConnection: close\r\n\r\nsk-secret",
                                      STUB_CLOSES, 0};
    const struct stub_reply cut = REPLY("{\"embeddings\":[[1,0],[0,");
    const struct stub_reply silent = {"", STUB_IS_SILENT, 0};
    const struct stub_reply slow = {"HTTP/1.1 200 OK\r\n\r\n{\"embeddings\":[[1", STUB_IS_SILENT,
                                    0};
    (void)state;
    assert_refused(&broken, 0, "500");
    assert_refused(&cut, 0, "not JSON");
    assert_refused(&silent, 0, "");
    assert_refused(&slow, 0, "");
}

static void test_another_dimension(void **state)
{
    const struct stub_reply replies[] = {REPLY("{\"embeddings\":[[1,0],[0,1]]}"),
                                         REPLY("{\"embeddings\":[[1,0,0],[0,1,0]]}")};
    struct stub stub = {0};
    struct embeddings out;
    struct ethos_error error;
    (void)state;
    stub_start(&stub, replies, 2);
    struct embedder *embedder = open_at(&stub, "ollama", 0);
    assert_int_equal(embedder_embed(embedder, texts, 2, &out, &error), ETHOS_OK);
    embeddings_release(&out);
    assert_int_equal(embedder_embed(embedder, texts, 2, &out, &error), ETHOS_MODEL); // than before
    assert_non_null(strstr(error.text, "dimension of the vectors has changed"));
    embedder_close(embedder);
    stub_stop(&stub);
    stub_release(&stub);
    assert_refused(&replies[1], 2, "dimension of the vectors has changed"); // than what is known
}

static void test_wrong_answers(void **state)
{
    (void)state;
    assert_wrong("", "not JSON");
    assert_wrong("[]", "one vector for each text");
    assert_wrong("{\"embeddings\":[[1,0]]}", "one vector for each text");
    assert_wrong("{\"embeddings\":[[1,0],[0,1],[1,1]]}", "one vector for each text");
    assert_wrong("{\"embeddings\":[[],[]]}", "one vector for each text");
    assert_wrong("{\"embeddings\":[[1,0],[1]]}", "dimension of the vectors has changed");
    assert_wrong("{\"embeddings\":[[1,0],[0,0]]}", "length zero");
    assert_wrong("{\"embeddings\":[[1,0],[\"1\",0]]}", "invalid numbers");
    assert_wrong("{\"embeddings\":[[1,0],[1e300,0]]}", "invalid numbers");
    assert_wrong("{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":0,\"embedding\":[1]}]}",
                 "one vector for each text");
    assert_wrong("{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":2,\"embedding\":[1]}]}",
                 "one vector for each text");
    assert_wrong("{\"data\":[{\"index\":-1,\"embedding\":[1]},{\"index\":1,\"embedding\":[1]}]}",
                 "one vector for each text");
    assert_wrong("{\"data\":[{\"index\":\"0\",\"embedding\":[1]},{\"embedding\":[1]}]}",
                 "one vector for each text");
}

static void test_settings(void **state)
{
    struct embedder *embedder;
    struct ethos_error error;
    const struct model_settings none = {.provider = "ollama"};
    const struct model_settings plain = {
        .provider = "openai-compat", .model = "m", .base_url = "http://example.org/v1"};
    (void)state;
    assert_int_equal(embedder_open(&none, 0, &embedder, &error), ETHOS_INVALID);
    assert_int_equal(embedder_open(&plain, 0, &embedder, &error), ETHOS_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai_out_of_order),
        cmocka_unit_test(test_ollama),
        cmocka_unit_test(test_a_long_text_is_cut),
        cmocka_unit_test(test_what_fails_or_lags),
        cmocka_unit_test(test_another_dimension),
        cmocka_unit_test(test_wrong_answers),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
