/*
 * clock.c: times as text.
 *
 * Own arithmetic instead of gmtime_r, which reads the zone file and so is I/O.
 */
#include "base/clock.h"

#include <stdio.h>

#define DAY_MS INT64_C(86400000)
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS INT64_C(253402300799999)  /* 9999-12-31T23:59:59.999Z */
#define ERA_DAYS 146097                   /* days in 400 years, after which the calendar repeats */

struct date {
    int64_t year;
    int month, day;
};

/* Days since 1970-01-01 and the milliseconds into the day, also before 1970. */
static int64_t split_days(int64_t ms, int64_t *out_rest)
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

/* What lies outside the years 0 to 9999 shows as their edge. */
static int64_t clamp(int64_t ms)
{
    return ms < FIRST_MS ? FIRST_MS : ms > LAST_MS ? LAST_MS : ms;
}

/* YYYY-MM-DD, not terminated. */
static char *put_date(char *out, int64_t ms, int64_t *out_rest)
{
    struct date date = civil(split_days(clamp(ms), out_rest));

    out = digits(out, date.year, 4);
    *out++ = '-';
    out = digits(out, date.month, 2);
    *out++ = '-';
    return digits(out, date.day, 2);
}

/* HH:MM:SS, not terminated. */
static char *put_time_of_day(char *out, int64_t rest)
{
    out = digits(out, rest / 3600000, 2);
    *out++ = ':';
    out = digits(out, rest / 60000 % 60, 2);
    *out++ = ':';
    return digits(out, rest / 1000 % 60, 2);
}

void clock_iso(int64_t ms, char out[CLOCK_ISO_SIZE])
{
    int64_t rest;
    char *at = put_date(out, ms, &rest);

    *at++ = 'T';
    at = put_time_of_day(at, rest);
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

void clock_http(int64_t ms, char out[CLOCK_ISO_SIZE])
{
    static const char weekdays[] = "ThuFriSatSunMonTueWed"; // 1970 began on a Thursday
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t rest, days = split_days(clamp(ms), &rest);
    struct date date = civil(days);
    char time[9] = "";

    put_time_of_day(time, rest);
    snprintf(out, CLOCK_ISO_SIZE, "%.3s, %02d %.3s %04d %s GMT",
             weekdays + 3 * ((days % 7 + 7) % 7), date.day, months + 3 * (date.month - 1),
             (int)date.year, time);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Takes exactly `width` digits that make at most max off *at. */
static bool take_digits(struct ethos_view *at, size_t width, int64_t max, int64_t *out)
{
    int64_t value = 0;

    if (at->size < width)
        return false;
    for (size_t i = 0; i < width; i++) {
        if (at->data[i] < '0' || at->data[i] > '9')
            return false;
        value = value * 10 + (at->data[i] - '0');
    }
    *at = (struct ethos_view){at->data + width, at->size - width};
    *out = value;
    return value <= max;
}

static bool take_char(struct ethos_view *at, char c)
{
    if (at->size == 0 || at->data[0] != c)
        return false;
    *at = (struct ethos_view){at->data + 1, at->size - 1};
    return true;
}

/* "30m" and the like, as milliseconds. */
static bool parse_span(struct ethos_view text, int64_t *out_ms)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = {{'m', 60000}, {'h', 3600000}, {'d', DAY_MS}, {'w', 7 * DAY_MS}};
    int64_t number;
    size_t digit_count = text.size - 1;

    if (text.size < 2 || digit_count > 6 || !take_digits(&text, digit_count, 999999, &number))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].letter == text.data[0]) {
            *out_ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}

/* The reverse of civil; a day that the month has not is refused. */
static bool parse_date(struct ethos_view *at, int64_t *out_ms)
{
    int64_t year, month, day;

    if (!take_digits(at, 4, 9999, &year) || !take_char(at, '-') ||
        !take_digits(at, 2, 12, &month) || !take_char(at, '-') || !take_digits(at, 2, 31, &day))
        return false;
    int64_t shifted = year - (month <= 2); // years begin in March
    int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
    int64_t year_of_era = shifted - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    int64_t days = era * ERA_DAYS + day_of_era - 719468;
    struct date back = civil(days);
    *out_ms = days * DAY_MS;
    return back.year == year && back.month == month && back.day == day;
}

/* 08:30, 08:30:00, 08:30:00.123 */
static bool parse_clock(struct ethos_view *at, int64_t *out_ms)
{
    int64_t hours, minutes, seconds = 0, fraction = 0;

    if (!take_digits(at, 2, 23, &hours) || !take_char(at, ':') || !take_digits(at, 2, 59, &minutes))
        return false;
    if (take_char(at, ':') && !take_digits(at, 2, 59, &seconds))
        return false;
    if (take_char(at, '.') && !take_digits(at, 3, 999, &fraction))
        return false;
    *out_ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction;
    return true;
}

/* Z, +02:00 or nothing, up to the end. */
static bool parse_zone(struct ethos_view *at, int64_t *out_ms, bool *out_zoned)
{
    int64_t hours, minutes;
    bool east = at->size > 0 && at->data[0] == '+';

    *out_ms = 0;
    *out_zoned = at->size > 0;
    if (at->size == 0 || (take_char(at, 'Z') && at->size == 0))
        return true;
    if ((!take_char(at, '+') && !take_char(at, '-')) || !take_digits(at, 2, 23, &hours) ||
        !take_char(at, ':') || !take_digits(at, 2, 59, &minutes))
        return false;
    *out_ms = (east ? 1 : -1) * (hours * 60 + minutes) * 60000;
    return at->size == 0;
}

bool clock_parse(struct ethos_view text, int64_t now_ms, bool end, int64_t *out_ms, bool *out_zoned)
{
    int64_t date, clock = 0, zone = 0;
    bool zoned = true;

    if (text.size > 0 && parse_span(text, &date)) {
        date = now_ms - date;
    } else {
        if (!parse_date(&text, &date))
            return false;
        bool alone = text.size == 0;
        if (alone)
            clock = end ? DAY_MS - 1 : 0;
        else if ((!take_char(&text, 'T') && !take_char(&text, ' ')) || !parse_clock(&text, &clock))
            return false;
        if (!parse_zone(&text, &zone, &zoned))
            return false;
    }
    *out_ms = date + clock - zone;
    if (out_zoned)
        *out_zoned = zoned;
    return true;
}
