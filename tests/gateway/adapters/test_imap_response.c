/*
 * test_imap_response.c: responses with literals, cut anywhere, and their tokens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "gateway/adapters/imap_response.h"

static const char talk[] = "* OK ready\r\n* 1 FETCH (UID 7 BODY[HEADER.FIELDS (FROM TO)] {12}\r\n"
                           "Hi {3}\r\nabc\r FLAGS (\\Seen))\r\na1 OK [UIDVALIDITY 5] done\r\n";

static void test_responses_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t cut = 0; cut <= strlen(talk); cut++) {
        struct imap_reader reader;
        struct ethos_view response;
        size_t count = 0;
        imap_reader_init(&reader);
        for (int half = 0; half < 2; half++) {
            struct ethos_view bytes = half ? view_str(talk + cut) : view_of(talk, cut);
            assert_int_equal(imap_reader_feed(&reader, bytes), ETHOS_OK);
            while (imap_reader_next(&reader, &response)) {
                count++;
                if (count == 2)
                    assert_true(view_ends(response, VIEW("FLAGS (\\Seen))")));
            }
        }
        assert_int_equal(count, 3);
        imap_reader_release(&reader);
    }
}

static void test_tokens(void **state)
{
    struct imap_reader reader;
    struct ethos_view response;
    static const struct {
        enum imap_kind kind;
        const char *text;
    } wanted[] = {{IMAP_ATOM, "*"},
                  {IMAP_ATOM, "1"},
                  {IMAP_ATOM, "FETCH"},
                  {IMAP_OPEN, "("},
                  {IMAP_ATOM, "UID"},
                  {IMAP_ATOM, "7"},
                  {IMAP_ATOM, "BODY[HEADER.FIELDS (FROM TO)]"},
                  {IMAP_STRING, "Hi {3}\r\nabc\r"},
                  {IMAP_ATOM, "FLAGS"},
                  {IMAP_OPEN, "("},
                  {IMAP_ATOM, "\\Seen"},
                  {IMAP_CLOSE, ")"},
                  {IMAP_CLOSE, ")"},
                  {IMAP_END, ""}};
    (void)state;
    imap_reader_init(&reader);
    imap_reader_feed(&reader, view_str(talk));
    assert_true(imap_reader_next(&reader, &response));
    assert_true(imap_reader_next(&reader, &response));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct imap_token token = imap_token_next(&response);
        assert_int_equal(token.kind, wanted[i].kind);
        assert_true(view_eq_str(token.text, wanted[i].text));
    }
    imap_reader_release(&reader);
}

static void test_numbers(void **state)
{
    uint32_t number;
    (void)state;
    assert_true(imap_number(VIEW("4294967295"), &number) && number == UINT32_MAX);
    assert_false(imap_number(VIEW("4294967296"), &number));
    assert_false(imap_number(VIEW(""), &number));
    assert_false(imap_number(VIEW("1a"), &number));
    assert_false(imap_number(VIEW("99999999999999999999999999"), &number));
}

static void test_a_literal_that_is_too_large_loses_the_connection(void **state)
{
    struct imap_reader reader;
    struct ethos_view response;
    (void)state;
    imap_reader_init(&reader);
    imap_reader_feed(&reader, VIEW("* 1 FETCH (BODY[] {26214401}\r\nabc"));
    assert_false(imap_reader_next(&reader, &response));
    assert_true(reader.is_lost);
    imap_reader_release(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_responses_however_they_are_cut),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_a_literal_that_is_too_large_loses_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
