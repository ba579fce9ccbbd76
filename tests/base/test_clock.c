/*
 * test_clock.c: times as text, held against libc's calendar.
 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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
    }
}

static void test_times_beyond_four_digit_years_show_the_edge(void **state)
{
    (void)state;
    assert_iso(INT64_MAX, "9999-12-31T23:59:59.999Z");
    assert_iso(253402300800000, "9999-12-31T23:59:59.999Z");
    assert_iso(INT64_MIN, "0000-01-01T00:00:00.000Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iso_times_have_milliseconds_and_z),
        cmocka_unit_test(test_dates_are_utc),
        cmocka_unit_test(test_every_day_agrees_with_libc),
        cmocka_unit_test(test_times_beyond_four_digit_years_show_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
