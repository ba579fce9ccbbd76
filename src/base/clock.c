/*
 * clock.c: times as text.
 *
 * Own arithmetic instead of gmtime_r, which reads the zone file and so is I/O.
 */
#include "base/clock.h"

#define DAY_MS INT64_C(86400000)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS INT64_C(253402300799999)  /* 9999-12-31T23:59:59.999Z */
#define ERA_DAYS 146097                   /* days in 400 years, after which the calendar repeats */

struct date {
    int64_t year;
    int month, day;
};

/* Days since 1970-01-01 and the milliseconds into the day, also before 1970. */
static int64_t split(int64_t ms, int64_t *out_rest)
{
    int64_t days = ms / DAY_MS - (ms % DAY_MS < 0);

    *out_rest = ms - days * DAY_MS;
    return days;
}

/* Years are taken to begin in March, which puts the leap day at their end. */
static struct date civil(int64_t days)
{
    int64_t shifted = days + 719468; // since 0000-03-01
    int64_t era = (shifted >= 0 ? shifted : shifted - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t day = shifted - era * ERA_DAYS;
    int64_t year = (day - day / 1460 + day / 36524 - day / (ERA_DAYS - 1)) / 365;
    int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    int month = (int)((5 * day_of_year + 2) / 153); // 0 is March

    return (struct date){
        .year = year + era * 400 + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
    };
}

/* Writes value in exactly `width` digits and returns what follows them. */
static char *digits(char *out, int64_t value, int width)
{
    for (int i = width - 1; i >= 0; i--, value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + width;
}

/* YYYY-MM-DD, not terminated. What lies outside the years 0 to 9999 shows as their edge. */
static char *put_date(char *out, int64_t ms, int64_t *out_rest)
{
    int64_t clamped = ms < FIRST_MS ? FIRST_MS : ms > LAST_MS ? LAST_MS : ms;
    struct date date = civil(split(clamped, out_rest));

    out = digits(out, date.year, 4);
    *out++ = '-';
    out = digits(out, date.month, 2);
    *out++ = '-';
    return digits(out, date.day, 2);
}

void clock_iso(int64_t ms, char out[CLOCK_ISO_SIZE])
{
    int64_t rest;
    char *at = put_date(out, ms, &rest);

    *at++ = 'T';
    at = digits(at, rest / 3600000, 2);
    *at++ = ':';
    at = digits(at, rest / 60000 % 60, 2);
    *at++ = ':';
    at = digits(at, rest / 1000 % 60, 2);
    *at++ = '.';
    at = digits(at, rest % 1000, 3);
    *at++ = 'Z';
    *at = '\0';
}

void clock_date(int64_t ms, char out[CLOCK_ISO_SIZE])
{
    int64_t rest;

    *put_date(out, ms, &rest) = '\0';
}
