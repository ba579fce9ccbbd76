/*
 * test_clock.c: times as text, held against libc's calendar.
 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void assert_iso(int64_t ms, const char *expected)
{
    char text[CLOCK_ISO_SIZE];

    clock_iso(ms, text);
    assert_string_equal(text, expected);
}

static void test_iso_times_have_milliseconds_and_z(void **state)
{
    (void)state;
    assert_iso(0, "1970-01-01T00:00:00.000Z");
    assert_iso(1794729600000, "2026-11-15T08:00:00.000Z");
    assert_iso(1709251199999, "2024-02-29T23:59:59.999Z");
    assert_iso(4107542400000, "2100-03-01T00:00:00.000Z");
    assert_iso(-1, "1969-12-31T23:59:59.999Z");
}

static void test_dates_are_utc(void **state)
{
    char text[CLOCK_ISO_SIZE];

    (void)state;
    clock_date(1794729600000, text);
    assert_string_equal(text, "2026-11-15");
    clock_date(951782400000, text);
    assert_string_equal(text, "2000-02-29");
}

static void test_http_is_as_the_protocol_has_it(void **state)
{
    char text[CLOCK_ISO_SIZE];

    (void)state;
    clock_http(784111777999, text); // the example of RFC 9110
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
    clock_http(0, text);
    assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
    clock_http(INT64_MAX, text);
    assert_string_equal(text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

static void test_every_day_agrees_with_libc(void **state)
{
    char text[CLOCK_ISO_SIZE], expected[CLOCK_ISO_SIZE];

    (void)state;
    for (time_t day = -200000; day < 200000; day += 3) {
        time_t second = day * 86400 + day % 40000;
        struct tm parts;

        assert_non_null(gmtime_r(&second, &parts));
        assert_true(strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.007Z", &parts) > 0);
        clock_iso((int64_t)second * 1000 + 7, text);
        assert_string_equal(text, expected);
        assert_true(strftime(expected, sizeof(expected), "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0);
        clock_http((int64_t)second * 1000 + 7, text);
        assert_string_equal(text, expected);
    }
}

static void test_times_beyond_four_digit_years_show_the_edge(void **state)
{
    (void)state;
    assert_iso(INT64_MAX, "9999-12-31T23:59:59.999Z");
    assert_iso(253402300800000, "9999-12-31T23:59:59.999Z");
    assert_iso(INT64_MIN, "0000-01-01T00:00:00.000Z");
}

static void assert_time(const char *text, bool end, const char *expected)
{
    int64_t ms = 0;
    char iso[CLOCK_ISO_SIZE];
    assert_true(
        clock_parse((struct ethos_view){text, strlen(text)}, 1763200000123, end, &ms, NULL));
    clock_iso(ms, iso);
    assert_string_equal(iso, expected);
}

static void test_times_are_read_as_people_write_them(void **state)
{
    (void)state;
    assert_time("30m", false, "2025-11-15T09:16:40.123Z");
    assert_time("12h", true, "2025-11-14T21:46:40.123Z");
    assert_time("7d", false, "2025-11-08T09:46:40.123Z");
    assert_time("2w", false, "2025-11-01T09:46:40.123Z");
    assert_time("2024-02-29", false, "2024-02-29T00:00:00.000Z");
    assert_time("2024-02-29", true, "2024-02-29T23:59:59.999Z");
    assert_time("2025-11-15T08:30", true, "2025-11-15T08:30:00.000Z");
    assert_time("2025-11-15 08:30:07", false, "2025-11-15T08:30:07.000Z");
    assert_time("2025-11-15T08:30:07.123Z", false, "2025-11-15T08:30:07.123Z");
    assert_time("2025-11-15T00:30:00+02:00", false, "2025-11-14T22:30:00.000Z");
    assert_time("2025-11-15T00:30:00-02:30", false, "2025-11-15T03:00:00.000Z");
    assert_time("1969-12-31T23:59:59.999Z", false, "1969-12-31T23:59:59.999Z");
    assert_time("0000-03-01", false, "0000-03-01T00:00:00.000Z");
}

static void test_a_zone_is_told_from_none(void **state)
{
    static const struct {
        const char *text;
        bool zoned;
    } rows[] = {{"7d", true},
                {"2025-11-15", false},
                {"2025-11-15T08:30", false},
                {"2025-11-15T08:30Z", true},
                {"2025-11-15T08:30+01:00", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms;
        bool zoned = !rows[i].zoned;
        assert_true(clock_parse((struct ethos_view){rows[i].text, strlen(rows[i].text)}, 0, false,
                                &ms, &zoned));
        assert_int_equal(zoned, rows[i].zoned);
    }
}

static void test_what_is_no_time_is_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "d",
                                        "7",
                                        "7x",
                                        "-7d",
                                        "7 d",
                                        "1234567d",
                                        "2025",
                                        "2025-13-01",
                                        "2025-02-29",
                                        "2025-00-10",
                                        "2025-11-31",
                                        "25-11-15",
                                        "2025-11-15T",
                                        "2025-11-15T24:00",
                                        "2025-11-15T08:60",
                                        "2025-11-15T08:30:60",
                                        "2025-11-15T08:30z",
                                        "2025-11-15T08:30Z ",
                                        "2025-11-15T08:30+2",
                                        "yesterday"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t ms = 7;
        if (clock_parse((struct ethos_view){texts[i], strlen(texts[i])}, 0, false, &ms, NULL))
            fail_msg("taken for a time: '%s'", texts[i]);
        assert_int_equal(ms, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iso_times_have_milliseconds_and_z),
        cmocka_unit_test(test_dates_are_utc),
        cmocka_unit_test(test_http_is_as_the_protocol_has_it),
        cmocka_unit_test(test_every_day_agrees_with_libc),
        cmocka_unit_test(test_times_beyond_four_digit_years_show_the_edge),
        cmocka_unit_test(test_times_are_read_as_people_write_them),
        cmocka_unit_test(test_a_zone_is_told_from_none),
        cmocka_unit_test(test_what_is_no_time_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
