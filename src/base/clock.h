/*
 * clock.h: times as text. This is arithmetic only; system/os.h reads the clock.
 */
#ifndef ETHOS_BASE_CLOCK_H
#define ETHOS_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#define CLOCK_ISO_SIZE 32

/* 2026-11-15T08:00:00.000Z */
void clock_iso(int64_t ms, char out[CLOCK_ISO_SIZE]);

/* 2026-11-15, UTC */
void clock_date(int64_t ms, char out[CLOCK_ISO_SIZE]);

/* Sun, 15 Nov 2026 08:00:00 GMT, as in HTTP */
void clock_http(int64_t ms, char out[CLOCK_ISO_SIZE]);

/*
 * Parses a time as people and programs write it: 30m, 12h, 7d or 2w before now; 2026-11-15;
 * 2026-11-15T08:30, optionally with seconds, fractions, a space instead of the T, and Z or an
 * offset such as +02:00. Without one it is UTC and *out_zoned (may be NULL) is false. end: a date
 * alone means its last millisecond. False if it is not a time.
 */
bool clock_parse(struct ethos_view text, int64_t now_ms, bool end, int64_t *out_ms,
                 bool *out_zoned);

/* The earlier of two times. */
static inline int64_t clock_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
