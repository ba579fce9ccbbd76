/*
 * test_failure.c: errors of servers, retries and costs, without a server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/models/cost.h"
#include "agent/models/retry.h"
#include "base/view.h"

static const struct failure_context context = {"p", "sk-1"};

static void assert_error(int http, const char *body, enum model_error error)
{
    struct failure failure;
    failure_from_body(&failure, &context, http, view_str(body));
    if (failure.error != error)
        print_message("%d %s\n", http, body);
    assert_int_equal(failure.error, error);
    assert_int_equal(failure.http, http);
}

static void test_overflow(void **state)
{
    (void)state;
    assert_error(400,
                 "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
                 "\"prompt is too long: 210000 tokens > 200000 maximum\"}}",
                 MODEL_OVERFLOW);
    assert_error(400, "{\"error\":{\"message\":\"no\",\"code\":\"context_length_exceeded\"}}",
                 MODEL_OVERFLOW);
    assert_error(400,
                 "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available "
                 "context size\",\"type\":\"exceed_context_size_error\"}}",
                 MODEL_OVERFLOW);
    assert_error(400,
                 "{\"object\":\"error\",\"message\":\"This model's maximum context length is "
                 "8 tokens\",\"type\":\"BadRequestError\",\"code\":400}",
                 MODEL_OVERFLOW);
    assert_error(400, "{\"error\":\"the prompt is greater than the context length\"}",
                 MODEL_OVERFLOW);
    assert_error(400,
                 "[{\"error\":{\"code\":400,\"message\":\"The input token count (9) exceeds "
                 "the maximum\",\"status\":\"INVALID_ARGUMENT\"}}]",
                 MODEL_OVERFLOW);
    assert_error(400, "{\"error\":{\"message\":\"exceeds the context window\"}}", MODEL_OVERFLOW);
    assert_error(413, "", MODEL_OVERFLOW);
    assert_error(429, "{\"error\":{\"message\":\"context window tokens per minute\"}}", MODEL_RATE);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_error(401, "", MODEL_AUTH);
    assert_error(403, "{}", MODEL_AUTH);
    assert_error(402, "{\"error\":{\"message\":\"pay\"}}", MODEL_BILLING);
    assert_error(404, "{\"error\":\"model 'x' not found\"}", MODEL_NOT_FOUND);
    assert_error(400, "{\"error\":{\"type\":\"billing_error\"}}", MODEL_BILLING);
    assert_error(400, "{\"detail\":\"bad\"}", MODEL_REQUEST);
    assert_error(307, "", MODEL_REQUEST);
    assert_error(429, "{\"error\":{\"code\":429,\"message\":\"slow\"}}", MODEL_RATE);
    assert_error(429, "{\"error\":{\"type\":\"insufficient_quota\"}}", MODEL_BILLING);
    assert_error(500, "<html>Oops</html>", MODEL_SERVER);
    assert_error(504, "{\"error\":{\"type\":\"timeout_error\"}}", MODEL_SERVER);
    assert_error(529, "{\"error\":{\"type\":\"overloaded_error\"}}", MODEL_OVERLOADED);
}

static void test_sentence(void **state)
{
    struct failure failure;
    char body[2000] = {0};
    (void)state;
    failure_from_body(&failure, &context, 400, VIEW("bad\r\n\tkey sk-1, \x1b[31mno\xFF"));
    assert_string_equal(failure.text,
                        "p: the server rejected the request (HTTP 400): bad key [key], "
                        "[31mno\xEF\xBF\xBD");
    failure_from_body(&failure, &context, 500, VIEW("<html>Oops</html>"));
    assert_string_equal(failure.text, "p: the server failed (HTTP 500)");
    memset(body, 'a', sizeof body - 1);
    failure_from_body(&failure, &context, 400, view_str(body));
    assert_true(strlen(failure.text) < 400);
    assert_true(view_ends(view_str(failure.text), VIEW("a\xE2\x80\xA6")));
}

/* ---- retries ------------------------------------------------------------------------------------- */

static void test_retry_after(void **state)
{
    const int64_t now = 1795000000000; // 2026-11-18 11:06:40 UTC
    struct retry_headers headers = {.after = "2.5"};
    (void)state;
    assert_int_equal(retry_after_ms(&headers, now), 2500);
    headers = (struct retry_headers){.after = "9", .after_ms = "120"};
    assert_int_equal(retry_after_ms(&headers, now), 120);
    headers = (struct retry_headers){.after = "Wed, 18 Nov 2026 11:06:50 GMT"};
    assert_int_equal(retry_after_ms(&headers, now), 10000);
    assert_int_equal(retry_after_ms(&headers, now + 60000), 0);
    headers = (struct retry_headers){.after = "soon", .after_ms = "-1"};
    assert_int_equal(retry_after_ms(&headers, now), 0);
    headers = (struct retry_headers){.after = "1e300"};
    assert_int_equal(retry_after_ms(&headers, now), 24 * 3600 * 1000);
    headers = (struct retry_headers){.after = "nan"};
    assert_int_equal(retry_after_ms(&headers, now), 0);
}

static void test_backoff(void **state)
{
    struct failure failure = {.error = MODEL_SERVER};
    (void)state;
    assert_int_equal(retry_wait_ms(1, &failure, 0), 500);
    assert_int_equal(retry_wait_ms(2, &failure, 0), 1000);
    assert_int_equal(retry_wait_ms(3, &failure, 255), 1500);
    assert_int_equal(retry_wait_ms(9, &failure, 0), 8000);
    failure.retry_ms = 20;
    assert_int_equal(retry_wait_ms(3, &failure, 255), 20);
}

static bool is_useful(enum model_error error, int http, int64_t retry_ms, const char *should_retry,
                      bool can_connect)
{
    const struct failure failure = {.error = error, .http = http, .retry_ms = retry_ms};
    struct retry_headers headers = {0};
    memcpy(headers.should_retry, should_retry, strlen(should_retry));
    return retry_is_useful(&failure, &headers, can_connect);
}

static void test_what_is_repeated(void **state)
{
    (void)state;
    assert_true(is_useful(MODEL_RATE, 429, 60000, "", true));
    assert_false(is_useful(MODEL_RATE, 429, 60001, "", true));
    assert_false(is_useful(MODEL_RATE, 429, 0, "false", true));
    assert_true(is_useful(MODEL_AUTH, 401, 0, "True", true));
    assert_false(is_useful(MODEL_AUTH, 401, 0, "maybe", true));
    assert_true(is_useful(MODEL_REQUEST, 408, 0, "", true));
    assert_true(is_useful(MODEL_REQUEST, 409, 0, "", true));
    assert_false(is_useful(MODEL_REQUEST, 400, 0, "", true));
    assert_true(is_useful(MODEL_TIMEOUT, 0, 0, "", false));
    assert_false(is_useful(MODEL_TIMEOUT, 0, 0, "", true));
    assert_true(is_useful(MODEL_NETWORK, 0, 0, "", true));
    assert_false(is_useful(MODEL_OVERFLOW, 500, 0, "", true));
    assert_false(is_useful(MODEL_PROTOCOL, 0, 0, "", true));
    assert_false(is_useful(MODEL_ABORTED, 0, 0, "true", true));
}

/* ---- cost ---------------------------------------------------------------------------------------- */

static void test_price(void **state)
{
    (void)state;
    assert_int_equal(cost_parse_per_token(VIEW("0.000003")), 3000000000);
    assert_int_equal(cost_parse_per_token(VIEW("0.0000000375")), 37500000);
    assert_int_equal(cost_parse_per_token(VIEW("0")), 0);
    assert_int_equal(cost_parse_per_token(VIEW("1.")), 1000000000000000);
    assert_int_equal(cost_parse_per_token(VIEW("0.0000000000000019")), 1);
    assert_int_equal(cost_parse_per_token(VIEW("")), COST_UNKNOWN);
    assert_int_equal(cost_parse_per_token(VIEW("-1")), COST_UNKNOWN);
    assert_int_equal(cost_parse_per_token(VIEW("1e-6")), COST_UNKNOWN);
    assert_int_equal(cost_parse_per_token(VIEW("99999999999999999999")), COST_UNKNOWN);
}

static void test_cost(void **state)
{
    const unsigned counted = MODEL_KNOWS_INPUT | MODEL_KNOWS_OUTPUT;
    const struct model_prices unknown = {COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN};
    const struct model_prices prices = {3000000000, 15000000000, 300000000, COST_UNKNOWN};
    struct model_usage usage = {
        .input = 1000, .output = 10, .cache_read = 100, .cache_write = 1, .known = counted};
    struct model_usage other = {.input = 5, .nano_usd = 7, .known = counted | MODEL_KNOWS_COST};
    (void)state;
    cost_set(&usage, &unknown, false);
    assert_int_equal(usage.known, counted);
    cost_set(&usage, &prices, false);
    assert_int_equal(usage.nano_usd, 3000000 + 150000 + 30000 + 3000);
    assert_int_equal(usage.known, counted | MODEL_KNOWS_COST);
    cost_set(&usage, &unknown, true); // the first word stays
    assert_int_equal(usage.nano_usd, 3183000);
    cost_add(&usage, &other);
    assert_int_equal(usage.input, 1005);
    assert_int_equal(usage.nano_usd, 3183007);
    other.known = counted;
    cost_add(&usage, &other);
    assert_int_equal(usage.known, counted);
    usage = (struct model_usage){.output = 5, .known = MODEL_KNOWS_OUTPUT};
    cost_set(&usage, &prices, false);
    assert_int_equal(usage.known, MODEL_KNOWS_OUTPUT);
    cost_set(&usage, &unknown, true);
    assert_int_equal(usage.known, MODEL_KNOWS_OUTPUT | MODEL_KNOWS_COST);
    assert_int_equal(usage.nano_usd, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_sentence), cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_backoff),  cmocka_unit_test(test_what_is_repeated),
        cmocka_unit_test(test_price),    cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
