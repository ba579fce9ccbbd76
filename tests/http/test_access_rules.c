/*
 * test_access_rules.c: who may come in: every rule of the gate, by rows and by all combinations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/view.h"
#include "http/access_rules.h"

static const struct gate_rules plain = {3000, NULL, NULL};
static const struct gate_rules listed = {3000, "memory.example, other.example:8443",
                                         "https://app.example, https://other.example:8443"};

/* ---- Host ------------------------------------------------------------------------------------ */

static void test_only_names_of_ours_are_answered(void **state)
{
    (void)state;
    static const struct {
        const struct gate_rules *rules;
        const char *host;
        bool ours;
    } rows[] = {
        {&plain, "localhost:3000", true},
        {&plain, "LocalHost:3000", true},
        {&plain, "127.0.0.1:3000", true},
        {&plain, "[::1]:3000", true},
        {&plain, NULL, false},
        {&plain, "", false},
        {&plain, "localhost", false},
        {&plain, "localhost:", false},
        {&plain, "localhost:3001", false},
        {&plain, "localhost:03000", false},
        {&plain, "localhost:3000x", false},
        {&plain, "localhost:3000:3000", false},
        {&plain, "localhost.:3000", false},
        {&plain, "localhost.evil.example:3000", false},
        {&plain, "evil.example:3000", false},
        {&plain, "127.0.0.1.evil.example:3000", false},
        {&plain, "127.0.0.2:3000", false},
        {&plain, "0.0.0.0:3000", false},
        {&plain, "[::]:3000", false},
        {&plain, "::1:3000", false},
        {&plain, "[::1]", false},
        {&plain, "[::1]x:3000", false},
        {&plain, "[::1:3000", false},
        {&plain, "user@localhost:3000", false},
        {&plain, "memory.example:3000", false},
        {&plain, "localhost:3000,evil.example", false},
        {&listed, "localhost:3000", true},
        {&listed, "memory.example", true},
        {&listed, "memory.example:3000", true},
        {&listed, "memory.example:443", false},
        {&listed, "other.example:8443", true},
        {&listed, "other.example", false},
        {&listed, "other.example:3000", false},
        {&listed, "example", false},
        {&listed, ",", false},
        {&listed, "memory.example, other.example:8443", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gate_ask ask = {.host = rows[i].host, .who = HTTP_BROWSER};
        bool passed = gate_admit(rows[i].rules, &ask) == GATE_PASS;
        if (passed != rows[i].ours)
            fail_msg("%s: %d", rows[i].host ? rows[i].host : "(none)", passed);
    }
}

static void test_a_name_without_port_is_port_80(void **state)
{
    (void)state;
    const struct gate_rules rules = {80, NULL, NULL};
    const struct gate_ask bare = {.host = "localhost", .who = HTTP_BROWSER};
    const struct gate_ask with = {.host = "localhost:80", .who = HTTP_BROWSER};
    assert_int_equal(gate_admit(&rules, &bare), GATE_PASS);
    assert_int_equal(gate_admit(&rules, &with), GATE_PASS);
}

/* ---- Origin ---------------------------------------------------------------------------------- */

enum origin_kind { NONE, OURS, LOCAL, LISTED, FOREIGN };

static const struct origin_row {
    const char *origin;
    enum origin_kind kind;
} origins[] = {
    {NULL, NONE},
    {"http://localhost:3000", OURS},
    {"http://127.0.0.1:3000", OURS},
    {"http://[::1]:3000", OURS},
    {"http://localhost:5173", LOCAL},
    {"http://127.0.0.1", LOCAL},
    {"https://[::1]:8443", LOCAL},
    {"https://app.example", LISTED},
    {"https://other.example:8443", LISTED},
    {"null", FOREIGN},
    {"", FOREIGN},
    {"https://evil.example", FOREIGN},
    {"https://evil.example:3000", FOREIGN},
    {"http://app.example", FOREIGN},
    {"https://app.example:8443", FOREIGN},
    {"https://app.example.evil.example", FOREIGN},
    {"https://app.example/", FOREIGN},
    {"http://localhost.evil.example:3000", FOREIGN},
    {"http://localhost@evil.example", FOREIGN},
    {"file://", FOREIGN},
    {"localhost:3000", FOREIGN},
    {"http://", FOREIGN},
    {"http://localhost:3000, https://evil.example", FOREIGN},
};

/* With origins listed, other servers of this machine are foreign, too. */
static bool is_foreign(enum origin_kind kind, const struct gate_rules *rules)
{
    return kind == FOREIGN || (kind == LISTED && !rules->origins) ||
           (kind == LOCAL && rules->origins);
}

static void test_every_combination(void **state)
{
    (void)state;
    static const char *const sites[] = {NULL, "none", "same-origin", "same-site", "cross-site"};
    static const struct gate_rules *const rules[] = {&plain, &listed};
    unsigned judged = 0;
    for (size_t r = 0; r < 2; r++)
        for (size_t o = 0; o < sizeof origins / sizeof *origins; o++)
            for (size_t s = 0; s < sizeof sites / sizeof *sites; s++)
                for (int method = HTTP_GET; method < HTTP_OPTIONS; method++)
                    for (int who = HTTP_NOBODY; who <= HTTP_KEY; who++) {
                        const struct gate_ask ask = {.method = (enum http_method)method,
                                                     .host = "localhost:3000",
                                                     .origin = origins[o].origin,
                                                     .fetch_site = sites[s],
                                                     .who = (enum http_who)who};
                        bool foreign = origins[o].kind == NONE
                                           ? sites[s] && strcmp(sites[s], "cross-site") == 0
                                           : is_foreign(origins[o].kind, rules[r]);
                        bool writes = method >= HTTP_POST;
                        bool forged = who == HTTP_BROWSER && writes &&
                                      (foreign || origins[o].kind == NONE);
                        enum gate_verdict wanted = forged               ? GATE_FORGED
                                                   : foreign            ? GATE_FOREIGN
                                                   : who == HTTP_NOBODY ? GATE_NOBODY
                                                                        : GATE_PASS;
                        enum gate_verdict got = gate_admit(rules[r], &ask);
                        judged++;
                        if (got != wanted)
                            fail_msg("rules %zu, origin %s, site %s, method %d, who %d: %d, not %d",
                                     r, ask.origin ? ask.origin : "-", sites[s] ? sites[s] : "-",
                                     method, who, got, wanted);
                    }
    assert_int_equal(judged, 2 * 23 * 5 * 6 * 3);
}

static void test_a_page_is_known_by_its_referer_when_it_has_no_origin(void **state)
{
    (void)state;
    static const struct {
        const char *referer;
        bool known;
    } rows[] = {
        {"http://localhost:3000/memory", true},
        {"http://localhost:3000", true},
        {"http://127.0.0.1:5173/?a#b", true},
        {"https://evil.example/http://localhost:3000/", false},
        {"about:blank", false},
        {"", false},
        {NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gate_ask ask = {.method = HTTP_POST,
                                     .host = "localhost:3000",
                                     .referer = rows[i].referer,
                                     .who = HTTP_BROWSER};
        bool passed = gate_admit(&plain, &ask) == GATE_PASS;
        if (passed != rows[i].known)
            fail_msg("%s: %d", rows[i].referer ? rows[i].referer : "(none)", passed);
    }
}

static void test_a_referer_does_not_help_a_foreign_origin(void **state)
{
    (void)state;
    const struct gate_ask ask = {.method = HTTP_POST,
                                 .host = "localhost:3000",
                                 .origin = "https://evil.example",
                                 .referer = "http://localhost:3000/",
                                 .who = HTTP_BROWSER};
    assert_int_equal(gate_admit(&plain, &ask), GATE_FORGED);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void test_a_key_with_origins_is_for_them_alone(void **state)
{
    (void)state;
    static const struct {
        const char *key_origins, *origin;
        enum gate_verdict wanted;
    } rows[] = {
        {"", NULL, GATE_PASS},
        {NULL, NULL, GATE_PASS},
        {"", "https://evil.example", GATE_FOREIGN},
        {"https://app.example", NULL, GATE_KEY_ORIGIN},
        {"https://app.example", "https://app.example", GATE_PASS},
        {"https://a.example,https://app.example", "https://app.example", GATE_PASS},
        {"https://app.example", "https://evil.example", GATE_KEY_ORIGIN},
        {"https://app.example", "http://localhost:3000", GATE_KEY_ORIGIN},
        {"https://app.example", "", GATE_KEY_ORIGIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gate_ask ask = {.method = HTTP_POST,
                                     .host = "localhost:3000",
                                     .origin = rows[i].origin,
                                     .fetch_site = rows[i].origin ? "cross-site" : NULL,
                                     .who = HTTP_KEY,
                                     .key_origins = rows[i].key_origins};
        if (gate_admit(&plain, &ask) != rows[i].wanted)
            fail_msg("row %zu: %d", i, gate_admit(&plain, &ask));
    }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void test_a_body_is_json(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        bool body, passes;
    } rows[] = {
        {"application/json", true, true},
        {"Application/JSON; charset=utf-8", true, true},
        {"application/json ;x", true, true},
        {NULL, false, true},
        {NULL, true, false},
        {"", true, false},
        {"text/plain", true, false},
        {"text/plain", false, false},
        {"application/jsonp", true, false},
        {"application/x-www-form-urlencoded", true, false},
        {"multipart/form-data; boundary=application/json", true, false},
        {"text/plain; application/json", true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gate_ask ask = {.method = HTTP_POST,
                                     .host = "localhost:3000",
                                     .type = rows[i].type,
                                     .has_body = rows[i].body,
                                     .who = HTTP_KEY};
        enum gate_verdict wanted = rows[i].passes ? GATE_PASS : GATE_TYPE;
        if (gate_admit(&plain, &ask) != wanted)
            fail_msg("%s: %d", rows[i].type ? rows[i].type : "(none)", gate_admit(&plain, &ask));
    }
}

/* ---- what is open ---------------------------------------------------------------------------- */

static void test_open_routes_are_open_to_our_pages_only(void **state)
{
    (void)state;
    const struct gate_ask here = {.host = "localhost:3000", .open = true, .fetch_site = "none"};
    const struct gate_ask link = {
        .host = "localhost:3000", .open = true, .fetch_site = "cross-site"};
    const struct gate_ask host = {.host = "evil.example", .open = true};
    assert_int_equal(gate_admit(&plain, &here), GATE_PASS);
    assert_int_equal(gate_admit(&plain, &link), GATE_FOREIGN);
    assert_int_equal(gate_admit(&plain, &host), GATE_HOST);
}

static void test_options_needs_our_name_and_nothing_else(void **state)
{
    (void)state;
    const struct gate_ask ask = {
        .method = HTTP_OPTIONS, .host = "localhost:3000", .origin = "https://evil.example"};
    const struct gate_ask wrong = {.method = HTTP_OPTIONS, .host = "evil.example"};
    assert_int_equal(gate_admit(&plain, &ask), GATE_PASS);
    assert_int_equal(gate_admit(&plain, &wrong), GATE_HOST);
}

static void test_answers_are_shared_with_listed_origins_alone(void **state)
{
    (void)state;
    static const struct {
        const struct gate_rules *rules;
        const char *origin, *key_origins;
        enum http_who who;
        bool shared;
    } rows[] = {
        {&listed, "https://app.example", NULL, HTTP_NOBODY, true},
        {&listed, "https://app.example", NULL, HTTP_BROWSER, true},
        {&listed, "https://evil.example", NULL, HTTP_NOBODY, false},
        {&listed, NULL, NULL, HTTP_NOBODY, false},
        {&plain, "http://localhost:3000", NULL, HTTP_BROWSER, false},
        {&plain, "http://localhost:5173", NULL, HTTP_BROWSER, false},
        {&plain, "https://app.example", "https://app.example", HTTP_KEY, true},
        {&plain, "https://app.example", "https://app.example", HTTP_BROWSER, false},
        {&plain, "", "", HTTP_KEY, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct gate_ask ask = {
            .origin = rows[i].origin, .key_origins = rows[i].key_origins, .who = rows[i].who};
        if (gate_shares(rows[i].rules, &ask) != rows[i].shared)
            fail_msg("row %zu", i);
    }
}

static void test_every_refusal_says_what_to_do(void **state)
{
    (void)state;
    for (enum gate_verdict verdict = GATE_HOST; verdict <= GATE_TYPE; verdict++) {
        const struct http_error *error = gate_error(verdict);
        assert_in_range(error->status, 400, 499);
        assert_non_null(error->code);
        assert_non_null(error->message);
        assert_non_null(error->action);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_names_of_ours_are_answered),
        cmocka_unit_test(test_a_name_without_port_is_port_80),
        cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_a_page_is_known_by_its_referer_when_it_has_no_origin),
        cmocka_unit_test(test_a_referer_does_not_help_a_foreign_origin),
        cmocka_unit_test(test_a_key_with_origins_is_for_them_alone),
        cmocka_unit_test(test_a_body_is_json),
        cmocka_unit_test(test_open_routes_are_open_to_our_pages_only),
        cmocka_unit_test(test_options_needs_our_name_and_nothing_else),
        cmocka_unit_test(test_answers_are_shared_with_listed_origins_alone),
        cmocka_unit_test(test_every_refusal_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
